"""What the archive stores about each source: how far it was read, its ledger, findings and quarantine.

The content of forgotten conversations must not come back in the findings or the quarantine of a source that still holds
them: such sources are stored without either.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from palaver.model.finding import MAX_STORED_PER_CODE
from palaver.model.ledger import Ledger
from palaver.model.report import SourceReport
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.inventory import storable_text


def suppress_source(connection: sqlite3.Connection, platform: str, conversation_id: str, source: int) -> None:
    """Record that a source holds a forgotten conversation, so that undoing the deletion can find it."""
    connection.execute("insert or ignore into withheld values (?, ?, ?)", (platform, conversation_id, source))


def has_forgotten(connection: sqlite3.Connection, source: int) -> bool:
    """Return whether a source holds a forgotten conversation; its cursors, which may hold text, are then not stored."""
    return connection.execute("select 1 from withheld where source = ? limit 1", (source,)).fetchone() is not None


def is_fully_forgotten(connection: sqlite3.Connection, source: int) -> bool:
    """Return whether all conversations of a source are forgotten."""
    origin = connection.execute("select 1 from origin where source = ? limit 1", (source,)).fetchone()
    return origin is None and has_forgotten(connection, source)


def clear_source_traces(connection: sqlite3.Connection, platform: str, conversation_id: str) -> None:
    """Delete what the sources of a conversation just forgotten left in other tables."""
    query = "select source from withheld where platform = ? and conversation_id = ?"
    for (source,) in connection.execute(query, (platform, conversation_id)).fetchall():
        connection.execute("delete from cursor where source = ?", (source,))
        if is_fully_forgotten(connection, source):
            connection.execute("delete from quarantine where source = ?", (source,))
            connection.execute("update finding set places = '[]' where source = ?", (source,))


class CursorRow(NamedTuple):
    """Where reading a file of a source ended; `state` belongs to the importer."""

    file: str
    read_bytes: int
    tail_hash: str
    state: bytes


class FileRow(NamedTuple):
    path: str
    size_bytes: int
    modified_ns: int


class QuarantinedRecord(NamedTuple):
    location: str
    code: str
    message: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """A source as found, before it is read."""

    platform: str
    label: str
    form: str = ""
    reason: str = ""
    members: tuple[str, ...] = ()
    options: str = "{}"
    files: tuple[FileRow, ...] = ()
    revision: int = 0
    """The revision of the importer that reads it."""


@dataclass(slots=True)
class SourceOutcome:
    """The result of reading a source."""

    report: SourceReport
    cursors: list[CursorRow] = field(default_factory=list[CursorRow])
    is_continued: bool = False
    """Whether reading continued where the previous one ended; its report is then added to the previous one."""


def timestamp_now() -> str:
    return normalize_timestamp(datetime.now(UTC))


def ensure_source(connection: sqlite3.Connection, source: SourceDescription) -> int:
    """Return the key of a source; a new one is inserted, marked as not yet read to its end."""
    identity = (source.platform, source.label)
    query = "select source_key from source where platform = ? and label = ?"
    if found := connection.execute(query, identity).fetchone():
        return found[0]
    cursor = connection.execute(
        "insert into source (platform, label, form, reason, members, options, size_bytes, conversations, messages, "
        "failure, first_imported_at, imported_at, palaver_version, revision) "
        "values (?, ?, '', '', '[]', '{}', 0, 0, 0, '', ?, '', '', ?)",
        (*identity, timestamp_now(), source.revision),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def record_source(connection: sqlite3.Connection, key: int, source: SourceDescription, outcome: SourceOutcome) -> None:
    """Store the result of reading a source, in the transaction that stores its last conversations."""
    report = outcome.report
    if not outcome.is_continued:
        for table in ("ledger", "finding", "cursor"):
            connection.execute(f"delete from {table} where source = ?", (key,))  # noqa: S608 - constants, bound values
    connection.execute(
        "update source set form = ?, reason = ?, members = ?, options = ?, size_bytes = ?, failure = ?, "
        "conversations = iif(?, max(conversations, ?), ?), messages = iif(?, messages, 0) + ?, imported_at = ?, "
        "palaver_version = ?, revision = ? where source_key = ?",
        (
            *(source.form, source.reason, json.dumps(source.members), source.options, report.size_bytes),
            *(storable_text(report.failure), outcome.is_continued, report.conversations, report.conversations),
            *(outcome.is_continued, report.messages, timestamp_now(), _palaver_version(), source.revision, key),
        ),
    )
    _add_ledger(connection, key, report.ledger)
    _add_findings(connection, key, report)
    cursors = [] if has_forgotten(connection, key) else outcome.cursors
    connection.executemany(
        "insert or replace into cursor values (?, ?, ?, ?, cast(? as text))",
        [(key, storable_text(cursor.file), *cursor[1:]) for cursor in cursors],
    )
    connection.execute("delete from source_file where source = ?", (key,))
    connection.executemany(
        # A file that belongs to a source may be unclaimed for a reason, such as the manifest of a session.
        "delete from unclaimed_file where path = ? and (reason = '' or path = ?)",
        [(file.path, source.label) for file in source.files],
    )
    if not report.failure:
        connection.executemany(
            "insert into source_file (source, path, size_bytes, modified_ns) values (?, ?, ?, ?)",
            [(key, *file) for file in source.files],
        )


@cache
def _palaver_version() -> str:
    from importlib import metadata

    return metadata.version("palaver")


def add_to_quarantine(connection: sqlite3.Connection, key: int, entry: QuarantinedRecord, above: int = 0) -> None:
    """Quarantine a record of a source under a number greater than `above`.

    SQLite reuses the greatest number once its row is deleted, and the new record would pass for an earlier one.
    """
    if is_fully_forgotten(connection, key):
        return
    connection.execute(
        "insert into quarantine (quarantine_key, source, place, code, message, raw, set_aside_at) values "
        "((select max(?, coalesce(max(quarantine_key), 0)) + 1 from quarantine), ?, ?, ?, ?, ?, ?)",
        (
            *(above, key, storable_text(entry.location), entry.code, storable_text(entry.message), entry.raw),
            timestamp_now(),
        ),
    )


def last_quarantine_key(connection: sqlite3.Connection) -> int:
    return connection.execute("select coalesce(max(quarantine_key), 0) from quarantine").fetchone()[0]


def reconcile_quarantine(connection: sqlite3.Connection, key: int, up_to: int, *, is_whole: bool) -> None:
    """Reconcile the quarantine of a source that was read again from its beginning.

    Records quarantined again keep their number, even if their location changed. Other earlier records can now be read,
    and are removed, unless reading stopped before the end of the source. Entries up to `up_to` are the earlier ones.
    """
    earlier: dict[bytes, dict[str, list[int]]] = {}
    again: dict[bytes, list[tuple[int, str]]] = {}
    query = "select quarantine_key, place, code, raw from quarantine where source = ? order by quarantine_key desc"
    for number, location, code, raw in connection.execute(query, (key,)):
        content = blake2b(f"{code}\n".encode() + raw, digest_size=16).digest()
        if number > up_to:
            again.setdefault(content, []).append((number, location))
        else:
            earlier.setdefault(content, {}).setdefault(location, []).append(number)
    gone: list[int] = []
    for content, entries in again.items():
        known = earlier.get(content, {})
        moved = [
            (number, location) for number, location in entries if not known.get(location) or not known[location].pop()
        ]
        left = [number for numbers in known.values() for number in numbers]
        changed = [(location, number) for (_, location), number in zip(moved, left, strict=False)]
        connection.executemany("update quarantine set place = ? where quarantine_key = ?", changed)
        gone += {number for number, _ in entries} - {number for number, _ in moved[len(left) :]}
        earlier[content] = {"": left[len(moved) :]}
    if is_whole:
        gone += [number for known in earlier.values() for numbers in known.values() for number in numbers]
    connection.executemany("delete from quarantine where quarantine_key = ?", [(number,) for number in gone])


def read_cursors(connection: sqlite3.Connection, key: int) -> list[CursorRow]:
    query = "select file, read_bytes, tail_hash, cast(state as blob) from cursor where source = ?"
    return [CursorRow(*row) for row in connection.execute(query, (key,))]


def read_files(connection: sqlite3.Connection, key: int) -> list[FileRow]:
    """Return the files of a source as they were when it was read."""
    query = "select path, size_bytes, modified_ns from source_file where source = ?"
    return [FileRow(*row) for row in connection.execute(query, (key,))]


def _add_ledger(connection: sqlite3.Connection, key: int, ledger: Ledger) -> None:
    rows = [("read", "", ledger.read), ("mapped", "", ledger.mapped)]
    counters: Mapping[str, Mapping[str, int]] = {
        "folded": ledger.folded,
        "skipped": ledger.skipped,
        "quarantined": ledger.quarantined,
    }
    rows += [(word, rule, count) for word, counter in counters.items() for rule, count in counter.items()]
    connection.executemany(
        "insert into ledger values (?, ?, ?, ?) on conflict do update set records = records + excluded.records",
        [(key, *row) for row in rows],
    )


def _add_findings(connection: sqlite3.Connection, key: int, report: SourceReport) -> None:
    omits_locations = is_fully_forgotten(connection, key)
    locations: dict[str, list[Any]] = {}
    severities: dict[str, str] = {}
    for finding in report.findings.first:
        location = {
            "where": storable_text(finding.where),
            "message": storable_text(finding.message),
            "kept": finding.kept,
        }
        locations.setdefault(finding.code, []).append(location)
        severities[finding.code] = finding.severity
    for code, count in report.findings.counts.items():
        query = "select findings, places from finding where source = ? and code = ?"
        before = connection.execute(query, (key, code)).fetchone() or (0, "[]")
        first = [] if omits_locations else [*orjson.loads(before[1]), *locations[code]][:MAX_STORED_PER_CODE]
        text = orjson.dumps(first).decode()
        connection.execute(
            "insert or replace into finding values (?, ?, ?, ?, ?)",
            (key, code, severities[code], before[0] + count, text),
        )
