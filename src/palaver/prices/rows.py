"""What a model costs, and what one request cost at that: plain arithmetic on whole numbers.

Prices are in USD per million tokens. Providers count in different manners, and UCS keeps their numbers as reported:

* Anthropic's `input_tokens` leave out what was read from the cache or written to it; OpenAI's and Gemini's include it.
* Gemini's `output_tokens` leave out thinking; OpenAI's and Anthropic's include it.

A row knows the manner of its model. Numbers that contradict it (more cached tokens than input tokens that should
include them) were counted apart, whatever the provider does: several programs subtract before they log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any, Literal, NamedTuple

__all__ = ["Charge", "PriceRow", "Rates", "Tier", "is_linear"]

# Wide enough for any count of 64 bits at any price: nothing is ever rounded.
_EXACT = Context(prec=100)


class Rates(NamedTuple):
    """USD per million tokens, in the order of `Charge`.

    Where a provider has no price of its own for cached tokens, they cost what input costs; for one hour, what five
    minutes cost; for thinking, what output costs.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    thinking: Decimal


class Tier(NamedTuple):
    """Prices of a whole request once its input, cached tokens included, is larger than `above_tokens`."""

    above_tokens: int
    rates: Rates


class Charge(NamedTuple):
    """The tokens of one request, each counted once: `input` without cached ones, `output` without thinking."""

    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    thinking: int


@dataclass(frozen=True, slots=True)
class PriceRow:
    """The prices of one model in one period."""

    source: Literal["genai-prices", "config.toml"]
    model: str  # as the source of the row spells it
    provider: str | None  # None in config.toml
    rates: Rates
    tiers: tuple[Tier, ...] = ()  # rising
    usd_per_request: Decimal = Decimal(0)
    cache_apart: bool = False
    thinking_apart: bool = False
    _places: int = field(init=False, repr=False, compare=False)
    _fee: int = field(init=False, repr=False, compare=False)
    _whole: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _steps: tuple[tuple[int, tuple[int, ...]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        amounts = [self.usd_per_request, *self.rates, *(rate for tier in self.tiers for rate in tier.rates)]
        places = max(0, *(-int(amount.as_tuple().exponent) for amount in amounts))
        steps = [(tier.above_tokens, _whole(tier.rates, places)) for tier in reversed(self.tiers)]
        object.__setattr__(self, "_places", -places - 6)
        object.__setattr__(self, "_fee", int(_EXACT.scaleb(self.usd_per_request, places + 6)))
        object.__setattr__(self, "_whole", _whole(self.rates, places))
        object.__setattr__(self, "_steps", tuple(steps))

    def charge(self, tokens: Mapping[str, Any]) -> Charge:
        """A UCS `tokens` object, brought from the provider's manner of counting to one of our own."""
        get = tokens.get
        sent = get("input_tokens") or 0
        answered = get("output_tokens") or 0
        read = get("cache_read_input_tokens") or 0
        written = get("cache_creation_input_tokens") or 0
        thinking = get("thinking_tokens") or 0
        hour = 0
        if split := get("cache_creation"):
            hour = split.get("ephemeral_1h_input_tokens") or 0
            written = max(written, hour + (split.get("ephemeral_5m_input_tokens") or 0))
        if not self.cache_apart and sent >= read + written:
            sent -= read + written
        if not self.thinking_apart and answered >= thinking:
            answered -= thinking
        return Charge(sent, answered, read, written - hour, hour, thinking)

    def amount(self, charge: Charge) -> Decimal:
        """USD, exact. A tier depends on one request's size, so of sums only where `is_linear`."""
        sent, answered, read, short, hour, thinking = charge
        size = sent + read + short + hour
        rates = self._whole
        for above, dearer in self._steps:
            if size > above:
                rates = dearer
                break
        total = (
            self._fee
            + sent * rates[0]
            + answered * rates[1]
            + read * rates[2]
            + short * rates[3]
            + hour * rates[4]
            + thinking * rates[5]
        )
        return _EXACT.scaleb(Decimal(total), self._places)


def is_linear(row: PriceRow) -> bool:
    """Whether the amount of a sum of charges is the sum of their amounts, so that one multiplication does for all.

    That is said of charges. Sums of raw `tokens` may be charged at once only where no message contradicts its row's
    manner of counting and either all or none of them split their cache writes.
    """
    return not row.tiers and not row.usd_per_request


def _whole(rates: Rates, places: int) -> tuple[int, ...]:
    return tuple(int(_EXACT.scaleb(rate, places)) for rate in rates)
