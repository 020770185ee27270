"""What is to be read: of everything that was found, what is new or has changed since the archive took it in.

What opens and reads files is imported where something changed: mostly, nothing did.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.memory import KnownSource, Memory, UnclaimedFile, cursors, recall
from palaver.archive.sources import CursorRow, SourceFacts
from palaver.importers import platforms
from palaver.model.report import Report
from palaver.sources.inventory import Files, distinct, inventory, spelled

if TYPE_CHECKING:
    from palaver.sources.discovery import Claim, Unit


AS_IT_WAS = "as it was when it was read"
_KEPT_HEAD_BYTES = 1 << 12


@dataclass(slots=True)
class Plan:
    tasks: "list[ImportTask]" = field(default_factory=list)
    report: Report = field(default_factory=Report)
    unclaimed: dict[str, UnclaimedFile] = field(default_factory=dict[str, UnclaimedFile])

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read, and nothing to remember."""
        return not (self.tasks or self.unclaimed)

    def add(self, other: "Plan") -> None:
        self.tasks += other.tasks
        self.report.unclaimed += other.report.unclaimed
        self.report.refused += other.report.refused
        self.report.unchanged += other.report.unchanged
        self.unclaimed |= other.unclaimed


class Planner:
    """Looks at paths against one state of the archive, which need not exist yet."""

    def __init__(
        self, archive: Path, options: Mapping[str, dict[str, str]], *, is_again: bool = False, since_ns: int = 0
    ) -> None:
        self._archive = archive
        self._options = options
        self._since_ns = since_ns
        self._memory = Memory()
        if archive.exists() and not is_again:
            with closing(open_to_read(archive)) as connection:
                self._memory = recall(connection)

    def plan(self, paths: Iterable[Path], platform: str | None = None) -> Plan:
        """What is to be read at or below some paths, by one importer or by whichever recognises it."""
        plan = Plan()
        search = _Search(self._memory, self._options, platform, is_partial=bool(self._since_ns))
        given = distinct(_absolute(paths))
        for path in given:
            files = inventory(path)
            if self._since_ns:
                files = {name: stamp for name, stamp in files.items() if stamp[1] >= self._since_ns}
                if not files and path.exists():
                    continue
            if not search.is_all_as_it_was(files, plan):
                search.look(path, files, plan)
        resumed = self._cursors(search)
        for unit, files, known in search.changed:
            if self._is_itself(unit):
                if Path(unit.source.label) in given:
                    plan.report.refused.append(f"{unit.source.label} is this archive itself: it has all of it already")
                continue
            plan.tasks.append(self._task(unit, files, resumed.get(known.key, ()) if known else ()))
        plan.report.unchanged = sorted(map(self._memory.label, search.unchanged))
        return plan

    def _is_itself(self, unit: "Unit") -> bool:
        from palaver.sources.shelves import own_path

        path = own_path(unit.source)
        try:
            return path is not None and Path(path).samefile(self._archive)
        except OSError:
            return False

    def _cursors(self, search: "_Search") -> "dict[int, tuple[CursorRow, ...]]":
        known = [source for _, _, source in search.changed if source and search.are_read_alike([source.key])]
        if not known:
            return {}
        with closing(open_to_read(self._archive)) as connection:
            return {source.key: cursors(connection, source) for source in known}

    def _task(self, unit: "Unit", files: Files, resumed: "tuple[CursorRow, ...]") -> "ImportTask":
        from palaver.archive.sources import FileRow, SourceFacts

        options = self._options.get(unit.platform, {})
        rows = tuple(FileRow(spelled(name), *stamp) for name, stamp in sorted(files.items()))
        facts = SourceFacts(
            unit.platform, label_of(unit), unit.form, unit.reason, unit.members, _spelled(options), rows
        )
        return ImportTask(unit, facts, options, resumed)


class _Search:
    """One look around for one importer, or for all of them."""

    def __init__(
        self, memory: Memory, options: Mapping[str, dict[str, str]], platform: str | None, *, is_partial: bool
    ) -> None:
        self._memory = memory
        self._options = options
        self._platform = platform
        self._is_partial = is_partial
        # Whoever is asked changes with every new importer: then files that nobody read are looked at again.
        self._asked = platform or " ".join(platforms())
        self.changed: list[tuple[Unit, Files, KnownSource | None]] = []
        self.unchanged: set[int] = set()

    def is_all_as_it_was(self, files: Files, plan: Plan) -> bool:
        """Whether not one file is new or changed: then there is no need to look further."""
        sources = self._memory.unchanged_sources(files, self._asked) if files else None
        if sources is None or not self.are_read_alike(sources):
            return False
        self.unchanged |= sources
        aside = self._memory.unclaimed
        plan.report.unclaimed += sorted(
            name for name in files if (held := aside.get(spelled(name))) and not held.reason
        )
        return True

    def look(self, path: Path, files: Files, plan: Plan) -> None:
        from palaver.sources.shelves import Shelves
        from palaver.workflows.find_units import find_units

        aside: dict[str, str] = {}
        units, report = find_units([path], self._platform, lambda name: self._recalled(name, files), aside)
        plan.report.unclaimed += report.unclaimed
        plan.report.refused += report.refused
        shelves = Shelves(files)
        for unit in units:
            own = shelves.of(unit.source, unit.members)
            if self._is_partial and not own:
                continue
            known = self._memory.named(unit.platform, label_of(unit))
            if known and self._memory.is_unchanged(known, own) and self.are_read_alike([known.key]):
                self.unchanged.add(known.key)
            else:
                self.changed.append((unit, own, known))
        for name, reason in aside.items():
            if reason == AS_IT_WAS:
                self.unchanged.update(self._memory.sources_of(spelled(name)))
            elif name in files:
                plan.unclaimed[spelled(name)] = UnclaimedFile(files[name], reason, self._asked)

    def are_read_alike(self, sources: Iterable[int]) -> bool:
        """Whether these sources would be read by the same importer with the same options as they were."""
        manners = self._memory.manners(sources)
        return manners is not None and all(
            options == _spelled(self._options.get(platform, {})) and (self._platform or platform) == platform
            for platform, options in manners
        )

    def _recalled(self, name: str, files: Files) -> "Claim | str | None":
        """What was found out about a file, if it is as it was."""
        stamp = files.get(name)
        name = spelled(name)
        if (aside := self._memory.unclaimed.get(name)) is not None:
            return aside.reason if aside.stamp == stamp and aside.asked == self._asked else None
        sources = self._memory.sources_of(name)
        if not sources or stamp is None or not self.are_read_alike(sources):
            return None
        is_as_it_was = self._memory.has(name, stamp)
        if is_as_it_was and any("!" in self._memory.label(key) for key in sources):
            return AS_IT_WAS
        if is_as_it_was or 0 < self._memory.files[name][0] < stamp[0]:  # what only grew is still what it was
            from palaver.sources.discovery import Claim

            for key in sources:
                source = self._memory.source(key)
                if source and source.label == name:
                    return Claim(source.platform, source.reason, source.members, source.form)
        return None


def label_of(unit: "Unit") -> str:
    """What the archive calls a source: its full path; standard input is known by how it begins."""
    from palaver.sources.shelves import own_path

    if own_path(unit.source) is not None:
        return spelled(unit.source.label)
    from hashlib import blake2b

    return f"-{blake2b(unit.source.head()[:_KEPT_HEAD_BYTES], digest_size=8).hexdigest()}"


def _absolute(paths: Iterable[Path]) -> list[Path]:
    """The paths by which the archive knows them, wherever palaver is started."""
    return [path if str(path) == "-" else Path(os.path.realpath(path)) for path in paths]


def _spelled(options: Mapping[str, str]) -> str:
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True, slots=True)
class ImportTask:
    """A unit, what is known of it, and where the last reading of it ended."""

    unit: "Unit"
    facts: SourceFacts
    options: dict[str, str] = field(default_factory=dict[str, str])
    cursors: tuple[CursorRow, ...] = ()

    @property
    def unread_bytes(self) -> int:
        """How much there is to read, as far as it is known beforehand."""
        return max(0, self.unit.size_bytes - sum(cursor.read_bytes for cursor in self.cursors))
