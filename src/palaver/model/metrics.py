"""The totals of a conversation, the same for every platform."""

from datetime import datetime
from operator import itemgetter
from typing import Any

Json = dict[str, Any]

_FIELDS = (
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_read_input_tokens", "cache_read"),
    ("cache_creation_input_tokens", "cache_write"),
    ("thinking_tokens", "thinking"),
)
_all_but_thinking = itemgetter(*(field for field, _ in _FIELDS[:-1]))


class MetricsTally:
    """Adds up the messages of a conversation, which may come in fragments."""

    __slots__ = ("_cost", "_currency", "_first", "_has_tokens", "_last", "_messages", "_tokens", "_tool_calls")

    def __init__(self) -> None:
        self._messages = 0
        self._tool_calls = 0
        self._tokens = {name: 0 for _, name in _FIELDS}
        self._has_tokens = False
        self._cost: float | None = None
        self._currency = "USD"
        self._first = "~"
        self._last = ""

    def add(self, messages: list[Json]) -> None:
        self._messages += len(messages)
        times = [message["timestamp"] for message in messages]
        if times:
            self._first = min(self._first, *times)
            self._last = max(self._last, *times)
        kinds = [block["type"] for message in messages for block in message["content"]]
        self._tool_calls += kinds.count("tool_use")
        usages = [message["tokens"] for message in messages if message.get("tokens")]
        if usages:
            self._has_tokens = True
            self._add_tokens(usages)
        for message in messages:
            if "cost" in message and (cost := message["cost"]) is not None:
                self._cost = (self._cost or 0.0) + cost["amount"]
                self._currency = cost.get("currency") or self._currency

    def _add_tokens(self, usages: list[Json]) -> None:
        try:
            columns = [sum(column) for column in zip(*map(_all_but_thinking, usages), strict=True)]
            columns.append(sum([usage["thinking_tokens"] or 0 for usage in usages if "thinking_tokens" in usage]))
        except (KeyError, TypeError):  # a figure is missing, or null
            columns = [sum([usage.get(field) or 0 for usage in usages]) for field, _ in _FIELDS]
        for (_, name), total in zip(_FIELDS, columns, strict=True):
            self._tokens[name] += total

    def metrics(self, stated: Json | None = None) -> Json:
        """The totals; what the source itself stated (`stated`) stands."""
        metrics: Json = {"total_messages": self._messages}
        if self._has_tokens:
            totals = self._tokens.items()
            metrics["total_tokens"] = {name: total for name, total in totals if total or name != "thinking"}
        if self._cost is not None:
            metrics["total_cost"] = {"amount": self._cost, "currency": self._currency}
        metrics["tool_calls"] = self._tool_calls
        if self._last:
            metrics["duration_ms"] = _milliseconds(self._last) - _milliseconds(self._first)
        return {**metrics, **(stated or {})}


def _milliseconds(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
