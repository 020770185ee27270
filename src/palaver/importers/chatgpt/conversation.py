"""One conversation of an export: its tree of nodes, all branches of it, and what is said about the whole."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from palaver.importers._findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MISSING_PARENT, PARENT_CYCLE
from palaver.importers._tree import Tree, grow
from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.feedback import Feedback
from palaver.importers.chatgpt.message import Call, Reader
from palaver.model import build
from palaver.model.finding import finding_kind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import from_seconds, readable_timestamp
from palaver.sources.run import Run

NO_CURRENT_NODE = finding_kind(
    "no-current-node", "note", "Which branch was shown last is not said; the newest one counts as active."
)

Json = dict[str, Any]

PLATFORM = "chatgpt"

_MAPPED = frozenset({"mapping", "compared_conversation_id"})
_NUMBERS = (int, float)
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


def document(raw: Json, around: Surroundings, run: Run, where: str) -> Json:
    """The whole conversation; every node with a message is one message of it."""
    nodes = Nodes(raw["mapping"], run, where)
    conversation_id = identity(raw)
    created_at = readable_timestamp(raw.get("create_time")) or nodes.earliest() or around.fallback_time()
    nodes.settle(raw.get("current_node"), created_at)
    messages = _messages(nodes, Reader(run, around.assets, where))
    around.feedback.give(conversation_id, messages)
    rating = around.feedback.rating(conversation_id)
    return build.conversation(
        conversation_id=conversation_id,
        title=title if type(title := raw.get("title")) is str else None,
        platform={"name": PLATFORM, **_model(raw, messages), "metadata": _facts(raw, nodes, around, conversation_id)},
        session=_session(raw, messages),
        created_at=created_at,
        updated_at=readable_timestamp(raw.get("update_time")) or None,
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
        self.beside: dict[str, Json] = {}
        """What nodes say that is neither a message nor a link."""
        self.active: set[str] | None = None
        self._is_chain = True
        """Whether each node hangs on the one before it, as in most conversations that were never edited."""
        self._is_flat = False
        """Whether no node says anything about its place: then their order is all there is."""
        links, messages = self.links, self.messages
        last: Any = None
        unlinked = 0
        for key, node in mapping.items():
            try:
                parent, message, node_id = _places(node)
                has_more = len(node) > 4 or (len(node) == 4 and "children" not in node)
            except (KeyError, TypeError):
                parent, message, is_linked = _odd_places(node)
                node_id = key
                unlinked += not is_linked
                has_more = node.__class__ is dict and not node.keys() <= _NODE
            if parent is not last and parent != last:
                self._is_chain = False
                if parent is not None and parent.__class__ is not str:
                    run.note(MISSING_PARENT, f"{where}, node {key}", f"a parent of type {type(parent).__name__}")
                    self.beside[key] = {"parent": parent}
                    parent = None
            links[key] = parent
            if node_id != key:
                self.beside.setdefault(key, {})["id"] = node_id
            if has_more:
                rest = {name: value for name, value in node.items() if name not in _NODE}
                self.beside.setdefault(key, {}).update(rest)
            if message.__class__ is dict:
                messages[key] = message
            elif message is not None:
                messages[key] = {"content": message}
            last = key
        if unlinked:
            self._link_by_children(mapping)
            self._is_flat = unlinked == len(links) and not any(links.values())

    def _link_by_children(self, mapping: Json) -> None:
        """Find the parents that nodes do not name themselves in the lists of others."""
        for key, node in mapping.items():
            children = node.get("children") if node.__class__ is dict else None
            for child in children if type(children) is list else ():
                if type(child) is str and child in self.links and "parent" not in mapping[child]:
                    self.links[child] = key
                    self._is_chain = False

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
        self.tree = Tree(list(self.links), self.links) if self._is_chain else grow(self.links, self.age)
        for key in self.tree.dangling:
            self._run.note(MISSING_PARENT, f"{self._where}, node {key}", f"its parent {self.links[key]!r} is not there")
        for key in self.tree.circular:
            self._run.note(PARENT_CYCLE, f"{self._where}, node {key}")
        if not (type(current) is str and current in self.links):
            current = self.tree.newest_leaf(self.age)
            if self.messages:
                self._run.note(NO_CURRENT_NODE, self._where)
        self.active = self.tree.path_to(current)

    def note_time(self, key: str, stated: Any, metadata: Json) -> None:
        """Mark a message whose time is not its own."""
        metadata["timestamp_inferred"] = True
        if stated is None:
            self._run.note(INFERRED_TIMESTAMP, f"{self._where}, node {key}")
        else:
            metadata["create_time"] = stated
            self.note_bad_time("create_time", stated, f", node {key}")

    def note_bad_time(self, name: str, stated: Any, place: str = "") -> None:
        self._run.note(BAD_TIMESTAMP, self._where + place, f"{name} {stated!r:.60}")


_places = itemgetter("parent", "message", "id")
_NODE = frozenset({"id", "message", "parent", "children"})


def _odd_places(node: Any) -> tuple[Any, Any, bool]:
    """What an unusual node has for a parent and a message, and whether it says anything about its place."""
    if node.__class__ is dict:
        return node.get("parent"), node.get("message"), "parent" in node
    return None, {"content": node}, True


def _messages(nodes: Nodes, reader: Reader) -> list[Json]:
    made: list[Json] = []
    beside = nodes.beside
    tree, active, branches, messages = nodes.tree, nodes.active, nodes.tree.branches, nodes.messages
    states: dict[str | None, tuple[str | None, str, Call | None]] = {None: (None, nodes.created_at, None)}
    """Node to the nearest message at or above it, its time, and the nearest call of a tool in the same turn."""
    for key in tree.order:
        parent = tree.parents[key]
        state = states[parent]
        if key not in messages:
            states[key] = state
            continue
        raw = messages[key]
        above, time_above, call = state
        message_id = key or _NAMELESS
        created: Any = raw.get("create_time")
        is_plain = created.__class__ is float and 0 <= created < 1e10
        timestamp = from_seconds(created) if is_plain else readable_timestamp(created)
        message = reader.message(message_id, raw, above, timestamp or time_above, call)
        metadata = message["metadata"]
        if not timestamp:
            timestamp = time_above
            nodes.note_time(key, created, metadata)
        if active is not None:
            metadata["on_active_path"] = key in active
        if key in branches:
            metadata.update(tree.fork(key, above))
        if parent is None and nodes.links[key] is not None:
            metadata["missing_parent"] = nodes.links[key]
        if raw.get("id", key) != key:
            metadata["id"] = raw["id"]
        if key in beside:
            metadata["node"] = beside.pop(key)
        first = message["content"][0]
        if first["type"] == "tool_use":
            call = Call(message_id, first["name"], call)
        elif message["role"] == "user":
            call = None
        states[key] = message_id, timestamp, call
        made.append(message)
    return made


def _facts(raw: Json, nodes: Nodes, around: Surroundings, conversation_id: str) -> Json:
    """What is said about the whole and has no other place, or could not be brought to it."""
    facts: Json = {"export_generation": _generation(nodes, around)}
    for name, value in raw.items():
        # Null, false and what is empty says nothing; zero does.
        if (value or value.__class__ in _NUMBERS) and name not in _MAPPED:
            facts[name] = value
    for name in ("id", "conversation_id"):
        if facts.get(name) == conversation_id:
            del facts[name]
    for name in ("create_time", "update_time"):
        if readable_timestamp(facts.get(name)):
            del facts[name]
        elif name in facts:
            nodes.note_bad_time(name, facts[name])
    if type(facts.get("title")) is str:
        del facts["title"]
    gizmo = raw.get("gizmo_id")
    if type(gizmo) is str and gizmo:
        facts["project_id" if gizmo.startswith("g-p-") else "custom_gpt_id"] = facts.pop("gizmo_id")
    if nodes.beside:
        facts["nodes"] = nodes.beside
    if shared := around.shared.get(conversation_id):
        facts["shared"] = shared
    if elsewhere := around.feedback.left_of(conversation_id):
        facts["feedback"] = elsewhere
    return facts


def _model(raw: Json, messages: list[Json]) -> Json:
    """The model that answered most; `auto` is a choice and no model."""
    answered: dict[str, int] = {}
    for message in messages:
        model = message["metadata"].get("model_override")
        if model.__class__ is str and model != _CHOSEN_FOR_ME:
            answered[model] = answered.get(model, 0) + 1
    if answered:
        return {"model": max(answered, key=lambda model: answered[model])}
    default = raw.get("default_model_slug")
    return {"model": default} if type(default) is str and default not in {"", _CHOSEN_FOR_ME} else {}


_CHOSEN_FOR_ME = "auto"


def _generation(nodes: Nodes, around: Surroundings) -> str:
    for message in nodes.messages.values():
        if "weight" not in message and "status" not in message:
            return "lean"
        break
    return "sharded" if around.is_sharded else "classic"


def _session(raw: Json, messages: list[Json]) -> Json | None:
    """Where a conversation that was branched off from another one begins to be its own."""
    compared = raw.get("compared_conversation_id")
    if type(compared) is str and compared:
        return {"parent_conversation_id": compared}
    for message in messages:
        if "branching_from_conversation_title" in message["metadata"]:
            return {"fork_point": message["message_id"]}
    return None
