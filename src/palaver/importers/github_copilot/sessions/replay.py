"""The log of a session, replayed: each entry changes the state that those before it left.

Kind 0 is the whole state, 1 sets a value, 2 appends to a list that may be cut first, 3 deletes. What the editor does in
JavaScript is done here, except where that would leave a hole in a list or a property on one: such an entry is refused.
"""

from typing import Any

from palaver.model.build import JsonObject

INITIAL, SET, PUSH, DELETE = range(4)
_ABSENT = object()


class BadEntryError(ValueError):
    """An entry that cannot be applied; the state is as it was before."""


class Replay:
    """The state of a session, and every request that it held at any time."""

    def __init__(self, state: JsonObject) -> None:
        self.state = state
        self.seen: dict[str, JsonObject] = {}
        """By their ids, in the order in which they came: the last thing that was known of each."""
        self._see(state.get("requests"))

    def apply(self, entry: JsonObject) -> None:
        kind, path, value = entry.get("kind"), entry.get("k"), entry.get("v", _ABSENT)
        if type(kind) is int and kind == INITIAL and isinstance(value, dict):
            self.state = value
            self._see(value.get("requests"))
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

    def left_behind(self) -> tuple[dict[str, JsonObject], list[str]]:
        """The requests that the state holds no more, and the order in which all came; the replay is over."""
        found = self.state.get("requests")
        requests: list[Any] = found if isinstance(found, list) else []
        present = {id(request) for request in requests}
        stated = [request.get("requestId") for request in requests if isinstance(request, dict)]
        names = {name for name in stated if isinstance(name, str)}
        seen, self.seen = self.seen, {}
        left = {name: one for name, one in seen.items() if name not in names and id(one) not in present}
        return left, list(seen)

    def _set(self, path: list[Any], value: Any) -> None:
        if not path:
            return
        holder, key = self._holder(path), path[-1]
        match holder:
            case dict():
                name = key if isinstance(key, str) else _name(key)
                if value is _ABSENT:
                    holder.pop(name, None)
                else:
                    holder[name] = value
            case list():
                # Behind the last one JavaScript appends; a value that is absent leaves a place for it.
                if type(key) is not int or not 0 <= key <= len(holder) - (value is _ABSENT):
                    raise BadEntryError(f"there is no {key!r:.40} in a list of {len(holder)}")
                holder[key : key + 1] = [None if value is _ABSENT else value]
            case _:
                raise BadEntryError("the path leads into a value that holds nothing")
        if len(path) <= 2 and path[0] == "requests":
            self._see(value if len(path) == 1 else [value])

    def _push(self, path: list[Any], values: Any, start: Any) -> None:
        if not path:
            raise BadEntryError("the path is empty")
        if values is not None and not isinstance(values, list):
            raise BadEntryError("what should be appended is no list")
        holder, key = self._holder(path), path[-1]
        is_field = isinstance(holder, dict) and isinstance(key, str)
        found = (holder.get(key) if is_field else _inside(holder, key)) or []
        if not isinstance(found, list):
            raise BadEntryError("the path does not lead to a list")
        if start is not _ABSENT:
            if type(start) is not int or not 0 <= start <= len(found):
                raise BadEntryError(f"a list of {len(found)} cannot be cut at {start!r:.40}")
            del found[start:]
        if values:
            found += values
        holder[key if is_field or isinstance(holder, list) else _name(key)] = found
        if len(path) == 1 and key == "requests":
            self._see(values)

    def _holder(self, path: list[Any]) -> Any:
        """What the last step of a path leads into."""
        at: Any = self.state
        for step in path[:-1]:
            # Written out, since every entry comes through here: the names of objects, places in lists, then all else.
            if isinstance(at, dict) and isinstance(step, str):
                at = at.get(step)
            elif isinstance(at, list) and type(step) is int and 0 <= step < len(at):
                at = at[step]
            else:
                at = _inside(at, step)
            if at is None:
                raise BadEntryError(f"the path leads nowhere at {step!r:.40}")
        return at

    def _see(self, requests: Any) -> None:
        if isinstance(requests, list):
            for request in requests:
                if isinstance(request, dict) and isinstance((name := request.get("requestId")), str):
                    self.seen[name] = request


def _inside(holder: Any, key: Any) -> Any:
    """What stands at a key; None for what is absent from an object."""
    if isinstance(holder, list):
        if type(key) is int and 0 <= key < len(holder):
            return holder[key]
        raise BadEntryError(f"there is no {key!r:.40} in a list of {len(holder)}")
    if isinstance(holder, dict):
        return holder.get(_name(key))
    raise BadEntryError("the path leads into a value that holds nothing")


def _name(key: Any) -> str:
    if isinstance(key, str):
        return key
    if type(key) is int:
        return str(key)
    raise BadEntryError(f"{key!r:.40} is no step of a path")
