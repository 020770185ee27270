"""`palaver show`: one conversation in full."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.conversation_totals import conversation_cost, has_recorded_calls
from palaver.archive.documents import whole_document
from palaver.archive.message_place import MessagePlace, find_message, find_place
from palaver.archive.messages import (
    MessageSelection,
    older_versions,
    select_messages,
    shown_messages,
    stored_message,
)
from palaver.archive.overview import Copies, conversation_overview
from palaver.archive.recorded_calls import (
    RecordedCall,
    SentContext,
    recorded_call,
    sent_context,
)
from palaver.archive.short_ids import ShortIds
from palaver.cli import _archive
from palaver.cli._arguments import AsJson, NoPager
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
_CONTEXT = 5
_NOT_RECORDED = 1


def show(
    word: Annotated[str, typer.Argument(metavar="ID", hidden=True)],
    *,
    thinking: Annotated[bool, typer.Option("--thinking", help="Thinking in full.")] = False,
    tools: Annotated[bool, typer.Option("--tools", help="Tool calls with their whole input and output.")] = False,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Collapse nothing.")] = False,
    branch: Annotated[
        str | None, typer.Option(metavar="all|MESSAGE", help="All branches, or the path to one message.")
    ] = None,
    agents: Annotated[bool, typer.Option("--agents", help="The conversations of agents, where they start.")] = False,
    revisions: Annotated[bool, typer.Option("--revisions", help="Also older versions of messages.")] = False,
    tokens: Annotated[bool, typer.Option("--tokens", help="Token counts of each message.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="Cost by public prices.")] = False,
    around: Annotated[
        str | None, typer.Option(metavar="MESSAGE", help="The message with this number, as ID:N, and those around it.")
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(
            "--context", "-C", min=0, metavar="N", help=f"How many messages around it.  [default: {_CONTEXT}]"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, metavar="N", help="The first N messages.")
    ] = None,
    tail: Annotated[int | None, typer.Option(min=1, metavar="N", help="The last N messages.")] = None,
    wire: Annotated[
        bool,
        typer.Option("--wire", help="What was sent for the answer ID:N, if it was recorded: system prompt, tools."),
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="The stored messages as JSON, one a line.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Markdown as it is stored.")] = False,
    no_pager: NoPager = False,
    as_json: AsJson = False,
) -> None:
    """Show a conversation, or one of its messages.

    ID is the id of a conversation or the beginning of it, as `palaver list` and `palaver search` print it, PLATFORM:ID,
    a title in quotes, or `latest`. ID:N is the Nth message of a conversation, shown with the messages around it; the
    numbers are at the right edge. A message id, or its beginning, may take the place of N.

    Thinking, tool input/output and harness messages are collapsed to one line each. Of a conversation with branches,
    the active one is shown. On a terminal, the Markdown of models is rendered, and long output goes through $PAGER.

    Answers whose call was recorded as well (`palaver record`, gateway logs) are shown with its duration, the time to
    the first token and the number of retries. With --wire, ID:N shows that call: times, settings, what failed before,
    the system prompt, and the tools that were sent.

    With --json it is the whole conversation, whatever else is asked for; with --raw all branches, unless one is named.

    Exit codes: 0 it was shown, 1 no recorded call belongs to the message, 2 there is no such conversation or message,
    or the archive could not be read.
    """
    if raw and as_json:
        raise OptionError("--raw and --json cannot be combined: --raw prints messages one a line, --json one object")
    if raw and wire:
        raise OptionError("--raw and --wire cannot be combined: --raw prints messages, --wire the call of one of them")

    with _archive.open_for_reading() as connection:
        place = find_place(connection, word)
        if around is not None:
            if place.number is not None:
                raise OptionError(f"{word} names a message already: leave out --around")
            place = find_message(connection, place.conversation, around)
        key = place.conversation.key
        config = load_config(config_path())
        prices = Prices(config) if cost else None
        if wire and place.message_id is None:
            raise OptionError(f"--wire needs one answer: write {word}:N with its number")
        if as_json:
            wire_of = place.message_id if wire else None
            answer = _answer(connection, key, config, prices, wire_of=wire_of)
            output.answer_json(answer)
            if wire and all(call["message_id"] != wire_of for call in answer["recorded_calls"]):
                raise typer.Exit(_NOT_RECORDED)
            return
        if wire:
            with output.paged(is_wanted=not no_pager):
                _show_call(connection, place, whole_tools=tools or everything)
            return
        _check_range(place.number, context, limit, tail)
        if branch not in {None, "all"}:
            branch = find_message(connection, place.conversation, branch or "").message_id
        selection = select_messages(
            connection,
            key,
            "all" if raw and branch is None else branch,
            first=limit,
            last=tail,
            around=place.number,
            context=_CONTEXT if context is None else context,
        )
        if raw:
            output.answer_json_lines(_raw(connection, selection, revisions=revisions))
            return

        from palaver.cli._terminal.blocks import DisplayOptions

        with output.paged(is_wanted=not no_pager):
            width = output.terminal_width()
            options = DisplayOptions(
                width=None if width is None else min(width, _MAX_WIDTH),
                thinking=thinking or everything,
                tools=tools or everything,
                everything=everything,
                tokens=tokens,
                agents=agents,
                revisions=revisions,
                ids=branch is not None,
                markdown=not plain and output.has_colours(),
                target=selection.target,
            )
            output.answer_texts(_shown(connection, key, selection, options, config=config, prices=prices))


def _show_call(connection: "sqlite3.Connection", place: MessagePlace, *, whole_tools: bool) -> None:
    """Print the recorded call of an answer."""
    from palaver.archive.message_place import message_numbers
    from palaver.cli._terminal.recorded_call import recorded_call_lines
    from palaver.workflows.find_logged_line import find_logged_line

    assert place.message_id is not None
    call = recorded_call(connection, stored_message(connection, place.conversation.key, place.message_id))
    if call is None:
        output.notify("No recorded call belongs to this message. `palaver record -- COMMAND` records those to come.")
        raise typer.Exit(_NOT_RECORDED)
    short_id = ShortIds(connection).short_id(call.platform, call.conversation_id)
    number = message_numbers(connection, call.conversation, [call.message_id])[call.message_id]
    width = output.terminal_width()
    output.answer_texts(
        recorded_call_lines(
            call,
            sent_context(connection, call),
            None if width is None else min(width, _MAX_WIDTH),
            name=f"{short_id}:{number}",
            line=find_logged_line(connection, call),
            whole_tools=whole_tools,
        )
    )


def _check_range(number: int | None, context: int | None, limit: int | None, tail: int | None) -> None:
    parts = {"--limit": limit, "--tail": tail, "ID:N or --around": number}
    chosen = [name for name, value in parts.items() if value is not None]
    if len(chosen) > 1:
        raise OptionError(f"{' and '.join(chosen)} cannot be combined: each chooses the messages to show")
    if context is not None and number is None:
        raise OptionError("--context needs a message: write ID:N, or add --around N")


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


def _answer(
    connection: "sqlite3.Connection", key: int, config: Config, prices: Prices | None, *, wire_of: str | None
) -> dict[str, Any]:
    """Return the document, and beside it what the archive knows from its other conversations.

    What was sent is part of the recorded call of one message only: it is long, and the same for most.
    """
    from palaver.importers import reopening

    short_ids = ShortIds(connection)
    overview = conversation_overview(connection, key)
    conversation = overview.conversation
    all_copies = Copies(
        connection, key, conversation.platform, conversation.conversation_id, config.duplicate_window_ms
    )
    copies: list[dict[str, Any]] = []
    revisions: list[dict[str, Any]] = []
    recorded: list[dict[str, Any]] = []
    has_recorded = has_recorded_calls(connection)
    for message in shown_messages(connection, select_messages(connection, key, "all")):
        if copy := all_copies.copy_of(message):
            copies.append({"message_id": message.message_id, "kind": copy.kind, "first": copy.first._asdict()})
        revisions += older_versions(connection, message)
        if has_recorded and message.author_kind == "model" and (call := recorded_call(connection, message)):
            context = sent_context(connection, call) if message.message_id == wire_of else None
            recorded.append(_recorded(message.message_id, call, context))
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
        "recorded_calls": recorded,
        "sources": conversation.sources,
        "reopen": reopening(
            conversation.platform, conversation.conversation_id, conversation.project, conversation.sources
        ),
    }


def _recorded(message_id: str, call: RecordedCall, context: SentContext | None) -> dict[str, Any]:
    return {
        "message_id": message_id,
        "recorded_as": {
            "platform": call.platform,
            "conversation_id": call.conversation_id,
            "message_id": call.message_id,
        },
        "url": call.url,
        "sent_at": call.sent_at,
        "status_code": call.status_code,
        "request_id": call.request_id,
        "duration_ms": call.duration_ms,
        "time_to_first_token_ms": call.time_to_first_token_ms,
        "time_to_first_chunk_ms": call.time_to_first_chunk_ms,
        "stream_ms": call.stream_ms,
        "retries": [failed._asdict() for failed in call.retries],
        "system_prompt": None if context is None else context.system_prompt,
        "tools": None if context is None else context.tools,
        "settings": None if context is None else context.settings,
    }
