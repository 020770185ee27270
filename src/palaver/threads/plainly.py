"""Plain messages: nearly all that is said is text alone, and to read that takes no more than a look.

What comes out is what the wire format gives; wherever there is anything but text, nothing comes out, and the wire
format is asked.
"""

from typing import Any

from palaver.model.build import JsonObject

Message = tuple[str, list[JsonObject], JsonObject]
"""Role, content, and what else is said of it."""

_CHAT = {"role", "content"}
_MARKED = {"type", "text", "cache_control"}
_BLANK: tuple[Any, ...] = (None, [])
_BLANK_BESIDE = frozenset({"refusal", "annotations", "tool_calls", "function_call", "audio"})
"""Fields of an answer that say nothing where they are empty."""
_ROLES = ("user", "assistant")


def plain_request(wire: str, items: list[Any], prompts: JsonObject) -> tuple[list[JsonObject], list[Message]] | None:
    """The system prompt of a request, which may stand apart, and its messages."""
    if wire == "openai-chat":
        return _chat_request(items) if not prompts else None
    return _anthropic_request(items, prompts) if wire == "anthropic" else None


def plain_answer(wire: str, payload: JsonObject) -> list[JsonObject] | None:
    """The content of an answer."""
    if wire == "anthropic":
        return plain_texts(payload.get("content"))
    choices = payload.get("choices") if wire == "openai-chat" else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    message = choices[0].get("message")
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return None
    text = message.get("content")
    if not isinstance(text, str) or not text:
        return None
    for name, value in message.items():
        if name not in _CHAT and (name not in _BLANK_BESIDE or value not in _BLANK):
            return None
    return [{"type": "text", "text": text}]


def only_text(block: Any) -> str | None:
    """The text of a block that says nothing else."""
    if (
        isinstance(block, dict)
        and len(block) == 2
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ):
        return block["text"]
    return None


def _chat_request(items: list[Any]) -> tuple[list[JsonObject], list[Message]] | None:
    prompt: list[JsonObject] = []
    messages: list[Message] = []
    for item in items:
        if not isinstance(item, dict) or item.keys() != _CHAT:
            return None
        role, text = item["role"], item["content"]
        if not isinstance(text, str) or not text:
            return None
        if role in _ROLES:
            messages.append((role, [{"type": "text", "text": text}], {}))
        elif role == "system" and not messages and not prompt:
            prompt.append({"type": "text", "text": text})
        else:
            return None
    return prompt, messages


def _anthropic_request(items: list[Any], prompts: JsonObject) -> tuple[list[JsonObject], list[Message]] | None:
    messages: list[Message] = []
    prompt: list[JsonObject] | None = []
    if prompts:
        prompt = plain_texts(prompts.get("system")) if len(prompts) == 1 else None
        if prompt is None:
            return None
    for item in items:
        if not isinstance(item, dict) or item.keys() != _CHAT or item["role"] not in _ROLES:
            return None
        content = item["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else plain_texts(content)
        if blocks is None:
            return None
        messages.append((item["role"], blocks, {}))
    return prompt, messages


def plain_texts(content: Any) -> list[JsonObject] | None:
    """Blocks that are text and nothing else; a mark for the cache says nothing."""
    if not isinstance(content, list) or not content:
        return None
    texts: list[JsonObject] = []
    for block in content:
        if (
            not isinstance(block, dict)
            or block.get("type") != "text"
            or not isinstance((text := block.get("text")), str)
        ):
            return None
        if len(block) > 2 and block.keys() != _MARKED:
            return None
        texts.append({"type": "text", "text": text})
    return texts
