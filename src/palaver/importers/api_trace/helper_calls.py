"""Helper calls, which a client makes for itself: quota checks, titles, summaries, what a command does.

Claude Code asks a small model without tools. Fixed phrases in its prompts show the purpose; without a known phrase,
the shape of the request alone shows that no person waits for the answer.
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
_MAX_LETTERS = 8_192
_MAX_MESSAGES = 2
"""A question and the prefilled start of the answer."""


def helper_kind(request: JsonObject, headers: dict[str, str]) -> str:
    """Return the purpose of a helper call, or "" for a call made for a person."""
    messages: Any = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return ""
    last: Any = messages[-1]
    if len(messages) == 1 and request.get("max_tokens") == 1:
        return "quota"
    last_text = _text_start(last.get("content")) if isinstance(last, dict) else ""
    if _SUMMARY.match(last_text):
        return "summary"
    if request.get("tools"):
        return "warmup" if last_text.strip() == "Warmup" else ""
    if len(messages) > _MAX_MESSAGES:
        return ""  # in a longer conversation, a person may have written these phrases
    prompts = f"{_text_start(request.get('system'))}\n{last_text}"
    for helper, phrases in _PHRASES:
        if any(phrase in prompts for phrase in phrases):
            return helper
    model = request.get("model")
    is_small = isinstance(model, str) and bool(_SMALL_MODELS.search(model))
    is_side = is_small and len(messages) == 1 and _is_from_claude_code(headers)
    return "side" if is_side else ""


def _is_from_claude_code(headers: dict[str, str]) -> bool:
    return headers.get("x-app") == "cli" or headers.get("user-agent", "").startswith("claude-cli/")


def _text_start(content: Any) -> str:
    """Return the start of a prompt, be it a string or blocks."""
    if isinstance(content, str):
        return content[:_MAX_LETTERS]
    if not isinstance(content, list):
        return ""
    texts: list[str] = [
        block["text"][:_MAX_LETTERS]
        for block in content[:4] + content[-2:]
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    return "\n".join(texts)
