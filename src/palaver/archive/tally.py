"""What statistics count: the tally of a group, and the totals with what they leave out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, get_args

from palaver.archive.usage import Counts
from palaver.archive.usage_blocks import Block

GroupBy = Literal["day", "week", "month", "block", "project", "model", "platform", "tool", "conversation"]
GROUPINGS = get_args(GroupBy)
TIME_GROUPINGS = ("day", "week", "month", "block")

GroupKey = str | int | None
"""A day, the Monday of a week, a month, the start of a block, or a name; a conversation's key; None if without one."""


@dataclass(slots=True)
class Tokens:
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0

    def add(self, counts: Sequence[int | None]) -> None:
        sent, answered, read, written, _, thought = counts
        self.input += sent or 0
        self.output += answered or 0
        self.cache_read += read or 0
        self.cache_write += written or 0
        self.thinking += thought or 0

    def subtract(self, counts: Counts) -> None:
        self.add([-(count or 0) for count in counts])

    def join(self, other: "Tokens") -> None:
        self.add((other.input, other.output, other.cache_read, other.cache_write, 0, other.thinking))

    def total(self) -> int:
        """Return the sum; if a provider includes thinking or cached tokens in other counts, they count twice."""
        return self.input + self.output + self.cache_read + self.cache_write + self.thinking


@dataclass(slots=True)
class Tally:
    """The counts of a group, or of everything."""

    conversations: set[int] = field(default_factory=set[int])
    messages: Counter[str] = field(default_factory=Counter[str])
    """Number of messages by kind of author."""
    tool_calls: int = 0
    tool_messages: int = 0
    """Number of messages that call the tool, if grouped by tool."""
    answers: int = 0
    """Number of answers whose usage was counted."""
    usage_records: int = 0
    """How many of these answers only a usage record states; in statistics of usage records, the number of records."""
    counts: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    """Other counts of usage records, by name; some have fractions."""
    tokens: Tokens = field(default_factory=Tokens)
    cost: Decimal | None = None
    """In USD, for answers whose model has a known price; None if there are none."""
    stated: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    """Costs stated by sources, by currency. Sums are decimal: the order of what is added makes no difference."""
    estimated: int = 0
    """Tokens that usage records estimate, where the provider's own count is unknown."""
    models: set[str] = field(default_factory=set[str])
    """The spellings of the model, if grouped by model."""

    def add_count(self, name: str, count: Decimal | float) -> None:
        self.counts[name] = self.counts.get(name, Decimal(0)) + Decimal(str(count))

    def add_stated(self, amount: Decimal | float, currency: str | None) -> None:
        currency = currency or "USD"
        self.stated[currency] = self.stated.get(currency, Decimal(0)) + Decimal(str(amount))


@dataclass(slots=True)
class Statistics:
    total: Tally = field(default_factory=Tally)
    groups: dict[GroupKey, Tally] = field(default_factory=dict[GroupKey, Tally])
    copies: int = 0
    """Number of messages whose usage was counted elsewhere, and of the answers they are copies of."""
    copied_answers: int = 0
    naive: Tokens = field(default_factory=Tokens)
    """The tokens if every message counted."""
    unpriced: Counter[str | None] = field(default_factory=Counter[str | None])
    """Number of counted answers without a known price, by model."""
    partial: Counter[str] = field(default_factory=Counter[str])
    """Number of counted answers whose source did not record their end, by platform."""
    uncounted: Counter[str] = field(default_factory=Counter[str])
    """Number of answers by platform, for platforms none of whose answers has token counts."""
    undated: int = 0
    """Number of usage records without a time of their own that a range of time leaves out."""
    without_messages: int = 0
    """Number of conversations that have no messages and are not counted; only of all time."""
    blocks: list[Block] = field(default_factory=list[Block])
    """The five-hour blocks, if grouped by block."""
    agents: int = 0
    """Number of conversations that are agents."""
    recordings: int = 0
    """Number of conversations that an assistant's own record has as well."""
    periods: int = 0
    """Number of usage records that are sums over a period, in statistics of usage records."""

    def unpriced_models(self) -> list[tuple[str | None, int]]:
        """Return the models without a known price and their numbers of answers, the greatest first."""
        return sorted(self.unpriced.items(), key=lambda entry: (-entry[1], entry[0] or ""))

    def group(self, key: GroupKey) -> Tally:
        try:
            return self.groups[key]
        except KeyError:
            return self.groups.setdefault(key, Tally())
