"""One conversation of an export: its tree of nodes, all branches of it, and what is said about the whole."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palaver.importers._tree import Tree, grow
from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.feedback import Feedback
from palaver.importers.chatgpt.message import Reader, calls
from palaver.model import build
from palaver.model.finding import finding_kind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.run import Run

NO_CURRENT_NODE = finding_kind(
    "no-current-node", "note", "Which branch was shown last is not said; the newest one counts as active."
)

Json = dict[str, Any]

PLATFORM = "chatgpt"

_MAPPED = frozenset({"title", "create_time", "update_time", "mapping", "conversation_id"})
_SAY_NOTHING = (None, False, "", [], {})
_NAMELESS = "(no key)"


@dataclass(slots=True)
class Surroundings:
    """What an export says beside its conversations."""

    assets: Assets
    feedback: Feedback
    shared: dict[str, list[Json]]
    """By the conversation's id: under which links it was shared."""
    fallback_time: Callable[[], str]
    is_sharded: bool = False


def identity(raw: Json) -> str:
    """A conversation's id: the service's own, else one that is always the same for the same content."""
    for name in ("conversation_id", "id"):
        if type(found := raw.get(name)) is str and found:
            return found
    return conversation_uuid(PLATFORM, raw.get("create_time"), "-".join([str(raw.get("title")), *raw["mapping"]]))


def document(raw: Json, around: Surroundings, run: Run, where: str, wrapper: Json) -> Json:
    """The whole conversation; every node with a message is one message of it."""
    nodes = Nodes(raw["mapping"], run, where)
    conversation_id = identity(raw)
    created_at = _time(raw.get("create_time")) or nodes.earliest() or around.fallback_time()
    nodes.settle(raw.get("current_node"), created_at)
    messages = _messages(nodes, Reader(run, around.assets, where), around.feedback)
    rating = around.feedback.rating(conversation_id)
    return build.conversation(
        conversation_id=conversation_id,
        title=title if type(title := raw.get("title")) is str else None,
        platform=_platform(raw, nodes, around, conversation_id, messages, wrapper),
        session=_session(messages),
        created_at=created_at,
        updated_at=_time(raw.get("update_time")),
        status="archived" if raw.get("is_archived") is True else None,
        messages=messages,
        rating=rating,
    )


class Nodes:
    """The nodes of one conversation, put in order."""

    def __init__(self, mapping: Json, run: Run, where: str) -> None:
        self._run = run
        self._where = where
        self._times: dict[str, str] = {}
        self.messages: dict[str, Json] = {}
        self.links: dict[str, str | None] = {}
        self.is_flat = True
        is_linked = True
        for key, node in mapping.items():
            if node.__class__ is dict:
                message = node.get("message")
                parent = node.get("parent")
                if "parent" in node:
                    self.is_flat = False
                else:
                    is_linked = False
            else:
                message, parent = {"content": node}, None
            self.links[key] = parent if parent.__class__ is str else None
            if parent is not None and parent.__class__ is not str:
                run.note(MISSING_PARENT, f"{where}, node {key}", f"a parent of type {type(parent).__name__}")
            if message.__class__ is dict:
                self.messages[key] = message
            elif message is not None:
                self.messages[key] = {"content": message}
        if not is_linked:
            self._link_by_children(mapping)

    def _link_by_children(self, mapping: Json) -> None:
        """Find the parents that nodes do not name themselves in the lists of others."""
        for key, node in mapping.items():
            children = node.get("children") if node.__class__ is dict else None
            for child in children if type(children) is list else ():
                if type(child) is str and child in self.links and "parent" not in mapping[child]:
                    self.links[child] = key
                    self.is_flat = False

    def earliest(self) -> str:
        return min((time for key in self.messages if (time := self.age(key))), default="")

    def age(self, key: str) -> str:
        """A node's own time; empty where it has none."""
        known = self._times.get(key)
        if known is None:
            message = self.messages.get(key)
            known = self._times[key] = (_time(message.get("create_time")) or "") if message else ""
        return known

    def settle(self, current: Any, created_at: str) -> None:
        """Put the nodes in order, and say which of them are on the branch that was shown last."""
        self._created_at = created_at
        if self.is_flat and current is None:
            self.tree = Tree(list(self.links), self.links)
            self.active: set[str] | None = None
            return
        self.tree = grow(self.links, self.age)
        for key in self.tree.dangling:
            self._run.note(MISSING_PARENT, f"{self._where}, node {key}", f"its parent {self.links[key]!r} is not there")
        for key in self.tree.circular:
            self._run.note(PARENT_CYCLE, f"{self._where}, node {key}")
        if not (type(current) is str and current in self.links):
            current = self.tree.newest_leaf(self.age)
            if self.messages:
                self._run.note(NO_CURRENT_NODE, self._where)
        self.active = self.tree.path_to(current)

    def timestamp(self, key: str, parent: str | None, metadata: Json) -> str: ...
