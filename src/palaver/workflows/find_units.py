"""Find the units at or below the paths that the user named: walk, ask the importers, list what none of them reads."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from palaver.importers import match_importers, platforms, winner
from palaver.importers._shared.unread_formats import unread_format
from palaver.model.report import Report
from palaver.sources.discovery import Recall, Unclaimed, Unit, discover, missing_path_sentence, size_of
from palaver.sources.inventory import distinct_paths
from palaver.sources.match import UNCHANGED, UNREAD_FORMAT, Claim
from palaver.sources.source import Source
from palaver.workflows.unread_paths import (
    file_sentence,
    folder_sentence,
    foreign_file_sentence,
    path_name,
    zip_sentence,
)


def find_units(
    paths: Iterable[Path],
    platform: str | None = None,
    recall: Recall = lambda _: None,
    unclaimed: dict[str, str] | None = None,
    *,
    refuses_barren: bool = False,
) -> tuple[list[Unit], Report]:
    """Return the units at or below some paths, and a report that starts with what no importer reads.

    `recall` answers for files that were judged in an earlier run. Files that no importer reads are added to
    `unclaimed`, each with the reason. `refuses_barren` refuses folders without any unit, as the user gave them by name.
    """
    units: list[Unit] = []
    report = Report()
    asked = [platform] if platform else platforms()
    for path in distinct_paths(paths):
        if problem := _unreadable_reason(path):
            report.refused.append(problem)
            continue
        found = list(discover(path, lambda source: _claim(source, asked), recall))
        here = [unit for unit in found if isinstance(unit, Unit)]
        others = [file for file in found if isinstance(file, Unclaimed)]
        problems = [file.problem for file in others if file.problem]
        if unclaimed is not None:
            unclaimed.update((file.label, file.reason) for file in others if not file.problem)
        unread = {file.label: file.reason for file in others if file.reason.startswith(UNREAD_FORMAT)}
        unknown = [file.label for file in others if not file.problem and (not file.reason or file.label in unread)]
        is_folder = path.is_dir()
        units += here
        report.refused += problems
        if is_folder or here:
            report.add_unclaimed(unknown, unread)
        if here or problems or any(file.reason == UNCHANGED for file in others):
            continue
        if is_folder:
            if refuses_barren:
                report.refused.append(folder_sentence(path, unknown, unread, platform))
            continue
        named = _named_source(path, others, unread, platform, is_checked=refuses_barren)
        if isinstance(named, Unit):
            units.append(named)
        else:
            report.refused.append(named)
    return units, report


def _named_source(
    path: Path, others: list[Unclaimed], unread: Mapping[str, str], platform: str | None, *, is_checked: bool
) -> Unit | str:
    """Return a file that no importer recognizes as a unit of the named platform, or say why it cannot be read.

    If it is checked, it must not be something that cannot be of that platform.
    """
    source = next((file.source for file in others if file.source), None) or Source.at(path)
    name = path_name(path)
    if len(others) != 1 or source.is_zip():
        return zip_sentence(path, unread, platform)
    if platform is None:
        return file_sentence(source, name, others[0].reason)
    if is_checked and (problem := foreign_file_sentence(source, name, platform)):
        return problem
    return Unit(source, platform, size_bytes=size_of(source))


def _unreadable_reason(path: Path) -> str:
    try:
        if str(path) != "-":
            path.stat()
    except FileNotFoundError:
        return missing_path_sentence(path)
    except OSError as error:
        return f"cannot read {path}: {error.strerror or error}"
    return ""


def _claim(source: Source, asked: list[str]) -> Claim | str | None:
    judgements = match_importers(source, asked)
    if claim := winner(judgements, source.label):
        return claim
    if reason := next((match.reason for match in judgements.values() if match.reason), None):
        return reason
    known = unread_format(source)
    return known.reason if known else None
