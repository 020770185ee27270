"""Small files that say more about a source without being part of it: indexes and settings, read and not counted."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import orjson
import yaml

from palaver.errors import PalaverError
from palaver.sources.source import Source
from palaver.sources.whole import read_at_most

_LARGEST_BYTES = 1 << 26
_KEPT = 8
_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C is ten times as fast, and missing where PyYAML was built without it."""
_Shape = Callable[[Any], Any]

_recent: OrderedDict[tuple[str, int, float | None, _Shape], Any] = OrderedDict()


def _as_it_is(value: Any) -> Any:
    return value


def side_value(source: Source, shaped: _Shape = _as_it_is) -> Any:
    """What a function makes of the JSON or YAML value of a small file; of None where it cannot be read.

    What was read last is kept: the sources that such a file speaks of come one after the other. Nobody may change it.
    """
    if not source.exists():
        return shaped(None)
    stamp = source.label, source.size_bytes, source.modified_at(), shaped
    if stamp in _recent:
        _recent.move_to_end(stamp)
        return _recent[stamp]
    value = shaped(_read(source))
    _recent[stamp] = value
    if len(_recent) > _KEPT:
        _recent.popitem(last=False)
    return value


def _read(source: Source) -> Any:
    try:
        with source.open() as stream:
            raw = read_at_most(stream, _LARGEST_BYTES)
    except (PalaverError, OSError):
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    if source.suffix not in {".yaml", ".yml"}:
        return None
    try:
        return yaml.load(raw, _YAML)  # noqa: S506 - a safe one
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
