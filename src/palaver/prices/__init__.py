"""The cost of usage: what the provider's public API would have charged for it, in USD.

Prices come from the user's `config.toml`, else from the table bundled with `genai-prices`, and are those at the time of
the message. Costs are computed when they are read, never stored. A model without a known price has no cost, which is
not the same as a cost of 0.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from palaver.prices.rows import Charge, PriceRow, Rates, Tier, is_linear

if TYPE_CHECKING:
    from palaver.config import Config
    from palaver.prices.bundled import PriceListing

__all__ = ["Charge", "Cost", "PriceRow", "Prices", "Rates", "Tier", "is_linear"]


class Cost(NamedTuple):
    """An exact amount and the prices behind it; round sums, not single amounts."""

    amount: Decimal
    row: PriceRow
    currency: str = "USD"


class Prices:
    """Prices by model and time; each model is looked up once."""

    def __init__(self, config: "Config | None" = None) -> None:
        self._config = config
        self._known: dict[tuple[str, str | None, str | None], PriceRow | PriceListing | None] = {}

    def row(
        self, model: str | None, at: str | None = None, hint: str | None = None, service_tier: str | None = None
    ) -> PriceRow | None:
        """Return the prices of a model at a time (as in the schema; now if None), or None if they are unknown.

        `hint` is the UCS platform, or a provider in the price table such as `aws`: it decides whose model a bare name
        means, and how its tokens were counted.
        """
        if not model:
            return None
        key = (model, hint, service_tier)
        try:
            known = self._known[key]
        except KeyError:
            known = self._known[key] = self._find(model, hint, service_tier)
        return known if known is None or isinstance(known, PriceRow) else known.row(at)

    def valid_during(self, model: str | None, at: str, hint: str | None = None, service_tier: str | None = None) -> str:
        """Return the beginning that all times have at which `row` returns the same: "", a day, or ten minutes of it."""
        self.row(model, at, hint, service_tier)
        known = self._known.get((model or "", hint, service_tier))
        return "" if known is None or isinstance(known, PriceRow) else known.valid_during(at)

    def cost(
        self, model: str | None, tokens: Mapping[str, Any] | None, at: str | None = None, hint: str | None = None
    ) -> Cost | None:
        """Return the cost of one request with these UCS `tokens`; None without a known price or any count."""
        if not tokens:
            return None
        row = self.row(model, at, hint, tokens.get("service_tier"))
        if row is None:
            return None
        charge = row.charge(tokens)
        if not any(charge) and all(tokens.get(count) is None for count in _COUNTS):
            return None
        return Cost(row.amount(charge), row)

    def _find(self, model: str, hint: str | None, service_tier: str | None) -> "PriceRow | PriceListing | None":
        from palaver.prices.names import name_candidates, token_counting, without_context_suffix

        if self._config and (own := self._config.price_of(model, without_context_suffix(model))):
            name, price = own
            provider = name_candidates(model, None)[0].provider
            return PriceRow(
                source="config.toml",
                model=name,
                provider=None,
                rates=Rates(
                    input=price.input,
                    output=price.output,
                    cache_read=price.cache_read,
                    cache_write_5m=price.cache_write,
                    cache_write_1h=price.cache_write_1h,
                    thinking=price.output,
                ),
                **token_counting(provider, model, hint)._asdict(),
            )
        from palaver.prices import bundled

        return bundled.find(model, hint, service_tier)


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "thinking_tokens",
    "cache_creation",
)
