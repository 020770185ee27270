"""The strings of a JSON text with their places, and which of them are fragments of one longer text.

A stream sends a text in fragments: strings at the same path of consecutive events. Positions in arrays are no part of
that path, but the indexes beside it are (`index`, `output_index`, …), because a text may come in any element. If events
state their type, only those with a "delta" carry fragments; the others repeat whole texts.
"""

import re
from collections.abc import Hashable
from typing import NamedTuple

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)(?:"(\s*+:)?|(\Z))|([{}\[\]])|([^\s,:{}\[\]"]++)|(")', re.DOTALL)
DELTA = b'delta"'
"""The end of a type or a name that marks fragments: `response.output_text.delta`, `content_block_delta`, `delta`."""
_NAME, _CUT, _BRACKET, _SCALAR, _DAMAGE = range(2, 7)
_CONSTANTS = {b"type", b"object", b"role", b"model", b"name", b"status", b"obfuscation"}
_IDENTIFIER_ENDS = (b"id", b"Id", b"ID", b"fingerprint")
"""Names of strings that are never fragments, but may be the same in every event."""
_ARGUMENTS = frozenset({b"args", b"arguments"})
"""Names of objects whose strings are whole: a call that a model sends as an object comes in one piece."""


class JsonString(NamedTuple):
    start: int
    end: int
    """Where it is, without its quotes."""
    text_key: Hashable
    """Identifies the text of which it is a fragment; None for a string that stands alone."""


class _Level(NamedTuple):
    """An object or an array that has begun."""

    path: tuple[bytes, ...]
    indexes: tuple[list[bytes], ...]
    """The indexes stated in each object around it; they may come after the strings."""
    is_object: bool


def json_strings(raw: bytes, *, is_cut: bool = False) -> list[JsonString] | None:
    """Return the strings of a JSON text, names included, or None if it is damaged; a cut one may end anywhere."""
    strings: list[tuple[int, int, bytes | None, _Level]] = []
    above: list[_Level] = []
    level = _Level((), (), is_object=False)
    name = kind = b""
    for token in _TOKEN.finditer(raw):
        group = token.lastindex
        if group == _NAME:
            name = token[1]
            strings.append((*token.span(1), None, level))
        elif group == _BRACKET:
            bracket = token[0]
            if bracket in b"{[":
                above.append(level)
                path = (*level.path, name) if name else level.path
                is_object = bracket == b"{"
                level = _Level(path, (*level.indexes, []) if is_object else level.indexes, is_object)
            elif above:
                level = above.pop()
            else:
                return None
            name = b""
        elif group == _SCALAR:
            if level.is_object and name.endswith(b"index") and token[0] != b"0":
                level.indexes[-1].append(name + token[0])
        elif group == _DAMAGE or (group == _CUT and not is_cut):
            return None
        else:
            if name == b"type" and len(above) == 1:
                kind = token[1]
            is_constant = name in _CONSTANTS or name.endswith(_IDENTIFIER_ENDS) or not _ARGUMENTS.isdisjoint(level.path)
            strings.append((*token.span(1), None if is_constant else name, level))
    if above and not is_cut:
        return None
    if kind and DELTA not in raw:
        return [JsonString(start, end, None) for start, end, _, _ in strings]
    return [
        JsonString(start, end, None if name is None else (kind, level.path, name, *map(tuple, level.indexes)))
        for start, end, name, level in strings
    ]
