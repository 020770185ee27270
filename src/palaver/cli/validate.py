"""`palaver validate`: are these documents, or what would be imported from these sources, what the schema says.

A file of conversation documents has to be right by itself, since other programs read it too: damage that an import
would repair is an error here.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _output
from palaver.cli._arguments import STANDARD, AsJson, Paths, given_paths
from palaver.cli._words import counted, place, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from palaver.model.finding import Finding
    from palaver.sources.discovery import Claim, Unit
    from palaver.sources.source import Source

_DOCUMENTS = "ucs"
_DOCUMENT_KEYS = ("conversation_id", "messages", "platform")
_SHOWN_ID = 60


@dataclass(slots=True)
class _Error:
    where: str
    message: str
    line: int | None = None
    conversation_id: str = ""
    pointer: str = ""


@dataclass(slots=True)
class _Checked:
    """What was found out about one file."""

    path: str
    read_as: str
    most_errors: int
    documents: int = 0
    messages: int = 0
    error_count: int = 0
    errors: list[_Error] = field(default_factory=list[_Error])

    def add(self, error: _Error, count: int = 1) -> None:
        self.error_count += count
        if len(self.errors) < self.most_errors:
            self.errors.append(error)

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "read_as": self.read_as,
            "valid": not self.error_count,
            "documents": self.documents,
            "messages": self.messages,
            "error_count": self.error_count,
            "errors": [
                {
                    "line": error.line,
                    "where": error.where,
                    "conversation_id": error.conversation_id or None,
                    "pointer": error.pointer or None,
                    "message": error.message,
                }
                for error in self.errors
            ],
        }


def validate(
    paths: Paths,
    *,
    max_errors: Annotated[int, typer.Option(min=0, metavar="N", help="Errors shown for each file.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Check documents or sources against the published schema.

    PATH is a file of conversation documents (JSON Lines, or a single one), a folder of such files, or anything that
    can be imported: then the documents that an import would make of it are checked.

    Exit codes: 0 everything is valid, 1 something is not, 2 something could not be checked.
    """
    refused: list[str] = []
    everything: list[_Checked] = []
    for path in given_paths(paths):
        checked: list[_Checked] = []
        for outcome in _outcomes(path, max_errors):
            if isinstance(outcome, str):
                refused.append(outcome)
                _output.complain(outcome)
                continue
            checked.append(outcome)
            if not as_json:
                for line in _shown_errors(outcome):
                    _output.answer(line)
        if checked and not as_json:
            _output.answer(_shown_verdict(path, checked))
        everything += checked
    is_valid = not any(file.error_count for file in everything)
    if as_json:
        files = [file.to_json() for file in everything]
        _output.answer_json({"valid": is_valid and not refused, "files": files, "refused": refused})
    raise typer.Exit(2 if refused else 0 if is_valid else 1)


def _outcomes(path: Path, most_errors: int) -> "Iterator[_Checked | str]":
    """Yield what was found out about each file, and a sentence for each that could not be checked."""
    from palaver.sources.discovery import Unit, discover

    if str(path) != STANDARD and not path.exists():
        yield f"{path} does not exist"
        return
    is_any = False
    for found in discover(path, _claim):
        if isinstance(found, Unit):
            is_any = True
            yield (
                _check_documents(found, most_errors)
                if found.platform == _DOCUMENTS
                else _check_import(found, most_errors)
            )
        elif found.problem:
            is_any = True
            yield found.problem
    if not is_any:
        yield f"{path} holds neither conversation documents nor anything that an importer reads"


def _claim(source: "Source") -> "Claim | None":
    from palaver.importers import judge, platforms, winner
    from palaver.sources.discovery import Claim

    if _holds_documents(source):
        return Claim(_DOCUMENTS, "conversation documents")
    won = winner(judge(source, platforms()), source.label)
    return Claim(won[0], won[1].reason, won[1].members) if won else None


def _holds_documents(source: "Source") -> bool:
    import orjson

    head = source.head().lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if not head.startswith(b"{"):
        return False
    try:
        first = orjson.loads(head.partition(b"\n")[0])
    except orjson.JSONDecodeError:
        # Pretty-printed, longer than the head, or damaged: the keys have to do.
        keys = set(re.findall(rb'"(schema_version|conversation_id|messages|platform)"\s*:', head))
        return b"schema_version" in keys and len(keys) > 1
    return "schema_version" in first and any(key in first for key in _DOCUMENT_KEYS)


def _check_documents(unit: "Unit", most_errors: int) -> _Checked:
    from palaver.errors import VersionError
    from palaver.model.upgrade import upgrade
    from palaver.sources.jsonl import UNFINISHED_TAIL, JsonLines
    from palaver.sources.run import Run
    from palaver.validate.schema import is_valid, schema_errors

    checked = _Checked(unit.source.label, unit.platform, most_errors)
    with _output.Progress(unit.size_bytes) as progress, unit.source.open() as stream:
        run = Run(unit.source.label, advance=progress.advance)
        lines = JsonLines(stream, run)
        for record in lines:
            checked.documents += 1
            line = lines.number
            if not isinstance(record, dict):
                checked.add(_Error(f"line {line}", "a conversation document is an object", line))
                continue
            messages = record.get("messages")
            checked.messages += len(messages) if isinstance(messages, list) else 0
            conversation_id = plain(str(record.get("conversation_id")))[:_SHOWN_ID]
            try:
                document = upgrade(record)
            except VersionError as error:
                checked.add(_Error(f"line {line}", str(error), line, conversation_id, "/schema_version"))
                continue
            if not is_valid(document):
                for fault in schema_errors(document):
                    checked.add(_Error(f"line {line}", fault.message, line, conversation_id, fault.pointer or "/"))
    _add_findings(
        checked,
        run.findings.counts,
        [
            finding
            for finding in run.findings.first
            if finding.severity != "note" or finding.code == UNFINISHED_TAIL.code
        ],
    )
    checked.errors.sort(key=lambda error: error.line or 0)
    return checked


def _check_import(unit: "Unit", most_errors: int) -> _Checked:
    from palaver.model.report import SourceReport
    from palaver.pipeline import documents

    checked = _Checked(unit.source.label, unit.platform, most_errors)
    report = SourceReport(unit.source.label, unit.platform)
    with _output.Progress(unit.size_bytes) as progress:
        for _ in documents(unit, report, {}, advance=progress.advance):
            checked.documents += 1
    checked.messages = report.messages
    if report.failure:
        checked.add(_Error("", report.failure))
    errors = [finding for finding in report.findings.first if finding.severity == "error"]
    _add_findings(checked, report.findings.counts, errors)
    return checked


def _add_findings(checked: _Checked, counts: dict[str, int], findings: "list[Finding]") -> None:
    uncounted = {finding.code: counts[finding.code] for finding in findings}
    for finding in findings:
        line = re.match(r"line (\d+)", finding.where)
        message = f"{finding.code}: {finding.message}"
        checked.add(_Error(finding.where, message, int(line[1]) if line else None), 1)
        uncounted[finding.code] -= 1
    # Of a frequent finding only the first places are known.
    checked.error_count += sum(uncounted.values())


def _shown_errors(checked: _Checked) -> "Iterator[Text]":
    from rich.text import Text

    for error in checked.errors:
        if error.line is not None:
            at = f"{place(checked.path)}:{error.line}"
        else:
            at = f"{place(checked.path)}: {plain(error.where)}" if error.where else place(checked.path)
        inside = " ".join(part for part in (error.conversation_id, plain(error.pointer)) if part)
        yield Text.assemble(at, (f" {inside}" if inside else "", "dim"), ": ", (plain(error.message), "red"))
    if checked.errors and (more := checked.error_count - len(checked.errors)):
        yield Text(f"{place(checked.path)}: and {more:,} more", "red")


def _shown_verdict(path: Path, checked: list[_Checked]) -> "Text":
    from rich.text import Text

    errors = sum(file.error_count for file in checked)
    verdict = ("valid", "bold green") if not errors else (f"not valid, {counted(errors, 'error')}", "bold red")
    parts = [
        counted(sum(file.documents for file in checked), "document"),
        counted(sum(file.messages for file in checked), "message"),
    ]
    if len(checked) > 1:
        parts.insert(0, counted(len(checked), "file"))
    read_as = sorted({file.read_as for file in checked} - {_DOCUMENTS})
    told = f"  {', '.join(parts)}" + (f", read as {' and '.join(read_as)}" if read_as else "")
    return Text.assemble(f"{place(path)}: ", verdict, (told, "dim"))
