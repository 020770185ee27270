"""The parts of a value on its way from one format to another: what was read, and the shape to give back."""

import json
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from palaver.errors import ContentError
from palaver.model.build import JsonObject
from palaver.wire import Loss
from palaver.wire._places import Places, escape_key

UCS = "ucs"
EXCHANGE = "exchange"
UNKNOWN_MODEL = "unknown"
"""Stands where a format requires a model and the payload names none."""

Shape = Literal["whole", "message", "messages"]
"""A request, a response or both; one bare message; an array of messages or items."""

PartName = Literal["request", "response"]

NOTES = frozenset({"shape", "as_written", "_form", "_absent", "message", "item"})
"""Keys of `provider_data` with which a wire format notes how a payload was spelled; they are no content."""

_PROMPT_ROLES = ("system", "developer")


class Converted(NamedTuple):
    payload: Any
    losses: list[Loss]


@dataclass(slots=True)
class Parts:
    """What was read, as parts of an exchange."""

    request: JsonObject | None = None
    """Bare messages are the `messages` of a request that has nothing else."""
    response: JsonObject | None = None
    shape: Shape = "whole"
    provider: str = ""
    frame: JsonObject = field(default_factory=dict[str, Any])
    """The fields of an exchange around its request and response: `exchange_id`, `started_at`, `error`, …"""
    losses: list[Loss] = field(default_factory=list[Loss])
    places: dict[PartName, Callable[[], Places]] = field(default_factory=dict[PartName, Callable[[], Places]])
    """Tell where the value has what the `request` and the `response` say; without an entry, in the same place."""
    pointers: dict[str, str] = field(default_factory=dict[str, str])
    """Where the value has its `request`, its `response` and the fields of the frame, if not under their names."""

    def located(self, part: PartName, losses: list[Loss]) -> list[Loss]:
        """Return losses of the request or the response with pointers into the value."""
        find = self.places[part]().find if losses and part in self.places else str
        return [loss._replace(pointer=self._around(part, find(loss.pointer))) for loss in losses]

    def _around(self, part: PartName, pointer: str) -> str:
        """Return a pointer into the value instead of one into its part."""
        if self.shape != "whole":  # the value is the list of messages, or the only one in it
            path = pointer.split("/")[2 if self.shape == "messages" else 3 :]
            return "".join(f"/{segment}" for segment in path)
        return self.pointers.get(part, "") + pointer

    def frame_loss(self, name: str, reason: str) -> Loss:
        return Loss(self.pointers.get(name, f"/{name}"), reason)

    @property
    def is_pair(self) -> bool:
        return self.request is not None and self.response is not None


def prompt_roles(message: JsonObject) -> dict[str, str]:
    """Return `system` or `developer` by the format that noted it: an exchange gives such messages to the user."""
    roles: dict[str, str] = {}
    for name, data in (message.get("provider_data") or {}).items():
        for notes in (data, data.get("as_written") if isinstance(data, dict) else None):
            if isinstance(notes, dict) and notes.get("role") in _PROMPT_ROLES:
                roles[name] = notes["role"]
    return roles


def without_prompt_role(provider_data: JsonObject) -> JsonObject:
    """Return a copy without the notes of these roles, and without what is empty then."""
    kept: JsonObject = {}
    for name, data in provider_data.items():
        rest = data
        if isinstance(data, dict):
            rest = {key: value for key, value in data.items() if key != "role" or value not in _PROMPT_ROLES}
            if isinstance(notes := rest.get("as_written"), dict):
                rest["as_written"] = {key: value for key, value in notes.items() if key != "role"}
            rest = {key: value for key, value in rest.items() if value != {}}
        if rest:
            kept[name] = rest
    return kept


def writable(value: Any, losses: list[Loss]) -> Any:
    """Return a value as JSON can hold it: null for NaN and infinities, U+FFFD for half of a surrogate pair.

    Each replacement is reported with its place in the value. A value without any is returned unchanged.
    """
    return value if _is_writable(value) else _replaced(value, losses, "")


def _is_writable(value: Any) -> bool:
    """Return whether two encoders take a value as it is; one refuses names that are no texts, the other NaN."""
    try:
        orjson.dumps(value)
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _replaced(value: Any, losses: list[Loss], pointer: str) -> Any:
    match value:
        case float() if not math.isfinite(value):
            losses.append(Loss(pointer, f"JSON has no number {value}; it became null", "changed"))
            return None
        case str():
            text = _encodable(value)
            if text is not value:
                losses.append(Loss(pointer, "half of a surrogate pair became U+FFFD", "changed"))
            return text
        case dict():
            made: JsonObject = {}
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise ContentError(f"a field name must be a string, not {key!r}")
                name = _replaced(key, losses, pointer)
                while name != key and (name in value or name in made):  # two broken keys may become equal
                    name += "\ufffd"
                made[name] = _replaced(inner, losses, f"{pointer}/{escape_key(name)}")
            is_same = all(map(operator.is_, made.values(), value.values())) and made.keys() == value.keys()
            return value if is_same else made
        case list():
            items = [_replaced(inner, losses, f"{pointer}/{number}") for number, inner in enumerate(value)]
            return value if all(map(operator.is_, items, value)) else items
        case _:
            return value


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
