"""Settings of a request to Anthropic, read and written: model, limit, sampling, thinking, output format and user.

A thinking level is written as a budget, level `none` as `disabled`. If the budget is not below `max_tokens`, it is
added to `max_tokens`. The level of `adaptive` and `between_tools` is `output_config.effort`, high by default; an
enabled budget is never read as `none`. Thinking is shown unless `display` is `omitted`.
"""

from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._contract import DEFAULT_LIMIT, Losses
from palaver.wire._levels import Level, level_of_budget, level_of_effort, thinking_budget, tier_to_wire
from palaver.wire.anthropic._provider_data import report_unwritten

MAX_TOKENS = 8192
"""The limit for a request that has none: the API requires one."""
_TIERS = frozenset({"auto", "standard_only"})
_SAMPLING = ("temperature", "top_p", "top_k", "stop_sequences")


def settings_from_wire(payload: JsonObject) -> JsonObject:
    settings: JsonObject = {}
    if isinstance(model := payload.get("model"), str) and model:
        settings["model"] = model
    if thinking := _thinking_from_wire(payload):
        settings["thinking"] = thinking
    if _is_count(tokens := payload.get("max_tokens")):
        settings["max_output_tokens"] = tokens
    if sampling := _sampling_from_wire(payload):
        settings["sampling"] = sampling
    if isinstance(stream := payload.get("stream"), bool):
        settings["stream"] = stream
    if isinstance(tier := payload.get("service_tier"), str) and tier in _TIERS:
        settings["service_tier"] = tier
    return settings


def settings_to_wire(settings: JsonObject, saved: JsonObject, losses: Losses) -> JsonObject:
    """Return the fields of a payload; `saved` are those of the original, whose thinking is used if it still applies."""
    made: JsonObject = {"model": settings["model"]} if "model" in settings else {}
    thinking = _thinking_to_wire(settings, losses)
    is_known = thinking and _thinking_from_wire({**saved, **made}) == settings["thinking"]
    made["max_tokens"] = _max_tokens(settings, saved["thinking"] if is_known else thinking, losses)
    if thinking:
        made["thinking"] = thinking
    if "stream" in settings:
        made["stream"] = settings["stream"]
    if (tier := tier_to_wire(settings.get("service_tier"), _TIERS, losses, title="Anthropic")) is not None:
        made["service_tier"] = tier
    return made | _sampling_to_wire(settings.get("sampling") or {}, losses)


def nested_settings_from_wire(payload: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return the settings that are fields of other objects, and the payload without them.

    `output_format` is the name that the format of the output had before it moved to `output_config`.
    """
    settings: JsonObject = {}
    rest = dict(payload)
    for holder, field in (("output_config", "format"), ("metadata", "user_id")):
        match payload.get(holder):
            case {**inner} if (found := _nested_setting(field, inner.get(field))) is not None:
                settings |= found
                others = {key: value for key, value in inner.items() if key != field}
                rest = {**rest, holder: others} if others else _without(rest, holder)
            case _:
                pass
    if "output_format" not in settings and (found := _nested_setting("format", payload.get("output_format"))):
        settings |= found
        rest = _without(rest, "output_format")
    return settings, rest


def nested_settings_to_wire(request: JsonObject, payload: JsonObject, losses: Losses, *, is_beta: bool) -> JsonObject:
    """Return a payload with the settings that are fields of other objects; a beta had the output format at the top."""
    made = dict(payload)
    if (user := request.get("user")) is not None:
        made["metadata"] = {**_object(payload.get("metadata")), "user_id": user}
    if output_format := request.get("output_format"):
        written = _output_format_to_wire(output_format, losses)
        if written and is_beta:
            made["output_format"] = written
        elif written:
            made["output_config"] = {**_object(payload.get("output_config")), "format": written}
    return made


def _nested_setting(field: str, value: Any) -> JsonObject | None:
    match field, value:
        case "user_id", str(user) if user:
            return {"user": user}
        case "format", {"type": "json_schema", "schema": dict(schema)} if len(value) == 2:
            return {"output_format": {"type": "json_schema", "json_schema": schema}}
        case _:
            return None


def _output_format_to_wire(output_format: JsonObject, losses: Losses) -> JsonObject | None:
    schema = output_format.get("json_schema")
    if output_format["type"] == "json_schema" and schema is not None:
        report_unwritten(output_format, ("type", "json_schema"), "/output_format", losses)
        return {"type": "json_schema", "schema": schema}
    if output_format["type"] != "text":
        losses.drop("/output_format", "Anthropic writes JSON only with a schema")
    return None


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _without(payload: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in payload.items() if key != name}


def _max_tokens(settings: JsonObject, thinking: JsonObject, losses: Losses) -> int:
    asked = settings.get("max_output_tokens")
    budget_tokens = thinking["budget_tokens"] if thinking.get("type") == "enabled" else 0
    if asked is None or asked == DEFAULT_LIMIT:
        return budget_tokens + MAX_TOKENS
    if budget_tokens < asked or budget_tokens == 0:
        return asked
    losses.change("/max_output_tokens", f"it must exceed the thinking budget, {budget_tokens}, which is added")
    return budget_tokens + asked


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
    report_unwritten(thinking, ("level", "include_summary"), "/thinking", losses)
    is_shown = thinking.get("include_summary", False)
    if thinking["level"] == "none":
        if is_shown:
            losses.change("/thinking/include_summary", "requires thinking")
        return {"type": "disabled"}
    made: JsonObject = {
        "type": "enabled",
        "budget_tokens": thinking_budget(settings.get("model", ""), thinking["level"]),
    }
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
    report_unwritten(sampling, _SAMPLING, "/sampling", losses)
    if made.get("temperature", 0) > 1:
        losses.change("/sampling/temperature", "Anthropic's maximum is 1")
        made["temperature"] = 1
    return made


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_amount(value: Any) -> bool:
    return type(value) in {int, float} and value >= 0
