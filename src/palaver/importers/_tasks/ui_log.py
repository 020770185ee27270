"""The interface's log beside the API history: its rows in their turns, each told where the history does not say it.

A turn is a request with the rows up to the next one. Its answer gets the request's tokens and cost, and the reasoning
that only the interface shows. Rows whose words the history holds are folded; all others become messages of their own,
where they stand in time.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from palaver.importers._tasks.known import Known
from palaver.importers._tasks.markers import MARKING, Markers
from palaver.importers._tasks.requests import Pairing, Request, payload, request_of
from palaver.importers._tasks.task import Task
from palaver.importers._tasks.ui_messages import Teller
from palaver.importers._tasks.ui_rows import REQUEST, TASK_KINDS, Row

Json = dict[str, Any]

_ANSWERING = ("model", "tool")


class UiLog:
    """The rows of one task, handed out in order while its API history is read."""

    def __init__(self, task: Task, raws: Iterable[Json]) -> None:
        self._task = task
        self.rows: list[Row] = []
        self.deleted_ranges: list[Any] = []
        self._times: list[int] = []
        """Of the rows, none less than the one before: a row without a time stands where it stands."""
        self._requests: list[Request] = []
        self._markers = Markers()
        self._superseded: set[int] = set()
        """The positions of unfinished rows that stand there finished, too."""
        self._read(raws)
        self._pairing = Pairing(self._requests)
        self._answers: dict[int, Request] = {}
        self._seen = -1
        """The place of the last record that was looked at."""
        self._upcoming: dict[int, int] = {}
        """By the place of a record, the row of the next request that has an answer behind it."""
        self._at = 0
        self._teller = Teller(task, {request.position: request for request in self._requests})

    def _read(self, raws: Iterable[Json]) -> None:
        rows, times = self.rows, self._times
        unfinished: list[Row] = []
        is_first = True
        last = 0
        for raw in raws:
            row = Row(len(rows), raw, is_first=is_first)
            kind = row.kind
            if kind == REQUEST:
                is_first = False
                self._requests.append(request_of(raw, row.position, row.ts))
                row.text = raw["text"] = ""  # what was sent may be most of the log, and the request has it
            elif kind in TASK_KINDS:
                is_first = False
            elif kind in MARKING:
                self._markers.add(row)
            if raw.get("partial") is True and row.ts:
                unfinished.append(row)
            if "conversationHistoryDeletedRange" in raw:
                self.deleted_ranges.append(raw["conversationHistoryDeletedRange"])
            if row.ts > last:
                last = row.ts
            rows.append(row)
            times.append(last)
        following = len(rows)
        for request in reversed(self._requests):
            request.end, following = following, request.position
        if unfinished:
            finished = {(row.ts, row.kind) for row in rows if row.raw.get("partial") is not True}
            self._superseded = {row.position for row in unfinished if (row.ts, row.kind) in finished}

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
        self._teller.nearby.known = known = Known(records)
        self._teller.paired.update(request.position for request in self._answers.values())
        self._markers.match(known, self._teller.told)

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
        self._teller.nearby.move_to(place)
        if request := self._answers.get(place):
            end = request.position + 1
            for position in range(end, request.end):
                speaker = self.rows[position].speaker
                if speaker == "model":
                    break
                end = position + 1 if speaker == "harness" else end
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
        self._markers.describe(place, message)
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
            if row.has_json:
                row.value = payload(row.text)
            is_repeated = (row.speaker == "model" and is_answer(row)) or row.position in self._superseded
            if is_repeated or not is_told(row):
                folded += 1
            row.forget()
        if folded:
            self._task.run.folded("message", folded)
        self._task.run.mapped(count - folded)
        self._teller.settle()
        self._at = end

    def _turn(self, request: Request) -> list[Row]:
        return self.rows[request.position + 1 : request.end]
