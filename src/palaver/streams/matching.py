"""Matching: which entry of a log each stream of chunks belongs to.

By the request id; else by the id of the message; and for streams without a request id, by the time: the first or the
last chunk within two seconds of the response. More than one candidate is told and never chosen from.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from palaver.model.build import JsonObject
from palaver.streams.entries import answered_at, is_merged, is_streamed, message_id_of_entry, request_ids

TOLERANCE_SECONDS = 2.0
_SLACK_SECONDS = 1e-6
"""Times are binary fractions: two that are exactly as far apart as the tolerance may seem to be farther."""

ORPHANED = "orphaned_chunks"
MISSING = "missing_main_log"
AMBIGUOUS = "ambiguous_chunks"


class Stream(NamedTuple):
    """What is known of a group of chunks that make a stream."""

    place: int
    """Where its chunks are kept."""
    request_id: str | None
    message_id: str | None
    first: float | None
    last: float | None
    is_tangled: bool = False

    def order(self) -> tuple[float, str, str]:
        """By time, so that it does not matter how the lines of several streams lie among each other."""
        return self.first or 0.0, self.request_id or "", self.message_id or ""


class Claim(NamedTuple):
    stream: Stream
    by: str
    """`request_id`, `message_id` or `time`."""


class Unmatched(NamedTuple):
    stream: Stream
    type: str
    detail: str


class Index:
    """A log's entries, by all that chunks may know of them: a few words for each."""

    def __init__(self) -> None:
        self.count = 0
        self.damaged_ids: set[str] = set()
        """Request ids in lines that could not be read."""
        self._by_request: dict[str, list[int]] = {}
        self._by_message: dict[str, list[int]] = {}
        self._message_ids: dict[int, str] = {}
        self._times: list[tuple[float, int]] = []
        self._is_sorted = True

    def add(self, number: int, entry: JsonObject) -> None:
        self.count += 1
        for stated in request_ids(entry):
            self._by_request.setdefault(stated, []).append(number)
        if stated := message_id_of_entry(entry):
            self._by_message.setdefault(stated, []).append(number)
            self._message_ids[number] = stated
        time = answered_at(entry)
        if time is not None and is_streamed(entry) and not is_merged(entry):
            self._times.append((time, number))
            self._is_sorted = False

    def by_request(self, stated: str | None) -> list[int]:
        return self._by_request.get(stated, []) if stated is not None else []

    def by_message(self, stated: str | None) -> list[int]:
        return self._by_message.get(stated, []) if stated is not None else []

    def message_id(self, number: int) -> str | None:
        return self._message_ids.get(number)

    def near(self, time: float | None) -> Iterator[int]:
        """Streamed entries whose response is within the tolerance."""
        if time is None:
            return
        if not self._is_sorted:
            self._times.sort()
            self._is_sorted = True
        reach = TOLERANCE_SECONDS + _SLACK_SECONDS
        for at in range(bisect_left(self._times, (time - reach, -1)), len(self._times)):
            answered, number = self._times[at]
            if answered > time + reach:
                return
            yield number


def match(index: Index, streams: Iterable[Stream]) -> tuple[dict[int, list[Claim]], list[Unmatched]]:
    """The streams of each entry, and those that belong to none, or may belong to several."""
    claims: dict[int, list[Claim]] = {}
    unmatched: list[Unmatched] = []
    by_time: list[Stream] = []
    for stream in sorted(streams, key=Stream.order):
        if stream.is_tangled:
            detail = "several streams without request ids were written in turns: nothing tells their chunks apart"
            unmatched.append(Unmatched(stream, AMBIGUOUS, detail))
            continue
        found, by = _by_ids(index, stream)
        if len(found) == 1:
            claims.setdefault(found[0], []).append(Claim(stream, by))
        elif found:
            unmatched.append(Unmatched(stream, AMBIGUOUS, f"{_named(found)} have the same {by.replace('_', ' ')}"))
        elif stream.request_id is None:
            by_time.append(stream)
        else:
            unmatched.append(_without_entry(index, stream))
    _match_by_time(index, by_time, claims, unmatched)
    for number in list(claims):
        if len(claims[number]) > 1:
            _settle(index, number, claims, unmatched)
    return claims, unmatched


def _by_ids(index: Index, stream: Stream) -> tuple[list[int], str]:
    of_message = index.by_message(stream.message_id)
    if found := index.by_request(stream.request_id):
        agreeing = [number for number in found if number in of_message]
        return agreeing if len(found) > 1 and len(agreeing) == 1 else found, "request_id"
    if len(of_message) > 1 and stream.request_id is None:
        near = _near(index, stream)
        agreeing = [number for number in of_message if number in near]
        return agreeing if len(agreeing) == 1 else of_message, "message_id"
    return of_message, "message_id"


def _near(index: Index, stream: Stream) -> set[int]:
    return {*index.near(stream.first), *index.near(stream.last)}


def _without_entry(index: Index, stream: Stream) -> Unmatched:
    if stream.request_id in index.damaged_ids:
        return Unmatched(stream, MISSING, "the entry with this request id stands on a line that cannot be read")
    if not index.count:
        return Unmatched(stream, MISSING, "there is no entry in the log")
    if stream.request_id is not None:
        return Unmatched(stream, ORPHANED, "no entry of the log has this request id, or the id of the message")
    detail = f"no entry without chunks was answered within {TOLERANCE_SECONDS:.0f} s of these"
    return Unmatched(stream, ORPHANED, detail)


def _match_by_time(
    index: Index, streams: list[Stream], claims: dict[int, list[Claim]], unmatched: list[Unmatched]
) -> None:
    taken = set(claims)
    found = {
        stream.place: sorted(
            number
            for number in _near(index, stream) - taken
            # Both ids are known, and they are not the same.
            if stream.message_id is None or index.message_id(number) is None
        )
        for stream in streams
    }
    wanted = Counter(number for numbers in found.values() for number in numbers)
    for stream in streams:
        numbers = found[stream.place]
        if not numbers:
            unmatched.append(_without_entry(index, stream))
        elif len(numbers) > 1:
            unmatched.append(Unmatched(stream, AMBIGUOUS, f"they may belong to {_named(numbers)}"))
        elif wanted[numbers[0]] > 1:
            detail = f"{_named(numbers)} may have these chunks or those of another stream"
            unmatched.append(Unmatched(stream, AMBIGUOUS, detail))
        else:
            claims[numbers[0]] = [Claim(stream, "time")]


def _settle(index: Index, number: int, claims: dict[int, list[Claim]], unmatched: list[Unmatched]) -> None:
    """Of several streams for one entry: at most one may have a beginning, the others are its pieces."""
    beginning = [claim for claim in claims[number] if claim.stream.message_id is not None]
    if len(beginning) <= 1:
        return
    own = [claim for claim in beginning if claim.stream.message_id == index.message_id(number)]
    kept = own if len(own) == 1 else []
    for claim in claims[number]:
        if claim not in kept:
            detail = f"{_named([number])} is claimed by {len(claims[number])} streams"
            unmatched.append(Unmatched(claim.stream, AMBIGUOUS, detail))
    if kept:
        claims[number] = kept
    else:
        del claims[number]


def _named(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"entry {numbers[0]}"
    return f"entries {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
