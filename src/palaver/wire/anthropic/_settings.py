"""How a model of Anthropic is to answer, both ways: its name, length, sampling and thinking.

A level of thinking is written as a budget, none as `disabled`. A budget that is not below `max_tokens` raises it to
the budget plus what was asked for. `adaptive` and `between_tools` are read by `output_config.effort`, which is high
where it is not stated; a budget that is enabled is never read as none. Thinking is shown unless `display` is `omitted`.
"""

from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire._thinking import Level, budget, level_of_budget, level_of_effort
from palaver.wire.anthropic._kept import report_rest

MAX_TOKENS = 8192
"""Anthropic must be told where to stop; this stands in for a request that does not say."""
_SAMPLING = ("temperature", "top_p", "top_k", "stop_sequences")


def settings_from_wire(payload: JsonObject) -> JsonObject:
    """The part of a request that these fields state."""
    settings: JsonObject = {}
    if isinstance(model := payload.get("model"), str) and model:
        settings["model"] = model
    if thinking := _thinking_from_wire(payload):
        settings["thinking"] = thinking
    if _is_count(tokens := payload.get("max_tokens")):
        settings["max_output_tokens"] = tokens
    if sampling := _sampling_from_wire(payload):
        settings["sampling"] = sampling
    return settings


def settings_to_wire(settings: JsonObject, known: JsonObject, losses: Losses) -> JsonObject:
    """`known` is what the payload said itself: thinking that it states in its own way needs no other budget."""
    made: JsonObject = {"model": settings["model"]} if "model" in settings else {}
    thinking = _thinking_to_wire(settings, losses)
    is_known = thinking and _thinking_from_wire({**known, **made}) == settings["thinking"]
    made["max_tokens"] = _max_tokens(settings, known["thinking"] if is_known else thinking, losses)
    if thinking:
        made["thinking"] = thinking
    return made | _sampling_to_wire(settings.get("sampling") or {}, losses)


def _max_tokens(settings: JsonObject, thinking: JsonObject, losses: Losses) -> int:
    asked = settings.get("max_output_tokens")
    spent = thinking["budget_tokens"] if thinking.get("type") == "enabled" else 0
    if asked is None:
        losses.change("/max_output_tokens", f"Anthropic must be told; {MAX_TOKENS} stands for what was not said")
        return spent + MAX_TOKENS
    if spent < asked or spent == 0:
        return asked
    losses.change("/max_output_tokens", f"it must be above the budget for thinking, {spent}, which is added")
    return spent + asked


def _thinking_from_wire(payload: JsonObject) -> JsonObject | None:
    level: Level | None
    match payload.get("thinking"):
        case {"type": "disabled"}:
            return {"level": "none", "include_summary": False}
        case {"type": "enabled", "budget_tokens": int(tokens)} as thinking if _is_count(tokens):
            level = level_of_budget(str(payload.get("model")), tokens)
            level = "low" if level == "none" else level
        case {"type": "adaptive" | "between_tools"} as thinking:
            match payload.get("output_config"):
                case {"effort": str(effort)}:
                    level = level_of_effort(effort) or "high"
                case _:
                    level = "high"
        case _:
            return None
    return {"level": level, "include_summary": cast("JsonObject", thinking).get("display") != "omitted"}


def _thinking_to_wire(settings: JsonObject, losses: Losses) -> JsonObject:
    thinking = settings.get("thinking")
    if not thinking:
        return {}
    report_rest(thinking, ("level", "include_summary"), "/thinking", losses)
    is_shown = thinking.get("include_summary", False)
    if thinking["level"] == "none":
        if is_shown:
            losses.change("/thinking/include_summary", "without thinking there is nothing to show")
        return {"type": "disabled"}
    made: JsonObject = {"type": "enabled", "budget_tokens": budget(settings.get("model", ""), thinking["level"])}
    return made if is_shown else {**made, "display": "omitted"}


def _sampling_from_wire(payload: JsonObject) -> JsonObject:
    sampling: JsonObject = {name: payload[name] for name in ("temperature", "top_p") if _is_amount(payload.get(name))}
    if _is_count(top_k := payload.get("top_k")):
        sampling["top_k"] = top_k
    match payload.get("stop_sequences"):
        case [_, *_] as stops if all(isinstance(stop, str) for stop in stops):
            sampling["stop_sequences"] = stops
        case _:
            pass
    return sampling


def _sampling_to_wire(sampling: JsonObject, losses: Losses) -> JsonObject:
    made = {name: sampling[name] for name in _SAMPLING if sampling.get(name) is not None}
    if sampling and not made:
        losses.drop("/sampling", f"Anthropic's format has no place for {', '.join(sampling)}")
        return {}
    report_rest(sampling, _SAMPLING, "/sampling", losses)
    if made.get("temperature", 0) > 1:
        losses.change("/sampling/temperature", "Anthropic's greatest is 1")
        made["temperature"] = 1
    return made


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_amount(value: Any) -> bool:
    return type(value) in {int, float} and value >= 0
