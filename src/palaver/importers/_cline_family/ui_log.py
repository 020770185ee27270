"""The UI log, merged with the API history turn by turn.

A turn is a request with the rows up to the next request. Its answer gets the tokens and cost of the request, and the
reasoning that only the UI shows. Rows whose text occurs in the history are folded; all others become messages of their
own, in chronological position.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from palaver.importers._cline_family.condensation import MARKER_FIELDS, MarkerRows
from palaver.importers._cline_family.history_search import HistoryText
from palaver.importers._cline_family.requests import Pairing, Request, parse_request
from palaver.importers._cline_family.task import Task, time_of
from palaver.importers._cline_family.ui_messages import RowWriter
from palaver.importers._cline_family.ui_rows import (
    MODEL_TEXT_KINDS,
    OUTPUT,
    REQUEST,
    TASK_KINDS,
    Row,
    Speaker,
    speaker_of,
    text_of,
)
from palaver.model.build import JsonObject
from palaver.model.timestamps import milliseconds_of

_ANSWER_SPEAKERS = ("model", "tool")


class UiLog:
    """The rows of one task, emitted in order while its API history is read."""

    def __init__(self, task: Task, raws: Iterable[JsonObject]) -> None:
        self._task = task
        self.table = UiTable(raws)
        self._pairing = Pairing(list(self.table.requests.values()))
        self._answers: dict[int, Request] = {}
        self._last_index = -1
        """Index of the last record seen."""
        self._upcoming: dict[int, int] = {}
        """For each record, by index, the position of the next request whose answer comes after it."""
        self._next_position = 0
        self._written_rows = 0
        """Number of rows that became part of the output; all others are folded."""
        self._writer = RowWriter(task)

    def prepare(self, records: dict[int, JsonObject]) -> None:
        """Match the next records of the history to requests, before they are read one by one."""
        answers = [
            (index, ts if type(ts := record.get("ts")) is int else 0)
            for index, record in records.items()
            if record.get("role") == "assistant"
            and record.get("isSummary") is not True
            and record.get("type") != "reasoning"
        ]
        earlier = {index: request for index, request in self._answers.items() if index in records}
        self._answers = earlier | self._pairing.pair([(index, ts) for index, ts in answers if index > self._last_index])
        self._last_index = max(records, default=self._last_index)
        self._upcoming = {}
        following = len(self.table)
        for index in reversed(records):
            self._upcoming[index] = following
            if request := self._answers.get(index):
                following = request.position
        self._writer.window.history = history = HistoryText(records)
        self._writer.paired.update(request.position for request in self._answers.values())
        self.table.markers.match(history, self._writer.consumed)

    def time_at(self, index: int, record: JsonObject) -> str:
        """Return the time of a record according to its rows, or ""."""
        table = self.table
        if request := self._answers.get(index):
            answer_rows = (at for at in range(request.position + 1, request.end) if table.speaker(at) == "model")
            return next((time for at in answer_rows if (time := table.time(at))), "") or table.time(request.position)
        if record.get("role") == "user" and (request := self._answers.get(index + 1)):
            return table.time(request.position)
        return ""

    def emit_before(self, index: int, ts: Any) -> None:
        """Emit the rows that precede a record."""
        table = self.table
        self._writer.window.move_to(index)
        if request := self._answers.get(index):
            end = request.position + 1
            for position in range(end, request.end):
                speaker = table.speaker(position)
                if speaker == "model":
                    break
                end = position + 1 if speaker == "harness" else end
            self._emit_until(end)
            return
        upcoming = self._upcoming.get(index, len(table))
        if upcoming <= self._next_position:
            return
        if type(ts) is int:
            upcoming = min(upcoming, bisect_right(table.times, ts))
        elif upcoming == len(table):
            return
        if not index:  # answers come after the first prompt, whatever the times say
            upcoming = next((at for at in range(upcoming) if table.speaker(at) in _ANSWER_SPEAKERS), upcoming)
        self._emit_until(upcoming)

    def emit_turn(self, index: int, message: JsonObject) -> None:
        """Add the details of the matching request to a message, then emit the rest of its turn."""
        request = self._answers.get(index)
        if request is None:
            return
        tokens, cost = request.tokens(self._task.platform), request.cost()
        if tokens:
            message["tokens"] = tokens
        if cost:
            message["cost"] = cost
        for name in ("cancelReason", "streamingFailedMessage"):
            if value := request.details.get(name):
                message["metadata"][name] = value
        self._writer.begin_turn(message)
        self._emit_until(request.end)
        self._writer.end_turn()

    def restore_typed(self, messages: list[JsonObject]) -> None:
        """Let the messages of a record show what the user typed, where the rows word it differently."""
        self._writer.restore_typed(messages)

    def finish(self) -> None:
        """Emit the remaining rows and count them all in the run."""
        self._emit_until(len(self.table))
        self._writer.restore_typed(self._task.messages)
        self._writer.flush_request()
        if folded := len(self.table) - self._written_rows:
            self._task.run.folded("message", folded)
        self._task.run.mapped(self._written_rows)

    def _emit_until(self, end: int) -> None:
        """Emit the rows up to a position; those that occur in the history are folded."""
        start, table, writer = self._next_position, self.table, self._writer
        if end <= start:
            return
        self._next_position = end
        kinds, raws, is_answer = table.kinds, table.raws, writer.window.is_answer
        written = 0
        has_output = OUTPUT in kinds[start:end]
        for position in self._positions_without_known_output(start, end) if has_output else range(start, end):
            kind = kinds[position]
            if kind == REQUEST:
                written += writer.write_request(table.requests[position], raws[position])
            elif kind in MODEL_TEXT_KINDS and is_answer(text_of(raws[position], kind), raws[position]):
                written += position == table.first and writer.write(table.row(position))
            else:
                written += position not in table.superseded and writer.write(table.row(position))
        self._written_rows += written
        table.forget(start, end)
        writer.flush_text()

    def _positions_without_known_output(self, start: int, end: int) -> Iterator[int]:
        """Yield the positions of rows, except for command output that occurs in the history as a whole."""
        kinds = self.table.kinds
        while start < end:
            following = start + 1
            if kinds[start] == OUTPUT:
                while following < end and kinds[following] == OUTPUT:
                    following += 1
            if kinds[start] != OUTPUT or not self._writer.window.has_command_output(self.table.raws[start:following]):
                yield from range(start, following)
            start = following


class UiTable:
    """All rows of the UI log by position, as parallel lists; a `Row` is built only when needed."""

    def __init__(self, raws: Iterable[JsonObject]) -> None:
        self.raws: list[JsonObject] = []
        self.kinds: list[str] = []
        """The value of `ask` or `say`; "" for a row of another shape."""
        self.times: list[int] = []
        """Milliseconds, never decreasing: a row without a time has that of the row before."""
        self.requests: dict[int, Request] = {}
        """Requests by the position of their row."""
        self.markers = MarkerRows()
        self.deleted_ranges: list[Any] = []
        self.superseded: set[int] = set()
        """Positions of partial rows that are also present in their final state."""
        self._stated_times: list[Any] = []
        self.first = -1
        """Position of the row with the initial prompt, or -1."""
        self._read(raws)

    def __len__(self) -> int:
        return len(self.raws)

    def _read(self, raws: Iterable[JsonObject]) -> None:
        unfinished: list[int] = []
        rows, kinds, times, stated_times = self.raws, self.kinds, self.times, self._stated_times
        last = 0
        for position, raw in enumerate(raws):
            kind_field = raw.get("type")
            kind = raw.get(kind_field) if kind_field == "say" or kind_field == "ask" else ""  # noqa: PLR1714 - any type
            if not isinstance(kind, str):
                kind = ""
            ts = stated = raw.get("ts")
            if type(ts) is not int or not 0 < ts < 1 << 53:
                ts = 0 if kind else _foreign_time(raw)
            if ts > last:  # noqa: PLR1730 - `max` is slow for many rows
                last = ts
            rows.append(raw)
            kinds.append(kind)
            times.append(last)
            stated_times.append(stated)
            if kind == REQUEST:
                self.requests[position] = parse_request(raw, position, ts)
                raw["text"] = ""  # the prompt may be most of the log, and the request holds it
            elif kind in TASK_KINDS and self.first < 0 and not self.requests:
                self.first = position
            elif kind in MARKER_FIELDS:
                self.markers.add(position, kind, raw)
            if raw.get("partial") is True and ts:
                unfinished.append(position)
            if "conversationHistoryDeletedRange" in raw:
                self.deleted_ranges.append(raw["conversationHistoryDeletedRange"])
        following = len(self.raws)
        for request in reversed(self.requests.values()):
            request.end, following = following, request.position
        if unfinished:
            self._find_superseded(unfinished)

    def _find_superseded(self, unfinished: list[int]) -> None:
        finished = {
            (ts, kind)
            for raw, ts, kind in zip(self.raws, self._stated_times, self.kinds, strict=True)
            if raw.get("partial") is not True and type(ts) is int
        }
        self.superseded.update(at for at in unfinished if (self._stated_times[at], self.kinds[at]) in finished)

    def row(self, position: int) -> Row:
        return Row(position, self.raws[position], self.kinds[position], is_first=position == self.first)

    def speaker(self, position: int) -> Speaker:
        return "human" if position == self.first else speaker_of(self.kinds[position])

    def time(self, position: int) -> str:
        return time_of(self._stated_times[position])

    def first_time(self) -> str:
        return next((time for stated in self._stated_times if (time := time_of(stated))), "")

    def forget(self, start: int, end: int) -> None:
        """Drop the content of rows that have been emitted."""
        self.raws[start:end] = [_DROPPED_ROW] * (end - start)


_DROPPED_ROW: JsonObject = {}


def _foreign_time(raw: JsonObject) -> int:
    time = time_of(raw.get("timestamp"))
    return milliseconds_of(time) if time else 0
