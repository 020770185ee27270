"""Continuing a session that grew: what the next run must know of the lines before the cursor.

Most sessions only get longer. Where new lines reach further back than what is remembered (a rewind, a replay after a
dropped connection, a late block of an old answer), the whole session is read again: the result is the same.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from palaver.importers.claude_code.routes import Routes
from palaver.importers.claude_code.transcript import Transcript
from palaver.model.build import JsonObject
from palaver.sources.cursors import Cursor, tail_hash
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

_LINKS_KEPT = 500
_CALLS_KEPT = 64
_ANSWERS_KEPT = 256
_TAIL_LOOKED_AT = 8
_KEPT = (
    *("titles", "facts", "custom", "tags", "cost", "models", "summaries", "tasks", "task_of_agent", "parent_id"),
    *("fork_point", "sequence", "prompted"),
)


def continued(source: Source, sides: list[Source], run: Run) -> Cursor | None:
    """The session's cursor, if what was read of it and of the files beside it still stands, and new lines add to it."""
    cursor = run.cursors.get(source.name)
    if cursor is None or not _may_continue(source, cursor):
        return None
    for side in sides:
        known = run.cursors.get(side.name)
        if known and not (is_as_it_was(side, run) or (known.tail_hash and _may_continue(side, known))):
            return None
    return cursor


def is_as_it_was(side: Source, run: Run) -> bool:
    """Whether a file beside the session was read, and did not change since."""
    cursor = run.cursors.get(side.name)
    return cursor is not None and (cursor.offset, cursor.state["modified"]) == (side.size_bytes, side.modified_at())


def mark_read(side: Source, run: Run) -> None:
    """Remember that a file beside the session was read; it is read whole again when it changes, with the session."""
    if run.keeps_cursors and side.name not in run.next_cursors:
        run.next_cursors[side.name] = Cursor(side.size_bytes, "", {"modified": side.modified_at()})


def cursor_behind(source: Source, records: JsonLines, routes: Routes) -> Cursor | None:
    """Where the next run may continue; None when the file holds more than one conversation, which is read whole."""
    main = routes.main
    is_open = main.queued or main.unanswered or main.unnamed
    if routes.sidechains or routes.sessions or is_open or not source.is_plain_file():
        return None
    first_open = _first_open(main.messages)
    recent = list(main.links.items())[-_LINKS_KEPT:]
    links = {**main.previous_links, **{uuid: message.get("message_id", "") for uuid, message in recent}}
    state: JsonObject = {name: getattr(main, name) for name in _KEPT}
    state |= {
        "seen": main.header.seen,
        "span": main.span,
        "position": main.position + first_open,
        "number": records.end_number,
        "modified": source.modified_at(),
        "calls": _unanswered(main),
        "links": dict(list(links.items())[-_LINKS_KEPT:]),
        "horizon": _horizon(main) if len(links) >= _LINKS_KEPT or main.previous_links else "",
        "open": main.messages[first_open:],
        "answered": _answered(main, first_open),
    }
    with source.open() as stream:
        return Cursor(records.end, tail_hash(stream, records.end), state)


def restore(main: Transcript, state: JsonObject) -> None:
    """Bring a new transcript to where the last run left it; its last messages are handed out again, grown or not."""
    for name in _KEPT:
        setattr(main, name, state[name])
    main.sequence += 1
    main.header.seen = state["seen"]
    main.span = tuple(state["span"])
    main.position = state["position"]
    main.previous_links = state["links"]
    main.calls = state["calls"]
    main.answered_before = state["answered"]
    for message in state["open"]:
        main.messages.append(message)
        metadata = message["metadata"]
        for uuid in metadata.get("source_ids", [message["message_id"]]):
            main.links[uuid] = message
        if isinstance((api_id := metadata.get("api_message_id")), str):
            main.answers[api_id] = message


def _first_open(messages: list[JsonObject]) -> int:
    """From which message on more lines may belong to one that is there."""
    count = len(messages)
    for index in range(max(0, count - _TAIL_LOOKED_AT), count):
        if "tokens_partial" in messages[index]["metadata"]:
            return index
    return count


def _unanswered(main: Transcript) -> JsonObject:
    """The last calls that have no result yet, with what was asked of them.

    Another result of one that has its own is rare: then the whole session is read again.
    """
    recent = dict(list(main.calls.items())[-_CALLS_KEPT:])
    for message in main.messages[-_LINKS_KEPT:] if recent else ():
        for block in message["content"]:
            if block["type"] == "tool_result":
                recent.pop(block["tool_use_id"], None)
    return recent


def _answered(main: Transcript, first_open: int) -> list[str]:
    settled = {id(message) for message in main.messages[:first_open]}
    recent = [api_id for api_id, message in main.answers.items() if id(message) in settled]
    return [*main.answered_before, *recent][-_ANSWERS_KEPT:]


def _horizon(main: Transcript) -> str:
    """The time before which lines are not remembered one by one."""
    held = main.messages[-_LINKS_KEPT // 2 :]
    return min((message["timestamp"] for message in held), default=main.span[1])


def _may_continue(source: Source, cursor: Cursor) -> bool:
    """Whether a file still begins as it did, and what was added speaks only of what is remembered."""
    if not source.is_plain_file() or not cursor.state.get("links"):
        return False
    with source.open() as stream:
        if not cursor.is_valid_for(stream):
            return False
    state = cursor.state
    links, calls, answered = set(state["links"]), set(state["calls"]), set(state["answered"])
    prompted, horizon = set(state["prompted"]), state["horizon"]
    for message in state["open"]:
        links.update(message["metadata"].get("source_ids", [message["message_id"]]))
    for record in _new_records(source, cursor.offset):
        uuid, parent = record.get("uuid"), record.get("parentUuid", record.get("leafUuid"))
        timestamp = record.get("timestamp")
        if record.get("isSidechain") or (isinstance(parent, str) and parent not in links):
            return False
        if isinstance(uuid, str):
            if uuid in links or (isinstance(timestamp, str) and timestamp < horizon):
                return False
            links.add(uuid)
        message = record.get("message")
        if not isinstance(message, dict):
            continue
        if message.get("id") in answered:
            return False
        kinds: set[Any] = set()
        for block in content if isinstance((content := message.get("content")), list) else ():
            if not isinstance(block, dict):
                continue
            kinds.add(block.get("type"))
            if block.get("type") == "tool_use":
                calls.add(block.get("id"))
            elif block.get("type") == "tool_result" and block.get("tool_use_id") not in calls:
                return False
        if record.get("type") == "user" and "tool_result" not in kinds and isinstance(parent, str):
            if state["links"].get(parent, parent) in prompted:
                return False
            prompted.add(parent)
    return True


def _new_records(source: Source, offset: int) -> Iterator[JsonObject]:
    with source.open(offset) as stream:
        for line in stream:
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(record, dict):
                yield record
