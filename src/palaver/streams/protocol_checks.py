"""Checks that a stream follows its API's protocol: it begins, ends, keeps its order, and closes what it opens.

A check holds no text, so that a stream of any length can be checked while it is running. It reports these issues of
`_contract`: `incomplete_stream_start`, `incomplete_stream_end`, `unclosed_block`, `unknown_block`, `repeated_event`,
`out_of_order`, `another_message`, `error_event`, `unknown_event`, `unexpected_value`. Where another message begins, the
one before is checked as at the end of a stream.
"""

from collections.abc import Callable
from typing import Any, Protocol

from palaver.model.build import JsonObject
from palaver.streams._event_data import as_list, is_index
from palaver.streams.message_starts import (
    ANOTHER_MESSAGE,
    ChatMessage,
    GeminiMessage,
    another_message_detail,
    is_another_message,
    response_id,
)

Note = Callable[[str, str], None]
"""A function that takes the type and the detail of an issue with the current event."""

_PHASES = {
    "message_start": 0,
    "content_block_start": 1,
    "content_block_delta": 1,
    "content_block_stop": 1,
    "message_delta": 2,
    "message_stop": 3,
}
"""The order of Anthropic's events."""
_FIRST_EVENTS = {"response.created", "response.queued", "response.in_progress"}
_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed"}


class ProtocolCheck(Protocol):
    has_ended: bool
    """Whether the last event of the stream has arrived."""

    def take(self, kind: str, data: JsonObject) -> None:
        """Check one event, by its type and data."""
        ...

    def take_done(self) -> None:
        """Check `[DONE]`."""
        ...

    def close(self) -> None:
        """Report what is missing at the end of the stream."""
        ...


def protocol_check(wire_format: str, note: Note) -> ProtocolCheck:
    """Return a new check for a format."""
    return _CHECKS[wire_format](note)


class _Anthropic:
    """Anthropic: `message_start`, each block from its start to its stop, `message_delta`, `message_stop`."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._begin()

    def _begin(self) -> None:
        self.has_ended = False
        self._id: Any = None
        self._has_start = False
        self._phase = -1
        self._blocks = 0
        self._open: set[int] = set()
        self._closed: set[int] = set()

    def take(self, kind: str, data: JsonObject) -> None:
        phase = _PHASES.get(kind)
        if phase is None:
            if kind == "error":
                self._note("error_event", _error_text(data.get("error")))
            else:
                self._note("unknown_event", kind)
            return
        if phase == 0:
            self._take_start(data.get("message"))
        if self.has_ended:
            self._note("out_of_order", f"{kind} after message_stop")
        elif self._phase < 0:
            if phase:
                self._note("incomplete_stream_start", f"{kind} comes first")
        elif phase == 0:
            self._note("repeated_event", "a second message_start")
        elif phase < self._phase:
            self._note("out_of_order", f"{kind} after message_delta")
        if phase == 1:
            self._take_block(kind, data)
        self._phase = max(self._phase, phase)
        self.has_ended = self.has_ended or kind == "message_stop"

    def _take_start(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        stated, has_ended = message.get("id"), self.has_ended or not self._has_start
        if self._phase >= 0 and is_another_message(self._id, stated, has_ended=has_ended):
            self.close()
            self._note(ANOTHER_MESSAGE, another_message_detail(self._id, stated))
            self._begin()
        if not self._has_start:
            self._has_start, self._id = True, stated

    def _take_block(self, kind: str, data: JsonObject) -> None:
        index = data.get("index")
        if not is_index(index):
            self._note("unexpected_value", f"{kind} with index {index}")
        elif kind == "content_block_start":
            if index in self._open or index in self._closed:
                self._note("repeated_event", f"block {index} begins again")
                return
            if index != self._blocks:
                self._note("out_of_order", f"block {index} is number {self._blocks}")
            self._blocks += 1
            self._open.add(index)
        elif index in self._open:
            if kind == "content_block_stop":
                self._open.discard(index)
                self._closed.add(index)
        elif index not in self._closed:
            self._note("unknown_block", f"{kind} for block {index}, which never began")
        elif kind == "content_block_stop":
            self._note("repeated_event", f"block {index} ends again")
        else:
            self._note("out_of_order", f"{kind} for block {index}, which has ended")

    def take_done(self) -> None:
        pass

    def close(self) -> None:
        if self._phase < 0:
            self._note("incomplete_stream_start", "message_start is missing")
        for index in sorted(self._open):
            self._note("unclosed_block", f"block {index} has no content_block_stop")
        if not self.has_ended:
            self._note("incomplete_stream_end", "message_stop is missing")


class _OpenAIChat:
    """Chat Completions: chunks, a `finish_reason` per choice, `[DONE]`, which some servers and logs leave out."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._chunks = 0
        self._begin()

    def _begin(self) -> None:
        self.has_ended = False
        self._identity = ChatMessage()

    def take(self, kind: str, data: JsonObject) -> None:
        _ = kind
        self._chunks += 1
        if not self._identity.take(data, self._chunks):
            self.close()
            self._note(ANOTHER_MESSAGE, another_message_detail(self._identity.id, data.get("id")))
            self._begin()
            self._identity.take(data, self._chunks)
        if data.get("error") is not None:
            self._note("error_event", _error_text(data["error"]))
        if self.has_ended:
            self._note("out_of_order", "a chunk after [DONE]")
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                self._note("unexpected_value", "a choice is not an object")

    def take_done(self) -> None:
        if self.has_ended:
            self._note("repeated_event", "[DONE] again")
        self.has_ended = self._identity.is_done = True

    def close(self) -> None:
        if not self._identity.is_finished:
            self._note("incomplete_stream_start", "no choice")
        if not self._identity.has_ended:
            detail = (
                "[DONE] comes without a finish_reason" if self.has_ended else "finish_reason and [DONE] are missing"
            )
            self._note("incomplete_stream_end", detail)


class _OpenAIResponses:
    """Responses: `response.created`, items from `added` to `done`, then the whole response; all events are numbered."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._begin()

    def _begin(self) -> None:
        self.has_ended = False
        self._id: Any = None
        self._has_start = False
        self._has_begun = False
        self._number: int | None = None
        self._open: set[int] = set()

    def take(self, kind: str, data: JsonObject) -> None:
        if kind == "error":
            self._note("error_event", _error_text(data.get("error", data)))
            return
        if not kind.startswith("response."):
            if kind == "keepalive":
                self._check_number(data.get("sequence_number"))
            else:
                self._note("unknown_event", kind)
            return
        if kind in _FIRST_EVENTS | _LAST_EVENTS:
            self._take_response(kind, data.get("response"))
        if self.has_ended:
            self._note("out_of_order", f"{kind} after the end")
        if not self._has_begun and kind not in _FIRST_EVENTS | _LAST_EVENTS:
            self._note("incomplete_stream_start", f"{kind} comes first")
        self._has_begun = True
        self._check_number(data.get("sequence_number"))
        index = data.get("output_index")
        if kind == "response.output_item.added" and is_index(index):
            self._open.add(index)
        elif kind == "response.output_item.done" and is_index(index):
            if index not in self._open:
                self._note("unknown_block", f"item {index} ended without a beginning")
            self._open.discard(index)
        elif kind in _LAST_EVENTS:
            self.has_ended = True

    def _take_response(self, kind: str, response: Any) -> None:
        if not isinstance(response, dict):
            return
        stated, has_ended = response.get("id"), self.has_ended or not self._has_start
        if kind == "response.created" and self._has_begun and is_another_message(self._id, stated, has_ended=has_ended):
            self.close()
            self._note(ANOTHER_MESSAGE, another_message_detail(self._id, stated))
            self._begin()
        self._has_start = self._has_start or kind in _FIRST_EVENTS
        self._id = self._id or stated

    def _check_number(self, number: Any) -> None:
        if not is_index(number):
            return
        if self._number is not None and number != self._number + 1:
            self._note("out_of_order", f"event {number} after event {self._number}")
        self._number = number if self._number is None else max(number, self._number)

    def take_done(self) -> None:
        pass

    def close(self) -> None:
        if not self._has_begun:
            self._note("incomplete_stream_start", "response.created is missing")
        if not self.has_ended:
            for index in sorted(self._open):
                self._note("unclosed_block", f"item {index} was never done")
            self._note("incomplete_stream_end", "the response is incomplete")


class _Gemini:
    """Gemini: responses with candidates, each with a final `finishReason`; or a blocked prompt."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._begin()

    def _begin(self) -> None:
        self.has_ended = False
        self._identity = GeminiMessage()
        self._has_begun = False

    def take(self, kind: str, data: JsonObject) -> None:
        _ = kind
        if not self._identity.take(data):
            self.close()
            self._note(ANOTHER_MESSAGE, another_message_detail(self._identity.id, response_id(data)))
            self._begin()
            self._identity.take(data)
        if data.get("error") is not None:
            self._note("error_event", _error_text(data["error"]))
            return
        self._has_begun = True
        feedback = data.get("promptFeedback") or data.get("prompt_feedback")
        is_blocked = isinstance(feedback, dict) and bool(feedback.get("blockReason") or feedback.get("block_reason"))
        for candidate in as_list(data.get("candidates")):
            if not isinstance(candidate, dict):
                self._note("unexpected_value", "a candidate is not an object")
        self.has_ended = is_blocked or self._identity.has_ended

    def take_done(self) -> None:
        pass

    def close(self) -> None:
        if not self._has_begun:
            self._note("incomplete_stream_start", "no response")
        if not self.has_ended:
            self._note("incomplete_stream_end", "finishReason is missing")


def _error_text(error: Any) -> str:
    match error:
        case {"type": kind, "message": message}:
            return f"{kind}: {message}"
        case {"message": message}:
            return str(message)
        case _:
            return str(error)


_CHECKS: dict[str, Callable[[Note], ProtocolCheck]] = {
    "anthropic": _Anthropic,
    "openai_chat": _OpenAIChat,
    "openai_responses": _OpenAIResponses,
    "gemini": _Gemini,
}
