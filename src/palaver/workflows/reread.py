"""Write what sources yield that are read again, because a higher revision of their importer reads them better.

    frames ──▶ held on disk ──a group is complete──▶ one transaction: set aside, store, settle

Sources that tell of the same conversations form a group. Nothing of a group is written before all of its sources have
been read; then one transaction replaces everything that they contributed, and records them as read. So a run that is
killed leaves groups that were replaced, and groups that are as they were before; the next run reads those again.
"""

import pickle
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from palaver.archive import replacement
from palaver.archive.ingest import Changes
from palaver.archive.known_files import KnownSource
from palaver.archive.replacement import Identity, Replacement
from palaver.archive.source_records import read_cursors, read_files
from palaver.errors import ArchiveError
from palaver.model.timestamps import milliseconds_of
from palaver.sources.inventory import storable_text
from palaver.sources.run import tail_hash
from palaver.workflows import archive_import
from palaver.workflows.archive_import import (
    ArchiveWriter,
    ConversationEvent,
    Event,
    FinishedEvent,
    Frame,
    packed_bytes,
)
from palaver.workflows.plan import ImportTask


class RereadWriter(ArchiveWriter):
    """A writer that replaces what its sources contributed, group by group."""

    def __init__(self, path: Path, tasks: list[ImportTask], released: Sequence[KnownSource], changes: Changes) -> None:
        super().__init__(path, tasks, changes)
        self._held = _HeldEvents()
        self._sources = {_node(number, task): task.known for number, task in enumerate(tasks)}
        """The sources as they are known, by node; None for a new source that takes over a released one."""
        self._sources |= {source.key: source for source in released}
        self._released = {source.key for source in released}
        self._tasks = {_node(number, task): number for number, task in enumerate(tasks)}
        self._whole = {
            task.known.key for task in tasks if task.known and _still_holds_everything(self._connection, task)
        }
        self._whole |= self._released
        self._groups = _Groups(self._sources)
        for left, right in replacement.shared_sources(self._connection, [key for key in self._sources if key > 0]):
            self._groups.join(left, right)
        for source in released:
            for number, task in enumerate(tasks):
                if task.takes_over(source):
                    self._groups.join(source.key, _node(number, task))
        self._nodes = {number: node for node, number in self._tasks.items()}
        self._ready: list[list[int]] = []
        self._ready_bytes = 0

    def take(self, frame: Frame) -> None:
        """Hold the events of a frame; once the last source of a group ends, replace what the group contributed."""
        for event in frame:
            self._held.add(event)
            if isinstance(event, FinishedEvent):
                node = self._nodes[event.task]
                if event.reading.report.failure:
                    self._whole.discard(node)
                self._finish(node)

    def flush(self) -> None:
        # What takes the place of a released source is stored before the source goes.
        for source in self._released:
            self._finish(source)
        self._replace()

    def close(self) -> None:
        self._held.close()
        super().close()

    def _finish(self, node: int) -> None:
        group = self._groups.finish(node)
        while group and (others := self._overlapping(group)):
            for other in others:
                self._groups.join(group[0], other)
            group = self._groups.complete(group[0])
        if group:
            self._groups.remove(group)
            self._ready.append(group)
            self._ready_bytes += sum(self._held.size_bytes(self._tasks.get(node, -1)) for node in group)
            if self._ready_bytes > archive_import.TRANSACTION_BYTES:
                self._replace()

    def _overlapping(self, group: list[int]) -> set[int]:
        """Return the sources of other groups whose conversations this group yields as well, now for the first time."""
        found: set[int] = set()
        for identity in self._held.identities([self._tasks[node] for node in group if node in self._tasks]):
            found.update(replacement.feeding_sources(self._connection, identity))
        return {source for source in found if source in self._groups} - set(group)

    def _replace(self) -> None:
        """Replace what the groups contributed that are ready, in one transaction."""
        groups, self._ready, self._ready_bytes = self._ready, [], 0
        if not groups:
            return
        tasks = [self._tasks[node] for group in groups for node in group if node in self._tasks]
        with self.transaction():
            replaced = Replacement(self._connection, self._ingest)
            withdrawn = [source for group in groups for source in self._withdraw(group, replaced)]
            for frame in self._held.frames(tasks):
                self._write(frame)
            replaced.settle()
            for source in self._released.intersection(withdrawn):
                replacement.release_source(self._connection, source)
        self._held.drop(tasks)

    def _withdraw(self, group: list[int], replaced: Replacement) -> set[int]:
        """Set aside what a group contributed, and return its sources that the archive knows."""
        known = [source for node in group if (source := self._sources[node])]
        if not all(replacement.is_as_planned(self._connection, source) for source in known):
            return set()  # another process has read it since: what this one read is joined with that
        keys = {source.key for source in known}
        tasks = {self._tasks[node] for node in group if node in self._tasks}
        for source in keys:
            own = {self._tasks[source]} if source in self._tasks else tasks
            successors = _Successors(self._held, tasks, own)
            replacement.carry_marks(self._connection, source, self._whole, successors.find)
        replaced.withdraw(keys, keys & self._whole, lambda identity: self._held.has(tasks, identity))
        return keys


class _Successors:
    """The conversations that take the place of a source's, which a group no longer yields."""

    def __init__(self, held: "_HeldEvents", group: Collection[int], own: Iterable[int]) -> None:
        self._held = held
        self._group = group
        self._own = own

    def find(self, identity: Identity, is_only_one: bool) -> list[Identity]:  # noqa: FBT001 - a callback
        """Return the one with the same id, or all that there are, if this was the only one of the source."""
        if self._held.has(self._group, identity):
            return []
        if new := self._by_id.get(identity[1]):
            return [new]
        return list(self._by_id.values()) if is_only_one else []

    @cached_property
    def _by_id(self) -> dict[str, Identity]:
        return {identity[1]: identity for identity in self._held.identities(self._own)}


def _node(number: int, task: ImportTask) -> int:
    """Return the number of a source among the groups: its key, or a negative number if it has none yet."""
    return task.known.key if task.known else -1 - number


def _still_holds_everything(connection: sqlite3.Connection, task: ImportTask) -> bool:
    """Return whether a source still holds all that the archive has of it: its files are unchanged, or only grew."""
    assert task.known is not None
    files = {file.path: file[1:] for file in task.description.files}
    if not task.known.imported_at:  # reading it was interrupted, and nothing is known of its files
        began_ms = milliseconds_of(replacement.first_imported_at(connection, task.known.key))
        return bool(files) and all(modified_ns < began_ms * 1_000_000 for _, modified_ns in files.values())
    cursors = read_cursors(connection, task.known.key)
    read = read_files(connection, task.known.key)
    for path, *stamp in read:
        if files.get(path) == tuple(stamp):
            continue
        grown = [row for row in cursors if path.endswith(storable_text(row.file)) and row.tail_hash]
        if path not in files or not grown or not _begins_alike(path, grown[0].read_bytes, grown[0].tail_hash):
            return False
    return bool(read) and replacement.holds_last_reading_only(connection, task.known.key)


def _begins_alike(path: str, read_bytes: int, known_hash: str) -> bool:
    try:
        with Path(path).open("rb") as stream:
            return tail_hash(stream, read_bytes) == known_hash
    except OSError:
        return False


@dataclass(eq=False, slots=True)
class _Group:
    nodes: list[int]
    unread: int = 1


class _Groups:
    """Sources in groups that grow together, each with the number of its sources that are not read yet."""

    def __init__(self, nodes: Iterable[int]) -> None:
        self._groups = {node: _Group([node]) for node in nodes}

    def __contains__(self, node: int) -> bool:
        return node in self._groups

    def join(self, left: int, right: int) -> None:
        larger, smaller = self._groups[left], self._groups[right]
        if larger is smaller:
            return
        if len(larger.nodes) < len(smaller.nodes):
            larger, smaller = smaller, larger
        larger.nodes += smaller.nodes
        larger.unread += smaller.unread
        for node in smaller.nodes:
            self._groups[node] = larger

    def finish(self, node: int) -> list[int]:
        """Mark a source as read; return its group if that is complete now, else an empty list."""
        self._groups[node].unread -= 1
        return self.complete(node)

    def complete(self, node: int) -> list[int]:
        group = self._groups[node]
        return [] if group.unread else group.nodes

    def remove(self, nodes: list[int]) -> None:
        for node in nodes:
            del self._groups[node]


class _HeldEvents:
    """Events of sources in a temporary database of SQLite, which lives in memory only while it is small."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for statement in (
            "pragma journal_mode = off",
            "create table event (number integer primary key, task integer not null, event blob not null)",
            "create index event_by_task on event (task)",
            "create table yielded (task integer, platform text, conversation_id text)",
            "create unique index yielded_by_conversation on yielded (platform, conversation_id, task)",
            "create index yielded_by_task on yielded (task)",
            "begin",
        ):
            self._database.execute(statement)
        self._size_bytes: dict[int, int] = {}

    def add(self, event: Event) -> None:
        packed = pickle.dumps(event, pickle.HIGHEST_PROTOCOL)
        try:
            self._database.execute("insert into event (task, event) values (?, ?)", (event.task, packed))
            if isinstance(event, ConversationEvent):
                row = (event.task, *event.identity)
                self._database.execute("insert or ignore into yielded values (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise ArchiveError(
                f"cannot write a temporary file ({error}): free some space, or set TMPDIR to a folder on another disk; "
                "everything written so far is kept"
            ) from error
        self._size_bytes[event.task] = self._size_bytes.get(event.task, 0) + packed_bytes(event)

    def size_bytes(self, task: int) -> int:
        return self._size_bytes.get(task, 0)

    def identities(self, tasks: Iterable[int]) -> Iterator[Identity]:
        """Yield the conversations of some tasks."""
        for task in tasks:
            yield from self._database.execute("select platform, conversation_id from yielded where task = ?", (task,))

    def has(self, tasks: Collection[int], identity: Identity) -> bool:
        query = "select task from yielded where platform = ? and conversation_id = ?"
        return any(task in tasks for (task,) in self._database.execute(query, identity))

    def frames(self, tasks: list[int]) -> Iterator[Frame]:
        """Yield the events of some tasks, in frames that fit into memory."""
        frame: Frame = []
        size_bytes = 0
        for task in tasks:
            for (packed,) in self._database.execute("select event from event where task = ? order by number", (task,)):
                event: Event = pickle.loads(packed)  # noqa: S301 - this object made it
                frame.append(event)
                size_bytes += archive_import.memory_bytes(event)
                if size_bytes > archive_import.TRANSACTION_BYTES:
                    yield frame
                    frame, size_bytes = [], 0
        if frame:
            yield frame

    def drop(self, tasks: list[int]) -> None:
        for task in tasks:
            self._database.execute("delete from event where task = ?", (task,))
            self._database.execute("delete from yielded where task = ?", (task,))

    def close(self) -> None:
        self._database.close()
