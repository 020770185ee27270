"""What the archive knows of its sources: how far each was read, what became of its records, what was set aside."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from palaver.archive.withheld import holds_forgotten, is_all_forgotten
from palaver.model.finding import PLACES_KEPT
from palaver.model.ledger import Ledger
from palaver.model.report import SourceReport
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.inventory import spelled


class CursorRow(NamedTuple):
    """Where reading of one file of a source ended; `state` is the importer's own."""

    file: str
    read_bytes: int
    tail_hash: str
    state: bytes


class FileRow(NamedTuple):
    path: str
    size_bytes: int
    modified_ns: int


class SetAside(NamedTuple):
    place: str
    code: str
    message: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """A source as it was found, before it is read."""

    platform: str
    label: str
    form: str = ""
    reason: str = ""
    members: tuple[str, ...] = ()
    options: str = "{}"
    files: tuple[FileRow, ...] = ()


@dataclass(slots=True)
class Reading:
    """How reading a source ended."""

    report: SourceReport
    cursors: list[CursorRow] = field(default_factory=list[CursorRow])
    is_continued: bool = False
    """Whether it went on from where the last reading ended; what it tells is added to what that one told."""


def now() -> str:
    return normalize_timestamp(datetime.now(UTC))


def source_key(connection: sqlite3.Connection, facts: SourceFacts) -> int:
    """The source's number; one that is new gets its row, which says that it was not read to its end yet."""
    identity = (facts.platform, facts.label)
    query = "select source_key from source where platform = ? and label = ?"
    if found := connection.execute(query, identity).fetchone():
        return found[0]
    cursor = connection.execute(
        "insert into source (platform, label, form, reason, members, options, size_bytes, conversations, messages, "
        "failure, first_imported_at, imported_at, palaver_version) "
        "values (?, ?, '', '', '[]', '{}', 0, 0, 0, '', ?, '', '')",
        (*identity, now()),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def finish_source(connection: sqlite3.Connection, key: int, facts: SourceFacts, reading: Reading) -> None:
    """Remember a source that was read, together with its last conversations, in the caller's transaction."""
    report = reading.report
    if not reading.is_continued:
        for table in ("ledger", "finding", "cursor"):
            connection.execute(f"delete from {table} where source = ?", (key,))  # noqa: S608 - three names of ours
    connection.execute(
        "update source set form = ?, reason = ?, members = ?, options = ?, size_bytes = ?, failure = ?, "
        "conversations = iif(?, max(conversations, ?), ?), messages = iif(?, messages, 0) + ?, imported_at = ?, "
        "palaver_version = ? where source_key = ?",
        (
            *(facts.form, facts.reason, json.dumps(facts.members), facts.options, report.size_bytes),
            *(spelled(report.failure), reading.is_continued, report.conversations, report.conversations),
            *(reading.is_continued, report.messages, now(), _palaver_version(), key),
        ),
    )
    _add_ledger(connection, key, report.ledger)
    _add_findings(connection, key, report)
    cursors = [] if holds_forgotten(connection, key) else reading.cursors
    connection.executemany(
        "insert or replace into cursor values (?, ?, ?, ?, cast(? as text))",
        [(key, spelled(cursor.file), *cursor[1:]) for cursor in cursors],
    )
    connection.execute("delete from source_file where source = ?", (key,))
    if not report.failure:
        connection.executemany(
            "insert into source_file (source, path, size_bytes, modified_ns) values (?, ?, ?, ?)",
            [(key, *file) for file in facts.files],
        )


@cache
def _palaver_version() -> str:
    from importlib import metadata

    return metadata.version("palaver")


def set_aside(connection: sqlite3.Connection, key: int, entry: SetAside) -> None:
    if is_all_forgotten(connection, key):
        return
    connection.execute(
        "insert into quarantine (source, place, code, message, raw, set_aside_at) values (?, ?, ?, ?, ?, ?)",
        (key, spelled(entry.place), entry.code, spelled(entry.message), entry.raw, now()),
    )


def last_set_aside(connection: sqlite3.Connection) -> int:
    return connection.execute("select coalesce(max(quarantine_key), 0) from quarantine").fetchone()[0]


def settle_quarantine(connection: sqlite3.Connection, key: int, up_to: int, *, is_whole: bool) -> None:
    """A source that was read from its beginning has told anew what is wrong with it.

    What was set aside again keeps its number, wherever it stands now. What was not is read now, unless reading broke
    off before its end.
    """
    earlier: dict[bytes, dict[str, list[int]]] = {}
    again: dict[bytes, list[tuple[int, str]]] = {}
    query = "select quarantine_key, place, code, raw from quarantine where source = ? order by quarantine_key desc"
    for number, place, code, raw in connection.execute(query, (key,)):
        content = blake2b(f"{code}\n".encode() + raw, digest_size=16).digest()
        if number > up_to:
            again.setdefault(content, []).append((number, place))
        else:
            earlier.setdefault(content, {}).setdefault(place, []).append(number)
    gone: list[int] = []
    for content, entries in again.items():
        known = earlier.get(content, {})
        moved = [(number, place) for number, place in entries if not known.get(place) or not known[place].pop()]
        left = [number for numbers in known.values() for number in numbers]
        places = [(place, number) for (_, place), number in zip(moved, left, strict=False)]
        connection.executemany("update quarantine set place = ? where quarantine_key = ?", places)
        gone += {number for number, _ in entries} - {number for number, _ in moved[len(left) :]}
        earlier[content] = {"": left[len(moved) :]}
    if is_whole:
        gone += [number for known in earlier.values() for numbers in known.values() for number in numbers]
    connection.executemany("delete from quarantine where quarantine_key = ?", [(number,) for number in gone])


def cursors_of(connection: sqlite3.Connection, key: int) -> list[CursorRow]:
    query = "select file, read_bytes, tail_hash, cast(state as blob) from cursor where source = ?"
    return [CursorRow(*row) for row in connection.execute(query, (key,))]


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
    is_silent = is_all_forgotten(connection, key)
    places: dict[str, list[Any]] = {}
    severities: dict[str, str] = {}
    for finding in report.findings.first:
        told = {"where": spelled(finding.where), "message": spelled(finding.message), "kept": finding.kept}
        places.setdefault(finding.code, []).append(told)
        severities[finding.code] = finding.severity
    for code, count in report.findings.counts.items():
        query = "select findings, places from finding where source = ? and code = ?"
        before = connection.execute(query, (key, code)).fetchone() or (0, "[]")
        kept = [] if is_silent else [*orjson.loads(before[1]), *places[code]][:PLACES_KEPT]
        text = orjson.dumps(kept).decode()
        connection.execute(
            "insert or replace into finding values (?, ?, ?, ?, ?)",
            (key, code, severities[code], before[0] + count, text),
        )
