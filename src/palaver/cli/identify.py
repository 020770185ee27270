"""`palaver identify`: which importer reads a path, and why."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from palaver import importers
from palaver.cli._arguments import STANDARD, AsJson, Paths, input_paths
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, escaped_line
from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.importers._shared.unread_formats import article, format_named
from palaver.sources.discovery import Unclaimed, Unit, discover, missing_path_sentence
from palaver.sources.match import Claim
from palaver.sources.source import Source
from palaver.workflows.unread_paths import kind_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text


def identify(paths: Paths, *, as_json: AsJson = False) -> None:
    """Show which importer reads a path, and why.

    PATH is a file, a ZIP, a folder, or - for standard input; every file in a ZIP or below a folder gets a line. A file
    that no importer reads is named by its format or kind, such as "Codex CLI session" or "PNG picture".

    Exit codes: 0 an importer reads something at every path, 1 there is a path where none does, 2 a path does not exist.
    """
    exit_code = 0
    files: list[dict[str, Any]] = []
    refused: list[str] = []
    for path in input_paths(paths):
        if str(path) != STANDARD and not path.exists():
            refused.append(missing_path_sentence(path))
            output.report_error(refused[-1])
            exit_code = 2
            continue
        verdicts = _verdicts(path)
        files += verdicts
        if not any(verdict["platform"] for verdict in verdicts):
            exit_code = max(exit_code, 1)
        if not as_json:
            for verdict in verdicts:
                for line in _lines(verdict, output.terminal_width()):
                    output.answer(line)
            if not verdicts:
                output.answer(f"{display_path(path)}: an empty folder")
    if as_json:
        output.answer_json({"files": files, "refused": refused})
    raise typer.Exit(exit_code)


@dataclass(slots=True)
class _Matcher:
    """Ask all importers about a source, and remember every importer's match."""

    platforms: list[str]
    matches: dict[str, dict[str, Match]] = field(default_factory=dict)
    """By source label, then by platform."""

    def __call__(self, source: Source) -> Claim | None:
        matches = self.matches[source.label] = importers.match_importers(source, self.platforms)
        return importers.winner(matches, source.label)


def _verdicts(path: Path) -> list[dict[str, Any]]:
    matcher = _Matcher(importers.platforms())
    return [_verdict(found, matcher) for found in discover(path, matcher)]


def _verdict(found: Unit | Unclaimed, matcher: _Matcher) -> dict[str, Any]:
    label = found.source.label if isinstance(found, Unit) else found.label
    matches = matcher.matches.get(label, {})
    verdict = {
        "path": label,
        "platform": None,
        "verdict": "no",
        "reason": "",
        "members": [],
        "claimed_by": [],
        "kind": None,
    }
    if isinstance(found, Unit):
        match = matches[found.platform]
        beside = [member for member in match.members if found.source.sibling(member).exists()]
        return {
            **verdict,
            "platform": found.platform,
            "verdict": match.verdict,
            "reason": match.reason,
            "members": beside,
        }
    if found.problem:
        claimants = [platform for platform, match in matches.items() if match.verdict != "no"]
        word = "conflict" if claimants else "problem"
        return {**verdict, "verdict": word, "reason": found.problem, "claimed_by": claimants}
    reasons = [match.reason for match in matches.values() if match.reason]
    return {**verdict, "reason": "; ".join(reasons), "kind": _kind(found)}


def _kind(found: Unclaimed) -> str | None:
    if found.source is None:
        return "ZIP"  # whose members are listed before it
    try:
        return kind_name(found.source)
    except (PalaverError, OSError):
        return None


def _lines(verdict: dict[str, Any], width: int | None) -> "Iterator[Text]":
    """Yield a verdict on one line, or with its path on a line of its own where the terminal is too narrow for both."""
    from rich.text import Text

    path, outcome = display_path(verdict["path"]), _outcome(verdict)
    names_path = verdict["verdict"] in {"problem", "conflict"} and verdict["path"] in verdict["reason"]
    line = outcome if names_path else Text.assemble(f"{path}: ", outcome)
    if width is None or line.cell_len <= width:
        yield line
        return
    from palaver.cli._terminal.layout import wrapped
    from palaver.cli._terminal.paths import shortened_path

    indent = "" if names_path else "    "
    if not names_path:
        yield Text(shortened_path(f"{path}:", width))
    for piece in wrapped(outcome.plain, width - len(indent)):
        yield Text(f"{indent}{piece}", outcome.spans[0].style if outcome.spans else "")


def _outcome(verdict: dict[str, Any]) -> "Text":
    from rich.text import Text

    match verdict["verdict"]:
        case "yes" | "maybe" as word:
            line = Text.assemble((verdict["platform"], "bold green" if word == "yes" else "bold yellow"))
            line.append(f"  {'' if word == 'yes' else 'perhaps: '}{escaped_line(verdict['reason'])}", "dim")
            if verdict["members"]:
                line.append(f", with {escaped_line(_some(verdict['members']))}", "dim")
            return line
        case "no" if known := format_named(verdict["kind"]):
            return Text.assemble(
                (f"{article(known.singular)} {known.singular}", "yellow"), ", which palaver does not read yet"
            )
        case "no" if verdict["reason"]:
            return Text(f"no conversation: {escaped_line(verdict['reason'])}", "dim")
        case "no":
            return Text.assemble(("no importer reads it", "yellow"), f" ({verdict['kind']})" if verdict["kind"] else "")
        case _:
            return Text.assemble((escaped_line(verdict["reason"]), "red"))


def _some(names: list[str]) -> str:
    """Return the first few names, and how many more there are."""
    if len(names) <= 4:
        return ", ".join(names)
    return f"{', '.join(names[:3])} and {len(names) - 3} more"
