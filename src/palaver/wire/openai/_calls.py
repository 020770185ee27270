"""Calls of tools: arguments that travel as a string, free-text input, and ids that a payload leaves out."""

import json
from dataclasses import dataclass, field
from typing import Any

import orjson

from palaver.model.build import JsonObject
from palaver.wire.openai._notes import Fields, Writing, shape


def arguments_from(value: Any) -> JsonObject:
    """A call's input; text that is no object is kept under `raw`."""
    if isinstance(value, dict):
        return value
    if not value:
        return {}
    try:
        parsed = orjson.loads(value)
    except ValueError:
        return {"raw": value}
    return parsed if isinstance(parsed, dict) else {"raw": value}


def arguments_fields(block: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    """The string for an input, the original one while it still says the same; without any input it may be missing."""
    given: JsonObject = block["input"]
    if shape(notes).get("arguments") == "object":
        return Fields({"arguments": given}, {})
    sibling = writing.sibling(block)
    nested = sibling.get("function")
    for noted in (notes, sibling, nested if isinstance(nested, dict) else {}):
        original = noted.get("arguments")
        if isinstance(original, str) and arguments_from(original) == given:
            return Fields({"arguments": original}, {}) if given else Fields({}, {"arguments": original})
    return Fields({"arguments": _compact(given)}, {}) if given else Fields({}, {"arguments": "{}"})


def _compact(given: JsonObject) -> str:
    try:
        return orjson.dumps(given).decode()
    except TypeError:  # integers past 64 bits, half of a surrogate pair
        return json.dumps(given, separators=(",", ":"))


def arguments_notes(value: Any) -> JsonObject:
    """What decides how arguments are written: some servers send an object."""
    return {"shape": {"arguments": "object"}} if isinstance(value, dict) else {}


def is_free_text(block: JsonObject, writing: Writing) -> bool:
    """Whether a call's input is the text of a custom tool, in either of OpenAI's formats."""
    kind = writing.notes(block).get("type") or writing.sibling(block).get("type")
    free = block["input"]
    return kind in ("custom", "custom_tool_call") and free.keys() == {"input"} and isinstance(free["input"], str)


@dataclass(slots=True)
class Calls:
    """Gives ids to calls that have none, and results that name no call the oldest one without a result."""

    stated: set[str]
    """Every id that the payload holds."""
    _open: dict[str, str] = field(default_factory=dict[str, str])
    """The names of calls without a result, by their ids, the oldest first."""
    _count: int = 0

    def opened(self, call_id: Any, name: str) -> tuple[str, bool]:
        """The id of a call, and whether it was made up."""
        is_made = not isinstance(call_id, str) or not call_id
        given = self._made() if is_made else call_id
        self._count += 1
        self._open.setdefault(given, name)
        return given, is_made

    def answered(self, call_id: Any, name: str | None = None) -> tuple[str, bool]:
        """The id of the call that a result answers, and whether it was found by order."""
        if isinstance(call_id, str) and call_id:
            self._open.pop(call_id, None)
            return call_id, False
        of_name = (one for one, called in self._open.items() if called == name)
        found = next(of_name, None) or next(iter(self._open), None)
        if found is not None:
            del self._open[found]
            return found, True
        given = self._made()
        self._count += 1
        return given, True

    def _made(self) -> str:
        made = f"call_{self._count}"
        while made in self.stated:
            made += "_"
        return made
