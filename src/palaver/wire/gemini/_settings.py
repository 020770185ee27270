"""Settings of a Gemini request: `generationConfig` with limit, sampling, thinking and output format, and the tier.

Models of generation 2.5 think within a token budget, those of generation 3 at a level. A config with neither (a budget
of -1, or only `includeThoughts`) leaves it to the model: it is kept in `provider_data`, and the exchange has no level.
A budget above the least is never read as `none`.

A media type of JSON asks for JSON, with `responseJsonSchema` by a schema; `responseSchema`, in Gemini's own spelling of
schemas, is converted to JSON Schema, and the original kept if it differs.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _levels
from palaver.wire._contract import DEFAULT_LIMIT, Losses
from palaver.wire.gemini._provider_data import (
    FieldReader,
    Predicate,
    ProviderData,
    is_amount,
    is_count,
    is_flag,
    is_number,
    is_object,
    is_text,
    is_text_list,
    is_whole,
    report_unwritten,
)
from palaver.wire.gemini._schemas import json_schema

_SAMPLING: dict[str, tuple[str, Predicate]] = {
    "temperature": ("temperature", is_amount),
    "top_p": ("topP", is_amount),
    "top_k": ("topK", is_count),
    "stop_sequences": ("stopSequences", is_text_list),
    "seed": ("seed", is_whole),
    "presence_penalty": ("presencePenalty", is_number),
    "frequency_penalty": ("frequencyPenalty", is_number),
}
_ANSWERS: dict[str, tuple[str, Predicate]] = {
    "answer_count": ("candidateCount", is_count),
    "logprobs": ("responseLogprobs", is_flag),
    "top_logprobs": ("logprobs", is_count),
}
CONFIG_FIELDS = {
    "max_output_tokens": "maxOutputTokens",
    **{f"sampling/{name}": field for name, (field, _) in _SAMPLING.items()},
    **{name: field for name, (field, _) in _ANSWERS.items()},
}
"""What `generationConfig` calls the settings of a request."""
_THINKING = ("generationConfig", "thinkingConfig")
_TIERS = frozenset({"standard", "flex", "priority"})
_JSON, _TEXT = "application/json", "text/plain"
_LEVELS: dict[str, _levels.Level] = {"MINIMAL": "none", "LOW": "low", "MEDIUM": "med", "HIGH": "high"}
_WIRE_LEVELS: dict[_levels.Level, str] = {"none": "LOW", "low": "LOW", "med": "HIGH", "high": "HIGH"}


def generation_from_wire(payload: FieldReader, model: str) -> JsonObject:
    """Return the fields of a request that Gemini has in `generationConfig`."""
    config = payload.inner("generationConfig")
    if config is None:
        return {}
    request: JsonObject = {}
    if (limit := config.take("maxOutputTokens", is_whole)) == DEFAULT_LIMIT:
        config.remember("maxOutputTokens", limit)
    elif limit is not None:
        request["max_output_tokens"] = limit
    taken = {name: config.take(field, predicate) for name, (field, predicate) in _SAMPLING.items()}
    if sampling := {name: value for name, value in taken.items() if value is not None}:
        request["sampling"] = sampling
    if thinking := _thinking_from_wire(config, model):
        request["thinking"] = thinking
    if output_format := _output_format_from_wire(config):
        request["output_format"] = output_format
    answers = {name: config.take(field, predicate) for name, (field, predicate) in _ANSWERS.items()}
    return request | {name: value for name, value in answers.items() if value is not None}


def generation_to_wire(request: JsonObject, saved: ProviderData, losses: Losses) -> JsonObject:
    config: JsonObject = {}
    if thinking := request.get("thinking"):
        report_unwritten(thinking, frozenset({"level", "include_summary"}), "/thinking", losses)
        config["thinkingConfig"] = saved.spell(_thinking_to_wire(thinking, request.get("model", ""), saved, losses))
    for name in ("thinkingLevel", "thinkingBudget"):
        if _parse_level(name, saved.stated(*_THINKING, name), request.get("model", "")) is not None:
            saved.discard(*_THINKING, name)
    if request.get("max_output_tokens") not in {None, DEFAULT_LIMIT}:
        config["maxOutputTokens"] = request["max_output_tokens"]
    elif saved.original("maxOutputTokens") is not None:
        config["maxOutputTokens"] = saved.original("maxOutputTokens")
    sampling = request.get("sampling") or {}
    report_unwritten(sampling, frozenset(_SAMPLING), "/sampling", losses)
    for name, (field, _) in _SAMPLING.items():
        if sampling.get(name) is not None:
            config[field] = sampling[name]
    if output_format := request.get("output_format"):
        config |= _output_format_to_wire(output_format, saved, losses)
    config |= {field: request[name] for name, (field, _) in _ANSWERS.items() if request.get(name) is not None}
    return saved.spell(config)


def service_from_wire(payload: FieldReader) -> JsonObject:
    """Return the settings that stand beside `generationConfig`: whether to keep the call, and the tier."""
    found = {
        "store": payload.take("store", is_flag),
        "service_tier": payload.take("serviceTier", lambda value: is_text(value) and value in _TIERS),
    }
    return {name: value for name, value in found.items() if value is not None}


def service_to_wire(request: JsonObject, losses: Losses) -> JsonObject:
    made: JsonObject = {} if request.get("store") is None else {"store": request["store"]}
    if (tier := _levels.tier_to_wire(request.get("service_tier"), _TIERS, losses, title="Gemini")) is not None:
        made["serviceTier"] = tier
    if request.get("stream"):
        losses.drop("/stream", "Gemini streams by the address of the request, not by its body")
    return made


def _output_format_from_wire(config: FieldReader) -> JsonObject | None:
    kind = config.take("responseMimeType", lambda value: value in (_JSON, _TEXT))
    if kind != _JSON:
        return {"type": "text"} if kind == _TEXT else None
    if (schema := config.take("responseJsonSchema", is_object)) is not None:
        return {"type": "json_schema", "json_schema": schema}
    if (stated := config.take("responseSchema", is_object)) is not None:
        schema = json_schema(stated)
        config.remember("responseSchema", True if schema == stated else stated)
        return {"type": "json_schema", "json_schema": schema}
    return {"type": "json"}


def _output_format_to_wire(output_format: JsonObject, saved: ProviderData, losses: Losses) -> JsonObject:
    report_unwritten(output_format, frozenset({"type", "json_schema"}), "/output_format", losses)
    if output_format["type"] == "text":
        return {"responseMimeType": _TEXT}
    schema = output_format.get("json_schema")
    if output_format["type"] == "json" or schema is None:
        return {"responseMimeType": _JSON}
    original = saved.original("responseSchema")
    if original is True:
        return {"responseMimeType": _JSON, "responseSchema": schema}
    if is_object(original) and json_schema(original) == schema:
        return {"responseMimeType": _JSON, "responseSchema": original}
    return {"responseMimeType": _JSON, "responseJsonSchema": schema}


def _thinking_from_wire(config: FieldReader, model: str) -> JsonObject | None:
    inner = config.inner("thinkingConfig")
    if inner is None:
        return None
    for name in ("thinkingLevel", "thinkingBudget"):
        value = inner.take(name, lambda value, name=name: _parse_level(name, value, model) is not None)
        if (level := _parse_level(name, value, model)) is not None:
            if {name: value} != _default_config(model, level):
                inner.keep(name, value)
            return {
                "level": level,
                "include_summary": inner.take("includeThoughts", lambda value: value is True) or False,
            }
    return None


def _thinking_to_wire(thinking: JsonObject, model: str, saved: ProviderData, losses: Losses) -> JsonObject:
    level = thinking["level"]
    config = _default_config(model, level)
    for name in ("thinkingLevel", "thinkingBudget"):
        if level == _parse_level(name, original := saved.stated(*_THINKING, name), model):
            config = {name: original}
    [(name, value)] = config.items()
    if (written_level := _parse_level(name, value, model)) != level:
        losses.change("/thinking/level", f"{level} is written as {value}, which means {written_level}")
    if thinking.get("include_summary"):
        config["includeThoughts"] = True
    return config


def _parse_level(name: str, value: Any, model: str) -> _levels.Level | None:
    """Return the level of a wire level or budget; None if it leaves the decision to the model."""
    if name == "thinkingLevel":
        return _LEVELS.get(value.upper()) if isinstance(value, str) else None
    if not is_count(value):
        return None
    level = _levels.level_of_budget(_gemini_name(model), value)
    is_least = value <= _levels.thinking_budget(_gemini_name(model), "none")
    return "low" if level == "none" and not is_least else level


def _default_config(model: str, level: _levels.Level) -> JsonObject:
    if "gemini-3" in model:
        return {"thinkingLevel": _WIRE_LEVELS[level]}
    return {"thinkingBudget": _levels.thinking_budget(_gemini_name(model), level)}


def _gemini_name(model: str) -> str:
    return model if "gemini" in model else "gemini"
