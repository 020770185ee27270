"""Continuing a session that grew: what the next run must know of the lines before the cursor."""

from typing import Any

from palaver.importers.claude_code.routes import Routes
from palaver.importers.claude_code.transcript import Transcript
from palaver.sources.cursors import Cursor, tail_hash
from palaver.sources.jsonl import JsonLines
from palaver.sources.source import Source

Json = dict[str, Any]

_LINKS_KEPT = 2000
_CALLS_KEPT = 16
_KEPT = ("titles", "facts", "custom", "tags", "cost", "models", "summaries", "tasks", "task_of_agent", "parent_id")


def valid_cursor(source: Source, cursor: Cursor | None) -> Cursor | None:
    """The cursor, if the file still begins as it did when the cursor was made."""
    if cursor is None or not source.is_plain_file():
        return None
    with source.open() as stream:
        return cursor if cursor.is_valid_for(stream) else None


def cursor_behind(source: Source, records: JsonLines, routes: Routes) -> Cursor | None:
    """Where the next run may continue; None when the file holds more than one conversation, which is read whole."""
    if routes.sidechains or routes.sessions or not source.is_plain_file():
        return None
    main = routes.main
    state: Json = {name: getattr(main, name) for name in _KEPT}
    state["seen"] = main.header.seen
    state["span"] = main.span
    state["sequence"] = main.sequence
    state["number"] = records.end_number
    state["calls"] = dict(list(main.calls.items())[-_CALLS_KEPT:])
    recent = list(main.links.items())[-_LINKS_KEPT:]
    state["links"] = {uuid: message.get("message_id", "") for uuid, message in recent}
    state["open"] = [message for message in main.messages[-8:] if "tokens_partial" in message["metadata"]]
    with source.open() as stream:
        return Cursor(records.end, tail_hash(stream, records.end), state)


def restore(main: Transcript, state: Json) -> None:
    """Bring a new transcript to where the last run left it; open answers are handed out again, grown or not."""
    for name in _KEPT:
        setattr(main, name, state[name])
    main.header.seen = state["seen"]
    main.span = tuple(state["span"])
    main.sequence = state["sequence"]
    main.previous_links = state["links"]
    main.calls = state["calls"]
    for message in state["open"]:
        main.messages.append(message)
        for uuid in message["metadata"].get("source_ids", [message["message_id"]]):
            main.links[uuid] = message
        if type(api_id := message["metadata"].get("api_message_id")) is str:
            main.answers[api_id] = message
