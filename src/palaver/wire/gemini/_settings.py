"""Settings of a Gemini request, `generationConfig`: output limit, sampling and thinking.

Models of generation 2.5 think within a token budget, those of generation 3 at a level. A config with neither (a budget
of -1, or only `includeThoughts`) leaves it to the model: it is kept in `provider_data`, and the exchange has no level.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _thinking
from palaver.wire._contract import Losses
from palaver.wire.gemini._provider_data import (
    FieldReader,
    Predicate,
    ProviderData,
    is_amount,
    is_count,
    is_text_list,
    is_whole,
    report_unwritten,
)

_SAMPLING: dict[str, tuple[str, Predicate]] = {
    "temperature": ("temperature", is_amount),
    "top_p": ("topP", is_amount),
    "top_k": ("topK", is_count),
    "stop_sequences": ("stopSequences", is_text_list),
    "seed": ("seed", is_whole),
}
_LEVELS: dict[str, _thinking.Level] = {"MINIMAL": "none", "LOW": "low", "MEDIUM": "med", "HIGH": "high"}
_WIRE_LEVELS: dict[_thinking.Level, str] = {"none": "LOW", "low": "LOW", "med": "HIGH", "high": "HIGH"}


def generation_from_wire(payload: FieldReader, model: str) -> JsonObject:
    """Return the fields of a request that Gemini has in `generationConfig`."""
    config = payload.inner("generationConfig")
    if config is None:
        return {}
    request: JsonObject = {}
    if (limit := config.take("maxOutputTokens", is_whole)) is not None:
        request["max_output_tokens"] = limit
    taken = {name: config.take(field, predicate) for name, (field, predicate) in _SAMPLING.items()}
    if sampling := {name: value for name, value in taken.items() if value is not None}:
        request["sampling"] = sampling
    if thinking := _thinking_from_wire(config, model):
        request["thinking"] = thinking
    return request


def generation_to_wire(request: JsonObject, saved: ProviderData, losses: Losses) -> JsonObject:
    config: JsonObject = {}
    if thinking := request.get("thinking"):
        report_unwritten(thinking, frozenset({"level", "include_summary"}), "/thinking", losses)
        config["thinkingConfig"] = saved.spell(_thinking_to_wire(thinking, request["model"], saved, losses))
    if request.get("max_output_tokens") is not None:
        config["maxOutputTokens"] = request["max_output_tokens"]
    sampling = request.get("sampling") or {}
    report_unwritten(sampling, frozenset(_SAMPLING), "/sampling", losses)
    for name, (field, _) in _SAMPLING.items():
        if sampling.get(name) is not None:
            config[field] = sampling[name]
    return saved.spell(config)


def _thinking_from_wire(config: FieldReader, model: str) -> JsonObject | None:
    inner = config.inner("thinkingConfig")
    if inner is None:
        return None
    for name in ("thinkingLevel", "thinkingBudget"):
        value = inner.take(name, lambda value, name=name: _parse_level(name, value, model) is not None)
        if (level := _parse_level(name, value, model)) is not None:
            if {name: value} != _default_config(model, level):
                inner.remember(name, value)
            return {
                "level": level,
                "include_summary": inner.take("includeThoughts", lambda value: value is True) or False,
            }
    return None


def _thinking_to_wire(thinking: JsonObject, model: str, saved: ProviderData, losses: Losses) -> JsonObject:
    level = thinking["level"]
    config = _default_config(model, level)
    for name in ("thinkingLevel", "thinkingBudget"):
        if level == _parse_level(name, saved.original(name), model):
            config = {name: saved.original(name)}
    [(name, value)] = config.items()
    if (written_level := _parse_level(name, value, model)) != level:
        losses.change("/thinking/level", f"{level} is written as {value}, which stands for {written_level}")
    if thinking.get("include_summary"):
        config["includeThoughts"] = True
    return config


def _parse_level(name: str, value: Any, model: str) -> _thinking.Level | None:
    """Return the level of a wire level or budget; None if it leaves the decision to the model."""
    if name == "thinkingLevel":
        return _LEVELS.get(value.upper()) if isinstance(value, str) else None
    if not is_count(value):
        return None
    return "none" if value == 0 else _thinking.level_of_budget(_gemini_name(model), value)


def _default_config(model: str, level: _thinking.Level) -> JsonObject:
    if "gemini-3" in model:
        return {"thinkingLevel": _WIRE_LEVELS[level]}
    return {"thinkingBudget": _thinking.thinking_budget(_gemini_name(model), level)}


def _gemini_name(model: str) -> str:
    return model if "gemini" in model else "gemini"
