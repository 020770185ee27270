"""What the archive remembers of files: whether one changed since it was read, and whose it was."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from palaver.archive.sources import CursorRow, cursors_of
from palaver.sources.inventory import spelled

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
    members: tuple[str, ...]
    options: str


@dataclass(slots=True)
class Memory:
    """All of it, in three look-ups: asking the archive file by file would take ten times as long."""

    sources: dict[int, KnownSource] = field(default_factory=dict[int, KnownSource])
    by_name: dict[tuple[str, str], KnownSource] = field(default_factory=dict[tuple[str, str], KnownSource])
    files: dict[str, tuple[Stamp, list[int]]] = field(default_factory=dict[str, tuple[Stamp, list[int]]])
    """Each file as it was when all of its sources were read, and their keys."""
    unclaimed: dict[str, UnclaimedFile] = field(default_factory=dict[str, UnclaimedFile])

    def is_unchanged(self, source: KnownSource, files: Mapping[str, Stamp]) -> bool:
        """Whether every file of a source is as it was when the source was read."""
        return bool(files) and all(
            (known := self.files.get(spelled(path))) is not None and known[0] == stamp and source.key in known[1]
            for path, stamp in files.items()
        )

    def unchanged_sources(self, files: Mapping[str, Stamp], asked: str) -> set[int] | None:
        """The sources that some files make up, if not one of the files is new or changed."""
        found: set[int] = set()
        known, unclaimed = self.files, self.unclaimed
        for path, stamp in files.items():
            path = spelled(path)
            held = known.get(path)
            if held is not None and held[0] == stamp:
                found.update(held[1])
            elif (aside := unclaimed.get(path)) is None or aside.stamp != stamp or aside.asked != asked:
                return None
        return found


def recall(connection: sqlite3.Connection) -> Memory:
    """Everything known."""
    memory = Memory()
    query = "select source_key, platform, label, form, reason, members, options from source where imported_at <> ''"
    for key, platform, label, form, reason, members, options in connection.execute(query):
        source = KnownSource(key, platform, label, form, reason, tuple(json.loads(members)), options)
        memory.sources[key] = memory.by_name[platform, label] = source
    for path, source, size, modified in connection.execute(
        "select path, source, size_bytes, modified_ns from source_file"
    ):
        stamp = size, modified
        held = memory.files.get(path)
        if held is None:
            memory.files[path] = stamp, [source]
        elif held[0] == stamp:
            held[1].append(source)
        elif held[0][1] < modified:  # one of its sources was not read since: only the newest look counts
            memory.files[path] = stamp, [source]
    query = "select path, size_bytes, modified_ns, reason, asked from unclaimed_file"
    for path, size, modified, reason, asked in connection.execute(query):
        memory.unclaimed[path] = UnclaimedFile((size, modified), reason, asked)
    return memory


def remember_unclaimed(connection: sqlite3.Connection, files: Mapping[str, UnclaimedFile]) -> None:
    connection.executemany(
        "insert or replace into unclaimed_file (path, size_bytes, modified_ns, reason, asked) values (?, ?, ?, ?, ?)",
        [(path, *file.stamp, file.reason, file.asked) for path, file in files.items()],
    )


def cursors(connection: sqlite3.Connection, source: KnownSource) -> tuple[CursorRow, ...]:
    return tuple(cursors_of(connection, source.key))
