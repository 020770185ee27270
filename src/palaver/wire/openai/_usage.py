"""Token counts of OpenAI's two formats, which differ only in names.

OpenAI includes cached tokens in the input count, as the exchange does, and reasoning in the output count; the exchange
counts reasoning separately. Some servers count it separately too: if only that adds up, reasoning is not subtracted.
"""

from typing import Any, NamedTuple

from palaver.model.build import JsonObject
from palaver.wire.openai._provider_data import (
    CHAT,
    RESPONSES,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    notes_for,
    shape,
)


class _CountNames(NamedTuple):
    input: str
    output: str
    has_details: bool
    """Whether the format requires the details."""


_NAMES = {
    CHAT: _CountNames("prompt_tokens", "completion_tokens", has_details=False),
    RESPONSES: _CountNames("input_tokens", "output_tokens", has_details=True),
}
_CACHE = ("cached_tokens", "cache_write_tokens")
_COUNTS = ("input_tokens", "output_tokens", "thinking_tokens", *_CACHE, "total_tokens")


def count_places(name: str) -> dict[str, tuple[str, ...]]:
    """Return what a format calls the counts of an exchange, as paths from the response."""
    names = _NAMES[name]
    paths = {
        "input_tokens": names.input,
        "output_tokens": names.output,
        "thinking_tokens": f"{names.output}_details/reasoning_tokens",
        **{field: f"{names.input}_details/{field}" for field in _CACHE},
    }
    return {f"usage/{ours}": (f"usage/{theirs}",) for ours, theirs in paths.items()}


def usage_from_wire(value: Any, name: str) -> JsonObject | None:
    """Return the counts of a response; None if they are not an object."""
    if not isinstance(value, dict):
        return None
    names = _NAMES[name]
    usage: JsonObject = {}
    input_details = _object(value.get(f"{names.input}_details"))
    counts = {
        "input_tokens": (value, names.input),
        "output_tokens": (value, names.output),
        "thinking_tokens": (_object(value.get(f"{names.output}_details")), "reasoning_tokens"),
        **{field: (input_details, field) for field in _CACHE},
        "total_tokens": (value, "total_tokens"),
    }
    for ours, (holder, theirs) in counts.items():
        if theirs in holder and _is_count(holder[theirs]):
            usage[ours] = holder[theirs]
    initial: JsonObject = {}
    if usage.get("thinking_tokens") and usage.get("output_tokens") is not None:
        if _is_reasoning_separate(usage):
            initial = {"shape": {"reasoning": "apart"}}
        else:
            usage["output_tokens"] -= usage["thinking_tokens"]
    trial = Writer(name)
    notes = notes_for(value, lambda notes: _fields(usage, notes, trial), initial)
    return attach_notes({}, name, {"shape": {"usage": value}}) if notes is None else attach_notes(usage, name, notes)


def usage_to_wire(usage: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    notes = writer.notes(usage)
    if "usage" in shape(notes):
        return shape(notes)["usage"]
    writer.report_unwritten(usage, _COUNTS, pointer)
    fields = _fields(usage, notes, writer)
    names = _NAMES[writer.name]
    unknown = {names.input, names.output} & fields.defaults.keys()
    if unknown - notes.keys() - {*shape(notes).get("absent", ())}:
        writer.losses.change(pointer, f"{writer.title} requires both counts; unknown counts are written as 0")
    return apply_notes(*fields, notes)


def _fields(usage: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    names = _NAMES[writer.name]
    known: JsonObject = {}
    thinking = usage.get("thinking_tokens") or 0
    is_separate = shape(notes).get("reasoning") == "apart"
    if (given := usage.get("input_tokens")) is not None:
        known[names.input] = given
    if (output := usage.get("output_tokens")) is not None:
        known[names.output] = output if is_separate else output + thinking
    if cached := {field: usage[field] for field in _CACHE if usage.get(field) is not None}:
        known[f"{names.input}_details"] = cached
    if usage.get("thinking_tokens") is not None:
        known[f"{names.output}_details"] = {"reasoning_tokens": thinking}
    if (total := usage.get("total_tokens")) is not None:
        known["total_tokens"] = total
    counted = sum(usage.get(name) or 0 for name in ("input_tokens", "output_tokens", "thinking_tokens"))
    defaults: JsonObject = {names.input: 0, names.output: thinking, "total_tokens": counted}
    defaults = {key: value for key, value in defaults.items() if key not in known}
    if names.has_details:
        defaults["input_tokens_details"] = {"cached_tokens": 0, "cache_write_tokens": 0}
        defaults["output_tokens_details"] = {"reasoning_tokens": 0}
    return Fields(known, defaults)


def _is_reasoning_separate(usage: JsonObject) -> bool:
    thinking, output, total = usage["thinking_tokens"], usage["output_tokens"], usage.get("total_tokens")
    separate_sum = (usage.get("input_tokens") or 0) + output + thinking
    return thinking > output or total == separate_sum


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
