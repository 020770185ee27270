"""What a model thought and said, wherever in an item it stands."""

from palaver.importers.continue_dev.content import content_blocks, without_thoughts
from palaver.importers.continue_dev.fields import kept, text_of
from palaver.model import build
from palaver.model.build import JsonObject

_HIDDEN = "internal reasoning is hidden due to safety reasons"
"""What Continue shows where the provider encrypted the reasoning."""
_MAPPED = frozenset({"role", "content", "signature", "redactedThinking", "metadata"})


def is_placeholder(item: JsonObject, message: JsonObject) -> bool:
    """Whether an answer was begun and nothing was said in it."""
    return (
        message.get("content") in ("", None, [])
        and message.keys() <= {"id", "role", "content"}
        and all(name in {"message", "isGatheringContext"} or value in (None, [], "") for name, value in item.items())
    )


def thoughts_of(item: JsonObject, message: JsonObject) -> tuple[list[build.Block], JsonObject]:
    """The thoughts of an item that holds nothing else, and what else is said of them."""
    about = kept(message, _MAPPED)
    redacted = text_of(message, "redactedThinking")
    stated = message.get("metadata")
    if isinstance(stated, dict):
        rest = dict(stated)
        if not redacted and (redacted := text_of(rest, "encrypted_content")):
            del rest["encrypted_content"]
        stated = rest or None
    if stated is not None:
        about["metadata"] = stated
    if redacted and isinstance((details := about.get("reasoning_details")), list):
        told = {"type": "encrypted_content", "encrypted_content": redacted}
        about["reasoning_details"] = [one for one in details if one != told]
    for name in ("signature", "redactedThinking"):
        if message.get(name) is not None and not isinstance(message[name], str):
            about[name] = message[name]
    blocks = content_blocks(message.get("content"))
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    others = [block for block in blocks if block["type"] != "text"]
    if redacted and text == _HIDDEN:
        text = ""
    signature = text_of(message, "signature")
    thoughts = [*_reasoning(item, [{"thinking": text}]), *others]
    if text or signature or redacted:
        thoughts.insert(0, build.thinking(text, signature=signature or None, redacted_data=redacted or None))
    return thoughts, about


def _reasoning(item: JsonObject, before: list[build.Block]) -> list[build.Block]:
    """The thoughts that an item keeps beside its message, unless they are told already."""
    reasoning = item.get("reasoning")
    text = text_of(reasoning, "text") if isinstance(reasoning, dict) else ""
    return [build.thinking(text)] if text and not any(block.get("thinking") == text for block in before) else []


def answer_blocks(item: JsonObject, message: JsonObject, before: list[build.Block]) -> list[build.Block]:
    """What a model thought and said, behind thoughts of which other items told."""
    content = message.get("content")
    blocks = _reasoning(item, before)
    if isinstance(content, str) and (thought := without_thoughts(content)).thinking is not None:
        blocks.append(build.thinking(thought.thinking))
        content = thought.said
    return [*blocks, *content_blocks(content)]
