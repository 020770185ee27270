"""`palaver validate`: a report on sources, on documents, or on the archive."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli._arguments import AsJson, Jobs, given_paths, output_path
from palaver.cli._terminal import output
from palaver.cli._terminal.words import place
from palaver.errors import OptionError, SourceError

if TYPE_CHECKING:
    from palaver.workflows.validate import Question

_FORMATS = (".html", ".htm", ".json")
_LEVELS = ("strict", "standard", "lenient")


def validate(
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", hidden=True)] = None,
    *,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="strict, standard or lenient.")] = "standard",
    rule: Annotated[
        list[str] | None, typer.Option("--rule", metavar="NAME", help="Ask only this rule.", show_default="all")
    ] = None,
    no_rule: Annotated[
        list[str] | None, typer.Option("--no-rule", metavar="NAME", help="Do not ask this rule.")
    ] = None,
    reports: Annotated[
        list[Path] | None,
        typer.Option("--report", metavar="FILE", help="Write the whole report as a page (.html) or as .json."),
    ] = None,
    max_errors: Annotated[int, typer.Option(min=0, metavar="N", help="Examples of each finding.")] = 5,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Report on what is wrong or odd, in sources or in the archive.

    PATH is anything that can be imported (then the documents that an import would make of it are judged), a file of
    palaver's own documents (conversations, API exchanges, cooked traces, usage records), a folder of such, or - for
    standard input.
    Without any, the archive is judged. Every document is checked against the published schema, then by rules:
    docs/rules.md tells them.

    At the level `strict`, errors and warnings fail, and so does a key at the top of a document that the schema does not
    know; at `standard`, errors fail; `lenient` asks the schema only, after converting what can safely be converted.

    Exit codes: 0 everything is valid, 1 something is not, 2 something could not be checked.
    """
    from palaver.validation.judge import Asked
    from palaver.validation.levels import Level
    from palaver.workflows.validate import Question, all_rules

    if level not in _LEVELS:
        raise OptionError(f"--level {level}: there are {', '.join(_LEVELS)}")
    files = [_report_file(path) for path in reports or ()]
    asked = Asked(frozenset(rule or ()), frozenset(no_rule or ()))
    asked.check(one.name for one in all_rules() if one.scope != "schema")
    question = Question(Level(level), asked, max_errors)
    report = _on_paths(paths, question, jobs) if paths else _on_archive(question)
    for file in files:
        _write(file, report)
    if as_json:
        output.answer_json(report)
    else:
        from palaver.cli._terminal.validation import show

        for refusal in report["refused"]:
            output.complain(refusal)
        if report["sources"]:
            show(report, max_errors)
        for file in files:
            output.tell(f"The report is {place(file)}.")
    raise typer.Exit(2 if report["refused"] else 0 if report["valid"] else 1)


def _report_file(path: Path) -> Path:
    if path.suffix.lower() not in _FORMATS:
        raise OptionError(f"--report {path}: a report ends in {' or '.join((_FORMATS[0], _FORMATS[2]))}")
    return output_path(path)


def _on_paths(words: list[str], question: "Question", jobs: int | None) -> dict[str, Any]:
    from palaver.workflows.parallel import available_cores, collect_rarely
    from palaver.workflows.validate import look_up, report_on_paths

    collect_rarely()
    found = look_up(given_paths(words))
    with output.Progress(sum(unit.size_bytes for unit in found.units)) as progress:
        return report_on_paths(found, question, jobs=jobs or available_cores(), advance=progress.advance)


def _on_archive(question: "Question") -> dict[str, Any]:
    from palaver.cli._archive import archive_path
    from palaver.workflows.parallel import collect_rarely
    from palaver.workflows.validate import report_on_archive

    collect_rarely()
    path = archive_path()
    size_bytes = path.stat().st_size if path.exists() else 0
    with output.Progress(size_bytes) as progress:
        return report_on_archive(path, question, advance=progress.advance)


def _write(file: Path, report: dict[str, Any]) -> None:
    if file.suffix.lower() == ".json":
        import json

        text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    else:
        from palaver.validation.page import page

        text = page(report)
    try:
        file.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise SourceError(f"cannot write the report to {file}: {error.strerror or error}") from error
