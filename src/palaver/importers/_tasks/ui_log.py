"""The interface's log beside the API history: its rows in their turns, each told where the history does not say it.

A turn is a request with the rows up to the next one. Its answer gets the request's tokens and cost, and the reasoning
that only the interface shows. Rows whose words the history holds are folded; all others become messages of their own,
where they stand in time.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from palaver.importers._tasks.known import Known
from palaver.importers._tasks.requests import Pairing, Request, cost_of, request_of
from palaver.importers._tasks.task import Task
from palaver.importers._tasks.ui_messages import Teller
from palaver.importers._tasks.ui_rows import REQUEST, TASK_KINDS, Row, row_of

Json = dict[str, Any]

_MARKERS = {"condense_context": "contextCondense", "sliding_window_truncation": "contextTruncation"}

_ANSWERING = ("model", "tool")


class UiLog:
    """The rows of one task, handed out in order while its API history is read."""

    def __init__(self, task: Task, raws: list[Json]) -> None:
        self._task = task
        self.rows: list[Row] = []
        self._times: list[int] = []
        """Of the rows, none less than the one before: a row without a time stands where it stands."""
        has_first = False
        last = 0
        for position, raw in enumerate(raws):
            row = row_of(raw, position, is_first=not has_first)
            has_first = has_first or row.kind in TASK_KINDS or row.kind == REQUEST
            self.rows.append(row)
            last = max(last, row.ts)
            self._times.append(last)
        self._requests = [request_of(row.raw, row.position, row.ts) for row in self.rows if row.kind == REQUEST]
        following = len(self.rows)
        for request in reversed(self._requests):
            request.end, following = following, request.position
        self._pairing = Pairing(self._requests)
        unfinished = {(row.ts, row.kind) for row in self.rows if row.raw.get("partial") is True and row.ts}
        self._superseded = unfinished and unfinished.intersection(
            (row.ts, row.kind) for row in self.rows if row.raw.get("partial") is not True
        )
        """Times and kinds of rows that stand there unfinished and finished."""
        self._answers: dict[int, Request] = {}
        self._seen = -1
        """The place of the last record that was looked at."""
        self._upcoming: dict[int, int] = {}
        """By the place of a record, the row of the next request that has an answer behind it."""
        self._of_marker: dict[int, Row] = {}
        self._at = 0
        self._teller = Teller(task, {request.position: request for request in self._requests})

    def deleted_ranges(self) -> list[Any]:
        return [
            row.raw["conversationHistoryDeletedRange"]
            for row in self.rows
            if "conversationHistoryDeletedRange" in row.raw
        ]

    def look_at(self, records: dict[int, Json]) -> None:
        """Look at the next records of the history, before they are read one by one."""
        answers = [
            (place, ts if type(ts := record.get("ts")) is int else 0)
            for place, record in records.items()
            if record.get("role") == "assistant"
            and record.get("isSummary") is not True
            and record.get("type") != "reasoning"
        ]
        kept = {place: request for place, request in self._answers.items() if place in records}
        self._answers = kept | self._pairing.pair([(place, ts) for place, ts in answers if place > self._seen])
        self._seen = max(records, default=self._seen)
        self._upcoming = {}
        following = len(self.rows)
        for place in reversed(records):
            self._upcoming[place] = following
            if request := self._answers.get(place):
                following = request.position
        self._teller.nearby.known = Known(records)
        self._teller.paired.update(request.position for request in self._answers.values())
        self._match_markers(records)

    def _match_markers(self, records: dict[int, Json]) -> None:
        """Find the rows that tell of a summary or a marker: by its id, else by its words."""
        told = self._teller.told
        rows: dict[str, list[Row]] = {}
        for row in reversed(self.rows):
            if row.kind in _MARKERS and row.position not in told:
                for name in _names_of(row):
                    rows.setdefault(name, []).append(row)
        if not rows:
            return
        for place, record in records.items():
            is_marker = record.get("isSummary") is True or record.get("isTruncationMarker") is True
            if not is_marker or place in self._of_marker:
                continue
            for name in self._names_at(place, record):
                found = rows.get(name, [])
                while found and found[-1].position in told:
                    found.pop()
                if found:
                    self._of_marker[place] = found[-1]
                    told.add(found[-1].position)
                    break

    def _names_at(self, place: int, record: Json) -> Iterator[str]:
        """What a row may call a summary or a marker: its id, its words, and these without the heading above them."""
        for key in ("condenseId", "truncationId"):
            if type(name := record.get(key)) is str:
                yield f"{key} {name}"
        for text in self._teller.nearby.known.texts(place):
            yield text.strip()
            yield text.strip().partition("\n")[2].strip()

    # -- record by record ---------------------------------------------------------------------------------------------

    def time_at(self, place: int, record: Json) -> str:
        """When a record that has no time of its own was written, as far as rows tell."""
        if request := self._answers.get(place):
            first = next((row for row in self._turn(request) if row.speaker == "model" and row.time), None)
            return first.time if first else self.rows[request.position].time
        if record.get("role") == "user" and (request := self._answers.get(place + 1)):
            return self.rows[request.position].time
        return ""

    def tell_before(self, place: int, ts: Any) -> None:
        """Tell the rows that come before a record."""
        self._teller.nearby.places = [place + 1, place, place - 1, place + 2]
        if request := self._answers.get(place):
            end = request.position + 1
            for row in self._turn(request):
                if row.speaker == "model":
                    break
                end = row.position + 1 if row.speaker == "harness" else end
            self._tell(end)
            return
        upcoming = self._upcoming.get(place, len(self.rows))
        if type(ts) is int:
            upcoming = min(upcoming, bisect_right(self._times, ts))
        elif upcoming == len(self.rows):
            return
        if not place:  # nobody answers before something was asked, whatever the times say
            upcoming = next((row.position for row in self.rows[:upcoming] if row.speaker in _ANSWERING), upcoming)
        self._tell(upcoming)

    def tell_of(self, place: int, message: Json) -> None:
        """Add to a record's message what the interface knows of it, then tell the rest of its turn."""
        if row := self._of_marker.get(place):
            _describe(message, row)
        request = self._answers.get(place)
        if request is None:
            return
        tokens, cost = request.tokens(self._task.platform), request.cost()
        if tokens:
            message["tokens"] = tokens
        if cost:
            message["cost"] = cost
        for name in ("cancelReason", "streamingFailedMessage"):
            if value := request.facts.get(name):
                message["metadata"][name] = value
        self._teller.begin_turn(message)
        self._tell(request.end)
        self._teller.end_turn()

    def finish(self) -> None:
        self._tell(len(self.rows))
        self._teller.spend()

    def _tell(self, end: int) -> None:
        if end <= self._at:
            return
        folded, count = 0, end - self._at
        is_answer, is_told = self._teller.nearby.is_answer, self._teller.tell
        for row in self.rows[self._at : end]:
            if is_answer(row) or (self._superseded and self._is_superseded(row)) or not is_told(row):
                folded += 1
        if folded:
            self._task.run.folded("message", folded)
        self._task.run.mapped(count - folded)
        self._teller.settle()
        self._at = end

    def _is_superseded(self, row: Row) -> bool:
        return row.raw.get("partial") is True and (row.ts, row.kind) in self._superseded

    def _turn(self, request: Request) -> list[Row]:
        return self.rows[request.position + 1 : request.end]


def _names_of(row: Row) -> Iterator[str]:
    """What a row calls the summary or the marker that it tells of: its id, and its words."""
    match row.raw:
        case {"contextCondense": dict(about)}:
            key, words = "condenseId", about.get("summary")
        case {"contextTruncation": dict(about)}:
            key, words = "truncationId", None
        case _:
            return
    if type(name := about.get(key)) is str:
        yield f"{key} {name}"
    if type(words) is str and words.strip():
        yield words.strip()


def _describe(message: Json, row: Row) -> None:
    """Note on a summary or a marker what it cost, and how much it saved."""
    key = _MARKERS[row.kind]
    about = row.raw.get(key)
    if type(about) is not dict:
        return
    words = about.get("summary")
    is_told = type(words) is str and any(words.strip() in block.get("text", "") for block in message["content"])
    message["metadata"][key] = {name: value for name, value in about.items() if not (is_told and name == "summary")}
    if cost := cost_of(about.get("cost")):
        message["cost"] = cost
