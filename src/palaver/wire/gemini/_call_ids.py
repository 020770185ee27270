"""Ids of function calls, and the match of responses to calls: by id if both have one, else by name and order.

Gemini 2 gives its calls no ids. A call without one takes the id of the response that answers it, if that has one; else
it is `call_<n>`, the n-th call of the payload. A response without an id answers the first open call of its name in the
latest turn that has one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from palaver.wire.gemini._provider_data import FieldReader, is_text

PartPosition = tuple[int, int]
"""The index of a turn, and of a part in it."""


class CallPairs(NamedTuple):
    ids: dict[PartPosition, str]
    """The id of every call and every response, by turn and part."""
    names: dict[str, str]
    """The name of the called function, by call id."""


@dataclass(slots=True)
class _Call:
    position: PartPosition
    name: str
    id: str | None


@dataclass(slots=True)
class _Response:
    position: PartPosition
    name: str | None
    id: str | None
    call: _Call | None = None


def pair_calls(turns: list[list[Any]], part_kind: Callable[[Any], str | None]) -> CallPairs:
    """Return the ids of all calls and responses; `part_kind` tells them from other parts."""
    entries = list(_calls_and_responses(turns, part_kind))
    calls = [entry for entry in entries if isinstance(entry, _Call)]
    responses = [entry for entry in entries if isinstance(entry, _Response)]
    call_ids, response_ids = {call.id for call in calls}, {response.id for response in responses}
    open_calls: list[_Call] = []
    for entry in entries:
        if isinstance(entry, _Call):
            if entry.id is None or entry.id not in response_ids:
                open_calls.append(entry)
        elif (entry.id is None or entry.id not in call_ids) and (call := _matching_call(entry, open_calls)):
            open_calls.remove(call)
            entry.call = call
            call.id = call.id or entry.id
    used = call_ids | response_ids
    for number, call in enumerate(calls, 1):
        call.id = call.id or _new_id(number, used)
    for number, response in enumerate(responses, len(calls) + 1):
        response.id = response.id or (response.call.id if response.call else _new_id(number, used))
    return CallPairs(
        {entry.position: entry.id for entry in entries if entry.id},
        {call.id: call.name for call in calls if call.id},
    )


def _calls_and_responses(turns: list[list[Any]], part_kind: Callable[[Any], str | None]) -> Iterator[_Call | _Response]:
    for turn, parts in enumerate(turns):
        for position, part in enumerate(parts):
            kind = part_kind(part)
            if kind not in {"functionCall", "functionResponse"}:
                continue
            inner = FieldReader(part).inner(kind)
            assert inner is not None
            entry_class = _Call if kind == "functionCall" else _Response
            yield entry_class((turn, position), inner.take("name", is_text), inner.take("id", is_text) or None)


def _matching_call(response: _Response, open_calls: list[_Call]) -> _Call | None:
    """Return the open call that a response answers; a response with an id can only answer a call without one."""
    fitting = [
        call
        for call in open_calls
        if (response.name is None or call.name == response.name) and (response.id is None or call.id is None)
    ]
    return max(fitting, key=lambda call: (call.position[0], -call.position[1]), default=None)


def _new_id(number: int, used: set[str | None]) -> str:
    call_id = f"call_{number}"
    while call_id in used:
        call_id += "_"
    used.add(call_id)
    return call_id
