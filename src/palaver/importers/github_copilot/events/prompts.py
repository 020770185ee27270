"""Handlers for the model's input: prompts, their rendered form, and system instructions."""

from palaver.importers.github_copilot.events.content import attachments
from palaver.importers.github_copilot.events.session import (
    INTO_MESSAGE,
    MAPPED,
    Conversation,
    Disposition,
    keep_field,
    keep_unmapped,
    text_blocks,
)
from palaver.importers.github_copilot.events.usage import flush_usage
from palaver.model import build
from palaver.model.build import JsonObject

_MAPPED = frozenset({"content", "attachments", "transformedContent"})
_RENDERED_MAPPED = frozenset({"renderedMessage"})
_SYSTEM_MAPPED = frozenset({"content", "role"})


def user_message(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    content = text_blocks(data.get("content"))
    if data.get("attachments"):
        content += attachments(data["attachments"])
    metadata: JsonObject = {"author_kind": _author(data)}
    if isinstance((source := data.get("source")), str) and source.startswith("skill-"):
        metadata["hidden"] = True
    if data.get("delivery") == "queued":
        metadata["queued"] = True
    keep_unmapped(metadata, data, _MAPPED)
    transformed = data.get("transformedContent")
    if transformed is not None and transformed != data.get("content"):
        metadata["transformedContent"] = transformed
    conversation.open_answer = None
    if conversation.pending_usage is not None:
        flush_usage(conversation)
    turn = data.get("turnId")
    rendered = conversation.prompts.get(turn) if isinstance(turn, str) else None
    if rendered is not None and rendered["metadata"].pop("rendered_only", False):
        _replace_rendered(conversation, rendered, event, content, metadata)
        return INTO_MESSAGE
    message = conversation.append(event, "user", content or [build.text("")], metadata)
    if isinstance(turn, str):
        conversation.prompts[turn] = message
    return MAPPED


def _author(data: JsonObject) -> str:
    source = data.get("source")
    if source or data.get("isAutopilotContinuation"):
        return "model" if isinstance(source, str) and source.startswith("agent-") else "harness"
    return "human"


def _replace_rendered(
    conversation: Conversation, rendered: JsonObject, event: JsonObject, content: list[JsonObject], metadata: JsonObject
) -> None:
    """Put the typed text into the message of its rendered prompt, which arrived first."""
    own: JsonObject = rendered["metadata"]
    own["renderedMessage"] = rendered["content"][0]["text"]
    name = conversation.claim_id(event)
    own["source_ids"] = [rendered["message_id"], name]
    conversation.by_event_id[name] = rendered
    own.update(metadata)
    rendered["content"] = content or [build.text("")]


def user_message_rendered(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Attach the rendered prompt to its prompt, or add it as a message if that has not arrived."""
    text, turn = data.get("renderedMessage"), data.get("turnId")
    known = conversation.prompts.get(turn) if isinstance(turn, str) else None
    if known is not None and "renderedMessage" not in known["metadata"]:
        known["metadata"]["renderedMessage"] = text
        for name, value in data.items():
            if name not in {"renderedMessage", "turnId"} and value is not None:
                keep_field(known["metadata"], name, value)
        return INTO_MESSAGE
    if not isinstance(text, str) or known is not None:
        conversation.append_opaque(event, data)
        return MAPPED
    metadata: JsonObject = {"author_kind": "harness", "rendered_only": True}
    keep_unmapped(metadata, data, _RENDERED_MAPPED)
    conversation.open_answer = None
    message = conversation.append(event, "user", [build.text(text)], metadata)
    if isinstance(turn, str):
        conversation.prompts[turn] = message
    return MAPPED


def system_message(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Add instructions, unless they repeat the last ones of the same role and name."""
    key = f"{data.get('role')}\0{data.get('name')}"
    if conversation.last_instructions.get(key) == data:
        return INTO_MESSAGE
    conversation.last_instructions[key] = data
    metadata: JsonObject = {}
    keep_unmapped(metadata, data, _SYSTEM_MAPPED)
    if (role := data.get("role")) != "system" and role is not None:
        metadata["role"] = role
    conversation.append_system(event, text_blocks(data.get("content")) or [build.text("")], metadata, is_hidden=True)
    return MAPPED
