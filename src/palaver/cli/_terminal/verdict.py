"""The verdict in two lines, at the end of `validate` and of imports that do not go into the archive."""

from collections import Counter
from typing import TYPE_CHECKING

from palaver.cli._terminal.words import counted, escaped_line

if TYPE_CHECKING:
    from rich.text import Text

    from palaver.model.report import Report

_CODES_SHOWN = 4
_SEVERITIES = ("error", "warning", "note")


def verdict(
    *,
    is_valid: bool,
    conversations: int,
    messages: int,
    severities: dict[str, int],
    gravest: list[tuple[str, int]],
    documents: int = 0,
    no_problems: str = "No problems found",
) -> "Text":
    """Return whether everything is valid, and the findings with the gravest first, or else `no_problems`."""
    from rich.text import Text

    held = f"{counted(conversations, 'conversation')}, {counted(messages, 'message')}"
    if documents and not conversations:  # exchanges, or a cooked trace
        held = counted(documents, "document")
    text = Text.assemble(_word(severities, is_valid=is_valid), f": {held}, each checked against the schema")
    if not any(severities.values()):
        return text.append(f"\n{no_problems}")
    numbers = ", ".join(counted(severities[name], name) for name in _SEVERITIES if severities[name])
    shown = ", ".join(f"{escaped_line(code)} {count:,}" for code, count in gravest[:_CODES_SHOWN])
    more = f", and {len(gravest) - _CODES_SHOWN} more" if len(gravest) > _CODES_SHOWN else ""
    return text.append(f"\nFound: {numbers}").append(f" ({shown}{more})", "dim")


def _word(severities: dict[str, int], *, is_valid: bool) -> tuple[str, str]:
    if is_valid:
        return "Valid", "bold green"
    if severities["error"]:
        return "With errors", "bold red"
    return ("With warnings", "bold yellow") if severities["warning"] else ("Not complete", "bold red")


def import_verdict(report: "Report") -> "Text":
    """Return the verdict on an import; the rules of `palaver validate` were not checked."""
    counts: Counter[str] = Counter()
    severity: dict[str, str] = {}
    for source in report.sources:
        counts.update(source.findings.counts)
        severity.update((finding.code, finding.severity) for finding in source.findings.first)
    severities = dict.fromkeys(map(str, _SEVERITIES), 0)
    for code, count in counts.items():
        severities[severity[code]] += count
    order = sorted(counts, key=lambda code: (_SEVERITIES.index(severity[code]), -counts[code], code))
    return verdict(
        is_valid=not report.refused and all(source.is_clean for source in report.sources),
        conversations=sum(source.conversations for source in report.sources),
        messages=sum(source.messages for source in report.sources),
        severities=severities,
        gravest=[(code, counts[code]) for code in order],
        no_problems="No problems found while reading; `palaver validate` checks the rules",
    )
