"""Token counts of OpenAI's two formats, which differ in names only.

Reasoning is part of the output there and stands apart in the exchange. Some servers count it apart as well: where only
that adds up, nothing is taken out.
"""

from typing import Any, NamedTuple

from palaver.model.build import JsonObject
from palaver.wire.openai._notes import CHAT, RESPONSES, Fields, Writing, annotate, noted, shape, told


class _Names(NamedTuple):
    input: str
    output: str
    has_details: bool
    """Whether the details must be there."""


_NAMES = {
    CHAT: _Names("prompt_tokens", "completion_tokens", has_details=False),
    RESPONSES: _Names("input_tokens", "output_tokens", has_details=True),
}
_SAID = ("input_tokens", "output_tokens", "thinking_tokens", "cached_tokens", "total_tokens")


def usage_from(value: Any, name: str) -> JsonObject | None:
    """The counts of a response; None where there are none, or where they are no object."""
    if not isinstance(value, dict):
        return None
    names = _NAMES[name]
    usage: JsonObject = {}
    details = _object(value.get(f"{names.output}_details"))
    counts = {
        "input_tokens": (value, names.input),
        "output_tokens": (value, names.output),
        "thinking_tokens": (details, "reasoning_tokens"),
        "cached_tokens": (_object(value.get(f"{names.input}_details")), "cached_tokens"),
        "total_tokens": (value, "total_tokens"),
    }
    for ours, (holder, theirs) in counts.items():
        if theirs in holder and _is_count(holder[theirs]):
            usage[ours] = holder[theirs]
    first: JsonObject = {}
    if usage.get("thinking_tokens") and usage.get("output_tokens") is not None:
        if _is_apart(usage):
            first = {"shape": {"reasoning": "apart"}}
        else:
            usage["output_tokens"] -= usage["thinking_tokens"]
    reading = Writing(name)
    notes = noted(value, lambda notes: _fields(usage, notes, reading), first)
    return annotate({}, name, {"shape": {"usage": value}}) if notes is None else annotate(usage, name, notes)


def usage_to(usage: JsonObject, at: str, writing: Writing) -> JsonObject:
    notes = writing.notes(usage)
    if "usage" in shape(notes):
        return shape(notes)["usage"]
    writing.leave_out(usage, _SAID, at)
    fields = _fields(usage, notes, writing)
    absent = {*shape(notes).get("absent", ()), *notes}
    if fields.filled.keys() - absent - {"input_tokens_details", "output_tokens_details"}:
        writing.losses.change(at, "counts that are not known must be stated here; sums and zeros stand for them")
    return told(*fields, notes)


def _fields(usage: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    names = _NAMES[writing.name]
    said: JsonObject = {}
    thinking = usage.get("thinking_tokens") or 0
    is_apart = shape(notes).get("reasoning") == "apart"
    if "input_tokens" in usage:
        said[names.input] = usage["input_tokens"]
    if "output_tokens" in usage:
        output = usage["output_tokens"]
        said[names.output] = output if is_apart or output is None else output + thinking
    if "cached_tokens" in usage:
        said[f"{names.input}_details"] = {"cached_tokens": usage["cached_tokens"]}
    if "thinking_tokens" in usage:
        said[f"{names.output}_details"] = {"reasoning_tokens": usage["thinking_tokens"]}
    if "total_tokens" in usage:
        said["total_tokens"] = usage["total_tokens"]
    together = sum(usage.get(name) or 0 for name in ("input_tokens", "output_tokens", "thinking_tokens"))
    filled: JsonObject = {names.input: 0, names.output: thinking, "total_tokens": together}
    filled = {key: value for key, value in filled.items() if key not in said}
    if names.has_details:
        filled["input_tokens_details"] = {"cached_tokens": 0, "cache_write_tokens": 0}
        filled["output_tokens_details"] = {"reasoning_tokens": 0}
    return Fields(said, filled)


def _is_apart(usage: JsonObject) -> bool:
    thinking, output, total = usage["thinking_tokens"], usage["output_tokens"], usage.get("total_tokens")
    sum_apart = (usage.get("input_tokens") or 0) + output + thinking
    return thinking > output or total == sum_apart


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
