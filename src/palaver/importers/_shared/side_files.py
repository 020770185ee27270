"""Small files next to a source, such as indexes and settings, which are read but not counted in the ledger."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import orjson
import yaml

from palaver.errors import PalaverError
from palaver.sources.small_files import read_at_most
from palaver.sources.source import Source

_MAX_BYTES = 1 << 26
_CACHE_SIZE = 8
_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C, ten times as fast, unless PyYAML was built without it."""
_Convert = Callable[[Any], Any]

_cache: OrderedDict[tuple[str, int, float | None, _Convert], Any] = OrderedDict()


def _unchanged(value: Any) -> Any:
    return value


def read_side_file(source: Source, convert: _Convert = _unchanged) -> Any:
    """Return the JSON or YAML value of a small file, passed through `convert`; `convert(None)` if it cannot be read.

    The latest values are cached, since the sources that such a file describes are read one after the other: callers
    must not modify them.
    """
    if not source.exists():
        return convert(None)
    stamp = source.label, source.size_bytes, source.modified_at(), convert
    if stamp in _cache:
        _cache.move_to_end(stamp)
        return _cache[stamp]
    value = convert(_read(source))
    _cache[stamp] = value
    if len(_cache) > _CACHE_SIZE:
        _cache.popitem(last=False)
    return value


def _read(source: Source) -> Any:
    try:
        with source.open() as stream:
            raw = read_at_most(stream, _MAX_BYTES)
    except (PalaverError, OSError):
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    if source.suffix not in {".yaml", ".yml"}:
        return None
    try:
        return yaml.load(raw, _YAML_LOADER)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
