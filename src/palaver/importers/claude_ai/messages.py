"""Messages: drafted one by one, then placed in the tree of their parents and in time."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from palaver.importers._shared.findings import INFERRED_TIMESTAMP, MADE_MESSAGE_ID, MISSING_PARENT, PARENT_CYCLE
from palaver.importers._shared.tree import Tree, grow
from palaver.importers.claude_ai.content import content
from palaver.importers.claude_ai.reading import Reading, take_text, with_fields
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.model.ids import deterministic_uuid

UNKNOWN_SENDER = finding_kind(
    "unknown-sender", "warning", "A message does not say who wrote it, or in an unknown word; it stands as `system`."
)


ROOT = "00000000-0000-4000-8000-000000000000"
"""What a message names as its parent when it has none."""
_NOWHERE = "\0"
"""Stands for a parent that is no id: no message has this one."""

_SENDERS: Mapping[Any, tuple[build.Role, str]] = {"human": ("user", "human"), "assistant": ("assistant", "model")}
OWN_NAMES = frozenset(
    {
        *("author_kind", "model_override", "timestamp_inferred", "missing_parent", "on_active_path"),
        *("branch_index", "branch_count", "fork_point", "source_fields", "invalid_fields"),
    }
)


class Messages:
    """The messages of one conversation."""

    def __init__(self, conversation_id: str, reading: Reading, where: str) -> None:
        self._conversation_id = conversation_id
        self._reading = reading
        self._where = where
        self._drafts: dict[str, JsonObject] = {}
        self._parents: dict[str, Any] = {}
        """What each message says its parent is; empty if none says anything."""

    def add(self, fields: JsonObject) -> None:
        """Draft a message; its place and, if it has none, its time come later."""
        message_id = self._id(fields)
        where = f"{self._where}, message {message_id}"

        def note(kind: FindingKind, message: str) -> None:
            self._reading.run.note(kind, where, message)

        if (parent := fields.pop("parent_message_uuid", None)) is not None:
            self._parents[message_id] = parent
        timestamp = self._reading.time(fields, "created_at", where)
        metadata: JsonObject = {}
        role: build.Role = "system"
        if isinstance(sender := fields.get("sender"), str) and sender in _SENDERS:
            role, metadata["author_kind"] = _SENDERS[fields.pop("sender")]
        else:
            note(UNKNOWN_SENDER, f"sender {sender!r}")
        if (model := take_text(fields, "model")) is not None:
            metadata["model_override"] = model
        blocks = content(fields, note)
        self._drafts[message_id] = build.message(
            message_id=message_id,
            role=role,
            timestamp=timestamp or "",
            content=blocks,
            metadata=with_fields(metadata, fields, OWN_NAMES),
        )

    def times(self) -> list[str]:
        """The times that the messages state themselves."""
        return [draft["timestamp"] for draft in self._drafts.values() if draft["timestamp"]]

    def placed(self, leaf: Any, created_at: str) -> list[JsonObject]:
        """All messages, each after its parent; `leaf` is where the conversation ends, if it says so."""
        if self._parents:
            tree = self._grown()
            self._mark_branches(tree, leaf)
            order = tree.order
        else:
            order = list(self._drafts)
            for parent, message_id in pairwise(order):
                self._drafts[message_id]["parent_message_id"] = parent
        for message_id in order:
            self._date(self._drafts[message_id], created_at)
        return [self._drafts[message_id] for message_id in order]

    def _id(self, fields: JsonObject) -> str:
        uuid = fields.get("uuid")
        if isinstance(uuid, str) and uuid and uuid not in self._drafts:
            return fields.pop("uuid")
        made = deterministic_uuid(f"{self._conversation_id}-{len(self._drafts)}")
        while made in self._drafts:
            made = deterministic_uuid(f"{made}+")
        self._reading.run.note(MADE_MESSAGE_ID, f"{self._where}, message {made}", f"uuid {uuid!r}")
        return made

    def _grown(self) -> Tree:
        links: dict[str, str | None] = dict.fromkeys(self._drafts)
        for message_id, parent in self._parents.items():
            if parent != ROOT:
                links[message_id] = parent if isinstance(parent, str) else _NOWHERE
        tree = grow(links, lambda message_id: self._drafts[message_id]["timestamp"])
        for kind, nodes in ((MISSING_PARENT, tree.dangling), (PARENT_CYCLE, tree.circular)):
            for message_id in nodes:
                self._note_parent(kind, message_id)
        for message_id, parent in tree.parents.items():
            if parent is not None:
                self._drafts[message_id]["parent_message_id"] = parent
        return tree

    def _note_parent(self, kind: FindingKind, message_id: str) -> None:
        self._drafts[message_id]["metadata"]["missing_parent"] = self._parents[message_id]
        self._reading.run.note(kind, f"{self._where}, message {message_id}")

    def _mark_branches(self, tree: Tree, leaf: Any) -> None:
        if not (isinstance(leaf, str) and leaf in self._drafts):
            leaf = tree.newest_leaf(lambda message_id: self._drafts[message_id]["timestamp"])
        path = tree.path_to(leaf)
        for message_id in tree.order:
            metadata = self._drafts[message_id]["metadata"]
            metadata["on_active_path"] = message_id in path
            metadata.update(tree.fork(message_id, tree.parents[message_id]))

    def _date(self, draft: JsonObject, created_at: str) -> None:
        if draft["timestamp"]:
            return
        parent = self._drafts.get(draft.get("parent_message_id", ""))
        draft["timestamp"] = parent["timestamp"] if parent else created_at
        draft["metadata"]["timestamp_inferred"] = True
        if "created_at" not in draft["metadata"]:
            self._reading.run.note(INFERRED_TIMESTAMP, f"{self._where}, message {draft['message_id']}")
