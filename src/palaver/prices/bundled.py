"""The price table that comes with `genai-prices`, read offline.

Only its bundled data is used: never its updates, never a snapshot that other code in this process may have set.
Importing it takes a fifth of a second and a look-up a fifth of a millisecond: both wait until a model is first priced.

The table finds a model by rules, many of which are prefixes, and a prefix is too generous for money: `deepseek-r1`
would price `deepseek-r1-distill-qwen-7b`, and `claude-opus-4-1` a future `claude-opus-4-10`. So what follows a prefix
must be a date, a revision or a word that leaves the model what it is; otherwise the model is unknown.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import assert_never

from genai_prices.data import providers
from genai_prices.data_snapshot import DataSnapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    MatchLogic,
    ModelInfo,
    ModelPrice,
    Provider,
    TieredPrices,
)

from palaver.prices.names import Counting, Reading, counting, readings
from palaver.prices.rows import PriceRow, Rates, Tier

__all__ = ["Listing", "find"]

_TABLE = DataSnapshot(providers=providers, from_auto_update=False)
_PROVIDERS = {provider.id for provider in providers}


class Listing:
    """The rows of one model over time and times of day, each made when it is first needed."""

    def __init__(self, provider: Provider, model: ModelInfo, manner: Counting, context: Mapping[str, str]) -> None:
        self._provider = provider
        self._model = model
        self._manner = manner
        variants = [variant for variant in model.price_variants or () if variant.when.items() <= context.items()]
        # A host that borrows another's model has the plain prices only.
        self._context = context if variants and any(model is own for own in provider.models) else {}
        conditions = [] if isinstance(model.prices, ModelPrice) else [price.constraint for price in model.prices]
        if self._context:
            conditions += [variant.constraint for variant in variants]
        self._conditions = [condition for condition in conditions if condition is not None]
        self._rows: dict[tuple[bool, ...], PriceRow | None] = {}

    def row(self, at: str | None) -> PriceRow | None:
        if not self._conditions and () in self._rows:
            return self._rows[()]
        time = _time(at)
        period = tuple([condition.active(time) for condition in self._conditions])
        if period not in self._rows:
            self._rows[period] = self._row(self._model.get_prices(time, self._context))
        return self._rows[period]

    def _row(self, prices: ModelPrice) -> PriceRow | None:
        if prices.input_mtok is None or prices.output_mtok is None:
            return None
        written = _first(prices.cache_write_mtok, prices.input_mtok)
        listed = [
            prices.input_mtok,
            prices.output_mtok,
            _first(prices.cache_read_mtok, prices.input_mtok),
            _first(prices.cache_write_5m_mtok, written),
            _first(prices.cache_write_1h_mtok, written),
            _first(prices.output_reasoning_mtok, prices.output_mtok),
        ]
        starts = {tier.start for price in listed if isinstance(price, TieredPrices) for tier in price.tiers}
        fee = prices.requests_kcount
        return PriceRow(
            source="genai-prices",
            model=self._model.id,
            provider=self._provider.id,
            rates=_rates(listed, -1),
            tiers=tuple(Tier(start, _rates(listed, start)) for start in sorted(starts)),
            usd_per_request=fee / 1000 if isinstance(fee, Decimal) else Decimal(0),
            cache_apart=self._manner.cache_apart,
            thinking_apart=self._manner.thinking_apart,
        )


def find(model: str, hint: str | None, service_tier: str | None) -> Listing | None:
    for reading in readings(model, hint):
        found = _find(reading)
        if found is not None:
            provider, info = found
            return Listing(provider, info, counting(provider.id, info.id, hint), _context(service_tier))
    return None


def _find(reading: Reading) -> tuple[Provider, ModelInfo] | None:
    if reading.provider is not None and reading.provider not in _PROVIDERS:
        return None
    try:
        provider, model = _TABLE.find_provider_model(reading.name, None, reading.provider, None)
    except LookupError:
        return None
    # The table itself tries compact dates a second time, with dashes.
    spellings = (reading.name, _COMPACT_DATE.sub(r"-\1-\2-\3", reading.name))
    return (provider, model) if any(_is_close(model.match, name) for name in spellings) else None


def _is_close(clause: MatchLogic, name: str) -> bool:
    match clause:
        case ClauseOr():
            return any(_is_close(each, name) for each in clause.or_)
        case ClauseAnd():
            return all(_is_close(each, name) for each in clause.and_)
        case ClauseStartsWith():
            return clause.is_match(name) and _is_same_model(name, 0, len(clause.starts_with))
        case ClauseContains():
            start = name.find(clause.contains.lower())
            return start >= 0 and _is_same_model(name, start, start + len(clause.contains))
        case ClauseEquals() | ClauseEndsWith() | ClauseRegex():
            return clause.is_match(name)
        case _:
            assert_never(clause)


def _is_same_model(name: str, start: int, end: int) -> bool:
    # A fine-tuned model has its owner's names behind the base model's.
    if name.startswith("ft:"):
        return True
    # A rule may end within a number: `gemini-2.0-flash-0` is meant for 001, `claude-sonnet-4-2025` for any day.
    if name[end : end + 1].isdigit():
        end = len(name[:end].rstrip("0123456789"))
    is_whole_word = start == 0 or name[start - 1] in "./"
    return is_whole_word and _REVISION.fullmatch(name, end) is not None


def _context(service_tier: str | None) -> dict[str, str]:
    """What the table's price variants ask for. Anthropic calls its batches a service tier."""
    match service_tier:
        case None:
            return {}
        case "batch":
            return {"processing": "batch"}
        case _:
            return {"service_tier": service_tier}


def _time(at: str | None) -> datetime:
    try:
        return datetime.fromisoformat(at or "")
    except ValueError:
        return datetime.now(UTC)


def _first(own: Decimal | TieredPrices | None, inherited: Decimal | TieredPrices) -> Decimal | TieredPrices:
    return inherited if own is None else own


def _rates(listed: list[Decimal | TieredPrices], start: int) -> Rates:
    """The prices of requests just larger than `start`."""
    return Rates(*[_at(price, start) for price in listed])


def _at(price: Decimal | TieredPrices, start: int) -> Decimal:
    if isinstance(price, Decimal):
        return price
    return next((tier.price for tier in reversed(price.tiers) if tier.start <= start), price.base)


_COMPACT_DATE = re.compile(r"-(20[0-9]{2})([0-9]{2})([0-9]{2})(?=-|:|$)")
_REVISION = re.compile(
    r"(?:(?::[0-9]|[-@:.]?"
    r"(?:20[0-9]{6}|20[0-9]{2}-[0-9]{2}-[0-9]{2}|[0-9]{2}-20[0-9]{2}|[0-9]{4}|[0-9]{2}-[0-9]{2}|0[0-9]{2}"
    r"|v[0-9]+(?::[0-9]+k?)*|latest|default|preview|exp|beta|thinking))(?![0-9a-z]))*+"
)
