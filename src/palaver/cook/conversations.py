"""Conversation documents as calls of a model: every message of a model is a call, its ancestors are the request."""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from palaver.cook.blocks import Style, block_pieces
from palaver.cook.pieces import Pieces, PieceTable, piece
from palaver.model.build import JsonObject
from palaver.model.timestamps import milliseconds_of


class ModelCall(NamedTuple):
    """One call of a model: the numbers of the messages in its request and response."""

    identifier: str
    timestamp: int
    model: str
    messages: "array[int]"
    response: "array[int]"
    duration_ms: int


@dataclass(slots=True)
class _SeenMessage:
    """A message of an open conversation: its parent and the numbers of its pieces."""

    parent: str | None
    numbers: "array[int]"
    replaces_history: bool = False
    """Whether the message is a summary that replaces everything before it in later requests."""


@dataclass(slots=True)
class _OpenConversation:
    messages: dict[str, _SeenMessage] = field(default_factory=dict[str, _SeenMessage])
    last: str | None = None


class Conversations:
    """Finds the model calls in documents, which may come in fragments."""

    def __init__(self, table: PieceTable, style: Style) -> None:
        self._table = table
        self._style = style
        self._open: dict[tuple[str, str], _OpenConversation] = {}

    def model_calls(self, document: JsonObject) -> list[ModelCall]:
        identity = document["platform"]["name"], document["conversation_id"]
        fragment = document.get("fragment")
        conversation = self._open.setdefault(identity, _OpenConversation())
        if not fragment or fragment["final"]:
            del self._open[identity]
        model = document["platform"].get("model")
        return [
            call for message in document["messages"] if (call := self._take(message, conversation, model)) is not None
        ]

    def _take(self, message: JsonObject, conversation: _OpenConversation, model: str | None) -> ModelCall | None:
        metadata: JsonObject = message.get("metadata") or {}
        pieces = _pieces(message, metadata, self._style)
        message_id = message["message_id"]
        parent = message.get("parent_message_id")
        parent = parent if parent in conversation.messages else conversation.last
        is_answer = message["role"] == "assistant" and metadata.get("author_kind", "model") == "model"
        sent = self._history(conversation, parent) if is_answer else None
        numbers = self._table.add_messages(pieces or [piece("assistant")] if is_answer else pieces)
        conversation.messages[message_id] = _SeenMessage(parent, numbers, bool(metadata.get("is_compact_summary")))
        conversation.last = message_id
        if sent is None:
            return None
        return ModelCall(
            metadata.get("request_id") or message_id,
            _milliseconds(message["timestamp"]),
            metadata.get("model_override") or model or "",
            sent,
            numbers,
            round(metadata.get("duration_ms") or 0),
        )

    def _history(self, conversation: _OpenConversation, message_id: str | None) -> "array[int]":
        """Return the pieces of a message and its ancestors, back to the latest summary."""
        parts: list[array[int]] = []
        walked: set[str] = set()
        while message_id is not None and message_id not in walked:
            walked.add(message_id)
            message = conversation.messages[message_id]
            parts.append(message.numbers)
            message_id = None if message.replaces_history else message.parent
        history = array("I")
        for part in reversed(parts):
            history.extend(part)
        return history


def _pieces(message: JsonObject, metadata: JsonObject, style: Style) -> Pieces:
    """Return the pieces of a message; none for a hidden note of the program, which no model received."""
    content = message["content"]
    if metadata.get("hidden") and all(block["type"] == "opaque" for block in content):
        return []
    return block_pieces(message["role"], content, style)


def _milliseconds(timestamp: str) -> int:
    try:
        return max(0, milliseconds_of(timestamp))
    except ValueError:
        return 0
