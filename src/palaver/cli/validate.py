"""`palaver validate`: check sources, documents or the archive, and report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from palaver.cli._archive import archive_path
from palaver.cli._arguments import AsJson, Jobs, input_paths, output_path
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path
from palaver.errors import OptionError, SourceError
from palaver.validation.judge import Level, RuleSelection
from palaver.workflows.parallel import available_cores, collect_rarely
from palaver.workflows.validate import ValidationSettings, all_rules, find_sources, report_on_archive, report_on_paths

_FORMATS = (".html", ".htm", ".json")
_LEVELS = ("strict", "standard", "lenient")


def validate(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH", hidden=True)] = None,
    *,
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help="Fail on: strict, standard or lenient; see above.")
    ] = "standard",
    rule: Annotated[
        list[str] | None, typer.Option("--rule", metavar="NAME", help="Only check this rule.", show_default="all")
    ] = None,
    no_rule: Annotated[list[str] | None, typer.Option("--no-rule", metavar="NAME", help="Skip this rule.")] = None,
    reports: Annotated[
        list[Path] | None,
        typer.Option("--report", metavar="FILE", help="Write the full report to a web page (.html) or .json file."),
    ] = None,
    max_errors: Annotated[int, typer.Option(min=0, metavar="N", help="Show at most N examples of each finding.")] = 5,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Check sources or the archive against the schema and rules.

    PATH is a file that can be imported (palaver checks the documents that an import would produce), a file of palaver's
    own documents (conversations, API exchanges, cooked traces, usage records), a folder of these, or - for standard
    input. Without PATH, the archive is checked. docs/rules.md lists the rules.

    With `--level strict`, errors, warnings and unknown top-level keys fail. With `standard`, only errors fail. With
    `lenient`, only the schema is checked, after values are converted where that is safe.

    Exit codes: 0 everything is valid, 1 something is not valid, 2 something could not be checked.
    """
    if level not in _LEVELS:
        raise OptionError(f"--level {level} is not a level: choose {', '.join(_LEVELS)}")
    files = [_report_file(path) for path in reports or ()]
    selection = RuleSelection(frozenset(rule or ()), frozenset(no_rule or ()))
    selection.check(rule.name for rule in all_rules() if rule.scope != "schema")
    settings = ValidationSettings(Level(level), selection, max_errors)
    report = _check_paths(paths, settings, jobs) if paths else _check_archive(settings)
    for file in files:
        _write(file, report)
    if as_json:
        output.answer_json(report)
    else:
        from palaver.cli._terminal.validation import show

        for refusal in report["refused"]:
            output.report_error(refusal)
        if report["sources"]:
            show(report, max_errors)
        for file in files:
            output.notify(f"Report: {display_path(file)}")
    raise typer.Exit(2 if report["refused"] else 0 if report["valid"] else 1)


def _report_file(path: Path) -> Path:
    file = output_path(path, "--report")
    if path.suffix.lower() not in _FORMATS:
        raise OptionError(f"--report {path}: the name must end in {_FORMATS[0]} or {_FORMATS[2]}")
    return file


def _check_paths(words: list[str], settings: ValidationSettings, jobs: int | None) -> dict[str, Any]:
    collect_rarely()
    found = find_sources(input_paths(words))
    with output.Progress(sum(unit.size_bytes for unit in found.units)) as progress:
        return report_on_paths(found, settings, jobs=jobs or available_cores(), advance=progress.advance)


def _check_archive(settings: ValidationSettings) -> dict[str, Any]:
    collect_rarely()
    path = archive_path()
    size_bytes = path.stat().st_size if path.exists() else 0
    with output.Progress(size_bytes) as progress:
        return report_on_archive(path, settings, advance=progress.advance)


def _write(file: Path, report: dict[str, Any]) -> None:
    if file.suffix.lower() == ".json":
        import json

        text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    else:
        from palaver.validation.html_report import render_html

        text = render_html(report)
    try:
        file.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise SourceError(f"cannot write the report to {file}: {error.strerror or error}") from error
