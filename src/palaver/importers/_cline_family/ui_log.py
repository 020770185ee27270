"""The interface's log beside the API history: its rows in their turns, each told where the history does not say it.

A turn is a request with the rows up to the next one. Its answer gets the request's tokens and cost, and the reasoning
that only the interface shows. Rows whose words the history holds are folded; all others become messages of their own,
where they stand in time.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from palaver.importers._cline_family.known import Known
from palaver.importers._cline_family.requests import Pairing, Request
from palaver.importers._cline_family.task import Task
from palaver.importers._cline_family.ui_messages import Teller
from palaver.importers._cline_family.ui_rows import OUTPUT, REQUEST, SPOKEN, text_of
from palaver.importers._cline_family.ui_table import UiTable
from palaver.model.build import JsonObject

_ANSWERING = ("model", "tool")


class UiLog:
    """The rows of one task, handed out in order while its API history is read."""

    def __init__(self, task: Task, raws: Iterable[JsonObject]) -> None:
        self._task = task
        self.table = UiTable(raws)
        self._pairing = Pairing(list(self.table.requests.values()))
        self._answers: dict[int, Request] = {}
        self._seen = -1
        """The place of the last record that was looked at."""
        self._upcoming: dict[int, int] = {}
        """By the place of a record, the row of the next request that has an answer behind it."""
        self._at = 0
        self._told = 0
        """How many rows something was made of: all others are folded."""
        self._teller = Teller(task)

    def look_at(self, records: dict[int, JsonObject]) -> None:
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
        following = len(self.table)
        for place in reversed(records):
            self._upcoming[place] = following
            if request := self._answers.get(place):
                following = request.position
        self._teller.nearby.known = known = Known(records)
        self._teller.paired.update(request.position for request in self._answers.values())
        self.table.markers.match(known, self._teller.told)

    # -- record by record ---------------------------------------------------------------------------------------------

    def time_at(self, place: int, record: JsonObject) -> str:
        """When a record that has no time of its own was written, as far as rows tell."""
        table = self.table
        if request := self._answers.get(place):
            spoken = (at for at in range(request.position + 1, request.end) if table.speaker(at) == "model")
            return next((time for at in spoken if (time := table.time(at))), "") or table.time(request.position)
        if record.get("role") == "user" and (request := self._answers.get(place + 1)):
            return table.time(request.position)
        return ""

    def tell_before(self, place: int, ts: Any) -> None:
        """Tell the rows that come before a record."""
        table = self.table
        self._teller.nearby.move_to(place)
        if request := self._answers.get(place):
            end = request.position + 1
            for position in range(end, request.end):
                speaker = table.speaker(position)
                if speaker == "model":
                    break
                end = position + 1 if speaker == "harness" else end
            self._tell(end)
            return
        upcoming = self._upcoming.get(place, len(table))
        if upcoming <= self._at:
            return
        if type(ts) is int:
            upcoming = min(upcoming, bisect_right(table.times, ts))
        elif upcoming == len(table):
            return
        if not place:  # nobody answers before something was asked, whatever the times say
            upcoming = next((at for at in range(upcoming) if table.speaker(at) in _ANSWERING), upcoming)
        self._tell(upcoming)

    def tell_of(self, place: int, message: JsonObject) -> None:
        """Add to a record's message what the interface knows of it, then tell the rest of its turn."""
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
        self._tell(len(self.table))
        self._teller.spend()
        if folded := len(self.table) - self._told:
            self._task.run.folded("message", folded)
        self._task.run.mapped(self._told)

    def _tell(self, end: int) -> None:
        """Tell the rows up to a position; those whose words stand in the history are folded."""
        start, table, teller = self._at, self.table, self._teller
        if end <= start:
            return
        self._at = end
        kinds, raws, is_answer = table.kinds, table.raws, teller.nearby.is_answer
        told = 0
        for position in self._without_output(start, end) if OUTPUT in kinds[start:end] else range(start, end):
            kind = kinds[position]
            if kind == REQUEST:
                told += teller.tell_request(table.requests[position], raws[position])
            elif kind in SPOKEN and is_answer(text_of(raws[position], kind), raws[position]):
                told += position == table.first and teller.tell(table.row(position))
            else:
                told += position not in table.superseded and teller.tell(table.row(position))
        self._told += told
        table.forget(start, end)
        teller.settle()

    def _without_output(self, start: int, end: int) -> Iterator[int]:
        """The positions of the rows but for what commands wrote, where that stands in the history as a whole."""
        kinds = self.table.kinds
        while start < end:
            following = start + 1
            if kinds[start] == OUTPUT:
                while following < end and kinds[following] == OUTPUT:
                    following += 1
            if kinds[start] != OUTPUT or not self._teller.nearby.says_output(self.table.raws[start:following]):
                yield from range(start, following)
            start = following
