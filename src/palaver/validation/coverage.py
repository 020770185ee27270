"""What conversations are made of: which fields of the schema are filled, which fields of a source have no place there.

Messages of one platform come in few shapes, so keys are looked at once a shape, and counted by shape.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import itemgetter

from palaver.model.build import JsonObject
from palaver.model.publish import published

Shape = tuple[str, ...]
Sorted = tuple[frozenset[str], tuple[str, ...]]

_UNMAPPED_KEPT = 2_000
"""Names that are counted; a hostile source could make up any number."""
_SHAPES_KEPT = 10_000
_content, _type, _role = itemgetter("content"), itemgetter("type"), itemgetter("role")
_INSIDE_MESSAGES = ("tokens", "cost", "metadata")
OTHERS = "…"
"""Stands for all names past the limit."""


@dataclass(slots=True)
class Unmapped:
    conversations: int = 0
    count: int = 0


@dataclass(slots=True)
class CoverageTally:
    """Adds up the documents of one platform."""

    own_names: frozenset[str] = frozenset()
    """Names in metadata that the importer itself gives: they are no fields of the source."""
    conversations: int = 0
    messages: int = 0
    roles: Counter[str] = field(default_factory=Counter[str])
    blocks: Counter[str] = field(default_factory=Counter[str])
    versions: Counter[str] = field(default_factory=Counter[str])
    fields: Counter[str] = field(default_factory=Counter[str])
    """By field, the conversations in which it is filled."""
    unmapped: dict[str, Unmapped] = field(default_factory=dict[str, Unmapped])
    _open: dict[str, tuple[set[str], str | None]] = field(default_factory=dict[str, tuple[set[str], str | None]])
    _sorted: dict[tuple[str, Shape], Sorted] = field(default_factory=dict[tuple[str, Shape], Sorted])

    def add(self, document: JsonObject) -> bool:
        """Take in a document; whether it holds blocks that are kept whole."""
        messages: list[JsonObject] = document["messages"]
        self.messages += len(messages)
        self.roles.update(map(_role, messages))
        kinds = Counter(map(_type, chain.from_iterable(map(_content, messages))))
        self.blocks.update(kinds)
        known, unmapped = self._sort(_filled(document, ""))
        names = set(known)
        for name in unmapped:
            self.unmapped[name].count += 1
            names.add(name)
        self._meet_shapes("messages[].", messages, names)
        for inner in _INSIDE_MESSAGES:
            parts = [part for message in messages if (part := message.get(inner))]
            self._meet_shapes(f"messages[].{inner}.", parts, names)
        self._settle(document, names)
        return "opaque" in kinds

    def _meet_shapes(self, above: str, parts: list[JsonObject], names: set[str]) -> None:
        if len(self._sorted) > _SHAPES_KEPT:
            self._sorted.clear()
        for shape, count in Counter(map(_shape, parts)).items():
            found = self._sorted.get((above, shape))
            if found is None:
                found = self._sorted[above, shape] = self._sort([above + name for name in shape])
            known, unmapped = found
            names |= known
            for name in unmapped:
                self.unmapped[name].count += count
                names.add(name)

    def _sort(self, fields: Iterable[str]) -> Sorted:
        """Fields that the schema knows, and those of the source that were kept under their own names."""
        known: set[str] = set()
        unmapped: list[str] = []
        for name in fields:
            if name in _known():
                known.add(name)
            elif name not in _parts() and name.rpartition(".")[2] not in self.own_names:
                kept = name if name in self.unmapped or len(self.unmapped) < _UNMAPPED_KEPT else OTHERS
                self.unmapped.setdefault(kept, Unmapped())
                unmapped.append(kept)
        return frozenset(known), tuple(unmapped)

    def _settle(self, document: JsonObject, names: set[str]) -> None:
        """A conversation counts once, however many documents it comes in."""
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
            kept = name if name in self.unmapped or len(self.unmapped) < _UNMAPPED_KEPT else OTHERS
            into = self.unmapped.setdefault(kept, Unmapped())
            into.conversations += unmapped.conversations
            into.count += unmapped.count


def _shape(part: JsonObject) -> Shape:
    """The keys that are filled."""
    if None in part.values():
        return tuple(key for key, value in part.items() if value is not None)
    return tuple(part)


def _filled(part: JsonObject, above: str) -> Iterator[str]:
    """The fields outside messages that a document fills."""
    for key, value in part.items():
        if value is not None and (above or key not in _COUNTED_APART):
            full = above + key
            yield full
            if isinstance(value, dict) and (full in _parts() or full in _OPEN):
                yield from _filled(value, f"{full}.")


_COUNTED_APART = {"messages", "fragment"}
_OPEN = {"platform.metadata", "context.custom"}
"""Where fields of the source are kept under their own names."""


@cache
def schema_fields() -> tuple[str, ...]:
    """Every field of a conversation document, in the order of the schema; blocks are counted by their type instead."""
    return tuple(name for name, is_part in _fields(published("conversation"), "") if not is_part)


@cache
def _known() -> frozenset[str]:
    return frozenset(schema_fields())


@cache
def _parts() -> frozenset[str]:
    """Fields that only hold others."""
    return frozenset(name for name, is_part in _fields(published("conversation"), "") if is_part) | {
        "messages[].content"
    }


def _fields(schema: JsonObject, above: str) -> Iterator[tuple[str, bool]]:
    definitions = published("conversation")["$defs"]
    for name, part in schema["properties"].items():
        full = above + name
        if full in {"fragment", "messages[].content"}:
            continue
        inner = None if full in _LEAVES else _definition(part, definitions)
        yield full, inner is not None
        if inner is not None:
            yield from _fields(inner, f"{full}[]." if full == "messages" else f"{full}.")


_LEAVES = {"summaries", "messages[].tokens.cache_creation"}
"""Looked at as one."""


def _definition(part: JsonObject, definitions: JsonObject) -> JsonObject | None:
    """The object that a field holds, or a list of such, if it is one of the schema's own."""
    for branch in (part, part.get("items", {}), *part.get("anyOf", ())):
        if reference := branch.get("$ref"):
            inner = definitions[reference.rpartition("/")[2]]
            return inner if "properties" in inner else None
    return None
