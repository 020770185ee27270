"""How Gemini is to answer: `generationConfig`, and which functions it may call: `toolConfig`.

Models of generation 2.5 think within a budget of tokens, those of generation 3 at a level. What says neither (a budget
of -1, or only `includeThoughts`) leaves it to the model: it is kept, and the exchange states no level.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _thinking
from palaver.wire._contract import Losses
from palaver.wire.gemini._fields import Fields, Fit, Kept, drop_others, is_amount, is_count, is_list, is_text, is_whole


def _is_texts(value: Any) -> bool:
    return is_list(value) and all(map(is_text, value))


_SAMPLING: dict[str, tuple[str, Fit]] = {
    "temperature": ("temperature", is_amount),
    "top_p": ("topP", is_amount),
    "top_k": ("topK", is_count),
    "stop_sequences": ("stopSequences", _is_texts),
    "seed": ("seed", is_whole),
}
_LEVEL_OF_WORD: dict[str, _thinking.Level] = {"MINIMAL": "none", "LOW": "low", "MEDIUM": "med", "HIGH": "high"}
_WORDS: dict[_thinking.Level, str] = {"none": "LOW", "low": "LOW", "med": "HIGH", "high": "HIGH"}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "specific": "ANY"}
_CHOICE_OF_MODE = {"AUTO": "auto", "NONE": "none", "ANY": "required", "VALIDATED": "auto"}


def read_generation(payload: Fields, model: str) -> JsonObject:
    """The fields of a request that Gemini gathers in `generationConfig`."""
    config = payload.inner("generationConfig")
    if config is None:
        return {}
    read: JsonObject = {}
    if (most := config.take("maxOutputTokens", is_whole)) is not None:
        read["max_output_tokens"] = most
    taken = {name: config.take(field, fits) for name, (field, fits) in _SAMPLING.items()}
    if sampling := {name: value for name, value in taken.items() if value is not None}:
        read["sampling"] = sampling
    if thinking := _thinking_of(config, model):
        read["thinking"] = thinking
    return read


def generation_config(request: JsonObject, kept: Kept, losses: Losses) -> JsonObject:
    config: JsonObject = {}
    if thinking := request.get("thinking"):
        drop_others(thinking, frozenset({"level", "include_summary"}), "/thinking", losses)
        config["thinkingConfig"] = kept.spell(_thinking_config(thinking, request["model"], kept, losses))
    if request.get("max_output_tokens") is not None:
        config["maxOutputTokens"] = request["max_output_tokens"]
    sampling = request.get("sampling") or {}
    drop_others(sampling, frozenset(_SAMPLING), "/sampling", losses)
    for name, (field, _) in _SAMPLING.items():
        if sampling.get(name) is not None:
            config[field] = sampling[name]
    return kept.spell(config)


def _thinking_of(config: Fields, model: str) -> JsonObject | None:
    inner = config.inner("thinkingConfig")
    if inner is None:
        return None
    for name in ("thinkingLevel", "thinkingBudget"):
        value = inner.take(name, lambda value, name=name: _level(name, value, model) is not None)
        if (level := _level(name, value, model)) is not None:
            if {name: value} != _default(model, level):
                inner.remember(name, value)
            return {
                "level": level,
                "include_summary": inner.take("includeThoughts", lambda said: said is True) or False,
            }
    return None


def _thinking_config(thinking: JsonObject, model: str, kept: Kept, losses: Losses) -> JsonObject:
    level = thinking["level"]
    config = _default(model, level)
    for name in ("thinkingLevel", "thinkingBudget"):
        if level == _level(name, kept.original(name), model):
            config = {name: kept.original(name)}
    [(name, value)] = config.items()
    if (read := _level(name, value, model)) != level:
        losses.change("/thinking/level", f"{level} is written as {value}, which stands for {read}")
    if thinking.get("include_summary"):
        config["includeThoughts"] = True
    return config


def _level(name: str, value: Any, model: str) -> _thinking.Level | None:
    """What a level or a budget stands for; None where it leaves the model to decide."""
    if name == "thinkingLevel":
        return _LEVEL_OF_WORD.get(value.upper()) if isinstance(value, str) else None
    if not is_count(value):
        return None
    return "none" if value == 0 else _thinking.level_of_budget(_gemini_name(model), value)


def _default(model: str, level: _thinking.Level) -> JsonObject:
    if "gemini-3" in model:
        return {"thinkingLevel": _WORDS[level]}
    return {"thinkingBudget": _thinking.budget(_gemini_name(model), level)}


def _gemini_name(model: str) -> str:
    return model if "gemini" in model else "gemini"


def read_choice(payload: Fields) -> JsonObject:
    """The request's `tool_choice`."""
    config = payload.inner("toolConfig")
    calling = config.inner("functionCallingConfig") if config else None
    if calling is None:
        return {}
    mode = calling.take("mode", lambda value: is_text(value) and value.upper() in _CHOICE_OF_MODE)
    if mode is None:
        return {}
    kind = _CHOICE_OF_MODE[mode.upper()]
    choice: JsonObject = {"type": kind}
    if kind == "required" and (only := calling.take("allowedFunctionNames", _is_one_name)):
        choice = {"type": "specific", "name": only[0]}
    if mode != _MODES[kind]:
        calling.remember("mode", mode)
    return {"tool_choice": choice}


def tool_config(request: JsonObject, kept: Kept, losses: Losses) -> JsonObject | None:
    choice = request.get("tool_choice")
    if not choice:
        return None
    kind = choice["type"]
    drop_others(choice, frozenset({"type", "name"}), "/tool_choice", losses)
    mode = _MODES[kind]
    word = kept.original("mode")
    if is_text(word) and _CHOICE_OF_MODE.get(word.upper()) == _CHOICE_OF_MODE[mode]:
        mode = word
    calling: JsonObject = {"mode": mode}
    if kind == "specific":
        calling["allowedFunctionNames"] = [choice["name"]]
    return kept.spell({"functionCallingConfig": kept.spell(calling)})


def _is_one_name(value: Any) -> bool:
    return _is_texts(value) and len(value) == 1 and bool(value[0])
