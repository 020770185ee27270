"""Interactions: the events of one request for completions, put together."""

import json
from typing import Any, NamedTuple

from palaver.importers.github_copilot.completions import facts
from palaver.importers.github_copilot.completions.events import FLAT, Event
from palaver.importers.github_copilot.completions.facts import Words

Json = dict[str, Any]

_OUTCOMES = ("accepted", "rejected", "dismissed", "shown", "canceled", "failed", "empty", "produced", "issued")
"""The first of these that an event says is what became of a suggestion in the end."""
_ANSWERS = {"accepted": True, "rejected": False, "dismissed": False}
_BEFORE = frozenset({"ghostText.issued", "solution.issued", "engine.prompt"})
"""Events that tell of the question rather than of the answer."""


class Choice(NamedTuple):
    """One of the suggestions that a request brought."""

    name: str
    """What tells it from the others of the request."""
    number: int | None
    words: Words
    events: list[Event]

    def outcome(self, of_all: list[Event]) -> str:
        kinds = {event.kind.rpartition(".")[2] for event in (*self.events, *of_all) if event.kind != FLAT}
        return next((outcome for outcome in _OUTCOMES if outcome in kinds), "")

    def is_accepted(self, of_all: list[Event]) -> bool | None:
        for event in self.events:
            stated = facts.truth(event.facts.get("accepted")) if event.kind == FLAT else None
            if stated is not None:
                return stated
        return _ANSWERS.get(self.outcome(of_all))


class Interaction(NamedTuple):
    name: str
    """Of the request."""
    time: str
    """Of the first event; empty where none has one."""
    events: list[Event]
    prompt: Words
    choices: list[Choice]
    """Those with words, in the order of their numbers."""
    others: list[Event]
    """Events that belong to no choice."""

    @property
    def has_words(self) -> bool:
        return bool(self.prompt.parts or self.choices)

    @property
    def places(self) -> list[Json]:
        return [event.facts for event in self.events]


def interaction_of(name: str, events: list[Event]) -> Interaction:
    events = _in_order(events)
    places = [event.facts for event in events]
    of_choices, others = _by_choice(events)
    choices: list[Choice] = []
    for key, some in of_choices.items():
        words = facts.completion_of([event.facts for event in some])
        if words.parts:
            choices.append(Choice(key, _first_number(some), words, some))
        else:
            others += some
    if not choices:
        words = facts.completion_of(places)
        if words.parts:
            choices, others = [Choice("", _first_number(events), words, events)], []
    elif len(choices) == 1:
        # With one suggestion there is nothing else that an event could be about.
        choices[0].events[:] = [event for event in events if event.kind not in _BEFORE]
        others = [event for event in events if event.kind in _BEFORE]
    choices.sort(key=lambda choice: -1 if choice.number is None else choice.number)
    time = min((event.time for event in events if event.time), default="")
    return Interaction(name, time, events, facts.prompt_of(places), choices, _in_order(others))


def distinct(events: list[Event]) -> list[Event]:
    """The events without copies of the same one."""
    found: dict[str, list[Event]] = {}
    for event in events:
        alike = found.setdefault(f"{event.kind} {event.time} {event.number}", [])
        if not (event.number and alike) and not any(event.facts == other.facts for other in alike):
            alike.append(event)
    if len(found) == len(events):
        return events
    return [event for alike in found.values() for event in alike]


def request_of(event: Event) -> str:
    """The name of an event's request, of an event that names none."""
    if event.kind == FLAT:
        places = [event.facts]
        prompt = [text for _, text in facts.prompt_of(places).parts]
        return json.dumps([event.time, facts.first_text(places, facts.FILES), prompt, event.who])
    return json.dumps([event.kind, event.time, event.facts, event.number], sort_keys=True)


def _in_order(events: list[Event]) -> list[Event]:
    """By their times, if all have one."""
    if len(events) > 1 and all(event.time for event in events):
        return sorted(events, key=lambda event: event.time)
    return events


def _by_choice(events: list[Event]) -> tuple[dict[str, list[Event]], list[Event]]:
    """Events by the suggestion that they tell of, which has an id, or a number, or both."""
    told = [(_text(event.facts.get("clientCompletionId")), _number(event.facts)) for event in events]
    named: dict[int, str] = {}
    for name, number in told:
        if name and number is not None:
            named.setdefault(number, name)
    found: dict[str, list[Event]] = {}
    others: list[Event] = []
    for event, (name, number) in zip(events, told, strict=True):
        if not name and number is not None:
            name = named.get(number, f"choice {number}")
        (found.setdefault(name, []) if name else others).append(event)
    return found, others


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _number(place: Json) -> int | None:
    for name in facts.CHOICES:
        if name in place and (number := facts.whole(place[name])) is not None:
            return number
    return None


def _first_number(events: list[Event]) -> int | None:
    return next((number for event in events if (number := _number(event.facts)) is not None), None)
