"""Prices of a model, and the cost of a request at these prices, in exact integer arithmetic.

Prices are in USD per million tokens. Providers count tokens differently, and UCS stores their numbers as reported:

* Anthropic's `input_tokens` exclude tokens read from or written to the cache; OpenAI's and Gemini's include them.
* Gemini's `output_tokens` exclude thinking; OpenAI's and Anthropic's include it.

A row knows how its model is counted. Numbers that contradict it (more cached tokens than the input tokens that should
include them) were counted separately, whatever the provider does: several programs subtract before they log.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any, Literal, NamedTuple

__all__ = ["Charge", "PriceRow", "Rates", "Tier", "is_linear"]

# Precise enough for any 64-bit count at any price: nothing is ever rounded.
_EXACT = Context(prec=100)


class Rates(NamedTuple):
    """USD per million tokens, in the order of `Charge`.

    Without a price of their own, cached tokens cost as much as input, a one-hour cache write as much as a five-minute
    one, and thinking as much as output.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    thinking: Decimal


class Tier(NamedTuple):
    """The prices of a whole request whose input, cached tokens included, is larger than `above_tokens`."""

    above_tokens: int
    rates: Rates


class Charge(NamedTuple):
    """The tokens of one request, each counted once: `input` excludes cached tokens, `output` thinking."""

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
    model: str  # as spelled in the source of the row
    provider: str | None  # None in config.toml
    rates: Rates
    tiers: tuple[Tier, ...] = ()  # ascending
    usd_per_request: Decimal = Decimal(0)
    input_excludes_cache: bool = False
    output_excludes_thinking: bool = False
    _exponent: int = field(init=False, repr=False, compare=False)
    _scaled_fee: int = field(init=False, repr=False, compare=False)
    _scaled_rates: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _scaled_tiers: tuple[tuple[int, tuple[int, ...]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        amounts = [self.usd_per_request, *self.rates, *(rate for tier in self.tiers for rate in tier.rates)]
        decimals = max(0, *(-int(amount.as_tuple().exponent) for amount in amounts))
        tiers = [(tier.above_tokens, _scaled(tier.rates, decimals)) for tier in reversed(self.tiers)]
        object.__setattr__(self, "_exponent", -decimals - 6)
        object.__setattr__(self, "_scaled_fee", int(_EXACT.scaleb(self.usd_per_request, decimals + 6)))
        object.__setattr__(self, "_scaled_rates", _scaled(self.rates, decimals))
        object.__setattr__(self, "_scaled_tiers", tuple(tiers))

    def charge(self, tokens: Mapping[str, Any]) -> Charge:
        """Convert a UCS `tokens` object to a charge, independent of how the provider counts."""
        get = tokens.get
        written = get("cache_creation_input_tokens") or 0
        hour = 0
        if split := get("cache_creation"):
            hour = split.get("ephemeral_1h_input_tokens") or 0
            written = max(written, hour + (split.get("ephemeral_5m_input_tokens") or 0))
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens")
        return self.charge_counts((*map(get, names), written, hour, get("thinking_tokens")))

    def charge_counts(self, counts: Sequence[int | None]) -> Charge:
        """Convert input, output, cache reads, cache writes, those of one hour among them, and thinking to a charge."""
        sent, answered, read, written, hour, thinking = (count or 0 for count in counts)
        written = max(written, hour)
        if not self.input_excludes_cache and sent >= read + written:
            sent -= read + written
        if not self.output_excludes_thinking and answered >= thinking:
            answered -= thinking
        return Charge(sent, answered, read, written - hour, hour, thinking)

    def amount(self, charge: Charge) -> Decimal:
        """Return the exact cost in USD; of a sum of charges only if `is_linear`, since tiers apply per request."""
        sent, answered, read, short, hour, thinking = charge
        size = sent + read + short + hour
        rates = self._scaled_rates
        for above, tier_rates in self._scaled_tiers:
            if size > above:
                rates = tier_rates
                break
        total = (
            self._scaled_fee
            + sent * rates[0]
            + answered * rates[1]
            + read * rates[2]
            + short * rates[3]
            + hour * rates[4]
            + thinking * rates[5]
        )
        return _EXACT.scaleb(Decimal(total), self._exponent)


def is_linear(row: PriceRow) -> bool:
    """Return whether the amount of a sum of charges is the sum of their amounts, so that they can be priced at once.

    This holds for charges. Raw `tokens` may be summed first only if no message contradicts the way its row is counted,
    and either all or none of them split their cache writes.
    """
    return not row.tiers and not row.usd_per_request


def _scaled(rates: Rates, decimals: int) -> tuple[int, ...]:
    return tuple(int(_EXACT.scaleb(rate, decimals)) for rate in rates)
