"""Why a response of Anthropic ended and what it cost, both ways.

Anthropic counts cached tokens apart from `input_tokens`, and thinking among `output_tokens`; it states no total. Tokens
written to the cache and read from it are one count of the exchange; how they were split is kept.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.anthropic._kept import difference, keep, report_rest, settle

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "refusal": "content_filter",
}
_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_use": "tool_use", "content_filter": "refusal"}
_CACHE = ("cache_creation_input_tokens", "cache_read_input_tokens")
_COUNTS = ("input_tokens", "output_tokens", "thinking_tokens", "cached_tokens")
UNCOUNTED: JsonObject = {"input_tokens": 0, "output_tokens": 0}
"""A response must state its usage; this stands for one that nobody counted."""


def finish_of(payload: JsonObject) -> str:
    if payload.get("type") == "error":
        return "error"
    stop = payload.get("stop_reason")
    return _FINISH.get(stop, "unknown") if isinstance(stop, str) else "unknown"


def stop_of(finish: str, losses: Losses) -> str | None:
    if finish == "error":
        losses.change("/finish_reason", "Anthropic has no word for it")
    return _STOP.get(finish)


def usage_from_wire(raw: JsonObject) -> JsonObject | None:
    if raw == UNCOUNTED:
        return None
    usage = _counts(raw)
    if kept := difference(raw, _made(usage, Losses())):
        keep(usage, kept)
    return usage


def usage_to_wire(usage: JsonObject | None, losses: Losses) -> JsonObject:
    if usage is None:
        return dict(UNCOUNTED)
    found = Losses()
    made = _made(usage, found)
    report_rest(usage, _COUNTS, "/usage", losses)
    written = settle(usage, made, _counts, pointer="/usage", found=found, losses=losses)
    if written == UNCOUNTED:
        losses.drop("/usage", "an answer that cost nothing is one that nobody counted")
    return written


def _counts(raw: JsonObject) -> JsonObject:
    usage: JsonObject = {name: raw[name] for name in ("input_tokens", "output_tokens") if _is_count(raw.get(name, ""))}
    match raw.get("output_tokens_details"), usage.get("output_tokens"):
        case {"thinking_tokens": thinking}, int(output) if type(thinking) is int and 0 <= thinking <= output:
            usage |= {"output_tokens": output - thinking, "thinking_tokens": thinking}
        case _:
            pass
    cached = [raw[name] for name in _CACHE if _is_count(raw.get(name, ""))]
    if cached:
        known = [count for count in cached if count is not None]
        usage["cached_tokens"] = sum(known) if known else None
    return usage


def _made(usage: JsonObject, losses: Losses) -> JsonObject:
    made: JsonObject = {}
    for name in ("input_tokens", "output_tokens"):
        if (count := usage.get(name)) is None:
            losses.change(f"/usage/{name}" if name in usage else "/usage", "Anthropic always counts; 0 stands for it")
        made[name] = count or 0
    cached, thinking, total = usage.get("cached_tokens"), usage.get("thinking_tokens"), usage.get("total_tokens")
    if cached and total == sum(made.values()) + (thinking or 0) and cached <= made["input_tokens"]:
        losses.change("/usage/input_tokens", "Anthropic counts cached tokens apart")
        made["input_tokens"] -= cached
    if thinking is not None:
        made["output_tokens"] += thinking
        made["output_tokens_details"] = {"thinking_tokens": thinking}
    elif "thinking_tokens" in usage:
        losses.drop("/usage/thinking_tokens", "Anthropic leaves out what it does not count")
    if "cached_tokens" in usage:
        made["cache_read_input_tokens"] = cached
    return made


def _is_count(value: Any) -> bool:
    """Null is one that the provider states not to know."""
    return value is None or (type(value) is int and value >= 0)
