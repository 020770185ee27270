"""The range of time of statistics for which none is given: the last 30 days.

Where these are empty, it is the last 30 days that have anything, so that an archive of old conversations shows them.
"""

# ruff: noqa: S608 - conditions are constants, every value is bound

import sqlite3
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple

from palaver.archive.statistics import statistics
from palaver.archive.usage import RECORDS_AS_MESSAGES, Scope
from palaver.prices import Prices

DAYS = 30
RangeKind = Literal["last_days", "latest_days", "given", "all_time"]


class TimeRange(NamedTuple):
    kind: RangeKind
    """`latest_days` are the last days with anything, which are over."""
    since: str = ""
    until: str = ""


class AllTime(NamedTuple):
    """What the archive holds in all, as far as it is cheap to know."""

    conversations: int
    cost: Decimal | None
    """None if nothing has a known price, or if there are too many messages to price them all."""


def named_range(scope: Scope) -> TimeRange:
    """Return the range of the filters: given, or all time."""
    filters = scope.filters
    return TimeRange("given" if scope.is_timed() else "all_time", filters.since, filters.until)


def recent_range(connection: sqlite3.Connection, scope: Scope, now: datetime) -> TimeRange:
    """Return the last days or, if the newest message or usage record is older, the days up to its own."""
    today = (now.astimezone(UTC) if scope.is_utc else now.astimezone()).date()
    since = _start(today - timedelta(days=DAYS - 1), scope)
    newest = _newest_time(connection, scope)
    if newest is None or newest >= since:
        return TimeRange("last_days", since)
    try:
        moment = datetime.fromisoformat(newest)
        last = (moment if scope.is_utc else moment.astimezone()).date()
        return TimeRange(
            "latest_days", _start(last - timedelta(days=DAYS - 1), scope), _start(last + timedelta(days=1), scope)
        )
    except (ValueError, OverflowError, OSError):
        return TimeRange("all_time")


def in_range(scope: Scope, chosen: TimeRange) -> Scope:
    return replace(scope, filters=replace(scope.filters, since=chosen.since, until=chosen.until))


def _newest_time(connection: sqlite3.Connection, scope: Scope) -> str | None:
    conversations, values = scope.conversation_condition()
    # Without filters, `message_by_body` covers the query: no conversation need be read.
    joined = (
        ""
        if conversations == "true"
        else f"join conversation c on c.conversation_key = m.conversation and {conversations}"
    )
    (of_messages,) = connection.execute(f"select max(m.timestamp) from message m {joined}", values).fetchone()
    # A range with an end excludes records without a time of their own.
    records, record_values = replace(scope, filters=replace(scope.filters, until="9999")).record_condition()
    (of_records,) = connection.execute(
        f"select max(m.timestamp) from {RECORDS_AS_MESSAGES} where m.kind = 'request' and {records}", record_values
    ).fetchone()
    return max(filter(None, (of_messages, of_records)), default=None)


def _start(day: date, scope: Scope) -> str:
    """Return the time at which a day begins, in the zone that days are counted in."""
    midnight = datetime.combine(day, time(), UTC) if scope.is_utc else datetime.combine(day, time()).astimezone()
    return f"{midnight.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z"


def all_time(connection: sqlite3.Connection, scope: Scope, prices: Prices) -> AllTime:
    """Count the conversations, whatever their time; add their cost unless that takes long."""
    (last_message,) = connection.execute("select coalesce(max(message_key), 0) from message").fetchone()
    if last_message <= _CHEAP_MESSAGES:
        total = statistics(connection, in_range(scope, TimeRange("all_time")), "platform", prices).total
        return AllTime(len(total.conversations), total.cost)
    conversations, values = scope.conversation_condition()
    (count,) = connection.execute(f"select count(*) from conversation c where {conversations}", values).fetchone()
    return AllTime(count, None)


_CHEAP_MESSAGES = 20_000
"""Up to so many messages, pricing all of them takes about a tenth of a second."""
