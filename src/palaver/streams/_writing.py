"""JSON on one line, with parts that are JSON already, and with values that the quick writer refuses."""

import json
from typing import Any

import msgspec
import orjson


class Raw(msgspec.Struct, frozen=True):
    """A value that is written as it stands."""

    json: bytes

    def value(self) -> Any:
        return json.loads(self.json)


def written(value: Any) -> bytes:
    """One line of JSON. Integers past 64 bits and halves of characters take the slow way; nesting may be too deep."""
    try:
        return orjson.dumps(value, default=_as_it_stands)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=_as_value).encode()


def is_deep(value: Any, most: int = 200) -> bool:
    """Whether a value is nested so deeply that it may be too deep to be written within another one."""
    level = [value]
    for _ in range(most):
        within = [
            one for container in level for one in (container.values() if isinstance(container, dict) else container)
        ]
        level = [one for one in within if isinstance(one, dict | list)]
        if not level:
            return False
    return True


def _as_it_stands(value: Any) -> Any:
    if isinstance(value, Raw):
        return orjson.Fragment(value.json)
    raise TypeError


def _as_value(value: Any) -> Any:
    if isinstance(value, Raw):
        return value.value()
    raise TypeError
