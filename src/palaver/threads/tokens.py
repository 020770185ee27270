"""Token counts of an answer, in the provider's own numbers and the names of a message's `tokens`."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.threads.call import Call

Path = tuple[str, ...]

_NAMES: dict[str, dict[str, tuple[Path, ...]]] = {
    "openai": {
        "input_tokens": (("prompt_tokens",), ("input_tokens",)),
        "output_tokens": (("completion_tokens",), ("output_tokens",)),
        "cache_read_input_tokens": (
            ("prompt_tokens_details", "cached_tokens"),
            ("input_tokens_details", "cached_tokens"),
        ),
        "thinking_tokens": (
            ("completion_tokens_details", "reasoning_tokens"),
            ("output_tokens_details", "reasoning_tokens"),
        ),
    },
    "anthropic": {
        "input_tokens": (("input_tokens",),),
        "output_tokens": (("output_tokens",),),
        "cache_creation_input_tokens": (("cache_creation_input_tokens",),),
        "cache_read_input_tokens": (("cache_read_input_tokens",),),
        "thinking_tokens": (("output_tokens_details", "thinking_tokens"),),
    },
    "gemini": {
        "input_tokens": (("promptTokenCount",),),
        "output_tokens": (("candidatesTokenCount",),),
        "cache_read_input_tokens": (("cachedContentTokenCount",),),
        "thinking_tokens": (("thoughtsTokenCount",),),
    },
}
_TAKEN = {
    wire: frozenset({path[0] for paths in names.values() for path in paths} | {"cache_creation", "service_tier"})
    for wire, names in _NAMES.items()
}
_LIFETIMES = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


def stated_tokens(call: Call) -> JsonObject:
    """What the payload says."""
    payload = call.response or {}
    usage = payload.get("usageMetadata" if call.wire == "gemini" else "usage")
    return _named(usage, call.wire.partition("-")[0]) if isinstance(usage, dict) else {}


def tokens_of(call: Call) -> JsonObject | None:
    """What the payload says and, where that says nothing, what the log says beside it."""
    tokens = stated_tokens(call)
    for name, count in (call.usage or {}).items():
        if tokens.get(name) is None:
            tokens[name] = count
    return tokens or None


def _named(usage: JsonObject, wire: str) -> JsonObject:
    """Counts by our names; all that has none, by its own."""
    tokens: JsonObject = {}
    for ours, paths in _NAMES[wire].items():
        for path in paths:
            if _is_count(count := _at(usage, path)):
                tokens[ours] = count
                break
    if isinstance(written := usage.get("cache_creation"), dict):
        tokens["cache_creation"] = {name: written[name] for name in _LIFETIMES if _is_count(written.get(name))}
    if isinstance(tier := usage.get("service_tier"), str):
        tokens["service_tier"] = tier
    taken = _TAKEN[wire]
    return tokens | {name: value for name, value in usage.items() if name not in taken and value is not None}


def _at(usage: JsonObject, path: Path) -> Any:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
