"""Reports on sources as stored when they were imported: ledgers, findings, and their conversations."""

import sqlite3
from collections.abc import Iterator

import orjson

from palaver.model.finding import Finding
from palaver.model.report import SourceReport


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
