"""Another try at what was set aside: its sources are read again, from their beginnings, by this palaver.

An entry leaves the quarantine only when its source was read to its end and did not refuse it again. Where the source
is gone, cannot be read, or breaks off, the entry stays.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.noticed import Entry, Sought, entries
from palaver.model.report import Report
from palaver.workflows.archive_import import keep
from palaver.workflows.plan import ImportTask, Planner

Outcome = Literal["read", "refused", "kept"]


class Retried(NamedTuple):
    entry: Entry
    outcome: Outcome
    reason: str
    """Why it is kept."""


@dataclass(slots=True)
class Retrial:
    """What became of every entry of the sources that were tried, and what they refuse now for the first time."""

    retried: list[Retried] = field(default_factory=list[Retried])
    new: list[Entry] = field(default_factory=list[Entry])
    report: Report = field(default_factory=Report)


class _SourceName(NamedTuple):
    platform: str
    label: str


def retry(archive: Path, sought: Sought, *, jobs: int = 1, advance: Callable[[int], None] = lambda _: None) -> Retrial:
    """Read the sources of what is sought again."""
    options, before = _of_sources(archive, sought)
    tasks: list[ImportTask] = []
    kept: dict[_SourceName, str] = {}
    for name, words in options.items():
        task = _task(archive, name, words)
        if isinstance(task, str):
            kept[name] = task
        else:
            tasks.append(task)
    retrial = Retrial()
    if tasks:
        keep(tasks, retrial.report, archive, jobs=jobs, advance=advance)
    failed = {_SourceName(told.platform, told.source): told.failure for told in retrial.report.sources if told.failure}
    with closing(open_to_read(archive)) as connection:
        after = {entry.number: entry for entry in entries(connection, Sought()) if _source(entry) in options}
    for entry in before:
        name = _source(entry)
        reason = kept.get(name) or failed.get(name, "")
        outcome: Outcome = "kept" if reason else "refused" if entry.number in after else "read"
        retrial.retried.append(Retried(entry, outcome, reason))
    known = {entry.number for entry in before}
    retrial.new = [entry for number, entry in after.items() if number not in known]
    return retrial


def _source(entry: Entry) -> _SourceName:
    return _SourceName(entry.platform, entry.source)


def _of_sources(archive: Path, sought: Sought) -> tuple[dict[_SourceName, dict[str, str]], list[Entry]]:
    """The sources of what is sought with the options they were read with, and everything set aside from them."""
    with closing(open_to_read(archive)) as connection:
        names = dict.fromkeys(map(_source, entries(connection, sought)))
        query = "select options from source where platform = ? and label = ?"
        options = {name: orjson.loads(connection.execute(query, name).fetchone()[0]) for name in names}
        return options, [entry for entry in entries(connection, Sought()) if _source(entry) in options]


def _task(archive: Path, name: _SourceName, options: dict[str, str]) -> ImportTask | str:
    """The reading of one source, or why there can be none."""
    path = _path(name.label)
    if path is None:
        return "its source has vanished"
    plan = Planner(archive, {name.platform: options}, is_again=True).plan([path], name.platform)
    for task in plan.tasks:
        if task.facts.label == name.label:
            return task
    return plan.report.refused[0] if plan.report.refused else "its source is no longer what it was"


def _path(label: str) -> Path | None:
    """The file or folder on disk; a member of a ZIP is named behind a `!`, which may stand in any name."""
    parts = label.split("!")
    for length in range(len(parts), 0, -1):
        path = Path("!".join(parts[:length]))
        if path.exists():
            return path
    return None
