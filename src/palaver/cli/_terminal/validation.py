"""A validation report in a terminal: totals, ledgers, findings with examples, coverage, drift, the verdict."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from palaver.cli._terminal import layout, output
from palaver.cli._terminal.words import counted, display_path, escaped_line, size, tallied
from palaver.model.build import JsonObject
from palaver.validation.report import headline

if TYPE_CHECKING:
    from rich.console import RenderableType


_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}
_SOURCES_SHOWN = 10
_NOTES_SHOWN = 1
_FIELDS_SHOWN = 12
_UNMAPPED_SHOWN = 8
_DRIFT_SHOWN = 10
_UNCLAIMED_SHOWN = 5
_CODES_SHOWN = 4
_BAR_WIDTH = 24
_ALWAYS = {"messages[].message_id", "messages[].role", "messages[].timestamp"}
"""Filled in every message; a conversation without messages makes them look partly filled."""
_LEDGER = (("mapped", "green"), ("folded", "cyan"), ("skipped", "bright_black"), ("quarantined", "red"))


def show(report: JsonObject, most_examples: int) -> None:
    for part in _report_parts(report, most_examples):
        output.answer(part)


def _report_parts(report: JsonObject, most_examples: int) -> "Iterator[RenderableType]":
    """Yield the parts of a report, each cut to what fits a screen."""
    yield Group(_totals(report))  # a text alone would not be wrapped
    if report["totals"]["records"]["read"]:
        yield _apart(_ledgers(report))
    for group in report["findings"]:
        yield _apart(_group(group))
        yield from _examples(group, most_examples)
    for coverage in report["coverage"]:
        yield _apart(_coverage(coverage))
    if report["drift"]:
        yield _apart(Text("Record kinds unknown to the importers, stored as they are:", "bold"))
        yield _drift(report["drift"])
    if report["unclaimed"]:
        yield _apart(_unclaimed(report["unclaimed"]))
    yield _apart(_verdict(report))


def _verdict(report: JsonObject) -> Text:
    """Return two lines: the result, and the findings by severity with the gravest codes."""
    totals = report["totals"]
    checked = f"{counted(totals['conversations'], 'conversation')}, {counted(totals['messages'], 'message')}"
    if totals["documents"] and not totals["conversations"]:  # exchanges, or a cooked trace
        checked = counted(totals["documents"], "document")
    style = "bold green" if report["valid"] else "bold red" if _has_errors(report) else "bold yellow"
    text = Text.assemble((headline(report), style), f": checked {checked} against the schema")
    numbers = [counted(number, name) for name, number in totals["severities"].items() if number]
    if not numbers:
        return text.append("\nNo problems found")
    counts: dict[str, int] = {}
    for group in report["findings"]:
        counts[group["code"]] = counts.get(group["code"], 0) + group["count"]
    shown = ", ".join(f"{escaped_line(code)} {count:,}" for code, count in list(counts.items())[:_CODES_SHOWN])
    return text.append(f"\nFound: {', '.join(numbers)}").append(
        f" ({shown}{_and_more(len(counts) - _CODES_SHOWN)})", "dim"
    )


def _has_errors(report: JsonObject) -> bool:
    return bool(report["totals"]["severities"]["error"] or report["refused"]) or any(
        source["failure"] for source in report["sources"]
    )


def _totals(report: JsonObject) -> Text:
    totals = report["totals"]
    parts = [
        counted(totals["sources"], "source"),
        counted(totals["documents"], "document"),
        counted(totals["messages"], "message"),
        size(totals["bytes"]),
    ]
    subject = "The archive" if report["subject"] == "archive" else "Checked"
    return Text.assemble((subject, "bold"), f": {', '.join(parts)}", (f"  level {report['level']}", "dim"))


def _ledgers(report: JsonObject) -> Table:
    """Return the ledger of all records, and of each source with errors."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    records = report["totals"]["records"]
    table.add_row(_bar(records), _sum(records, "records"))
    sources = report["sources"]
    if len(sources) > 1:
        troubled = [source for source in sources if not source["valid"] or source["records"]["quarantined"]]
        for source in troubled[:_SOURCES_SHOWN]:
            table.add_row(_bar(source["records"]), _source(source))
        more = f"and {len(troubled) - _SOURCES_SHOWN:,} more with errors; " if len(troubled) > _SOURCES_SHOWN else ""
        table.add_row("", Text(f"{more}{counted(len(sources) - len(troubled), 'source')} without errors", "dim"))
    return table


def _source(source: JsonObject) -> Text:
    text = Text(f"{display_path(source['source'])}: {_parts(source['records'])}")
    if source["failure"]:
        text.append(f"; {escaped_line(source['failure'])}", "red")
    return text


def _sum(records: JsonObject, noun: str) -> Text:
    text = Text(f"{records['read']:,} {noun} read = {_parts(records)}")
    for name in ("skipped", "quarantined"):
        if records[name]:
            text.append(f"  {name}: {tallied(records[name])}", "dim")
    return text


def _parts(records: JsonObject) -> str:
    return " + ".join(f"{_number(records, name):,} {name}" for name, _ in _LEDGER)


def _bar(records: JsonObject) -> Text:
    """Return a bar of the four parts, none of which vanishes unless it is zero."""
    text = Text()
    left, read, letter = _BAR_WIDTH, records["read"], "█" if layout.can_draw_blocks() else "#"
    for name, style in _LEDGER:
        number = _number(records, name)
        width = min(left, max(1, round(number / read * _BAR_WIDTH))) if number else 0
        text.append(letter * width, style)
        left -= width
    return text.append(" " * left)


def _number(records: JsonObject, name: str) -> int:
    value = records[name]
    return sum(value.values()) if isinstance(value, dict) else value


def _group(group: JsonObject) -> Text:
    style = _STYLES[group["severity"]]
    where = f" in {counted(group['sources'], 'source')}" if group["sources"] else ""
    return Text.assemble(
        (group["severity"], style),
        f" {group['count']:,}{where}  ",
        (escaped_line(group["code"]), "bold"),
        (f": {escaped_line(group['meaning'])}", "dim" if group["severity"] == "note" else ""),
    )


def _examples(group: JsonObject, most: int) -> Iterator[Text]:
    most = min(most, _NOTES_SHOWN) if group["severity"] == "note" else most
    for example in group["examples"][:most]:
        text = Text("  ").append_text(_at(example))
        if example["message"] != group["meaning"]:
            text.append(": ").append(escaped_line(example["message"]), _STYLES[group["severity"]])
        yield text
        if example["excerpt"]:
            yield Text(f"      {escaped_line(example['excerpt'])}", "dim")
    if most and (more := group["count"] - min(most, len(group["examples"]))):
        yield Text(f"  and {more:,} more", "dim")


def _at(example: JsonObject) -> Text:
    """Return the position as `path:line`, which editors understand, then the conversation and the pointer."""
    text = Text(display_path(example["source"]) if example["source"] else "the archive")
    if example["line"] is not None:
        text.append(f":{example['line']}")
    elif example["where"]:
        text.append(f", {escaped_line(example['where'])}")
    inside = " ".join(escaped_line(example[name]) for name in ("conversation_id", "pointer") if example[name])
    return text.append(f" {inside}" if inside else "", "dim")


def _coverage(coverage: JsonObject) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    held = f"{counted(coverage['conversations'], 'conversation')}, {counted(coverage['messages'], 'message')}"
    versions = sorted(coverage["versions"].items(), key=lambda entry: -entry[1])
    newest = f"; versions {', '.join(escaped_line(version) for version, _ in versions[:4])}" if versions else ""
    newest += f" and {len(versions) - 4} more" if len(versions) > 4 else ""
    table.add_row(Text(escaped_line(coverage["title"]), "bold"), Text(held + newest))
    partly = [field for field in coverage["fields"] if 0 < field["share"] < 1 and field["field"] not in _ALWAYS]
    never = sum(not field["conversations"] for field in coverage["fields"])
    always = len(coverage["fields"]) - len(partly) - never
    table.add_row("fields", Text(f"{always} always filled, {len(partly)} sometimes, {never} never"))
    partly_filled = [f"{field['field']} {field['share']:.0%}" for field in partly[:_FIELDS_SHOWN]]
    if partly_filled:
        table.add_row("sometimes", Text(", ".join(partly_filled) + _and_more(len(partly) - _FIELDS_SHOWN)))
    unmapped = coverage["unmapped"]
    if unmapped:
        names = [escaped_line(field["field"]).removeprefix("messages[].") for field in unmapped[:_UNMAPPED_SHOWN]]
        more = len(unmapped) - _UNMAPPED_SHOWN + coverage["unmapped_more"]
        table.add_row("unmapped", Text(", ".join(names) + _and_more(more)))
    return table


def _and_more(number: int) -> str:
    return f", and {number} more" if number > 0 else ""


def _drift(drift: list[JsonObject]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for kind in drift[:_DRIFT_SHOWN]:
        version = f"version {escaped_line(kind['version'])}" if kind["version"] else "unknown version"
        table.add_row(
            f"{kind['count']:,}",
            Text(escaped_line(kind["kind"])),
            Text(f"{escaped_line(kind['platform'])}, {version}", "dim"),
            Text(display_path(kind["source"]) if kind["source"] else "", "dim"),
        )
    if len(drift) > _DRIFT_SHOWN:
        table.add_row("", Text(f"and {len(drift) - _DRIFT_SHOWN:,} more", "dim"))
    return table


def _unclaimed(labels: list[str]) -> Text:
    lines = [f"{counted(len(labels), 'file')} skipped, not conversations:"]
    lines += [f"  {display_path(label)}" for label in labels[:_UNCLAIMED_SHOWN]]
    if len(labels) > _UNCLAIMED_SHOWN:
        lines.append(f"  and {len(labels) - _UNCLAIMED_SHOWN:,} more")
    return Text("\n".join(lines), "dim")


def _apart(part: "RenderableType") -> Padding:
    return Padding(part, (1, 0, 0, 0), expand=False)
