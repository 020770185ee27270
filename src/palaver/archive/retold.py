"""What the archive was told when it took in its sources: ledgers, findings, and which conversations they hold."""

import sqlite3
from collections.abc import Iterator

import orjson

from palaver.model.finding import Finding
from palaver.model.report import SourceReport


def sources(connection: sqlite3.Connection) -> Iterator[tuple[SourceReport, list[int]]]:
    """Each source with the conversations that came from it first, then those of which no source is known any more."""
    query = (
        "select source_key, label, platform, size_bytes, conversations, messages, failure from source "
        "order by platform, label"
    )
    for key, *facts in connection.execute(query).fetchall():
        label, platform, size_bytes, conversations, messages, failure = facts
        report = SourceReport(label, platform, size_bytes, conversations, messages, failure=failure)
        _add_ledger(connection, key, report)
        _add_findings(connection, key, report)
        yield report, _conversations(connection, key)
    without = [
        key
        for (key,) in connection.execute(
            "select conversation_key from conversation where conversation_key not in (select conversation from origin) "
            "order by platform, conversation_id"
        )
    ]
    if without:
        yield SourceReport("", ""), without


def _conversations(connection: sqlite3.Connection, key: int) -> list[int]:
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
            Finding(code, severity, report.source, place["where"], place["message"], place["kept"])
            for place in orjson.loads(places)
        ]
