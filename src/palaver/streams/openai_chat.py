"""The Chat Completions stream: chunks whose deltas belong to a choice by its index, and to a tool call by its own.

Of a tool call, the id and the name stand in its first piece only. Usage comes in a last chunk without choices, and
`[DONE]` ends it all. Azure sends a first chunk without choices for what its filter says of the prompt. Fields that the
API itself does not have (`reasoning_content`, `reasoning`, …) are joined like those it has.
"""

from typing import Any

import msgspec

from palaver.model.build import JsonObject
from palaver.streams._choices import Choice
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams._reading import DONE, TOO_DEEP, UNLIKE_OTHERS, Issues, is_index

_FIRST_COUNTS = {"id", "object", "created", "model"}
_CHOICES = b'{"choices":'
_NO_OPENING = b"{}"
_MOST_OPENINGS = 16
_TELLING = {"choices", "id", "object", "model", "usage", "error", "prompt_filter_results"}


class _Piece(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: dict[str, Any]
    finish_reason: None = None
    logprobs: None = None
    native_finish_reason: None = None
    content_filter_results: dict[str, Any] | None = None


class _Usual(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A chunk from its choices on, if it is like nearly all of them: one more piece of a text that has begun.

    What stands before the choices is long, and the same in all chunks of a stream: it is read once.
    """

    choices: list[_Piece]
    usage: None = None
    obfuscation: Any = None


_usual = msgspec.json.Decoder(_Usual).decode


def recognizes(data: JsonObject) -> bool:
    return isinstance(data.get("choices"), list) or data.get("object") == "chat.completion.chunk"


class Assembler:
    def __init__(self) -> None:
        self._sequence = -1
        self._issues = Issues()
        self._top: JsonObject = {}
        self._last_top: JsonObject = {}
        self._choices: dict[int, Choice] = {}
        self._open: dict[int, Choice] = {}
        self._is_done = False
        self._opening = _NO_OPENING
        self._opening_bytes = 0
        self._openings = 0

    def feed(self, event: Event) -> None:
        self._sequence += 1
        try:
            if event.data.startswith(self._opening):
                (piece,) = _usual(_CHOICES + event.data[self._opening_bytes :]).choices
                choice = self._open[piece.index]
                if piece.content_filter_results:
                    choice.agree(piece.content_filter_results)
                delta = piece.delta if len(piece.delta) == 1 else choice.news(piece.delta)
                ((name, text),) = delta.items()
                if name == "tool_calls":
                    choice.write_arguments(text)
                else:
                    choice.writers[name](text)
                return
        except UNLIKE_OTHERS:
            pass
        self._feed_carefully(event)

    def result(self) -> Assembled:
        events = self._sequence + 1
        closing: list[Issue] = []
        payload = dict(self._top)
        if self._choices:
            payload["object"] = "chat.completion"
            payload["choices"] = [self._choices[index].value(events, closing) for index in sorted(self._choices)]
        elif "error" not in payload:
            closing.append(Issue("incomplete_stream_start", events, "there is no choice"))
        is_finished = bool(self._choices) and all(choice.is_finished for choice in self._choices.values())
        if not self._is_done:
            closing.append(Issue("incomplete_stream_end", events, "[DONE] is missing"))
        elif self._choices and not is_finished:
            closing.append(Issue("incomplete_stream_end", events, "there is no finish_reason"))
        # Some servers and some logs leave [DONE] out: after the last finish_reason and usage nothing is missing.
        has_ended = self._is_done or (is_finished and payload.get("usage") is not None)
        is_complete = has_ended and bool(self._choices) and "error" not in payload and not self._issues.has_lost
        return self._issues.assembled(payload, events, is_complete=is_complete, closing=closing)

    def _note(self, kind: str, detail: object) -> None:
        self._issues.note(kind, self._sequence, detail)

    def _feed_carefully(self, event: Event) -> None:
        if event.data.strip() == DONE:
            if self._is_done:
                self._note("repeated_event", "[DONE] again")
            self._is_done = True
            self._open.clear()
            return
        data = self._issues.parsed(event, self._sequence)
        try:
            if data is None:
                return
            if _TELLING.isdisjoint(data):
                self._note("unknown_event", data.get("type") or event.name)
                return
            self._learn_opening(event.data)
            self._take(data)
        except RecursionError:
            self._issues.lose("corrupted_data", self._sequence, TOO_DEEP)

    def _take(self, data: JsonObject) -> None:
        choices = data.pop("choices", None)
        data.pop("obfuscation", None)
        if data != self._last_top:
            self._take_top(data)
        if isinstance(choices, list):
            for position, choice in enumerate(choices):
                self._take_choice(choice, position)
        elif choices is not None:
            self._note("unexpected_value", "choices that are no list")

    def _learn_opening(self, raw: bytes) -> None:
        """Remember what stands before the choices.

        If they are not the chunk's own, what follows them has a brace too many, and the short way refuses it.
        """
        opening, key, _ = raw.partition(b'"choices":')
        if opening + key != self._opening:
            self._openings += 1
            self._opening = opening + key if key and self._openings <= _MOST_OPENINGS else _NO_OPENING
            self._opening_bytes = len(self._opening)

    def _take_top(self, data: JsonObject) -> None:
        self._last_top = data
        for name, value in data.items():
            if name in _FIRST_COUNTS:
                self._top[name] = self._top.get(name) or value
            elif name == "error":
                if value is not None:
                    self._top[name] = value
                    self._note("error_event", value)
            elif value is not None or name not in self._top:
                self._top[name] = value

    def _take_choice(self, choice: Any, position: int) -> None:
        if not isinstance(choice, dict):
            self._note("unexpected_value", "a choice that is no object")
            return
        index = choice.get("index", position)
        if not is_index(index):
            self._note("unexpected_value", f"a choice with index {index}")
            index = position
        if self._is_done:
            self._note("out_of_order", "a chunk after [DONE]")
        if index not in self._choices:
            self._choices[index] = Choice(index)
        if not self._is_done:
            self._open[index] = self._choices[index]
        self._choices[index].take(choice, self._issues, self._sequence)
