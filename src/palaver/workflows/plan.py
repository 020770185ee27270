"""Plan an import: of all sources that were found, those that are new or changed since the archive last read them.

A source that an earlier revision of its importer read counts as changed, and is read from its beginning.

Mostly nothing has changed, so the modules that open and read files are imported only where something has.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.known_files import KnownFiles, KnownSource, UnclaimedFile, load_known_files, source_cursors
from palaver.archive.source_records import CursorRow, SourceDescription
from palaver.importers import platforms, revision
from palaver.model.report import Report
from palaver.sources.inventory import FileStamps, distinct_paths, inventory, storable_text
from palaver.sources.match import NAMED, UNCHANGED, UNREAD_FORMAT, Claim, Match

if TYPE_CHECKING:
    from palaver.sources.discovery import Unit, UnitFiles


_HASHED_HEAD_BYTES = 1 << 12


@dataclass(slots=True)
class Plan:
    """What to read, what not to read, and the files to remember as unclaimed."""

    tasks: "list[ImportTask]" = field(default_factory=list)
    report: Report = field(default_factory=Report)
    unclaimed: dict[str, UnclaimedFile] = field(default_factory=dict[str, UnclaimedFile])
    released: list[KnownSource] = field(default_factory=list[KnownSource])
    """Sources that are still there, and that their importer no longer claims."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read and nothing to remember."""
        return not (self.tasks or self.unclaimed or self.released)

    def rereads(self) -> Counter[str]:
        """Return how many sources of each platform an earlier revision of their importer read."""
        return Counter(task.unit.platform for task in self.tasks if task.is_outdated)

    def add(self, other: "Plan") -> None:
        self.tasks += other.tasks
        self.report.add_unclaimed(other.report.unclaimed, other.report.unread)
        self.report.unclaimed_before |= other.report.unclaimed_before
        self.report.refused += other.report.refused
        self.report.unchanged += other.report.unchanged
        self.unclaimed |= other.unclaimed
        self.released += other.released


class Planner:
    """Compares paths with one state of the archive, which need not exist yet."""

    def __init__(
        self,
        archive: Path,
        options: Mapping[str, dict[str, str]],
        *,
        is_again: bool = False,
        since_ns: int = 0,
        known_files: KnownFiles | None = None,
    ) -> None:
        self.archive = archive
        self._options = options
        self._is_again = is_again
        self._since_ns = since_ns
        self.known_files = known_files or KnownFiles()
        if known_files is None and archive.exists():
            with closing(open_to_read(archive)) as connection:
                self.known_files = load_known_files(connection)

    @cached_property
    def outdated(self) -> dict[int, KnownSource]:
        """The sources that an earlier revision of their importer read to their end, by key."""
        known = self.known_files.sources()
        return {source.key: source for source in known if source.imported_at and is_outdated(source)}

    def to_read_again(self, options: Mapping[str, dict[str, str]]) -> "Planner":
        """Return a planner with the same knowledge and other options, which plans every source that it finds."""
        return Planner(self.archive, options, is_again=True, known_files=self.known_files)

    def plan(self, paths: Iterable[Path], platform: str | None = None, *, refuses_barren: bool = False) -> Plan:
        """Plan what to read at or below some paths, by one importer or by the one that recognizes each source.

        `refuses_barren` refuses paths where there is nothing to read, as the user gave them by name.
        """
        plan = Plan()
        scan = _Scan(
            self,
            self._options,
            platform,
            is_partial=bool(self._since_ns),
            is_again=self._is_again,
            refuses_barren=refuses_barren,
        )
        given = distinct_paths(_absolute(paths))
        for path in given:
            files = inventory(path)
            if self._since_ns:
                files = {name: stamp for name, stamp in files.items() if stamp[1] >= self._since_ns}
                if not files and path.exists():
                    continue
            if not scan.nothing_changed(files, plan):
                scan.classify(path, files, plan)
        resumed = self._cursors(scan)
        for unit, files, known in scan.changed:
            if self._is_this_archive(unit):
                if Path(unit.source.label) in given:
                    plan.report.refused.append(f"{unit.source.label} is this archive: nothing to import")
                continue
            plan.tasks.append(self._task(unit, files, known, resumed.get(known.key, ()) if known else ()))
        plan.report.unchanged = sorted(map(self.known_files.label, scan.unchanged))
        known = self.known_files.unclaimed
        plan.report.unclaimed_before = {name for name in plan.report.unclaimed if storable_text(name) in known}
        return plan

    def _is_this_archive(self, unit: "Unit") -> bool:
        from palaver.sources.discovery import disk_path

        path = disk_path(unit.source)
        try:
            return path is not None and Path(path).samefile(self.archive)
        except OSError:
            return False

    def _cursors(self, scan: "_Scan") -> "dict[int, tuple[CursorRow, ...]]":
        known = [source for _, _, source in scan.changed if source and scan.would_read_alike([source.key])]
        if self._is_again or not known:
            return {}
        with closing(open_to_read(self.archive)) as connection:
            return {source.key: source_cursors(connection, source) for source in known}

    def _task(
        self, unit: "Unit", files: FileStamps, known: KnownSource | None, resumed: "tuple[CursorRow, ...]"
    ) -> "ImportTask":
        from palaver.archive.source_records import FileRow, SourceDescription

        options = self._options.get(unit.platform, {})
        rows = tuple(FileRow(storable_text(name), *stamp) for name, stamp in sorted(files.items()))
        description = SourceDescription(
            unit.platform,
            label_of(unit),
            unit.match.form,
            unit.match.reason,
            unit.match.members,
            _options_key(options),
            rows,
            revision(unit.platform),
        )
        return ImportTask(unit, description, options, resumed, known, archive=self.archive)


class _Scan:
    """One pass over paths, for one importer or for all of them."""

    def __init__(
        self,
        planner: Planner,
        options: Mapping[str, dict[str, str]],
        platform: str | None,
        *,
        is_partial: bool,
        is_again: bool,
        refuses_barren: bool,
    ) -> None:
        self._planner = planner
        self._known_files = planner.known_files
        self._options = options
        self._platform = platform
        self._is_partial = is_partial
        self._is_again = is_again
        self._refuses_barren = refuses_barren
        self.changed: list[tuple[Unit, FileStamps, KnownSource | None]] = []
        self.unchanged: set[int] = set()

    @cached_property
    def _asked(self) -> str:
        return asked_importers(self._platform)

    def nothing_changed(self, files: FileStamps, plan: Plan) -> bool:
        """Return whether no file is new or changed; if so, add the files to the plan as they are."""
        if self._is_again or not files:
            return False
        sources = self._known_files.unchanged_sources(files, lambda: self._asked)
        if sources is None or not self.would_read_alike(sources) or (self._refuses_barren and not sources):
            return False
        self.unchanged |= sources
        unclaimed = self._known_files.unclaimed
        reasons = {name: known.reason for name in sorted(files) if (known := unclaimed.get(storable_text(name)))}
        unread = {name: reason for name, reason in reasons.items() if reason.startswith(UNREAD_FORMAT)}
        unknown = [name for name, reason in reasons.items() if not reason or name in unread]
        plan.report.add_unclaimed(unknown, unread)
        return True

    def classify(self, path: Path, files: FileStamps, plan: Plan) -> None:
        """Find the units at a path, and sort them into changed, unchanged and unclaimed."""
        from palaver.sources.discovery import UnitFiles
        from palaver.workflows.find_units import find_units

        unclaimed: dict[str, str] = {}
        units, report = find_units(
            [path],
            self._platform,
            lambda name: self._recall(name, files),
            unclaimed,
            refuses_barren=self._refuses_barren,
        )
        plan.report.add_unclaimed(report.unclaimed, report.unread)
        plan.report.refused += report.refused
        unit_files = UnitFiles(files, is_single_file=path.is_file())
        for unit in units:
            own = unit_files.of(unit.source, unit.match.members)
            if self._is_partial and not own:
                continue
            known = self._known_files.source_named(unit.platform, label_of(unit))
            if known and self._is_unchanged(known, own):
                self.unchanged.add(known.key)
            else:
                self.changed.append((unit, own, known))
        if not self._is_partial:
            plan.released += self._released(units, unit_files, files, unclaimed)
        for name, reason in unclaimed.items():
            if reason == UNCHANGED:
                self.unchanged.update(self._known_files.source_keys(storable_text(name)))
            elif name in files:
                plan.unclaimed[storable_text(name)] = UnclaimedFile(files[name], reason, self._asked)

    def _is_unchanged(self, known: KnownSource, files: FileStamps) -> bool:
        is_unchanged = self._known_files.is_unchanged(known, files)
        return is_unchanged and not self._is_again and self.would_read_alike([known.key])

    def _released(
        self, units: "list[Unit]", unit_files: "UnitFiles", files: FileStamps, unclaimed: Collection[str]
    ) -> list[KnownSource]:
        """Return the outdated sources among these files that their importer no longer claims."""
        outdated = self._planner.outdated
        if not outdated:
            return []
        held: dict[int, list[str]] = {}
        for name in files:
            for key in self._known_files.source_keys(storable_text(name)):
                if key in outdated and (self._platform or outdated[key].platform) == outdated[key].platform:
                    held.setdefault(key, []).append(name)
        for unit in units:
            if known := self._known_files.source_named(unit.platform, label_of(unit)):
                held.pop(known.key, None)
        if not held:
            return []
        judged = {*unclaimed, *(label_of(unit) for unit in units)}
        for unit in units:
            judged.update(unit_files.of(unit.source, unit.match.members))
        # A file that could not be read now was not judged, and stays where it is.
        return [
            outdated[key]
            for key, names in held.items()
            if (outdated[key].label in judged or judged.issuperset(names)) and outdated[key].reason != NAMED.reason
        ]

    def would_read_alike(self, sources: Iterable[int]) -> bool:
        """Return whether these sources would be read by the importer, revision and options of the last time."""
        readings = self._known_files.readings(sources)
        return readings is not None and all(
            options == _options_key(self._options.get(platform, {}))
            and (self._platform or platform) == platform
            and read_with >= revision(platform)
            for platform, options, read_with in readings
        )

    def _recall(self, name: str, files: FileStamps) -> Claim | str | None:
        """Return the claim or the reason of an earlier run for a file that has not changed since, or has only grown."""
        if self._is_again:
            return None
        stamp = files.get(name)
        name = storable_text(name)
        if (unclaimed := self._known_files.unclaimed.get(name)) is not None:
            return unclaimed.reason if unclaimed.stamp == stamp and unclaimed.asked == self._asked else None
        sources = self._known_files.source_keys(name)
        if not sources or stamp is None or not self.would_read_alike(sources):
            return None
        is_unchanged = self._known_files.is_file_unchanged(name, stamp)
        if is_unchanged and any("!" in self._known_files.label(key) for key in sources):
            return UNCHANGED
        if is_unchanged or 0 < self._known_files.files[name][0] < stamp[0]:  # a file that only grew keeps its importer
            for key in sources:
                source = self._known_files.source(key)
                if source and source.label == name:
                    return Claim(source.platform, Match.yes(source.reason, source.members, source.form))
        return None


def asked_importers(platform: str | None) -> str:
    """Name one importer or all of them, with revisions: a change makes files be judged again that none of them read."""
    return " ".join(f"{asked}@{revision(asked)}" for asked in ([platform] if platform else platforms()))


def is_outdated(source: KnownSource) -> bool:
    """Return whether an earlier revision of its importer read a source; one that was released is not its any more."""
    return 0 <= source.revision < revision(source.platform)


def path_of_label(label: str) -> Path | None:
    """Return the file or folder of a source; `!` precedes a ZIP's member, but may also be part of any name."""
    parts = label.split("!")
    for length in range(len(parts), 0, -1):
        path = Path("!".join(parts[:length]))
        if path.exists():
            return path
    return None


def label_of(unit: "Unit") -> str:
    """Return the archive's name of a source: its full path, or a hash of its head for standard input."""
    from palaver.sources.discovery import disk_path

    if disk_path(unit.source) is not None:
        return storable_text(unit.source.label)
    from hashlib import blake2b

    return f"-{blake2b(unit.source.head()[:_HASHED_HEAD_BYTES], digest_size=8).hexdigest()}"


def _absolute(paths: Iterable[Path]) -> list[Path]:
    """Resolve paths, so that the archive knows them wherever palaver is started."""
    return [path if str(path) == "-" else Path(os.path.realpath(path)) for path in paths]


def _options_key(options: Mapping[str, str]) -> str:
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True, slots=True)
class ImportTask:
    """A unit to read, its description for the archive, and where the last run ended."""

    unit: "Unit"
    description: SourceDescription
    options: dict[str, str] = field(default_factory=dict[str, str])
    cursors: tuple[CursorRow, ...] = ()
    known: KnownSource | None = None
    """The source as the archive knows it."""
    shares_conversations: bool = False
    """Whether it is read again because an outdated source tells of the same conversations."""
    archive: Path | None = None
    """Where the results go."""

    @property
    def is_outdated(self) -> bool:
        """Whether an earlier revision of its importer read it."""
        return self.known is not None and is_outdated(self.known)

    def takes_over(self, released: KnownSource) -> bool:
        """Return whether it consists of what another importer, or the same one under another name, read before."""
        own, label = self.description.label, released.label
        is_same = own == label or own.startswith(label + os.sep)
        return is_same or any(file.path == label for file in self.description.files)

    @property
    def unread_bytes(self) -> int:
        """How much there is to read, as far as is known beforehand."""
        return max(0, self.unit.size_bytes - sum(cursor.read_bytes for cursor in self.cursors))


def split_rereads(
    tasks: list[ImportTask], released: Collection[KnownSource]
) -> tuple[list[ImportTask], list[ImportTask]]:
    """Return the tasks whose results replace what the archive holds, and the others; the list is empty afterwards.

    A list without any that replaces something is returned unchanged.
    """
    again = [
        task
        for task in tasks
        if task.is_outdated or task.shares_conversations or any(task.takes_over(source) for source in released)
    ]
    if not again:
        return [], tasks
    chosen = {id(task) for task in again}
    others = [task for task in tasks if id(task) not in chosen]
    tasks.clear()
    return again, others
