"""Settings that both of OpenAI's formats share: reasoning effort, sampling and the output limit."""

import re
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire import _thinking
from palaver.wire.openai._provider_data import Writer

_NEEDS_EFFORT = re.compile(r"o1|o3-mini")
"""Models whose reasoning cannot be turned off."""


def parse_level(word: Any) -> str | None:
    return _thinking.level_of_effort(word) if isinstance(word, str) else None


def effort_spelling(field: str, word: str, level: str) -> JsonObject:
    """Return a note on the effort's word; empty if its level alone gives that word."""
    return {} if word == _thinking.effort_of_level(cast("_thinking.Level", level)) else {field: word}


def effort_to_wire(thinking: JsonObject, model: str, saved_word: Any, writer: Writer) -> str:
    """Return the effort for a level: the saved word if it still means that level."""
    level = thinking["level"]
    if parse_level(saved_word) == level:
        return saved_word
    if level == "none" and _NEEDS_EFFORT.match(model):
        writer.losses.change("/thinking/level", f"{model} cannot do without reasoning")
        return "medium"
    return _thinking.effort_of_level(cast("_thinking.Level", level))


def sampling_from_wire(payload: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return the sampling settings of a payload; `names` has the exchange's names by OpenAI's."""
    return {ours: payload[theirs] for theirs, ours in names.items() if _fits(ours, payload.get(theirs))}


def sampling_to_wire(request: JsonObject, names: dict[str, str], writer: Writer) -> JsonObject:
    """Return the sampling settings that the format has, and report the others as losses."""
    sampling: JsonObject = request.get("sampling") or {}
    made = {theirs: sampling[ours] for theirs, ours in names.items() if sampling.get(ours) is not None}
    if sampling and not made:
        writer.losses.drop("/sampling", "there is no place for these settings here")
    else:
        writer.report_unwritten(sampling, {ours for theirs, ours in names.items() if theirs in made}, "/sampling")
    return made


def _fits(name: str, value: Any) -> bool:
    if name == "seed":
        return type(value) is int
    return type(value) in {int, float} and value >= 0


def parse_limit(value: Any) -> int | None:
    return value if type(value) is int else None
