"""`config.toml`: where it is, what it may say, and how its prices win."""

import re
from decimal import Decimal
from pathlib import Path

import platformdirs
import pytest

from importing import CHECKOUT
from palaver.config import Config, OwnPrice, config_path, load_config
from palaver.errors import OptionError
from palaver.prices import Prices, Rates

TIME = "2025-10-01T12:00:00.000Z"


@pytest.fixture
def settings(tmp_path):
    def written(text: str | bytes) -> Path:
        path = tmp_path / "config.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv("PALAVER_CONFIG", raising=False)
    monkeypatch.delenv("PALAVER_HOME", raising=False)
    assert config_path() == platformdirs.user_config_path("palaver", appauthor=False) / "config.toml"
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path))
    assert config_path() == tmp_path / "config.toml"
    monkeypatch.setenv("PALAVER_CONFIG", str(tmp_path / "mine.toml"))
    assert config_path() == tmp_path / "mine.toml"


def test_there_need_not_be_one(tmp_path):
    assert load_config(tmp_path / "none.toml") == Config(prices={}, duplicate_window_ms=5000)


def test_an_empty_file_says_nothing(settings):
    assert load_config(settings("")) == Config()


def test_everything_it_may_say(settings):
    path = settings(
        '[prices."my-model"]\ninput = 1\noutput = 2.5\ncache_read = 0.1\ncache_write = 1.25\ncache_write_1h = 2\n'
        "[duplicates]\nwindow_ms = 0\n"
    )
    price = OwnPrice(Decimal(1), Decimal("2.5"), Decimal("0.1"), Decimal("1.25"), Decimal(2))
    assert load_config(path) == Config({"my-model": price}, 0)


def test_cached_tokens_cost_what_input_costs_unless_said(settings):
    price = load_config(settings("[prices.m]\ninput = 3\noutput = 4\n")).prices["m"]
    assert price == OwnPrice(Decimal(3), Decimal(4), Decimal(3), Decimal(3), Decimal(3))
    price = load_config(settings("[prices.m]\ninput = 3\noutput = 4\ncache_write = 5\n")).prices["m"]
    assert price.cache_write_1h == 5


def test_a_mark_in_front_is_no_matter(settings):
    assert load_config(settings(b"\xef\xbb\xbf[duplicates]\r\nwindow_ms = 7\r\n")).duplicate_window_ms == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[price]\n", "unknown setting price; known: prices, duplicates"),
        ("[duplicates]\nwindow = 1\n", "unknown setting duplicates.window; known: window_ms"),
        ("[prices.m]\ninput = 1\noutput = 1\ncached = 1\n", 'unknown setting prices."m".cached; known: input, '),
        ("duplicates = 1\n", "duplicates must be a table"),
        ("prices = []\n", "prices must be a table"),
        ("[prices]\nm = 3\n", 'prices."m" must be a table'),
        ("[duplicates]\nwindow_ms = -1\n", "duplicates.window_ms must be a whole number of milliseconds, 0 or more"),
        ("[duplicates]\nwindow_ms = 1.5\n", "duplicates.window_ms must be a whole number"),
        ("[duplicates]\nwindow_ms = true\n", "duplicates.window_ms must be a whole number"),
        ("[prices.m]\noutput = 1\n", 'prices."m".input must be given'),
        ("[prices.m]\ninput = 1\n", 'prices."m".output must be given'),
        ("[prices.m]\ninput = '1'\noutput = 1\n", 'prices."m".input must be USD per million tokens'),
        ("[prices.m]\ninput = true\noutput = 1\n", 'prices."m".input must be USD per million tokens'),
        ("[prices.m]\ninput = -0.5\noutput = 1\n", 'prices."m".input must be USD per million tokens'),
        ("[prices.m]\ninput = nan\noutput = 1\n", 'prices."m".input must be USD per million tokens'),
        ("[prices.m]\ninput = inf\noutput = 1\n", 'prices."m".input must be USD per million tokens'),
        ("[prices.m]\ninput = 1e999999\noutput = 1\n", 'prices."m".input must be USD per million tokens'),
        ("[prices.m]\ninput = 1e-999999\noutput = 1\n", 'prices."m".input must be USD per million tokens'),
        ('[prices."a*b"]\ninput = 1\noutput = 1\n', "a prefix of names that ends in *"),
        ('[prices.""]\ninput = 1\noutput = 1\n', "a prefix of names that ends in *"),
        ('["a\\nb"]\n', "unknown setting 'a\\nb'"),
        ("[prices\n", "is not valid TOML"),
        ("a = 1\na = 2\n", "is not valid TOML"),
        (b"a = '\xff'\n", "not UTF-8"),
    ],
)
def test_what_it_may_not_say_is_refused_on_one_line(settings, text, said):
    path = settings(text)
    with pytest.raises(OptionError) as refused:
        load_config(path)
    message = str(refused.value)
    assert message.startswith(str(path))
    assert said in message
    assert "\n" not in message


def test_a_folder_in_its_place_is_refused(tmp_path):
    with pytest.raises(OptionError, match="cannot be read"):
        load_config(tmp_path)


def test_the_documented_example_is_valid(settings):
    page = (CHECKOUT / "docs" / "prices.md").read_text("utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    config = load_config(settings(example))
    assert set(config.prices) == {"claude-sonnet-4-5*", "my-finetune"}
    assert config.duplicate_window_ms == 5000


def own(amount: int) -> OwnPrice:
    return OwnPrice(*[Decimal(amount)] * 5)


class TestOverrides:
    def test_an_exact_name_wins_over_the_longest_prefix(self):
        prices = Prices(Config({"gpt-*": own(1), "gpt-4*": own(2), "gpt-4": own(3), "gpt-4o-*": own(4)}))
        found = {name: prices.row(name, TIME).rates.input for name in ("gpt-4", "gpt-4o", "gpt-4o-x", "gpt-new")}
        assert found == {"gpt-4": 3, "gpt-4o": 2, "gpt-4o-x": 4, "gpt-new": 1}

    def test_a_row_says_where_it_came_from(self):
        row = Prices(Config({"claude-opus*": own(1)})).row("claude-opus-4-1", TIME)
        assert (row.source, row.model, row.provider) == ("config.toml", "claude-opus*", None)
        assert row.rates == Rates(*[Decimal(1)] * 6)

    def test_others_keep_the_bundled_prices(self):
        assert Prices(Config({"mine": own(1)})).row("gpt-4", TIME).source == "genai-prices"

    def test_marks_of_the_program_are_no_part_of_the_name(self):
        prices = Prices(Config({"claude-sonnet-4-5": own(1)}))
        assert prices.row("claude-sonnet-4-5[1m]", TIME).source == "config.toml"

    def test_each_price_is_used(self):
        prices = Prices(Config({"claude-mine": OwnPrice(*map(Decimal, (1, 10, 100, 1000, 10_000)))}))
        tokens = {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_input_tokens": 3,
            "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5},
        }
        assert prices.cost("claude-mine", tokens, TIME).amount == Decimal("0.054321")

    @pytest.mark.parametrize(
        ("name", "hint", "billed"),
        [
            ("claude-mine", None, 1400),
            ("claude-mine", "roo_code", 1400),
            ("us.anthropic.claude-mine", None, 1400),
            ("mine", "claude_code", 1400),
            ("mine", None, 1000),
            ("gpt-mine", "azure_openai", 1000),
            ("openrouter/claude-mine", None, 1000),
        ],
    )
    def test_the_manner_of_counting_is_still_the_providers(self, name, hint, billed):
        tokens = {"input_tokens": 1000, "cache_read_input_tokens": 400}
        assert Prices(Config({"*": own(1)})).cost(name, tokens, TIME, hint).amount == Decimal(billed) / 1_000_000

    def test_thinking_apart_is_paid_as_output(self):
        tokens = {"output_tokens": 1000, "thinking_tokens": 400}
        assert Prices(Config({"gemini*": own(1)})).cost("gemini-mine", tokens, TIME).amount == Decimal("0.0014")
