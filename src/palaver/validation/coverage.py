"""Coverage: which fields of the schema conversations fill, and which source fields have no place in the schema.

Messages of one platform have few distinct sets of keys ("shapes"), so keys are classified once per shape.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import itemgetter

from palaver.model.build import JsonObject
from palaver.model.schemas import published_schema

Shape = tuple[str, ...]
Classified = tuple[frozenset[str], tuple[str, ...]]

_MAX_UNMAPPED = 2_000
"""Limit on distinct names; a hostile source could make up any number."""
_MAX_SHAPES = 10_000
_content, _type, _role = itemgetter("content"), itemgetter("type"), itemgetter("role")
_INSIDE_MESSAGES = ("tokens", "cost", "metadata")
OTHERS = "…"
"""Collects all names past the limit."""


@dataclass(slots=True)
class Unmapped:
    conversations: int = 0
    count: int = 0


@dataclass(slots=True)
class CoverageTally:
    """Running totals of the documents of one platform."""

    own_names: frozenset[str] = frozenset()
    """Names in metadata that the importer itself adds: they are not source fields."""
    conversations: int = 0
    messages: int = 0
    roles: Counter[str] = field(default_factory=Counter[str])
    blocks: Counter[str] = field(default_factory=Counter[str])
    versions: Counter[str] = field(default_factory=Counter[str])
    fields: Counter[str] = field(default_factory=Counter[str])
    """By field, the number of conversations that fill it."""
    unmapped: dict[str, Unmapped] = field(default_factory=dict[str, Unmapped])
    _open: dict[str, tuple[set[str], str | None]] = field(default_factory=dict[str, tuple[set[str], str | None]])
    _classified: dict[tuple[str, Shape], Classified] = field(default_factory=dict[tuple[str, Shape], Classified])

    def add(self, document: JsonObject) -> bool:
        """Add a document; return whether it has opaque blocks."""
        messages: list[JsonObject] = document["messages"]
        self.messages += len(messages)
        self.roles.update(map(_role, messages))
        kinds = Counter(map(_type, chain.from_iterable(map(_content, messages))))
        self.blocks.update(kinds)
        known, unmapped = self._classify(_filled(document, ""))
        names = set(known)
        for name in unmapped:
            self.unmapped[name].count += 1
            names.add(name)
        self._add_shapes("messages[].", messages, names)
        for inner in _INSIDE_MESSAGES:
            parts = [part for message in messages if (part := message.get(inner))]
            self._add_shapes(f"messages[].{inner}.", parts, names)
        self._finish_document(document, names)
        return "opaque" in kinds

    def _add_shapes(self, above: str, parts: list[JsonObject], names: set[str]) -> None:
        if len(self._classified) > _MAX_SHAPES:
            self._classified.clear()
        for shape, count in Counter(map(_shape, parts)).items():
            found = self._classified.get((above, shape))
            if found is None:
                found = self._classified[above, shape] = self._classify([above + name for name in shape])
            known, unmapped = found
            names |= known
            for name in unmapped:
                self.unmapped[name].count += count
                names.add(name)

    def _classify(self, fields: Iterable[str]) -> Classified:
        """Split fields into those of the schema and those of the source."""
        known: set[str] = set()
        unmapped: list[str] = []
        for name in fields:
            if name in _known_fields():
                known.add(name)
            elif name not in _container_fields() and name.rpartition(".")[2] not in self.own_names:
                bucket = name if name in self.unmapped or len(self.unmapped) < _MAX_UNMAPPED else OTHERS
                self.unmapped.setdefault(bucket, Unmapped())
                unmapped.append(bucket)
        return frozenset(known), tuple(unmapped)

    def _finish_document(self, document: JsonObject, names: set[str]) -> None:
        """Count the conversation if this is its last document."""
        fragment, version = document.get("fragment"), document["platform"].get("version")
        if fragment:
            conversation_id = document["conversation_id"]
            before, stated = self._open.pop(conversation_id, (set[str](), None))
            names |= before
            version = version or stated
            if not fragment["final"]:
                self._open[conversation_id] = names, version
                return
        self._count(names, version)

    def _count(self, names: set[str], version: str | None) -> None:
        self.conversations += 1
        if version:
            self.versions[version] += 1
        for name in names:
            if name in self.unmapped:
                self.unmapped[name].conversations += 1
            else:
                self.fields[name] += 1

    def close(self) -> None:
        """Count conversations whose last fragment never came."""
        for names, version in self._open.values():
            self._count(names, version)
        self._open.clear()

    def merge(self, other: "CoverageTally") -> None:
        self.conversations += other.conversations
        self.messages += other.messages
        for mine, theirs in (
            (self.roles, other.roles),
            (self.blocks, other.blocks),
            (self.versions, other.versions),
            (self.fields, other.fields),
        ):
            mine.update(theirs)
        for name, unmapped in other.unmapped.items():
            bucket = name if name in self.unmapped or len(self.unmapped) < _MAX_UNMAPPED else OTHERS
            into = self.unmapped.setdefault(bucket, Unmapped())
            into.conversations += unmapped.conversations
            into.count += unmapped.count


def _shape(part: JsonObject) -> Shape:
    """Return the keys with a value."""
    if None in part.values():
        return tuple(key for key, value in part.items() if value is not None)
    return tuple(part)


def _filled(part: JsonObject, above: str) -> Iterator[str]:
    """Yield the fields outside messages that a document fills."""
    for key, value in part.items():
        if value is not None and (above or key not in _COUNTED_APART):
            full = above + key
            yield full
            if isinstance(value, dict) and (full in _container_fields() or full in _OPEN_OBJECTS):
                yield from _filled(value, f"{full}.")


_COUNTED_APART = {"messages", "fragment"}
_OPEN_OBJECTS = {"platform.metadata", "context.custom"}
"""Where importers put source fields under their own names."""


@cache
def schema_fields() -> tuple[str, ...]:
    """Return every field of a conversation document, in schema order; blocks are counted by type instead."""
    return tuple(name for name, is_container in _fields(published_schema("conversation"), "") if not is_container)


@cache
def _known_fields() -> frozenset[str]:
    return frozenset(schema_fields())


@cache
def _container_fields() -> frozenset[str]:
    """Return the fields that only contain other fields."""
    return frozenset(name for name, is_container in _fields(published_schema("conversation"), "") if is_container) | {
        "messages[].content"
    }


def _fields(schema: JsonObject, above: str) -> Iterator[tuple[str, bool]]:
    definitions = published_schema("conversation")["$defs"]
    for name, part in schema["properties"].items():
        full = above + name
        if full in {"fragment", "messages[].content"}:
            continue
        inner = None if full in _LEAF_FIELDS else _definition(part, definitions)
        yield full, inner is not None
        if inner is not None:
            yield from _fields(inner, f"{full}[]." if full == "messages" else f"{full}.")


_LEAF_FIELDS = {"summaries", "messages[].tokens.cache_creation"}
"""Objects and lists that count as one field."""


def _definition(part: JsonObject, definitions: JsonObject) -> JsonObject | None:
    """Return the schema of the object, or list of objects, in a field; None if the schema does not define one."""
    for branch in (part, part.get("items", {}), *part.get("anyOf", ())):
        if reference := branch.get("$ref"):
            inner = definitions[reference.rpartition("/")[2]]
            return inner if "properties" in inner else None
    return None
