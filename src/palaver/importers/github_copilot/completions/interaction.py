"""Interactions: the events of one request for completions, put together."""

import json
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

from palaver.importers.github_copilot.completions import facts
from palaver.importers.github_copilot.completions.events import FLAT, Event
from palaver.importers.github_copilot.completions.facts import Said, Words
from palaver.model.build import JsonObject

_OUTCOMES = ("accepted", "rejected", "dismissed", "shown", "canceled", "failed", "empty", "produced", "issued")
"""The first of these that an event says is what became of a suggestion in the end."""
_ANSWERS = {"accepted": True, "rejected": False, "dismissed": False}
_BEFORE = frozenset({"ghostText.issued", "solution.issued", "engine.prompt"})
"""Events that tell of the question rather than of the answer."""
_TIME = attrgetter("time")


@dataclass(slots=True)
class Choice:
    """One of the suggestions that a request brought."""

    name: str
    """What tells it from the others of the request."""
    number: int | None
    words: Words
    events: list[Event]

    def is_accepted(self, outcome: str) -> bool | None:
        for event in self.events:
            stated = facts.truth(event.facts.get("accepted")) if event.kind == FLAT else None
            if stated is not None:
                return stated
        return _ANSWERS.get(outcome)


@dataclass(slots=True)
class Interaction:
    name: str
    """Of the request."""
    time: str
    """Of the first event; empty where none has one."""
    ended_at: str
    """The time of the last one."""
    events: list[Event]
    said: Said
    """By all events."""
    prompt: Words
    choices: list[Choice]
    """Those with words, in the order of their numbers."""
    others: list[Event]
    """Events that belong to no choice."""

    @property
    def has_words(self) -> bool:
        return bool(self.prompt.parts or self.choices)


def interaction_of(name: str, events: list[Event]) -> Interaction:
    events = _in_order(events)
    said = said_by(events)
    numbered = said.names.choices
    of_choices, others = _by_choice(events, numbered)
    choices: list[Choice] = []
    wordless: list[Choice] = []
    for key, some in of_choices.items():
        words = facts.completion_of(said if len(some) == len(events) else said_by(some))
        (choices if words.parts else wordless).append(Choice(key, _first_number(some, numbered), words, some))
    if not choices and (words := facts.completion_of(said)).parts:
        choices, others = [Choice("", _first_number(events, numbered), words, events)], []
    elif len(choices) == 1:
        (only,) = choices
        # With one suggestion there is nothing else that an event could be about, unless it names another.
        of_others: set[int] = set()
        for choice in wordless:
            if _differ(choice, only):
                of_others.update(map(id, choice.events))
        others = []
        only.events = []
        for event in events:
            (others if event.kind in _BEFORE or id(event) in of_others else only.events).append(event)
    else:
        others = _in_order([*others, *(event for choice in wordless for event in choice.events)])
    if len(choices) > 1:
        choices.sort(key=lambda choice: -1 if choice.number is None else choice.number)
    times = [event.time for event in events if event.time] or [""]
    return Interaction(name, min(times), max(times), events, said, facts.prompt_of(said), choices, others)


def said_by(events: list[Event]) -> Said:
    return Said([event.facts for event in events])


def outcome_of(events: list[Event]) -> str:
    """What became of a suggestion in the end, by the events that tell of it."""
    return _outcome(tuple([event.kind for event in events]))


@lru_cache(1 << 10)
def _outcome(kinds: tuple[str, ...]) -> str:
    last = {kind.rpartition(".")[2] for kind in kinds if kind != FLAT}
    return next((outcome for outcome in _OUTCOMES if outcome in last), "")


def distinct(events: list[Event]) -> list[Event]:
    """The events without copies of the same one."""
    if len({event.kind for event in events}) == len(events):
        return events
    if len({(event.kind, event.time, event.number) for event in events}) == len(events):
        return events
    found: dict[tuple[str, ...], Event] = {}
    for event in events:
        told = event.number or json.dumps(event.facts, sort_keys=True)
        found.setdefault((event.kind, event.time, told), event)
    return list(found.values())


def request_of(event: Event) -> str:
    """The name of an event's request, of an event that names none."""
    if event.kind == FLAT:
        said = said_by([event])
        prompt = [text for _, text in facts.prompt_of(said).parts]
        return json.dumps([event.time, said.text(said.names.files), prompt, event.who])
    return json.dumps([event.kind, event.time, event.facts, event.number], sort_keys=True)


def _in_order(events: list[Event]) -> list[Event]:
    """By their times, if all have one."""
    if len(events) > 1 and all(map(_TIME, events)):
        return sorted(events, key=_TIME)
    return events


def _by_choice(events: list[Event], numbered: tuple[str, ...]) -> tuple[dict[str, list[Event]], list[Event]]:
    """Events by the suggestion that they tell of, which has an id, or a number, or both."""
    names = [_text(event.facts.get("clientCompletionId")) for event in events]
    if names[0] and names.count(names[0]) == len(names):
        return {names[0]: events}, []
    numbers = [_number(event.facts, numbered) for event in events]
    named: dict[int, str] = {}
    for name, number in zip(names, numbers, strict=True):
        if name and number is not None:
            named.setdefault(number, name)
    found: dict[str, list[Event]] = {}
    others: list[Event] = []
    for event, name, number in zip(events, names, numbers, strict=True):
        if not name and number is not None:
            name = named.get(number, f"choice {number}")
        if not name and event.kind == FLAT:
            name = _text(event.facts.get("completion"))  # it is about nothing else
        (found.setdefault(name, []) if name else others).append(event)
    return found, others


def _differ(one: Choice, other: Choice) -> bool:
    """Whether two suggestions cannot be the same: by their numbers, else by their ids."""
    if one.number is not None and other.number is not None:
        return one.number != other.number
    ids = [{_text(event.facts.get("clientCompletionId")) for event in choice.events} - {""} for choice in (one, other)]
    return all(ids) and ids[0].isdisjoint(ids[1])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(place: JsonObject, names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in place and (number := facts.whole(place[name])) is not None:
            return number
    return None


def _first_number(events: list[Event], names: tuple[str, ...]) -> int | None:
    """The number of a suggestion, which stands under one of these names, if any."""
    if names:
        for event in events:
            if (number := _number(event.facts, names)) is not None:
                return number
    return None
