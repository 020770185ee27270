"""UCS exchanges and conversation documents as pieces.

Formats without a module of their own are converted to exchanges first. In a conversation, every message of a model is a
call, and its ancestors are the request.
"""

from array import array
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from palaver.cook.pieces import IMAGE, Pieces, PieceTable, json_text, piece, tool_call, tool_definition, tool_result
from palaver.model.build import JsonObject
from palaver.model.timestamps import milliseconds_of


def request_pieces(request: JsonObject) -> Pieces:
    pieces = [piece("system", _block_text(block)) for block in request.get("system") or ()]
    for message in request["messages"]:
        pieces += block_pieces(message["role"], message["content"])
    return pieces


def response_pieces(response: JsonObject) -> Pieces:
    return block_pieces("assistant", response["content"])


def block_pieces(role: str, content: list[JsonObject]) -> Pieces:
    """Return the pieces of one message's blocks; the last piece holds all calls."""
    pieces: Pieces = []
    calls: list[JsonObject] = []
    piece_role = role if role in {"user", "assistant", "system"} else "user"
    for block in content:
        match block["type"]:
            case "thinking":
                if block["thinking"]:
                    pieces.append(piece("thinking", block["thinking"]))
            case "tool_use":
                calls.append(tool_call(block["name"], block["input"], block["id"]))
            case "tool_result":
                pieces.append(
                    tool_result(_result_text(block["content"]), block["tool_use_id"], is_error=block["is_error"])
                )
            case _:
                pieces.append(piece(piece_role, _block_text(block)))
    if calls:
        pieces.append(piece("tool_use", tool_calls=calls))
    return pieces


def request_tools(request: JsonObject) -> list[JsonObject]:
    return [
        tool_definition(stated["name"], stated.get("description"), stated.get("parameters"))
        for stated in request.get("tools") or ()
    ]


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

    def __init__(self, table: PieceTable) -> None:
        self._table = table
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
        pieces = _pieces(message, metadata)
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


def _pieces(message: JsonObject, metadata: JsonObject) -> Pieces:
    """Return the pieces of a message; none for a hidden note of the program, which no model received."""
    content = message["content"]
    if metadata.get("hidden") and all(block["type"] == "opaque" for block in content):
        return []
    return block_pieces(message["role"], content)


def _milliseconds(timestamp: str) -> int:
    try:
        return max(0, milliseconds_of(timestamp))
    except ValueError:
        return 0


def _block_text(block: JsonObject) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image"}:
            return IMAGE
        case {"type": "code", "code": str(code)}:
            fence = "`" * max(3, _longest_run(code) + 1)
            return f"{fence}{block.get('language') or ''}\n{code}\n{fence}"
        case {"type": "file"}:
            return (
                block.get("text") or f"[file: {block['name']}]" if block.get("name") else block.get("text") or "[file]"
            )
        case {"type": "opaque", "raw": raw}:
            return json_text(raw)
        case _:
            return json_text(block)


def _longest_run(code: str) -> int:
    return max((len(run) for run in code.split("\n") if set(run) == {"`"}), default=0)


def _result_text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(map(_block_text, content))
