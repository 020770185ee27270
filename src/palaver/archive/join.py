"""Joins of two versions of the same thing; neither the order nor the number of imports affects the result.

The greatest version of a message is the current one, the others are revisions. Usage joins field by field, separately
for each API call. Every other field of a conversation comes from the latest header state that has it.
"""

from typing import Any

import orjson

from palaver.model.build import JsonObject

Paths = set[tuple[str, ...]]
State = tuple[str, bytes, bytes]
"""A header state: the time when its source last changed it, its hash, the encoded header."""

_DOUBT_FLAGS = ("tokens_partial", "missing_parent", "parent_inferred", "timestamp_inferred")
_REVISION_TIMES = ("update_time", "updated_at", "revised_at")
_SECONDHAND_RANKS: dict[str | None, int] = {"history": 0, "request": 1}
_FIRSTHAND_RANK = 2


def version_key(blocks: int, rest: JsonObject, timestamp: str, version: bytes) -> tuple[Any, ...]:
    """Return a sort key for versions of a message: a later or more complete version is greater.

    Compares the source's own time of revision, the kind of evidence, the number of blocks, and certainty. Of two
    versions known from later requests, the earlier is greater, since it is closer to the original.
    """
    metadata = rest.get("metadata") or {}
    revised = max((str(metadata[key]) for key in _REVISION_TIMES if isinstance(metadata.get(key), str)), default="")
    rank = _SECONDHAND_RANKS.get(metadata.get("known_from"), _FIRSTHAND_RANK)
    doubts = sum(bool(metadata.get(key)) for key in _DOUBT_FLAGS)
    earliness = () if rank == _FIRSTHAND_RANK else tuple([-byte for byte in timestamp.encode()])
    return revised, rank, blocks, -doubts, earliness, len(orjson.dumps(rest)), version


def is_secondhand(metadata: JsonObject) -> bool:
    """Return whether a version is known from a later request only, and names no call of its own."""
    return metadata.get("known_from") in _SECONDHAND_RANKS and not metadata.get("api_message_id")


def is_redundant(rest: JsonObject) -> bool:
    """Return whether a version can be dropped in favour of a greater one with the same body."""
    return "tokens" not in rest and is_secondhand(rest.get("metadata") or {})


def join_tokens(left: JsonObject | None, right: JsonObject | None) -> JsonObject | None:
    """Return the field-wise maximum of two usage objects."""
    if left is None or right is None:
        return right if left is None else left
    return {key: _join_values(left.get(key), right.get(key)) for key in sorted({*left, *right})}


def join_encoded_tokens(stored: bytes | None, new: bytes | None) -> bytes | None:
    """Return the field-wise maximum of two usage objects, as encoded JSON."""
    if stored == new or new is None:
        return stored
    joined = join_tokens(orjson.loads(stored) if stored else None, orjson.loads(new))
    return orjson.dumps(joined, option=orjson.OPT_SORT_KEYS)


def join_counts(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the greater of each pair of counts; None where neither is known."""
    if left == right:
        return left
    pairs = zip(left, right, strict=True)
    return tuple([new if known is None or (new is not None and new > known) else known for known, new in pairs])


def _join_values(left: Any, right: Any) -> Any:
    if isinstance(left, dict) and isinstance(right, dict):
        return {key: _join_values(left.get(key), right.get(key)) for key in sorted({*left, *right})}
    return max(left, right, key=_rank)


def _rank(value: Any) -> tuple[int, Any]:
    """Return a sort key for any JSON value: null is least, numbers compare as numbers."""
    if value is None:
        return 0, 0
    if isinstance(value, bool):
        return 1, value
    if isinstance(value, int | float):
        return 2, value
    return 3, orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def add_state(states: list[State], new: State) -> list[State] | None:
    """Add a header state to those of a conversation, and return the states to store, or None if nothing changes.

    A state whose fields all occur in a later one can never become visible again, so it is dropped.
    """
    for updated_at, state_hash, _ in states:
        if state_hash == new[1] and updated_at >= new[0]:
            return None
    candidates = sorted([*(state for state in states if state[1] != new[1]), new], key=state_key, reverse=True)
    needed: list[State] = []
    later: list[tuple[Paths, Paths]] = []
    for state in candidates:
        filled, empty = _field_paths(orjson.loads(state[2]))
        if not any(filled <= stated and empty <= stated | blank for stated, blank in later):
            needed.append(state)
            later.append((filled, empty))
    needed.reverse()
    return None if sorted(needed) == sorted(states) else needed


def joined_header(states: list[State]) -> JsonObject:
    """Merge header states: every field comes from the latest state that has it."""
    merged: JsonObject = {}
    for _, _, header in sorted(states, key=state_key):
        _overlay(merged, orjson.loads(header))
    return merged


def state_key(state: State) -> tuple[str, int, bytes]:
    """Return a sort key for header states: the later is greater, then the longer."""
    updated_at, state_hash, header = state
    return updated_at, len(header), state_hash


def _overlay(below: JsonObject, above: JsonObject) -> None:
    for key, value in above.items():
        known = below.get(key)
        if isinstance(value, dict) and value and isinstance(known, dict):
            _overlay(known, value)
        elif not _is_empty(value) or _is_empty(known):
            below[key] = value


def _field_paths(header: JsonObject) -> tuple[Paths, Paths]:
    """Return the paths of all leaf values: those with a value, and those that are null or empty."""
    filled: Paths = set()
    empty: Paths = set()
    stack: list[tuple[tuple[str, ...], JsonObject]] = [((), header)]
    while stack:
        path, branch = stack.pop()
        for key, value in branch.items():
            if isinstance(value, dict) and value:
                stack.append(((*path, key), value))
            else:
                (empty if _is_empty(value) else filled).add((*path, key))
    return filled, empty


def _is_empty(value: Any) -> bool:
    return value is None or value == {}
