"""Calls that could not be joined with others repeat what those said: here each message stands once."""

from palaver.model.build import JsonObject
from palaver.threads.chain import dumped


def without_repeated(documents: list[JsonObject], call_ids: set[str]) -> list[JsonObject]:
    """The same documents, joined ones first; of those that stand alone, only what no other has said."""
    apart = [document for document in documents if _is_alone(document, call_ids)]
    kept = [document for document in documents if not _is_alone(document, call_ids)]
    said = {_words(message): message["message_id"] for document in kept for message in document["messages"]}
    for document in apart:
        names: dict[str, str] = {}
        messages: list[JsonObject] = []
        for message in document["messages"]:
            known = said.get(_words(message)) if message["role"] != "assistant" else None
            if known is not None and "error" not in (message.get("metadata") or {}):
                names[message["message_id"]] = known
                continue
            said.setdefault(_words(message), message["message_id"])
            parent = message.get("parent_message_id")
            if parent in names:
                message = {**message, "parent_message_id": names[parent]}
            messages.append(message)
        if messages:
            kept.append({**document, "messages": messages})
    return kept


def _is_alone(document: JsonObject, call_ids: set[str]) -> bool:
    first = document["messages"][0]["message_id"]
    return first.rpartition("-")[0] in call_ids or (first.endswith("-response") and first[:-9] in call_ids)


def _words(message: JsonObject) -> bytes:
    return dumped([message["role"], message["content"]])
