"""The totals of a conversation, computed the same way for every platform."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter

from palaver.model.build import JsonObject
from palaver.model.timestamps import milliseconds_of

_FIELDS = (
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_read_input_tokens", "cache_read"),
    ("cache_creation_input_tokens", "cache_write"),
    ("thinking_tokens", "thinking"),
)
_timestamp, _content, _type = itemgetter("timestamp"), itemgetter("content"), itemgetter("type")
_all_but_thinking = itemgetter(*(field for field, _ in _FIELDS[:-1]))


@dataclass(slots=True)
class MetricsTally:
    """Running totals of a conversation's messages, which may come in several fragments."""

    messages: int = 0
    tool_calls: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: {name: 0 for _, name in _FIELDS})
    has_tokens: bool = False
    cost: float | None = None
    currency: str = "USD"
    first: str = "~"
    last: str = ""

    def copy(self) -> "MetricsTally":
        return replace(self, tokens=self.tokens.copy())

    def add(self, messages: list[JsonObject]) -> None:
        kinds = list(map(_type, chain.from_iterable(map(_content, messages))))
        self.add_counted(messages, list(map(_timestamp, messages)), kinds.count("tool_use"))

    def add_counted(self, messages: list[JsonObject], times: list[str], tool_calls: int) -> None:
        """Add messages whose times and number of tool calls the caller has computed already."""
        self.messages += len(messages)
        self.tool_calls += tool_calls
        if times:
            self.first = min(self.first, *times)
            self.last = max(self.last, *times)
        usages = [message["tokens"] for message in messages if message.get("tokens")]
        if usages:
            self.has_tokens = True
            self._add_tokens(usages)
        for cost in [message["cost"] for message in messages if "cost" in message and message["cost"] is not None]:
            self.cost = _sum(self.cost or 0.0, cost["amount"])
            self.currency = cost.get("currency") or self.currency

    def _add_tokens(self, usages: list[JsonObject]) -> None:
        try:
            columns = [sum(column) for column in zip(*map(_all_but_thinking, usages), strict=True)]
            columns.append(sum([usage["thinking_tokens"] or 0 for usage in usages if "thinking_tokens" in usage]))
        except (KeyError, TypeError):  # a count is missing or null
            columns = [sum([usage.get(field) or 0 for usage in usages]) for field, _ in _FIELDS]
        for (_, name), total in zip(_FIELDS, columns, strict=True):
            self.tokens[name] += total

    def metrics(self, stated: JsonObject | None = None) -> JsonObject:
        """Return the totals; the ones that the source itself states (`stated`) take precedence."""
        metrics: JsonObject = {"total_messages": self.messages}
        if self.has_tokens:
            totals = self.tokens.items()
            metrics["total_tokens"] = {name: total for name, total in totals if total or name != "thinking"}
        if self.cost is not None:
            metrics["total_cost"] = {"amount": self.cost, "currency": self.currency}
        metrics["tool_calls"] = self.tool_calls
        if self.last:
            with suppress(ValueError):  # the schema does not check the calendar: a day may not exist
                metrics["duration_ms"] = milliseconds_of(self.last) - milliseconds_of(self.first)
        return {**metrics, **(stated or {})}


def _sum(total: float, amount: float) -> float:
    try:
        return total + amount
    except OverflowError:  # an integer that no float can hold
        return int(total) + amount
