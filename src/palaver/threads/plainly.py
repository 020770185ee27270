"""Plain messages: nearly all that is said is text alone, and to read that takes no more than a look.

What comes out is what the wire format gives; wherever there is anything but text, nothing comes out, and the wire
format is asked.
"""

from typing import Any

Json = dict[str, Any]

_CHAT = {"role", "content"}
_BLANK_BESIDE = frozenset({"refusal", "annotations", "tool_calls", "function_call", "audio"})
"""Fields of an answer that say nothing where they are empty."""
_ROLES = ("user", "assistant")


def plain_request(wire: str, items: list[Any], prompts: Json) -> Json | None:
    """The messages of a request as an exchange has them, and the system prompt, which may stand apart."""
    if wire == "openai-chat":
        return _chat_request(items) if not prompts else None
    return _anthropic_request(items, prompts) if wire == "anthropic" else None


def plain_answer(wire: str, payload: Json) -> list[Json] | None:
    """The content of an answer."""
    match wire, payload:
        case "openai-chat", {"choices": [{"message": {"role": "assistant", "content": str(text), **beside}}, *_]}:
            is_alone = beside.keys() <= _BLANK_BESIDE and all(value in (None, []) for value in beside.values())
            return [{"type": "text", "text": text}] if text and is_alone else None
        case "anthropic", {"content": [*blocks]} if blocks and all(map(_is_text, blocks)):
            return [{"type": "text", "text": block["text"]} for block in blocks]
        case _:
            return None


def _chat_request(items: list[Any]) -> Json | None:
    prompt: list[Json] = []
    messages: list[Json] = []
    for item in items:
        if not isinstance(item, dict) or item.keys() != _CHAT:
            return None
        role, text = item["role"], item["content"]
        if not isinstance(text, str) or not text:
            return None
        if role in _ROLES:
            messages.append({"role": role, "content": [{"type": "text", "text": text}]})
        elif role == "system" and not messages and not prompt:
            prompt.append({"type": "text", "text": text})
        else:
            return None
    return {"system": prompt, "messages": messages}


def _anthropic_request(items: list[Any], prompts: Json) -> Json | None:
    messages: list[Json] = []
    prompt: list[Json] = []
    match prompts:
        case {"system": [*blocks]} if blocks and len(prompts) == 1 and all(map(_is_text, blocks)):
            prompt = [{"type": "text", "text": block["text"]} for block in blocks]
        case _ if prompts:
            return None
        case _:
            pass
    for item in items:
        if not isinstance(item, dict) or item.keys() != _CHAT or item["role"] not in _ROLES:
            return None
        content = item["content"]
        if isinstance(content, str) and content:
            blocks = [{"type": "text", "text": content}]
        elif isinstance(content, list) and content and all(map(_is_text, content)):
            blocks = [{"type": "text", "text": block["text"]} for block in content]
        else:
            return None
        messages.append({"role": item["role"], "content": blocks})
    return {"system": prompt, "messages": messages}


def _is_text(block: Any) -> bool:
    """Whether this is text and nothing else; a mark for the cache says nothing."""
    match block:
        case {"type": "text", "text": str(), **beside}:
            return not beside or beside.keys() == {"cache_control"}
        case _:
            return False
