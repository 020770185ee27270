"""`palaver show`: one conversation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

    from rich.text import Text

    from palaver.archive.viewing import Selection
    from palaver.cli._terminal.blocks import Look
    from palaver.config import Config
    from palaver.prices import Prices

_WIDEST = 120
"""Lines that are longer than this are hard to read, however wide the terminal is."""


def show(
    word: Annotated[str, typer.Argument(metavar="NAME", hidden=True)],
    *,
    thinking: Annotated[bool, typer.Option("--thinking", help="What the model thought, in full.")] = False,
    tools: Annotated[
        bool, typer.Option("--tools", help="Calls of tools with all they were given and gave back.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Nothing is folded.")] = False,
    branch: Annotated[
        str | None, typer.Option(metavar="all|MESSAGE", help="All branches, or the way to one message.")
    ] = None,
    sidechains: Annotated[bool, typer.Option("--sidechains", help="Agents, where they were started.")] = False,
    revisions: Annotated[bool, typer.Option("--revisions", help="Other versions of messages that are kept.")] = False,
    tokens: Annotated[bool, typer.Option("--tokens", help="The usage of each message.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="What it would have cost by public prices.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, metavar="N", help="The first N messages.")
    ] = None,
    tail: Annotated[int | None, typer.Option(min=1, metavar="N", help="The last N messages.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The stored messages as JSON, one a line.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a conversation.

    NAME is its id, the beginning of it, PLATFORM:ID, or `latest`; `palaver list` and `palaver search` show ids. What
    the model thought, what tools were given and gave back, and what the program around the model said is folded to a
    line each. Of a conversation with branches, the one that was followed to the end is shown.

    With --json it is the whole conversation, whatever else is asked for; with --raw all branches, unless one is named.

    Exit codes: 0 it was shown, 2 there is no such conversation, or the archive could not be read.
    """
    if limit and tail:
        raise OptionError("--limit shows the first messages, --tail the last: only one of them can be asked for")
    if raw and as_json:
        raise OptionError("--raw prints messages one a line, --json one object: only one of them can be asked for")

    from palaver.archive.naming import named
    from palaver.archive.viewing import select
    from palaver.config import config_path, load_config
    from palaver.prices import Prices

    with _archive.reading() as connection:
        key = named(connection, word).key
        config = load_config(config_path())
        prices = Prices(config) if cost else None
        if as_json:
            output.answer_json(_answer(connection, key, config, prices))
            return
        selection = select(connection, key, "all" if raw and branch is None else branch, first=limit, last=tail)
        if raw:
            output.answer_json_lines(_raw(connection, selection, revisions=revisions))
            return

        from palaver.cli._terminal.blocks import Look

        width = output.columns()
        look = Look(
            width=None if width is None else min(width, _WIDEST),
            thinking=thinking or everything,
            tools=tools or everything,
            everything=everything,
            tokens=tokens,
            sidechains=sidechains,
            revisions=revisions,
            ids=branch is not None,
        )
        output.answer_pieces(_shown(connection, key, selection, look, config=config, prices=prices))


def _shown(
    connection: "sqlite3.Connection",
    key: int,
    selection: "Selection",
    look: "Look",
    *,
    config: "Config",
    prices: "Prices | None",
) -> "Iterator[Text]":
    from palaver.archive.costs import cost_of
    from palaver.archive.naming import Names
    from palaver.archive.overview import overview
    from palaver.cli._terminal.overview import head_of
    from palaver.cli._terminal.transcript import Transcript

    names = Names(connection)
    about = overview(connection, key)
    yield from head_of(about, names, look.width, cost_of(connection, key, prices) if prices else None)
    yield from Transcript(connection, look, names, config.duplicate_window_ms, prices).pieces(about, selection)


def _raw(connection: "sqlite3.Connection", selection: "Selection", *, revisions: bool) -> "Iterator[dict[str, Any]]":
    from palaver.archive.viewing import messages, revisions_of

    for message in messages(connection, selection):
        yield message.document()
        if revisions:
            yield from revisions_of(connection, message)


def _answer(connection: "sqlite3.Connection", key: int, config: "Config", prices: "Prices | None") -> dict[str, Any]:
    """The document, and beside it what the archive knows from all its conversations together."""
    from palaver.archive.copies import Copies
    from palaver.archive.costs import cost_of
    from palaver.archive.naming import Names
    from palaver.archive.overview import overview
    from palaver.archive.reading import whole_document
    from palaver.archive.viewing import messages, revisions_of, select

    names = Names(connection)
    about = overview(connection, key)
    listed = about.listed
    found = Copies(connection, key, listed.platform, listed.conversation_id, config.duplicate_window_ms)
    copies: list[dict[str, Any]] = []
    revisions: list[dict[str, Any]] = []
    for message in messages(connection, select(connection, key, "all")):
        if copy := found.copy_of(message):
            copies.append({"message_id": message.message_id, "kind": copy.kind, "first": copy.first._asdict()})
        revisions += revisions_of(connection, message)
    cost = cost_of(connection, key, prices) if prices else None
    return {
        "conversation": whole_document(connection, key),
        "short_id": listed.short_id,
        "title": listed.title,
        "has_title": listed.has_title,
        "models": about.models,
        "messages": listed.totals.messages,
        "human_messages": listed.totals.human_messages,
        "tool_calls": about.tool_calls,
        "failed_tool_calls": about.failed_calls,
        "tokens": listed.totals.tokens(),
        "cost": cost and {"amount": float(cost.amount), "currency": cost.currency, "unpriced": cost.unpriced},
        "branches": about.branches,
        "messages_off_path": about.off_path,
        "children": [
            {
                "conversation_id": child.conversation_id,
                "short_id": names.short(child.platform, child.conversation_id),
                "title": child.title,
                "is_sidechain": child.is_sidechain,
                "fork_point": child.fork_point,
                "tool_use_id": child.tool_use_id,
                "messages": child.messages,
            }
            for child in about.children
        ],
        "is_parent_archived": None if listed.parent is None else about.parent_title is not None,
        "copies": copies,
        "counted_elsewhere": [there._asdict() for there in about.counted_elsewhere],
        "revisions": revisions,
        "sources": listed.sources,
    }
