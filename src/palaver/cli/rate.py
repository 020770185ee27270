"""`palaver rate`: the user's rating of a conversation."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive import tags
from palaver.archive.selection import find_conversation
from palaver.archive.short_ids import ShortIds
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import escaped_line
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3


def rate(
    word: Annotated[str, typer.Argument(metavar="ID", hidden=True)],
    score: Annotated[float | None, typer.Argument(metavar="SCORE", min=0, max=5, hidden=True)] = None,
    *,
    feedback: Annotated[str | None, typer.Option(metavar="TEXT", help="Add a comment.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the rating.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rate a conversation from 0 to 5, or show its rating.

    ID is the conversation's id, its first characters, PLATFORM:ID, or latest. Without SCORE, the rating is shown. Your
    rating survives importing the conversation again, and takes precedence over a rating in its source.

    Exit codes: 0 done, 1 the conversation has no rating, 2 the rating could not be read or changed.
    """
    if clear and (score is not None or feedback is not None):
        raise OptionError("--clear removes the rating: leave out SCORE and --feedback")
    if feedback is not None and score is None:
        raise OptionError("--feedback needs a SCORE from 0 to 5")
    if score is not None and math.isnan(score):
        raise OptionError("SCORE must be a number from 0 to 5")
    opened = _archive.open_for_writing if clear or score is not None else _archive.open_for_reading
    with opened() as connection:
        answer, is_done = _apply(connection, word, score, feedback, clear=clear)
        short_id = ShortIds(connection).short_id(answer["platform"], answer["conversation_id"])
    if as_json:
        output.answer_json(answer)
    else:
        _show(answer, escaped_line(short_id), was_cleared=clear and is_done)
    raise typer.Exit(0 if is_done else 1)


def _apply(
    connection: "sqlite3.Connection", word: str, score: float | None, feedback: str | None, *, clear: bool
) -> tuple[dict[str, Any], bool]:
    conversation = find_conversation(connection, word)
    was_cleared = clear and tags.clear_rating(connection, conversation)
    if score is not None:
        # An argument that is not UTF-8 holds lone surrogates, which a document cannot.
        tags.rate(connection, conversation, score, feedback.encode(errors="replace").decode() if feedback else None)
    rating = tags.current_rating(connection, conversation)
    answer = {
        "platform": conversation.platform,
        "conversation_id": conversation.conversation_id,
        "title": conversation.title,
        "rating": rating._asdict() if rating else None,
    }
    return answer, was_cleared or rating is not None


def _show(answer: dict[str, Any], name: str, *, was_cleared: bool) -> None:
    from rich.text import Text

    if answer["rating"] is None:
        output.notify(f"{name} {'is no longer rated' if was_cleared else 'has no rating'}.")
        return
    score, feedback = answer["rating"]["score"], answer["rating"]["feedback"]
    output.answer(
        Text.assemble(
            (name, "cyan"),
            (f"  {score:g} of 5" if score is not None else "", "bold"),
            (f"  {escaped_line(feedback)}" if feedback else "", ""),
            (f"  {escaped_line(answer['title'])}" if answer["title"] else "", "dim"),
        )
    )
