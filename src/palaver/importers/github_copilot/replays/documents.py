"""Final steps for documents built from requests: merging pieces, naming authors, noting inferred times."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.sources.run import Run
from palaver.threads.documents import FRAGMENT_BYTES


def merge_fragments(documents: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Merge consecutive documents of a conversation, unless the result would be too large."""
    for _, pieces in groupby(documents, key=lambda document: document["conversation_id"]):
        found = list(pieces)
        if len(found) > 1 and sum(map(_text_length, found)) > FRAGMENT_BYTES:
            yield from found
        else:
            yield merge_pieces(found)


def merge_pieces(pieces: list[JsonObject]) -> JsonObject:
    """Merge pieces of a conversation: by time, with the messages of each piece in their order."""
    first = {key: value for key, value in pieces[0].items() if key != "fragment"}
    if len(pieces) == 1:
        first["messages"] = [_without_repeated_reasoning(message) for message in first["messages"]]
        return first
    rows: list[tuple[str, int, int, JsonObject]] = []
    for number, piece in enumerate(pieces):
        latest = ""
        for index, message in enumerate(piece["messages"]):
            if message["role"] == "system" and "parent_message_id" not in message:
                # a changed system prompt is placed by its own time
                rows.append((message["timestamp"], number, index, message))
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
    """Yield every message once; another message or answer with the same id gets an id of its own."""
    seen: dict[str, list[Any]] = {}
    for message in messages:
        name = message["message_id"]
        versions = seen.setdefault(name, [])
        metadata = message.get("metadata") or {}
        version = [message["content"], metadata.get("request_id"), metadata.get("api_message_id")]
        if version in versions:
            continue
        versions.append(version)
        if len(versions) > 1:
            message = {**message, "message_id": deterministic_uuid(f"{name}-{len(versions)}")}
        yield _without_repeated_reasoning(message)


def _without_repeated_reasoning(message: JsonObject) -> JsonObject:
    """Return a message without reasoning in its metadata if a block holds the same."""
    metadata = message.get("metadata") or {}
    reasoning = metadata.get("reasoning_content")
    if reasoning is None or not any(block.get("thinking") == reasoning for block in message["content"]):
        return message
    return {**message, "metadata": {key: value for key, value in metadata.items() if key != "reasoning_content"}}


def _text_length(document: JsonObject) -> int:
    texts = (block.get("text") for message in document["messages"] for block in message["content"])
    return sum(len(text) for text in texts if isinstance(text, str))


def is_helper(messages: list[JsonObject]) -> bool:
    """Return whether messages are of a call that the editor made for itself."""
    return any("helper" in (message.get("metadata") or {}) for message in messages)


def with_author(message: JsonObject, typed: list[str], *, is_from_program: bool = False) -> JsonObject:
    """Return a user message with its author, and the typed part as `prompt`; `typed` has the longest texts first.

    The editor frames what a person typed with text of its own. All prompts of agents and helper calls come from it.
    """
    if message["role"] != "user" or any(block["type"] == "tool_result" for block in message["content"]):
        return message
    full_text = "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
    found = next((text for text in typed if text in full_text), None)
    metadata = message.get("metadata") or {}
    if is_from_program:
        return {**message, "metadata": {**metadata, "author_kind": "harness"}}
    if found is not None:
        framed: JsonObject = {} if found.strip() == full_text.strip() else {"prompt": found}
        return {**message, "metadata": {**metadata, "author_kind": "human", **framed}}
    is_framed = full_text.lstrip().startswith("<")
    return {**message, "metadata": {**metadata, "author_kind": "harness" if is_framed else "human"}}


def with_header_request_ids(documents: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Pass documents through, with the request ids that the server answered with in place of the log's own ids.

    Only these are also known to what records the same calls.
    """
    for document in documents:
        yield {**document, "messages": [_with_header_request_id(message) for message in document["messages"]]}


def _with_header_request_id(message: JsonObject) -> JsonObject:
    match message.get("metadata"):
        case {"request_id": str(log_id), "entry": {"metadata": dict(fields)} as entry} as metadata:
            stated = next((fields[name] for name in _REQUEST_IDS if fields.get(name)), None)
            if isinstance(stated, str):
                metadata = {**metadata, "request_id": stated, "entry": {"id": log_id, **entry}}
            return {**message, "metadata": metadata}
        case _:
            return message


_REQUEST_IDS = ("serverRequestId", "requestId", "ourRequestId")


def note_inferred_times(documents: Iterable[JsonObject], run: Run) -> Iterator[JsonObject]:
    """Pass documents through, and note each inferred time, except of messages that a request only repeats."""
    for document in documents:
        for message in document["messages"]:
            metadata = message.get("metadata") or {}
            if metadata.get("timestamp_inferred") is True and "known_from" not in metadata:
                run.note(INFERRED_TIMESTAMP, f"message {message['message_id']}")
        yield document
