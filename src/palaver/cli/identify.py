"""`palaver identify`: which importer reads a path, and why."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from palaver import importers
from palaver.cli._arguments import STANDARD, AsJson, Paths, input_paths
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, escaped_line
from palaver.importers._shared.contract import Match
from palaver.sources.discovery import Unclaimed, Unit, discover
from palaver.sources.match import Claim
from palaver.sources.source import Source

if TYPE_CHECKING:
    from rich.text import Text


def identify(paths: Paths, *, as_json: AsJson = False) -> None:
    """Show which importer reads a path, and why.

    PATH is a file, a ZIP, a folder (every file below it is told), or - for standard input.

    Exit codes: 0 every path has something that an importer reads, 1 one of them has not, 2 one does not exist.
    """
    exit_code = 0
    files: list[dict[str, Any]] = []
    refused: list[str] = []
    for path in input_paths(paths):
        if str(path) != STANDARD and not path.exists():
            refused.append(f"{path} does not exist")
            output.report_error(refused[-1])
            exit_code = 2
            continue
        verdicts = _verdicts(path)
        files += verdicts
        if not any(verdict["platform"] for verdict in verdicts):
            exit_code = max(exit_code, 1)
        if not as_json:
            for verdict in verdicts:
                output.answer(_shown(verdict))
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
    verdict = {"path": label, "platform": None, "verdict": "no", "reason": "", "members": [], "claimed_by": []}
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
    return {**verdict, "reason": "; ".join(reasons)}


def _shown(verdict: dict[str, Any]) -> "Text":
    from rich.text import Text

    line = Text(f"{display_path(verdict['path'])}: ")
    match verdict["verdict"]:
        case "yes" | "maybe" as word:
            line.append(verdict["platform"], "bold green" if word == "yes" else "bold yellow")
            line.append(f"  {'' if word == 'yes' else 'perhaps: '}{escaped_line(verdict['reason'])}", "dim")
            if verdict["members"]:
                line.append(f", with {escaped_line(_some(verdict['members']))}", "dim")
        case "no" if verdict["reason"]:
            line.append(f"no conversation: {escaped_line(verdict['reason'])}", "dim")
        case "no":
            line.append("no importer reads it", "yellow")
        case _:
            line.append(escaped_line(verdict["reason"]), "red")
    return line


def _some(names: list[str]) -> str:
    """Return the first few names, and how many more there are."""
    if len(names) <= 4:
        return ", ".join(names)
    return f"{', '.join(names[:3])} and {len(names) - 3} more"
