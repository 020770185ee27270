"""What an import did, for people: numbers, ledger, findings, failures, files nobody reads, where it is, the verdict."""

import os
from collections import Counter
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from palaver.cli._terminal.verdict import of_import
from palaver.cli._terminal.words import counted, duration, place, plain, rate, size, tallied, usage_records
from palaver.importers import importer, load_whole
from palaver.model.finding import KINDS
from palaver.model.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from palaver.cli._importing import Effort, Sentences
    from palaver.model.finding import Finding
    from palaver.model.report import Report, SourceReport

_UNCLAIMED_SHOWN = 5
_FAILURES_SHOWN = 20
_SEVERITIES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def summary(report: "Report", effort: "Effort", told: "Sentences") -> "Iterator[RenderableType]":
    """All there is to tell; `told` says where everything is, and what may follow."""
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
        yield _apart(_unclaimed(report.unclaimed))
    yield _apart(_closing(report, told))
    if report.sources:
        yield _apart(of_import(report))


def found_where(report: "Report", places: dict[str, list[str]]) -> Table:
    """A table of what a scan found in each place."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("platform", no_wrap=True)
    table.add_column("place", overflow="fold")
    for name in ("sources", "unchanged", "conversations", "messages"):
        table.add_column(name, justify="right", no_wrap=True)
    for platform, paths in places.items():
        title = importer(platform).title
        for path in paths:
            here = [source for source in report.sources if source.platform == platform and _is_in(source.source, path)]
            unchanged = sum(_is_in(source, path) for source in report.unchanged)
            conversations = sum(source.conversations for source in here)
            messages = sum(source.messages for source in here)
            counts = (len(here) + unchanged, unchanged, conversations, messages)
            table.add_row(title, place(path), *(f"{count:,}" for count in counts))
            title = ""
    return table


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
    """What became of the archive, in one line."""
    words = {"added": "new", "updated": "grown", "unchanged": "known already", "forgotten": "forgotten before"}
    became = ", ".join(f"{changes[name]:,} {word}" for name, word in words.items() if changes[name])
    are = "is as it was" if len(report.unchanged) == 1 else "are as they were"
    as_they_were = f"{counted(len(report.unchanged), 'source')} {are}, and not read again"
    if not report.sources:
        return Text(f"Nothing new: {as_they_were}.")
    has_usage = any(source.usage_records for source in report.sources)
    nothing = "no conversation" if has_usage else "nothing new"
    return Text(f"In the archive: {became or nothing}" + (f"; {as_they_were}" if report.unchanged else ""))


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
    if not first.keys() <= KINDS.keys():  # they were noticed in other processes
        for platform in {source.platform for source in report.sources}:
            load_whole(platform)
    table = _rows()
    severities = list(_SEVERITIES)
    for code in sorted(first, key=lambda code: (severities.index(first[code].severity), -counts[code], code)):
        finding = first[code]
        style = _style(finding)
        table.add_row(
            Text(finding.severity, _SEVERITIES[finding.severity]),
            Text(f"{counts[code]:,}", style, justify="right"),
            Group(*_told(finding)),
        )
    return table


def _told(finding: "Finding") -> "Iterator[RenderableType]":
    """What such a finding means, and the first of them: where it is, and what it says itself."""
    meaning = KINDS[finding.code].meaning if finding.code in KINDS else finding.message
    yield Text.assemble((finding.code, f"bold {_style(finding)}"), (f": {plain(meaning)}", _style(finding)))
    if finding.message != meaning:
        yield Text(plain(finding.message), "dim")
    yield _Place(finding.source, after=f", {plain(finding.where)}" if finding.where else "")


def _style(finding: "Finding") -> str:
    return "dim" if finding.severity == "note" else ""


def _failures(failed: "list[SourceReport]") -> Table:
    table = _rows()
    for source in failed[:_FAILURES_SHOWN]:
        told = Text(plain(source.failure), "red")
        if source.traceback and os.environ.get("PALAVER_DEBUG"):
            told.append(f"\n{source.traceback.rstrip()}", "dim")
        table.add_row(Text("failed", "bold red"), Group(told, _Place(source.source)))
    if len(failed) > _FAILURES_SHOWN:
        table.add_row("", Text(f"and {len(failed) - _FAILURES_SHOWN:,} more; --json lists them all", "dim"))
    return table


def _unclaimed(labels: list[str]) -> Group:
    opening = "1 file holds" if len(labels) == 1 else f"{len(labels):,} files hold"
    lines: list[RenderableType] = [Text(f"{opening} no conversation that an importer reads:", "dim")]
    lines += [_Place(label, before="  ") for label in labels[:_UNCLAIMED_SHOWN]]
    if len(labels) > _UNCLAIMED_SHOWN:
        lines.append(Text(f"  and {len(labels) - _UNCLAIMED_SHOWN:,} more", "dim"))
    return Group(*lines)


def _closing(report: "Report", told: "Sentences") -> Text:
    sentences = [told.told]
    if used := sum(source.usage_records for source in report.sources):
        words = f"{usage_records(used)} without a conversation {'was' if used == 1 else 'were'}"
        sentences.append(told.used.replace("{records}", words))
    if any(source.ledger.quarantined for source in report.sources):
        sentences.append(told.set_aside)
    return Text("\n".join(sentence for sentence in (*sentences, told.following) if sentence))


class _Place:
    """A path on one line: where the terminal is too narrow, its beginning gives way, since its end tells most."""

    def __init__(self, path: str, *, before: str = "", after: str = "") -> None:
        self._before, self._path, self._after = before, place(path), after

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        room = options.max_width - cell_len(self._before) - cell_len(self._after)
        path = self._path
        if cell_len(path) > room:
            while path and cell_len(path) >= room:
                path = path[1:]
            # Whole names, if any is left.
            path = f"…{path[path.find(os.sep) :]}" if os.sep in path else f"…{path}"
        yield Text(f"{self._before}{path}{self._after}", "dim", no_wrap=True, overflow="ellipsis")


def _rows() -> Table:
    return Table.grid(padding=(0, 2, 0, 0))


def _apart(part: "RenderableType") -> Padding:
    return Padding(part, (1, 0, 0, 0), expand=False)
