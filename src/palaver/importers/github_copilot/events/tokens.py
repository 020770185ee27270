"""Token counts as Copilot names them, and their places in a message."""

from typing import Any

from palaver.model.build import JsonObject

_NAMES = {
    "input_tokens": ("inputTokens", "input"),
    "output_tokens": ("outputTokens", "output"),
    "cache_read_input_tokens": ("cacheReadTokens", "cachedInput"),
    "cache_creation_input_tokens": ("cacheWriteTokens",),
    "thinking_tokens": ("reasoningTokens",),
}
"""The second names are those of older versions."""


def tokens_of(stated: Any) -> JsonObject:
    """The counts that an object states; empty where it states none."""
    if not isinstance(stated, dict):
        return {}
    found: JsonObject = {}
    for name, theirs in _NAMES.items():
        for one in theirs:
            if type(count := stated.get(one)) is int and count >= 0:
                found[name] = count
                break
    return found


def add_tokens(message: JsonObject, counts: JsonObject) -> None:
    """Chunks of an answer repeat what it cost: the greatest counts."""
    held = message.setdefault("tokens", {})
    for name, count in counts.items():
        held[name] = max(count, held.get(name, 0))
