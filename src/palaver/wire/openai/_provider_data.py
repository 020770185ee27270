"""The `provider_data` of OpenAI's two formats: notes on what the exchange cannot express, and the state of a writer.

For every part, a writer makes two objects: the fields that the exchange *knows*, and *defaults* for what the format
requires besides (an id, a status). A reader notes in `provider_data` only how the payload differs from both, each field
under its own name; `shape` holds only spellings (which defaults were absent, that a text was in a list), which no
other format can lose. So a usual payload needs no notes, and writing a payload in the format it was read from
reproduces it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Loss, Losses
from palaver.wire._unwritten import prompt_role, report_fields, report_provider_data, report_unwritten

Dialect = Literal["api", "seed"]

CHAT = "openai_chat"
RESPONSES = "openai_responses"
NO_ANSWER = "[No response generated]"
"""The text that the seed dialect writes for an empty answer."""
_SIBLING = {CHAT: RESPONSES, RESPONSES: CHAT}
_TITLES = {CHAT: "Chat", RESPONSES: "the Responses API"}
_TEXT_FIELDS = ("text", "output", "content", "code", "query", "arguments", "input", "thinking")
"""Fields that hold text in what other formats have."""


class Fields(NamedTuple):
    """The fields that a writer makes of a part."""

    known: JsonObject
    """Fields that the exchange determines."""
    defaults: JsonObject
    """Fields that the format requires and the exchange does not have."""


@dataclass(slots=True)
class Writer:
    """The state of writing one payload.

    Readers use one for a trial, to see how their payload differs from a written one.
    """

    name: str
    dialect: Dialect = "api"
    is_response: bool = False
    losses: Losses = field(default_factory=Losses)
    custom: set[str] = field(default_factory=set[str])
    """Ids of the calls so far that have free text as input."""

    @property
    def title(self) -> str:
        """What people call the format."""
        return _TITLES[self.name]

    def notes(self, holder: JsonObject) -> JsonObject:
        """Return the notes of this format on a part."""
        return _notes_of(holder, self.name)

    def sibling_notes(self, holder: JsonObject) -> JsonObject:
        """Return the notes of OpenAI's other format on a part."""
        return _notes_of(holder, _SIBLING[self.name])

    def report_turn(self, message: JsonObject, pointer: str) -> None:
        """Report the fields of a turn that are not written, and what other formats kept beside it but its role."""
        taken = ("role",) if prompt_role(message) else ()
        written = ("role", "content")
        report_unwritten(message, written, pointer, self.losses, own=self.name, title=self.title, carried=taken)

    def owns(self, holder: JsonObject) -> bool:
        """Return whether a part was read from this format."""
        return self.name in (holder.get("provider_data") or {})

    def report_unwritten(
        self, holder: JsonObject, written: Collection[str], pointer: str, carried: Collection[str] = ()
    ) -> None:
        """Report as losses the fields that are not written, and what other formats kept beside them.

        `carried` are keys of the other OpenAI format's notes that this one has taken over.
        """
        report_fields(holder, written, pointer, self.losses, title=self.title)
        for name in holder.get("provider_data") or {}:
            if name != self.name:
                taken = carried if name == _SIBLING[self.name] else ()
                report_provider_data(holder, name, pointer, self.losses, title=self.title, carried=taken)

    def unique_losses(self) -> list[Loss]:
        """Return the losses without duplicates."""
        return list(dict.fromkeys(self.losses.found))

    def drop(self, block: JsonObject, pointer: str, reason: str = "") -> None:
        """Report a whole block as a loss."""
        if not reason:
            raw = block.get("raw")
            kind = f"{block['type']} block" if raw is None else f"{block['kind']} of another format"
            reason = f"{kind} cannot be expressed here"
            if isinstance(raw, dict) and any(raw.get(name) for name in _TEXT_FIELDS):
                reason += ", with its text"
        self.losses.drop(pointer, reason)


def _notes_of(holder: JsonObject, name: str) -> JsonObject:
    return (holder.get("provider_data") or {}).get(name) or {}


def is_plain(part: Any) -> bool:
    """Return whether a block, or a part of Chat, is text and nothing else."""
    match part:
        case {"type": "text", "text": str(), **rest}:
            return not rest
        case _:
            return False


def shape(notes: JsonObject) -> JsonObject:
    return notes.get("shape") or {}


def attach_notes(holder: JsonObject, name: str, notes: JsonObject) -> JsonObject:
    """Store the notes with a part, if there are any, and return the part."""
    if notes:
        holder["provider_data"] = {name: notes}
    return holder


def opaque_block(kind: object, raw: Any, name: str, **form: Any) -> JsonObject:
    """Return an opaque block for content that the exchange cannot express; `form` are facts for its `shape`."""
    block = build.opaque(kind=kind if isinstance(kind, str) and kind else "unknown", raw=raw)
    block["provider_data"] = {name: {"shape": form} if form else {}}
    return block


def notes_for(
    original: JsonObject, fields: Callable[[JsonObject], Fields], initial: JsonObject | None = None
) -> JsonObject | None:
    """Return notes with which the writer reproduces the original; None if there are none.

    `fields` makes the writer's fields from notes; `initial` are the notes that decide how these are written at all.
    """
    notes = merge_notes(initial or {}, difference(original, *fields(initial or {})))
    return notes if apply_notes(*fields(notes), notes) == original else None


def difference(original: JsonObject, known: JsonObject, defaults: JsonObject) -> JsonObject:
    """Return notes on how an object differs from what the writer makes."""
    notes: JsonObject = {}
    form: JsonObject = {}
    for key, value in original.items():
        written = known.get(key, defaults.get(key))
        if isinstance(value, dict) and isinstance(written, dict):
            inner = difference(value, *_inner_fields(key, known, defaults))
            if inner:
                notes[key] = inner
        elif (key not in known and key not in defaults) or type(value) is not type(written) or value != written:
            notes[key] = value
            if isinstance(value, dict) and "shape" in value:
                form.setdefault("raw", []).append(key)
    if "shape" in notes:
        form["fields"] = {"shape": notes.pop("shape")}
    if absent := [key for key in defaults if key not in original and key not in known]:
        form["absent"] = absent
    return notes | {"shape": form} if form else notes


def apply_notes(known: JsonObject, defaults: JsonObject, notes: JsonObject) -> JsonObject:
    """Return the written object; notes add to the known fields and never contradict them."""
    form = shape(notes)
    made: JsonObject = {}
    for key in {**known, **defaults}:
        written = known.get(key, defaults.get(key))
        note = notes.get(key)
        if key not in known and key in form.get("absent", ()):
            continue
        if isinstance(written, dict) and (key in known or isinstance(notes.get(key, {}), dict)):
            made[key] = (
                apply_notes(*_inner_fields(key, known, defaults), note)
                if isinstance(note, dict)
                else _merge_defaults(key, known, defaults)
            )
        else:
            made[key] = written if key in known or key not in notes else note
    for key, note in notes.items():
        if key not in made and key != "shape":
            is_nested = isinstance(note, dict) and "shape" in note and key not in form.get("raw", ())
            made[key] = apply_notes({}, {}, note) if is_nested else note
    return made | form.get("fields", {})


def _inner_fields(key: str, known: JsonObject, defaults: JsonObject) -> tuple[JsonObject, JsonObject]:
    inner_known, inner_defaults = known.get(key), defaults.get(key)
    return (
        inner_known if isinstance(inner_known, dict) else {},
        inner_defaults if isinstance(inner_defaults, dict) else {},
    )


def _merge_defaults(key: str, known: JsonObject, defaults: JsonObject) -> JsonObject:
    inner_known, inner_defaults = _inner_fields(key, known, defaults)
    return {**inner_defaults, **inner_known} if inner_defaults else inner_known


def merge_notes(notes: JsonObject, more: JsonObject) -> JsonObject:
    """Merge two sets of notes; if they disagree, the first wins."""
    together = {**notes, **more}
    for key in notes.keys() & more.keys():
        if isinstance(notes[key], dict) and isinstance(more[key], dict):
            together[key] = merge_notes(notes[key], more[key])
        else:
            together[key] = notes[key]
    return together
