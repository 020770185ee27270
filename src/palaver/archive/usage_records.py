"""Usage records in the archive, each stored once, however many sources hold it.

A record is identified by its platform and id. Of two versions the greater wins: the one that ends later, then the
longer, then the greater text. So neither the order nor the number of imports affects the result.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson

from palaver.archive.rows import NO_COUNTS, token_counts
from palaver.model.build import JsonObject


class UsageRow(NamedTuple):
    platform: str
    usage_id: str
    kind: str
    started_at: str
    ended_at: str | None
    subject_kind: str | None
    subject_id: str | None
    model: str | None
    request_id: str | None
    api_message_id: str | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cache_write_1h_tokens: int | None
    thinking_tokens: int | None
    record: bytes


_COLUMNS = UsageRow._fields
_IS_GREATER = (
    "(coalesce(excluded.ended_at, ''), length(excluded.record), excluded.record) "
    "> (coalesce(ended_at, ''), length(record), record)"
)
_ADD = (
    f"insert into usage_record ({', '.join(_COLUMNS)}) values ({'?, ' * (len(_COLUMNS) - 1)}cast(? as text)) "  # noqa: S608 - constants, bound values
    f"on conflict (platform, usage_id) do update set "
    f"{', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[2:])} where {_IS_GREATER}"
)
_ADD_ORIGIN = (
    "insert or ignore into usage_origin (usage_record, source) "
    "select usage_key, ? from usage_record where platform = ? and usage_id = ?"
)


def usage_row(record: JsonObject) -> UsageRow:
    """Return the row to store for a valid record; runs in the process that reads records."""
    platform = record["platform"]
    subject = record.get("subject") or _NOTHING
    tokens = record.get("tokens")
    row = (
        platform["name"],
        record["usage_id"],
        record["kind"],
        record["started_at"],
        record.get("ended_at"),
        subject.get("kind"),
        subject.get("id"),
        record.get("model") or platform.get("model"),
        record.get("request_id"),
        record.get("api_message_id") or None,
        *(token_counts(tokens) if tokens else NO_COUNTS),
        orjson.dumps(record, option=orjson.OPT_SORT_KEYS),
    )
    return UsageRow._make(row)


_NOTHING: JsonObject = {}


def add_usage_records(connection: sqlite3.Connection, rows: Sequence[UsageRow], source: int | None) -> None:
    """Store records, joined with those stored already, in the caller's transaction."""
    connection.executemany(_ADD, rows)
    if source is not None:
        connection.executemany(_ADD_ORIGIN, [(source, row.platform, row.usage_id) for row in rows])


def usage_records(connection: sqlite3.Connection) -> Iterator[JsonObject]:
    """Yield every record as imported, in an order that does not depend on when it was imported."""
    query = "select cast(record as blob) from usage_record order by platform, usage_id"
    for (record,) in connection.execute(query):
        yield orjson.loads(record)
