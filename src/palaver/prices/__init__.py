"""Cost of usage: what the provider's public API would have charged for it, in USD.

Prices come from the table bundled with `genai-prices`, or from the user's `config.toml`, which wins. They are those of
the message's own time. Cost is derived when it is read, never stored; a model without a known price has no cost, which
is not the same as a cost of 0.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from palaver.config import Config
from palaver.prices.names import cleaned, counting, readings
from palaver.prices.rows import Charge, PriceRow, Rates, Tier, is_linear

if TYPE_CHECKING:
    from palaver.prices.bundled import Listing

__all__ = ["Charge", "Cost", "PriceRow", "Prices", "Rates", "Tier", "is_linear"]


class Cost(NamedTuple):
    """An exact amount, and the prices it was made with; round sums, not this."""

    amount: Decimal
    row: PriceRow
    currency: str = "USD"


class Prices:
    """Prices by model and time; a model is looked up once, and then it is arithmetic."""

    def __init__(self, config: Config | None = None) -> None:
        self._config = config or Config()
        self._known: dict[tuple[str, str | None, str | None], PriceRow | Listing | None] = {}

    def row(
        self, model: str | None, at: str | None = None, hint: str | None = None, service_tier: str | None = None
    ) -> PriceRow | None:
        """The prices of a model at a time (in the schema's spelling; now when None); None when it has no known price.

        `hint` is the UCS platform, or a provider of the table such as `aws`: it settles whose model a bare name means,
        and in which manner its tokens were counted.
        """
        if not model:
            return None
        key = (model, hint, service_tier)
        try:
            known = self._known[key]
        except KeyError:
            known = self._known[key] = self._find(model, hint, service_tier)
        return known if known is None or isinstance(known, PriceRow) else known.row(at)

    def cost(
        self, model: str | None, tokens: Mapping[str, Any] | None, at: str | None = None, hint: str | None = None
    ) -> Cost | None:
        """What one request cost, by its UCS `tokens`; None without a known price or without any count."""
        if not tokens:
            return None
        row = self.row(model, at, hint, tokens.get("service_tier"))
        if row is None:
            return None
        charge = row.charge(tokens)
        if not any(charge) and all(tokens.get(count) is None for count in _COUNTS):
            return None
        return Cost(row.amount(charge), row)

    def _find(self, model: str, hint: str | None, service_tier: str | None) -> "PriceRow | Listing | None":
        if own := self._config.price_of(model, cleaned(model)):
            name, price = own
            provider = readings(model, None)[0].provider
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
                **counting(provider, model, hint)._asdict(),
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
