"""Facts about a message that more than one format tells: where it stands, who answered, what it cost."""

from dataclasses import dataclass, field
from decimal import Decimal

from palaver.exporters._contract import MessageCost
from palaver.model.build import JsonObject


@dataclass(slots=True)
class Progress:
    """How far a conversation has been written, which may come in fragments."""

    written: int = 0
    """How many messages are written."""
    is_continued: bool = False
    """Whether the current document is not the first of its conversation."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """The position of every message, from 1, by its id."""
    calls: dict[str, str] = field(default_factory=dict[str, str])
    """Names of tools, by the ids of their calls."""


class OpenConversations:
    """The conversations of which a fragment is still to come."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Progress] = {}

    def enter(self, document: JsonObject) -> Progress:
        """What is known of a document's conversation; nothing before its first fragment, and after its last."""
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
    """Whether a document ends its conversation."""
    return (document.get("fragment") or {"final": True})["final"]


def project(document: JsonObject) -> str:
    match document:
        case {"context": {"workspace": {"path": str(path)}}}:
            return path
        case _:
            return ""


def author_kind(message: JsonObject) -> str:
    return metadata(message).get("author_kind") or ""


def model(message: JsonObject, document: JsonObject) -> str:
    """The model that wrote a message; empty for what no model wrote."""
    if stated := metadata(message).get("model_override"):
        return stated
    is_answer = author_kind(message) == "model" if author_kind(message) else message["role"] == "assistant"
    return (document["platform"].get("model") or "") if is_answer else ""


def metadata(message: JsonObject) -> JsonObject:
    return message.get("metadata") or {}


def stated_cost(message: JsonObject) -> tuple[str, str]:
    """Amount and currency as the source states them; empty where it does not."""
    match message.get("cost"):
        case {"amount": amount, **rest}:
            return plain(amount), rest.get("currency") or "USD"
        case _:
            return "", ""


def computed_cost(message: JsonObject, document: JsonObject, cost: MessageCost | None) -> Decimal | None:
    """What a message costs, if that is asked for and its source does not say so itself."""
    return cost(message, document) if cost and message.get("cost") is None else None


def plain(amount: float | Decimal) -> str:
    """A number in digits, without an exponent."""
    number = Decimal(str(amount))
    return f"{number.normalize():f}" if number else "0"
