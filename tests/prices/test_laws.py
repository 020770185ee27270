"""Laws of cost: equal to the table's own calculation, never less for more tokens, additive where that is promised."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price
from genai_prices.data import providers
from hypothesis import given
from hypothesis import strategies as st

from palaver.prices import Charge, Prices, is_linear

PRICES = Prices()
# Counted by hand from the providers' documentation: (cached tokens apart, thinking apart).
MODELS = {
    ("claude-sonnet-4-5-20250929", "anthropic"): (True, False),
    ("claude-opus-4-6", "anthropic"): (True, False),
    ("claude-haiku-4-5-20251001", "anthropic"): (True, False),
    ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "aws"): (True, False),
    ("claude-sonnet-4-5@20250929", "google"): (True, False),
    ("gpt-4", "openai"): (False, False),
    ("gpt-5", "openai"): (False, False),
    ("gpt-5.4", "openai"): (False, False),
    ("o3", "openai"): (False, False),
    ("gemini-2.5-pro", "google"): (False, True),
    ("gemini-2.5-flash", "google"): (False, True),
    ("deepseek-chat", "deepseek"): (False, False),
    ("deepseek-v4-pro", "deepseek"): (False, False),
    ("anthropic/claude-sonnet-4.5", "openrouter"): (False, False),
}

models = st.sampled_from(sorted(MODELS))
counts = st.integers(0, 400_000)
charges = st.builds(Charge, counts, counts, counts, counts, counts, counts)
times = st.datetimes(datetime(2024, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
service_tiers = st.sampled_from(
    [
        (None, None),
        ("standard", {"service_tier": "standard"}),
        ("flex", {"service_tier": "flex"}),
        ("priority", {"service_tier": "priority"}),
        ("batch", {"processing": "batch"}),
    ]
)


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def reported(charge: Charge, *, cache_apart: bool, thinking_apart: bool) -> dict:
    """The charge, as a provider of that manner reports it."""
    written = charge.cache_write_5m + charge.cache_write_1h
    return {
        "input_tokens": charge.input + (0 if cache_apart else charge.cache_read + written),
        "output_tokens": charge.output + (0 if thinking_apart else charge.thinking),
        "cache_read_input_tokens": charge.cache_read,
        "cache_creation_input_tokens": written,
        "cache_creation": {
            "ephemeral_5m_input_tokens": charge.cache_write_5m,
            "ephemeral_1h_input_tokens": charge.cache_write_1h,
        },
        "thinking_tokens": charge.thinking,
    }


def usage_of(charge: Charge) -> Usage:
    """The charge in the table's own manner: everything inside."""
    written = charge.cache_write_5m + charge.cache_write_1h
    return Usage(
        input_tokens=charge.input + charge.cache_read + written,
        cache_read_tokens=charge.cache_read,
        cache_write_tokens=written,
        cache_write_5m_tokens=charge.cache_write_5m,
        cache_write_1h_tokens=charge.cache_write_1h,
        output_tokens=charge.output + charge.thinking,
        output_reasoning_tokens=charge.thinking,
    )


@given(models, charges, times, service_tiers)
def test_cost_is_what_the_table_itself_calculates(model, charge, time, service_tier):
    cache_apart, thinking_apart = MODELS[model]
    name, provider = model
    word, context = service_tier
    expected = calc_price(
        usage_of(charge), name, provider_id=provider, genai_request_timestamp=time, price_context=context
    )
    tokens = reported(charge, cache_apart=cache_apart, thinking_apart=thinking_apart) | {"service_tier": word}
    assert PRICES.cost(name, tokens, stamp(time)).amount == expected.total_price


@pytest.mark.parametrize("charge", [Charge(1, 20, 300, 4000, 50_000, 60), Charge(900_001, 2, 3, 4, 5, 6)])
def test_so_it_is_for_every_model_of_the_table(charge):
    time = datetime(2026, 11, 1, 2, 30, tzinfo=UTC)
    compared = 0
    for provider in providers:
        for model in provider.models:
            row = PRICES.row(model.id, stamp(time), provider.id)
            if row is not None and row.provider == provider.id:
                expected = calc_price(usage_of(charge), model.id, provider_id=provider.id, genai_request_timestamp=time)
                assert (row.model, row.amount(charge)) == (expected.model.id, expected.total_price)
                compared += 1
    assert compared > 1000


@given(models, charges, times)
def test_a_charge_is_read_from_what_the_provider_reports(model, charge, time):
    cache_apart, thinking_apart = MODELS[model]
    row = PRICES.row(model[0], stamp(time))
    assert row.charge(reported(charge, cache_apart=cache_apart, thinking_apart=thinking_apart)) == charge


@given(models, charges, charges, times)
def test_more_tokens_never_cost_less(model, charge, more, time):
    row = PRICES.row(model[0], stamp(time))
    assert row.amount(charge) <= row.amount(added(charge, more))


@given(models, st.lists(charges, max_size=5), times)
def test_where_a_row_is_linear_the_cost_of_a_sum_is_the_sum_of_costs(model, several, time):
    row = PRICES.row(model[0], stamp(time))
    total = Charge(0, 0, 0, 0, 0, 0)
    for charge in several:
        total = added(total, charge)
    if is_linear(row):
        assert row.amount(total) == sum((row.amount(charge) for charge in several), Decimal(0))


def added(one: Charge, other: Charge) -> Charge:
    return Charge(*(left + right for left, right in zip(one, other, strict=True)))


@pytest.mark.parametrize(("name", "linear"), [("gpt-4", True), ("claude-opus-4-1", True), ("claude-sonnet-4-5", False)])
def test_rows_with_tiers_are_not_linear(name, linear):
    assert is_linear(PRICES.row(name)) is linear


def test_nor_are_those_with_a_fee_for_each_request():
    row = PRICES.row("sonar", None, "perplexity")
    assert row.amount(Charge(0, 0, 0, 0, 0, 0)) == row.usd_per_request > 0
    assert not is_linear(row)
