"""JSON within JSON: properties that are the text of something else, and what is nested beyond reason."""

import json
from typing import Any

from palaver.sources.damage import without_surrogates
from palaver.sources.parse import NOT_JSON, parse

DEEPEST = 100


def loaded(text: str) -> Any:
    """What a text stands for; the text itself where it is no JSON."""
    try:
        return parse(text)
    except NOT_JSON:
        pass
    try:
        return without_surrogates(json.loads(text))[0]
    except (ValueError, RecursionError):
        return text


def is_deep(value: Any) -> bool:
    """Whether an object or list is nested more deeply than anything that somebody means."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True
