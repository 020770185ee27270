"""The parent of each request: the most similar earlier request of the same model.

The score of a candidate is minus the number of messages to insert, delete or replace to turn its request and response
into the new request, minus half a point for each tool that only one of them offers. Among equal scores the latest
candidate wins; a score below minus half the length of the request does not count.

Scoring all pairs would take quadratic time. But a candidate within distance d lacks at most d of the request's
messages, so it holds one of any d + 1 of them: searching by the rarest messages leaves few candidates.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance.Levenshtein import distance

_TOOL_PENALTY = 0.5
_MAX_DISTANCE_RATIO = 0.5
"""The largest distance of a parent, as a fraction of the request's length."""


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request that decide its parent, as numbers of messages and tools."""

    timestamp: int
    model: str
    messages: "array[int]"
    response: "array[int]"
    tools: "array[int]"
    answers: "tuple[array[int], ...]" = ()
    """The answers apart from each other, if there were several: the next request continues one of them."""


def parent_indexes(requests: Sequence[Request]) -> list[int | None]:
    """Return the index of each request's parent, or None."""
    found: list[int | None] = [None] * len(requests)
    models: dict[str, _EarlierRequests] = {}
    for index in sorted(range(len(requests)), key=lambda index: requests[index].timestamp):
        request = requests[index]
        earlier = models.setdefault(request.model, _EarlierRequests())
        found[index] = earlier.parent(request)
        earlier.add(index, request)
    return found


class _EarlierRequests:
    """The earlier requests of one model, and an index of those that contain each message."""

    def __init__(self) -> None:
        self._indexes: list[int] = []
        self._requests: list[Request] = []
        self._requests_with: dict[int, array[int]] = {}
        self._empty: list[int] = []
        """The numbers of requests without messages, which no message leads to."""

    def add(self, index: int, request: Request) -> None:
        number = len(self._indexes)
        self._indexes.append(index)
        self._requests.append(request)
        messages = {*request.messages, *request.response}
        for message in messages:
            if (holders := self._requests_with.get(message)) is None:
                holders = self._requests_with[message] = array("I")
            holders.append(number)
        if not messages:
            self._empty.append(number)

    def parent(self, request: Request) -> int | None:
        wanted = list(request.messages)
        tools = set(request.tools)
        holders: list[Sequence[int]] = [self._requests_with.get(message, ()) for message in wanted]
        holders.sort(key=len)
        best, winner = -_MAX_DISTANCE_RATIO * len(wanted), -1
        seen: set[int] = set()
        for missed, candidates in enumerate([self._empty, *holders]):
            if missed - 1 > -best:
                break  # the remaining candidates lack more messages than the best one
            for number in reversed(candidates):
                if number in seen:
                    continue
                seen.add(number)
                other = self._requests[number]
                penalty = _TOOL_PENALTY * len(tools.symmetric_difference(other.tools))
                allowed = int(-best - penalty)
                for answer in other.answers or (other.response,):
                    if -best < penalty or abs(len(other.messages) + len(answer) - len(wanted)) > allowed:
                        continue
                    score = -distance([*other.messages, *answer], wanted, score_cutoff=allowed) - penalty
                    if score > best or (score == best and number > winner):
                        best, winner = score, number
        return self._indexes[winner] if winner >= 0 else None
