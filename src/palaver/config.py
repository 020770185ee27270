"""The user's settings in `config.toml`, read once and checked key by key.

    [prices."my-model"]             # the name in the logs, or a prefix that ends in *
    input = 3.00                    # USD per million tokens, like all prices
    output = 15.00
    cache_read = 0.30               # default: input
    cache_write = 3.75              # default: input
    cache_write_1h = 6.00           # default: cache_write

    [duplicates]
    window_ms = 5000                # equal messages this close together are marked as copies

The file is `$PALAVER_CONFIG`, else `$PALAVER_HOME/config.toml` if that variable is set, else `config.toml` in the
system's folder for settings. It need not exist.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from palaver.errors import OptionError
from palaver.storage.user_folders import settings_file

__all__ = ["Config", "OwnPrice", "config_path", "load_config"]

_DEFAULT_WINDOW_MS = 5000
_MAX_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """The user's prices for a model, in USD per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal


@dataclass(frozen=True, slots=True)
class Config:
    prices: Mapping[str, OwnPrice] = field(default_factory=dict[str, OwnPrice])
    duplicate_window_ms: int = _DEFAULT_WINDOW_MS

    def price_of(self, *names: str) -> tuple[str, OwnPrice] | None:
        """Return the entry for a model known by any of these names: an exact match, else the longest prefix."""
        for name in names:
            if name in self.prices:
                return name, self.prices[name]
        prefixes = [key for key in self.prices if key.endswith("*")]
        fitting = [key for key in prefixes if any(name.startswith(key[:-1]) for name in names)]
        return max(((key, self.prices[key]) for key in fitting), key=lambda entry: len(entry[0]), default=None)


def config_path() -> Path:
    return Path(settings_file())


def load_config(path: Path) -> Config:
    try:
        # Editors on Windows add a byte order mark, which TOML does not allow.
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise OptionError(
            f"{path} cannot be read: {reason}; correct it or set PALAVER_CONFIG to another file"
        ) from error
    try:
        # Prices are decimal: 0.1 is a tenth, not the nearest float.
        settings = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise OptionError(f"{path} is not valid TOML: {' '.join(str(error).split())}") from error
    return _ConfigReader(path).config(settings)


class _ConfigReader:
    """The checks of one file; their messages name the file and the key."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def config(self, settings: dict[str, Any]) -> Config:
        self._reject_unknown(settings, "", ("prices", "duplicates"))
        duplicates = self._table(settings.get("duplicates", {}), "duplicates")
        self._reject_unknown(duplicates, "duplicates.", ("window_ms",))
        prices = self._table(settings.get("prices", {}), "prices")
        return Config(
            prices={name: self._own_price(name, price) for name, price in prices.items()},
            duplicate_window_ms=self._window(duplicates.get("window_ms", _DEFAULT_WINDOW_MS)),
        )

    def _own_price(self, name: str, value: Any) -> OwnPrice:
        key = f'prices."{name}"'
        if not name or "*" in name[:-1]:
            raise self._error(key, "a model's name, or a prefix of names that ends in *")
        price = self._table(value, key)
        self._reject_unknown(price, f"{key}.", ("input", "output", "cache_read", "cache_write", "cache_write_1h"))
        for needed in ("input", "output"):
            if needed not in price:
                raise self._error(f"{key}.{needed}", "given, in USD per million tokens")
        amounts = {word: self._amount(f"{key}.{word}", amount) for word, amount in price.items()}
        written = amounts.get("cache_write", amounts["input"])
        return OwnPrice(
            input=amounts["input"],
            output=amounts["output"],
            cache_read=amounts.get("cache_read", amounts["input"]),
            cache_write=written,
            cache_write_1h=amounts.get("cache_write_1h", written),
        )

    def _amount(self, key: str, value: Any) -> Decimal:
        match value:
            case bool():
                pass
            case int() if 0 <= value <= _MAX_PRICE:
                return Decimal(value)
            case Decimal() if value.is_finite() and 0 <= value <= _MAX_PRICE and value == round(value, 12):
                return value
            case _:
                pass
        raise self._error(key, f"USD per million tokens: 0 to {_MAX_PRICE}, with up to 12 decimal places")

    def _window(self, value: Any) -> int:
        if type(value) is int and 0 <= value < 2**63:
            return value
        raise self._error("duplicates.window_ms", "a whole number of milliseconds, 0 or more")

    def _table(self, value: Any, key: str) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        raise self._error(key, f"a table, written [{key}]")

    def _reject_unknown(self, table: dict[str, Any], prefix: str, known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                raise OptionError(f"{self._path}: unknown setting {prefix}{_printable(key)}; known: {', '.join(known)}")

    def _error(self, key: str, allowed: str) -> OptionError:
        return OptionError(f"{self._path}: {_printable(key)} must be {allowed}")


def _printable(key: str) -> str:
    """Escape a quoted key with line breaks, since a message has one line."""
    return key if key.isprintable() else ascii(key)
