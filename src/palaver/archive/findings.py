"""Queries for the findings, quarantined records and reports of sources, as stored when they were imported."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from palaver.errors import ArchiveError, OptionError
from palaver.model.finding import Finding
from palaver.model.report import SourceReport

SEVERITIES = ("error", "warning", "note")


_IS_SOURCE = (
    "(label = ?"
    " or exists (select 1 from (select ? as above) where substr(label, 1, length(above)) = above"
    " and substr(label, length(above) + 1, 1) in ('/', '\\', '!'))"
    " or exists (select 1 from (select ? as ending) where substr(label, -length(ending)) = ending"
    " and substr(label, -length(ending) - 1, 1) in ('/', '\\', '!')))"
)


class FindingLocation(NamedTuple):
    where: str
    message: str
    kept: bool


class SourceFindings(NamedTuple):
    """Findings with one code in one source; of frequent ones, only the first locations are stored."""

    source: str
    platform: str
    findings: int
    places: list[FindingLocation]


@dataclass(slots=True)
class FindingGroup:
    """All findings with one code."""

    code: str
    severity: str
    findings: int = 0
    sources: list[SourceFindings] = field(default_factory=list[SourceFindings])


class QuarantineEntry(NamedTuple):
    """A quarantined record without its bytes: its location in its source, and the reason."""

    number: int
    source: str
    platform: str
    where: str
    code: str
    message: str
    set_aside_at: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FindingFilters:
    """Conditions on findings and quarantined records; empty fields match all."""

    codes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Paths, folders that contain them, or the last parts of paths."""
    platforms: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()

    def where(self) -> tuple[str, list[Any]]:
        """Return an SQL condition on `source` joined with `finding` or `quarantine`, with its values."""
        if unknown := [word for word in self.severities if word not in SEVERITIES]:
            raise OptionError(f"--severity {unknown[0]}: choose {', '.join(SEVERITIES)}")
        conditions: list[str] = []
        values: list[Any] = []
        for column, words in (("code", self.codes), ("platform", self.platforms), ("severity", self.severities)):
            if words:
                conditions.append(f"{column} in ({', '.join('?' * len(words))})")
                values += words
        if self.sources:
            conditions.append("(" + " or ".join([_IS_SOURCE] * len(self.sources)) + ")")
            values += [word for source in self.sources for word in [source.rstrip("/\\") or source] * 3]
        return " and ".join(conditions) or "true", values


_FINDING = "select code, severity, label, platform, findings, places from finding join source on source = source_key"


def finding_groups(connection: sqlite3.Connection, filters: FindingFilters) -> list[FindingGroup]:
    """Return findings by code, ordered by severity, then by frequency."""
    condition, values = filters.where()
    groups: dict[str, FindingGroup] = {}
    for code, severity, label, platform, count, places in connection.execute(
        f"{_FINDING} where {condition} order by findings desc, label", values
    ):
        group = groups.setdefault(code, FindingGroup(code, severity))
        if SEVERITIES.index(severity) < SEVERITIES.index(group.severity):
            group.severity = severity
        group.findings += count
        first = [FindingLocation(item["where"], item["message"], item["kept"]) for item in orjson.loads(places)]
        group.sources.append(SourceFindings(label, platform, count, first))
    return sorted(groups.values(), key=lambda group: (SEVERITIES.index(group.severity), -group.findings, group.code))


_ENTRY = (
    "select quarantine_key, label, platform, place, code, message, set_aside_at, length(raw) "
    "from quarantine join source on source = source_key"
)


def quarantine_entries(connection: sqlite3.Connection, filters: FindingFilters) -> Iterator[QuarantineEntry]:
    """Yield the quarantined records, source by source."""
    condition, values = filters.where()
    for row in connection.execute(f"{_ENTRY} where {condition} order by label, quarantine_key", values):
        yield QuarantineEntry(*row)


def quarantine_entry(connection: sqlite3.Connection, number: int) -> tuple[QuarantineEntry, bytes]:
    row = connection.execute(f"{_ENTRY} where quarantine_key = ?", (number,)).fetchone()
    if row is None:
        raise ArchiveError(f"no quarantined record has the number {number}: see `palaver quarantine list`")
    (raw,) = connection.execute("select raw from quarantine where quarantine_key = ?", (number,)).fetchone()
    return QuarantineEntry(*row), raw


def reports_by_source(connection: sqlite3.Connection) -> Iterator[tuple[SourceReport, list[int]]]:
    """Yield the report of each source with the keys of the conversations it was the first to hold.

    Conversations without a known source come last, under an empty report.
    """
    query = (
        "select source_key, label, platform, size_bytes, conversations, messages, failure from source "
        "order by platform, label"
    )
    for row in connection.execute(query).fetchall():
        key, label, platform, size_bytes, conversations, messages, failure = row
        report = SourceReport(label, platform, size_bytes, conversations, messages, failure=failure)
        _add_ledger(connection, key, report)
        _add_findings(connection, key, report)
        yield report, _first_imported_keys(connection, key)
    without = [
        key
        for (key,) in connection.execute(
            "select conversation_key from conversation where conversation_key not in (select conversation from origin) "
            "order by platform, conversation_id"
        )
    ]
    if without:
        yield SourceReport("", ""), without


def _first_imported_keys(connection: sqlite3.Connection, key: int) -> list[int]:
    query = (
        "select conversation from origin o where source = ? and not exists "
        "(select 1 from origin e where e.conversation = o.conversation and e.source < o.source) order by conversation"
    )
    return [conversation for (conversation,) in connection.execute(query, (key,))]


def _add_ledger(connection: sqlite3.Connection, key: int, report: SourceReport) -> None:
    query = "select disposition, rule, records from ledger where source = ?"
    for disposition, rule, records in connection.execute(query, (key,)):
        match disposition:
            case "read":
                report.ledger.read = records
            case "mapped":
                report.ledger.mapped = records
            case _:
                getattr(report.ledger, disposition)[rule] = records


def _add_findings(connection: sqlite3.Connection, key: int, report: SourceReport) -> None:
    query = "select code, severity, findings, places from finding where source = ? order by code"
    for code, severity, count, places in connection.execute(query, (key,)):
        report.findings.counts[code] = count
        report.findings.first += [
            Finding(code, severity, report.source, location["where"], location["message"], location["kept"])
            for location in orjson.loads(places)
        ]
