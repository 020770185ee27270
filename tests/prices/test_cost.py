"""Cost of one request: the specification's formula, the manners of counting, tiers, periods, and what has no cost."""

import subprocess
import sys
from decimal import Decimal

import pytest
from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice, Provider

from palaver.prices import Cost, Prices
from palaver.prices.bundled import PriceListing
from palaver.prices.names import TokenCounting

TIME = "2025-10-01T12:00:00.000Z"
MILLION = Decimal(1_000_000)


@pytest.fixture(scope="module")
def prices():
    return Prices()


def cost(prices: Prices, model: str, tokens: dict, at: str = TIME, hint: str | None = None) -> Decimal:
    found = prices.cost(model, tokens, at, hint)
    assert isinstance(found, Cost)
    assert found.currency == "USD"
    return found.amount


ROWS = {
    "claude-sonnet-4-5": {"input": "3.00", "output": "15.00", "read": "0.30", "write": "3.75"},
    "gpt-4": {"input": "30.00", "output": "60.00", "read": "0", "write": "0"},
}


class TestTheSpecification:
    """Its formula adds four products; its gpt-4 row has the cached tokens, which are part of the input, for free."""

    def formula(self, tokens: dict, model: str) -> Decimal:
        row = {word: Decimal(price) for word, price in ROWS[model].items()}
        return (
            tokens["input_tokens"] / MILLION * row["input"]
            + tokens["output_tokens"] / MILLION * row["output"]
            + tokens.get("cache_read_input_tokens", 0) / MILLION * row["read"]
            + tokens.get("cache_creation_input_tokens", 0) / MILLION * row["write"]
        )

    @pytest.mark.parametrize("model", ROWS)
    @pytest.mark.parametrize(
        "tokens",
        [
            {"input_tokens": 1234, "output_tokens": 567},
            {"input_tokens": 9000, "output_tokens": 1, "cache_read_input_tokens": 7777},
            {
                "input_tokens": 90_000,
                "output_tokens": 64_000,
                "cache_read_input_tokens": 50_001,
                "cache_creation_input_tokens": 3,
            },
        ],
    )
    def test_the_formula_holds(self, prices, model, tokens):
        assert cost(prices, model, tokens) == self.formula(tokens, model)

    def test_the_prices_are_the_same(self, prices):
        sonnet = prices.row("claude-sonnet-4-5", TIME).rates
        assert sonnet[:4] == (Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
        assert prices.row("gpt-4", TIME).rates[:2] == (Decimal(30), Decimal(60))


CACHED = {"input_tokens": 1000, "output_tokens": 0, "cache_read_input_tokens": 400}
THOUGHT = {"input_tokens": 0, "output_tokens": 1000, "thinking_tokens": 400}


class TestManners:
    def test_anthropic_counts_cached_tokens_apart(self, prices):
        assert cost(prices, "claude-opus-4-1", CACHED) == (1000 * 15 + 400 * Decimal("1.5")) / MILLION

    def test_so_do_the_hosts_of_its_models(self, prices):
        for model in ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1@20250805"):
            assert cost(prices, model, CACHED) == (1000 * 15 + 400 * Decimal("1.5")) / MILLION
        assert cost(prices, "claude-opus-4-1", CACHED, hint="azure_openai") == Decimal("0.0156")

    def test_openai_counts_them_inside(self, prices):
        assert cost(prices, "gpt-5", CACHED) == (600 * Decimal("1.25") + 400 * Decimal("0.125")) / MILLION

    def test_gemini_counts_them_inside(self, prices):
        row = prices.row("gemini-2.5-flash", TIME)
        expected = (600 * row.rates.input + 400 * row.rates.cache_read) / MILLION
        assert cost(prices, "gemini-2.5-flash", CACHED) == expected

    def test_claude_code_reports_in_anthropics_manner_whoever_answers(self, prices):
        row = prices.row("deepseek-chat", TIME, "claude_code")
        expected = (1000 * row.rates.input + 400 * row.rates.cache_read) / MILLION
        assert cost(prices, "deepseek-chat", CACHED, hint="claude_code") == expected

    def test_more_cached_than_sent_was_counted_apart(self, prices):
        tokens = {"input_tokens": 10, "cache_read_input_tokens": 5000}
        assert cost(prices, "gpt-5", tokens) == (10 * Decimal("1.25") + 5000 * Decimal("0.125")) / MILLION

    @pytest.mark.parametrize(
        ("model", "billed"), [("gpt-5", 1000), ("claude-opus-4-1", 1000), ("gemini-2.5-pro", 1400)]
    )
    def test_thinking(self, prices, model, billed):
        rates = prices.row(model, TIME).rates
        assert cost(prices, model, THOUGHT) == billed * rates.output / MILLION

    def test_more_thinking_than_output_was_counted_apart(self, prices):
        tokens = {"output_tokens": 100, "thinking_tokens": 400}
        assert cost(prices, "gpt-5", tokens) == 500 * 10 / MILLION

    def test_writes_by_lifetime(self, prices):
        split = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 900}
        tokens = {"cache_creation_input_tokens": 1000, "cache_creation": split}
        assert cost(prices, "claude-sonnet-4-5", tokens) == (100 * Decimal("3.75") + 900 * 6) / MILLION

    def test_writes_without_lifetimes_are_for_five_minutes(self, prices):
        for split in (None, {}, {"ephemeral_5m_input_tokens": None}):
            tokens = {"cache_creation_input_tokens": 1000, "cache_creation": split}
            assert cost(prices, "claude-sonnet-4-5", tokens) == Decimal("0.00375")

    def test_writes_known_by_lifetime_only(self, prices):
        tokens = {"input_tokens": 0, "cache_creation": {"ephemeral_1h_input_tokens": 1000}}
        assert cost(prices, "claude-sonnet-4-5", tokens) == Decimal("0.006")


class TestTiersAndPeriods:
    def test_a_tier_begins_above_its_size_and_prices_the_whole_request(self, prices):
        assert cost(prices, "claude-sonnet-4-5", {"input_tokens": 200_000, "output_tokens": 1000}) == Decimal("0.615")
        assert cost(prices, "claude-sonnet-4-5", {"input_tokens": 200_001, "output_tokens": 1000}) == Decimal(
            "1.222506"
        )

    def test_cached_tokens_count_for_the_size(self, prices):
        tokens = {"input_tokens": 1, "cache_read_input_tokens": 199_999, "cache_creation_input_tokens": 1}
        assert cost(prices, "claude-sonnet-4-5", tokens) == (6 + 199_999 * Decimal("0.6") + Decimal("7.5")) / MILLION

    def test_cached_tokens_inside_the_input_count_once_for_the_size(self, prices):
        row = prices.row("gemini-2.5-pro", TIME)
        tokens = {"input_tokens": 200_000, "cache_read_input_tokens": 100_000}
        assert [tier.above_tokens for tier in row.tiers] == [200_000]
        assert cost(prices, "gemini-2.5-pro", tokens) == (row.rates.input + row.rates.cache_read) / 10

    def test_a_price_is_that_of_the_messages_day(self, prices):
        tokens = {"input_tokens": 1_000_000}
        assert cost(prices, "o3", tokens, "2025-06-09T23:59:59.999Z") == 10
        assert cost(prices, "o3", tokens, "2025-06-10T00:00:00.000Z") == 2

    def test_a_price_is_that_of_the_messages_hour(self, prices):
        tokens = {"input_tokens": 1_000_000}
        hours = ("00:29:59.999", "00:30:00.000", "16:29:59.999", "16:30:00.000")
        assert [cost(prices, "deepseek-chat", tokens, f"2025-10-01T{hour}Z") for hour in hours] == [
            Decimal("0.135"),
            Decimal("0.27"),
            Decimal("0.27"),
            Decimal("0.135"),
        ]

    def test_service_tiers_have_their_own_prices(self, prices):
        listed = {
            "priority": Decimal("2.5"),
            None: Decimal("1.25"),
            "flex": Decimal("0.625"),
            "batch": Decimal("0.625"),
        }
        for tier, price in listed.items():
            tokens = {"input_tokens": 1_000_000, "service_tier": tier}
            assert cost(prices, "gpt-5", tokens, "2026-11-01T00:00:00.000Z") == price

    @pytest.mark.parametrize("tier", ["standard", "default", "unheard_of"])
    def test_other_service_tiers_cost_the_usual(self, prices, tier):
        tokens = {"input_tokens": 1000}
        for model in ("gpt-5", "claude-sonnet-4-5"):
            assert cost(prices, model, tokens | {"service_tier": tier}) == cost(prices, model, tokens)


class TestNoCost:
    @pytest.mark.parametrize("model", [None, "", "<synthetic>", "qwen2.5-coder:1.5b-base"])
    def test_an_unknown_model_has_none(self, prices, model):
        assert prices.cost(model, {"input_tokens": 1000}, TIME) is None

    @pytest.mark.parametrize(
        "tokens", [None, {}, {"input_tokens": None, "output_tokens": None}, {"service_tier": "standard"}]
    )
    def test_unknown_usage_has_none(self, prices, tokens):
        assert prices.cost("gpt-4", tokens, TIME) is None

    def test_a_count_of_zero_costs_nothing(self, prices):
        assert cost(prices, "gpt-4", {"input_tokens": 0, "output_tokens": None}) == 0

    def test_models_that_are_not_sold_by_the_token_have_no_row(self, prices):
        assert prices.row("whisper-1", TIME) is None


def test_a_price_of_zero_is_a_price():
    listed = ModelPrice(input_mtok=Decimal(3), output_mtok=Decimal(4), cache_read_mtok=Decimal(0))
    model = ModelInfo(id="m", match=ClauseEquals("m"), prices=listed)
    provider = Provider(id="p", name="P", api_pattern="", models=[model])
    row = PriceListing(
        provider, model, TokenCounting(input_excludes_cache=True, output_excludes_thinking=False), {}
    ).row(TIME)
    assert row.rates == (3, 4, 0, 3, 3, 4)


def test_a_time_that_is_none_is_now(prices):
    assert cost(prices, "o3", {"input_tokens": 1_000_000}, None) == 2
    assert prices.row("o3", "2025-99-99T00:00:00.000Z") == prices.row("o3")


def test_counts_written_with_a_decimal_point_are_counts(prices):
    assert cost(prices, "claude-opus-4-1", {"input_tokens": 1000.0}) == Decimal("0.015")


def test_no_count_is_too_large_to_be_exact(prices):
    most = 2**63 - 1
    assert cost(prices, "gpt-4", {"input_tokens": most, "output_tokens": 1}) * 100_000 == most * 3 + 6


def test_the_table_is_read_when_a_model_is_first_priced_and_nothing_is_updated():
    script = (
        "import sys, threading; from palaver.prices import Prices; prices = Prices();"
        "print('genai_prices' in sys.modules);"
        "prices.row('gpt-4'); print('genai_prices' in sys.modules, threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "1"]
