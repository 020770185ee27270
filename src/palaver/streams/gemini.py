"""Gemini's stream: a sequence of responses, each with the new parts only, as SSE or as one JSON array.

Adjacent text parts are joined if both are thoughts or neither is. A signature may be on any part, even an empty one,
and vouches for that part alone: such a part stays separate. Usage is cumulative, so the last one wins. A blocked prompt
has feedback and no candidate. The SDK writes snake_case, and some clients wrap each response in `response`: both are
accepted.
"""

import re
from io import StringIO
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._accumulator import ObjectAccumulator
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams._event_data import TOO_DEEP, Issues, as_list, is_index, merge_fields, with_following
from palaver.streams.message_starts import ANOTHER_MESSAGE, GeminiMessage, another_message_detail, response_id

_RECOGNIZED_KEYS = {
    *("candidates", "usageMetadata", "promptFeedback", "modelVersion", "responseId"),
    *("usage_metadata", "prompt_feedback", "model_version", "response_id"),
}
_FINISH_KEYS = ("finishReason", "finish_reason")
_CITATION_KEYS = {"citationMetadata", "citation_metadata"}
_LOGPROBS_KEYS = {"logprobsResult", "logprobs_result"}


def recognizes(data: JsonObject) -> bool:
    error = data.get("error")
    is_error = isinstance(error, dict) and isinstance(error.get("status"), str)
    return is_error or not _RECOGNIZED_KEYS.isdisjoint(_unwrapped(data))


class Assembler:
    def __init__(self) -> None:
        self._sequence = -1
        self._earlier: list[Assembled] = []
        self._begin()

    def _begin(self) -> None:
        """Begin a response."""
        self._issues = Issues()
        self._identity = GeminiMessage()
        self._top: JsonObject = {}
        self._candidates: dict[int, _Candidate] = {}

    def feed(self, event: Event) -> None:
        self._sequence += 1
        data = self._issues.parse_object(event, self._sequence)
        try:
            if data is not None:
                self._take(_unwrapped(data), event)
        except RecursionError:
            self._issues.note_unreadable("corrupted_data", self._sequence, TOO_DEEP)

    def _take(self, data: JsonObject, event: Event) -> None:
        if _RECOGNIZED_KEYS.isdisjoint(data) and "error" not in data:
            self._note("unknown_event", data.get("type") or event.name)
            return
        if not self._identity.take(data):
            self._note(ANOTHER_MESSAGE, another_message_detail(self._identity.id, response_id(data)))
            self._earlier.append(self._assembled(self._sequence))
            self._begin()
            self._identity.take(data)
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
        return with_following([*self._earlier, self._assembled(self._sequence + 1)])

    def _assembled(self, events: int) -> Assembled:
        closing: list[Issue] = []
        payload = dict(self._top)
        if self._candidates:
            payload["candidates"] = [self._candidates[index].value() for index in sorted(self._candidates)]
            has_ended = all(candidate.is_finished for candidate in self._candidates.values())
        else:
            has_ended = any(_is_blocked(payload.get(name)) for name in ("promptFeedback", "prompt_feedback"))
        if not payload:
            closing.append(Issue("incomplete_stream_start", events, "no response"))
        if not has_ended:
            closing.append(Issue("incomplete_stream_end", events, "finishReason is missing"))
        is_complete = has_ended and "error" not in payload and not self._issues.has_unreadable
        return self._issues.assembled(payload, events, is_complete=is_complete, closing=closing)

    def _note(self, kind: str, detail: object) -> None:
        self._issues.note(kind, self._sequence, detail)

    def _take_candidates(self, candidates: Any) -> None:
        if not isinstance(candidates, list):
            if candidates is not None:
                self._note("unexpected_value", "candidates are not a list")
            return
        for position, candidate in enumerate(candidates):
            if not isinstance(candidate, dict):
                self._note("unexpected_value", "a candidate is not an object")
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
        self._parts = _Parts()
        self._logprobs: dict[str, ObjectAccumulator] = {}
        self._other_fields: JsonObject = {}

    @property
    def is_finished(self) -> bool:
        return any(self._other_fields.get(name) is not None for name in _FINISH_KEYS)

    def take(self, candidate: JsonObject, issues: Issues, sequence: int) -> None:
        for name, value in candidate.items():
            if not isinstance(value, dict):
                if value is not None or name not in self._other_fields:
                    self._other_fields[name] = value
            elif name == "content":
                self._take_content(value, issues, sequence)
            elif name in _LOGPROBS_KEYS:
                self._logprobs.setdefault(name, ObjectAccumulator()).add(value)
            elif not isinstance(known := self._other_fields.get(name), dict):
                self._other_fields[name] = value
            elif name in _CITATION_KEYS:
                self._other_fields[name] = _merge_citations(known, value)
            else:
                self._other_fields[name] = {**known, **value}

    def value(self) -> JsonObject:
        candidate = {**self._other_fields, **{name: logprobs.value() for name, logprobs in self._logprobs.items()}}
        if self._content is not None:
            parts = self._parts.value()
            candidate["content"] = {**self._content, **({"parts": parts} if parts else {})}
        return candidate

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
                    issues.note("unexpected_value", sequence, "a part is not an object")


def _unwrapped(data: JsonObject) -> JsonObject:
    if "response" not in data:
        return data
    inner = data["response"]
    return inner if isinstance(inner, dict) and _RECOGNIZED_KEYS.isdisjoint(data) else data


def _is_blocked(feedback: Any) -> bool:
    return isinstance(feedback, dict) and any(feedback.get(name) for name in ("blockReason", "block_reason"))


def _merge_citations(known: JsonObject, new: JsonObject) -> JsonObject:
    """Return the union of two citation objects: a response may hold the new sources only, or all so far."""
    citations = dict(known)
    for name, value in new.items():
        if isinstance(value, list):
            before = as_list(citations.get(name))
            citations[name] = before + [source for source in value if source not in before]
        else:
            merge_fields(citations, {name: value})
    return citations


_CALL_KEYS = ("functionCall", "function_call")
_PARTIAL_ARGS_KEYS = ("partialArgs", "partial_args")
_CONTINUES_KEYS = ("willContinue", "will_continue")
_THOUGHT_KEYS = {"text", "thought"}


class _Parts:
    """The parts of a candidate: text and function calls that may continue, and parts that come whole."""

    def __init__(self) -> None:
        self._parts: list[_Text | _Call | JsonObject] = []

    def add(self, part: JsonObject, issues: Issues, sequence: int) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(part.get("text"), str) and (len(part) == 1 or part.keys() == _THOUGHT_KEYS):
            if not isinstance(last, _Text) or last.is_thought != bool(part.get("thought")):
                last = _Text(part)
                self._parts.append(last)
            last.write(part["text"])
            return
        name = next((name for name in _CALL_KEYS if isinstance(part.get(name), dict)), None)
        if name is not None and isinstance(last, _Call) and last.is_open and not part[name].get("name"):
            last.add(part, name, issues, sequence)
        elif name is not None and any(part[name].get(key) for key in (*_PARTIAL_ARGS_KEYS, *_CONTINUES_KEYS)):
            call = _Call(name)
            call.add(part, name, issues, sequence)
            self._parts.append(call)
        else:
            self._parts.append(part)

    def value(self) -> list[JsonObject]:
        return [part if isinstance(part, dict) else part.value() for part in self._parts]


class _Text:
    """Text parts without a signature, joined into one part."""

    __slots__ = ("_first", "_text", "is_thought", "write")

    def __init__(self, first: JsonObject) -> None:
        self._first = first
        self._text = StringIO()
        self.write = self._text.write
        self.is_thought = bool(first.get("thought"))

    def value(self) -> JsonObject:
        return {**self._first, "text": self._text.getvalue()}


class _Call:
    """A function call whose arguments arrive in pieces."""

    __slots__ = ("_args", "_call", "_name", "_part", "is_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._part: JsonObject = {}
        self._call: JsonObject = {}
        self._args: JsonObject = {}
        self.is_open = True

    def add(self, part: JsonObject, name: str, issues: Issues, sequence: int) -> None:
        call: JsonObject = part[name]
        merge_fields(self._part, {key: value for key, value in part.items() if key != name})
        self.is_open = any(call.get(key) for key in _CONTINUES_KEYS)
        for key, value in call.items():
            if key in _PARTIAL_ARGS_KEYS:
                for partial in as_list(value):
                    args = _with_partial_argument(self._args, partial) if isinstance(partial, dict) else None
                    if args is None:
                        issues.note("unexpected_value", sequence, f"an argument without a path: {partial}")
                    else:
                        self._args = args
            elif key == "args" and isinstance(value, dict):
                self._args = {**self._args, **value}
            elif key not in _CONTINUES_KEYS:
                merge_fields(self._call, {key: value})

    def value(self) -> JsonObject:
        call = {**self._call, "args": self._args}
        if self.is_open:
            call["willContinue"] = True
        return {self._name: call, **self._part}


_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_CAMEL_CASE = {
    "json_path": "jsonPath",
    "string_value": "stringValue",
    "number_value": "numberValue",
    "bool_value": "boolValue",
    "null_value": "nullValue",
}
_MAX_SKIPPED_INDEXES = 1_000
_MAX_STEPS = 100


def _with_partial_argument(args: JsonObject, partial: JsonObject) -> JsonObject | None:
    """Return a copy of the arguments with the value at its JSON path set, or its text extended; None if impossible."""
    named = {_CAMEL_CASE.get(name, name): value for name, value in partial.items()}
    steps = _steps(named.get("jsonPath"))
    kind = next((name for name in _VALUES if name in named), None)
    if not steps or kind is None:
        return None
    extended = dict(args)
    here: Any = extended
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if not _reserve(here, step):
            return None
        known = here.get(step) if isinstance(here, dict) else here[step]
        if following is None:
            value = None if kind == "nullValue" else named[kind]
            here[step] = known + value if isinstance(known, str) and isinstance(value, str) else value
        else:
            if isinstance(following, int):
                here[step] = list(known) if isinstance(known, list) else []
            else:
                here[step] = dict(known) if isinstance(known, dict) else {}
            here = here[step]
    return extended


def _reserve(here: Any, step: str | int) -> bool:
    """Return whether a container can hold this key or index, after padding a list up to the index."""
    if isinstance(here, dict):
        return isinstance(step, str)
    if not isinstance(step, int) or step > len(here) + _MAX_SKIPPED_INDEXES:
        return False
    here += [None] * (step + 1 - len(here))
    return True


def _steps(path: Any) -> list[str | int]:
    """Return the steps of a path such as `$.a.b[0]['c d']`; none for anything else."""
    if not isinstance(path, str) or not path.startswith("$"):
        return []
    steps: list[str | int] = []
    at = 1
    while at < len(path) and len(steps) < _MAX_STEPS:
        step = _STEP.match(path, at)
        if step is None:
            return []
        quoted = step[3] if step[3] is not None else step[4]
        if step[2] is not None:
            steps.append(int(step[2]))
        else:
            steps.append(step[1] or re.sub(r"\\(.)", r"\1", quoted or ""))
        at = step.end()
    return steps if at == len(path) else []
