"""Retry the quarantine: read its sources again from the beginning, with the current version of palaver.

An entry leaves the quarantine only when its source was read to the end and the entry was not quarantined again. If the
source is missing, unreadable or truncated, the entry stays.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.findings import FindingFilters, QuarantineEntry, quarantine_entries
from palaver.model.report import Report
from palaver.workflows.archive_import import import_into_archive
from palaver.workflows.plan import ImportTask, Planner, path_of_label

Outcome = Literal["read", "refused", "kept"]


class RetriedEntry(NamedTuple):
    entry: QuarantineEntry
    outcome: Outcome
    reason: str
    """Why the entry stays; empty unless the outcome is `kept`."""


@dataclass(slots=True)
class RetryResult:
    """The outcome of every entry of the sources that were read again, and the entries that are new."""

    retried: list[RetriedEntry] = field(default_factory=list[RetriedEntry])
    new: list[QuarantineEntry] = field(default_factory=list[QuarantineEntry])
    report: Report = field(default_factory=Report)


class _SourceName(NamedTuple):
    platform: str
    label: str


def retry(
    archive: Path, filters: FindingFilters, *, jobs: int = 1, advance: Callable[[int], None] = lambda _: None
) -> RetryResult:
    """Read again the sources of the entries that match the filters."""
    options, before = _options_and_entries(archive, filters)
    planner = Planner(archive, {})
    tasks: list[ImportTask] = []
    unreadable: dict[_SourceName, str] = {}
    for name, words in options.items():
        task = _task(planner, name, words)
        if isinstance(task, str):
            unreadable[name] = task
        else:
            tasks.append(task)
    result = RetryResult()
    if tasks:
        import_into_archive(tasks, result.report, archive, jobs=jobs, advance=advance)
    failed = {
        _SourceName(source.platform, source.source): source.failure
        for source in result.report.sources
        if source.failure
    }
    with closing(open_to_read(archive)) as connection:
        after = {
            entry.number: entry
            for entry in quarantine_entries(connection, FindingFilters())
            if _source_name(entry) in options
        }
    for entry in before:
        name = _source_name(entry)
        reason = unreadable.get(name) or failed.get(name, "")
        outcome: Outcome = "kept" if reason else "refused" if entry.number in after else "read"
        result.retried.append(RetriedEntry(entry, outcome, reason))
    known = {entry.number for entry in before}
    result.new = [entry for number, entry in after.items() if number not in known]
    return result


def _source_name(entry: QuarantineEntry) -> _SourceName:
    return _SourceName(entry.platform, entry.source)


def _options_and_entries(
    archive: Path, filters: FindingFilters
) -> tuple[dict[_SourceName, dict[str, str]], list[QuarantineEntry]]:
    """Return the options of every source with a matching entry, and all quarantined entries of these sources."""
    with closing(open_to_read(archive)) as connection:
        names = dict.fromkeys(map(_source_name, quarantine_entries(connection, filters)))
        query = "select options from source where platform = ? and label = ?"
        options = {name: orjson.loads(connection.execute(query, name).fetchone()[0]) for name in names}
        return options, [
            entry for entry in quarantine_entries(connection, FindingFilters()) if _source_name(entry) in options
        ]


def _task(planner: Planner, name: _SourceName, options: dict[str, str]) -> ImportTask | str:
    """Return the task that reads a source again, or the reason why it cannot be read."""
    path = path_of_label(name.label)
    if path is None:
        return "its source no longer exists"
    plan = planner.to_read_again({name.platform: options}).plan([path], name.platform)
    for task in plan.tasks:
        if task.description.label == name.label:
            return task
    return plan.report.refused[0] if plan.report.refused else "its source is not recognized any more"
