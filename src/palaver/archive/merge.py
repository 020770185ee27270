"""The join of two accounts of one thing: the order in which they arrive, and how often, never matters.

Per message the greatest version is the current one, the others are revisions; figures of usage join field by field, for
each call of an API by itself.
A conversation's other fields each come from the latest account that has them.
"""

from typing import Any

import orjson

from palaver.model.build import JsonObject

Paths = set[tuple[str, ...]]
State = tuple[str, bytes, bytes]
"""When the account was last changed by its source, its hash, its header."""

_DOUBTS = ("tokens_partial", "missing_parent", "parent_inferred", "timestamp_inferred")
_REVISED = ("update_time", "updated_at", "revised_at")
_HANDS: dict[str | None, int] = {"history": 0, "request": 1}
_FIRST_HAND = 2


def version_key(blocks: int, rest: JsonObject, timestamp: str, version: bytes) -> tuple[Any, ...]:
    """The greater, the later or the fuller: by the source's own time of revision, how it is known, blocks, certainty.

    Of two that are known from requests the earlier is greater, since it is nearer to when it was said.
    """
    metadata = rest.get("metadata") or {}
    revised = max((str(metadata[key]) for key in _REVISED if isinstance(metadata.get(key), str)), default="")
    hand = _HANDS.get(metadata.get("known_from"), _FIRST_HAND)
    doubts = sum(bool(metadata.get(key)) for key in _DOUBTS)
    earliness = () if hand == _FIRST_HAND else tuple([-sign for sign in timestamp.encode()])
    return revised, hand, blocks, -doubts, earliness, len(orjson.dumps(rest)), version


def is_retold(metadata: JsonObject) -> bool:
    """Whether this account comes from a later request only, and knows of no call of its own."""
    return metadata.get("known_from") in _HANDS and not metadata.get("api_message_id")


def says_nothing_more(rest: JsonObject) -> bool:
    """Whether a version that a greater one with the same body stands for can be let go."""
    return "tokens" not in rest and is_retold(rest.get("metadata") or {})


def joined_tokens(one: JsonObject | None, other: JsonObject | None) -> JsonObject | None:
    """The field-wise maximum."""
    if one is None or other is None:
        return other if one is None else one
    return {key: _greater(one.get(key), other.get(key)) for key in sorted({*one, *other})}


def joined_text(stored: bytes | None, new: bytes | None) -> bytes | None:
    """The same of usage as it is stored."""
    if stored == new or new is None:
        return stored
    joined = joined_tokens(orjson.loads(stored) if stored else None, orjson.loads(new))
    return orjson.dumps(joined, option=orjson.OPT_SORT_KEYS)


def greatest(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The greater of each figure; one that nobody states stays unknown."""
    if one == other:
        return one
    pairs = zip(one, other, strict=True)
    return tuple([more if held is None or (more is not None and more > held) else held for held, more in pairs])


def _greater(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _greater(one.get(key), other.get(key)) for key in sorted({*one, *other})}
    return max(one, other, key=_rank)


def _rank(value: Any) -> tuple[int, Any]:
    """Any two values of JSON compare: nothing is least, numbers are compared as numbers."""
    if value is None:
        return 0, 0
    if isinstance(value, bool):
        return 1, value
    if isinstance(value, int | float):
        return 2, value
    return 3, orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def with_state(states: list[State], new: State) -> list[State] | None:
    """The accounts of a conversation with one more; None when it adds nothing.

    An account all of whose fields stand in a later one can never show again, whatever else arrives, so it is let go.
    """
    for updated_at, state_hash, _ in states:
        if state_hash == new[1] and updated_at >= new[0]:
            return None
    candidates = sorted([*(state for state in states if state[1] != new[1]), new], key=state_key, reverse=True)
    kept: list[State] = []
    later: list[tuple[Paths, Paths]] = []
    for state in candidates:
        filled, empty = _fields(orjson.loads(state[2]))
        if not any(filled <= stated and empty <= stated | blank for stated, blank in later):
            kept.append(state)
            later.append((filled, empty))
    kept.reverse()
    return None if sorted(kept) == sorted(states) else kept


def header_of(states: list[State]) -> JsonObject:
    """Every field from the latest account that has it."""
    merged: JsonObject = {}
    for _, _, header in sorted(states, key=state_key):
        _lay_over(merged, orjson.loads(header))
    return merged


def state_key(state: State) -> tuple[str, int, bytes]:
    """The later account is greater; of two of one time, the fuller."""
    updated_at, state_hash, header = state
    return updated_at, len(header), state_hash


def _lay_over(below: JsonObject, above: JsonObject) -> None:
    for key, value in above.items():
        held = below.get(key)
        if isinstance(value, dict) and value and isinstance(held, dict):
            _lay_over(held, value)
        elif not _is_empty(value) or _is_empty(held):
            below[key] = value


def _fields(header: JsonObject) -> tuple[Paths, Paths]:
    """The names that lead to every value that is no object of its own: to those that say something, and the others."""
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
