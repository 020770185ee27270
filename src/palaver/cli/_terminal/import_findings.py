"""Tables of an import: its findings by code, and the sources that could not be read to their end."""

import os
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from palaver.cli._terminal.paths import PathLine
from palaver.cli._terminal.words import escaped_line
from palaver.importers import load_all_modules
from palaver.model.finding import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from palaver.model.finding import Finding
    from palaver.model.report import Report, SourceReport

_FAILURES_SHOWN = 20
_SEVERITIES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def finding_table(report: "Report") -> Table | None:
    """Return a table of the findings by code, the gravest first; None without any."""
    counts: Counter[str] = Counter()
    first: dict[str, Finding] = {}
    for source in report.sources:
        counts.update(source.findings.counts)
        for finding in source.findings.first:
            first.setdefault(finding.code, finding)
    if not first:
        return None
    if not first.keys() <= KINDS.keys():  # they come from other processes, where their kinds are declared
        for platform in {source.platform for source in report.sources}:
            load_all_modules(platform)
    table = Table.grid(padding=(0, 2, 0, 0))
    severities = list(_SEVERITIES)
    for code in sorted(first, key=lambda code: (severities.index(first[code].severity), -counts[code], code)):
        finding = first[code]
        table.add_row(
            Text(finding.severity, _SEVERITIES[finding.severity]),
            Text(f"{counts[code]:,}", _style(finding), justify="right"),
            Group(*_finding_lines(finding)),
        )
    return table


def _finding_lines(finding: "Finding") -> "Iterator[RenderableType]":
    """Yield the meaning of a finding's code, and for errors and warnings the message and the place of the first."""
    meaning = KINDS[finding.code].meaning if finding.code in KINDS else finding.message
    yield Text.assemble((finding.code, f"bold {_style(finding)}"), (f": {escaped_line(meaning)}", _style(finding)))
    if finding.severity == "note":
        return
    if finding.message != meaning:
        yield Text(escaped_line(finding.message), "dim")
    yield PathLine(finding.source, after=f", {escaped_line(finding.where)}" if finding.where else "")


def _style(finding: "Finding") -> str:
    return "dim" if finding.severity == "note" else ""


def failure_table(failed: "list[SourceReport]") -> Table:
    """Return a table of the sources that could not be read to their end, and why."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for source in failed[:_FAILURES_SHOWN]:
        text = Text(escaped_line(source.failure), "red")
        if source.traceback and os.environ.get("PALAVER_DEBUG"):
            text.append(f"\n{source.traceback.rstrip()}", "dim")
        table.add_row(Text("failed", "bold red"), Group(text, PathLine(source.source)))
    if len(failed) > _FAILURES_SHOWN:
        table.add_row("", Text(f"and {len(failed) - _FAILURES_SHOWN:,} more; --json lists them all", "dim"))
    return table
