"""The Chat Completions stream: chunks with deltas, assigned to a choice and a tool call by their indexes.

The id and the name of a tool call are in its first piece only. Usage comes in a last chunk without choices, and
`[DONE]` ends the stream. Azure sends a first chunk without choices that holds its filter's results for the prompt.
Fields that OpenAI's API does not have (`reasoning_content`, `reasoning`, …) are joined like its own.
"""

from typing import Any

import msgspec

from palaver.model.build import JsonObject
from palaver.streams._accumulator import ObjectAccumulator, TextWriter
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams._event_data import (
    DONE,
    FAST_PATH_ERRORS,
    TOO_DEEP,
    Issues,
    as_list,
    is_index,
    merge_fields,
    with_following,
)
from palaver.streams.message_starts import ANOTHER_MESSAGE, ChatMessage, another_message_detail

_FIRST_VALUE_WINS = {"id", "object", "created", "model"}
_CHOICES = b'{"choices":'
_NO_OPENING = b"{}"
_MAX_OPENINGS = 16
_RECOGNIZED_KEYS = {"choices", "id", "object", "model", "usage", "error", "prompt_filter_results"}


class _UsualChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: dict[str, Any]
    finish_reason: None = None
    logprobs: None = None
    native_finish_reason: None = None
    content_filter_results: dict[str, Any] | None = None


class _UsualChunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The most common kind of chunk, from `choices` on: it appends to a text that has begun.

    What precedes `choices` is long and identical in all chunks of a stream, so it is parsed only once.
    """

    choices: list[_UsualChoice]
    usage: None = None
    obfuscation: Any = None


_decode_usual = msgspec.json.Decoder(_UsualChunk).decode


def recognizes(data: JsonObject) -> bool:
    return isinstance(data.get("choices"), list) or data.get("object") == "chat.completion.chunk"


class Assembler:
    def __init__(self) -> None:
        self._sequence = -1
        self._earlier: list[Assembled] = []
        self._begin()

    def _begin(self) -> None:
        """Begin a message."""
        self._issues = Issues()
        self._identity = ChatMessage()
        self._top: JsonObject = {}
        self._last_top: JsonObject = {}
        self._choices: dict[int, _Choice] = {}
        self._open: dict[int, _Choice] = {}
        self._opening = _NO_OPENING
        self._opening_bytes = 0
        self._openings = 0

    def feed(self, event: Event) -> None:
        self._sequence += 1
        try:
            if event.data.startswith(self._opening):
                (piece,) = _decode_usual(_CHOICES + event.data[self._opening_bytes :]).choices
                choice = self._open[piece.index]
                if piece.content_filter_results:
                    choice.check_filter_results(piece.content_filter_results)
                delta = piece.delta
                if len(delta) != 1:
                    if delta.get("role"):
                        self._identity.repeats_role = True
                    delta = choice.new_fields(delta)
                ((name, text),) = delta.items()
                if name == "tool_calls":
                    choice.write_arguments(text)
                else:
                    choice.writers[name](text)
                return
        except FAST_PATH_ERRORS:
            pass
        self._feed_carefully(event)

    def result(self) -> Assembled:
        return with_following([*self._earlier, self._assembled(self._sequence + 1)])

    def _assembled(self, events: int) -> Assembled:
        closing: list[Issue] = []
        payload = dict(self._top)
        if self._choices:
            payload["object"] = "chat.completion"
            payload["choices"] = [self._choices[index].value(events, closing) for index in sorted(self._choices)]
        elif "error" not in payload:
            closing.append(Issue("incomplete_stream_start", events, "no choice"))
        is_finished = bool(self._choices) and all(choice.is_finished for choice in self._choices.values())
        is_done = self._identity.is_done
        if not is_done:
            closing.append(Issue("incomplete_stream_end", events, "[DONE] is missing"))
        elif self._choices and not is_finished:
            closing.append(Issue("incomplete_stream_end", events, "finish_reason is missing"))
        # Some servers and some logs leave [DONE] out: nothing is missing after the last finish_reason and usage.
        has_ended = is_done or (is_finished and payload.get("usage") is not None)
        is_complete = has_ended and bool(self._choices) and "error" not in payload and not self._issues.has_unreadable
        return self._issues.assembled(payload, events, is_complete=is_complete, closing=closing)

    def _note(self, kind: str, detail: object) -> None:
        self._issues.note(kind, self._sequence, detail)

    def _feed_carefully(self, event: Event) -> None:
        if event.data.strip() == DONE:
            if self._identity.is_done:
                self._note("repeated_event", "[DONE] again")
            self._identity.is_done = True
            self._open.clear()
            return
        data = self._issues.parse_object(event, self._sequence)
        try:
            if data is None:
                return
            if _RECOGNIZED_KEYS.isdisjoint(data):
                self._note("unknown_event", data.get("type") or event.name)
                return
            if not self._identity.take(data, self._sequence):
                self._note(ANOTHER_MESSAGE, another_message_detail(self._identity.id, data.get("id")))
                self._earlier.append(self._assembled(self._sequence))
                self._begin()
                self._identity.take(data, self._sequence)
            self._learn_opening(event.data)
            self._take(data)
        except RecursionError:
            self._issues.note_unreadable("corrupted_data", self._sequence, TOO_DEEP)

    def _take(self, data: JsonObject) -> None:
        choices = data.pop("choices", None)
        data.pop("obfuscation", None)
        if data != self._last_top:
            self._take_top(data)
        if isinstance(choices, list):
            for position, choice in enumerate(choices):
                self._take_choice(choice, position)
        elif choices is not None:
            self._note("unexpected_value", "choices are not a list")

    def _learn_opening(self, raw: bytes) -> None:
        """Remember what precedes `choices` in a chunk.

        If this `choices` is nested deeper, what follows it has an extra brace, and the fast path rejects it.
        """
        opening, key, _ = raw.partition(b'"choices":')
        if opening + key != self._opening:
            self._openings += 1
            self._opening = opening + key if key and self._openings <= _MAX_OPENINGS else _NO_OPENING
            self._opening_bytes = len(self._opening)

    def _take_top(self, data: JsonObject) -> None:
        self._last_top = data
        for name, value in data.items():
            if name in _FIRST_VALUE_WINS:
                self._top[name] = self._top.get(name) or value
            elif name == "error":
                if value is not None:
                    self._top[name] = value
                    self._note("error_event", value)
            elif value is not None or name not in self._top:
                self._top[name] = value

    def _take_choice(self, choice: Any, position: int) -> None:
        if not isinstance(choice, dict):
            self._note("unexpected_value", "a choice is not an object")
            return
        index = choice.get("index", position)
        if not is_index(index):
            self._note("unexpected_value", f"a choice with index {index}")
            index = position
        is_done = self._identity.is_done
        if is_done:
            self._note("out_of_order", "a chunk after [DONE]")
        if index not in self._choices:
            self._choices[index] = _Choice(index)
        if not is_done:
            self._open[index] = self._choices[index]
        self._choices[index].take(choice, self._issues, self._sequence)


class _Choice:
    """One choice: its message, its tool calls and its other fields."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._message = ObjectAccumulator()
        self._whole_message: JsonObject | None = None
        self._calls: list[tuple[int, ObjectAccumulator]] = []
        self._call_at: dict[int, ObjectAccumulator] = {}
        self._details: list[ObjectAccumulator] = []
        self._logprobs = ObjectAccumulator()
        self._other_fields: JsonObject = {"finish_reason": None}
        self._arguments: dict[int, TextWriter] = {}
        self.writers = self._message.writers
        """The function that appends to each text of the message that has begun, by field."""

    @property
    def is_finished(self) -> bool:
        return self._other_fields["finish_reason"] is not None

    def write_arguments(self, pieces: list[JsonObject]) -> None:
        """Append to the arguments of a call that has begun.

        Raises:
            KeyError, TypeError, ValueError: The piece holds something else too; nothing was written.
        """
        (piece,) = pieces
        function = piece["function"]
        if len(piece) != 2 or len(function) != 1:
            raise KeyError
        self._arguments[piece["index"]](function["arguments"])

    def new_fields(self, delta: JsonObject) -> JsonObject:
        """Return a delta without what some servers repeat in every chunk: the role, and null for known fields."""
        knows = self._message.is_known
        return {name: value for name, value in delta.items() if not knows(name, value)}

    def check_filter_results(self, results: JsonObject) -> None:
        """Check that the content filter's results are those of an earlier chunk.

        Raises:
            ValueError, KeyError, AttributeError: They differ.
        """
        if not results.items() <= self._other_fields["content_filter_results"].items():
            raise ValueError("the content filter results differ")

    def take(self, choice: JsonObject, issues: Issues, sequence: int) -> None:
        for name, value in choice.items():
            match name, value:
                case "index", _:
                    pass
                case "delta", dict():
                    self._take_delta(value, issues, sequence)
                case "message", dict():
                    self._whole_message = value
                case "delta" | "message", _:
                    if value is not None:
                        issues.note("unexpected_value", sequence, f"{name} of choice {self._index}")
                case "logprobs", dict():
                    self._logprobs.add(value)
                case _, dict() if isinstance(self._other_fields.get(name), dict):
                    self._other_fields[name] = {**self._other_fields[name], **value}
                case _:
                    merge_fields(self._other_fields, {name: value})

    def value(self, events: int, closing: list[Issue]) -> JsonObject:
        choice: JsonObject = {"index": self._index, **self._other_fields}
        if logprobs := self._logprobs.value():
            choice["logprobs"] = logprobs
        choice["message"] = self._whole_message or self._joined_message(events, closing)
        return choice

    def _joined_message(self, events: int, closing: list[Issue]) -> JsonObject:
        message = self._message.value()
        if not message.get("role"):
            closing.append(Issue("incomplete_stream_start", events, f"choice {self._index} has no role"))
            message = {**message, "role": "assistant"}
        if self._details:
            message["reasoning_details"] = [detail.value() for detail in self._details]
        if self._calls:
            message["tool_calls"] = [_call_value(pieces) for _, pieces in sorted(self._calls, key=lambda call: call[0])]
        return message

    def _take_delta(self, delta: JsonObject, issues: Issues, sequence: int) -> None:
        calls, details = delta.get("tool_calls"), delta.get("reasoning_details")
        if calls or details:
            delta = {name: value for name, value in delta.items() if name not in {"tool_calls", "reasoning_details"}}
        self._message.add(delta)
        for piece in as_list(calls):
            if isinstance(piece, dict):
                self._take_call(piece, issues, sequence)
            else:
                issues.note("unexpected_value", sequence, "a tool call is not an object")
        for piece in as_list(details):
            if isinstance(piece, dict):
                self._take_detail(piece)
            else:
                issues.note("unexpected_value", sequence, "a reasoning detail is not an object")

    def _take_call(self, piece: JsonObject, issues: Issues, sequence: int) -> None:
        index = self._call_index(piece, issues, sequence)
        joined = self._call_at.get(index)
        if joined is not None and _is_new_call(joined, piece):
            issues.note("reused_index", sequence, f"another tool call with index {index}")
            joined = None
        if joined is None:
            joined = self._call_at[index] = ObjectAccumulator()
            self._calls.append((index, joined))
        joined.add(piece)
        if joined.has_child("function") and (write := joined.child("function").writers.get("arguments")):
            self._arguments[index] = write

    def _call_index(self, piece: JsonObject, issues: Issues, sequence: int) -> int:
        index: Any = piece.get("index")
        if is_index(index):
            if index not in self._call_at and index != len(self._call_at):
                issues.note("out_of_order", sequence, f"tool call {index} is number {len(self._call_at)}")
            return index
        issues.note("missing_index", sequence, "a fragment of a tool call")
        last = max(self._call_at, default=-1)
        if last < 0 or (piece.get("id") and _is_new_call(self._call_at[last], piece)):
            return last + 1
        return last

    def _take_detail(self, piece: JsonObject) -> None:
        if self._details and str(piece.get("type")).endswith((".text", ".summary")):
            last = self._details[-1]
            if all(last.plain_value(name) == piece.get(name) for name in ("type", "index")):
                last.add(piece)
                return
        self._details.append(ObjectAccumulator())
        self._details[-1].add(piece)


def _is_new_call(joined: ObjectAccumulator, piece: JsonObject) -> bool:
    """Return whether a piece begins a new call: it has a name and another id."""
    known, new = joined.plain_value("id"), piece.get("id")
    has_name = any(isinstance(piece.get(kind), dict) and piece[kind].get("name") for kind in ("function", "custom"))
    return bool(has_name and known and new and known != new)


def _call_value(joined: ObjectAccumulator) -> JsonObject:
    call = joined.value()
    call.pop("index", None)
    if "function" in call and not call.get("type"):
        call["type"] = "function"
    return call
