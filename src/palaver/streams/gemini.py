"""Gemini's stream: whole responses, each with the parts that are new; as SSE, or as one JSON array.

Neighbouring text parts are one if both are thoughts or neither is. A signature may sit on any part, even an empty one,
and vouches for that part alone: such a part stays as it is. Usage is cumulative, the last one counts. A prompt that was
blocked has feedback and no candidate. The SDK writes snake_case, some clients wrap it all in `response`: both are read.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams._joining import Joined
from palaver.streams._parts import Parts
from palaver.streams._reading import TOO_DEEP, Issues, as_list, is_index, merge

_TELLING = {
    *("candidates", "usageMetadata", "promptFeedback", "modelVersion", "responseId"),
    *("usage_metadata", "prompt_feedback", "model_version", "response_id"),
}
_FINISH = ("finishReason", "finish_reason")
_CITATIONS = {"citationMetadata", "citation_metadata"}
_LOGPROBS = {"logprobsResult", "logprobs_result"}


def recognizes(data: JsonObject) -> bool:
    error = data.get("error")
    is_error = isinstance(error, dict) and isinstance(error.get("status"), str)
    return is_error or not _TELLING.isdisjoint(_unwrapped(data))


class Assembler:
    def __init__(self) -> None:
        self._sequence = -1
        self._issues = Issues()
        self._top: JsonObject = {}
        self._candidates: dict[int, _Candidate] = {}

    def feed(self, event: Event) -> None:
        self._sequence += 1
        data = self._issues.parsed(event, self._sequence)
        try:
            if data is not None:
                self._take(_unwrapped(data), event)
        except RecursionError:
            self._issues.lose("corrupted_data", self._sequence, TOO_DEEP)

    def _take(self, data: JsonObject, event: Event) -> None:
        if _TELLING.isdisjoint(data) and "error" not in data:
            self._note("unknown_event", data.get("type") or event.name)
            return
        for name, value in data.items():
            if name == "candidates":
                self._take_candidates(value)
            elif name != "error":
                if value is not None or name not in self._top:
                    self._top[name] = value
            elif value is not None:
                self._top[name] = value
                self._note("error_event", value)

    def result(self) -> Assembled:
        events = self._sequence + 1
        closing: list[Issue] = []
        payload = dict(self._top)
        if self._candidates:
            payload["candidates"] = [self._candidates[index].value() for index in sorted(self._candidates)]
            has_ended = all(candidate.is_finished for candidate in self._candidates.values())
        else:
            has_ended = any(_is_blocked(payload.get(name)) for name in ("promptFeedback", "prompt_feedback"))
        if not payload:
            closing.append(Issue("incomplete_stream_start", events, "there is no response"))
        if not has_ended:
            closing.append(Issue("incomplete_stream_end", events, "there is no finishReason"))
        is_complete = has_ended and "error" not in payload and not self._issues.has_lost
        return self._issues.assembled(payload, events, is_complete=is_complete, closing=closing)

    def _note(self, kind: str, detail: object) -> None:
        self._issues.note(kind, self._sequence, detail)

    def _take_candidates(self, candidates: Any) -> None:
        if not isinstance(candidates, list):
            if candidates is not None:
                self._note("unexpected_value", "candidates that are no list")
            return
        for position, candidate in enumerate(candidates):
            if not isinstance(candidate, dict):
                self._note("unexpected_value", "a candidate that is no object")
                continue
            index = candidate.get("index", position)
            if not is_index(index):
                self._note("unexpected_value", f"a candidate with index {index}")
                index = position
            if index not in self._candidates:
                self._candidates[index] = _Candidate()
            self._candidates[index].take(candidate, self._issues, self._sequence)


class _Candidate:
    def __init__(self) -> None:
        self._content: JsonObject | None = None
        self._parts = Parts()
        self._logprobs: dict[str, Joined] = {}
        self._beside: JsonObject = {}

    @property
    def is_finished(self) -> bool:
        return any(self._beside.get(name) is not None for name in _FINISH)

    def take(self, candidate: JsonObject, issues: Issues, sequence: int) -> None:
        for name, value in candidate.items():
            if not isinstance(value, dict):
                if value is not None or name not in self._beside:
                    self._beside[name] = value
            elif name == "content":
                self._take_content(value, issues, sequence)
            elif name in _LOGPROBS:
                self._logprobs.setdefault(name, Joined()).add(value)
            elif not isinstance(known := self._beside.get(name), dict):
                self._beside[name] = value
            elif name in _CITATIONS:
                self._beside[name] = _united(known, value)
            else:
                self._beside[name] = {**known, **value}

    def value(self) -> JsonObject:
        made = {**self._beside, **{name: joined.value() for name, joined in self._logprobs.items()}}
        if self._content is not None:
            parts = self._parts.value()
            made["content"] = {**self._content, **({"parts": parts} if parts else {})}
        return made

    def _take_content(self, content: JsonObject, issues: Issues, sequence: int) -> None:
        if self._content is None:
            self._content = {}
        for name, value in content.items():
            if name != "parts":
                if value is not None or name not in self._content:
                    self._content[name] = value
                continue
            for part in as_list(value):
                if isinstance(part, dict):
                    self._parts.add(part, issues, sequence)
                else:
                    issues.note("unexpected_value", sequence, "a part that is no object")


def _unwrapped(data: JsonObject) -> JsonObject:
    if "response" not in data:
        return data
    inner = data["response"]
    return inner if isinstance(inner, dict) and _TELLING.isdisjoint(data) else data


def _is_blocked(feedback: Any) -> bool:
    return isinstance(feedback, dict) and any(feedback.get(name) for name in ("blockReason", "block_reason"))


def _united(known: JsonObject, new: JsonObject) -> JsonObject:
    """With every source once, whether each response tells the new ones or all so far."""
    made = dict(known)
    for name, value in new.items():
        if isinstance(value, list):
            before = as_list(made.get(name))
            made[name] = before + [source for source in value if source not in before]
        else:
            merge(made, {name: value})
    return made
