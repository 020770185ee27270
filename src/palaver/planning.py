"""What is to be read: of everything that was found, what is new or has changed since the archive took it in."""

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.memory import KnownSource, Memory, Stamp, cursors, recall
from palaver.archive.sources import CursorRow, FileRow, SourceFacts
from palaver.importers import platforms
from palaver.keeping import Task
from palaver.model.report import Report
from palaver.pipeline import distinct, find
from palaver.sources.discovery import Claim, Unit
from palaver.sources.inventory import Files, Shelves, inventory, own_path

AS_IT_WAS = "as it was when it was read"
_KEPT_HEAD_BYTES = 1 << 12


@dataclass(slots=True)
class Plan:
    tasks: list[Task] = field(default_factory=list[Task])
    report: Report = field(default_factory=Report)
    unclaimed: dict[str, tuple[Stamp, str]] = field(default_factory=dict[str, tuple[Stamp, str]])
    asked: str = ""


class Planner:
    """Looks at paths against one state of the archive, which need not exist yet."""

    def __init__(
        self,
        archive: Path,
        platform: str | None,
        options: Mapping[str, dict[str, str]],
        *,
        is_again: bool = False,
        since_ns: int = 0,
    ) -> None:
        self._archive = archive
        self._platform = platform
        self._options = options
        self._since_ns = since_ns
        # Whoever is asked changes with every new importer: then files that nobody read are looked at again.
        self._asked = platform or " ".join(platforms())
        self._memory = Memory()
        self._is_again = is_again
        if archive.exists() and not is_again:
            with closing(open_to_read(archive)) as connection:
                self._memory = recall(connection, self._asked)

    def plan(self, paths: Iterable[Path]) -> Plan:
        plan = Plan(asked=self._asked)
        unchanged: set[int] = set()
        changed: list[tuple[Unit, Files, KnownSource | None]] = []
        for path in distinct(_absolute(paths)):
            files = inventory(path)
            if self._since_ns:
                files = {name: stamp for name, stamp in files.items() if stamp[1] >= self._since_ns}
                if not files and path.exists():
                    continue
            sources = self._memory.unchanged_sources(files)
            if files and sources is not None and self._are_read_alike(sources):
                unchanged |= sources
                plan.report.unclaimed += [
                    name for name in files if name in self._memory.unclaimed and not self._memory.unclaimed[name][1]
                ]
                continue
            self._look(path, files, plan, changed, unchanged)
        resumed = self._cursors([known for _, _, known in changed if known])
        plan.tasks = [
            self._task(unit, files, resumed.get(known.key, ()) if known else ()) for unit, files, known in changed
        ]
        plan.report.unchanged = len(unchanged)
        return plan

    def _look(
        self,
        path: Path,
        files: Files,
        plan: Plan,
        changed: list[tuple[Unit, Files, KnownSource | None]],
        unchanged: set[int],
    ) -> None:
        aside: dict[str, str] = {}
        units, report = find([path], self._platform, lambda name: self._recalled(name, files), aside)
        plan.report.unclaimed += report.unclaimed
        plan.report.refused += report.refused
        shelves = Shelves(files)
        for unit in units:
            own = shelves.of(unit.source, unit.members)
            if self._since_ns and not own:
                continue
            known = self._memory.by_name.get((unit.platform, label_of(unit)))
            if known and self._memory.is_unchanged(known, own) and self._are_read_alike({known.key}):
                unchanged.add(known.key)
            else:
                changed.append((unit, own, known))
        for name, reason in aside.items():
            if reason == AS_IT_WAS:
                unchanged.update(self._memory.files[name][1])
            elif name in files:
                plan.unclaimed[name] = files[name], reason

    def _recalled(self, name: str, files: Files) -> Claim | str | None:
        """What was found out about a file, if it is as it was."""
        stamp = files.get(name)
        if (aside := self._memory.unclaimed.get(name)) is not None:
            return aside[1] if aside[0] == stamp else None
        held = self._memory.files.get(name)
        if held is None or held[0] != stamp or not self._are_read_alike(held[1]):
            return None
        if any("!" in self._memory.sources[key].label for key in held[1]):
            return AS_IT_WAS
        for key in held[1]:
            source = self._memory.sources[key]
            if source.label == name:
                return Claim(source.platform, source.reason, source.members, source.form)
        return None

    def _are_read_alike(self, sources: Iterable[int]) -> bool:
        """Whether these sources would be read by the same importer with the same options as they were."""
        for key in sources:
            source = self._memory.sources.get(key)
            if source is None or source.options != _spelled(self._options.get(source.platform, {})):
                return False
            if self._platform and source.platform != self._platform:
                return False
        return True

    def _cursors(self, sources: list[KnownSource]) -> dict[int, tuple[CursorRow, ...]]:
        alike = [source for source in sources if self._are_read_alike([source.key])]
        if not alike:
            return {}
        with closing(open_to_read(self._archive)) as connection:
            return {source.key: cursors(connection, source) for source in alike}

    def _task(self, unit: Unit, files: Files, resumed: tuple[CursorRow, ...]) -> Task:
        options = self._options.get(unit.platform, {})
        rows = tuple(FileRow(name, *stamp) for name, stamp in sorted(files.items()))
        facts = SourceFacts(
            unit.platform, label_of(unit), unit.form, unit.reason, unit.members, _spelled(options), rows
        )
        return Task(unit, facts, options, resumed)


def label_of(unit: Unit) -> str:
    """What the archive calls a source: its full path; standard input is known by how it begins."""
    if own_path(unit.source) is not None:
        return unit.source.label
    from hashlib import blake2b

    return f"-{blake2b(unit.source.head()[:_KEPT_HEAD_BYTES], digest_size=8).hexdigest()}"


def _absolute(paths: Iterable[Path]) -> list[Path]:
    """The paths by which the archive knows them, wherever palaver is started."""
    return [path if str(path) == "-" else Path(os.path.realpath(path)) for path in paths]


def _spelled(options: Mapping[str, str]) -> str:
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()
