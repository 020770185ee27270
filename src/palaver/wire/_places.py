"""Where the parts of an exchange stand in the payload that they were read from.

Writers report losses with pointers into the exchange; people look for them in the payload that they gave. A format
lists where it puts messages, blocks, tools and answers, and what it calls the fields of an exchange. `Places` tries
these names on the payload and takes the one that leads furthest, so that a pointer always refers to something that the
payload says: the value itself, or the nearest object around it if the payload has no such value.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Pointers = dict[str, tuple[str, ...]]
"""Pointers into an exchange's request or response, each with the pointers into a payload that may hold the same."""


class Places:
    """Finds what a pointer into a request or response refers to in the payload that it was read from.

    `parts` has the pointers of parts; `fields` has what the format calls a field of a part, as paths relative to the
    part. `name` is the format's name in `provider_data`, whose fields stand in the part itself.
    """

    def __init__(
        self,
        payload: Any,
        name: str,
        fields: Mapping[str, tuple[str, ...]],
        parts: Pointers,
        *,
        other_spelling: Callable[[str], str] | None = None,
    ) -> None:
        self._payload = payload
        self._data_path = ("provider_data", name)
        self._fields = {tuple(path.split("/")): names for path, names in fields.items()}
        self._parts: Pointers = {"": ("",), **parts}
        self._other_spelling = other_spelling

    def find(self, pointer: str) -> str:
        """Return the pointer to the same value in the payload, or to the nearest object around it."""
        segments = tuple(pointer.split("/")[1:])
        best, fewest_missing = "", len(segments) + 1
        for candidate in self._candidates(segments):
            found, missing = self._resolve(candidate)
            if missing < fewest_missing:
                best, fewest_missing = found, missing
        return best

    def _candidates(self, segments: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the paths at which the payload may have the value; the longest known beginning decides."""
        length = len(segments)
        while (bases := self._parts.get("".join(f"/{segment}" for segment in segments[:length]))) is None:
            length -= 1
        for base in bases:
            start = tuple(base.split("/")[1:])
            yield from (start + rest for rest in self._spelled(segments[length:]))

    def _spelled(self, rest: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the path of a field within a part in every way in which the format may call it."""
        for position in range(len(rest) - 1):
            if rest[position : position + 2] == self._data_path:
                rest = rest[:position] + rest[position + 2 :]
                break
        yield rest
        for length in range(len(rest), 0, -1):
            for path in self._fields.get(rest[:length], ()):
                yield (*(path.split("/") if path else ()), *rest[length:])

    def _resolve(self, path: tuple[str, ...]) -> tuple[str, int]:
        """Follow a path as far as the payload goes; return the pointer to there, and how many segments are left."""
        value = self._payload
        found = ""
        for number, segment in enumerate(path):
            key = self._key(value, segment)
            if key is None:
                return found, len(path) - number
            value = value[key]
            found += f"/{escape_key(str(key))}"
        return found, 0

    def _key(self, value: Any, segment: str) -> str | int | None:
        match value:
            case dict():
                name = segment.replace("~1", "/").replace("~0", "~")
                names = (name, self._other_spelling(name)) if self._other_spelling else (name,)
                return next((key for key in names if key in value), None)
            case list():
                return int(segment) if segment.isdecimal() and int(segment) < len(value) else None
            case _:
                return None


def escape_key(key: str) -> str:
    """Return a key as a segment of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def numbered(start: str, count: int) -> list[str]:
    """Return the pointers of the first elements of a list."""
    return [f"{start}/{number}" for number in range(count)]


def block_pointers(content: Any, pointer: str) -> list[str]:
    """Return the pointers of the blocks of a content: its elements, or the content itself if it is not a list."""
    return numbered(pointer, len(content)) if isinstance(content, list) else [pointer]


def tool_pointers(tools: list[Any], name: str, is_callers: Callable[[Any], bool]) -> Pointers:
    """Return the pointers of the caller's tools and of the provider's, which an exchange numbers apart."""
    pointers: Pointers = {}
    counts = {"/tools": 0, f"/provider_data/{name}/tools": 0}
    for index, tool in enumerate(tools):
        kind = "/tools" if is_callers(tool) else f"/provider_data/{name}/tools"
        pointers[f"{kind}/{counts[kind]}"] = (f"/tools/{index}",)
        counts[kind] += 1
    return pointers
