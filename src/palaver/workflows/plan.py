"""Plan an import: of all sources that were found, those that are new or changed since the archive last read them.

Mostly nothing has changed, so the modules that open and read files are imported only where something has.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.known_files import KnownFiles, KnownSource, UnclaimedFile, load_known_files, source_cursors
from palaver.archive.source_records import CursorRow, SourceDescription
from palaver.importers import platforms
from palaver.model.report import Report
from palaver.sources.inventory import FileStamps, distinct_paths, inventory, storable_text
from palaver.sources.match import Claim, Match

if TYPE_CHECKING:
    from palaver.sources.discovery import Unit


UNCHANGED = "as it was when it was read"
_HASHED_HEAD_BYTES = 1 << 12


@dataclass(slots=True)
class Plan:
    """What to read, what not to read, and the files to remember as unclaimed."""

    tasks: "list[ImportTask]" = field(default_factory=list)
    report: Report = field(default_factory=Report)
    unclaimed: dict[str, UnclaimedFile] = field(default_factory=dict[str, UnclaimedFile])

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read and nothing to remember."""
        return not (self.tasks or self.unclaimed)

    def add(self, other: "Plan") -> None:
        self.tasks += other.tasks
        self.report.unclaimed += other.report.unclaimed
        self.report.refused += other.report.refused
        self.report.unchanged += other.report.unchanged
        self.unclaimed |= other.unclaimed


class Planner:
    """Compares paths with one state of the archive, which need not exist yet."""

    def __init__(
        self, archive: Path, options: Mapping[str, dict[str, str]], *, is_again: bool = False, since_ns: int = 0
    ) -> None:
        self._archive = archive
        self._options = options
        self._since_ns = since_ns
        self._known_files = KnownFiles()
        if archive.exists() and not is_again:
            with closing(open_to_read(archive)) as connection:
                self._known_files = load_known_files(connection)

    def plan(self, paths: Iterable[Path], platform: str | None = None) -> Plan:
        """Plan what to read at or below some paths, by one importer or by the one that recognizes each source."""
        plan = Plan()
        scan = _Scan(self._known_files, self._options, platform, is_partial=bool(self._since_ns))
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
                    plan.report.refused.append(f"{unit.source.label} is this archive itself: it has all of it already")
                continue
            plan.tasks.append(self._task(unit, files, resumed.get(known.key, ()) if known else ()))
        plan.report.unchanged = sorted(map(self._known_files.label, scan.unchanged))
        return plan

    def _is_this_archive(self, unit: "Unit") -> bool:
        from palaver.sources.discovery import disk_path

        path = disk_path(unit.source)
        try:
            return path is not None and Path(path).samefile(self._archive)
        except OSError:
            return False

    def _cursors(self, scan: "_Scan") -> "dict[int, tuple[CursorRow, ...]]":
        known = [source for _, _, source in scan.changed if source and scan.same_importer_and_options([source.key])]
        if not known:
            return {}
        with closing(open_to_read(self._archive)) as connection:
            return {source.key: source_cursors(connection, source) for source in known}

    def _task(self, unit: "Unit", files: FileStamps, resumed: "tuple[CursorRow, ...]") -> "ImportTask":
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
        )
        return ImportTask(unit, description, options, resumed)


class _Scan:
    """One pass over paths, for one importer or for all of them."""

    def __init__(
        self, memory: KnownFiles, options: Mapping[str, dict[str, str]], platform: str | None, *, is_partial: bool
    ) -> None:
        self._known_files = memory
        self._options = options
        self._platform = platform
        self._is_partial = is_partial
        # A new importer changes this, so that files which no importer read before are looked at again.
        self._asked_platforms = platform or " ".join(platforms())
        self.changed: list[tuple[Unit, FileStamps, KnownSource | None]] = []
        self.unchanged: set[int] = set()

    def nothing_changed(self, files: FileStamps, plan: Plan) -> bool:
        """Return whether no file is new or changed; if so, add the files to the plan as they are."""
        sources = self._known_files.unchanged_sources(files, self._asked_platforms) if files else None
        if sources is None or not self.same_importer_and_options(sources):
            return False
        self.unchanged |= sources
        unclaimed = self._known_files.unclaimed
        plan.report.unclaimed += sorted(
            name for name in files if (known := unclaimed.get(storable_text(name))) and not known.reason
        )
        return True

    def classify(self, path: Path, files: FileStamps, plan: Plan) -> None:
        """Find the units at a path, and sort them into changed, unchanged and unclaimed."""
        from palaver.sources.discovery import UnitFiles
        from palaver.workflows.find_units import find_units

        unclaimed: dict[str, str] = {}
        units, report = find_units([path], self._platform, lambda name: self._recall(name, files), unclaimed)
        plan.report.unclaimed += report.unclaimed
        plan.report.refused += report.refused
        unit_files = UnitFiles(files)
        for unit in units:
            own = unit_files.of(unit.source, unit.match.members)
            if self._is_partial and not own:
                continue
            known = self._known_files.source_named(unit.platform, label_of(unit))
            if known and self._known_files.is_unchanged(known, own) and self.same_importer_and_options([known.key]):
                self.unchanged.add(known.key)
            else:
                self.changed.append((unit, own, known))
        for name, reason in unclaimed.items():
            if reason == UNCHANGED:
                self.unchanged.update(self._known_files.source_keys(storable_text(name)))
            elif name in files:
                plan.unclaimed[storable_text(name)] = UnclaimedFile(files[name], reason, self._asked_platforms)

    def same_importer_and_options(self, sources: Iterable[int]) -> bool:
        """Return whether these sources would be read by the importer and with the options of the last time."""
        known = self._known_files.importers_and_options(sources)
        return known is not None and all(
            options == _options_key(self._options.get(platform, {})) and (self._platform or platform) == platform
            for platform, options in known
        )

    def _recall(self, name: str, files: FileStamps) -> Claim | str | None:
        """Return the claim or the reason of an earlier run for a file that has not changed since, or has only grown."""
        stamp = files.get(name)
        name = storable_text(name)
        if (unclaimed := self._known_files.unclaimed.get(name)) is not None:
            return unclaimed.reason if unclaimed.stamp == stamp and unclaimed.asked == self._asked_platforms else None
        sources = self._known_files.source_keys(name)
        if not sources or stamp is None or not self.same_importer_and_options(sources):
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

    @property
    def unread_bytes(self) -> int:
        """How much there is to read, as far as is known beforehand."""
        return max(0, self.unit.size_bytes - sum(cursor.read_bytes for cursor in self.cursors))
