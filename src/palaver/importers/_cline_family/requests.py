"""Requests that the interface tells of: what each used and cost, and which answer of the API history each got.

`tokensIn` has two meanings. Cline, and Roo Code as long as it spoke Anthropic's protocol, count what came from no
cache; newer versions of Roo Code count all. Where it is less than what the caches gave and took, it can only be the
former.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import orjson

from palaver.model.build import JsonObject

_TOKENS = (
    ("tokensIn", "input_tokens"),
    ("tokensOut", "output_tokens"),
    ("cacheWrites", "cache_creation_input_tokens"),
    ("cacheReads", "cache_read_input_tokens"),
)
_NUMBERS = ("tokensIn", "tokensOut", "cacheWrites", "cacheReads", "cost")


@dataclass(slots=True)
class Request:
    position: int
    """Of its row."""
    ts: int
    facts: JsonObject
    before: int | None = None
    """The place in the API history of the message before it, as Cline tells it."""
    end: int = 0
    """The position of the next request's row, or the number of rows."""

    @property
    def is_alive(self) -> bool:
        """Whether it states any number: one that died has none."""
        return any(_number(self.facts.get(name)) is not None for name in _NUMBERS)

    def tokens(self, platform: str) -> JsonObject | None:
        return tokens_of(self.facts, platform)

    def cost(self) -> JsonObject | None:
        return cost_of(self.facts.get("cost"))


def request_of(row: JsonObject, position: int, ts: int) -> Request:
    facts, before = payload(row.get("text")), row.get("conversationHistoryIndex")
    return Request(
        position, ts, facts if isinstance(facts, dict) else {}, before=before if type(before) is int else None
    )


def payload(text: Any) -> Any:
    """The JSON value that a row's text is; None where it is none."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def tokens_of(facts: JsonObject, platform: str) -> JsonObject | None:
    tokens: dict[str, int] = {}
    for stated, name in _TOKENS:
        count = facts.get(stated)
        if type(count) is int and 0 <= count < 1 << 63:
            tokens[name] = count
    total = tokens.get("input_tokens")
    if total is None:
        return tokens if "output_tokens" in tokens else None
    if platform != "cline":
        cached = tokens.get("cache_creation_input_tokens", 0) + tokens.get("cache_read_input_tokens", 0)
        if total >= cached:
            tokens["input_tokens"] = total - cached
    return tokens


def tokens_of_metrics(metrics: Any) -> JsonObject | None:
    """What Cline notes with an answer; what it calls `cached` was read or written, nobody knows which."""
    match metrics:
        case {"tokens": dict(stated)}:
            found = {"input_tokens": _count(stated.get("prompt")), "output_tokens": _count(stated.get("completion"))}
            return {name: count for name, count in found.items() if count is not None} or None
        case _:
            return None


def cost_of(amount: Any) -> JsonObject | None:
    return {"amount": amount, "currency": "USD"} if _number(amount) is not None else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _number(value: Any) -> float | None:
    return value if type(value) in {int, float} and 0 <= value < 1 << 63 else None


class Pairing:
    """Finds the answer of each request; answers come in order, and may come in several portions."""

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests
        self._times = [request.ts for request in requests]
        self._next = 0
        """The first request that may belong to the next answer."""

    def pair(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        """The requests by the places of their answers, of which the places and times (0 where unknown) are given."""
        if any(request.before is not None for request in self._requests):
            return self._by_place(answers)
        if all(ts for _, ts in answers) and any(self._times):
            return self._by_time(answers)
        return self._in_order(answers)

    def _by_place(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        """A request names the message before it; then come what was asked and the answer."""
        places = {place for place, _ in answers}
        found: dict[int, Request] = {}
        for request in self._requests:
            if request.before is not None:
                place = next(
                    (place for place in range(request.before + 1, request.before + 4) if place in places), None
                )
                if place is not None and (place not in found or request.is_alive or not found[place].is_alive):
                    found[place] = request
        return found

    def _by_time(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        """An answer belongs to the last request before it."""
        found: dict[int, Request] = {}
        for place, ts in answers:
            last = bisect_right(self._times, ts) - 1
            if last >= self._next:
                found[place] = self._requests[last]
                self._next = last + 1
        return found

    def _in_order(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        waiting = self._requests[self._next :]
        if len(waiting) != len(answers):
            waiting = [request for request in waiting if request.is_alive]
        found = {place: request for (place, _), request in zip(answers, waiting, strict=False)}
        if found:
            self._next = self._requests.index(list(found.values())[-1]) + 1
        return found
