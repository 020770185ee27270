"""Matches between the streams in a chunk file and the entries of a log.

A stream is matched by its request id, else by the id of its message, else, if it has no request id, by time: its first
or last chunk is within two seconds of the response. An entry that a stronger method matched is closed to the weaker
ones. A stream with several candidates is reported, never guessed.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from palaver.model.build import JsonObject
from palaver.streams.log_entries import entry_message_id, is_merged, is_streamed, request_ids, response_time

TOLERANCE_SECONDS = 2.0
_ROUNDING_SECONDS = 1e-6
"""Times are binary fractions: two that are exactly the tolerance apart may seem farther apart."""

ORPHANED = "orphaned_chunks"
MISSING = "missing_main_log"
AMBIGUOUS = "ambiguous_chunks"


class ChunkStream(NamedTuple):
    """The identity of a group of chunks that form a stream."""

    offset: int
    """Where its chunks are stored."""
    request_id: str | None
    message_id: str | None
    first: float | None
    last: float | None
    is_interleaved: bool = False

    def sort_key(self) -> tuple[float, str, str]:
        """Order by time, so that the order of lines from several streams does not matter."""
        return self.first or 0.0, self.request_id or "", self.message_id or ""


class Claim(NamedTuple):
    """A stream that was matched to an entry."""

    stream: ChunkStream
    by: str
    """`request_id`, `message_id` or `time`."""


class Unmatched(NamedTuple):
    """A stream without an entry, or with several candidates."""

    stream: ChunkStream
    type: str
    detail: str


class EntryIndex:
    """An index of a log's entries by request id, message id and response time."""

    def __init__(self) -> None:
        self.count = 0
        self.damaged_ids: set[str] = set()
        """Request ids found in unreadable lines."""
        self._by_request: dict[str, list[int]] = {}
        self._by_message: dict[str, list[int]] = {}
        self._message_ids: dict[int, str] = {}
        self._times: list[tuple[float, int]] = []
        self._is_sorted = True

    def add(self, number: int, entry: JsonObject) -> None:
        self.count += 1
        for identifier in request_ids(entry):
            self._by_request.setdefault(identifier, []).append(number)
        if identifier := entry_message_id(entry):
            self._by_message.setdefault(identifier, []).append(number)
            self._message_ids[number] = identifier
        time = response_time(entry)
        if time is not None and is_streamed(entry) and not is_merged(entry):
            self._times.append((time, number))
            self._is_sorted = False

    def by_request(self, identifier: str | None) -> list[int]:
        return self._by_request.get(identifier, []) if identifier is not None else []

    def by_message(self, identifier: str | None) -> list[int]:
        return self._by_message.get(identifier, []) if identifier is not None else []

    def message_id(self, number: int) -> str | None:
        return self._message_ids.get(number)

    def answered_near(self, time: float | None) -> Iterator[int]:
        """Yield the streamed entries whose response time is within the tolerance."""
        if time is None:
            return
        if not self._is_sorted:
            self._times.sort()
            self._is_sorted = True
        reach = TOLERANCE_SECONDS + _ROUNDING_SECONDS
        for at in range(bisect_left(self._times, (time - reach, -1)), len(self._times)):
            answered, number = self._times[at]
            if answered > time + reach:
                return
            yield number


def match_streams(index: EntryIndex, streams: Iterable[ChunkStream]) -> tuple[dict[int, list[Claim]], list[Unmatched]]:
    """Return the streams of each entry, by its number, and the streams without a definite entry.

    Each method sees only the streams and the entries that the stronger one left over.
    """
    claims: dict[int, list[Claim]] = {}
    unmatched: list[Unmatched] = []
    left_over: list[ChunkStream] = []
    for stream in sorted(streams, key=ChunkStream.sort_key):
        if stream.is_interleaved:
            detail = "several streams without request ids are interleaved: their chunks cannot be separated"
            unmatched.append(Unmatched(stream, AMBIGUOUS, detail))
        else:
            left_over.append(stream)
    for by in ("request_id", "message_id"):
        left_over = _match_by_id(index, left_over, by, claims, unmatched)
    _match_by_time(index, left_over, claims, unmatched)
    return {number: accepted for number, accepted in claims.items() if accepted}, unmatched


def _match_by_id(
    index: EntryIndex,
    streams: list[ChunkStream],
    by: Literal["request_id", "message_id"],
    claims: dict[int, list[Claim]],
    unmatched: list[Unmatched],
) -> list[ChunkStream]:
    """Match streams to the entries with their id that no stronger method matched; return the streams without any."""
    find = _with_request_id if by == "request_id" else _with_message_id
    found_now: dict[int, list[Claim]] = {}
    left_over: list[ChunkStream] = []
    for stream in streams:
        numbers = [number for number in find(index, stream) if number not in claims]
        if len(numbers) == 1:
            found_now.setdefault(numbers[0], []).append(Claim(stream, by))
        elif numbers:
            detail = f"{_entry_names(numbers)} have the same {by.replace('_', ' ')}"
            unmatched.append(Unmatched(stream, AMBIGUOUS, detail))
        else:
            left_over.append(stream)
    for number, rivals in found_now.items():
        # An entry whose rivals are all refused is closed to the weaker methods as well.
        claims[number] = _resolve_claims(index, number, rivals, unmatched)
    return left_over


def _with_request_id(index: EntryIndex, stream: ChunkStream) -> list[int]:
    found = index.by_request(stream.request_id)
    of_message = index.by_message(stream.message_id)
    return _agreeing(found, of_message) if len(found) > 1 else found


def _with_message_id(index: EntryIndex, stream: ChunkStream) -> list[int]:
    found = index.by_message(stream.message_id)
    return _agreeing(found, _near(index, stream)) if len(found) > 1 and stream.request_id is None else found


def _agreeing(found: list[int], others: Collection[int]) -> list[int]:
    """Return the one entry on which two methods agree, else all that the stronger one found."""
    agreeing = [number for number in found if number in others]
    return agreeing if len(agreeing) == 1 else found


def _near(index: EntryIndex, stream: ChunkStream) -> set[int]:
    return {*index.answered_near(stream.first), *index.answered_near(stream.last)}


def _unmatched(index: EntryIndex, stream: ChunkStream, claims: dict[int, list[Claim]]) -> Unmatched:
    if stream.request_id in index.damaged_ids:
        return Unmatched(stream, MISSING, "the entry with this request id is on an unreadable line")
    if not index.count:
        return Unmatched(stream, MISSING, "the log has no entries")
    if taken := [number for number in index.by_message(stream.message_id) if claims.get(number)]:
        detail = f"{_entry_names(taken)} with this message id already matched other chunks more closely"
        return Unmatched(stream, ORPHANED, detail)
    if stream.request_id is not None:
        return Unmatched(stream, ORPHANED, "no log entry has this request id or message id")
    detail = f"no entry without chunks has an answer within {TOLERANCE_SECONDS:.0f} s of these"
    return Unmatched(stream, ORPHANED, detail)


def _match_by_time(
    index: EntryIndex, streams: list[ChunkStream], claims: dict[int, list[Claim]], unmatched: list[Unmatched]
) -> None:
    taken = set(claims)
    found = {
        stream.offset: sorted(
            number
            for number in _near(index, stream) - taken
            # If both message ids are known, they differ: equal ones were matched before.
            if stream.message_id is None or index.message_id(number) is None
        )
        for stream in streams
        if stream.request_id is None
    }
    candidates_count = Counter(number for numbers in found.values() for number in numbers)
    for stream in streams:
        numbers = found.get(stream.offset)
        if not numbers:
            unmatched.append(_unmatched(index, stream, claims))
        elif len(numbers) > 1:
            unmatched.append(Unmatched(stream, AMBIGUOUS, f"they may belong to {_entry_names(numbers)}"))
        elif candidates_count[numbers[0]] > 1:
            detail = f"{_entry_names(numbers)} may have these chunks or those of another stream"
            unmatched.append(Unmatched(stream, AMBIGUOUS, detail))
        else:
            claims[numbers[0]] = [Claim(stream, "time")]


def _resolve_claims(index: EntryIndex, number: int, rivals: list[Claim], unmatched: list[Unmatched]) -> list[Claim]:
    """Return the claims to one entry that hold: at most one stream may have a beginning, the others are its pieces."""
    beginning = [claim for claim in rivals if claim.stream.message_id is not None]
    if len(beginning) <= 1:
        return rivals
    own = [claim for claim in beginning if claim.stream.message_id == index.message_id(number)]
    accepted = own if len(own) == 1 else []
    detail = f"{_entry_names([number])} is claimed by {len(rivals)} streams"
    unmatched += [Unmatched(claim.stream, AMBIGUOUS, detail) for claim in rivals if claim not in accepted]
    return accepted


def _entry_names(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"entry {numbers[0]}"
    return f"entries {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
