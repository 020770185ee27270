"""Anthropic's stream: `message_start`, the blocks in pieces, and `message_delta` with what is known only at the end.

Usage in `message_delta` is cumulative: it replaces that of `message_start`, and null replaces nothing. Gateways leave
out the events' names, so `data.type` decides. Results of server tools come whole. The last `fallback` block names the
model that answered.

`read_in_one_pass` is a fast path for a whole recorded body. Nearly every stream in a log is regular: each event has a
name and one line of data, an object, and consecutive deltas of one block differ only in their text, so that they can be
parsed together. All other streams are read event by event.
"""

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams._event_data import (
    FAST_PATH_ERRORS,
    NOT_JSON,
    TOO_DEEP,
    Issues,
    as_list,
    as_text,
    close_truncated_json,
    is_index,
    merge_fields,
    parse,
    with_following,
)
from palaver.streams.message_starts import ANOTHER_MESSAGE, another_message_detail, is_another_message

EventBatch = tuple[int, str, JsonObject]
"""The number of events that were joined, the name of the first, and the joined data."""


_EVENTS = {
    *("message_start", "message_delta", "message_stop"),
    *("content_block_start", "content_block_delta", "content_block_stop"),
}
# By type of delta: the field of the delta that holds the text, the field of the block, and the type of the block.
_TEXT_DELTAS = {
    "text_delta": ("text", "text", "text"),
    "thinking_delta": ("thinking", "thinking", "thinking"),
    "input_json_delta": ("partial_json", "input", "tool_use"),
}
_OTHER_DELTAS = {"citations_delta": "text", "signature_delta": "thinking", "compaction_delta": "compaction"}


def recognizes(data: JsonObject) -> bool:
    kind = data.get("type")
    return isinstance(kind, str) and (kind in _EVENTS or kind == "ping" or (kind == "error" and "error" in data))


class _Block:
    """A block's first event, and the text and citations that followed."""

    __slots__ = ("citations", "is_open", "start", "texts")

    def __init__(self, start: JsonObject) -> None:
        self.start = start
        self.texts: dict[str, StringIO] = {}
        self.citations: list[Any] = []
        self.is_open = True

    def writers(self) -> dict[str, tuple[str, Callable[[str], int]]]:
        """Return the function that appends text by type of delta, for the types that fit the block or occurred."""
        return {
            kind: (piece, self.texts[field].write)
            for kind, (piece, field, _) in _TEXT_DELTAS.items()
            if field in self.texts
        }


class Assembler:
    def __init__(self) -> None:
        self._sequence = -1
        self._earlier: list[Assembled] = []
        self._begin()

    def _begin(self) -> None:
        """Begin a message."""
        self._issues = Issues()
        self._message: JsonObject | None = None
        self._has_start = False
        self._usage: JsonObject = {}
        self._blocks: dict[int, _Block] = {}
        self._writers: dict[int, dict[str, tuple[str, Callable[[str], int]]]] = {}
        self._error: JsonObject | None = None
        self._has_stopped = False

    def feed(self, event: Event) -> None:
        self._sequence += 1
        data = None
        try:
            # Nearly every event appends text to an open block.
            data = parse(event.data)
            delta, index = data["delta"], data["index"]
            piece, write = self._writers[index][delta["type"]]
            if data["type"] == "content_block_delta" and type(index) is int:
                write(delta[piece])
                return
        except FAST_PATH_ERRORS:
            pass
        self._feed_carefully(event, data)

    def feed_batches(self, batches: list[EventBatch]) -> bool:
        """Take events that were read in one pass; return False if joined deltas have no open block."""
        for count, name, data in batches:
            self._sequence += count
            try:
                delta, index = data["delta"], data["index"]
                piece, write = self._writers[index][delta["type"]]
                if data["type"] == "content_block_delta" and type(index) is int:
                    write(delta[piece])
                    continue
            except FAST_PATH_ERRORS:
                pass
            if count > 1:
                return False
            self._take_safely(name, data)
        return True

    def result(self) -> Assembled:
        return with_following([*self._earlier, self._assembled(self._sequence + 1)])

    def _assembled(self, events: int) -> Assembled:
        closing: list[Issue] = []
        if self._message is None and not self._blocks and self._error is not None:
            payload: JsonObject = {"type": "error", "error": self._error}
            return self._issues.assembled(payload, events, is_complete=False, closing=closing)
        payload = dict(self._message or {})
        if self._blocks or "content" in payload:
            payload["content"] = [self._block_value(index, events, closing) for index in sorted(self._blocks)]
        if self._usage or "usage" in payload:
            payload["usage"] = dict(self._usage)
        if self._error is not None:
            payload["error"] = self._error
        if self._message is None and not self._blocks:
            closing.append(Issue("incomplete_stream_start", events, "no message"))
        if not self._has_stopped:
            closing.append(Issue("incomplete_stream_end", events, "message_stop is missing"))
        is_complete = (
            self._has_stopped and self._message is not None and self._error is None and not self._issues.has_unreadable
        )
        return self._issues.assembled(payload, events, is_complete=is_complete, closing=closing)

    def _feed_carefully(self, event: Event, data: Any = None) -> None:
        if not isinstance(data, dict):
            data = self._issues.parse_object(event, self._sequence)
        if data is not None:
            self._take_safely(event.name, data)

    def _take_safely(self, name: str, data: JsonObject) -> None:
        try:
            self._take(data.get("type") or name, data)
        except RecursionError:
            self._issues.note_unreadable("corrupted_data", self._sequence, TOO_DEEP)

    def _take(self, kind: Any, data: JsonObject) -> None:
        if kind == "message_start" and self._is_another_message(data):
            known = (self._message or {}).get("id")
            self._note(ANOTHER_MESSAGE, another_message_detail(known, data["message"].get("id")))
            self._earlier.append(self._assembled(self._sequence))
            self._begin()
        if isinstance(kind, str) and kind in _EVENTS:
            if self._has_stopped:
                self._note("out_of_order", f"{kind} after message_stop")
            elif self._message is None and kind != "message_start":
                self._note("incomplete_stream_start", f"{kind} comes first")
                self._message = {}
        match kind:
            case "content_block_delta":
                self._add_delta(data)
            case "content_block_start":
                self._start_block(data)
            case "content_block_stop":
                self._stop_block(data)
            case "message_start":
                self._start_message(data)
            case "message_delta":
                self._update_message(data)
            case "message_stop":
                self._stop_message()
            case "error":
                self._take_error(data)
            case "ping":
                pass
            case _:
                self._note("unknown_event", kind)

    def _note(self, kind: str, detail: object) -> None:
        self._issues.note(kind, self._sequence, detail)

    def _is_another_message(self, data: JsonObject) -> bool:
        message = data.get("message")
        if self._message is None or not isinstance(message, dict):
            return False
        has_ended = self._has_stopped or not self._has_start
        return is_another_message(self._message.get("id"), message.get("id"), has_ended=has_ended)

    def _start_message(self, data: JsonObject) -> None:
        message = data.get("message")
        if not isinstance(message, dict):
            self._note("unexpected_value", "message_start without a message")
        elif self._message is not None:
            self._note("repeated_event", "a second message_start")
        else:
            self._message = message
            self._has_start = True
            usage = message.get("usage")
            if isinstance(usage, dict):
                self._usage = dict(usage)
            for start in as_list(message.get("content")):
                if isinstance(start, dict):
                    block = self._blocks[len(self._blocks)] = _Block(start)
                    block.is_open = False

    def _start_block(self, data: JsonObject) -> None:
        index, start = data.get("index"), data.get("content_block")
        if not is_index(index) or not isinstance(start, dict):
            self._note("unexpected_value", f"content_block_start {index}")
            return
        if index in self._blocks:
            self._note("repeated_event", f"block {index} begins again")
            return
        if index != len(self._blocks):
            self._note("out_of_order", f"block {index} is number {len(self._blocks)}")
        block = self._blocks[index] = _Block(start)
        for _, field, kind in _TEXT_DELTAS.values():
            if start.get("type") == kind or (field == "input" and "input" in start):
                block.texts[field] = StringIO()
        if not self._has_stopped:
            self._writers[index] = block.writers()
        match start:
            case {"type": "fallback", "to": {"model": str(model)}} if self._message is not None:
                self._message["model"] = model
            case _:
                pass

    def _add_delta(self, data: JsonObject) -> None:
        index, delta = data.get("index"), data.get("delta")
        if not is_index(index) or not isinstance(delta, dict):
            self._note("unexpected_value", f"content_block_delta {index}")
            return
        kind = delta.get("type")
        if not isinstance(kind, str) or (kind not in _TEXT_DELTAS and kind not in _OTHER_DELTAS):
            self._note("unknown_event", f"content_block_delta {kind}")
            return
        block = self._block(index, kind)
        if kind in _TEXT_DELTAS:
            piece, field, _ = _TEXT_DELTAS[kind]
            text = delta.get(piece)
            if not isinstance(text, str):
                self._note("unexpected_value", f"{kind} without text")
                return
            if field not in block.texts:
                self._note("out_of_order", f"{kind} in a block of type {block.start.get('type')}")
                block.texts[field] = StringIO()
                if block.is_open and not self._has_stopped:
                    self._writers[index] = block.writers()
            block.texts[field].write(text)
        elif kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        else:
            merge_fields(block.start, {name: value for name, value in delta.items() if name != "type"})

    def _block(self, index: int, kind: str) -> _Block:
        block = self._blocks.get(index)
        if block is None:
            self._note("unknown_block", f"{kind} for block {index}")
            start = {"type": _TEXT_DELTAS[kind][2] if kind in _TEXT_DELTAS else _OTHER_DELTAS[kind]}
            self._start_block({"index": index, "content_block": start})
            return self._blocks[index]
        if not block.is_open:
            self._note("out_of_order", f"{kind} for block {index}, which has ended")
        return block

    def _stop_block(self, data: JsonObject) -> None:
        index: Any = data.get("index")
        block = self._blocks.get(index) if is_index(index) else None
        if block is None:
            self._note("unknown_block", f"content_block_stop {index}")
        elif not block.is_open:
            self._note("repeated_event", f"block {index} ends again")
        else:
            block.is_open = False
            self._writers.pop(index, None)

    def _update_message(self, data: JsonObject) -> None:
        message = self._message
        assert message is not None
        for name, value in data.items():
            if name in {"delta", "usage"}:
                if isinstance(value, dict):
                    merge_fields(message if name == "delta" else self._usage, value)
                elif value is not None:
                    self._note("unexpected_value", f"{name} of message_delta")
            elif name != "type" and value is not None:
                message[name] = value

    def _stop_message(self) -> None:
        self._has_stopped = True
        self._writers.clear()
        for index, block in self._blocks.items():
            if block.is_open:
                self._note("unclosed_block", f"block {index}")

    def _take_error(self, data: JsonObject) -> None:
        error = data.get("error")
        self._error = error if isinstance(error, dict) else {"message": str(error)}
        self._note("error_event", f"{self._error.get('type')}: {self._error.get('message')}")

    def _block_value(self, index: int, events: int, closing: list[Issue]) -> JsonObject:
        block = self._blocks[index]
        value = dict(block.start)
        for field, written in block.texts.items():
            text = written.getvalue()
            if field == "input":
                if text or "input" not in value:
                    value["input"] = _parse_input(text, f"input of block {index}", events, closing)
            elif text or field in value:
                value[field] = as_text(value.get(field)) + text
        if block.citations:
            value["citations"] = [*as_list(value.get("citations")), *block.citations]
        return value


def _parse_input(text: str, label: str, events: int, closing: list[Issue]) -> Any:
    """Return a tool's input; text that is not JSON goes under the key `raw`, so that a cut call cannot pass for one."""
    if not text.strip():
        return {}
    try:
        return parse(text)
    except FAST_PATH_ERRORS as error:
        reason = f"{label}: {error}"
    try:
        close_truncated_json(text)
    except FAST_PATH_ERRORS:
        kind = "invalid_json"
    else:
        kind = "incomplete_json"
    closing.append(Issue(kind, events, reason))
    return {"raw": text}


_MAX_ONE_PASS_BYTES = 1 << 20
"""The limit of the fast path, which holds all events of a body in memory."""
_NAME, _DATA = b"event: ", b"data: "
_TEXT_DELTA = re.compile(
    rb'data: \{"type": ?"content_block_delta", ?"index": ?[0-9]+, ?"delta": ?\{'
    rb'"type": ?"(?:text|thinking|input_json)_delta", ?"(text|thinking|partial_json)": ?'
)
_DELTA_END = b"}}"


def read_in_one_pass(body: bytes) -> list[EventBatch] | None:
    """Return the events of a regular stream, or None for any other body."""
    if len(body) > _MAX_ONE_PASS_BYTES or not body.startswith(_NAME) or b"\r" in body:
        return None
    *lines, rest = body.split(b"\n")
    names, data, blank = lines[::3], lines[1::3], lines[2::3]
    if rest or any(blank) or not len(names) == len(data) == len(blank):
        return None
    if not all(line.startswith(_NAME) and line != _NAME for line in set(names)):
        return None
    try:
        return _batches(names, data)
    except NOT_JSON:
        return None


def _batches(names: list[bytes], data: list[bytes]) -> list[EventBatch] | None:
    batches: list[EventBatch] = []
    at = 0
    while at < len(data):
        line = data[at]
        piece = _TEXT_DELTA.match(line)
        if piece is None:
            value: Any = parse(line[len(_DATA) :]) if line.startswith(_DATA) else None
            after = at + 1
        else:
            start, after = piece[0], at + 1
            while after < len(data) and data[after].startswith(start):
                after += 1
            value = _joined_delta(piece, data[at:after])
        if not isinstance(value, dict):
            return None
        batches.append((after - at, names[at][len(_NAME) :].decode("utf-8", "replace"), value))
        at = after
    return batches


def _joined_delta(piece: re.Match[bytes], lines: list[bytes]) -> JsonObject | None:
    """Return the data of deltas that differ only in their text, with the texts joined; None if a line has more."""
    start, end = piece.end(), -len(_DELTA_END)
    pieces = [line[start:end] for line in lines if line[end:] == _DELTA_END]
    # As many strings as lines: a line with anything but one string in this position would change their number or type.
    texts: list[Any] = parse(b"[" + b",".join(pieces) + b"]")
    if not len(texts) == len(pieces) == len(lines) or set(map(type, texts)) != {str}:
        return None
    value: JsonObject = parse(piece[0][len(_DATA) :] + b'""' + _DELTA_END)
    value["delta"][piece[1].decode()] = "".join(texts)
    return value
