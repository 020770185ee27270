"""API requests in the UI log: their tokens and cost, and the matching answers in the API history.

`tokensIn` has two meanings. Cline, and Roo Code while it used Anthropic's protocol, count uncached tokens only; newer
versions of Roo Code count all. A value below the sum of cache reads and writes can only be the former.
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
_USAGE_FIELDS = ("tokensIn", "tokensOut", "cacheWrites", "cacheReads", "cost")


@dataclass(slots=True)
class Request:
    """An `api_req_started` row."""

    position: int
    """Position of its row."""
    ts: int
    details: JsonObject
    preceding_index: int | None = None
    """Index in the API history of the message before it; only Cline states it."""
    end: int = 0
    """Position of the next request's row, or the number of rows."""

    @property
    def has_usage(self) -> bool:
        """Return whether it states tokens or a cost; failed requests state neither."""
        return any(_number(self.details.get(name)) is not None for name in _USAGE_FIELDS)

    def tokens(self, platform: str) -> JsonObject | None:
        return tokens_of(self.details, platform)

    def cost(self) -> JsonObject | None:
        return cost_of(self.details.get("cost"))


def parse_request(row: JsonObject, position: int, ts: int) -> Request:
    details, before = parse_json_text(row.get("text")), row.get("conversationHistoryIndex")
    preceding_index = before if type(before) is int else None
    return Request(position, ts, details if isinstance(details, dict) else {}, preceding_index)


def parse_json_text(text: Any) -> Any:
    """Return the JSON value in the text of a row, or None if it is not JSON."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def tokens_of(details: JsonObject, platform: str) -> JsonObject | None:
    tokens: dict[str, int] = {}
    for stated, name in _TOKENS:
        count = details.get(stated)
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
    """Return the tokens in the `metrics` of Cline; its `cached` mixes reads and writes and is left out."""
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
    """Matches requests to answers, which come in order and possibly in several portions."""

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests
        self._times = [request.ts for request in requests]
        self._next = 0
        """The first request that may match the next answer."""

    def pair(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        """Return the request of each answer by index; an answer is a pair of index and time (0 if unknown)."""
        if any(request.preceding_index is not None for request in self._requests):
            return self._by_index(answers)
        if all(ts for _, ts in answers) and any(self._times):
            return self._by_time(answers)
        return self._in_order(answers)

    def _by_index(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        """Match by the stated index of the preceding message; the prompt and the answer follow it."""
        indexes = {index for index, _ in answers}
        found: dict[int, Request] = {}
        for request in self._requests:
            if request.preceding_index is not None:
                following = range(request.preceding_index + 1, request.preceding_index + 4)
                index = next((index for index in following if index in indexes), None)
                if index is not None and (index not in found or request.has_usage or not found[index].has_usage):
                    found[index] = request
        return found

    def _by_time(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        """Match each answer to the last request before it."""
        found: dict[int, Request] = {}
        for index, ts in answers:
            last = bisect_right(self._times, ts) - 1
            if last >= self._next:
                found[index] = self._requests[last]
                self._next = last + 1
        return found

    def _in_order(self, answers: list[tuple[int, int]]) -> dict[int, Request]:
        waiting = self._requests[self._next :]
        if len(waiting) != len(answers):
            waiting = [request for request in waiting if request.has_usage]
        found = {index: request for (index, _), request in zip(answers, waiting, strict=False)}
        if found:
            self._next = self._requests.index(list(found.values())[-1]) + 1
        return found
