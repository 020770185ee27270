"""`palaver forget`: remove conversations from the archive and keep them out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive import deletion
from palaver.archive.connection import open_to_write
from palaver.archive.deletion import (
    DeletionPlan,
    agent_conversations,
    plan_deletion,
    rewrite_file,
    tombstones,
    undo_forget,
)
from palaver.archive.filters import Filters
from palaver.archive.selection import ConversationRef, find_conversation, matching_conversations
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, escaped_line, gist
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

    from rich.console import RenderableType

_SHOWN = 10
_LARGE_BYTES = 1 << 28


@takes_filters
def forget(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD", hidden=True)] = None,
    *,
    filters: Filters,
    with_agents: Annotated[bool, typer.Option("--with-agents", help="Forget their agents as well.")] = False,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it is kept.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, change nothing.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List what was forgotten.")] = False,
    undo: Annotated[str | None, typer.Option(metavar="WORD", help="Let it come in again.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remove conversations from the archive for good.

    WORD is a conversation's id, the beginning of it, PLATFORM:ID, or latest; filters mean all that they let through.
    Everything that was only theirs goes: messages, words in the index, tags, ratings. Messages that other
    conversations hold as well stay there. The file is then written anew, so that no trace is left in it, and no later
    scan or import brings them back.

    What stays is the conversation's id with the time and your reason, and the names of the files it came from, which
    palaver never touches: delete them yourself if they are to go. With --undo the next scan or import of these files
    brings the conversation back.

    Exit codes: 0 done, 1 nothing was forgotten, 2 could not do it.
    """
    if list_:
        answer, code = _list_tombstones(as_json=as_json)
    elif undo is not None:
        answer, code = _undo(undo, as_json=as_json)
    else:
        answer, code = _forget(
            words or [],
            filters,
            reason,
            with_agents=with_agents,
            is_sure=yes,
            dry_run=dry_run,
            as_json=as_json,
        )
    if as_json:
        output.answer_json({"conversations": [], "tombstones": [], "undone": None, "is_dry_run": dry_run, **answer})
    raise typer.Exit(code)


def _forget(
    words: list[str],
    filters: Filters,
    reason: str | None,
    *,
    with_agents: bool,
    is_sure: bool,
    dry_run: bool,
    as_json: bool,
) -> tuple[dict[str, Any], int]:
    from rich.text import Text

    if not words and filters == Filters():
        raise OptionError("say which conversations to forget: `palaver list` and `palaver search` show their ids")
    with _archive.open_for_reading() as connection:
        selected = _select(connection, words, filters, with_agents=with_agents)
        plans = plan_deletion(connection, selected)
    answer = {"conversations": [_described(plan, selected) for plan in plans]}
    if not plans:
        output.notify("No conversation is like that: nothing was forgotten.")
        return answer, 1
    lines = [_shown(plan, selected) for plan in plans[:_SHOWN]]
    if (more := len(plans) - _SHOWN) > 0:
        lines.append(Text(f"and {more:,} more"))
    if dry_run:
        for line in lines if not as_json else ():
            output.answer(line)
        return answer, 0
    if not is_sure:
        if not output.can_prompt():
            raise OptionError("forgetting is for good, and nobody can be asked here: say --yes, or look with --dry-run")
        output.notify(*lines)
        if not output.confirm(f"Forget {'it' if len(plans) == 1 else f'these {len(plans):,} conversations'} for good?"):
            output.notify("Nothing was forgotten.")
            return {"conversations": []}, 1
    _remove(selected, reason)
    if not as_json:
        for plan in plans:
            output.answer(f"forgotten  {plan.conversation.platform}:{escaped_line(plan.conversation.conversation_id)}")
    return answer, 0


def _select(
    connection: "sqlite3.Connection", words: list[str], filters: Filters, *, with_agents: bool
) -> list[ConversationRef]:
    found = [find_conversation(connection, word) for word in words]
    if filters != Filters():
        matching = matching_conversations(connection, filters)
        found = [conversation for conversation in found if conversation in matching] if words else matching
    if with_agents:
        found += [agent for conversation in found for agent in agent_conversations(connection, conversation)]
    return list(dict.fromkeys(found))


def _remove(selected: list[ConversationRef], reason: str | None) -> None:
    import sqlite3
    from contextlib import closing

    with _archive.open_for_writing() as connection:
        deletion.forget(connection, selected, reason.encode(errors="replace").decode() if reason else None)
    if _archive.archive_path().stat().st_size > _LARGE_BYTES:
        output.notify("Writing the archive anew, so that no trace is left in it; it is large …")
    try:
        with closing(open_to_write(_archive.archive_path())) as connection:
            is_clean = rewrite_file(connection)
    except sqlite3.Error as error:
        output.report_error(
            f"it is forgotten, but the file could not be written anew ({error}): unused parts of it may still hold "
            "text; `palaver doctor --repair` tries again"
        )
        return
    if not is_clean:
        output.report_error(
            "it is forgotten, but another process reads the archive right now: what it was in is kept beside the "
            "archive until that ends"
        )


def _described(plan: DeletionPlan, selected: list[ConversationRef]) -> dict[str, Any]:
    return {
        "platform": plan.conversation.platform,
        "conversation_id": plan.conversation.conversation_id,
        "title": plan.conversation.title,
        "messages": plan.messages,
        "sources": plan.sources,
        "agents_kept": [agent.conversation_id for agent in plan.agents if agent not in selected],
        "shared_messages": plan.shared_messages,
        "shared_with": plan.shared_with,
        "set_aside_kept": plan.remaining_quarantine,
    }


def _shown(plan: DeletionPlan, selected: list[ConversationRef]) -> "RenderableType":
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    conversation = plan.conversation
    lines = [Text(gist(conversation.title, 100))] if conversation.title else []
    origins = f", from {', '.join(map(display_path, plan.sources[:3]))}" if plan.sources else ""
    lines.append(Text(f"{counted(plan.messages, 'message')}{origins}", "dim", overflow="fold"))
    if plan.shared_messages:
        names = ", ".join(map(escaped_line, plan.shared_with))
        lines.append(Text(f"{plan.shared_messages:,} of them also in {names}, where they stay", "dim"))
    if agents := sum(agent not in selected for agent in plan.agents):
        verb = "stays" if agents == 1 else "stay"
        lines.append(Text(f"{counted(agents, 'agent')} {verb} unless you say --with-agents", "yellow"))
    if plan.remaining_quarantine:
        verb = "stays" if plan.remaining_quarantine == 1 else "stay"
        note = f"{counted(plan.remaining_quarantine, 'refused record')} of its source {verb} in the quarantine"
        lines.append(Text(note, "yellow"))
    name = Text(f"{conversation.platform}:{escaped_line(conversation.conversation_id)}", "bold")
    return Group(name, Padding(Group(*lines), (0, 0, 0, 2)))


def _list_tombstones(*, as_json: bool) -> tuple[dict[str, Any], int]:
    from rich.table import Table
    from rich.text import Text

    with _archive.open_for_reading() as connection:
        found = tombstones(connection)
    if not as_json and found:
        table = Table.grid(padding=(0, 2, 0, 0))
        for tombstone in found:
            name = Text(f"{tombstone.platform}:{escaped_line(tombstone.conversation_id)}", overflow="fold")
            table.add_row(Text(tombstone.forgotten_at[:10], "dim"), name, Text(gist(tombstone.reason or ""), "dim"))
        output.answer(table)
    elif not found:
        output.notify("Nothing was ever forgotten.")
    return {"tombstones": [tombstone._asdict() for tombstone in found]}, 0 if found else 1


def _undo(word: str, *, as_json: bool) -> tuple[dict[str, Any], int]:
    with _archive.open_for_writing() as connection:
        undone = undo_forget(connection, word)
    name = f"{undone.tombstone.platform}:{escaped_line(undone.tombstone.conversation_id)}"
    existing = [label for label in undone.sources if Path(label.partition("!")[0]).exists()]
    if not as_json:
        output.answer(f"no longer forgotten  {name}")
        if existing:
            output.notify(f"The next scan brings it back, or: palaver import {' '.join(map(display_path, existing))}")
        else:
            output.notify("None of the files it came from is there any more: only another copy can bring it back.")
    return {"undone": {**undone.tombstone._asdict(), "sources": undone.sources}}, 0
