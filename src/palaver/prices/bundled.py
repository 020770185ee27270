"""The price table bundled with `genai-prices`, read offline.

Only its bundled data is used: never its updates, never a snapshot that other code in this process may have set.
Importing it takes 0.2 s and a lookup 0.2 ms, so both wait until a model is first priced.

The table finds a model by rules, many of which are prefixes, and a prefix is too lenient for prices: `deepseek-r1`
would match `deepseek-r1-distill-qwen-7b`, and `claude-opus-4-1` a future `claude-opus-4-10`. So what follows a prefix
must be a date, a revision or a word that does not change the model; otherwise the model is unknown.
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
    StartDateConstraint,
    TieredPrices,
)

from palaver.prices.names import NameCandidate, TokenCounting, name_candidates, token_counting
from palaver.prices.rows import PriceRow, Rates, Tier

__all__ = ["PriceListing", "find"]

_TABLE = DataSnapshot(providers=providers, from_auto_update=False)
_PROVIDERS = {provider.id for provider in providers}


class PriceListing:
    """The prices of one model, which may depend on the date and time of day; rows are created on demand."""

    def __init__(
        self, provider: Provider, model: ModelInfo, counting: TokenCounting, context: Mapping[str, str]
    ) -> None:
        self._provider = provider
        self._model = model
        self._counting = counting
        variants = [variant for variant in model.price_variants or () if variant.when.items() <= context.items()]
        # A host that inherits another provider's model has its standard prices only.
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

    def valid_during(self, at: str) -> str:
        """Return the beginning that all times have at which `row` returns the same."""
        if not self._conditions:
            return ""
        # Cheaper hours begin and end at full or half hours, other prices at the beginning of a day.
        has_hours = any(not isinstance(condition, StartDateConstraint) for condition in self._conditions)
        return at[: len("2026-01-31T12:3" if has_hours else "2026-01-31")]

    def _row(self, prices: ModelPrice) -> PriceRow | None:
        if prices.input_mtok is None or prices.output_mtok is None:
            return None
        cache_write = _own_or_inherited(prices.cache_write_mtok, prices.input_mtok)
        listed = [
            prices.input_mtok,
            prices.output_mtok,
            _own_or_inherited(prices.cache_read_mtok, prices.input_mtok),
            _own_or_inherited(prices.cache_write_5m_mtok, cache_write),
            _own_or_inherited(prices.cache_write_1h_mtok, cache_write),
            _own_or_inherited(prices.output_reasoning_mtok, prices.output_mtok),
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
            input_excludes_cache=self._counting.input_excludes_cache,
            output_excludes_thinking=self._counting.output_excludes_thinking,
        )


def find(model: str, hint: str | None, service_tier: str | None) -> PriceListing | None:
    for candidate in name_candidates(model, hint):
        found = _find(candidate)
        if found is not None:
            provider, info = found
            return PriceListing(provider, info, token_counting(provider.id, info.id, hint), _context(service_tier))
    return None


def _find(candidate: NameCandidate) -> tuple[Provider, ModelInfo] | None:
    if candidate.provider is not None and candidate.provider not in _PROVIDERS:
        return None
    try:
        provider, model = _TABLE.find_provider_model(candidate.name, None, candidate.provider, None)
    except LookupError:
        return None
    # The table itself retries compact dates with dashes.
    spellings = (candidate.name, _COMPACT_DATE.sub(r"-\1-\2-\3", candidate.name))
    return (provider, model) if any(_is_precise_match(model.match, name) for name in spellings) else None


def _is_precise_match(clause: MatchLogic, name: str) -> bool:
    match clause:
        case ClauseOr():
            return any(_is_precise_match(part, name) for part in clause.or_)
        case ClauseAnd():
            return all(_is_precise_match(part, name) for part in clause.and_)
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
    # The name of a fine-tuned model appends names of its owner to that of the base model.
    if name.startswith("ft:"):
        return True
    # A rule may end inside a number: `gemini-2.0-flash-0` means 001, `claude-sonnet-4-2025` for any day.
    if name[end : end + 1].isdigit():
        end = len(name[:end].rstrip("0123456789"))
    is_whole_word = start == 0 or name[start - 1] in "./"
    return is_whole_word and _REVISION.fullmatch(name, end) is not None


def _context(service_tier: str | None) -> dict[str, str]:
    """Return the context that selects a price variant; Anthropic reports batches as a service tier."""
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


def _own_or_inherited(own: Decimal | TieredPrices | None, inherited: Decimal | TieredPrices) -> Decimal | TieredPrices:
    return inherited if own is None else own


def _rates(listed: list[Decimal | TieredPrices], start: int) -> Rates:
    """Return the prices of requests just larger than `start`."""
    return Rates(*[_price_at(price, start) for price in listed])


def _price_at(price: Decimal | TieredPrices, start: int) -> Decimal:
    if isinstance(price, Decimal):
        return price
    return next((tier.price for tier in reversed(price.tiers) if tier.start <= start), price.base)


_COMPACT_DATE = re.compile(r"-(20[0-9]{2})([0-9]{2})([0-9]{2})(?=-|:|$)")
_REVISION = re.compile(
    r"(?:(?::[0-9]|[-@:.]?"
    r"(?:20[0-9]{6}|20[0-9]{2}-[0-9]{2}-[0-9]{2}|[0-9]{2}-20[0-9]{2}|[0-9]{4}|[0-9]{2}-[0-9]{2}|0[0-9]{2}"
    r"|v[0-9]+(?::[0-9]+k?)*|latest|default|preview|exp|beta|thinking))(?![0-9a-z]))*+"
)
