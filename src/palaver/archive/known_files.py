"""What the archive knows about files: whether one has changed since it was read, and which source it belongs to."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from palaver.sources.inventory import storable_text

if TYPE_CHECKING:
    from palaver.archive.source_records import CursorRow

Stamp = tuple[int, int]
"""Size in bytes, time of modification in nanoseconds."""


RELEASED = -1
"""The revision of a source that its importer no longer claims, kept for what people said about its conversations."""


class UnclaimedFile(NamedTuple):
    """A file that none of the importers asked can read, its stamp at that time, and the reason if known."""

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
    revision: int
    imported_at: str
    """Empty until it was read to its end."""

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(json.loads(self.members_text))


@dataclass(slots=True)
class KnownFiles:
    """All known files, loaded with three queries; querying the archive per file would take ten times as long."""

    source_rows: dict[int, tuple[Any, ...]] = field(default_factory=dict[int, tuple[Any, ...]])
    """Rows of sources by key, with the fields of `KnownSource`."""
    files: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    """Each file as of when its source was read: size, time of modification, source key."""
    further_sources: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Further sources of files that hold several, such as ZIP files."""
    unclaimed: dict[str, UnclaimedFile] = field(default_factory=dict[str, UnclaimedFile])
    _by_name: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def source(self, key: int) -> KnownSource | None:
        row = self.source_rows.get(key)
        return None if row is None else KnownSource._make(row)

    def label(self, key: int) -> str:
        return self.source_rows[key][2]

    def source_named(self, platform: str, label: str) -> KnownSource | None:
        if not self._by_name:
            self._by_name = {(row[1], row[2]): key for key, row in self.source_rows.items()}
        key = self._by_name.get((platform, label))
        return None if key is None else self.source(key)

    def readings(self, keys: Iterable[int]) -> set[tuple[str, str, int]] | None:
        """Return the importers, options and revisions that sources were read with, or None if a source is unknown."""
        rows = [self.source_rows.get(key) for key in keys]
        return None if None in rows else {(row[1], row[6], row[7]) for row in rows if row is not None}

    def sources(self) -> Iterator[KnownSource]:
        return map(KnownSource._make, self.source_rows.values())

    def source_keys(self, path: str) -> list[int]:
        held = self.files.get(path)
        return [held[2], *self.further_sources.get(path, ())] if held else []

    def is_unchanged(self, source: KnownSource, files: Mapping[str, Stamp]) -> bool:
        """Return whether no file of a source has changed since the source was read."""
        return bool(files) and all(
            self.is_file_unchanged(path, stamp) and source.key in self.source_keys(storable_text(path))
            for path, stamp in files.items()
        )

    def is_file_unchanged(self, path: str, stamp: Stamp) -> bool:
        """Return whether a file has not changed since it was read."""
        held = self.files.get(storable_text(path))
        return held is not None and held[0] == stamp[0] and held[1] == stamp[1]

    def unchanged_sources(self, files: Mapping[str, Stamp], asked: Callable[[], str]) -> set[int] | None:
        """Return the sources of these files, or None if any file is new or changed, or was not asked about by `asked`.

        `asked` names the importers and is called only for files that none of them read.
        """
        found: set[int] = set()
        known, unclaimed = self.files, self.unclaimed
        for path, stamp in files.items():
            path = storable_text(path)
            held = known.get(path)
            if held is not None and held[0] == stamp[0] and held[1] == stamp[1]:
                found.add(held[2])
            elif (skipped := unclaimed.get(path)) is None or skipped.stamp != stamp or skipped.asked != asked():
                return None
        for path, sources in self.further_sources.items():
            if path in files:
                found.update(sources)
        return found


def load_known_files(connection: sqlite3.Connection) -> KnownFiles:
    """Load everything the archive knows about files."""
    known = KnownFiles()
    query = "select source_key, platform, label, form, reason, members, options, revision, imported_at from source"
    known.source_rows = {row[0]: row for row in connection.execute(query)}
    query = "select path, size_bytes, modified_ns, source from source_file"
    rows = connection.execute(query).fetchall()
    known.files = {path: (size, modified, source) for path, size, modified, source in rows}
    if len(known.files) < len(rows):
        _add_further_sources(known, rows)
    query = "select path, size_bytes, modified_ns, reason, asked from unclaimed_file"
    for path, size, modified, reason, asked in connection.execute(query):
        known.unclaimed[path] = UnclaimedFile((size, modified), reason, asked)
    return known


def _add_further_sources(known: KnownFiles, rows: list[tuple[str, int, int, int]]) -> None:
    """Add files with several sources; a source that was read before the file changed does not count."""
    for path, size, modified, source in rows:
        held = known.files[path]
        if (modified, source) > held[1:]:
            known.files[path] = size, modified, source
    for path, size, modified, source in rows:
        held = known.files[path]
        if held[:2] == (size, modified) and held[2] != source:
            known.further_sources.setdefault(path, []).append(source)


def store_unclaimed_files(connection: sqlite3.Connection, files: Mapping[str, UnclaimedFile]) -> None:
    connection.executemany(
        "insert or replace into unclaimed_file (path, size_bytes, modified_ns, reason, asked) values (?, ?, ?, ?, ?)",
        [(path, *file.stamp, file.reason, file.asked) for path, file in files.items()],
    )


def source_cursors(connection: sqlite3.Connection, source: KnownSource) -> "tuple[CursorRow, ...]":
    from palaver.archive.source_records import read_cursors

    return tuple(read_cursors(connection, source.key))
