"""Arguments of a Gemini function call that come value by value, each with the JSON path of its place."""

import re
from typing import Any

from palaver.model.build import JsonObject

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_SNAKE = {
    "json_path": "jsonPath",
    "string_value": "stringValue",
    "number_value": "numberValue",
    "bool_value": "boolValue",
    "null_value": "nullValue",
}
_MOST_SKIPPED = 1_000
_MOST_STEPS = 100


def placed(args: JsonObject, partial: JsonObject) -> JsonObject | None:
    """Arguments with one more value, or more of a text; None where it has no place. What was given stays as it is."""
    named = {_SNAKE.get(name, name): value for name, value in partial.items()}
    steps = _steps(named.get("jsonPath"))
    kind = next((name for name in _VALUES if name in named), None)
    if not steps or kind is None:
        return None
    made = dict(args)
    here: Any = made
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if not _has_room(here, step):
            return None
        known = here.get(step) if isinstance(here, dict) else here[step]
        if following is None:
            value = None if kind == "nullValue" else named[kind]
            here[step] = known + value if isinstance(known, str) and isinstance(value, str) else value
        else:
            if isinstance(following, int):
                here[step] = list(known) if isinstance(known, list) else []
            else:
                here[step] = dict(known) if isinstance(known, dict) else {}
            here = here[step]
    return made


def _has_room(here: Any, step: str | int) -> bool:
    if isinstance(here, dict):
        return isinstance(step, str)
    if not isinstance(step, int) or step > len(here) + _MOST_SKIPPED:
        return False
    here += [None] * (step + 1 - len(here))
    return True


def _steps(path: Any) -> list[str | int]:
    """Of `$.a.b[0]['c d']`; none where it is no such path."""
    if not isinstance(path, str) or not path.startswith("$"):
        return []
    steps: list[str | int] = []
    at = 1
    while at < len(path) and len(steps) < _MOST_STEPS:
        step = _STEP.match(path, at)
        if step is None:
            return []
        quoted = step[3] if step[3] is not None else step[4]
        if step[2] is not None:
            steps.append(int(step[2]))
        else:
            steps.append(step[1] or re.sub(r"\\(.)", r"\1", quoted or ""))
        at = step.end()
    return steps if at == len(path) else []
