"""`palaver identify`: which importer reads a path, and why."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from palaver.cli._arguments import STANDARD, AsJson, Paths, given_paths
from palaver.cli._terminal import output
from palaver.cli._terminal.words import place, plain

if TYPE_CHECKING:
    from rich.text import Text

    from palaver.importers._shared.contract import Match
    from palaver.sources.discovery import Claim, Unclaimed, Unit
    from palaver.sources.source import Source


def identify(paths: Paths, *, as_json: AsJson = False) -> None:
    """Tell which importer reads a path, and why.

    PATH is a file, a ZIP, a folder (every file below it is told), or - for standard input.

    Exit codes: 0 every path has something that an importer reads, 1 one of them has not, 2 one does not exist.
    """
    exit_code = 0
    files: list[dict[str, Any]] = []
    refused: list[str] = []
    for path in given_paths(paths):
        if str(path) != STANDARD and not path.exists():
            refused.append(f"{path} does not exist")
            output.complain(refused[-1])
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
                output.answer(f"{place(path)}: an empty folder")
    if as_json:
        output.answer_json({"files": files, "refused": refused})
    raise typer.Exit(exit_code)


@dataclass(slots=True)
class _Judge:
    """Asks all importers, and remembers what each said."""

    platforms: list[str]
    said: "dict[str, dict[str, Match]]" = field(default_factory=dict)

    def __call__(self, source: "Source") -> "Claim | None":
        from palaver.importers import judge, winner
        from palaver.sources.discovery import Claim

        judgements = self.said[source.label] = judge(source, self.platforms)
        won = winner(judgements, source.label)
        return Claim(won[0], won[1].reason, won[1].members) if won else None


def _verdicts(path: Path) -> list[dict[str, Any]]:
    from palaver.importers import platforms
    from palaver.sources.discovery import discover

    judge = _Judge(platforms())
    return [_verdict(found, judge) for found in discover(path, judge)]


def _verdict(found: "Unit | Unclaimed", judge: _Judge) -> dict[str, Any]:
    from palaver.sources.discovery import Unit

    label = found.source.label if isinstance(found, Unit) else found.label
    said = judge.said.get(label, {})
    verdict = {"path": label, "platform": None, "verdict": "no", "reason": "", "members": [], "claimed_by": []}
    if isinstance(found, Unit):
        match = said[found.platform]
        beside = [member for member in match.members if found.source.beside(member).exists()]
        told = {"platform": found.platform, "verdict": match.verdict, "reason": match.reason, "members": beside}
        return {**verdict, **told}
    if found.problem:
        claimants = [platform for platform, match in said.items() if match.verdict != "no"]
        word = "conflict" if claimants else "problem"
        return {**verdict, "verdict": word, "reason": found.problem, "claimed_by": claimants}
    known = [match.reason for match in said.values() if match.reason]
    return {**verdict, "reason": "; ".join(known)}


def _shown(verdict: dict[str, Any]) -> "Text":
    from rich.text import Text

    line = Text(f"{place(verdict['path'])}: ")
    match verdict["verdict"]:
        case "yes" | "maybe" as word:
            line.append(verdict["platform"], "bold green" if word == "yes" else "bold yellow")
            line.append(f"  {'' if word == 'yes' else 'perhaps: '}{plain(verdict['reason'])}", "dim")
            if verdict["members"]:
                line.append(f", with {plain(_some(verdict['members']))}", "dim")
        case "no" if verdict["reason"]:
            line.append(f"no conversation: {plain(verdict['reason'])}", "dim")
        case "no":
            line.append("no importer reads it", "yellow")
        case _:
            line.append(plain(verdict["reason"]), "red")
    return line


def _some(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    if len(names) <= 4:
        return ", ".join(names)
    return f"{', '.join(names[:3])} and {len(names) - 3} more"
