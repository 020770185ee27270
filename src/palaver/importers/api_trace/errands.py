"""Calls that a client makes for itself: whether it may go on, what a chat is about, what a command does.

Claude Code asks a small model, without tools. What it asks for, its own phrases tell; where they are unknown, the
shape alone says that nobody waits for the answer.
"""

import re
from typing import Any

from palaver.model.build import JsonObject

_PHRASES = (
    ("topic", ("isNewTopic",)),
    (
        "title",
        (
            "write a 5-10 word title",
            "coding conversation in under 50 characters",
            "sentence-case title",
            "Generate a concise title",
        ),
    ),
    ("command_paths", ("Extract any file paths that this command reads or modifies",)),
    ("command_prefix", ("command_injection_detected", "<policy_spec>", "prefix extraction")),
    ("web_page", ("Web page content:\n---",)),
)
_SUMMARY = re.compile(
    r"\s*(?:CRITICAL: Respond with TEXT ONLY|Your task is to create a detailed summary of|"
    r"Please summarize the following conversation)"
)
_SMALL_MODELS = re.compile(r"haiku|-nano|-mini|flash-lite", re.IGNORECASE)
_LOOKED_AT = 8_192
_MOST_MESSAGES = 2
"""A question, and what the answer is to begin with."""


def errand_of(request: JsonObject, headers: dict[str, str]) -> str:
    """What a client asked for on its own account; empty for what a person asked."""
    messages: Any = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return ""
    last: Any = messages[-1]
    if len(messages) == 1 and request.get("max_tokens") == 1:
        return "quota"
    asked = _text_of(last.get("content")) if isinstance(last, dict) else ""
    if _SUMMARY.match(asked):
        return "summary"
    if request.get("tools"):
        return "warmup" if asked.strip() == "Warmup" else ""
    if len(messages) > _MOST_MESSAGES:
        return ""  # a person may speak of these phrases, in the course of a conversation
    words = f"{_text_of(request.get('system'))}\n{asked}"
    for errand, phrases in _PHRASES:
        if any(phrase in words for phrase in phrases):
            return errand
    model = request.get("model")
    is_small = isinstance(model, str) and bool(_SMALL_MODELS.search(model))
    is_side = is_small and len(messages) == 1 and _is_of_an_agent(headers)
    return "side" if is_side else ""


def _is_of_an_agent(headers: dict[str, str]) -> bool:
    return headers.get("x-app") == "cli" or headers.get("user-agent", "").startswith("claude-cli/")


def _text_of(content: Any) -> str:
    """The beginning of a prompt, however it is spelled."""
    if isinstance(content, str):
        return content[:_LOOKED_AT]
    if not isinstance(content, list):
        return ""
    texts: list[str] = [
        block["text"][:_LOOKED_AT]
        for block in content[:4] + content[-2:]
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    return "\n".join(texts)
