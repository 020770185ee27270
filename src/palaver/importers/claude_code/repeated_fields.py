"""Separation of the header, the fields that every line repeats, from the fields of a single line.

There are few shapes of lines, and a session's lines repeat nearly all of their header. So the keys of a shape are
classified once, as header or the line's own, and a header that equals the previous one costs one comparison.
"""

from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from palaver.model.build import JsonObject

if TYPE_CHECKING:
    from collections.abc import Callable


HEADER_FIELDS = ("cwd", "gitBranch", "version", "slug", "entrypoint", "sessionId", "agentId", "userType", "isSidechain")
RESERVED_NAMES = frozenset(
    {
        *("author_kind", "user_type", "session_id", "agent_id", "api_message_id", "model_override", "stop_reason"),
        *("request_id", "other_request_ids", "source_ids", "revisions", "tokens_partial", "continues", "completed_at"),
        *("hidden", "queued", "returned_to_input", "is_compact_summary", "agent_conversation_id", "invalid_fields"),
        *("missing_parent", "parent_inferred", "timestamp_inferred", "on_active_path", "context_incomplete"),
        *(
            "duration_ms",
            "command_name",
            "command_args",
            "stored_text",
            "interrupted",
            "source_fields",
            "answer_tokens",
        ),
    }
)
"""Metadata names that the importer itself uses; a source's field of the same name goes to `source_fields`."""

ALWAYS_MAPPED = ("uuid", "parentUuid", "timestamp", "type")

_MAX_SHAPES = 4096


class Shape:
    """The keys of a line, classified."""

    __slots__ = ("clashing", "has_unmapped", "header", "header_keys", "own")

    def __init__(self, keys: tuple[str, ...], mapped: set[str], header: tuple[str, ...]) -> None:
        self.header_keys = _interned_keys(tuple(key for key in keys if key in header))
        self.header: Callable[[JsonObject], Any] = itemgetter(*self.header_keys) if self.header_keys else _no_header
        unmapped = [key for key in keys if key not in header and key not in mapped]
        self.own = tuple(key for key in unmapped if key not in RESERVED_NAMES)
        """Unmapped fields, which go to the message's metadata under their own names."""
        self.clashing = tuple(key for key in unmapped if key in RESERVED_NAMES)
        """Unmapped fields with a reserved name."""
        self.has_unmapped = bool(unmapped)

    def keep_unmapped(self, record: JsonObject, metadata: JsonObject) -> None:
        """Add the unmapped fields of a line to metadata, without replacing values that are already there."""
        for key in self.own:
            if (value := record[key]) is not None:
                metadata.setdefault(key, value)
        for key in self.clashing:
            if (value := record[key]) is not None:
                metadata.setdefault("source_fields", {})[key] = value


@cache
def _interned_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return one object for equal keys, so that they can be compared by identity."""
    return keys


def _no_header(_record: JsonObject) -> tuple[()]:
    return ()


def keep_field(metadata: JsonObject, key: str, value: Any) -> None:
    """Add a source's field to metadata under its own name, or below `source_fields` if the name is reserved."""
    if key in RESERVED_NAMES:
        metadata.setdefault("source_fields", {})[key] = value
    else:
        metadata.setdefault(key, value)


class Shapes(dict[tuple[str, ...], Shape]):
    """A cache of the shapes of the lines that one handler takes, by their keys; `mapped` are the fields it maps.

    Use `has_header=False` for the messages inside the lines, which repeat nothing.
    """

    def __init__(self, *mapped: str, has_header: bool = True) -> None:
        super().__init__()
        self._header = HEADER_FIELDS if has_header else ()
        self._mapped = {*mapped, *(ALWAYS_MAPPED if has_header else ())}

    def __missing__(self, keys: tuple[str, ...]) -> Shape:
        if len(self) >= _MAX_SHAPES:
            self.clear()
        shape = self[keys] = Shape(keys, self._mapped, self._header)
        return shape


class Header:
    """The header of one conversation: the first value of each field holds for all lines that repeat it."""

    __slots__ = ("_agent_id", "_extras", "_keys", "_session_id", "_values", "seen")

    def __init__(self, session_id: str | None, agent_id: str | None) -> None:
        self.seen: dict[str, list[Any]] = {"cwd": [], "gitBranch": [], "version": [], "slug": [], "entrypoint": []}
        self._session_id = session_id
        self._agent_id = agent_id
        self._keys: tuple[str, ...] = ("?",)
        self._values: Any = None
        self._extras: JsonObject = {}

    def metadata(self, record: JsonObject, shape: Shape) -> JsonObject:
        """Return new metadata: header fields that differ from the conversation's, and the line's own fields."""
        values = shape.header(record)
        if values != self._values or shape.header_keys is not self._keys:
            self._extras = self._differences(record, shape.header_keys)
            self._keys = shape.header_keys
            self._values = values
        metadata = self._extras.copy()
        for key in shape.own:
            if (value := record[key]) is not None:
                metadata[key] = value
        if shape.clashing:
            shape.keep_unmapped(record, metadata)
        return metadata

    def _differences(self, record: JsonObject, keys: tuple[str, ...]) -> JsonObject:
        extras: JsonObject = {}
        for key in keys:
            value = record[key]
            if value is None:
                continue
            if key == "userType":
                extras["user_type"] = value
            elif key == "sessionId":
                if value != self._session_id:
                    extras["session_id"] = value
            elif key == "agentId":
                if value != self._agent_id:
                    extras["agent_id"] = value
            elif key != "isSidechain":
                self._add_header_value(extras, key, value)
        return extras

    def _add_header_value(self, extras: JsonObject, key: str, value: Any) -> None:
        values = self.seen[key]
        if not values:
            values.append(value)
        elif value != values[0]:
            extras[key] = value
            if value not in values:
                values.append(value)
