"""`palaver show`: one conversation in full."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.conversation_totals import conversation_cost
from palaver.archive.documents import whole_document
from palaver.archive.messages import MessageSelection, older_versions, select_messages, shown_messages
from palaver.archive.overview import Copies, conversation_overview
from palaver.archive.selection import ShortIds, find_conversation
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.config import Config, config_path, load_config
from palaver.errors import OptionError
from palaver.prices import Prices

if TYPE_CHECKING:
    import sqlite3

    from rich.text import Text

    from palaver.cli._terminal.blocks import DisplayOptions

_MAX_WIDTH = 120
"""Longer lines are hard to read, however wide the terminal is."""


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

    with _archive.open_for_reading() as connection:
        key = find_conversation(connection, word).key
        config = load_config(config_path())
        prices = Prices(config) if cost else None
        if as_json:
            output.answer_json(_answer(connection, key, config, prices))
            return
        selection = select_messages(
            connection, key, "all" if raw and branch is None else branch, first=limit, last=tail
        )
        if raw:
            output.answer_json_lines(_raw(connection, selection, revisions=revisions))
            return

        from palaver.cli._terminal.blocks import DisplayOptions

        width = output.terminal_width()
        options = DisplayOptions(
            width=None if width is None else min(width, _MAX_WIDTH),
            thinking=thinking or everything,
            tools=tools or everything,
            everything=everything,
            tokens=tokens,
            sidechains=sidechains,
            revisions=revisions,
            ids=branch is not None,
        )
        output.answer_texts(_shown(connection, key, selection, options, config=config, prices=prices))


def _shown(
    connection: "sqlite3.Connection",
    key: int,
    selection: MessageSelection,
    options: "DisplayOptions",
    *,
    config: Config,
    prices: Prices | None,
) -> "Iterator[Text]":
    from palaver.cli._terminal.overview import overview_lines
    from palaver.cli._terminal.transcript import Transcript

    short_ids = ShortIds(connection)
    overview = conversation_overview(connection, key)
    yield from overview_lines(
        overview, short_ids, options.width, conversation_cost(connection, key, prices) if prices else None
    )
    yield from Transcript(connection, options, short_ids, config.duplicate_window_ms, prices).pieces(
        overview, selection
    )


def _raw(
    connection: "sqlite3.Connection", selection: MessageSelection, *, revisions: bool
) -> "Iterator[dict[str, Any]]":
    for message in shown_messages(connection, selection):
        yield message.document()
        if revisions:
            yield from older_versions(connection, message)


def _answer(connection: "sqlite3.Connection", key: int, config: Config, prices: Prices | None) -> dict[str, Any]:
    """Return the document, and beside it what the archive knows from its other conversations."""
    short_ids = ShortIds(connection)
    overview = conversation_overview(connection, key)
    conversation = overview.conversation
    all_copies = Copies(
        connection, key, conversation.platform, conversation.conversation_id, config.duplicate_window_ms
    )
    copies: list[dict[str, Any]] = []
    revisions: list[dict[str, Any]] = []
    for message in shown_messages(connection, select_messages(connection, key, "all")):
        if copy := all_copies.copy_of(message):
            copies.append({"message_id": message.message_id, "kind": copy.kind, "first": copy.first._asdict()})
        revisions += older_versions(connection, message)
    cost = conversation_cost(connection, key, prices) if prices else None
    return {
        "conversation": whole_document(connection, key),
        "short_id": conversation.short_id,
        "title": conversation.title,
        "has_title": conversation.has_title,
        "models": overview.models,
        "messages": conversation.totals.messages,
        "human_messages": conversation.totals.human_messages,
        "tool_calls": overview.tool_calls,
        "failed_tool_calls": overview.failed_calls,
        "tokens": conversation.totals.tokens(),
        "cost": cost and {"amount": float(cost.amount), "currency": cost.currency, "unpriced": cost.unpriced},
        "branches": overview.branches,
        "messages_off_path": overview.off_path,
        "children": [
            {
                "conversation_id": child.conversation_id,
                "short_id": short_ids.short_id(child.platform, child.conversation_id),
                "title": child.title,
                "is_sidechain": child.is_sidechain,
                "fork_point": child.fork_point,
                "tool_use_id": child.tool_use_id,
                "messages": child.messages,
            }
            for child in overview.children
        ],
        "is_parent_archived": None if conversation.parent is None else overview.parent_title is not None,
        "copies": copies,
        "counted_elsewhere": [counted._asdict() for counted in overview.counted_elsewhere],
        "revisions": revisions,
        "sources": conversation.sources,
    }
