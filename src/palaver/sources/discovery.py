"""From what the user pointed at to the units that can be imported: folders are walked, ZIPs are looked into."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from os.path import normcase
from pathlib import Path, PurePosixPath

from palaver.errors import PalaverError
from palaver.sources.folders import ZIP_MAGIC, DiskFolder, files_of, walk_folders
from palaver.sources.inventory import distinct
from palaver.sources.source import Source
from palaver.sources.zips import Remark, ZipFolder


@dataclass(frozen=True, slots=True)
class Claim:
    """An importer's word for a source."""

    platform: str
    reason: str
    members: tuple[str, ...] = ()
    form: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    source: Source
    platform: str
    reason: str
    form: str = ""
    """The importer's own word for what it is; empty when it was not asked."""
    size_bytes: int = 0
    """How large the source was when it was found, for whoever shows progress."""
    remarks: tuple[Remark, ...] = ()
    """What is odd about the ZIP that it was found in, told once a ZIP."""
    members: tuple[str, ...] = ()
    """The other files and folders of the unit, named as the claim named them."""


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """A file nobody reads: unknown, or known to be no conversation (`reason`), or an error (`problem`)."""

    label: str
    problem: str = ""
    reason: str = ""
    source: Source | None = None
    """The same again, for whoever wants it read nonetheless: standard input can be opened once only."""


Judge = Callable[[Source], Claim | str | None]
"""Answers with a claim, with why the file is known to be no conversation, or with nothing."""
Recall = Callable[[str], Claim | str | None]
"""Answers for a file that was judged before and is as it was then: with the claim, why it is none, or nothing."""


@dataclass(slots=True)
class Found:
    """What is at or below some paths."""

    units: list[Unit] = field(default_factory=list[Unit])
    refused: list[str] = field(default_factory=list[str])
    """A sentence for each path or file that nobody can read."""
    unclaimed: list[str] = field(default_factory=list[str])
    """Files inside folders that nobody reads."""


def look_up(paths: Iterable[Path], judge: Judge, nothing: str) -> Found:
    """The units at some paths; a path without any is refused: it holds `nothing`."""
    found = Found()
    for path in distinct(paths):
        if str(path) != "-" and not path.exists():
            found.refused.append(f"{path} does not exist")
            continue
        before = len(found.units) + len(found.refused)
        for one in discover(path, judge):
            if isinstance(one, Unit):
                found.units.append(one)
            elif one.problem:
                found.refused.append(one.problem)
            elif path.is_dir() and not one.reason:
                found.unclaimed.append(one.label)
        if len(found.units) + len(found.refused) == before:
            found.refused.append(f"{path} holds {nothing}")
    return found


def discover(path: Path, judge: Judge, recall: Recall = lambda _: None) -> Iterator[Unit | Unclaimed]:
    """Yield the units at or below a path, and the files that belong to none."""
    source = Source.at(path)
    if source.is_folder:
        yield from _in_folder(path, judge, recall)
    elif _is_zip(source):
        yield from _in_zip(source, judge)
    else:
        yield _judged_with_members(source, judge)[0]


def _in_folder(top: Path, judge: Judge, recall: Recall) -> Iterator[Unit | Unclaimed]:
    claimed: set[str] = set()  # of paths: as objects, ten thousands of them take five times the room
    for folder in walk_folders(top):
        if not claimed.isdisjoint(map(normcase, (folder, *folder.parents))):
            continue
        unit, members = _judged_with_members(Source.at(folder), judge)
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
                yield from _in_zip(source, judge)
                continue
            found, members = _judged_with_members(source, judge if recalled is None else lambda _: recalled)
            claimed.update(normcase(folder / member) for member in members)
            yield found


def _is_zip(source: Source) -> bool:
    try:
        return source.head().startswith(ZIP_MAGIC) and source.is_zip()
    except (PalaverError, OSError):
        return False  # whoever judges it meets the same error, and tells it


def _in_zip(source: Source, judge: Judge) -> Iterator[Unit | Unclaimed]:
    """A ZIP is judged as the folders it holds: its own bytes, where nothing is compressed, look like its members'."""
    try:
        whole = source.as_zip()
        names = whole.names()
        remarks = whole.remarks()
    except PalaverError as error:
        yield Unclaimed(source.label, str(error))
        return
    found_any = False
    for found in _in_folders(whole, names, judge):
        if isinstance(found, Unit) and not found_any:
            found_any = True
            yield replace(found, remarks=tuple(remarks))
        else:
            yield found
    if not found_any:
        problems = [f"{source.label}: {message} ({where})" for _, where, message in remarks]
        yield Unclaimed(source.label, "; ".join(problems))


def _in_folders(whole: ZipFolder, names: list[str], judge: Judge) -> Iterator[Unit | Unclaimed]:
    """The units in a ZIP, folder by folder, outer ones first."""
    folders: dict[str, list[str]] = {"": []}
    for name in names:
        above = name.rpartition("/")[0]
        folders.setdefault(above, []).append(name)
        while above:
            above = above.rpartition("/")[0]
            folders.setdefault(above, [])
    claimed: set[PurePosixPath] = set()
    for folder in sorted(folders):
        place = PurePosixPath(folder)
        if folder and not claimed.isdisjoint((place, *place.parents)):
            continue
        unit, members = _judged_with_members(Source(whole.inside(folder) if folder else whole, ""), judge)
        if isinstance(unit, Unit):
            yield unit
            claimed.update(place / member for member in members)
            if not members:
                claimed.add(place)
        for name in folders[folder]:
            path = PurePosixPath(name)
            if not claimed.isdisjoint((path, *path.parents)):
                continue
            if _is_zip(member := Source(whole, name)):
                yield Unclaimed(member.label)
                continue
            found, members = _judged_with_members(member, judge)
            claimed.update(path.parent / member for member in members)
            yield found


def _judged_with_members(source: Source, judge: Judge) -> tuple[Unit | Unclaimed, tuple[str, ...]]:
    try:
        claim = judge(source)
    except (PalaverError, OSError) as error:
        return Unclaimed(source.label, str(error)), ()
    except Exception as error:  # noqa: BLE001 - an importer's bug must not end the run
        problem = f"{source.label}: {type(error).__name__}: {error} (this is a bug of palaver)"
        return Unclaimed(source.label, problem), ()
    # A source keeps the head it was judged by: ten thousand of them would fill the memory.
    unopened = Source(source.folder, source.name)
    if not isinstance(claim, Claim):
        return Unclaimed(source.label, reason=claim or "", source=unopened), ()
    size_bytes = claim.size_bytes or size_of(source)
    unit = Unit(unopened, claim.platform, claim.reason, claim.form, size_bytes, members=claim.members)
    return unit, claim.members


def size_of(source: Source) -> int:
    """How large a source is, as far as it is known."""
    try:
        return source.size_bytes
    except (PalaverError, OSError):
        return 0  # it has vanished, which whoever reads it will tell
