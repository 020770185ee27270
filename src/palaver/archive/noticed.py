"""What was noticed when sources were read, and what was set aside."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from palaver.errors import ArchiveError, OptionError

SEVERITIES = ("error", "warning", "note")


_IS_SOURCE = (
    "(label = ?"
    " or exists (select 1 from (select ? as above) where substr(label, 1, length(above)) = above"
    " and substr(label, length(above) + 1, 1) in ('/', '\\', '!'))"
    " or exists (select 1 from (select ? as ending) where substr(label, -length(ending)) = ending"
    " and substr(label, -length(ending) - 1, 1) in ('/', '\\', '!')))"
)


class Place(NamedTuple):
    where: str
    message: str
    kept: bool


class InSource(NamedTuple):
    """Findings of one code in one source; of frequent ones only the first places are known."""

    source: str
    platform: str
    findings: int
    places: list[Place]


@dataclass(slots=True)
class Noticed:
    """All findings of one code."""

    code: str
    severity: str
    findings: int = 0
    sources: list[InSource] = field(default_factory=list[InSource])


class Entry(NamedTuple):
    """Bytes that were set aside; where they lie in their source, and why."""

    number: int
    source: str
    platform: str
    where: str
    code: str
    message: str
    set_aside_at: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Sought:
    """Empty fields let everything through."""

    codes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """A path, a folder above it, or the end of its name."""
    platforms: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()

    def where(self) -> tuple[str, list[Any]]:
        """A condition on `source` joined with findings or with what was set aside."""
        if unknown := [word for word in self.severities if word not in SEVERITIES]:
            raise OptionError(f"--severity {unknown[0]}: a finding is one of: {', '.join(SEVERITIES)}")
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


def findings(connection: sqlite3.Connection, sought: Sought) -> list[Noticed]:
    """By code, the gravest and then the most frequent first."""
    condition, values = sought.where()
    noticed: dict[str, Noticed] = {}
    for code, severity, label, platform, count, places in connection.execute(
        f"{_FINDING} where {condition} order by findings desc, label", values
    ):
        one = noticed.setdefault(code, Noticed(code, severity))
        if SEVERITIES.index(severity) < SEVERITIES.index(one.severity):
            one.severity = severity
        one.findings += count
        first = [Place(place["where"], place["message"], place["kept"]) for place in orjson.loads(places)]
        one.sources.append(InSource(label, platform, count, first))
    return sorted(noticed.values(), key=lambda one: (SEVERITIES.index(one.severity), -one.findings, one.code))


_ENTRY = (
    "select quarantine_key, label, platform, place, code, message, set_aside_at, length(raw) "
    "from quarantine join source on source = source_key"
)


def entries(connection: sqlite3.Connection, sought: Sought) -> Iterator[Entry]:
    """What was set aside, source by source."""
    condition, values = sought.where()
    for row in connection.execute(f"{_ENTRY} where {condition} order by label, quarantine_key", values):
        yield Entry(*row)


def entry(connection: sqlite3.Connection, number: int) -> tuple[Entry, bytes]:
    row = connection.execute(f"{_ENTRY} where quarantine_key = ?", (number,)).fetchone()
    if row is None:
        raise ArchiveError(f"nothing was set aside under the number {number}: `palaver quarantine list` shows them")
    (raw,) = connection.execute("select raw from quarantine where quarantine_key = ?", (number,)).fetchone()
    return Entry(*row), raw
