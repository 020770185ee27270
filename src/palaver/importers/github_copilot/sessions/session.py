"""The final state of a session, with requests that only earlier states contain, and the replay of its log.

Each log entry changes the state left by those before it: kind 0 is the whole state, 1 sets a value, 2 appends to a list
that may be cut first, 3 deletes. The replay does what the editor does in JavaScript, except where that would leave a
hole in a list or a property on one: such an entry is refused.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from palaver.model.build import JsonObject

INITIAL, SET, PUSH, DELETE = range(4)
_ABSENT = object()


@dataclass(slots=True)
class Request:
    """A request as the source has it; `origin` names where it was found if the session no longer has it."""

    value: Any
    origin: str = ""


@dataclass(slots=True, eq=False)
class Session:
    """A session whose requests are separate from its state, so that they can be released one by one."""

    state: JsonObject
    where: str
    size_bytes: int
    """Size of what was read for it."""
    requests: list[Request] = field(default_factory=list[Request])

    def __post_init__(self) -> None:
        match self.state.pop("requests", None):
            case None:
                pass
            case list() as requests:
                self.requests = [Request(value) for value in requests if value is not None]
            case malformed:
                self.requests = [Request(malformed)]

    @property
    def session_id(self) -> str | None:
        return session_id if isinstance((session_id := self.state.get("sessionId")), str) else None

    def requests_by_id(self) -> dict[str, Any]:
        """Return the requests by id; those without an id, or with a duplicate one, by position."""
        found: dict[str, Any] = {}
        for index, request in enumerate(self.requests):
            name = _request_id(request.value)
            found[f" {index}" if name is None or name in found else name] = request.value
        return found

    def add_missing(self, others: dict[str, Any], order: list[str], origin: str) -> bool:
        """Add requests that are missing here, each after the one it followed; return whether there were any."""
        names = [_request_id(request.value) for request in self.requests]
        positions = {name: index for index, name in enumerate(names) if name}
        unnamed = {
            fingerprint(request.value) for request, name in zip(self.requests, names, strict=True) if name is None
        }
        insertions: dict[int, list[Request]] = {}
        position = -1
        for name in order:
            if name in positions:
                position = positions[name]
            elif name in others and (_request_id(others[name]) is not None or fingerprint(others[name]) not in unnamed):
                insertions.setdefault(position, []).append(Request(others[name], origin))
        if insertions:
            merged = insertions.get(-1, [])
            for index, request in enumerate(self.requests):
                merged.append(request)
                merged += insertions.get(index, ())
            self.requests = merged
        return bool(insertions)


def _request_id(value: Any) -> str | None:
    match value:
        case {"requestId": str(name)}:
            return name
        case _:
            return None


def fingerprint(value: Any) -> str:
    """Return a hash of all of a request, which identifies one without an id."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


class BadEntryError(ValueError):
    """An entry that cannot be applied; the state is unchanged."""


class Replay:
    """The state of a session, and every request that it ever contained."""

    def __init__(self, state: JsonObject) -> None:
        self.state = state
        self.known_requests: dict[str, JsonObject] = {}
        """The last version of each request, by id, in order of appearance."""
        self._remember(state.get("requests"))

    def apply(self, entry: JsonObject) -> None:
        kind, path, value = entry.get("kind"), entry.get("k"), entry.get("v", _ABSENT)
        if type(kind) is int and kind == INITIAL and isinstance(value, dict):
            self.state = value
            self._remember(value.get("requests"))
        elif type(kind) is not int or not isinstance(path, list):
            raise BadEntryError("it has no kind, or no path")
        elif kind == PUSH:
            self._push(path, None if value is _ABSENT else value, entry.get("i", _ABSENT))
        elif kind == SET:
            self._set(path, value)
        elif kind == DELETE:
            self._set(path, _ABSENT)
        else:
            raise BadEntryError(f"the kind {kind} is not known")

    def removed_requests(self) -> tuple[dict[str, JsonObject], list[str]]:
        """Return the requests that the state no longer contains, and the ids of all in order of appearance.

        This ends the replay.
        """
        found = self.state.get("requests")
        requests: list[Any] = found if isinstance(found, list) else []
        present = {id(request) for request in requests}
        stated_ids = [request.get("requestId") for request in requests if isinstance(request, dict)]
        names = {name for name in stated_ids if isinstance(name, str)}
        known, self.known_requests = self.known_requests, {}
        removed = {name: request for name, request in known.items() if name not in names and id(request) not in present}
        return removed, list(known)

    def _set(self, path: list[Any], value: Any) -> None:
        if not path:
            return
        holder, key = self._holder(path), path[-1]
        match holder:
            case dict():
                name = key if isinstance(key, str) else _property_name(key)
                if value is _ABSENT:
                    holder.pop(name, None)
                else:
                    holder[name] = value
            case list():
                # At the end, JavaScript appends; deleting an element leaves an empty one.
                if type(key) is not int or not 0 <= key <= len(holder) - (value is _ABSENT):
                    raise _out_of_range(key, holder)
                holder[key : key + 1] = [None if value is _ABSENT else value]
            case _:
                raise BadEntryError("the path leads into a value that holds nothing")
        if len(path) <= 2 and path[0] == "requests":
            self._remember(value if len(path) == 1 else [value])

    def _push(self, path: list[Any], values: Any, start: Any) -> None:
        if not path:
            raise BadEntryError("the path is empty")
        if values is not None and not isinstance(values, list):
            raise BadEntryError("the value to append is not a list")
        holder, key = self._holder(path), path[-1]
        is_field = isinstance(holder, dict) and isinstance(key, str)
        found = (holder.get(key) if is_field else _value_at(holder, key)) or []
        if not isinstance(found, list):
            raise BadEntryError("the path does not lead to a list")
        if start is not _ABSENT:
            if type(start) is not int or not 0 <= start <= len(found):
                raise BadEntryError(f"a list of {len(found)} cannot be cut at {start!r:.40}")
            del found[start:]
        if values:
            found += values
        holder[key if is_field or isinstance(holder, list) else _property_name(key)] = found
        if len(path) == 1 and key == "requests":
            self._remember(values)

    def _holder(self, path: list[Any]) -> Any:
        """Return the container that the last step of a path refers into."""
        holder: Any = self.state
        for step in path[:-1]:
            # Inlined because every entry passes here: object keys, list indexes, then everything else.
            if isinstance(holder, dict) and isinstance(step, str):
                holder = holder.get(step)
            elif isinstance(holder, list) and type(step) is int and 0 <= step < len(holder):
                holder = holder[step]
            else:
                holder = _value_at(holder, step)
            if holder is None:
                raise BadEntryError(f"the path leads nowhere at {step!r:.40}")
        return holder

    def _remember(self, requests: Any) -> None:
        if isinstance(requests, list):
            for request in requests:
                if isinstance(request, dict) and isinstance((name := request.get("requestId")), str):
                    self.known_requests[name] = request


def _value_at(holder: Any, key: Any) -> Any:
    """Return the value at a key; None if it is missing from an object."""
    if isinstance(holder, list):
        if type(key) is int and 0 <= key < len(holder):
            return holder[key]
        raise _out_of_range(key, holder)
    if isinstance(holder, dict):
        return holder.get(_property_name(key))
    raise BadEntryError("the path leads into a value that holds nothing")


def _out_of_range(key: Any, holder: list[Any]) -> BadEntryError:
    items = "1 item" if len(holder) == 1 else f"{len(holder):,} items"
    return BadEntryError(f"index {key!r:.40} is out of range (list has {items})")


def _property_name(key: Any) -> str:
    if isinstance(key, str):
        return key
    if type(key) is int:
        return str(key)
    raise BadEntryError(f"{key!r:.40} is not a step of a path")
