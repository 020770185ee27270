"""Token counts of a Gemini response.

Gemini counts cached tokens with the prompt's, as the exchange does, thoughts apart from the candidates', and the
prompts of tools apart from both. These count as input if the stated total includes them.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._provider_data import FieldReader, ProviderData, is_count, report_unwritten

COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "thinking_tokens": "thoughtsTokenCount",
    "cached_tokens": "cachedContentTokenCount",
    "total_tokens": "totalTokenCount",
}
_PLAIN = ("input_tokens", "output_tokens")
_SUMMANDS = (*_PLAIN, "thinking_tokens")
_TOOL_PROMPT = "toolUsePromptTokenCount"


def usage_from_wire(stated: FieldReader) -> JsonObject:
    usage = {
        name: stated.take(field, _is_count_or_null)
        for name, field in COUNTS.items()
        if stated.has(field, _is_count_or_null)
    }
    if "total_tokens" not in usage:
        stated.expect(COUNTS["total_tokens"], _is_count_or_null)
    tools = stated.look(_TOOL_PROMPT, is_count)
    if tools and usage.get("total_tokens") == tools + sum(usage.get(name) or 0 for name in _SUMMANDS):
        usage["input_tokens"] = (usage.get("input_tokens") or 0) + tools
        stated.remember("tool_prompt", tools)
    return usage | stated.provider_data()


def usage_to_wire(usage: JsonObject, losses: Losses) -> JsonObject:
    report_unwritten(usage, frozenset(COUNTS), "/usage", losses)
    saved = ProviderData(usage)
    made = {field: usage[name] for name, field in COUNTS.items() if name in usage}
    tools: Any = saved.original("tool_prompt")
    if is_count(tools) and (usage.get("input_tokens") or 0) >= tools:
        made[COUNTS["input_tokens"]] = usage["input_tokens"] - tools
    if not saved.lacks("totalTokenCount") and "total_tokens" not in usage and None not in map(usage.get, _PLAIN):
        made["totalTokenCount"] = sum(usage.get(name) or 0 for name in _SUMMANDS)
    return saved.complete(saved.spell(made))


def _is_count_or_null(value: Any) -> bool:
    return value is None or is_count(value)
