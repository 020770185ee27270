"""Seats: who may use Copilot, since when, and when they last did; one record a user."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.importers.github_copilot.metrics.figures import without_addresses
from palaver.importers.github_copilot.metrics.record import PLATFORM, Period, inferred, told, usage_id
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run

_TIMES = ("created_at", "updated_at", "last_activity_at")


class _Seat(NamedTuple):
    told: JsonObject
    report: JsonObject
    """What is said around the list of seats."""
    period: Period


class Seats:
    """Takes seats in; a user has one, through however many teams."""

    def __init__(self, run: Run, time: str) -> None:
        self._run = run
        self._time = time
        self._of_users: dict[str, list[_Seat]] = {}

    def take(self, row: JsonObject, where: Callable[[], str], report: JsonObject) -> None:
        seat = _Seat(without_addresses(row), report, self._period(row, where))
        login = _login(row)
        if not login:
            self._run.mapped()
            self._hand_over("", [seat])
        elif login in self._of_users:
            self._run.folded("the same user's seat")
            self._of_users[login].append(seat)
        else:
            self._run.mapped()
            self._of_users[login] = [seat]

    def close(self) -> None:
        """Hand over what was taken."""
        for login, seats in self._of_users.items():
            self._hand_over(login, seats)

    def _hand_over(self, login: str, seats: list[_Seat]) -> None:
        seat, *others = sorted(seats, key=lambda seat: seat.period.ended_at or "", reverse=True)
        metadata = dict(seat.told)
        if not seat.period.is_inferred:
            del metadata["created_at"]
        if others:
            metadata["other_seats"] = [other.told for other in others]
        if seat.report:
            metadata["report"] = seat.report
        self._run.used(
            build.usage(
                usage_id=usage_id(f"seat-{login or json.dumps(seat.told, sort_keys=True)}"),
                platform={"name": PLATFORM},
                kind="period",
                started_at=seat.period.started_at,
                ended_at=seat.period.ended_at,
                subject=build.subject("user", login) if login else None,
                counts={"seats": 1},
                metadata=told(metadata, seat.period),
            )
        )

    def _period(self, seat: JsonObject, where: Callable[[], str]) -> Period:
        """From the assignment to the last activity."""
        created_at, *others = (readable_timestamp(seat.get(name)) for name in _TIMES)
        started_at = created_at or next(filter(None, others), "")
        if not started_at:
            return inferred(self._time, self._run, where())
        if not created_at:
            self._run.note(INFERRED_TIMESTAMP, where(), "a seat does not say since when it is one")
        ended_at = others[-1] if others[-1] > started_at else None
        return Period(started_at, ended_at, is_inferred=not created_at)


def _login(seat: JsonObject) -> str:
    match seat.get("assignee"):
        case {"login": str(login)}:
            return login
        case {"id": int(number)}:
            return str(number)
        case _:
            return ""


def report_of(around: Any) -> JsonObject:
    """What is said around the seats."""
    return {name: value for name, value in cast("JsonObject", around).items() if name != "seats"}
