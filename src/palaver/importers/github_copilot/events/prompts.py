"""What is said to the model: prompts, what the model saw of them, and its instructions."""

from palaver.importers.github_copilot.events.conversation import Conversation, keep, keep_rest, words
from palaver.importers.github_copilot.events.disposition import INTO_MESSAGE, MAPPED, Disposition
from palaver.importers.github_copilot.events.media import attachments
from palaver.importers.github_copilot.events.usage import settle_usage
from palaver.model import build
from palaver.model.build import JsonObject

_MAPPED = frozenset({"content", "attachments", "transformedContent"})
_RENDERED_MAPPED = frozenset({"renderedMessage"})
_SYSTEM_MAPPED = frozenset({"content", "role"})


def prompt(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    content = words(data.get("content"))
    if data.get("attachments"):
        content += attachments(data["attachments"])
    metadata: JsonObject = {"author_kind": _author(data)}
    if isinstance((source := data.get("source")), str) and source.startswith("skill-"):
        metadata["hidden"] = True
    if data.get("delivery") == "queued":
        metadata["queued"] = True
    keep_rest(metadata, data, _MAPPED)
    seen = data.get("transformedContent")
    if seen is not None and seen != data.get("content"):
        metadata["transformedContent"] = seen
    conversation.answer = None
    if conversation.held_usage is not None:
        settle_usage(conversation)
    turn = data.get("turnId")
    rendered = conversation.prompts.get(turn) if isinstance(turn, str) else None
    if rendered is not None and rendered["metadata"].pop("rendered_only", False):
        _take_over(conversation, rendered, event, content, metadata)
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


def _take_over(
    conversation: Conversation, rendered: JsonObject, event: JsonObject, content: list[JsonObject], metadata: JsonObject
) -> None:
    """The typed words take the place of the prompt that was made of them, which came first."""
    own: JsonObject = rendered["metadata"]
    own["renderedMessage"] = rendered["content"][0]["text"]
    name = conversation.id_of(event)
    own["source_ids"] = [rendered["message_id"], name]
    conversation.named[name] = rendered
    own.update(metadata)
    rendered["content"] = content or [build.text("")]


def rendered(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Attach what a prompt was made into to the prompt; alone, it is all that is known of it."""
    text, turn = data.get("renderedMessage"), data.get("turnId")
    known = conversation.prompts.get(turn) if isinstance(turn, str) else None
    if known is not None and "renderedMessage" not in known["metadata"]:
        known["metadata"]["renderedMessage"] = text
        for name, value in data.items():
            if name not in {"renderedMessage", "turnId"} and value is not None:
                keep(known["metadata"], name, value)
        return INTO_MESSAGE
    if not isinstance(text, str) or known is not None:
        conversation.keep_whole(event, data)
        return MAPPED
    metadata: JsonObject = {"author_kind": "harness", "rendered_only": True}
    keep_rest(metadata, data, _RENDERED_MAPPED)
    conversation.answer = None
    message = conversation.append(event, "user", [build.text(text)], metadata)
    if isinstance(turn, str):
        conversation.prompts[turn] = message
    return MAPPED


def instructions(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Instructions stand once, and again only where they changed."""
    key = f"{data.get('role')}\0{data.get('name')}"
    if conversation.systems.get(key) == data:
        return INTO_MESSAGE
    conversation.systems[key] = data
    metadata: JsonObject = {}
    keep_rest(metadata, data, _SYSTEM_MAPPED)
    if (role := data.get("role")) != "system" and role is not None:
        metadata["role"] = role
    conversation.say(event, words(data.get("content")) or [build.text("")], metadata, is_hidden=True)
    return MAPPED
