"""Fields of a message that several formats write: its position, author, model and cost."""

from dataclasses import dataclass, field
from decimal import Decimal

from palaver.exporters._contract import MessageCost
from palaver.model.build import JsonObject


@dataclass(slots=True)
class Progress:
    """The progress of writing a conversation, which may come in fragments."""

    messages: int = 0
    """The number of messages so far, including those that are left out."""
    last_shown: int = 0
    """The number of the last message that was written; 0 before the first."""
    is_continued: bool = False
    """Whether the current document is a later fragment of its conversation."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """The number of every message, from 1, by its id; of one that is left out, the number of the one it follows."""
    calls: dict[str, str] = field(default_factory=dict[str, str])
    """Names of tools by call id."""


class OpenConversations:
    """The conversations that have fragments still to come."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Progress] = {}

    def enter(self, document: JsonObject) -> Progress:
        """Return the progress of a document's conversation, new for a first fragment, and drop it after the last."""
        key = document["platform"]["name"], document["conversation_id"]
        progress = self._open.pop(key, None)
        if progress:
            progress.is_continued = True
        else:
            progress = Progress()
        if not is_last(document):
            self._open[key] = progress
        return progress


def is_last(document: JsonObject) -> bool:
    """Return whether a document ends its conversation."""
    return (document.get("fragment") or {"final": True})["final"]


def project_path(document: JsonObject) -> str:
    match document:
        case {"context": {"workspace": {"path": str(path)}}}:
            return path
        case _:
            return ""


def author_kind(message: JsonObject) -> str:
    return metadata(message).get("author_kind") or ""


def message_model(message: JsonObject, document: JsonObject) -> str:
    """Return the model that wrote a message; empty if no model did."""
    if stated := metadata(message).get("model_override"):
        return stated
    is_answer = author_kind(message) == "model" if author_kind(message) else message["role"] == "assistant"
    return (document["platform"].get("model") or "") if is_answer else ""


def metadata(message: JsonObject) -> JsonObject:
    return message.get("metadata") or {}


def stated_cost(message: JsonObject) -> tuple[str, str]:
    """Return the amount and currency that the source states; both empty if it states none."""
    match message.get("cost"):
        case {"amount": amount, **rest}:
            return plain_decimal(amount), rest.get("currency") or "USD"
        case _:
            return "", ""


def computed_cost(message: JsonObject, document: JsonObject, cost: MessageCost | None) -> Decimal | None:
    """Return the computed cost of a message, if requested and its source does not state one."""
    return cost(message, document) if cost and message.get("cost") is None else None


def plain_decimal(amount: float | Decimal) -> str:
    """Format a number without an exponent."""
    number = Decimal(str(amount))
    return f"{number.normalize():f}" if number else "0"
