"""The nodes of one conversation: their parents, their order, and the branch that was shown last."""

from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MISSING_PARENT, PARENT_CYCLE
from palaver.importers._shared.message_tree import Tree, build_tree
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import timestamp_or_empty
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
        self.unmapped_fields: dict[str, JsonObject] = {}
        """Fields of nodes that are neither a message nor a link."""
        self.active: AbstractSet[str] | None = None
        self.is_chain = True
        """Whether each node's parent is the one before it, as in most conversations that were never edited."""
        self._is_flat = False
        """Whether no node has a link, so that only their order is known."""
        if not self._read_columns(mapping):
            self._read_nodes(mapping)

    def _read_columns(self, mapping: JsonObject) -> bool:
        """Read nodes of the usual shape column by column; return False if any node has another shape."""
        try:
            (size,) = set(map(len, mapping.values()))
            parents, messages, ids, *_ = zip(*map(_NODE_FIELDS[size], mapping.values()), strict=True)
        except (KeyError, TypeError, ValueError):
            return False
        if ids != tuple(mapping) or not (
            _PARENT_TYPES.issuperset(map(type, parents)) and _MESSAGE_TYPES.issuperset(map(type, messages))
        ):
            return False
        self.links = dict(zip(mapping, parents, strict=True))
        self.messages = {key: message for key, message in zip(mapping, messages, strict=True) if message is not None}
        self.is_chain = parents[0] is None and parents[1:] == ids[:-1]
        return True

    def _read_nodes(self, mapping: JsonObject) -> None:
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
                    self.unmapped_fields[key] = {"parent": parent}
                    parent = None
            links[key] = parent
            if is_object and node.get("id", key) != key:
                self.unmapped_fields.setdefault(key, {})["id"] = node["id"]
            if is_object and not node.keys() <= _MAPPED_FIELDS:
                rest = {name: value for name, value in node.items() if name not in _MAPPED_FIELDS}
                self.unmapped_fields.setdefault(key, {}).update(rest)
            if isinstance(message, dict):
                messages[key] = message
            elif message is not None:
                messages[key] = {"content": message}
            last = key
        if unlinked:
            self._link_by_children(mapping)
            self._is_flat = unlinked == len(links) and not any(links.values())

    def _link_by_children(self, mapping: JsonObject) -> None:
        """Find the parents of nodes that do not name them, in the lists of children."""
        for key, node in mapping.items():
            children = node.get("children") if isinstance(node, dict) else None
            for child in children if isinstance(children, list) else ():
                if isinstance(child, str) and child in self.links and "parent" not in mapping[child]:
                    self.links[child] = key
                    self.is_chain = False

    def earliest(self) -> str:
        return min((time for key in self.messages if (time := self.time_of(key))), default="")

    def time_of(self, key: str) -> str:
        """Return a node's own time; "" if it has none."""
        known = self._times.get(key)
        if known is None:
            message = self.messages.get(key)
            known = self._times[key] = timestamp_or_empty(message.get("create_time")) if message else ""
        return known

    def resolve(self, current: Any, created_at: str) -> None:
        """Order the nodes, and find those on the branch that was shown last."""
        self.created_at = created_at
        if self._is_flat and current is None:
            self.tree = Tree(list(self.links), self.links)
            return
        self.tree = Tree(list(self.links), self.links) if self.is_chain else build_tree(self.links, self.time_of)
        self.is_chain = self.tree.is_chain
        for key in self.tree.dangling:
            self._run.note(MISSING_PARENT, f"{self._where}, node {key}", f"its parent {self.links[key]!r} is not there")
        for key in self.tree.circular:
            self._run.note(PARENT_CYCLE, f"{self._where}, node {key}")
        if not (isinstance(current, str) and current in self.links):
            current = self.tree.newest_leaf(self.time_of)
            if self.messages:
                self._run.note(NO_CURRENT_NODE, self._where)
        is_whole = self.is_chain and self.tree.order[-1:] == [current]
        self.active = self.links.keys() if is_whole else self.tree.path_to(current)

    def note_branch(self, key: str, above: str | None, metadata: JsonObject) -> None:
        """Add the branch of a message, and its missing parent, to the metadata."""
        if key in self.tree.branches:
            metadata.update(self.tree.branch_metadata(key, above))
        if self.tree.parents[key] is None and self.links[key] is not None:
            metadata["missing_parent"] = self.links[key]

    def note_inferred_time(self, key: str, stated: Any, metadata: JsonObject) -> None:
        """Mark a message whose time was inferred."""
        metadata["timestamp_inferred"] = True
        if stated is None:
            self._run.note(INFERRED_TIMESTAMP, f"{self._where}, node {key}")
        else:
            metadata["create_time"] = stated
            self.note_bad_time("create_time", stated, f", node {key}")

    def note_bad_time(self, name: str, stated: Any, suffix: str = "") -> None:
        self._run.note(BAD_TIMESTAMP, self._where + suffix, f"{name} {stated!r:.60}")


_NODE_FIELDS = {
    3: itemgetter("parent", "message", "id"),
    4: itemgetter("parent", "message", "id", "children"),
}
"""Getters of the fields of nodes, by their number; since 2026 nodes have no children."""
_PARENT_TYPES = frozenset({str, type(None)})
_MESSAGE_TYPES = frozenset({dict, type(None)})
_MAPPED_FIELDS = frozenset({"id", "message", "parent", "children"})
