"""What a call of a model used, as a message states it."""

from typing import Any

from palaver.model.build import JsonObject

_COUNTS = (
    ("input_tokens", (("promptTokens",), ("prompt_tokens",))),
    ("output_tokens", (("completionTokens",), ("completion_tokens",))),
    (
        "cache_creation_input_tokens",
        (("promptTokensDetails", "cacheWriteTokens"), ("prompt_tokens_details", "cache_write_tokens")),
    ),
    (
        "cache_read_input_tokens",
        (
            ("promptTokensDetails", "cachedTokens"),
            ("prompt_tokens_details", "cached_tokens"),
            ("prompt_tokens_details", "cache_read_tokens"),
        ),
    ),
    (
        "thinking_tokens",
        (("completionTokensDetails", "reasoningTokens"), ("completion_tokens_details", "reasoning_tokens")),
    ),
)


def tokens_of(usage: Any) -> JsonObject | None:
    """The counts of a `usage`, and beside them what else it says; None where it has no counts."""
    if not isinstance(usage, dict):
        return None
    found = {name: count for name, paths in _COUNTS for path in paths if (count := _count(usage, path)) is not None}
    if not found:
        return None
    rest = {name: value for name, value in usage.items() if not _is_told(name, value, found)}
    return {**found, "source_fields": rest} if rest else found


def _count(usage: JsonObject, path: tuple[str, ...]) -> int | None:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _is_told(name: str, value: Any, found: JsonObject) -> bool:
    """Whether the counts say all that a field says."""
    inner = {(name, key): one for key, one in value.items()} if isinstance(value, dict) else {(name,): value}
    return all(one is None or _is_count(path, one, found) for path, one in inner.items())


def _is_count(path: tuple[str, ...], value: Any, found: JsonObject) -> bool:
    return any(path in paths and found.get(count) == value for count, paths in _COUNTS)
