"""Who wrote a message of the user: a person, or the editor that puts what was typed into frames of its own."""

from palaver.model.build import JsonObject


def with_author(message: JsonObject, typed: list[str], *, is_sidechain: bool = False) -> JsonObject:
    """A message of the user with its author, and what of it was typed; `typed` has the longest texts first.

    Whatever is asked besides a person's conversation is asked by a program.
    """
    if message["role"] != "user" or any(block["type"] == "tool_result" for block in message["content"]):
        return message
    said = "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
    found = next((text for text in typed if text in said), None)
    metadata = message.get("metadata") or {}
    if is_sidechain:
        return {**message, "metadata": {**metadata, "author_kind": "harness"}}
    if found is not None:
        framed: JsonObject = {} if found.strip() == said.strip() else {"prompt": found}
        return {**message, "metadata": {**metadata, "author_kind": "human", **framed}}
    is_framed = said.lstrip().startswith("<")
    return {**message, "metadata": {**metadata, "author_kind": "harness" if is_framed else "human"}}
