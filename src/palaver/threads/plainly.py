"""Plain messages: nearly all that is said is text alone, and to read that takes no more than a look.

What comes out is what the wire format gives; wherever there is anything but text, nothing comes out, and the wire
format is asked.
"""

from typing import Any

Json = dict[str, Any]
Message = tuple[str, list[Json], Json]
"""Role, content, and what else is said of it."""

_CHAT = {"role", "content"}
_MARKED = {"type", "text", "cache_control"}
_BLANK: tuple[Any, ...] = (None, [])
_BLANK_BESIDE = frozenset({"refusal", "annotations", "tool_calls", "function_call", "audio"})
"""Fields of an answer that say nothing where they are empty."""
_ROLES = ("user", "assistant")


def plain_request(wire: str, items: list[Any], prompts: Json) -> tuple[list[Json], list[Message]] | None:
    """The system prompt of a request, which may stand apart, and its messages."""
    if wire == "openai-chat":
        return _chat_request(items) if not prompts else None
    return _anthropic_request(items, prompts) if wire == "anthropic" else None


def plain_answer(wire: str, payload: Json) -> list[Json] | None:
    """The content of an answer."""
    if wire == "anthropic":
        return plain_texts(payload.get("content"))
    choices = payload.get("choices") if wire == "openai-chat" else None
    if type(choices) is not list or not choices or type(choices[0]) is not dict:
        return None
    message = choices[0].get("message")
    if type(message) is not dict or message.get("role") != "assistant":
        return None
    text = message.get("content")
    if type(text) is not str or not text:
        return None
    for name, value in message.items():
        if name not in _CHAT and (name not in _BLANK_BESIDE or value not in _BLANK):
            return None
    return [{"type": "text", "text": text}]


def only_text(block: Any) -> str | None:
    """The text of a block that says nothing else."""
    if type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str:
        return block["text"]
    return None


def _chat_request(items: list[Any]) -> tuple[list[Json], list[Message]] | None:
    prompt: list[Json] = []
    messages: list[Message] = []
    for item in items:
        if type(item) is not dict or item.keys() != _CHAT:
            return None
        role, text = item["role"], item["content"]
        if type(text) is not str or not text:
            return None
        if role in _ROLES:
            messages.append((role, [{"type": "text", "text": text}], {}))
        elif role == "system" and not messages and not prompt:
            prompt.append({"type": "text", "text": text})
        else:
            return None
    return prompt, messages


def _anthropic_request(items: list[Any], prompts: Json) -> tuple[list[Json], list[Message]] | None:
    messages: list[Message] = []
    prompt: list[Json] | None = []
    if prompts:
        prompt = plain_texts(prompts.get("system")) if len(prompts) == 1 else None
        if prompt is None:
            return None
    for item in items:
        if type(item) is not dict or item.keys() != _CHAT or item["role"] not in _ROLES:
            return None
        content = item["content"]
        blocks = [{"type": "text", "text": content}] if type(content) is str and content else plain_texts(content)
        if blocks is None:
            return None
        messages.append((item["role"], blocks, {}))
    return prompt, messages


def plain_texts(content: Any) -> list[Json] | None:
    """Blocks that are text and nothing else; a mark for the cache says nothing."""
    if type(content) is not list or not content:
        return None
    texts: list[Json] = []
    for block in content:
        if type(block) is not dict or block.get("type") != "text" or type(text := block.get("text")) is not str:
            return None
        if len(block) > 2 and block.keys() != _MARKED:
            return None
        texts.append({"type": "text", "text": text})
    return texts
