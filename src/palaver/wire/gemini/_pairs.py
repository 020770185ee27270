"""Which function response answers which call: by id where both have one, else by name and order.

Gemini 2 gives its calls no ids. A call without one takes the id of the response that answers it, if that has one;
else it is `call_<n>`, the n-th call of the payload. A response without an id answers the first open call of its name
in the latest turn that has one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from palaver.wire.gemini._fields import Fields, is_text

Place = tuple[int, int]


class Paired(NamedTuple):
    ids: dict[Place, str]
    """Of every call and every response, by turn and part."""
    names: dict[str, str]
    """What was called, by id."""


@dataclass(slots=True)
class _Call:
    place: Place
    name: str
    id: str | None


@dataclass(slots=True)
class _Answer:
    place: Place
    name: str | None
    id: str | None
    call: _Call | None = None


def paired(turns: list[list[Any]], kind_of: Callable[[Any], str | None]) -> Paired:
    """Ids for the parts of all turns; `kind_of` tells calls and responses from other parts."""
    found = list(_calls_and_answers(turns, kind_of))
    calls = [each for each in found if isinstance(each, _Call)]
    answers = [each for each in found if isinstance(each, _Answer)]
    called, answered = {call.id for call in calls}, {answer.id for answer in answers}
    still_open: list[_Call] = []
    for each in found:
        if isinstance(each, _Call):
            if each.id is None or each.id not in answered:
                still_open.append(each)
        elif (each.id is None or each.id not in called) and (call := _answered_by(each, still_open)):
            still_open.remove(call)
            each.call = call
            call.id = call.id or each.id
    used = called | answered
    for number, call in enumerate(calls, 1):
        call.id = call.id or _new_id(number, used)
    for number, answer in enumerate(answers, len(calls) + 1):
        answer.id = answer.id or (answer.call.id if answer.call else _new_id(number, used))
    return Paired(
        {each.place: each.id for each in found if each.id},
        {call.id: call.name for call in calls if call.id},
    )


def _calls_and_answers(turns: list[list[Any]], kind_of: Callable[[Any], str | None]) -> Iterator[_Call | _Answer]:
    for turn, parts in enumerate(turns):
        for position, part in enumerate(parts):
            kind = kind_of(part)
            if kind not in {"functionCall", "functionResponse"}:
                continue
            inner = Fields(part).inner(kind)
            assert inner is not None
            made = _Call if kind == "functionCall" else _Answer
            yield made((turn, position), inner.take("name", is_text), inner.take("id", is_text) or None)


def _answered_by(answer: _Answer, still_open: list[_Call]) -> _Call | None:
    """A response that has an id can only answer a call that has none."""
    fitting = [
        call
        for call in still_open
        if (answer.name is None or call.name == answer.name) and (answer.id is None or call.id is None)
    ]
    return max(fitting, key=lambda call: (call.place[0], -call.place[1]), default=None)


def _new_id(number: int, used: set[str | None]) -> str:
    made = f"call_{number}"
    while made in used:
        made += "_"
    used.add(made)
    return made
