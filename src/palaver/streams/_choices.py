"""One choice of a Chat Completions stream: its message, its tool calls and what stands beside them."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._contract import Issue
from palaver.streams._joining import Joined, Write
from palaver.streams._reading import Issues, as_list, is_index, merge


class Choice:
    def __init__(self, index: int) -> None:
        self._index = index
        self._message = Joined()
        self._whole_message: JsonObject | None = None
        self._calls: list[tuple[int, Joined]] = []
        self._call_at: dict[int, Joined] = {}
        self._details: list[Joined] = []
        self._logprobs = Joined()
        self._beside: JsonObject = {"finish_reason": None}
        self._arguments: dict[int, Write] = {}
        self.writers = self._message.writers
        """How to lengthen each text of the message that has begun."""

    @property
    def is_finished(self) -> bool:
        return self._beside["finish_reason"] is not None

    def write_arguments(self, pieces: list[JsonObject]) -> None:
        """Lengthen the arguments of a call that has begun.

        Raises:
            KeyError, TypeError, ValueError: The piece says more than that, and nothing was written.
        """
        (piece,) = pieces
        function = piece["function"]
        if len(piece) != 2 or len(function) != 1:
            raise KeyError
        self._arguments[piece["index"]](function["arguments"])

    def news(self, delta: JsonObject) -> JsonObject:
        """A delta without what some servers repeat in every chunk: the role, and nulls of what was named before."""
        knows = self._message.knows
        return {name: value for name, value in delta.items() if not knows(name, value)}

    def agree(self, found: JsonObject) -> None:
        """Check what a filter found.

        Raises:
            ValueError, KeyError, AttributeError: It is not what the filter found before.
        """
        if not found.items() <= self._beside["content_filter_results"].items():
            raise ValueError("it found something else")

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
                case _, dict() if isinstance(self._beside.get(name), dict):
                    self._beside[name] = {**self._beside[name], **value}
                case _:
                    merge(self._beside, {name: value})

    def value(self, events: int, closing: list[Issue]) -> JsonObject:
        made: JsonObject = {"index": self._index, **self._beside}
        if logprobs := self._logprobs.value():
            made["logprobs"] = logprobs
        made["message"] = self._whole_message or self._joined_message(events, closing)
        return made

    def _joined_message(self, events: int, closing: list[Issue]) -> JsonObject:
        message = self._message.value()
        if not message.get("role"):
            closing.append(Issue("incomplete_stream_start", events, f"choice {self._index} has no role"))
            message = {**message, "role": "assistant"}
        if self._details:
            message["reasoning_details"] = [detail.value() for detail in self._details]
        if self._calls:
            message["tool_calls"] = [_call(joined) for _, joined in sorted(self._calls, key=lambda call: call[0])]
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
                issues.note("unexpected_value", sequence, "a tool call that is no object")
        for piece in as_list(details):
            if isinstance(piece, dict):
                self._take_detail(piece)
            else:
                issues.note("unexpected_value", sequence, "a reasoning detail that is no object")

    def _take_call(self, piece: JsonObject, issues: Issues, sequence: int) -> None:
        index = self._place(piece, issues, sequence)
        joined = self._call_at.get(index)
        if joined is not None and _is_another(joined, piece):
            issues.note("reused_index", sequence, f"another tool call with index {index}")
            joined = None
        if joined is None:
            joined = self._call_at[index] = Joined()
            self._calls.append((index, joined))
        joined.add(piece)
        if joined.has("function") and (write := joined.within("function").writers.get("arguments")):
            self._arguments[index] = write

    def _place(self, piece: JsonObject, issues: Issues, sequence: int) -> int:
        index: Any = piece.get("index")
        if is_index(index):
            if index not in self._call_at and index != len(self._call_at):
                issues.note("out_of_order", sequence, f"tool call {index} is number {len(self._call_at)}")
            return index
        issues.note("missing_index", sequence, "a piece of a tool call")
        last = max(self._call_at, default=-1)
        if last < 0 or (piece.get("id") and _is_another(self._call_at[last], piece)):
            return last + 1
        return last

    def _take_detail(self, piece: JsonObject) -> None:
        if self._details and str(piece.get("type")).endswith((".text", ".summary")):
            last = self._details[-1]
            if all(last.said(name) == piece.get(name) for name in ("type", "index")):
                last.add(piece)
                return
        self._details.append(Joined())
        self._details[-1].add(piece)


def _is_another(joined: Joined, piece: JsonObject) -> bool:
    """Whether a piece begins a new call: it has a name and an id of its own."""
    known, new = joined.said("id"), piece.get("id")
    called = any(isinstance(piece.get(kind), dict) and piece[kind].get("name") for kind in ("function", "custom"))
    return bool(called and known and new and known != new)


def _call(joined: Joined) -> JsonObject:
    call = joined.value()
    call.pop("index", None)
    if "function" in call and not call.get("type"):
        call["type"] = "function"
    return call
