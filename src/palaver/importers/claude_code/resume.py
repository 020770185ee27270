"""Incremental reading of a session that grew: the state that the next run needs about lines before the cursor.

Most sessions only get longer. If new lines refer further back than the state (a rewind, a replay after a dropped
connection, a late block of an old answer), the whole session is read again, with the same result.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from palaver.importers.claude_code.dispatch import TranscriptRouter
from palaver.importers.claude_code.transcript import Transcript
from palaver.model.build import JsonObject
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Cursor, Run, tail_hash
from palaver.sources.source import Source

_MAX_LINKS = 500
_MAX_CALLS = 64
_MAX_ANSWERS = 256
_MAX_OPEN_MESSAGES = 8
_SAME_NAMES = ("titles", "custom", "tags", "cost", "models", "summaries", "tasks", "task_of_agent", "parent_id")
_STATE_KEYS = {
    **{name: name for name in (*_SAME_NAMES, "fork_point", "sequence")},
    "platform_metadata": "facts",
    "prompt_parents": "prompted",
}
"""Key in the stored state by attribute of the transcript; stored cursors need the keys as they are."""


def continuation_cursor(source: Source, side_sources: list[Source], run: Run) -> Cursor | None:
    """Return the session's cursor if the session and its side files only grew; None to read the whole session."""
    cursor = run.cursors.get(source.name)
    if cursor is None or not _can_continue(source, cursor):
        return None
    for side in side_sources:
        known = run.cursors.get(side.name)
        if known and not (is_unchanged(side, run) or (known.tail_hash and _can_continue(side, known))):
            return None
    return cursor


def is_unchanged(side: Source, run: Run) -> bool:
    """Return whether a side file was read before and has not changed since."""
    cursor = run.cursors.get(side.name)
    return cursor is not None and (cursor.offset, cursor.state["modified"]) == (side.size_bytes, side.modified_at())


def remember_side_file(side: Source, run: Run) -> None:
    """Remember that a side file was read; when it changes, it is read whole again together with the session."""
    if run.keeps_cursors and side.name not in run.next_cursors:
        run.next_cursors[side.name] = Cursor(side.size_bytes, "", {"modified": side.modified_at()})


def next_cursor(source: Source, records: JsonLines, router: TranscriptRouter) -> Cursor | None:
    """Return where the next run can continue; None if it must read the whole file again.

    That is so for a file with more than one conversation, with queued prompts, or with calls that need an id.
    """
    main = router.main
    is_open = main.queued or main.generated_call_ids or main.calls_without_id
    if router.sidechains or router.sessions or is_open or not source.is_plain_file():
        return None
    first_open = _first_open(main.messages)
    recent = list(main.links.items())[-_MAX_LINKS:]
    links = {**main.previous_links, **{uuid: message.get("message_id", "") for uuid, message in recent}}
    state: JsonObject = {key: getattr(main, name) for name, key in _STATE_KEYS.items()}
    state |= {
        "seen": main.header.seen,
        "span": main.span,
        "position": main.emitted_count + first_open,
        "number": records.end_number,
        "modified": source.modified_at(),
        "calls": _calls_without_result(main),
        "links": dict(list(links.items())[-_MAX_LINKS:]),
        "horizon": _horizon(main) if len(links) >= _MAX_LINKS or main.previous_links else "",
        "open": main.messages[first_open:],
        "answered": _answer_ids(main, first_open),
    }
    with source.open() as stream:
        return Cursor(records.end, tail_hash(stream, records.end), state)


def restore_transcript(main: Transcript, state: JsonObject) -> None:
    """Restore a new transcript to where the last run ended; its open messages are emitted again, grown or not."""
    for name, key in _STATE_KEYS.items():
        setattr(main, name, state[key])
    main.sequence += 1
    main.header.seen = state["seen"]
    main.span = tuple(state["span"])
    main.emitted_count = state["position"]
    main.previous_links = state["links"]
    main.calls = state["calls"]
    main.previous_answer_ids = state["answered"]
    for message in state["open"]:
        main.messages.append(message)
        metadata = message["metadata"]
        for uuid in metadata.get("source_ids", [message["message_id"]]):
            main.links[uuid] = message
        if isinstance((api_id := metadata.get("api_message_id")), str):
            main.answers[api_id] = message


def _first_open(messages: list[JsonObject]) -> int:
    """Return the index of the first message to which more lines may belong."""
    count = len(messages)
    for index in range(max(0, count - _MAX_OPEN_MESSAGES), count):
        if "tokens_partial" in messages[index]["metadata"]:
            return index
    return count


def _calls_without_result(main: Transcript) -> JsonObject:
    """Return the last calls that have no result yet, with their input.

    A second result of the same call is rare; the whole session is then read again.
    """
    recent = dict(list(main.calls.items())[-_MAX_CALLS:])
    for message in main.messages[-_MAX_LINKS:] if recent else ():
        for block in message["content"]:
            if block["type"] == "tool_result":
                recent.pop(block["tool_use_id"], None)
    return recent


def _answer_ids(main: Transcript, first_open: int) -> list[str]:
    settled = {id(message) for message in main.messages[:first_open]}
    recent = [api_id for api_id, message in main.answers.items() if id(message) in settled]
    return [*main.previous_answer_ids, *recent][-_MAX_ANSWERS:]


def _horizon(main: Transcript) -> str:
    """Return the time before which lines are not remembered individually."""
    recent = main.messages[-_MAX_LINKS // 2 :]
    return min((message["timestamp"] for message in recent), default=main.span[1])


def _can_continue(source: Source, cursor: Cursor) -> bool:
    """Return whether the read part of a file is unchanged, and new lines refer only to what the state holds."""
    if not source.is_plain_file() or not cursor.state.get("links"):
        return False
    with source.open() as stream:
        if not cursor.is_valid_for(stream):
            return False
    state = cursor.state
    links, calls, answered = set(state["links"]), set(state["calls"]), set(state["answered"])
    prompt_parents, horizon = set(state["prompted"]), state["horizon"]
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
            if state["links"].get(parent, parent) in prompt_parents:
                return False
            prompt_parents.add(parent)
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
