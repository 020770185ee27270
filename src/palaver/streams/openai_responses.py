"""The Responses stream: it repeats every finished item, and at its end the whole response.

So the terminal object is the response. If the stream broke off before it, or if it has no output, the finished items
take its place, and deltas that of unfinished items: by output index, then by index of content, summary or command.
`sequence_number` shows events that are missing or repeated, as happens when a background response is resumed.
"""

import re
from io import StringIO
from typing import Any, NamedTuple

from palaver.model.build import JsonObject
from palaver.streams._accumulator import TextWriter
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams._event_data import (
    FAST_PATH_ERRORS,
    TOO_DEEP,
    Issues,
    as_list,
    as_text,
    is_index,
    merge_fields,
    parse,
    with_following,
)
from palaver.streams.message_starts import ANOTHER_MESSAGE, another_message_detail, is_another_message

_STARTS = {"response.created", "response.queued", "response.in_progress"}
_ENDS = {"response.completed", "response.incomplete", "response.failed"}
_STATUS = re.compile(r"response\.\w+\.(in_progress|searching|completed|failed|interpreting|generating|compacting)")


class _TextLocation(NamedTuple):
    """The location of a text: a field of an item of this type, or of a part in one of its lists."""

    item_type: str
    field: str
    parts_field: str = ""
    part_type: str = ""
    index_field: str = "content_index"


_TEXT_LOCATIONS = {
    "response.output_text": _TextLocation("message", "text", "content", "output_text"),
    "response.refusal": _TextLocation("message", "refusal", "content", "refusal"),
    "response.reasoning_text": _TextLocation("reasoning", "text", "content", "reasoning_text"),
    "response.reasoning_summary_text": _TextLocation("reasoning", "text", "summary", "summary_text", "summary_index"),
    "response.shell_call_command": _TextLocation("shell_call", "command", "commands", "command", "command_index"),
    "response.function_call_arguments": _TextLocation("function_call", "arguments"),
    "response.mcp_call_arguments": _TextLocation("mcp_call", "arguments"),
    "response.custom_tool_call_input": _TextLocation("custom_tool_call", "input"),
    "response.code_interpreter_call_code": _TextLocation("code_interpreter_call", "code"),
}
_PARTS = {
    "response.content_part": ("content", "content_index"),
    "response.reasoning_summary_part": ("summary", "summary_index"),
}


def recognizes(data: JsonObject) -> bool:
    kind = data.get("type")
    return isinstance(kind, str) and (kind.startswith("response.") or (kind == "error" and "error" not in data))


class Assembler:
    def __init__(self) -> None:
        self._sequence = -1
        self._earlier: list[Assembled] = []
        self._begin()

    def _begin(self) -> None:
        """Begin a response."""
        self._issues = Issues()
        self._response: JsonObject | None = None
        self._has_start = False
        self._terminal: JsonObject | None = None
        self._items: dict[int, _OutputItem] = {}
        self._writers: dict[tuple[str, int, int | None], TextWriter] = {}
        self._audio: dict[str, StringIO] = {}
        self._error: JsonObject | None = None
        self._next_number = -1
        self._has_gap = False

    def feed(self, event: Event) -> None:
        self._sequence += 1
        data = None
        try:
            # Nearly every event appends to a text that has begun.
            data = parse(event.data)
            index = data["output_index"]
            at = data["content_index"] if "content_index" in data else data.get("summary_index")
            write = self._writers[data["type"], index, at]
            if data["sequence_number"] == self._next_number and not data.get("logprobs") and type(index) is int:
                write(data["delta"])
                self._next_number += 1
                return
        except FAST_PATH_ERRORS:
            pass
        self._feed_carefully(event, data)

    def result(self) -> Assembled:
        return with_following([*self._earlier, self._assembled(self._sequence + 1)])

    def _assembled(self, events: int) -> Assembled:
        closing: list[Issue] = []
        payload = dict(self._terminal or self._response or {})
        has_all = bool(payload.get("output")) or not self._items
        if self._terminal is None or not has_all:
            if self._items:
                payload["output"] = [self._items[index].value() for index in sorted(self._items)]
            if self._audio:
                payload["audio"] = {name: text.getvalue() for name, text in self._audio.items()}
        if self._terminal is None:
            if self._error is not None:
                payload["error"] = self._error
            if not payload:
                closing.append(Issue("incomplete_stream_start", events, "no response"))
            closing.append(Issue("incomplete_stream_end", events, "the response is incomplete"))
            return self._issues.assembled(payload, events, is_complete=False, closing=closing)
        if not has_all:
            closing.append(Issue("missing_output", events, "the last event has no output"))
        is_complete = has_all or not self._issues.has_unreadable
        return self._issues.assembled(payload, events, is_complete=is_complete, closing=closing)

    def _note(self, kind: str, detail: object) -> None:
        self._issues.note(kind, self._sequence, detail)

    def _feed_carefully(self, event: Event, data: Any = None) -> None:
        if not isinstance(data, dict):
            data = self._issues.parse_object(event, self._sequence)
        if data is None:
            return
        kind = data.get("type") or event.name
        if kind == "response.created" and self._is_another_response(data.get("response")):
            self._note(ANOTHER_MESSAGE, another_message_detail(self._known_id(), data["response"].get("id")))
            self._earlier.append(self._assembled(self._sequence))
            self._begin()
        try:
            if not isinstance(kind, str):
                self._note("unknown_event", kind)
            elif not self._is_repeated(data.get("sequence_number")):
                self._take(kind, data)
        except RecursionError:
            self._issues.note_unreadable("corrupted_data", self._sequence, TOO_DEEP)

    def _is_another_response(self, response: Any) -> bool:
        if (self._response is None and self._terminal is None) or not isinstance(response, dict):
            return False
        has_ended = self._terminal is not None or not self._has_start
        return is_another_message(self._known_id(), response.get("id"), has_ended=has_ended)

    def _known_id(self) -> Any:
        return (self._response or self._terminal or {}).get("id")

    def _is_repeated(self, number: Any) -> bool:
        if not is_index(number):
            return False
        expected = self._next_number
        if number < expected and not self._has_gap:
            self._note("repeated_event", f"sequence_number {number}")
            return True
        if expected >= 0 and number != expected:
            self._note("out_of_order", f"sequence_number {number} instead of {expected}")
            self._has_gap = True
        self._next_number = max(number + 1, expected)
        return False

    def _take(self, kind: str, data: JsonObject) -> None:
        if kind in _STARTS or kind in _ENDS:
            self._take_response(kind, data.get("response"))
            return
        if kind == "error":
            self._take_error(data)
            return
        if kind in {"keepalive", "ping"}:
            return
        if self._response is None and self._terminal is None:
            self._note("incomplete_stream_start", f"{kind} comes first")
            self._response = {}
        if self._terminal is not None:
            self._note("out_of_order", f"{kind} after the end")
        what, _, verb = kind.rpartition(".")
        if what in {"response.audio", "response.audio.transcript"}:
            self._take_audio(what.rpartition(".")[2], data.get("delta"))
        elif not is_index(data.get("output_index")):
            self._note("unknown_event" if what not in _TEXT_LOCATIONS else "missing_index", kind)
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._take_item(verb, data["output_index"], data.get("item"))
        elif not self._take_piece(kind, what, verb, data):
            self._note("unknown_event", kind)

    def _take_response(self, kind: str, response: Any) -> None:
        if not isinstance(response, dict):
            self._note("unexpected_value", f"{kind} without a response")
        elif kind in _ENDS:
            if self._terminal is not None:
                self._note("repeated_event", kind)
            self._terminal = response
            self._writers.clear()
        else:
            self._response = response
            self._has_start = True
            for index, item in enumerate(as_list(response.get("output"))):
                if isinstance(item, dict):
                    self._items.setdefault(index, _OutputItem()).update(item)

    def _take_error(self, data: JsonObject) -> None:
        error = data.get("error")
        if not isinstance(error, dict):
            error = {name: data[name] for name in ("code", "message", "param") if name in data}
        self._error = error
        self._note("error_event", f"{error.get('code')}: {error.get('message')}")

    def _take_audio(self, name: str, delta: Any) -> None:
        if isinstance(delta, str):
            self._audio.setdefault("data" if name == "audio" else name, StringIO()).write(delta)

    def _take_item(self, verb: str, index: int, value: Any) -> None:
        if not isinstance(value, dict):
            self._note("unexpected_value", f"output item {index}")
        elif verb == "done":
            if index not in self._items:
                self._note("unknown_block", f"output item {index} was never added")
            self._items.setdefault(index, _OutputItem()).finish(value)
            self._writers = {key: write for key, write in self._writers.items() if key[1] != index}
        elif index in self._items:
            self._note("repeated_event", f"output item {index} is added again")
        else:
            if index != len(self._items):
                self._note("out_of_order", f"output item {index} is number {len(self._items)}")
            self._items[index] = _OutputItem(value)

    def _take_piece(self, kind: str, what: str, verb: str, data: JsonObject) -> bool:
        """Take an event about a part of an item; return whether its type is known."""
        index: int = data["output_index"]
        if what in _TEXT_LOCATIONS and verb in {"added", "delta", "done"}:
            self._take_text(_TEXT_LOCATIONS[what], kind, verb, data)
        elif what in _PARTS and verb in {"added", "done"}:
            self._take_part(*_PARTS[what], kind, verb, data)
        elif kind == "response.output_text.annotation.added":
            if is_index(at := data.get("content_index")):
                more = [data.get("annotation")]
                self._item(index, kind, "message").extend_list("content", at, "annotations", "output_text", more)
            else:
                self._note("missing_index", kind)
        elif what == "response.shell_call_output_content":
            self._take_shell_output(kind, verb, data)
        elif kind == "response.image_generation_call.partial_image":
            item = self._item(index, kind, "image_generation_call")
            item.update({"result": data.get("partial_image_b64")})
        elif status := _STATUS.fullmatch(kind):
            self._item(index, kind, what.removeprefix("response.")).update({"status": status[1]})
        else:
            return False
        return True

    def _take_text(self, location: _TextLocation, kind: str, verb: str, data: JsonObject) -> None:
        item = self._item(data["output_index"], kind, location.item_type)
        at = data.get(location.index_field) if location.parts_field else None
        if location.parts_field and not is_index(at):
            self._note("missing_index", kind)
            return
        value = data.get("delta" if verb == "delta" else location.field)
        if not isinstance(value, str):
            self._note("unexpected_value", f"{kind} without text")
            return
        if verb == "done":
            item.end_text(location.field, value, location.parts_field, at, location.part_type)
            return
        write = item.writer(location.field, location.parts_field, at, location.part_type)
        write(value)
        if more := as_list(data.get("logprobs")):
            item.extend_list(location.parts_field, at, "logprobs", location.part_type, more)
        if item.done is not None:
            self._note("out_of_order", f"{kind} for an item that is done")
        elif verb == "delta":
            self._writers[kind, data["output_index"], at] = write

    def _take_part(self, parts_field: str, name: str, kind: str, verb: str, data: JsonObject) -> None:
        at, part = data.get(name), data.get("part")
        if not is_index(at) or not isinstance(part, dict):
            self._note("unexpected_value", kind)
            return
        item = self._item(data["output_index"], kind, "message" if parts_field == "content" else "reasoning")
        item.take_part(parts_field, at, part, is_done=verb == "done")

    def _take_shell_output(self, kind: str, verb: str, data: JsonObject) -> None:
        item = self._item(data["output_index"], kind, "shell_call_output")
        at = data.get("command_index")
        if not is_index(at):
            self._note("missing_index", kind)
            return
        if verb == "done":
            for offset, part in enumerate(as_list(data.get("output"))):
                if isinstance(part, dict):
                    item.take_part("output", at + offset, part, is_done=True)
            return
        delta = data.get("delta")
        for name, text in (delta if isinstance(delta, dict) else {}).items():
            if isinstance(text, str):
                item.writer(name, "output", at)(text)

    def _item(self, index: int, kind: str, item_type: str) -> "_OutputItem":
        if index not in self._items:
            self._note("unknown_block", f"{kind} for output item {index}")
            self._items[index] = _OutputItem({"type": item_type})
        return self._items[index]


class _Fields:
    """The fields of an item or a part: as added, the text since, and its final state."""

    __slots__ = ("_lists", "_texts", "_whole", "added", "done")

    def __init__(self, added: JsonObject) -> None:
        self.added = added
        self.done: JsonObject | None = None
        self._texts: dict[str, StringIO] = {}
        self._lists: dict[str, list[Any]] = {}
        self._whole: JsonObject = {}

    def writer(self, field: str) -> TextWriter:
        return self._texts.setdefault(field, StringIO()).write

    def extend_list(self, field: str, more: list[Any]) -> None:
        self._lists.setdefault(field, []).extend(more)

    def end_text(self, field: str, text: str) -> None:
        self._whole[field] = text

    def value(self) -> JsonObject:
        if self.done is not None:
            return dict(self.done)
        texts = {field: as_text(self.added.get(field)) + text.getvalue() for field, text in self._texts.items()}
        lists = {field: [*as_list(self.added.get(field)), *more] for field, more in self._lists.items()}
        return {**self.added, **texts, **lists, **self._whole}


class _OutputItem:
    """An output item with its parts, as far as it has arrived."""

    __slots__ = ("_fields", "_parts")

    def __init__(self, added: JsonObject | None = None) -> None:
        self._fields = _Fields(added if added is not None else {})
        self._parts: dict[str, dict[int, _Fields]] = {}

    @property
    def done(self) -> JsonObject | None:
        return self._fields.done

    def writer(self, field: str, parts_field: str = "", at: int | None = None, part_type: str = "") -> TextWriter:
        """Return the function that appends to a text of the item itself, or of the part at this index of a list."""
        return self._part(parts_field, at, part_type).writer(field)

    def end_text(
        self, field: str, text: str, parts_field: str = "", at: int | None = None, part_type: str = ""
    ) -> None:
        self._part(parts_field, at, part_type).end_text(field, text)

    def take_part(self, parts_field: str, at: int, part: JsonObject, *, is_done: bool) -> None:
        known = self._parts.setdefault(parts_field, {}).setdefault(at, _Fields({}))
        if is_done:
            known.done = part
        else:
            known.added = {**part, **known.added}

    def extend_list(self, parts_field: str, at: int | None, field: str, part_type: str, more: list[Any]) -> None:
        """Extend a list, such as annotations or log probabilities, which arrive one by one."""
        self._part(parts_field, at, part_type).extend_list(field, more)

    def update(self, fields: JsonObject) -> None:
        """Merge fields that other events state about the item."""
        merge_fields(self._fields.added, fields)

    def finish(self, done: JsonObject) -> None:
        """Replace everything by the complete item."""
        self._fields = _Fields(done)
        self._fields.done = done
        self._parts.clear()

    def value(self) -> JsonObject:
        item = self._fields.value()
        for parts_field, parts in self._parts.items():
            known = dict(enumerate(as_list(item.get(parts_field))))
            known |= {at: part.value() for at, part in parts.items()}
            item[parts_field] = [known[at] for at in sorted(known)]
        if commands := item.pop("commands", None):
            action = item.get("action")
            texts = [command.get("command") for command in commands]
            item["action"] = {**(action if isinstance(action, dict) else {}), "commands": texts}
        return item

    def _part(self, parts_field: str, at: int | None, part_type: str) -> _Fields:
        if not parts_field or at is None:
            return self._fields
        added: JsonObject = {"type": part_type} if part_type else {}
        return self._parts.setdefault(parts_field, {}).setdefault(at, _Fields(added))
