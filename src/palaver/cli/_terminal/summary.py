"""The summary of an import in a terminal: what was found, what became of every record, what to do next.

What matters most comes last, where it is still on the screen. An import into the archive names the commands that show
its findings; other imports print them, since nothing keeps them.
"""

import re
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from palaver.cli._terminal.import_findings import failure_table, finding_table
from palaver.cli._terminal.next_steps import next_steps
from palaver.cli._terminal.paths import PathLine
from palaver.cli._terminal.verdict import import_verdict
from palaver.cli._terminal.words import counted, duration, escaped_line, listed, rate, size, tallied, usage_records
from palaver.importers import importer, load_all_modules
from palaver.model.finding import KINDS
from palaver.model.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from palaver.cli._import_run import Effort, ResultMessages
    from palaver.model.report import Report, SourceReport

_UNCLAIMED_SHOWN = 5
_NOTES_SHOWN = 3
_SENTENCE = re.compile(r"(?:[A-Z]|\d)\S* \S+ \S+")
_STEPS = {
    "palaver list": "the conversations, the latest first",
    "palaver search WORDS": "find messages",
    "palaver stats": "messages, tokens and costs",
}


def summary(report: "Report", effort: "Effort", messages: "ResultMessages") -> "Iterator[RenderableType]":
    """Yield the parts of the summary, `messages` near its end."""
    is_archived = report.archive is not None
    if report.sources:
        yield Text("\n").join([_conversations(report), _amount(report, effort)])
        yield from _ledger(report)
    if report.unchanged and not report.sources:
        yield Text(f"Nothing new ({counted(len(report.unchanged), 'source')} unchanged)")
    if report.archive and (removed := report.archive["removed"]):
        yield Text(f"{counted(removed, 'conversation')} removed: no source yields them any more")
    if not is_archived and (findings := finding_table(report)):
        yield _apart(findings)
    if failed := [source for source in report.sources if source.failure]:
        yield _apart(failure_table(failed))
    if new := [label for label in report.unclaimed if label not in report.unclaimed_before]:
        yield _apart(_unclaimed(new, report.unread))
    if is_archived:
        yield from _archive_closing(report, messages)
    else:
        yield _apart(_closing(report, messages))
        if report.sources:
            yield _apart(import_verdict(report))


def _conversations(report: "Report") -> Text:
    """Return how many conversations were read, and, of an import into the archive, what they were to it."""
    count = sum(source.conversations for source in report.sources)
    text = Text(f"{counted(count, 'conversation')} read", "bold")
    if not count or report.archive is None:
        return text
    changes = report.archive
    words = {"added": "new", "updated": "grown", "unchanged": "known already", "forgotten": "forgotten before"}
    parts = [f"{changes[name]:,} {word}" for name, word in words.items() if changes[name]]
    if changes["added"] == count:
        return text.append(", all new" if count > 1 else ", new")
    copies = count - sum(changes[name] for name in words)
    if copies > 0:
        copy = "a further copy of one" if copies == 1 else "further copies of conversations"
        parts.append(f"{copies:,} {'is' if copies == 1 else 'are'} {copy} already counted (`palaver duplicates`)")
    return text.append_text(Text(f": {', '.join(parts)}" if parts else ""))


def _amount(report: "Report", effort: "Effort") -> Text:
    totals = report.totals()
    parts = [counted(totals["messages"], "message")]
    parts += [usage_records(totals["usage_records"])] if totals["usage_records"] else []
    took = f"{size(effort.size_bytes)} in {duration(effort.seconds)}, {rate(effort.size_bytes, effort.seconds)}"
    unchanged = f"; {counted(len(report.unchanged), 'source')} unchanged" if report.unchanged else ""
    return Text.assemble(
        f"{listed(parts)} from {counted(totals['sources'], 'source')}", (f" ({took})", "dim"), unchanged
    )


def _ledger(report: "Report") -> "Iterator[Text]":
    """Yield what became of every record read, and by which rules records were skipped."""
    ledger = Ledger()
    for source in report.sources:
        ledger.add(source.ledger)
    platforms = {source.platform for source in report.sources}
    record = importer(platforms.pop()).record if len(platforms) == 1 else "record"
    folded, skipped, quarantined = ledger.folded.total(), ledger.skipped.total(), ledger.quarantined.total()
    yield Text.assemble(
        f"{counted(ledger.read, record)} read = {ledger.mapped:,} mapped + {folded:,} folded + {skipped:,} skipped",
        (f" ({tallied(ledger.skipped)})" if skipped else "", "dim"),
        f" + {quarantined:,} quarantined",
        (f" ({tallied(ledger.quarantined)})" if quarantined else "", "dim"),
    )


def _unclaimed(labels: list[str], unread: "Mapping[str, str]") -> Group:
    """Return a sentence for each known format without an importer, and the first of the other files."""
    lines: list[RenderableType] = []
    if named := {label: unread[label] for label in labels if label in unread}:
        from palaver.importers._shared.unread_formats import sentences_on_formats  # imports the readers

        for sentence, files in sentences_on_formats(named).items():
            more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
            lines += [Text(f"{sentence}:"), PathLine(files[0], before="  ", after=more)]
    others = [label for label in labels if label not in unread]
    if others:
        opening = "1 file skipped: not a conversation" if len(others) == 1 else ""
        lines.append(Text(opening or f"{len(others):,} files skipped: not conversations", "dim"))
        lines += [PathLine(label, before="  ") for label in others[:_UNCLAIMED_SHOWN]]
    if len(others) > _UNCLAIMED_SHOWN:
        lines.append(Text(f"  and {len(others) - _UNCLAIMED_SHOWN:,} more", "dim"))
    return Group(*lines)


def _closing(report: "Report", messages: "ResultMessages") -> Text:
    sentences = [messages.written_to]
    if used := sum(source.usage_records for source in report.sources):
        records = f"{usage_records(used)} without a conversation {'was' if used == 1 else 'were'}"
        sentences.append(messages.usage.replace("{records}", records))
    if any(source.ledger.quarantined for source in report.sources):
        sentences.append(messages.quarantine)
    return Text("\n".join(sentence for sentence in (*sentences, messages.next_step) if sentence))


def _archive_closing(report: "Report", messages: "ResultMessages") -> "Iterator[RenderableType]":
    if not report.sources:
        return
    changes = report.archive or {}
    yield _apart(Text("\n").join([_outcome(report, changes), *_notable(report)]))
    if changes["added"]:
        yield _apart(Group(*next_steps(_STEPS), Text(messages.next_step)))
    yield PathLine(messages.written_to, before="Archive: ")


def _outcome(report: "Report", changes: dict[str, int]) -> Text:
    kept = counted(sum(changes[name] for name in ("added", "updated", "unchanged")), "conversation")
    if failed := sum(bool(source.failure) for source in report.sources):
        sources = counted(failed, "source")
        return Text.assemble(("Not complete", "bold red"), f": {kept}; {sources} could not be read to the end")
    return Text.assemble(("Done", "bold green"), f": {kept}")


def _notable(report: "Report") -> "Iterator[Text]":
    """Yield a line for each thing to look at, with the command that shows it."""
    if quarantined := sum(source.ledger.quarantined.total() for source in report.sources):
        yield Text(f"{counted(quarantined, 'record')} could not be read: `palaver quarantine list`", "yellow")
    counts: Counter[str] = Counter()
    for source in report.sources:
        severity = {finding.code: finding.severity for finding in source.findings.first}
        for code, count in source.findings.counts.items():
            counts[severity[code]] += count
    if len(report.sources) == 1 and counts.total() == counts["note"]:
        yield from _notes(next(iter(report.sources)))
    if counts:
        grave = ", ".join(counted(counts[name], name) for name in ("error", "warning") if counts[name])
        yield Text(f"{counted(counts.total(), 'thing')} noticed{f' ({grave})' if grave else ''}: `palaver findings`")
    elif all(source.is_clean for source in report.sources):
        yield Text("No problems found while reading; `palaver validate` checks the rules", "dim")
    if used := sum(source.usage_records for source in report.sources):
        yield Text(f"{usage_records(used)}: `palaver stats --usage`")


def _notes(source: "SourceReport") -> "Iterator[Text]":
    """Yield the notes that say more than what their code means in general, each once.

    The message of some findings is only a name or an address, which says little without the code.
    """
    load_all_modules(source.platform)  # the source may have been read in another process
    messages = {
        finding.message: None
        for finding in source.findings.first
        if finding.message != KINDS[finding.code].meaning and _SENTENCE.match(finding.message)
    }
    for message in list(messages)[:_NOTES_SHOWN]:
        yield Text(f"Note: {escaped_line(message)}")


def _apart(part: "RenderableType") -> Padding:
    return Padding(part, (1, 0, 0, 0), expand=False)
