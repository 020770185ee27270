"""Rows that tell of a summary or a marker in the API history: each is found by its id, else by its words."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.importers._cline_family.known import Known
from palaver.importers._cline_family.requests import cost_of
from palaver.model.build import JsonObject

MARKING = {"condense_context": "contextCondense", "sliding_window_truncation": "contextTruncation"}
"""The kinds of such rows, and the field that says what was done."""


class _Marking(NamedTuple):
    """What a row says, for as long as the row itself may be gone."""

    position: int
    names: list[str]
    key: str
    about: Any


class Markers:
    def __init__(self) -> None:
        self._markings: list[_Marking] = []
        self._found: dict[int, _Marking] = {}
        """By the place of a record, what a row says of it."""

    def add(self, position: int, kind: str, raw: JsonObject) -> None:
        key = MARKING[kind]
        self._markings.append(_Marking(position, list(_names_of(raw)), key, raw.get(key)))

    def match(self, known: Known, told: set[int]) -> None:
        """Find the records of the next portion that rows tell of; the positions of these rows are `told` then."""
        markings: dict[str, list[_Marking]] = {}
        for marking in reversed(self._markings):
            if marking.position not in told:
                for name in marking.names:
                    markings.setdefault(name, []).append(marking)
        if not markings:
            return
        for place, record in known.records.items():
            is_marker = record.get("isSummary") is True or record.get("isTruncationMarker") is True
            if not is_marker or place in self._found:
                continue
            for name in _names_at(known, place):
                found = markings.get(name, [])
                while found and found[-1].position in told:
                    found.pop()
                if found:
                    self._found[place] = found[-1]
                    told.add(found[-1].position)
                    break

    def describe(self, place: int, message: JsonObject) -> None:
        """Note on a summary or a marker what it cost, and how much it saved."""
        if (marking := self._found.get(place)) is None or not isinstance((about := marking.about), dict):
            return
        words = about.get("summary")
        is_told = isinstance(words, str) and any(words.strip() in block.get("text", "") for block in message["content"])
        message["metadata"][marking.key] = {
            name: value for name, value in about.items() if not (is_told and name == "summary")
        }
        if cost := cost_of(about.get("cost")):
            message["cost"] = cost


def _names_of(raw: JsonObject) -> Iterator[str]:
    """What a row calls the summary or the marker that it tells of: its id, and its words."""
    match raw:
        case {"contextCondense": dict(about)}:
            key, words = "condenseId", about.get("summary")
        case {"contextTruncation": dict(about)}:
            key, words = "truncationId", None
        case _:
            return
    if isinstance((name := about.get(key)), str):
        yield f"{key} {name}"
    if isinstance(words, str) and words.strip():
        yield words.strip()


def _names_at(known: Known, place: int) -> Iterator[str]:
    """What a row may call a summary or a marker: its id, its words, and these without the heading above them."""
    record = known.records[place]
    for key in ("condenseId", "truncationId"):
        if isinstance((name := record.get(key)), str):
            yield f"{key} {name}"
    for text in known.texts(place):
        yield text.strip()
        yield text.strip().partition("\n")[2].strip()
