"""The Responses stream: every item, and at the end the whole response, comes once more when it is done.

So the terminal object is the answer. Where the stream broke off before it, or where it has no output, items that were
done stand in, and deltas for those that were not: by output index, then by index of content, summary or command.
`sequence_number` tells of events that are missing or came twice, as they do when a background response is taken up
again.
"""

import re
from io import StringIO
from typing import Any, NamedTuple

from palaver.model.build import JsonObject
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams._joining import Write
from palaver.streams._output_items import Item
from palaver.streams._reading import TOO_DEEP, UNLIKE_OTHERS, Issues, as_list, is_index, parse

_STARTS = {"response.created", "response.queued", "response.in_progress"}
_ENDS = {"response.completed", "response.incomplete", "response.failed"}
_STATUS = re.compile(r"response\.\w+\.(in_progress|searching|completed|failed|interpreting|generating|compacting)")


class _Text(NamedTuple):
    """Where a text stands: in an item of this type, as its own field or that of a part, which has an index."""

    item: str
    field: str
    where: str = ""
    part: str = ""
    at: str = "content_index"


_TEXTS = {
    "response.output_text": _Text("message", "text", "content", "output_text"),
    "response.refusal": _Text("message", "refusal", "content", "refusal"),
    "response.reasoning_text": _Text("reasoning", "text", "content", "reasoning_text"),
    "response.reasoning_summary_text": _Text("reasoning", "text", "summary", "summary_text", "summary_index"),
    "response.shell_call_command": _Text("shell_call", "command", "commands", "command", "command_index"),
    "response.function_call_arguments": _Text("function_call", "arguments"),
    "response.mcp_call_arguments": _Text("mcp_call", "arguments"),
    "response.custom_tool_call_input": _Text("custom_tool_call", "input"),
    "response.code_interpreter_call_code": _Text("code_interpreter_call", "code"),
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
        self._issues = Issues()
        self._response: JsonObject | None = None
        self._terminal: JsonObject | None = None
        self._items: dict[int, Item] = {}
        self._writers: dict[tuple[str, int, int | None], Write] = {}
        self._audio: dict[str, StringIO] = {}
        self._error: JsonObject | None = None
        self._next_number = -1
        self._has_gap = False

    def feed(self, event: Event) -> None:
        self._sequence += 1
        data = None
        try:
            # Nearly every event is one more piece of a text that has begun.
            data = parse(event.data)
            index = data["output_index"]
            at = data["content_index"] if "content_index" in data else data.get("summary_index")
            write = self._writers[data["type"], index, at]
            if data["sequence_number"] == self._next_number and not data.get("logprobs") and type(index) is int:
                write(data["delta"])
                self._next_number += 1
                return
        except UNLIKE_OTHERS:
            pass
        self._feed_carefully(event, data)

    def result(self) -> Assembled:
        events = self._sequence + 1
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
                closing.append(Issue("incomplete_stream_start", events, "there is no response"))
            closing.append(Issue("incomplete_stream_end", events, "the response never came to an end"))
            return self._issues.assembled(payload, events, is_complete=False, closing=closing)
        if not has_all:
            closing.append(Issue("missing_output", events, "the last event has no output"))
        is_complete = has_all or not self._issues.has_lost
        return self._issues.assembled(payload, events, is_complete=is_complete, closing=closing)

    def _note(self, kind: str, detail: object) -> None:
        self._issues.note(kind, self._sequence, detail)

    def _feed_carefully(self, event: Event, data: Any = None) -> None:
        if not isinstance(data, dict):
            data = self._issues.parsed(event, self._sequence)
        if data is None:
            return
        kind = data.get("type") or event.name
        try:
            if not isinstance(kind, str):
                self._note("unknown_event", kind)
            elif not self._is_repeated(data.get("sequence_number")):
                self._take(kind, data)
        except RecursionError:
            self._issues.lose("corrupted_data", self._sequence, TOO_DEEP)

    def _is_repeated(self, number: Any) -> bool:
        if not is_index(number):
            return False
        awaited = self._next_number
        if number < awaited and not self._has_gap:
            self._note("repeated_event", f"sequence_number {number}")
            return True
        if awaited >= 0 and number != awaited:
            self._note("out_of_order", f"sequence_number {number} instead of {awaited}")
            self._has_gap = True
        self._next_number = max(number + 1, awaited)
        return False

    def _take(self, kind: str, data: JsonObject) -> None:
        if kind in _STARTS or kind in _ENDS:
            self._take_response(kind, data.get("response"))
            return
        if kind == "error":
            self._fail(data)
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
            self._hear(what.rpartition(".")[2], data.get("delta"))
        elif not is_index(data.get("output_index")):
            self._note("unknown_event" if what not in _TEXTS else "missing_index", kind)
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
            for index, item in enumerate(as_list(response.get("output"))):
                if isinstance(item, dict):
                    self._items.setdefault(index, Item()).state(item)

    def _fail(self, data: JsonObject) -> None:
        error = data.get("error")
        if not isinstance(error, dict):
            error = {name: data[name] for name in ("code", "message", "param") if name in data}
        self._error = error
        self._note("error_event", f"{error.get('code')}: {error.get('message')}")

    def _hear(self, name: str, delta: Any) -> None:
        if isinstance(delta, str):
            self._audio.setdefault("data" if name == "audio" else name, StringIO()).write(delta)

    def _take_item(self, verb: str, index: int, value: Any) -> None:
        if not isinstance(value, dict):
            self._note("unexpected_value", f"output item {index}")
        elif verb == "done":
            if index not in self._items:
                self._note("unknown_block", f"output item {index} was never added")
            self._items.setdefault(index, Item()).end(value)
            self._writers = {place: write for place, write in self._writers.items() if place[1] != index}
        elif index in self._items:
            self._note("repeated_event", f"output item {index} is added again")
        else:
            if index != len(self._items):
                self._note("out_of_order", f"output item {index} is number {len(self._items)}")
            self._items[index] = Item(value)

    def _take_piece(self, kind: str, what: str, verb: str, data: JsonObject) -> bool:
        """Whether the event is of a known kind."""
        index: int = data["output_index"]
        if what in _TEXTS and verb in {"added", "delta", "done"}:
            self._take_text(_TEXTS[what], kind, verb, data)
        elif what in _PARTS and verb in {"added", "done"}:
            self._take_part(*_PARTS[what], kind, verb, data)
        elif kind == "response.output_text.annotation.added":
            if is_index(at := data.get("content_index")):
                more = [data.get("annotation")]
                self._item(index, kind, "message").lengthen("content", at, "annotations", "output_text", more)
            else:
                self._note("missing_index", kind)
        elif what == "response.shell_call_output_content":
            self._take_shell_output(kind, verb, data)
        elif kind == "response.image_generation_call.partial_image":
            item = self._item(index, kind, "image_generation_call")
            item.state({"result": data.get("partial_image_b64")})
        elif status := _STATUS.fullmatch(kind):
            self._item(index, kind, what.removeprefix("response.")).state({"status": status[1]})
        else:
            return False
        return True

    def _take_text(self, text: _Text, kind: str, verb: str, data: JsonObject) -> None:
        item = self._item(data["output_index"], kind, text.item)
        at = data.get(text.at) if text.where else None
        if text.where and not is_index(at):
            self._note("missing_index", kind)
            return
        value = data.get("delta" if verb == "delta" else text.field)
        if not isinstance(value, str):
            self._note("unexpected_value", f"{kind} without text")
            return
        if verb == "done":
            item.end_text(text.field, value, text.where, at, text.part)
            return
        write = item.writer(text.field, text.where, at, text.part)
        write(value)
        if more := as_list(data.get("logprobs")):
            item.lengthen(text.where, at, "logprobs", text.part, more)
        if item.done is not None:
            self._note("out_of_order", f"{kind} for an item that is done")
        elif verb == "delta":
            self._writers[kind, data["output_index"], at] = write

    def _take_part(self, where: str, name: str, kind: str, verb: str, data: JsonObject) -> None:
        at, part = data.get(name), data.get("part")
        if not is_index(at) or not isinstance(part, dict):
            self._note("unexpected_value", kind)
            return
        item = self._item(data["output_index"], kind, "message" if where == "content" else "reasoning")
        item.take_part(where, at, part, is_done=verb == "done")

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

    def _item(self, index: int, kind: str, item_type: str) -> Item:
        if index not in self._items:
            self._note("unknown_block", f"{kind} for output item {index}")
            self._items[index] = Item({"type": item_type})
        return self._items[index]
