"""Price rows that other processes looked up, for programs that cannot afford to import the price table.

The table takes a third of a second to import. A process that only needs the prices of a few models reads them from a
file, and starts another process for those that are not there yet: once for each model, until the table or `config.toml`
changes.

    python -m palaver.prices.known_rows < questions.json > answers.json
"""

import json
import os
import sys
from decimal import Decimal
from typing import Any, NamedTuple

from palaver.prices.rows import PriceRow, Rates, Tier

_TIMEOUT_SECONDS = 20


class Question(NamedTuple):
    """Whose price is asked for: a model, when it answered, on which platform, in which service tier."""

    model: str | None
    at: str
    platform: str
    service_tier: str | None

    @property
    def key(self) -> str:
        return json.dumps([self.model, self.platform, self.service_tier])


class KnownRows:
    """Price rows by question, with those of an earlier process."""

    def __init__(self, state: str, stored: Any = None) -> None:
        self._state = state
        is_current = isinstance(stored, dict) and stored.get("state") == state
        self._entries: dict[str, list[Any]] = stored["rows"] if is_current and isinstance(stored, dict) else {}
        self._rows: dict[str, PriceRow | None] = {}

    def stored(self) -> dict[str, Any]:
        """Return what to keep for the next process, as JSON."""
        return {"state": self._state, "rows": self._entries}

    def look_up(self, questions: list[Question]) -> None:
        """Ask another process for the rows that are not known."""
        unknown = [question for question in questions if question.model and self._entry(question) is None]
        if not unknown:
            return
        import subprocess

        done = subprocess.run(
            [sys.executable, "-m", "palaver.prices.known_rows"],
            input=json.dumps(unknown),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_TIMEOUT_SECONDS,
            check=True,
        )
        for question, entry in zip(unknown, json.loads(done.stdout), strict=True):
            self._entries.setdefault(question.key, []).append(entry)

    def row(self, question: Question) -> PriceRow | None:
        """Return the row of a question that was looked up; None if the price is unknown."""
        if not question.model or (entry := self._entry(question)) is None:
            return None
        key = f"{question.key} {entry['during']}"
        if key not in self._rows:
            self._rows[key] = _decoded(entry["row"])
        return self._rows[key]

    def _entry(self, question: Question) -> Any:
        entries = self._entries.get(question.key, ())
        return next((entry for entry in entries if question.at.startswith(entry["during"])), None)


def price_state(settings: str) -> str:
    """Return a text that changes with the installed price table and with the settings."""
    # The import system would find it as well, and take longer than all the rest.
    tables = (_state(os.path.join(folder, "genai_prices", "data.py")) for folder in sys.path if folder)
    return json.dumps([next(filter(None, tables), []), _state(settings)])


def _state(path: str) -> list[int]:
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_mtime_ns, status.st_size]


def answers(questions: list[Question]) -> list[dict[str, Any]]:
    """Look up rows in the price table; imports it."""
    from palaver.config import config_path, load_config
    from palaver.prices import Prices

    prices = Prices(load_config(config_path()))
    found: list[dict[str, Any]] = []
    for question in questions:
        row = prices.row(question.model, question.at, question.platform, question.service_tier)
        during = prices.valid_during(question.model, question.at, question.platform, question.service_tier)
        found.append({"during": during, "row": None if row is None else _encoded(row)})
    return found


def _encoded(row: PriceRow) -> dict[str, Any]:
    return {
        "source": row.source,
        "model": row.model,
        "provider": row.provider,
        "rates": [str(rate) for rate in row.rates],
        "tiers": [[tier.above_tokens, [str(rate) for rate in tier.rates]] for tier in row.tiers],
        "usd_per_request": str(row.usd_per_request),
        "input_excludes_cache": row.input_excludes_cache,
        "output_excludes_thinking": row.output_excludes_thinking,
    }


def _decoded(stored: Any) -> PriceRow | None:
    if stored is None:
        return None
    return PriceRow(
        source=stored["source"],
        model=stored["model"],
        provider=stored["provider"],
        rates=_rates(stored["rates"]),
        tiers=tuple(Tier(above, _rates(rates)) for above, rates in stored["tiers"]),
        usd_per_request=Decimal(stored["usd_per_request"]),
        input_excludes_cache=stored["input_excludes_cache"],
        output_excludes_thinking=stored["output_excludes_thinking"],
    )


def _rates(stored: list[str]) -> Rates:
    return Rates(*map(Decimal, stored))


if __name__ == "__main__":
    json.dump(answers([Question(*question) for question in json.load(sys.stdin)]), sys.stdout)
