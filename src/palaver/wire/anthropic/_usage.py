"""Token counts of Anthropic's format, read and written.

Anthropic counts tokens that were read from the cache or written to it apart from `input_tokens`; the exchange counts
them as input, too. Anthropic includes thinking in `output_tokens` and states no total. The tier that answered stands
among the counts.
"""

from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire._levels import tier_to_wire
from palaver.wire.anthropic._provider_data import difference, report_unwritten, restore, store_own_data

_UNCOUNTED: JsonObject = {"input_tokens": 0, "output_tokens": 0}
"""The usage written for a response whose tokens were not counted: the API requires one."""
CACHE_COUNTS = {"cached_tokens": "cache_read_input_tokens", "cache_write_tokens": "cache_creation_input_tokens"}
_SUMMANDS = ("input_tokens", "output_tokens", "thinking_tokens")
_TIERS = frozenset({"standard", "priority", "batch"})


def usage_from_wire(raw: Any) -> JsonObject:
    """Return the `usage` and the `service_tier` of a response, as far as they are known."""
    if not isinstance(raw, dict):
        return {}
    stated = cast("JsonObject", raw)
    facts: JsonObject = {}
    if isinstance(tier := stated.get("service_tier"), str) and tier in _TIERS:
        facts["service_tier"] = tier
        stated = {key: value for key, value in stated.items() if key != "service_tier"}
    if stated == _UNCOUNTED:
        return facts
    usage = _parse_counts(stated)
    if saved := difference(stated, _build_usage(usage, Losses())):
        store_own_data(usage, saved)
    return {"usage": usage, **facts}


def usage_to_wire(response: JsonObject, losses: Losses) -> JsonObject:
    """Return the usage of a response, which the API requires."""
    usage: JsonObject | None = response.get("usage")
    made = dict(_UNCOUNTED) if usage is None else _counts_to_wire(usage, losses)
    tier = tier_to_wire(response.get("service_tier"), _TIERS, losses, title="Anthropic")
    return made if tier is None else {**made, "service_tier": tier}


def _counts_to_wire(usage: JsonObject, losses: Losses) -> JsonObject:
    writer_losses = Losses()
    made = _build_usage(usage, writer_losses)
    is_sum = usage.get("total_tokens") == sum(usage.get(name) or 0 for name in _SUMMANDS) and not writer_losses.found
    report_unwritten(usage, (*_SUMMANDS, *CACHE_COUNTS, *(("total_tokens",) if is_sum else ())), "/usage", losses)
    counts = {key: value for key, value in usage.items() if key != "total_tokens"}
    written = restore(counts, made, _parse_counts, pointer="/usage", writer_losses=writer_losses, losses=losses)
    if written == _UNCOUNTED:
        losses.drop("/usage", "Anthropic writes 0 for unknown counts")
    return written


def _parse_counts(raw: JsonObject) -> JsonObject:
    usage: JsonObject = {name: raw[name] for name in ("input_tokens", "output_tokens") if _is_count(raw.get(name, ""))}
    match raw.get("output_tokens_details"), usage.get("output_tokens"):
        case {"thinking_tokens": thinking}, int(output) if type(thinking) is int and 0 <= thinking <= output:
            usage |= {"output_tokens": output - thinking, "thinking_tokens": thinking}
        case _:
            pass
    for ours, theirs in CACHE_COUNTS.items():
        if _is_count(raw.get(theirs, "")):
            usage[ours] = raw[theirs]
    if usage.get("input_tokens") is not None:
        usage["input_tokens"] += _cache_tokens(usage)
    return usage


def _build_usage(usage: JsonObject, losses: Losses) -> JsonObject:
    made: JsonObject = {}
    for name in ("input_tokens", "output_tokens"):
        if (count := usage.get(name)) is None:
            losses.change(f"/usage/{name}" if name in usage else "/usage", "Anthropic requires a count; written as 0")
        made[name] = count or 0
    if (apart := _cache_tokens(usage)) <= made["input_tokens"]:
        made["input_tokens"] -= apart
    elif usage.get("input_tokens") is not None:
        losses.change(
            "/usage/input_tokens", "Anthropic counts cached tokens separately, but this count is smaller than they are"
        )
    if (thinking := usage.get("thinking_tokens")) is not None:
        made["output_tokens"] += thinking
        made["output_tokens_details"] = {"thinking_tokens": thinking}
    elif "thinking_tokens" in usage:
        losses.drop("/usage/thinking_tokens", "Anthropic omits unknown counts")
    return made | {theirs: usage[ours] for ours, theirs in CACHE_COUNTS.items() if ours in usage}


def _cache_tokens(usage: JsonObject) -> int:
    return sum(usage.get(name) or 0 for name in CACHE_COUNTS)


def _is_count(value: Any) -> bool:
    """Return whether this is a count, or the null of a provider that does not know it."""
    return value is None or (type(value) is int and value >= 0)
