"""One representation for DeepSeek's three file shapes: chats of turns, each with the parent that its source names.

The export keeps a chat's messages in the nodes of its `mapping`, numbered from "1" in every chat, below a node "root"
without a message. The web service responds with `chat_session` and a list of `chat_messages`. And a browser extension
(deepseek-exporter) writes trees of `{id, type, content, thought, children}` without the chat around them.
"""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from palaver.model.build import JsonObject

INVALID_ID = "\0"
"""Substitute for a value that is not an id; no message has this id."""


@dataclass(slots=True)
class Turn:
    message: JsonObject
    """The message, without its own id and its parent's."""
    parent: Any = None
    """Value that the source names as the parent, of any type."""
    node_fields: JsonObject = field(default_factory=dict[str, Any])
    """Fields of the source around the message."""


@dataclass(slots=True)
class Chat:
    fields: JsonObject = field(default_factory=dict[str, Any])
    """Fields of the conversation."""
    turns: dict[str, Turn] = field(default_factory=dict[str, Turn])
    malformed: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """Labels and values of entries that should be messages but are not."""
    links: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Parent of every node, including those without a message."""
    inferred_parents: set[str] = field(default_factory=set[str])
    """Nodes that name no parent but are among the children of another."""

    @property
    def records(self) -> int:
        return len(self.turns) + len(self.malformed)

    def add(self, name: str, turn: Turn) -> str:
        """Add a turn under a name, made unique if taken, and return the name."""
        name = unique_name(name, self.links)
        self.turns[name] = turn
        self.links[name] = node_id(turn.parent)
        return name

    def parent_of(self, name: str) -> str | None:
        """Return the nearest turn above, or None; a missing id or `INVALID_ID` if the links do not lead to one."""
        seen: set[str] = set()
        parent = self.links[name]
        while parent is not None and parent in self.links and parent not in self.turns:
            if parent in seen:
                return INVALID_ID
            seen.add(parent)
            parent = self.links[parent]
        return parent


def is_export(value: JsonObject) -> bool:
    """Return whether the value is a chat of DeepSeek's export, not of ChatGPT's, which also has a `mapping`."""
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


def is_web_response(value: JsonObject) -> bool:
    """Return whether the value is the web service's response with a chat."""
    match value:
        case {"data": {"biz_data": dict() as answer}} | {"biz_data": dict() as answer}:
            return is_web_response(answer)
        case {"chat_session": dict(), "chat_messages": list()}:
            return True
        case _:
            return False


def is_tree(value: Any) -> bool:
    """Return whether the value is a prompt in the extension's trees."""
    match value:
        case {"type": "user" | "assistant", "thought": None | str(), "children": list()}:
            return "content" in value
        case _:
            return False


def resembles_tree(value: Any) -> bool:
    """Return whether a value, known to be DeepSeek's, can only be a prompt in the extension's trees."""
    return isinstance(value, dict) and not {"thought", "children"}.isdisjoint(value)


def find_chat(value: Any, depth: int = 4) -> Chat | None:
    """Return the chat in a value, or nested in it, or None.

    If damage hit the key `mapping`, the nodes and messages are still recognized by their shape.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(mapping := value.get("mapping"), dict):
        return _chat_from_mapping({name: item for name, item in value.items() if name != "mapping"}, mapping)
    if isinstance(messages := value.get("chat_messages"), list):
        return _chat_from_messages({name: item for name, item in value.items() if name != "chat_messages"}, messages)
    if any(map(_has_fragments, value.values())):
        nodes = {name: node for name, node in value.items() if isinstance(node, dict) and "message" in node}
        return _chat_from_mapping({name: item for name, item in value.items() if name not in nodes}, nodes)
    for key, inner in value.items():
        if isinstance(inner, list) and any(_has_fragments({"message": item}) for item in inner):
            return _chat_from_messages({name: item for name, item in value.items() if name != key}, inner)
        if depth and (chat := find_chat(inner, depth - 1)) is not None:
            # The envelope of a successful response holds zeros and empty texts.
            _add_missing(chat.fields, {name: item for name, item in value.items() if name != key and item})
            return chat
    return None


def _chat_from_mapping(fields: JsonObject, mapping: JsonObject) -> Chat:
    chat = Chat(fields)
    bare: JsonObject = {}
    for key, node in mapping.items():
        name = key or unique_name("node", mapping)
        match node:
            case {"message": dict(message)}:
                chat.turns[name] = Turn(message, node.get("parent"), _node_fields(node, key))
            case dict() if node.get("message") is None:
                if extra_fields := _node_fields(node, key):
                    bare[name] = extra_fields
            case _:
                chat.malformed.append((f"node {name!r}", node))
        chat.links[name] = node_id(node.get("parent")) if isinstance(node, dict) else None
    _adopt(chat, mapping)
    if bare:
        _add_missing(chat.fields, {"nodes": bare})
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
                        chat.inferred_parents.add(child)
            case _:
                pass


def _node_fields(node: JsonObject, key: str) -> JsonObject:
    """Return the fields of a node that do more than link it to others."""
    extra_fields = {name: item for name, item in node.items() if name not in {"id", "parent", "children", "message"}}
    if (stated := node.get("id")) is not None and stated != key:
        extra_fields["id"] = stated
    match node.get("children"):
        case None:
            pass
        case list() as children if all(isinstance(child, str) for child in children):
            pass
        case odd:
            extra_fields["children"] = odd
    return extra_fields


def _chat_from_messages(envelope: JsonObject, messages: list[Any]) -> Chat:
    session = envelope.get("chat_session")
    chat = Chat(dict(session) if isinstance(session, dict) else {})
    left_out = "chat_session" if isinstance(session, dict) else ""
    _add_missing(chat.fields, {name: item for name, item in envelope.items() if name != left_out})
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            chat.malformed.append((f"message {number}", message))
            continue
        message_fields = {name: item for name, item in message.items() if name not in {"message_id", "parent_id"}}
        _add_named(chat, message.get("message_id"), number, Turn(message_fields, message.get("parent_id")))
    return chat


def add_tree(chat: Chat, root: JsonObject) -> int:
    """Add a prompt and everything below it, and return the number of records."""
    before = chat.records
    stack: list[tuple[Any, str | None]] = [(root, None)]
    while stack:
        node, parent = stack.pop()
        if not isinstance(node, dict):
            chat.malformed.append((f"below message {parent}", node))
            continue
        message_fields = {
            name: item for name, item in node.items() if name not in {"id", "type", "thought", "children"}
        }
        message_fields |= {
            name: node[old] for name, old in (("role", "type"), ("thinking_content", "thought")) if old in node
        }
        turn = Turn(message_fields, parent)
        name = _add_named(chat, node.get("id"), len(chat.turns) + 1, turn)
        match node.get("children"):
            case list() as children:
                stack += [(child, name) for child in reversed(children)]
            case None:
                pass
            case odd:
                turn.node_fields["children"] = odd
    return chat.records - before


def _add_named(chat: Chat, stated: Any, number: int, turn: Turn) -> str:
    """Add a turn under its own id; an invalid or duplicate id is kept in the node fields."""
    wanted = node_id(stated)
    name = chat.add(f"message-{number}" if wanted in {None, INVALID_ID} else str(wanted), turn)
    if name != wanted and stated is not None:
        turn.node_fields["id"] = stated
    return name


def node_id(value: Any) -> str | None:
    """Return an id as a string; the web service uses integers."""
    match value:
        case None | "":
            return None
        case str():
            return value
        case int() if value is not True and value is not False and abs(value) < 1 << 63:
            return str(value)
        case _:
            return INVALID_ID


def unique_name(wanted: str, taken: Container[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def _add_missing(fields: JsonObject, more: JsonObject) -> None:
    """Add the fields of an envelope, renamed where the conversation has a field of the same name."""
    for name, item in more.items():
        fields[unique_name(name, fields)] = item
