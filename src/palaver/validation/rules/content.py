"""Rules about the content of messages: blocks, roles, the order of turns, truncation."""

from collections.abc import Iterator
from typing import Any

from palaver.model.facts import Facts
from palaver.model.rules import Fault, in_schema, on_document

EMPTY_CONTENT = in_schema("empty-content", "A message has no content blocks.")
INVALID_ROLE = in_schema("invalid-role", "A message has a role unknown to the schema.")
MISSING_MESSAGE_ID = in_schema("missing-message-id", "A message has no id.")

_FINISHED = {"end_turn", "stop", "stop_sequence", "refusal", "finished_successfully"}
_TRUNCATED = {"max_tokens", "length", "model_context_window_exceeded", "max_output_tokens"}


@on_document("blank-content", "note")
def blank_content(facts: Facts) -> Iterator[Fault]:
    """A message has only blank text."""
    for index, content in enumerate(facts.contents):
        first = content[0]
        if first["type"] == "text" and _is_blank(first) and all(map(_is_blank, content)):
            yield Fault(("messages", index, "content"), f"Message {index} has blank content")


def _is_blank(block: dict[str, Any]) -> bool:
    return block["type"] == "text" and (not block["text"] or block["text"].isspace())


@on_document("message-flow", "warning")
def message_flow(facts: Facts) -> Iterator[Fault]:
    """A model answers without a question: at the start, or after a finished answer."""
    roles, metadata = facts.roles, facts.metadata
    if not facts.thread.messages and "assistant" in roles:
        opening = next(index for index, role in enumerate(roles) if role != "system")
        if roles[opening] == "assistant" and not _lacks_earlier_messages(facts, opening):
            yield Fault(("messages", opening, "role"), f"Message {opening} answers without a question")
    for index, before in enumerate(facts.predecessors):
        if before >= 0 and roles[index] == "assistant" == roles[before]:
            stop_reason = metadata[before].get("stop_reason")
            if (
                stop_reason in _FINISHED
                and metadata[before].get("end_turn") is not False
                and "harness" not in {metadata[before].get("author_kind"), metadata[index].get("author_kind")}
                and not any(block["type"] == "tool_use" for block in facts.contents[before])
            ):
                sentence = f"Message {index} answers again after a finished answer ({stop_reason})"
                yield Fault(("messages", index, "role"), sentence)


def _lacks_earlier_messages(facts: Facts, index: int) -> bool:
    metadata = facts.metadata[index]
    return bool(
        metadata.get("context_incomplete")
        or metadata.get("missing_parent")
        or (facts.document.get("session") or {}).get("fork_point")
        or facts.parents[index]
    )


@on_document("truncated-content", "warning")
def truncated_content(facts: Facts) -> Iterator[Fault]:
    """Model or tool output was truncated, by a token limit or by the program that stored it."""
    for index, metadata in enumerate(facts.metadata):
        if "stop_reason" in metadata and metadata["stop_reason"] in _TRUNCATED:
            sentence = f"Message {index} was cut off by the token limit ({metadata['stop_reason']})"
            yield Fault(("messages", index), sentence)
        elif "truncated" in metadata and metadata["truncated"] is True:
            yield Fault(("messages", index), f"Message {index} was truncated when it was stored")
    contents = facts.contents
    for _, index, number in facts.results:
        metadata = contents[index][number].get("metadata")
        if metadata and metadata.get("truncated") is True:
            sentence = f"Message {index} has a tool result that was truncated when it was stored"
            yield Fault(("messages", index, "content", number), sentence)


RULES = (EMPTY_CONTENT, INVALID_ROLE, MISSING_MESSAGE_ID, blank_content, message_flow, truncated_content)
