"""The nodes of one conversation: which hangs on which, in what order they stand, and which were shown last."""

from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MISSING_PARENT, PARENT_CYCLE
from palaver.importers._shared.tree import Tree, grow
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run

NO_CURRENT_NODE = finding_kind(
    "no-current-node", "note", "Which branch was shown last is not said; the newest one counts as active."
)


class Nodes:
    """The nodes of one conversation, put in order."""

    def __init__(self, mapping: JsonObject, run: Run, where: str) -> None:
        self._run = run
        self._where = where
        self._times: dict[str, str] = {}
        self.messages: dict[str, JsonObject] = {}
        self.links: dict[str, str | None] = {}
        self.beside: dict[str, JsonObject] = {}
        """What nodes say that is neither a message nor a link."""
        self.active: AbstractSet[str] | None = None
        self.is_chain = True
        """Whether each node hangs on the one before it, as in most conversations that were never edited."""
        self._is_flat = False
        """Whether no node says anything about its place: then their order is all there is."""
        if not self._take_plain(mapping):
            self._take_each(mapping)

    def _take_plain(self, mapping: JsonObject) -> bool:
        """Take in nodes that are all as the service writes them, in columns; False if any of them is not."""
        try:
            (size,) = set(map(len, mapping.values()))
            parents, messages, ids, *_ = zip(*map(_PLACES[size], mapping.values()), strict=True)
        except (KeyError, TypeError, ValueError):
            return False
        if ids != tuple(mapping) or not (
            _LINKS.issuperset(map(type, parents)) and _SAID.issuperset(map(type, messages))
        ):
            return False
        self.links = dict(zip(mapping, parents, strict=True))
        self.messages = {key: message for key, message in zip(mapping, messages, strict=True) if message is not None}
        self.is_chain = parents[0] is None and parents[1:] == ids[:-1]
        return True

    def _take_each(self, mapping: JsonObject) -> None:
        links, messages = self.links, self.messages
        last: Any = None
        unlinked = 0
        for key, node in mapping.items():
            is_object = isinstance(node, dict)
            parent, message = (node.get("parent"), node.get("message")) if is_object else (None, {"content": node})
            unlinked += is_object and "parent" not in node
            if parent != last:
                self.is_chain = False
                if parent is not None and not isinstance(parent, str):
                    where = f"{self._where}, node {key}"
                    self._run.note(MISSING_PARENT, where, f"a parent of type {type(parent).__name__}")
                    self.beside[key] = {"parent": parent}
                    parent = None
            links[key] = parent
            if is_object and node.get("id", key) != key:
                self.beside.setdefault(key, {})["id"] = node["id"]
            if is_object and not node.keys() <= _NODE:
                rest = {name: value for name, value in node.items() if name not in _NODE}
                self.beside.setdefault(key, {}).update(rest)
            if isinstance(message, dict):
                messages[key] = message
            elif message is not None:
                messages[key] = {"content": message}
            last = key
        if unlinked:
            self._link_by_children(mapping)
            self._is_flat = unlinked == len(links) and not any(links.values())

    def _link_by_children(self, mapping: JsonObject) -> None:
        """Find the parents that nodes do not name themselves in the lists of others."""
        for key, node in mapping.items():
            children = node.get("children") if isinstance(node, dict) else None
            for child in children if isinstance(children, list) else ():
                if isinstance(child, str) and child in self.links and "parent" not in mapping[child]:
                    self.links[child] = key
                    self.is_chain = False

    def earliest(self) -> str:
        return min((time for key in self.messages if (time := self.age(key))), default="")

    def age(self, key: str) -> str:
        """A node's own time; empty where it has none."""
        known = self._times.get(key)
        if known is None:
            message = self.messages.get(key)
            known = self._times[key] = readable_timestamp(message.get("create_time")) if message else ""
        return known

    def settle(self, current: Any, created_at: str) -> None:
        """Put the nodes in order, and say which of them are on the branch that was shown last."""
        self.created_at = created_at
        if self._is_flat and current is None:
            self.tree = Tree(list(self.links), self.links)
            return
        self.tree = Tree(list(self.links), self.links) if self.is_chain else grow(self.links, self.age)
        self.is_chain = self.tree.is_chain
        for key in self.tree.dangling:
            self._run.note(MISSING_PARENT, f"{self._where}, node {key}", f"its parent {self.links[key]!r} is not there")
        for key in self.tree.circular:
            self._run.note(PARENT_CYCLE, f"{self._where}, node {key}")
        if not (isinstance(current, str) and current in self.links):
            current = self.tree.newest_leaf(self.age)
            if self.messages:
                self._run.note(NO_CURRENT_NODE, self._where)
        is_whole = self.is_chain and self.tree.order[-1:] == [current]
        self.active = self.links.keys() if is_whole else self.tree.path_to(current)

    def note_place(self, key: str, above: str | None, metadata: JsonObject) -> None:
        """Tell of the branches that a message is one of, and of a parent that is not there."""
        if key in self.tree.branches:
            metadata.update(self.tree.fork(key, above))
        if self.tree.parents[key] is None and self.links[key] is not None:
            metadata["missing_parent"] = self.links[key]

    def note_time(self, key: str, stated: Any, metadata: JsonObject) -> None:
        """Mark a message whose time is not its own."""
        metadata["timestamp_inferred"] = True
        if stated is None:
            self._run.note(INFERRED_TIMESTAMP, f"{self._where}, node {key}")
        else:
            metadata["create_time"] = stated
            self.note_bad_time("create_time", stated, f", node {key}")

    def note_bad_time(self, name: str, stated: Any, place: str = "") -> None:
        self._run.note(BAD_TIMESTAMP, self._where + place, f"{name} {stated!r:.60}")


_PLACES = {
    3: itemgetter("parent", "message", "id"),
    4: itemgetter("parent", "message", "id", "children"),
}
"""By the number of fields that nodes have: those that all of them have then, since 2026 without their children."""
_LINKS = frozenset({str, type(None)})
_SAID = frozenset({dict, type(None)})
_NODE = frozenset({"id", "message", "parent", "children"})
