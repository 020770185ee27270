"""The summary of an import in a terminal: numbers, ledger, findings, failures, unclaimed files, verdict."""

import os
from collections import Counter
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from palaver.cli._terminal.verdict import import_verdict
from palaver.cli._terminal.words import (
    counted,
    display_path,
    duration,
    escaped_line,
    rate,
    size,
    tallied,
    usage_records,
)
from palaver.importers import importer, load_all_modules
from palaver.model.finding import KINDS
from palaver.model.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from palaver.cli._import_run import Effort, ResultMessages
    from palaver.model.finding import Finding
    from palaver.model.report import Report, SourceReport

_UNCLAIMED_SHOWN = 5
_FAILURES_SHOWN = 20
_SEVERITIES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def summary(report: "Report", effort: "Effort", messages: "ResultMessages") -> "Iterator[RenderableType]":
    """Yield the parts of the summary, `messages` near its end."""
    if report.sources:
        yield _numbers(report, effort)
        yield _ledger(report)
    if report.archive is not None:
        yield _archived(report, report.archive)
    if findings := _findings(report):
        yield _apart(findings)
    if failed := [source for source in report.sources if source.failure]:
        yield _apart(_failures(failed))
    if report.unclaimed:
        yield _apart(_unclaimed(report))
    yield _apart(_closing(report, messages))
    if report.sources:
        yield _apart(import_verdict(report))


def location_table(report: "Report", paths_by_platform: dict[str, list[str]]) -> Table:
    """Return a table of what a scan found in each location, and of what it read again elsewhere."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("platform", no_wrap=True)
    table.add_column("place", overflow="fold")
    for name in ("sources", "unchanged", "conversations", "messages"):
        table.add_column(name, justify="right", no_wrap=True)
    places: list[str] = []
    for platform, paths in paths_by_platform.items():
        title = importer(platform).title
        for path in paths:
            place = os.path.realpath(path)
            places.append(place)
            here = [source for source in report.sources if source.platform == platform and _is_in(source.source, place)]
            unchanged = sum(_is_in(source, place) for source in report.unchanged)
            table.add_row(title, display_path(path), *_counts(here, unchanged))
            title = ""
    elsewhere = [source for source in report.sources if not any(_is_in(source.source, place) for place in places)]
    if elsewhere:
        table.add_row("", "elsewhere", *_counts(elsewhere, 0))
    return table


def _counts(sources: "list[SourceReport]", unchanged: int) -> list[str]:
    conversations = sum(source.conversations for source in sources)
    messages = sum(source.messages for source in sources)
    return [f"{count:,}" for count in (len(sources) + unchanged, unchanged, conversations, messages)]


def _is_in(source: str, path: str) -> bool:
    return source == path or source.startswith(path + os.sep)


def _numbers(report: "Report", effort: "Effort") -> Text:
    totals = report.totals()
    return Text.assemble(
        (counted(totals["conversations"], "conversation"), "bold"),
        " and ",
        (counted(totals["messages"], "message"), "bold"),
        f" and {usage_records(totals['usage_records'])}" if totals["usage_records"] else "",
        " from ",
        (counted(totals["sources"], "source"), "bold"),
        f"\n{size(effort.size_bytes)} in {duration(effort.seconds)}, {rate(effort.size_bytes, effort.seconds)}",
    )


def _archived(report: "Report", changes: dict[str, int]) -> Text:
    """Return the changes of the archive on one line."""
    words = {
        "added": "new",
        "updated": "grown",
        "unchanged": "known already",
        "forgotten": "forgotten before",
        "removed": "removed",
    }
    changed = ", ".join(f"{changes[name]:,} {word}" for name, word in words.items() if changes[name])
    verb = "is as it was" if len(report.unchanged) == 1 else "are as they were"
    unchanged = f"{counted(len(report.unchanged), 'source')} {verb}, and not read again"
    if not (report.sources or changes["removed"]):
        return Text(f"Nothing new: {unchanged}.")
    has_usage = any(source.usage_records for source in report.sources)
    nothing = "no conversation" if has_usage else "nothing new"
    return Text(f"In the archive: {changed or nothing}" + (f"; {unchanged}" if report.unchanged else ""))


def _ledger(report: "Report") -> Text:
    ledger = Ledger()
    for source in report.sources:
        ledger.add(source.ledger)
    platforms = {source.platform for source in report.sources}
    record = importer(platforms.pop()).record if len(platforms) == 1 else "record"
    folded, skipped, quarantined = ledger.folded.total(), ledger.skipped.total(), ledger.quarantined.total()
    return Text.assemble(
        f"{counted(ledger.read, record)} read = {ledger.mapped:,} mapped + {folded:,} folded + {skipped:,} skipped",
        (f" ({tallied(ledger.skipped)})" if skipped else "", "dim"),
        " + ",
        (f"{quarantined:,} quarantined", "red" if quarantined else ""),
        (f" ({tallied(ledger.quarantined)})" if quarantined else "", "dim"),
    )


def _findings(report: "Report") -> Table | None:
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
    table = _rows()
    severities = list(_SEVERITIES)
    for code in sorted(first, key=lambda code: (severities.index(first[code].severity), -counts[code], code)):
        finding = first[code]
        style = _style(finding)
        table.add_row(
            Text(finding.severity, _SEVERITIES[finding.severity]),
            Text(f"{counts[code]:,}", style, justify="right"),
            Group(*_finding_lines(finding)),
        )
    return table


def _finding_lines(finding: "Finding") -> "Iterator[RenderableType]":
    """Yield the meaning of a finding's code, then the message and position of the finding."""
    meaning = KINDS[finding.code].meaning if finding.code in KINDS else finding.message
    yield Text.assemble((finding.code, f"bold {_style(finding)}"), (f": {escaped_line(meaning)}", _style(finding)))
    if finding.message != meaning:
        yield Text(escaped_line(finding.message), "dim")
    yield _PathLine(finding.source, after=f", {escaped_line(finding.where)}" if finding.where else "")


def _style(finding: "Finding") -> str:
    return "dim" if finding.severity == "note" else ""


def _failures(failed: "list[SourceReport]") -> Table:
    table = _rows()
    for source in failed[:_FAILURES_SHOWN]:
        text = Text(escaped_line(source.failure), "red")
        if source.traceback and os.environ.get("PALAVER_DEBUG"):
            text.append(f"\n{source.traceback.rstrip()}", "dim")
        table.add_row(Text("failed", "bold red"), Group(text, _PathLine(source.source)))
    if len(failed) > _FAILURES_SHOWN:
        table.add_row("", Text(f"and {len(failed) - _FAILURES_SHOWN:,} more; --json lists them all", "dim"))
    return table


def _unclaimed(report: "Report") -> Group:
    lines: list[RenderableType] = []
    if report.unread:
        from palaver.importers._shared.unread_formats import sentences_on_formats  # imports the readers

        for sentence, files in sentences_on_formats(report.unread).items():
            more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
            lines += [Text(f"{sentence}:"), _PathLine(files[0], before="  ", after=more)]
    labels = [label for label in report.unclaimed if label not in report.unread]
    if labels:
        opening = "1 file holds" if len(labels) == 1 else f"{len(labels):,} files hold"
        lines.append(Text(f"{opening} no conversation that an importer reads:", "dim"))
        lines += [_PathLine(label, before="  ") for label in labels[:_UNCLAIMED_SHOWN]]
    if len(labels) > _UNCLAIMED_SHOWN:
        lines.append(Text(f"  and {len(labels) - _UNCLAIMED_SHOWN:,} more", "dim"))
    return Group(*lines)


def _closing(report: "Report", messages: "ResultMessages") -> Text:
    sentences = [messages.written_to]
    if used := sum(source.usage_records for source in report.sources):
        words = f"{usage_records(used)} without a conversation {'was' if used == 1 else 'were'}"
        sentences.append(messages.usage.replace("{records}", words))
    if any(source.ledger.quarantined for source in report.sources):
        sentences.append(messages.quarantine)
    return Text("\n".join(sentence for sentence in (*sentences, messages.next_step) if sentence))


class _PathLine:
    """A path on one line, shortened at its start where the terminal is too narrow: its end identifies it."""

    def __init__(self, path: str, *, before: str = "", after: str = "") -> None:
        self._before, self._path, self._after = before, display_path(path), after

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        width = options.max_width - cell_len(self._before) - cell_len(self._after)
        path = self._path
        if cell_len(path) > width:
            while path and cell_len(path) >= width:
                path = path[1:]
            # Start at a whole name, if any is left.
            path = f"…{path[path.find(os.sep) :]}" if os.sep in path else f"…{path}"
        yield Text(f"{self._before}{path}{self._after}", "dim", no_wrap=True, overflow="ellipsis")


def _rows() -> Table:
    return Table.grid(padding=(0, 2, 0, 0))


def _apart(part: "RenderableType") -> Padding:
    return Padding(part, (1, 0, 0, 0), expand=False)
