"""Token counts of spans, by the names of a message's `tokens`."""

from palaver.model.build import JsonObject

_NAMES = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cache_read_input_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_creation_input_tokens",
    "gen_ai.usage.cache_write.input_tokens": "cache_creation_input_tokens",
    "gen_ai.usage.reasoning_tokens": "thinking_tokens",
    "gen_ai.usage.reasoning.output_tokens": "thinking_tokens",
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cachedTokens": "cache_read_input_tokens",
}


def tokens_in(attributes: JsonObject) -> JsonObject:
    found: JsonObject = {}
    for theirs, ours in _NAMES.items():
        count = attributes.get(theirs)
        if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 19:
            count = int(count)
        if isinstance(count, float) and count.is_integer() and count < 1 << 53:
            count = int(count)
        if type(count) is int and 0 <= count < 1 << 63:
            found.setdefault(ours, count)
    return found


def is_count(name: str) -> bool:
    return name in _NAMES
