"""How much a model is to reason: four levels, and the budgets and efforts that stand for them.

A budget is the least one plus level/3 of what is between that and the greatest, floored; the two numbers that the
exchange's specification states itself stand as they are there. Back from a number, the nearest level is taken; the
number itself is kept in `provider_data`.
"""

import re
from typing import Literal, NamedTuple

Level = Literal["none", "low", "med", "high"]

LEVELS: tuple[Level, ...] = ("none", "low", "med", "high")
_EFFORTS: dict[Level, str] = {"none": "none", "low": "low", "med": "medium", "high": "high"}
_LEVEL_OF_EFFORT: dict[str, Level] = {
    "none": "none",
    "minimal": "low",
    "low": "low",
    "medium": "med",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class Budgets(NamedTuple):
    least: int
    most: int
    stated: dict[Level, int]
    """Numbers of the specification where the formula gives another one."""


_BUDGETS: tuple[tuple[re.Pattern[str], Budgets], ...] = (
    (re.compile("claude-haiku-4-5|claude-3-7-sonnet"), Budgets(1024, 32_000, {})),
    (re.compile("claude-(sonnet|opus)-4-5"), Budgets(1024, 64_000, {"med": 43_000})),
    (re.compile("claude"), Budgets(1024, 64_000, {})),
    (re.compile("gemini-2.5-pro"), Budgets(128, 32_768, {"med": 21_760})),
    (re.compile("gemini-2.5-flash-lite"), Budgets(512, 24_576, {})),
    (re.compile("gemini-2.5-flash"), Budgets(0, 24_576, {})),
)
_OTHER_GEMINI = Budgets(0, 24_576, {})
_OTHER = Budgets(1024, 64_000, {})


def budget(model: str, level: Level) -> int:
    """How many tokens a level stands for."""
    budgets = _budgets(model)
    part = LEVELS.index(level)
    return budgets.stated.get(level, budgets.least + part * (budgets.most - budgets.least) // 3)


def level_of_budget(model: str, tokens: int) -> Level:
    """The level whose budget is nearest; the lower one of two."""
    return min(LEVELS, key=lambda level: abs(budget(model, level) - tokens))


def effort(level: Level) -> str:
    return _EFFORTS[level]


def level_of_effort(word: str) -> Level | None:
    """None for a word that nobody knows."""
    return _LEVEL_OF_EFFORT.get(word)


def _budgets(model: str) -> Budgets:
    for pattern, budgets in _BUDGETS:
        if pattern.search(model):
            return budgets
    return _OTHER_GEMINI if "gemini" in model else _OTHER
