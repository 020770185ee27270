"""Notes beside what was read: what a payload of OpenAI's two formats says and the exchange has no words for.

A writer makes of every part two objects: what the exchange *says*, and what the format wants *filled* in besides (an
id, a status). A reader notes in `provider_data` only how the payload differs from both, each field under its own name;
`shape` holds what a field cannot tell (which of the filled ones were absent, that a text stood in a list). So the usual
payload needs no notes, and writing the same format gives back every payload as it was.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Loss, Losses

Dialect = Literal["api", "seed"]

CHAT = "openai_chat"
RESPONSES = "openai_responses"
PROMPTING = ("system", "developer")
"""Roles of the system prompt."""
NO_ANSWER = "[No response generated]"
"""What the seed dialect says where there is nothing."""
_SIBLING = {CHAT: RESPONSES, RESPONSES: CHAT}
_TELLING = ("text", "output", "content", "code", "query", "arguments", "input", "thinking")


class Fields(NamedTuple):
    said: JsonObject
    filled: JsonObject
    """Needed by the format, not known to the exchange."""


@dataclass(slots=True)
class Writing:
    """What writers of one payload share."""

    name: str
    dialect: Dialect = "api"
    is_response: bool = False
    losses: Losses = field(default_factory=Losses)
    custom: set[str] = field(default_factory=set[str])
    """Ids of calls so far whose input is free text."""

    def notes(self, holder: JsonObject) -> JsonObject:
        """What this format noted beside a part."""
        return _held(holder, self.name)

    def sibling(self, holder: JsonObject) -> JsonObject:
        """What OpenAI's other format noted beside it."""
        return _held(holder, _SIBLING[self.name])

    def owns(self, holder: JsonObject) -> bool:
        """Whether it was read from this very format."""
        return self.name in (holder.get("provider_data") or {})

    def leave_out(self, holder: JsonObject, said: Collection[str], at: str, carried: Collection[str] = ()) -> None:
        """Tell of every field but those that are said; notes of the other OpenAI format may have been carried over."""
        for key, value in holder.items():
            if key == "provider_data":
                for name, held in (value or {}).items():
                    is_carried = name == _SIBLING[self.name] and _is_within(held, carried)
                    if name != self.name and held and not is_carried:
                        self.losses.drop(f"{at}/provider_data/{escaped(name)}", f"only {name} understands this")
            elif key not in said and value is not None:
                self.losses.drop(f"{at}/{escaped(key)}", f"there is no place for `{key}` here")

    def told_losses(self) -> list[Loss]:
        """What was left out or changed, each once."""
        return list(dict.fromkeys(self.losses.found))

    def drop(self, block: JsonObject, at: str, reason: str = "") -> None:
        """Leave out a whole block."""
        if not reason:
            raw = block.get("raw")
            kind = f"{block['type']} block" if raw is None else f"{block['kind']} of another format"
            reason = f"there is no place for this {kind}"
            if isinstance(raw, dict) and any(raw.get(name) for name in _TELLING):
                reason += ", which holds text"
        self.losses.drop(at, reason)


def _is_within(held: JsonObject, names: Collection[str]) -> bool:
    return all(
        key in names and (not isinstance(value, dict) or _is_within(value, names)) for key, value in held.items()
    )


def _held(holder: JsonObject, name: str) -> JsonObject:
    return (holder.get("provider_data") or {}).get(name) or {}


def is_plain(part: Any) -> bool:
    """Whether a block, or a part of Chat, is text and nothing else."""
    return isinstance(part, dict) and part.keys() == {"type", "text"} and part["type"] == "text"


def escaped(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def shape(notes: JsonObject) -> JsonObject:
    return notes.get("shape") or {}


def annotate(holder: JsonObject, name: str, notes: JsonObject) -> JsonObject:
    """The holder, with its notes if there are any."""
    if notes:
        holder["provider_data"] = {name: notes}
    return holder


def kept(kind: object, raw: Any, name: str, **facts: Any) -> JsonObject:
    """What this format has and the exchange has not, whole."""
    block = build.opaque(kind=kind if isinstance(kind, str) and kind else "unknown", raw=raw)
    block["provider_data"] = {name: {"shape": facts} if facts else {}}
    return block


def noted(
    original: JsonObject, fields: Callable[[JsonObject], Fields], first: JsonObject | None = None
) -> JsonObject | None:
    """Notes that give back the original; None where none can.

    `first` are those that decide how the fields are written at all.
    """
    notes = merged(first or {}, difference(original, *fields(first or {})))
    return notes if told(*fields(notes), notes) == original else None


def difference(original: JsonObject, said: JsonObject, filled: JsonObject) -> JsonObject:
    """How an object differs from what the writer makes of it."""
    notes: JsonObject = {}
    facts: JsonObject = {}
    for key, value in original.items():
        ours = said.get(key, filled.get(key))
        if isinstance(value, dict) and isinstance(ours, dict):
            inner = difference(value, *_inside(key, said, filled))
            if inner:
                notes[key] = inner
        elif (key not in said and key not in filled) or type(value) is not type(ours) or value != ours:
            notes[key] = value
            if isinstance(value, dict) and "shape" in value:
                facts.setdefault("raw", []).append(key)
    if "shape" in notes:
        facts["fields"] = {"shape": notes.pop("shape")}
    if absent := [key for key in filled if key not in original and key not in said]:
        facts["absent"] = absent
    return notes | {"shape": facts} if facts else notes


def told(said: JsonObject, filled: JsonObject, notes: JsonObject) -> JsonObject:
    """The object again; notes add to what is said, and never contradict it."""
    facts = shape(notes)
    made: JsonObject = {}
    for key in {**said, **filled}:
        ours = said.get(key, filled.get(key))
        note = notes.get(key)
        if key not in said and key in facts.get("absent", ()):
            continue
        if isinstance(ours, dict) and (key in said or isinstance(notes.get(key, {}), dict)):
            made[key] = told(*_inside(key, said, filled), note) if isinstance(note, dict) else _whole(key, said, filled)
        else:
            made[key] = ours if key in said or key not in notes else note
    for key, note in notes.items():
        if key not in made and key != "shape":
            is_nested = isinstance(note, dict) and "shape" in note and key not in facts.get("raw", ())
            made[key] = told({}, {}, note) if is_nested else note
    return made | facts.get("fields", {})


def _inside(key: str, said: JsonObject, filled: JsonObject) -> tuple[JsonObject, JsonObject]:
    inner_said, inner_filled = said.get(key), filled.get(key)
    return (
        inner_said if isinstance(inner_said, dict) else {},
        inner_filled if isinstance(inner_filled, dict) else {},
    )


def _whole(key: str, said: JsonObject, filled: JsonObject) -> JsonObject:
    inner_said, inner_filled = _inside(key, said, filled)
    return {**inner_filled, **inner_said} if inner_filled else inner_said


def merged(notes: JsonObject, more: JsonObject) -> JsonObject:
    """Both; where they disagree, the first."""
    together = {**notes, **more}
    for key in notes.keys() & more.keys():
        if isinstance(notes[key], dict) and isinstance(more[key], dict):
            together[key] = merged(notes[key], more[key])
        else:
            together[key] = notes[key]
    return together
