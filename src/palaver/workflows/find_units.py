"""Find the units at or below the paths that the user named: walk, ask the importers, list what none of them reads."""

from collections.abc import Iterable
from pathlib import Path

from palaver.importers import match_importers, platforms, winner
from palaver.model.report import Report
from palaver.sources.discovery import Recall, Unclaimed, Unit, discover, size_of
from palaver.sources.inventory import distinct_paths
from palaver.sources.match import Claim
from palaver.sources.source import Source


def find_units(
    paths: Iterable[Path],
    platform: str | None = None,
    recall: Recall = lambda _: None,
    unclaimed: dict[str, str] | None = None,
) -> tuple[list[Unit], Report]:
    """Return the units at or below some paths, and a report that starts with what no importer reads.

    `recall` answers for files that were judged in an earlier run. Files that no importer reads are added to
    `unclaimed`, each with the reason.
    """
    units: list[Unit] = []
    report = Report()
    asked = [platform] if platform else platforms()
    for path in distinct_paths(paths):
        if problem := _unreadable_reason(path):
            report.refused.append(problem)
            continue
        found = list(discover(path, lambda source: _claim(source, asked), recall))
        units += [unit for unit in found if isinstance(unit, Unit)]
        others = [file for file in found if isinstance(file, Unclaimed)]
        report.refused += [file.problem for file in others if file.problem]
        if unclaimed is not None:
            unclaimed.update((file.label, file.reason) for file in others if not file.problem)
        if path.is_dir() or any(isinstance(unit, Unit) for unit in found):
            report.unclaimed += [file.label for file in others if not (file.problem or file.reason)]
        elif platform and len(others) == 1 and not others[0].problem:
            source = others[0].source or Source.at(path)
            units.append(Unit(source, platform, size_bytes=size_of(source)))
        elif not any(file.problem for file in others):
            report.refused.append(f"no importer reads {path}: see `palaver sources` for what is known")
    return units, report


def _unreadable_reason(path: Path) -> str:
    try:
        if str(path) != "-":
            path.stat()
    except FileNotFoundError:
        return f"{path} does not exist"
    except OSError as error:
        return f"cannot read {path}: {error.strerror or error}"
    return ""


def _claim(source: Source, asked: list[str]) -> Claim | str | None:
    judgements = match_importers(source, asked)
    if claim := winner(judgements, source.label):
        return claim
    return next((match.reason for match in judgements.values() if match.reason), None)
