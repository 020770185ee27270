"""All rows of the interface's log, as they came: one is looked at closely only when it has something to tell."""

from collections.abc import Iterable
from typing import Any

from palaver.importers._cline_family.markers import MARKING, Markers
from palaver.importers._cline_family.requests import Request, request_of
from palaver.importers._cline_family.task import time_of
from palaver.importers._cline_family.ui_rows import REQUEST, TASK_KINDS, Row, Speaker, speaker_of
from palaver.model.build import JsonObject
from palaver.model.timestamps import milliseconds_of


class UiTable:
    def __init__(self, raws: Iterable[JsonObject]) -> None:
        self.raws: list[JsonObject] = []
        self.kinds: list[str] = []
        """The word behind `ask` or `say`; empty for a row of another shape."""
        self.times: list[int] = []
        """In milliseconds, none less than the one before: a row without a time stands where it stands."""
        self.requests: dict[int, Request] = {}
        """By the positions of their rows."""
        self.markers = Markers()
        self.deleted_ranges: list[Any] = []
        self.superseded: set[int] = set()
        """The positions of unfinished rows that stand there finished, too."""
        self._stated: list[Any] = []
        self.first = -1
        """The position of the task's own words."""
        self._read(raws)

    def __len__(self) -> int:
        return len(self.raws)

    def _read(self, raws: Iterable[JsonObject]) -> None:
        unfinished: list[int] = []
        rows, kinds, times, stated_times = self.raws, self.kinds, self.times, self._stated
        last = 0
        for position, raw in enumerate(raws):
            manner = raw.get("type")
            kind = raw.get(manner) if manner == "say" or manner == "ask" else ""  # noqa: PLR1714 - it may be anything
            if not isinstance(kind, str):
                kind = ""
            ts = stated = raw.get("ts")
            if type(ts) is not int or not 0 < ts < 1 << 53:
                ts = 0 if kind else _foreign_time(raw)
            if ts > last:  # noqa: PLR1730 - `max` is dear where there are many rows
                last = ts
            rows.append(raw)
            kinds.append(kind)
            times.append(last)
            stated_times.append(stated)
            if kind == REQUEST:
                self.requests[position] = request_of(raw, position, ts)
                raw["text"] = ""  # what was sent may be most of the log, and the request has it
            elif kind in TASK_KINDS and self.first < 0 and not self.requests:
                self.first = position
            elif kind in MARKING:
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
            for raw, ts, kind in zip(self.raws, self._stated, self.kinds, strict=True)
            if raw.get("partial") is not True and type(ts) is int
        }
        self.superseded.update(place for place in unfinished if (self._stated[place], self.kinds[place]) in finished)

    def row(self, position: int) -> Row:
        return Row(position, self.raws[position], self.kinds[position], is_first=position == self.first)

    def speaker(self, position: int) -> Speaker:
        return "human" if position == self.first else speaker_of(self.kinds[position])

    def time(self, position: int) -> str:
        return time_of(self._stated[position])

    def first_time(self) -> str:
        return next((time for stated in self._stated if (time := time_of(stated))), "")

    def forget(self, start: int, end: int) -> None:
        """Let go of rows of which nothing more is told."""
        self.raws[start:end] = [_NOTHING] * (end - start)


_NOTHING: JsonObject = {}


def _foreign_time(raw: JsonObject) -> int:
    """When a row of another shape was made."""
    time = time_of(raw.get("timestamp"))
    return milliseconds_of(time) if time else 0
