"""Which request each one continues: the earlier one of the same model that is most like it.

The score of a candidate is minus the number of messages to insert, delete or replace until its request and response are
the request at hand, minus half a point for each tool that only one of them offers. Of equal ones the latest wins, and
below minus half the length of the request none does.

Scoring all pairs takes time that grows with the square of the trace. But a candidate within a distance of d lacks at
most d of the request's messages, so it holds one of any d + 1 of them. Taking the rarest, few candidates are left.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance.Levenshtein import distance

_TOOL_PENALTY = 0.5
_WORST = 0.5
"""Of the length of the request: a parent that is less like it is none."""


@dataclass(frozen=True, slots=True)
class Request:
    """What decides about parents: numbers of messages and tools."""

    timestamp: int
    model: str
    messages: "array[int]"
    response: "array[int]"
    tools: "array[int]"


def parents(requests: Sequence[Request]) -> list[int | None]:
    """For each request the place of the one that it continues."""
    found: list[int | None] = [None] * len(requests)
    models: dict[str, _Earlier] = {}
    for place in sorted(range(len(requests)), key=lambda place: requests[place].timestamp):
        request = requests[place]
        earlier = models.setdefault(request.model, _Earlier())
        found[place] = earlier.parent(request)
        earlier.add(place, request)
    return found


class _Earlier:
    """The earlier requests of one model, and in which of them each message stands."""

    def __init__(self) -> None:
        self._places: list[int] = []
        self._requests: list[Request] = []
        self._holders: dict[int, array[int]] = {}
        self._empty: list[int] = []
        """Those without any message, which no message leads to."""

    def add(self, place: int, request: Request) -> None:
        number = len(self._places)
        self._places.append(place)
        self._requests.append(request)
        messages = {*request.messages, *request.response}
        for message in messages:
            if (holders := self._holders.get(message)) is None:
                holders = self._holders[message] = array("I")
            holders.append(number)
        if not messages:
            self._empty.append(number)

    def parent(self, request: Request) -> int | None:
        wanted = list(request.messages)
        tools = set(request.tools)
        holders: list[Sequence[int]] = [self._holders.get(message, ()) for message in wanted]
        holders.sort(key=len)
        best, winner = -_WORST * len(wanted), -1
        seen: set[int] = set()
        for missed, candidates in enumerate([self._empty, *holders]):
            if missed - 1 > -best:
                break  # whoever is left lacks more messages than the best one
            for number in reversed(candidates):
                if number in seen:
                    continue
                seen.add(number)
                other = self._requests[number]
                penalty = _TOOL_PENALTY * len(tools.symmetric_difference(other.tools))
                allowed = int(-best - penalty)
                if -best < penalty or abs(len(other.messages) + len(other.response) - len(wanted)) > allowed:
                    continue
                score = -distance([*other.messages, *other.response], wanted, score_cutoff=allowed) - penalty
                if score > best or (score == best and number > winner):
                    best, winner = score, number
        return self._places[winner] if winner >= 0 else None
