"""Conversation documents as requests: every answer of a model is a call, and its ancestors are what was sent."""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from palaver.cook.exchanges import block_pieces
from palaver.cook.pieces import Pieces, piece
from palaver.cook.table import Table
from palaver.model.build import JsonObject
from palaver.model.timestamps import milliseconds_of


class Answer(NamedTuple):
    """One call: what was sent and what came back, by numbers."""

    identifier: str
    timestamp: int
    model: str
    messages: "array[int]"
    response: "array[int]"
    duration_ms: int


@dataclass(slots=True)
class _Said:
    """A message that was seen: whom it follows, and its pieces."""

    parent: str | None
    numbers: "array[int]"
    begins_anew: bool = False
    """What came before was not sent any more: this is a summary of it."""


@dataclass(slots=True)
class _Open:
    messages: dict[str, _Said] = field(default_factory=dict[str, _Said])
    last: str | None = None


class Conversations:
    """Takes documents, also in fragments, and gives their calls."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._open: dict[tuple[str, str], _Open] = {}

    def answers(self, document: JsonObject) -> list[Answer]:
        identity = document["platform"]["name"], document["conversation_id"]
        fragment = document.get("fragment")
        so_far = self._open.setdefault(identity, _Open())
        if not fragment or fragment["final"]:
            del self._open[identity]
        model = document["platform"].get("model")
        return [
            answer for message in document["messages"] if (answer := self._take(message, so_far, model)) is not None
        ]

    def _take(self, message: JsonObject, so_far: _Open, model: str | None) -> Answer | None:
        metadata: JsonObject = message.get("metadata") or {}
        pieces = _pieces(message, metadata)
        message_id = message["message_id"]
        parent = message.get("parent_message_id")
        parent = parent if parent in so_far.messages else so_far.last
        is_answer = message["role"] == "assistant" and metadata.get("author_kind", "model") == "model"
        sent = self._chain(so_far, parent) if is_answer else None
        numbers = self._table.add_messages(pieces or [piece("assistant")] if is_answer else pieces)
        so_far.messages[message_id] = _Said(parent, numbers, bool(metadata.get("is_compact_summary")))
        so_far.last = message_id
        if sent is None:
            return None
        return Answer(
            metadata.get("request_id") or message_id,
            _milliseconds(message["timestamp"]),
            metadata.get("model_override") or model or "",
            sent,
            numbers,
            round(metadata.get("duration_ms") or 0),
        )

    def _chain(self, so_far: _Open, message_id: str | None) -> "array[int]":
        """All that stands above a message, up to where the conversation began anew."""
        parts: list[array[int]] = []
        walked: set[str] = set()
        while message_id is not None and message_id not in walked:
            walked.add(message_id)
            said = so_far.messages[message_id]
            parts.append(said.numbers)
            message_id = None if said.begins_anew else said.parent
        chain = array("I")
        for part in reversed(parts):
            chain.extend(part)
        return chain


def _pieces(message: JsonObject, metadata: JsonObject) -> Pieces:
    """What a model was sent; notes of the program that only it reads are none."""
    content = message["content"]
    if metadata.get("hidden") and all(block["type"] == "opaque" for block in content):
        return []
    return block_pieces(message["role"], content)


def _milliseconds(timestamp: str) -> int:
    try:
        return max(0, milliseconds_of(timestamp))
    except ValueError:
        return 0
