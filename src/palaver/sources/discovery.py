"""Discovery of the units that can be imported at a path, in its folders and in its ZIP files."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from os.path import normcase
from pathlib import Path, PurePosixPath

from palaver.errors import PalaverError
from palaver.sources.folders import ZIP_MAGIC, DiskFolder, files_of, walk_folders
from palaver.sources.inventory import FileStamps, distinct_paths, inventory
from palaver.sources.match import NAMED, Claim, Match
from palaver.sources.source import Source
from palaver.sources.zip.folder import ENCRYPTED, NESTED, Remark, ZipFolder


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest thing that can be imported on its own, and the importer that reads it."""

    source: Source
    platform: str
    match: Match = NAMED
    size_bytes: int = 0
    """The size of the source when it was found, for progress."""
    remarks: tuple[Remark, ...] = ()
    """Findings on the ZIP that holds the unit; only the first unit of a ZIP carries them."""


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """A file that no importer reads: unknown, known not to be a conversation (`reason`), or in error (`problem`)."""

    label: str
    problem: str = ""
    reason: str = ""
    source: Source | None = None
    """The source itself, for callers that read it anyway: standard input can be opened only once."""


Judge = Callable[[Source], Claim | str | None]
"""Returns the claim, or why the file is known not to be a conversation, or None."""
Recall = Callable[[str], Claim | str | None]
"""Returns the earlier verdict of `Judge` on an unchanged file, by its path; None if there is none."""


@dataclass(slots=True)
class UnitsFound:
    """The units at or below some paths, and the paths and files without any."""

    units: list[Unit] = field(default_factory=list[Unit])
    refused: list[str] = field(default_factory=list[str])
    """A sentence for each path or file that cannot be read."""
    unclaimed: list[str] = field(default_factory=list[str])
    """Files in folders that no importer reads."""


def units_at(paths: Iterable[Path], judge: Judge, nothing: str) -> UnitsFound:
    """Find the units at some paths; refuse a path without units because it holds `nothing`."""
    found = UnitsFound()
    for path in distinct_paths(paths):
        if str(path) != "-" and not path.exists():
            found.refused.append(missing_path_sentence(path))
            continue
        before = len(found.units) + len(found.refused)
        reasons: list[str] = []
        for item in discover(path, judge):
            if isinstance(item, Unit):
                found.units.append(item)
            elif item.problem:
                found.refused.append(item.problem)
            elif item.reason:
                reasons.append(f"{item.label}: {item.reason}")
            elif path.is_dir():
                found.unclaimed.append(item.label)
        has_nothing = len(found.units) + len(found.refused) == before
        if not path.is_dir():
            found.refused += reasons
        elif has_nothing:
            found.refused += reasons[:1]
        if has_nothing and not reasons:
            found.refused.append(f"{path} holds {nothing}")
    return found


def missing_path_sentence(path: Path) -> str:
    """Say that a path does not exist, and which name in the same folder is a typo away."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        names = []
    from difflib import get_close_matches

    if close := get_close_matches(path.name, names, n=1, cutoff=0.75):
        return f"{path} does not exist: did you mean {close[0]}?"
    return f"{path} does not exist"


def discover(path: Path, judge: Judge, recall: Recall = lambda _: None) -> Iterator[Unit | Unclaimed]:
    """Yield the units at or below a path, and the files that belong to no unit."""
    source = Source.at(path)
    if source.is_folder:
        yield from _discover_in_folder(path, judge, recall)
    elif _is_zip(source):
        yield from _discover_in_zip(source, judge)
    else:
        yield _judge_with_members(source, judge)[0]


def _discover_in_folder(top: Path, judge: Judge, recall: Recall) -> Iterator[Unit | Unclaimed]:
    claimed: set[str] = set()  # strings: tens of thousands of Path objects take five times the memory
    for folder in walk_folders(top):
        if not claimed.isdisjoint(map(normcase, (folder, *folder.parents))):
            continue
        unit, members = _judge_with_members(Source.at(folder), judge)
        if isinstance(unit, Unit):
            yield unit
            claimed.update(normcase(folder / member) for member in members)
            if not members:
                claimed.add(normcase(folder))
                continue
        try:
            files = files_of(folder)
        except PalaverError as error:
            yield Unclaimed(str(folder), str(error))
            continue
        disk = DiskFolder(folder)
        for file in files:
            if normcase(file) in claimed:
                continue
            source = Source(disk, file.name)
            if (recalled := recall(str(file))) is None and _is_zip(source):
                yield from _discover_in_zip(source, judge)
                continue
            found, members = _judge_with_members(source, judge if recalled is None else lambda _: recalled)
            claimed.update(normcase(folder / member) for member in members)
            yield found


def _is_zip(source: Source) -> bool:
    try:
        return source.head().startswith(ZIP_MAGIC) and source.is_zip()
    except (PalaverError, OSError):
        return False  # judging it raises the same error, which is reported


def _discover_in_zip(source: Source, judge: Judge) -> Iterator[Unit | Unclaimed]:
    """Yield the units in a ZIP, judged by its folders: its own bytes look like its members' if these are stored."""
    try:
        archive = source.as_zip()
        names = archive.names()
        remarks = archive.remarks()
    except PalaverError as error:
        yield Unclaimed(source.label, str(error))
        return
    found_any = False
    for found in _discover_in_zip_folders(archive, names, judge):
        if isinstance(found, Unit) and not found_any:
            found_any = True
            yield replace(found, remarks=tuple(remarks))
        else:
            yield found
    if not found_any:
        yield Unclaimed(source.label, _zip_problem(source, remarks))


def _zip_problem(source: Source, remarks: list[Remark]) -> str:
    """Say why nothing in a ZIP could be read, in one sentence for each kind of remark; empty without any."""
    if any(kind is ENCRYPTED for kind, _, _ in remarks):
        return (
            f"{source.label} is protected by a password: unpack it with its password "
            f"(for example `7z x {source.name}`), then import the folder"
        )
    nested = [where for kind, where, _ in remarks if kind is NESTED]
    if nested and len(nested) == len(remarks):
        more = f" and {len(nested) - 1:,} more" if len(nested) > 1 else ""
        return f"{source.label} holds another ZIP ({nested[0]}{more}): unpack it, then import the folder"
    by_kind: dict[str, list[str]] = {}
    for kind, where, message in remarks:
        by_kind.setdefault(kind.code, []).append(f"{where}: {message}" if where else message)
    problems = [f"{first} (and {len(others):,} more)" if others else first for first, *others in by_kind.values()]
    return f"{source.label}: {'; '.join(problems)}" if problems else ""


def _discover_in_zip_folders(archive: ZipFolder, names: list[str], judge: Judge) -> Iterator[Unit | Unclaimed]:
    """Yield the units in a ZIP, folder by folder, outer folders first."""
    folders: dict[str, list[str]] = {"": []}
    for name in names:
        parent = name.rpartition("/")[0]
        folders.setdefault(parent, []).append(name)
        while parent:
            parent = parent.rpartition("/")[0]
            folders.setdefault(parent, [])
    claimed: set[PurePosixPath] = set()
    for folder in sorted(folders):
        folder_path = PurePosixPath(folder)
        if folder and not claimed.isdisjoint((folder_path, *folder_path.parents)):
            continue
        unit, members = _judge_with_members(Source(archive.subfolder(folder) if folder else archive, ""), judge)
        if isinstance(unit, Unit):
            yield unit
            claimed.update(folder_path / member for member in members)
            if not members:
                claimed.add(folder_path)
        for name in folders[folder]:
            path = PurePosixPath(name)
            if not claimed.isdisjoint((path, *path.parents)):
                continue
            if _is_zip(member := Source(archive, name)):
                yield Unclaimed(member.label)
                continue
            found, members = _judge_with_members(member, judge)
            claimed.update(path.parent / member for member in members)
            yield found


def _judge_with_members(source: Source, judge: Judge) -> tuple[Unit | Unclaimed, tuple[str, ...]]:
    try:
        claim = judge(source)
    except (PalaverError, OSError) as error:
        return Unclaimed(source.label, str(error)), ()
    except Exception as error:  # noqa: BLE001 - an importer's bug must not end the run
        problem = f"{source.label}: {type(error).__name__}: {error} (this is a bug in palaver)"
        return Unclaimed(source.label, problem), ()
    # A source keeps the head it was judged by: ten thousand heads would fill the memory.
    unopened = Source(source.folder, source.name)
    if not isinstance(claim, Claim):
        return Unclaimed(source.label, reason=claim or "", source=unopened), ()
    match = claim.match
    return Unit(unopened, claim.platform, match, match.size_bytes or size_of(source)), match.members


def size_of(source: Source) -> int:
    """Return the size of a source; 0 if it is unknown."""
    try:
        return source.size_bytes
    except (PalaverError, OSError):
        return 0  # the file vanished; opening it reports that


_AFTER_SEPARATOR = chr(ord(os.sep) + 1)


class UnitFiles:
    """The files of units among those found at a path; of a single file, its unit may have others beside it."""

    def __init__(self, files: FileStamps, *, is_single_file: bool = False) -> None:
        self._files = files
        self._paths = sorted(files)
        self._is_single_file = is_single_file

    def of(self, source: Source, members: Iterable[str]) -> FileStamps:
        """Return the files of a unit: its own and those of its members."""
        unit_path = disk_path(source)
        if unit_path is None:
            return {}
        if isinstance(source.folder, ZipFolder):
            return self._at(unit_path)
        if not source.is_folder:
            found = self._at(unit_path)
            folder = os.path.dirname(unit_path)
        elif members:
            found, folder = {}, unit_path
        else:
            return self._below(unit_path)
        for member in members:
            path = os.path.join(folder, member.replace("/", os.sep))
            found |= inventory(Path(path)) if self._is_single_file else self._at(path) or self._below(path)
        return found

    def _at(self, path: str) -> FileStamps:
        return {path: self._files[path]} if path in self._files else {}

    def _below(self, folder: str) -> FileStamps:
        first = bisect_left(self._paths, folder + os.sep)
        last = bisect_left(self._paths, folder + _AFTER_SEPARATOR, first)
        return {path: self._files[path] for path in self._paths[first:last]}


def disk_path(source: Source) -> str | None:
    """Return the path on disk of a source, or of the ZIP that contains it; None for standard input."""
    match source.folder:
        case DiskFolder() as folder:
            return folder.label_of(source.name) if source.name else folder.label
        case ZipFolder() as folder:
            return str(folder.path)
        case _:
            return None
