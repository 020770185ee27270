"""What a request asks for besides an answer: reasoning effort, sampling, a limit; words that both formats share."""

import re
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire import _thinking
from palaver.wire.openai._notes import Writing

_NEEDS_EFFORT = re.compile(r"o1|o3-mini")
"""Models that cannot do without reasoning."""


def level_from(word: Any) -> str | None:
    return _thinking.level_of_effort(word) if isinstance(word, str) else None


def spelling(field: str, word: str, level: str) -> JsonObject:
    """What to note of an effort that is more than its level."""
    return {} if word == _thinking.effort(cast("_thinking.Level", level)) else {field: word}


def effort_to(thinking: JsonObject, model: str, noted_word: Any, writing: Writing) -> str:
    """The word for a level: the original one while it still means that."""
    level = thinking["level"]
    if level_from(noted_word) == level:
        return noted_word
    if level == "none" and _NEEDS_EFFORT.match(model):
        writing.losses.change("/thinking/level", f"{model} cannot do without reasoning")
        return "medium"
    return _thinking.effort(cast("_thinking.Level", level))


def sampling_from(payload: JsonObject, names: dict[str, str]) -> JsonObject:
    """Of the settings that the exchange knows, those that are stated; `names` are ours by theirs."""
    return {ours: payload[theirs] for theirs, ours in names.items() if _fits(ours, payload.get(theirs))}


def sampling_to(request: JsonObject, names: dict[str, str], writing: Writing) -> JsonObject:
    """The settings that the format knows; a loss of the others."""
    sampling: JsonObject = request.get("sampling") or {}
    made = {theirs: sampling[ours] for theirs, ours in names.items() if sampling.get(ours) is not None}
    if sampling and not made:
        writing.losses.drop("/sampling", "there is no place for these settings here")
    else:
        writing.leave_out(sampling, {ours for theirs, ours in names.items() if theirs in made}, "/sampling")
    return made


def _fits(name: str, value: Any) -> bool:
    if name == "seed":
        return type(value) is int
    return type(value) in {int, float} and value >= 0


def limit_from(value: Any) -> int | None:
    return value if type(value) is int else None
