"""Interactions: the events of one completion request, combined."""

import json
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

from palaver.importers.github_copilot.completions import properties
from palaver.importers.github_copilot.completions.events import FLAT, Event
from palaver.importers.github_copilot.completions.properties import MergedFields, SourceText
from palaver.model.build import JsonObject

_OUTCOMES = ("accepted", "rejected", "dismissed", "shown", "canceled", "failed", "empty", "produced", "issued")
"""In order of precedence: the first one that an event reports is the final outcome of a suggestion."""
_ACCEPTANCE = {"accepted": True, "rejected": False, "dismissed": False}
_PROMPT_KINDS = frozenset({"ghostText.issued", "solution.issued", "engine.prompt"})
"""Events that belong to the prompt rather than to a suggestion."""
_TIME = attrgetter("time")


@dataclass(slots=True)
class Choice:
    """One of the suggestions returned for a request."""

    key: str
    """Identifies it among the suggestions of the request."""
    number: int | None
    completion: SourceText
    events: list[Event]

    def is_accepted(self, outcome: str) -> bool | None:
        for event in self.events:
            stated = properties.boolean(event.fields.get("accepted")) if event.kind == FLAT else None
            if stated is not None:
                return stated
        return _ACCEPTANCE.get(outcome)


@dataclass(slots=True)
class Interaction:
    request_id: str
    time: str
    """Time of the first event; empty if no event has one."""
    ended_at: str
    """Time of the last event."""
    events: list[Event]
    fields: MergedFields
    """Fields of all events."""
    prompt: SourceText
    choices: list[Choice]
    """Suggestions with text, in the order of their numbers."""
    unassigned: list[Event]
    """Events that belong to no suggestion."""

    @property
    def has_text(self) -> bool:
        return bool(self.prompt.parts or self.choices)


def interaction_of(request_id: str, events: list[Event]) -> Interaction:
    events = _in_order(events)
    fields = merged_fields(events)
    choice_names = fields.names.choices
    events_by_choice, unassigned = _by_choice(events, choice_names)
    choices: list[Choice] = []
    without_text: list[Choice] = []
    for key, choice_events in events_by_choice.items():
        choice_fields = fields if len(choice_events) == len(events) else merged_fields(choice_events)
        completion = properties.completion_of(choice_fields)
        choice = Choice(key, _first_number(choice_events, choice_names), completion, choice_events)
        (choices if completion.parts else without_text).append(choice)
    if not choices and (completion := properties.completion_of(fields)).parts:
        choices, unassigned = [Choice("", _first_number(events, choice_names), completion, events)], []
    elif len(choices) == 1:
        (only,) = choices
        # With a single suggestion, every event concerns it, unless the event names another.
        other_choices: set[int] = set()
        for choice in without_text:
            if _are_different(choice, only):
                other_choices.update(map(id, choice.events))
        unassigned = []
        only.events = []
        for event in events:
            (unassigned if event.kind in _PROMPT_KINDS or id(event) in other_choices else only.events).append(event)
    else:
        unassigned = _in_order([*unassigned, *(event for choice in without_text for event in choice.events)])
    if len(choices) > 1:
        choices.sort(key=lambda choice: -1 if choice.number is None else choice.number)
    times = [event.time for event in events if event.time] or [""]
    return Interaction(
        request_id, min(times), max(times), events, fields, properties.prompt_of(fields), choices, unassigned
    )


def merged_fields(events: list[Event]) -> MergedFields:
    return MergedFields([event.fields for event in events])


def outcome_of(events: list[Event]) -> str:
    """Return the final outcome of a suggestion according to its events."""
    return _outcome(tuple([event.kind for event in events]))


@lru_cache(1 << 10)
def _outcome(kinds: tuple[str, ...]) -> str:
    last_words = {kind.rpartition(".")[2] for kind in kinds if kind != FLAT}
    return next((outcome for outcome in _OUTCOMES if outcome in last_words), "")


def without_duplicates(events: list[Event]) -> list[Event]:
    """Return the events without copies."""
    if len({event.kind for event in events}) == len(events):
        return events
    if len({(event.kind, event.time, event.unique_id) for event in events}) == len(events):
        return events
    found: dict[tuple[str, ...], Event] = {}
    for event in events:
        identity = event.unique_id or json.dumps(event.fields, sort_keys=True)
        found.setdefault((event.kind, event.time, identity), event)
    return list(found.values())


def fallback_request_id(event: Event) -> str:
    """Return a request id derived from the content of an event that names none."""
    if event.kind == FLAT:
        fields = merged_fields([event])
        prompt = [text for _, text in properties.prompt_of(fields).parts]
        return json.dumps([event.time, fields.text(fields.names.files), prompt, event.user_digest])
    return json.dumps([event.kind, event.time, event.fields, event.unique_id], sort_keys=True)


def _in_order(events: list[Event]) -> list[Event]:
    """Sort events by time if all have one."""
    if len(events) > 1 and all(map(_TIME, events)):
        return sorted(events, key=_TIME)
    return events


def _by_choice(events: list[Event], choice_names: tuple[str, ...]) -> tuple[dict[str, list[Event]], list[Event]]:
    """Return events by suggestion, which has an id, a number or both, and those that name none."""
    names = [_text(event.fields.get("clientCompletionId")) for event in events]
    if names[0] and names.count(names[0]) == len(names):
        return {names[0]: events}, []
    numbers = [_number(event.fields, choice_names) for event in events]
    named: dict[int, str] = {}
    for name, number in zip(names, numbers, strict=True):
        if name and number is not None:
            named.setdefault(number, name)
    found: dict[str, list[Event]] = {}
    unassigned: list[Event] = []
    for event, name, number in zip(events, names, numbers, strict=True):
        if not name and number is not None:
            name = named.get(number, f"choice {number}")
        if not name and event.kind == FLAT:
            name = _text(event.fields.get("completion"))  # it describes this suggestion alone
        (found.setdefault(name, []) if name else unassigned).append(event)
    return found, unassigned


def _are_different(first: Choice, second: Choice) -> bool:
    """Return whether two suggestions cannot be the same, by number, else by id."""
    if first.number is not None and second.number is not None:
        return first.number != second.number
    ids = [{_text(event.fields.get("clientCompletionId")) for event in some.events} - {""} for some in (first, second)]
    return all(ids) and ids[0].isdisjoint(ids[1])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(fields: JsonObject, names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in fields and (number := properties.non_negative_int(fields[name])) is not None:
            return number
    return None


def _first_number(events: list[Event], names: tuple[str, ...]) -> int | None:
    """Return the number of a suggestion, found under one of these names."""
    if names:
        for event in events:
            if (number := _number(event.fields, names)) is not None:
                return number
    return None
