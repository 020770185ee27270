"""Settings of a request that both of OpenAI's formats share, under the same names or under others.

Reasoning effort, sampling and the format of the output have names of their own in each. What the exchange has no field
for, such as `safety_identifier`, stays in the notes of the one format, from which the other takes it.
"""

import re
from collections.abc import Callable
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire import _levels
from palaver.wire._answers import is_count
from palaver.wire.openai._provider_data import CHAT, RESPONSES, Writer, shape
from palaver.wire.openai._tools import are_other_tools, choice_from_wire, is_allowed_tools

_NEEDS_EFFORT = re.compile(r"o1|o3-mini")
"""Models whose reasoning cannot be turned off."""
_TIERS = {
    CHAT: frozenset({"auto", "default", "flex", "scale", "priority", "fast"}),
    RESPONSES: frozenset({"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"}),
}
SUMMARY_FIELDS = ("summary", "generate_summary")
SUMMARY_WORDS = ("auto", "concise", "detailed")
_UNNAMED = "response"
"""The name written for a schema without one: OpenAI requires a name."""


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_filled_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_filled_object(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


_SAME_NAMES: dict[str, Callable[[Any], bool]] = {
    "parallel_tool_calls": _is_flag,
    "top_logprobs": is_count,
    "user": _is_filled_text,
    "metadata": _is_filled_object,
    "store": _is_flag,
    "stream": _is_flag,
}
SAME_NAMES = (*_SAME_NAMES, "service_tier")
"""Fields of an exchange's request that both formats have under the same name."""
_SHARED_NOTES = ("prompt_cache_key", "prompt_cache_retention", "safety_identifier", "moderation")
_OBFUSCATION = "include_obfuscation"


def shared_from_wire(payload: JsonObject, name: str) -> JsonObject:
    """Return the settings that both formats have under the same name."""
    found = {field: payload[field] for field, fits in _SAME_NAMES.items() if fits(payload.get(field))}
    return found | tier_from_wire(payload, name)


def shared_to_wire(request: JsonObject, writer: Writer) -> JsonObject:
    """Return the settings that both formats have, with those from the notes of the other format."""
    made = {field: request[field] for field in _SAME_NAMES if request.get(field) is not None}
    made |= tier_to_wire(request, writer)
    sibling, own = writer.sibling_notes(request), writer.notes(request)
    options = sibling.get("stream_options")
    if isinstance(options, dict) and _OBFUSCATION in options:
        made["stream_options"] = {_OBFUSCATION: options[_OBFUSCATION]}
    return made | {key: sibling[key] for key in _SHARED_NOTES if key in sibling and key not in own}


def carried_notes(request: JsonObject, writer: Writer) -> set[str]:
    """Return the keys of the other format's notes that this one takes over, or loses under another name."""
    carried = {*_SHARED_NOTES, "verbosity", _OBFUSCATION}
    if thinking := request.get("thinking"):
        carried |= {"reasoning_effort", "effort"}
        if thinking.get("include_summary") and writer.name == CHAT:
            carried |= {*SUMMARY_FIELDS}
    choice = writer.sibling_notes(request).get("tool_choice")
    if is_allowed_tools(choice) and choice_from_wire(choice) == request.get("tool_choice"):
        carried.add("tool_choice")
    return carried


def tier_from_wire(payload: JsonObject, name: str) -> JsonObject:
    """Return an object with the `service_tier` of a request or response; empty if the format does not know it."""
    tier = payload.get("service_tier")
    return {"service_tier": tier} if isinstance(tier, str) and tier in _TIERS[name] else {}


def tier_to_wire(holder: JsonObject, writer: Writer) -> JsonObject:
    tier = _levels.tier_to_wire(holder.get("service_tier"), _TIERS[writer.name], writer.losses, title=writer.title)
    return {} if tier is None else {"service_tier": tier}


def other_notes(notes: JsonObject) -> JsonObject:
    """Return the notes of a request without those on its own settings, which are written with these or not at all."""
    others = dict(notes)
    if parse_level(notes.get("reasoning_effort")) is not None:
        del others["reasoning_effort"]
    if isinstance(reasoning := notes.get("reasoning"), dict):
        own = {*(("effort",) if parse_level(reasoning.get("effort")) else ()), shape(notes).get("summary")}
        others["reasoning"] = {key: value for key, value in reasoning.items() if key not in own}
    if choice_from_wire(notes.get("tool_choice")) is not None:
        del others["tool_choice"]
    if are_other_tools(notes.get("tools")):
        del others["tools"]
    return {key: value for key, value in others.items() if value or value == notes[key]}


def parse_level(word: Any) -> str | None:
    return _levels.level_of_effort(word) if isinstance(word, str) else None


def effort_spelling(field: str, word: str, level: str) -> JsonObject:
    """Return a note on the effort's word; empty if its level alone gives that word."""
    return {} if word == _levels.effort_of_level(cast("_levels.Level", level)) else {field: word}


def effort_to_wire(request: JsonObject, notes: JsonObject, writer: Writer) -> str:
    """Return the effort for a level: the word noted by either format if it still means that level."""
    level, model = request["thinking"]["level"], request.get("model", "")
    for saved in (notes, writer.sibling_notes(request)):
        reasoning = saved.get("reasoning")
        for word in (saved.get("reasoning_effort"), reasoning.get("effort") if isinstance(reasoning, dict) else None):
            if parse_level(word) == level:
                return cast("str", word)
    if level == "none" and _NEEDS_EFFORT.match(model):
        writer.losses.change("/thinking/level", f"{model} cannot turn off reasoning")
        return "medium"
    return _levels.effort_of_level(cast("_levels.Level", level))


def sampling_from_wire(payload: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return the sampling settings of a payload; `names` has the exchange's names by OpenAI's."""
    return {ours: payload[theirs] for theirs, ours in names.items() if _fits(ours, payload.get(theirs))}


def sampling_to_wire(request: JsonObject, names: dict[str, str], writer: Writer) -> JsonObject:
    """Return the sampling settings that the format has, and report the others as losses."""
    sampling: JsonObject = request.get("sampling") or {}
    writer.report_unwritten(sampling, names.values(), "/sampling")
    return {theirs: sampling[ours] for theirs, ours in names.items() if sampling.get(ours) is not None}


def _fits(name: str, value: Any) -> bool:
    if name == "seed":
        return type(value) is int
    return type(value) in {int, float} and (value >= 0 or (name.endswith("_penalty") and value < 0))


def parse_limit(value: Any) -> int | None:
    return value if type(value) is int else None


def output_format_from_wire(stated: Any) -> JsonObject | None:
    """Return the output format of a flat object, as Responses has it; None if the exchange cannot express it."""
    match stated:
        case {"type": "text"}:
            return {"type": "text"}
        case {"type": "json_object"}:
            return {"type": "json"}
        case {"type": "json_schema", "schema": dict(schema)}:
            made: JsonObject = {"type": "json_schema", "json_schema": schema}
            if isinstance(name := stated.get("name"), str) and name != _UNNAMED:
                made["name"] = name
            if isinstance(description := stated.get("description"), str):
                made["description"] = description
            if isinstance(strict := stated.get("strict"), bool):
                made["strict"] = strict
            return made
        case _:
            return None


def output_format_to_wire(output_format: JsonObject, writer: Writer) -> JsonObject:
    """Return the flat object of an output format, as Responses has it."""
    fields = ("type", "name", "description", "json_schema", "strict")
    writer.report_unwritten(output_format, fields, "/output_format")
    schema = output_format.get("json_schema")
    if output_format["type"] != "json_schema" or schema is None:
        return {"type": "text" if output_format["type"] == "text" else "json_object"}
    made: JsonObject = {"type": "json_schema", "name": output_format.get("name") or _UNNAMED, "schema": schema}
    return made | {key: output_format[key] for key in ("description", "strict") if output_format.get(key) is not None}
