"""A fast path for messages that are nothing but text, as nearly all are.

The results equal those of the wire format. Every function returns None for anything but plain text; the caller then
uses the wire format.
"""

from typing import Any

from palaver.model.build import JsonObject

Message = tuple[str, list[JsonObject], JsonObject]
"""Role, content and metadata."""

_MESSAGE_FIELDS = {"role", "content"}
_CACHED_TEXT_FIELDS = {"type", "text", "cache_control"}
_BLANK: tuple[Any, ...] = (None, [])
_OPTIONAL_FIELDS = frozenset({"refusal", "annotations", "tool_calls", "function_call", "audio"})
"""Fields of an answer that carry no information when empty."""
_ROLES = ("user", "assistant")


def plain_request(wire: str, items: list[Any], prompts: JsonObject) -> tuple[list[JsonObject], list[Message]] | None:
    """Return the system prompt, from `prompts` or among the items, and the messages."""
    if wire == "openai-chat":
        return _chat_request(items) if not prompts else None
    return _anthropic_request(items, prompts) if wire == "anthropic" else None


def plain_answer(wire: str, payload: JsonObject) -> list[JsonObject] | None:
    """Return the content blocks of an answer."""
    if wire == "anthropic":
        return plain_text_blocks(payload.get("content"))
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
        if name not in _MESSAGE_FIELDS and (name not in _OPTIONAL_FIELDS or value not in _BLANK):
            return None
    return [{"type": "text", "text": text}]


def only_text(block: Any) -> str | None:
    """Return the text of a block that holds nothing else."""
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
        if not isinstance(item, dict) or item.keys() != _MESSAGE_FIELDS:
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
        prompt = plain_text_blocks(prompts.get("system")) if len(prompts) == 1 else None
        if prompt is None:
            return None
    for item in items:
        if not isinstance(item, dict) or item.keys() != _MESSAGE_FIELDS or item["role"] not in _ROLES:
            return None
        content = item["content"]
        blocks = (
            [{"type": "text", "text": content}] if isinstance(content, str) and content else plain_text_blocks(content)
        )
        if blocks is None:
            return None
        messages.append((item["role"], blocks, {}))
    return prompt, messages


def plain_text_blocks(content: Any) -> list[JsonObject] | None:
    """Return blocks that are text and nothing else, without their cache markers."""
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
        if len(block) > 2 and block.keys() != _CACHED_TEXT_FIELDS:
            return None
        texts.append({"type": "text", "text": text})
    return texts
