"""The pieces of one conversation as one document, where it branches or was told twice."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.threads.telling import FRAGMENT_BYTES


def joined(documents: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Documents of one conversation that follow each other as one, unless that would be too large."""
    for _, pieces in groupby(documents, key=lambda document: document["conversation_id"]):
        found = list(pieces)
        if len(found) > 1 and sum(map(_letters, found)) > FRAGMENT_BYTES:
            yield from found
        else:
            yield one_of(found)


def one_of(pieces: list[JsonObject]) -> JsonObject:
    """One document; messages stand in the order of their pieces, and these where their times put them."""
    first = {key: value for key, value in pieces[0].items() if key != "fragment"}
    if len(pieces) == 1:
        first["messages"] = [_tidied(message) for message in first["messages"]]
        return first
    rows: list[tuple[str, int, int, JsonObject]] = []
    for number, piece in enumerate(pieces):
        latest = ""
        for index, message in enumerate(piece["messages"]):
            if message["role"] == "system" and "parent_message_id" not in message:
                rows.append((message["timestamp"], number, index, message))  # a prompt that changes stands by its time
                continue
            latest = max(latest, message["timestamp"])
            rows.append((latest, number, index, message))
    rows.sort(key=lambda row: row[:3])
    first["messages"] = list(_unique(message for _, _, _, message in rows))
    first["created_at"] = min(piece["created_at"] for piece in pieces)
    if latest := max((piece["updated_at"] for piece in pieces if piece.get("updated_at")), default=None):
        first["updated_at"] = latest
    return first


def _unique(messages: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Every message once; another answer in the same words, or the same in other words, under a name of its own."""
    said: dict[str, list[Any]] = {}
    for message in messages:
        name = message["message_id"]
        versions = said.setdefault(name, [])
        about = message.get("metadata") or {}
        version = [message["content"], about.get("request_id"), about.get("api_message_id")]
        if version in versions:
            continue
        versions.append(version)
        if len(versions) > 1:
            message = {**message, "message_id": deterministic_uuid(f"{name}-{len(versions)}")}
        yield _tidied(message)


def _tidied(message: JsonObject) -> JsonObject:
    """A message without reasoning in its metadata that is among its blocks."""
    metadata = message.get("metadata") or {}
    thought = metadata.get("reasoning_content")
    if thought is None or not any(block.get("thinking") == thought for block in message["content"]):
        return message
    return {**message, "metadata": {key: value for key, value in metadata.items() if key != "reasoning_content"}}


def _letters(document: JsonObject) -> int:
    texts = (block.get("text") for message in document["messages"] for block in message["content"])
    return sum(len(text) for text in texts if isinstance(text, str))
