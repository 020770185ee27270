"""Reading another archive without changing its file or folder, whatever state it is in.

Its conversations come out as snapshots: everything that an archive knows about a conversation, as documents. An export
holds the current state of a conversation. A snapshot adds all header states and the older versions of messages, each
with the usage of its own call, and every message at its own position. Importing it loses nothing, whatever the other
archive knows already.
"""

import sqlite3
import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

import orjson

from palaver.archive.call_usage import usage_by_call
from palaver.archive.connection import archive_errors
from palaver.archive.conversation_tags import conversation_tags
from palaver.archive.documents import MESSAGE_COLUMNS, message_document, user_rating
from palaver.archive.join import State, is_secondhand, state_key
from palaver.archive.migrations import APPLICATION_ID, MIGRATIONS, migrate, schema_version
from palaver.errors import ArchiveError
from palaver.model import SCHEMA_VERSION
from palaver.model.build import Document, JsonObject

LOG_SUFFIX = "-wal"
SIDE_FILE_SUFFIXES = (LOG_SUFFIX, "-shm")
"""Suffixes of the files that SQLite keeps beside an archive while it is open for writing."""

_MAGIC = b"SQLite format 3\0"


def is_archive(head: bytes) -> bool:
    """Return whether a file starts like an archive of palaver."""
    return head.startswith(_MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


@contextmanager
def open_foreign_archive(path: Path) -> Generator[sqlite3.Connection]:
    """Open another archive; one with an older schema is copied first, and the copy is migrated."""
    before = _file_stamp(path)
    has_log = _has_log(path)
    with (
        archive_errors(path),
        tempfile.TemporaryDirectory(prefix="palaver-") as folder,
        closing(_open(path, Path(folder), has_log=has_log)) as connection,
    ):
        if connection.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
            raise ArchiveError(f"{path} is not a palaver archive")
        known = schema_version(connection)
        if known > len(MIGRATIONS):
            raise ArchiveError(f"{path} was written by a newer palaver (tables {known}): upgrade palaver")
        if known == len(MIGRATIONS):
            yield connection
        else:
            with closing(sqlite3.connect(Path(folder) / "upgraded.db", isolation_level=None)) as copy:
                connection.backup(copy)
                migrate(copy, str(path))
                yield copy
    if not has_log and _file_stamp(path) != before:
        raise ArchiveError(f"{path} changed while it was read: import it again")


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error
    return status.st_size, status.st_mtime_ns


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + LOG_SUFFIX)
    return log.exists() and log.stat().st_size > 0


def _open(path: Path, folder: Path, *, has_log: bool) -> sqlite3.Connection:
    if not has_log:
        # There is no writer. Opened in any other way, SQLite would create files beside it and leave them there.
        return _connect(path, "mode=ro&immutable=1")
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError:
        # The folder is read-only; the newest changes, in the log, can only be read from a copy.
        copy = folder / path.name
        for suffix in ("", LOG_SUFFIX):
            copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        return _connect(copy, "mode=rw")


def _connect(path: Path, parameters: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{parameters}", uri=True, isolation_level=None)
    try:
        # The file is untrusted: its tables and views must not call functions.
        connection.execute("pragma trusted_schema = off")
        connection.execute("pragma query_only = on")
        connection.execute("begin")
        schema_version(connection)
        connection.execute("select 1 from sqlite_master limit 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


_REVISIONS = (
    "select m.position, m.message_key, r.message_id, r.version from revision r "
    "join message m on m.conversation = r.conversation and m.message_id = r.message_id "
    "where r.conversation = ? order by m.position, r.message_id, r.version"
)
_REVISION_AT = (
    "select r.message_id, r.parent_message_id, r.role, r.timestamp, cast(b.content as blob), null, "
    "cast(r.rest as blob) from revision r join body b on b.body_key = r.body "
    "where r.conversation = ? and r.message_id = ? and r.version = ?"
)
_MESSAGE_AT = (
    "select m.position, m.api_message_id, exists (select 1 from answer_usage where message = m.message_key), "  # noqa: S608 - constants, bound values
    f"{MESSAGE_COLUMNS} from message m join body b on b.body_key = m.body "
    "where m.message_key = ?"
)
_SUMMARIES = "select position, cast(summary as blob) from summary where conversation = ? order by position, summary_id"
_SUMMARY_BITS = 16
_PART_BYTES = 1 << 21
"""Only archives read these documents; to them, many small ones are as good as a large one."""


class _Part(NamedTuple):
    """The contents of one document besides its header."""

    start: int
    messages: list[JsonObject]
    summaries: list[JsonObject]
    is_last: bool = False


def snapshot_documents(connection: sqlite3.Connection, key: int) -> Iterator[Document]:
    """Yield one conversation as fragments, or as one document if that can hold everything; the last one is final."""
    earlier, current = _headers(connection, key)
    sequence = 0
    for header in earlier:
        yield {**header, "messages": [], "fragment": {"sequence": sequence, "final": False, "start": 0}}
        sequence += 1
    for part in _parts(connection, key):
        made: Document = {**current}
        if part.summaries:
            made["summaries"] = part.summaries
        made["messages"] = part.messages
        if sequence or part.start or not part.is_last:
            made["fragment"] = {"sequence": sequence, "final": part.is_last, "start": part.start}
        yield made
        sequence += 1


def _headers(connection: sqlite3.Connection, key: int) -> tuple[list[Document], Document]:
    """Return the earlier header states with their own times, and the latest with the times of the conversation."""
    platform, conversation_id, created_at, updated_at = connection.execute(
        "select platform, conversation_id, created_at, updated_at from conversation where conversation_key = ?", (key,)
    ).fetchone()
    query = "select updated_at, state_hash, cast(header as blob) from header_state where conversation = ?"
    stored: list[State] = connection.execute(query, (key,)).fetchall()
    headers = [(at, orjson.loads(header)) for at, _, header in sorted(stored, key=state_key)]
    latest = headers[-1][1]
    if rating := user_rating(connection, platform, conversation_id):
        latest["rating"] = rating

    def document(header: JsonObject, created_at: str, updated_at: str | None) -> Document:
        made: Document = {"schema_version": SCHEMA_VERSION, "conversation_id": conversation_id, **header}
        made["created_at"] = created_at
        if updated_at is not None:
            made["updated_at"] = updated_at
        return made

    current = document(latest, created_at, updated_at)
    if tags := conversation_tags(connection, key, platform, conversation_id):
        current["tags"] = tags
    # A state has the time of its last change or, if unknown, of its creation.
    earlier = [
        document(header, created_at, at) if updated_at and at <= updated_at else document(header, at, None)
        for at, header in headers
        if header is not latest or at != (updated_at or created_at)
    ]
    return earlier, current


def _parts(connection: sqlite3.Connection, key: int) -> Iterator[_Part]:
    for messages in _older_versions(connection, key):
        yield _Part(0, messages, [])
    first, *others = [*_summaries(connection, key), (0, [])]
    if first[0]:
        others, first = [first, *others], (0, [])
    yield from (_Part(start, [], summaries) for start, summaries in others if summaries)
    summaries = first[1]
    start = size_bytes = 0
    messages: list[JsonObject] = []
    for message_key in _contiguous_message_keys(connection, key):
        position, api_id, is_split, *row = connection.execute(_MESSAGE_AT, (message_key,)).fetchone()
        if position != start + len(messages) or size_bytes > _PART_BYTES:
            if messages or summaries:
                yield _Part(start, messages, summaries)
            start, messages, summaries, size_bytes = position, [], [], 0
        message = message_document(tuple(row))
        metadata = message.get("metadata") or {}
        if is_split or "known_from" in metadata or metadata.get("api_message_id") != api_id:
            message = message_document((*row[:5], _own_usage(connection, message_key, metadata), row[6]))
        messages.append(message)
        size_bytes += len(row[4]) + len(row[6])
    yield _Part(start, messages, summaries, is_last=True)


def _older_versions(connection: sqlite3.Connection, key: int) -> Iterator[list[JsonObject]]:
    """Yield older versions of messages, at most one version of each per document.

    The position of a message is the greatest that any source gives it; no version gets a later position than its
    message has, so that importing it does not move the message.
    """
    waiting: list[tuple[int, int, str, bytes]] = connection.execute(_REVISIONS, (key,)).fetchall()
    while waiting:
        chosen: list[JsonObject] = []
        names: set[str] = set()
        later: list[tuple[int, int, str, bytes]] = []
        size_bytes = 0
        for position, message_key, name, version in waiting:
            if name in names or len(chosen) > position or size_bytes > _PART_BYTES:
                later.append((position, message_key, name, version))
                continue
            row = connection.execute(_REVISION_AT, (key, name, version)).fetchone()
            names.add(name)
            metadata = orjson.loads(row[6]).get("metadata") or {}
            chosen.append(message_document((*row[:5], _own_usage(connection, message_key, metadata), row[6])))
            size_bytes += len(row[4]) + len(row[6])
        yield chosen
        waiting = later


def _own_usage(connection: sqlite3.Connection, message_key: int, metadata: JsonObject) -> bytes | None:
    """Return the usage of the call that a version names; a message's own columns hold that of only one call."""
    if is_secondhand(metadata):
        return None
    own = metadata.get("api_message_id")
    usage = usage_by_call(connection, message_key).get(own if isinstance(own, str) else "")
    return usage.tokens if usage else None


def _summaries(connection: sqlite3.Connection, key: int) -> Iterator[tuple[int, list[JsonObject]]]:
    """Yield summaries by the fragment they belong to; gaps between positions are filled by repeating a summary."""
    open_lists: list[tuple[int, list[JsonObject]]] = []
    for position, summary in connection.execute(_SUMMARIES, (key,)):
        start, index = position >> _SUMMARY_BITS, position & ((1 << _SUMMARY_BITS) - 1)
        for list_start, listed in open_lists:
            if list_start == start and len(listed) <= index:
                break
        else:
            listed: list[JsonObject] = []
            open_lists.append((start, listed))
        listed += [orjson.loads(summary)] * (index + 1 - len(listed))
    yield from open_lists


def _contiguous_message_keys(connection: sqlite3.Connection, key: int) -> Iterator[int]:
    """Yield message keys in runs of consecutive positions; several messages may have the same position."""
    chains: list[list[int]] = []
    ends: dict[int, list[list[int]]] = {}
    query = "select position, message_key from message where conversation = ? order by position, timestamp, message_id"
    for position, message_key in connection.execute(query, (key,)):
        fitting = ends.get(position - 1)
        chain = fitting.pop(0) if fitting else []
        if not chain:
            chains.append(chain)
        chain.append(message_key)
        ends.setdefault(position, []).append(chain)
    for chain in chains:
        yield from chain
