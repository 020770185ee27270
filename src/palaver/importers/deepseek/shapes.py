"""What DeepSeek's files hold, seen alike: chats of turns, each with the parent that its source names.

Three shapes are known. The export keeps a chat's messages in the nodes of its `mapping`, numbered from "1" in every
chat, below a node "root" that has no message. The web service answers with `chat_session` and a list of
`chat_messages`. And a browser extension (deepseek-exporter) writes trees of `{id, type, content, thought, children}`
without the chat around them.
"""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from palaver.model.build import JsonObject

NOWHERE = "\0"
"""A link to no message: the source's value is no id."""


@dataclass(slots=True)
class Turn:
    message: JsonObject
    """The message, without its own id and its parent's."""
    parent: Any = None
    """What the source names as its parent, whatever that is."""
    beside: JsonObject = field(default_factory=dict[str, Any])
    """What the source says about it outside of the message."""


@dataclass(slots=True)
class Chat:
    facts: JsonObject = field(default_factory=dict[str, Any])
    """Fields of the conversation."""
    turns: dict[str, Turn] = field(default_factory=dict[str, Turn])
    broken: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """What stands where a message should and is none, with words for its place."""
    links: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    """The parent of every node, those without a message included."""
    adopted: set[str] = field(default_factory=set[str])
    """Nodes that name no parent and stand among the children of another."""

    @property
    def records(self) -> int:
        return len(self.turns) + len(self.broken)

    def add(self, name: str, turn: Turn) -> str:
        """Take in a turn under a name, or under one like it if that is taken."""
        name = free_name(name, self.links)
        self.turns[name] = turn
        self.links[name] = link(turn.parent)
        return name

    def parent_of(self, name: str) -> str | None:
        """The nearest turn above; an id that is not there, or `NOWHERE`, where the links do not lead to one."""
        seen: set[str] = set()
        parent = self.links[name]
        while parent is not None and parent in self.links and parent not in self.turns:
            if parent in seen:
                return NOWHERE
            seen.add(parent)
            parent = self.links[parent]
        return parent


def is_export(value: JsonObject) -> bool:
    """Whether this is a chat of the export; ChatGPT's, which also has a `mapping`, is not."""
    mapping = value.get("mapping")
    if not isinstance(mapping, dict):
        return False
    if any(_has_fragments(node) for node in mapping.values()):
        return True
    return "inserted_at" in value and "create_time" not in value and "current_node" not in value


def _has_fragments(node: Any) -> bool:
    match node:
        case {"message": {"fragments": list()}}:
            return True
        case _:
            return False


def is_answer(value: JsonObject) -> bool:
    """Whether this is what the web service answers when it is asked for a chat."""
    match value:
        case {"data": {"biz_data": dict() as answer}} | {"biz_data": dict() as answer}:
            return is_answer(answer)
        case {"chat_session": dict(), "chat_messages": list()}:
            return True
        case _:
            return False


def is_tree(value: Any) -> bool:
    """Whether this is a prompt in the extension's trees."""
    match value:
        case {"type": "user" | "assistant", "thought": None | str(), "children": list()}:
            return "content" in value
        case _:
            return False


def resembles_tree(value: Any) -> bool:
    """Whether somebody who says that this is DeepSeek's can only mean a prompt in such a tree."""
    return isinstance(value, dict) and not {"thought", "children"}.isdisjoint(value)


def chat_in(value: Any, depth: int = 4) -> Chat | None:
    """The chat that a value is, or that stands in it; None for what is none.

    Where damage has hit the word `mapping`, the nodes and messages themselves still tell.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(mapping := value.get("mapping"), dict):
        return _exported({name: item for name, item in value.items() if name != "mapping"}, mapping)
    if isinstance(messages := value.get("chat_messages"), list):
        return _answered({name: item for name, item in value.items() if name != "chat_messages"}, messages)
    if any(map(_has_fragments, value.values())):
        nodes = {name: node for name, node in value.items() if isinstance(node, dict) and "message" in node}
        return _exported({name: item for name, item in value.items() if name not in nodes}, nodes)
    for key, inner in value.items():
        if isinstance(inner, list) and any(_has_fragments({"message": item}) for item in inner):
            return _answered({name: item for name, item in value.items() if name != key}, inner)
        if depth and (chat := chat_in(inner, depth - 1)) is not None:
            # The envelope of an answer without trouble holds zeros and empty texts.
            _add_missing(chat.facts, {name: item for name, item in value.items() if name != key and item})
            return chat
    return None


def _exported(facts: JsonObject, mapping: JsonObject) -> Chat:
    chat = Chat(facts)
    bare: JsonObject = {}
    for key, node in mapping.items():
        name = key or free_name("node", mapping)
        match node:
            case {"message": dict(message)}:
                chat.turns[name] = Turn(message, node.get("parent"), _beside(node, key))
            case dict() if node.get("message") is None:
                if beside := _beside(node, key):
                    bare[name] = beside
            case _:
                chat.broken.append((f"node {name!r}", node))
        chat.links[name] = link(node.get("parent")) if isinstance(node, dict) else None
    _adopt(chat, mapping)
    if bare:
        _add_missing(chat.facts, {"nodes": bare})
    return chat


def _adopt(chat: Chat, mapping: JsonObject) -> None:
    lost = {key for key, node in mapping.items() if isinstance(node, dict) and "parent" not in node}
    if not lost:
        return
    for key, node in mapping.items():
        match node:
            case {"children": list() as children}:
                for child in children:
                    if isinstance(child, str) and child in lost and child in chat.links:
                        chat.links[child] = key
                        chat.adopted.add(child)
            case _:
                pass


def _beside(node: JsonObject, key: str) -> JsonObject:
    """The fields of a node that do more than tie it to the others."""
    beside = {name: item for name, item in node.items() if name not in {"id", "parent", "children", "message"}}
    if (stated := node.get("id")) is not None and stated != key:
        beside["id"] = stated
    match node.get("children"):
        case None:
            pass
        case list() as children if all(isinstance(child, str) for child in children):
            pass
        case odd:
            beside["children"] = odd
    return beside


def _answered(around: JsonObject, messages: list[Any]) -> Chat:
    session = around.get("chat_session")
    chat = Chat(dict(session) if isinstance(session, dict) else {})
    left_out = "chat_session" if isinstance(session, dict) else ""
    _add_missing(chat.facts, {name: item for name, item in around.items() if name != left_out})
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            chat.broken.append((f"message {number}", message))
            continue
        said = {name: item for name, item in message.items() if name not in {"message_id", "parent_id"}}
        _add_named(chat, message.get("message_id"), number, Turn(said, message.get("parent_id")))
    return chat


def add_tree(chat: Chat, root: JsonObject) -> int:
    """Take in a prompt and all below it; how many records that are."""
    before = chat.records
    stack: list[tuple[Any, str | None]] = [(root, None)]
    while stack:
        node, parent = stack.pop()
        if not isinstance(node, dict):
            chat.broken.append((f"below message {parent}", node))
            continue
        said = {name: item for name, item in node.items() if name not in {"id", "type", "thought", "children"}}
        said |= {name: node[old] for name, old in (("role", "type"), ("thinking_content", "thought")) if old in node}
        turn = Turn(said, parent)
        name = _add_named(chat, node.get("id"), len(chat.turns) + 1, turn)
        match node.get("children"):
            case list() as children:
                stack += [(child, name) for child in reversed(children)]
            case None:
                pass
            case odd:
                turn.beside["children"] = odd
    return chat.records - before


def _add_named(chat: Chat, stated: Any, number: int, turn: Turn) -> str:
    """Take in a turn under its own id; what cannot be one, or is another's, is kept beside it."""
    wanted = link(stated)
    name = chat.add(f"message-{number}" if wanted in {None, NOWHERE} else str(wanted), turn)
    if name != wanted and stated is not None:
        turn.beside["id"] = stated
    return name


def link(value: Any) -> str | None:
    """An id as the tree knows it; the web service counts in integers."""
    match value:
        case None | "":
            return None
        case str():
            return value
        case int() if value is not True and value is not False and abs(value) < 1 << 63:
            return str(value)
        case _:
            return NOWHERE


def free_name(wanted: str, taken: Container[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def _add_missing(facts: JsonObject, more: JsonObject) -> None:
    """Add fields that stand around others; of the same name, the inner one is the conversation's own."""
    for name, item in more.items():
        facts[free_name(name, facts)] = item
