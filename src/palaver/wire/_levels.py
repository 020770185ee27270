"""Levels that providers have words of their own for: how much a model thinks, and the tier that serves a request.

An exchange has four levels of thinking; providers have token budgets and words for the effort. A budget is the model's
minimum plus level/3 of the distance to its maximum, rounded down, except for the two numbers that the specification of
the exchange states itself. A budget is read as the nearest level; the number itself is kept in `provider_data`.

Every provider has a word of its own for the standard tier, and chooses one where nothing is said.
"""

import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from palaver.wire._contract import Losses

Level = Literal["none", "low", "med", "high"]

LEVELS: tuple[Level, ...] = ("none", "low", "med", "high")
_EFFORT_OF_LEVEL: dict[Level, str] = {"none": "none", "low": "low", "med": "medium", "high": "high"}
_LEVEL_OF_EFFORT: dict[str, Level] = {
    "none": "none",
    "minimal": "low",
    "low": "low",
    "medium": "med",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
_STANDARD = ("default", "standard", "standard_only")
_CHOSEN_BY_PROVIDER = "auto"


class Budgets(NamedTuple):
    minimum: int
    maximum: int
    stated: dict[Level, int]
    """Numbers of the specification that differ from the formula."""


_BUDGETS_BY_MODEL: tuple[tuple[re.Pattern[str], Budgets], ...] = (
    (re.compile("claude-haiku-4-5|claude-3-7-sonnet"), Budgets(1024, 32_000, {})),
    (re.compile("claude-(sonnet|opus)-4-5"), Budgets(1024, 64_000, {"med": 43_000})),
    (re.compile("claude"), Budgets(1024, 64_000, {})),
    (re.compile("gemini-2.5-pro"), Budgets(128, 32_768, {"med": 21_760})),
    (re.compile("gemini-2.5-flash-lite"), Budgets(512, 24_576, {})),
    (re.compile("gemini-2.5-flash"), Budgets(0, 24_576, {})),
)
_DEFAULT_GEMINI_BUDGETS = Budgets(0, 24_576, {})
_DEFAULT_BUDGETS = Budgets(1024, 64_000, {})


def thinking_budget(model: str, level: Level) -> int:
    """Return the number of tokens that a level allows."""
    budgets = _budgets(model)
    step = LEVELS.index(level)
    return budgets.stated.get(level, budgets.minimum + step * (budgets.maximum - budgets.minimum) // 3)


def level_of_budget(model: str, tokens: int) -> Level:
    """Return the level with the nearest budget, the lower one on a tie."""
    return min(LEVELS, key=lambda level: abs(thinking_budget(model, level) - tokens))


def effort_of_level(level: Level) -> str:
    return _EFFORT_OF_LEVEL[level]


def level_of_effort(word: str) -> Level | None:
    """Return the level of an effort word; None for an unknown word."""
    return _LEVEL_OF_EFFORT.get(word)


def _budgets(model: str) -> Budgets:
    for pattern, budgets in _BUDGETS_BY_MODEL:
        if pattern.search(model):
            return budgets
    return _DEFAULT_GEMINI_BUDGETS if "gemini" in model else _DEFAULT_BUDGETS


def tier_to_wire(tier: str | None, known: Collection[str], losses: Losses, *, title: str) -> str | None:
    """Return a tier in the words of a format; None if there is none, which is a loss unless the provider chooses."""
    if tier is None or tier in known:
        return tier
    if tier in _STANDARD and (own := next((word for word in _STANDARD if word in known), None)):
        return own
    if tier != _CHOSEN_BY_PROVIDER:
        losses.drop("/service_tier", f"{title} has no tier `{tier}`")
    return None
