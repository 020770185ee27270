"""From what the user pointed at to the units that can be imported: folders are walked, ZIPs are looked into."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from palaver.errors import PalaverError
from palaver.sources.folders import files_of, walk_folders
from palaver.sources.source import Source


@dataclass(frozen=True, slots=True)
class Claim:
    """An importer's word for a source."""

    platform: str
    reason: str
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    source: Source
    platform: str
    reason: str

    @property
    def size_bytes(self) -> int:
        return self.source.size_bytes


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """A file nobody reads; with a `problem` when that is an error rather than a fact."""

    label: str
    problem: str = ""


Judge = Callable[[Source], Claim | None]


def discover(path: Path, judge: Judge) -> Iterator[Unit | Unclaimed]:
    """Yield the units at or below a path, and the files that belong to none."""
    source = Source.at(path)
    if source.is_folder:
        yield from _in_folder(path, judge)
        return
    found = _judged(source, judge)
    if isinstance(found, Unclaimed) and not found.problem and source.is_zip():
        yield from _in_zip(source, judge)
    else:
        yield found


def _in_folder(top: Path, judge: Judge) -> Iterator[Unit | Unclaimed]:
    claimed: set[Path] = set()
    for folder in walk_folders(top):
        if not claimed.isdisjoint((folder, *folder.parents)):
            continue
        if isinstance(unit := _judged(Source.at(folder), judge), Unit):
            claimed.add(folder)
            yield unit
            continue
        try:
            files = files_of(folder)
        except PalaverError as error:
            yield Unclaimed(str(folder), str(error))
            continue
        for file in files:
            if file in claimed:
                continue
            source = Source.at(file)
            found, members = _judged_with_members(source, judge)
            claimed.update(folder / member for member in members)
            if isinstance(found, Unclaimed) and not found.problem and source.is_zip():
                yield from _in_zip(source, judge)
            else:
                yield found


def _in_zip(source: Source, judge: Judge) -> Iterator[Unit | Unclaimed]:
    inside = source.as_zip()
    claimed: set[PurePosixPath] = set()
    found_any = False
    for name in inside.folder.names():
        path = PurePosixPath(name)
        if not claimed.isdisjoint((path, *path.parents)):
            continue
        found, members = _judged_with_members(Source(inside.folder, name), judge)
        claimed.update(path.parent / member for member in members)
        found_any = found_any or isinstance(found, Unit)
        yield found
    if not found_any:
        yield Unclaimed(source.label)


def _judged(source: Source, judge: Judge) -> Unit | Unclaimed:
    return _judged_with_members(source, judge)[0]


def _judged_with_members(source: Source, judge: Judge) -> tuple[Unit | Unclaimed, tuple[str, ...]]:
    try:
        claim = judge(source)
    except (PalaverError, OSError) as error:
        return Unclaimed(source.label, str(error)), ()
    if claim is None:
        return Unclaimed(source.label), ()
    return Unit(source, claim.platform, claim.reason), claim.members
