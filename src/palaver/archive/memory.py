"""What the archive remembers of files: whether one changed since it was read, and whose it was."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from palaver.sources.inventory import spelled

if TYPE_CHECKING:
    from palaver.archive.sources import CursorRow

Stamp = tuple[int, int]
"""Size in bytes, time of modification in nanoseconds."""


class UnclaimedFile(NamedTuple):
    """A file that nobody of those asked reads, as it was then, and why, if that is known."""

    stamp: Stamp
    reason: str
    asked: str


class KnownSource(NamedTuple):
    key: int
    platform: str
    label: str
    form: str
    reason: str
    members_text: str
    options: str

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(json.loads(self.members_text))


@dataclass(slots=True)
class Memory:
    """All of it, in three look-ups: asking the archive file by file would take ten times as long."""

    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict[int, tuple[Any, ...]])
    """Sources by key, each as `source` names them."""
    files: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    """Each file as it was when its source was read: size, time of modification, the source."""
    further: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """The other sources of a file that has several, as a ZIP may."""
    unclaimed: dict[str, UnclaimedFile] = field(default_factory=dict[str, UnclaimedFile])
    _by_name: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def source(self, key: int) -> KnownSource | None:
        row = self.rows.get(key)
        return None if row is None else KnownSource._make(row)

    def label(self, key: int) -> str:
        return self.rows[key][2]

    def named(self, platform: str, label: str) -> KnownSource | None:
        if not self._by_name:
            self._by_name = {(row[1], row[2]): key for key, row in self.rows.items()}
        key = self._by_name.get((platform, label))
        return None if key is None else self.source(key)

    def manners(self, keys: Iterable[int]) -> set[tuple[str, str]] | None:
        """By which importers and with which options some sources were read; None where one of them is not known."""
        rows = [self.rows.get(key) for key in keys]
        return None if None in rows else {(row[1], row[6]) for row in rows if row is not None}

    def sources_of(self, path: str) -> list[int]:
        held = self.files.get(path)
        return [held[2], *self.further.get(path, ())] if held else []

    def is_unchanged(self, source: KnownSource, files: Mapping[str, Stamp]) -> bool:
        """Whether every file of a source is as it was when the source was read."""
        return bool(files) and all(
            self.has(path, stamp) and source.key in self.sources_of(spelled(path)) for path, stamp in files.items()
        )

    def has(self, path: str, stamp: Stamp) -> bool:
        """Whether a file is as it was when it was read."""
        held = self.files.get(spelled(path))
        return held is not None and held[0] == stamp[0] and held[1] == stamp[1]

    def unchanged_sources(self, files: Mapping[str, Stamp], asked: str) -> set[int] | None:
        """The sources that some files make up, if not one of the files is new or changed."""
        found: set[int] = set()
        known, unclaimed = self.files, self.unclaimed
        for path, stamp in files.items():
            path = spelled(path)
            held = known.get(path)
            if held is not None and held[0] == stamp[0] and held[1] == stamp[1]:
                found.add(held[2])
            elif (aside := unclaimed.get(path)) is None or aside.stamp != stamp or aside.asked != asked:
                return None
        for path, sources in self.further.items():
            if path in files:
                found.update(sources)
        return found


def recall(connection: sqlite3.Connection) -> Memory:
    """Everything known."""
    memory = Memory()
    query = "select source_key, platform, label, form, reason, members, options from source where imported_at <> ''"
    memory.rows = {row[0]: row for row in connection.execute(query)}
    query = "select path, size_bytes, modified_ns, source from source_file"
    rows = connection.execute(query).fetchall()
    memory.files = {path: (size, modified, source) for path, size, modified, source in rows}
    if len(memory.files) < len(rows):
        _add_further(memory, rows)
    query = "select path, size_bytes, modified_ns, reason, asked from unclaimed_file"
    for path, size, modified, reason, asked in connection.execute(query):
        memory.unclaimed[path] = UnclaimedFile((size, modified), reason, asked)
    return memory


def _add_further(memory: Memory, rows: list[tuple[str, int, int, int]]) -> None:
    """Files of several sources: one that was read before the file changed does not count."""
    for path, size, modified, source in rows:
        held = memory.files[path]
        if (modified, source) > held[1:]:
            memory.files[path] = size, modified, source
    for path, size, modified, source in rows:
        held = memory.files[path]
        if held[:2] == (size, modified) and held[2] != source:
            memory.further.setdefault(path, []).append(source)


def remember_unclaimed(connection: sqlite3.Connection, files: Mapping[str, UnclaimedFile]) -> None:
    connection.executemany(
        "insert or replace into unclaimed_file (path, size_bytes, modified_ns, reason, asked) values (?, ?, ?, ?, ?)",
        [(path, *file.stamp, file.reason, file.asked) for path, file in files.items()],
    )


def cursors(connection: sqlite3.Connection, source: KnownSource) -> "tuple[CursorRow, ...]":
    from palaver.archive.sources import cursors_of

    return tuple(cursors_of(connection, source.key))
