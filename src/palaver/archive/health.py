"""Health checks of the archive, and the repairs of its search index and bodies.

Checks that would have to read every conversation read a sample, unless `is_full` is set.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import orjson

from palaver.archive import body_store, join
from palaver.archive.documents import conversation_documents
from palaver.archive.ingest import header_columns
from palaver.archive.migrations import MIGRATIONS, schema_version
from palaver.archive.search_text import index_texts

Verdict = Literal["ok", "warning", "problem"]

SAMPLE_SIZE = 300
_MAX_DETAILS = 5
_CHUNK_SIZE = 200
_WORD = re.compile(r"(?<!\w)[A-Za-z0-9]{3,40}(?!\w)")
REPAIR_ADVICE = "`palaver doctor --repair` fixes it"
REPORT_ADVICE = "this is a bug in palaver: please report it"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    verdict: Verdict
    message: str
    advice: str = ""
    details: tuple[str, ...] = ()
    """Names of some of the rows concerned."""


def check_tables(connection: sqlite3.Connection) -> Check:
    recorded = connection.execute("select coalesce(max(number), 0), count(*) from migration").fetchone()
    current = schema_version(connection)
    if recorded != (current, current) or current != len(MIGRATIONS):
        return Check(
            "tables",
            "problem",
            f"the tables have version {current}, but the migration log says {recorded}",
            REPORT_ADVICE,
        )
    names = ("conversation", "message", "usage_record")
    counts = [connection.execute(f"select count(*) from {table}").fetchone()[0] for table in names]  # noqa: S608 - constants, bound values
    used = f", {counts[2]:,} usage {'record' if counts[2] == 1 else 'records'}" if counts[2] else ""
    return Check("tables", "ok", f"version {current}, {counts[0]:,} conversations, {counts[1]:,} messages{used}")


def check_integrity(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    pragma = "integrity_check" if is_full else "quick_check"
    try:
        faults = [fault for (fault,) in connection.execute(f"pragma {pragma}({_MAX_DETAILS})")]
    except sqlite3.DatabaseError as error:
        faults = [str(error)]
    if faults == ["ok"]:
        return Check("integrity", "ok", "database intact, indexes included" if is_full else "database intact")
    return Check("integrity", "problem", "the file is damaged", DAMAGED_ADVICE, tuple(faults))


DAMAGED_ADVICE = (
    "restore a backup; or move the file away and run `palaver scan`, which imports everything still in the sources "
    "(`sqlite3 FILE .recover` may save more)"
)


def check_references(connection: sqlite3.Connection) -> Check:
    broken = connection.execute('select "table", count(*) from pragma_foreign_key_check group by 1').fetchall()
    if not broken:
        return Check("references", "ok", "all references between rows are valid")
    details = tuple(f"{table}: {count:,} rows" for table, count in broken)
    return Check("references", "problem", "some rows refer to missing rows", DAMAGED_ADVICE, details)


def check_search_index(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    """Check that the index holds every body with text, under its key, and nothing else."""
    try:
        faults = list(_index_faults(connection, is_full=is_full))
    except sqlite3.DatabaseError as error:
        faults = [str(error)]
    if faults:
        return Check("search index", "problem", "the index does not match the messages", REPAIR_ADVICE, tuple(faults))
    (entries,) = connection.execute("select count(*) from search_docsize").fetchone()
    return Check("search index", "ok", f"{entries:,} texts indexed")


def _index_faults(connection: sqlite3.Connection, *, is_full: bool) -> Iterator[str]:
    (stray,) = connection.execute(
        "select count(*) from search_docsize d left join body b on b.body_key = (d.id & 2147483647) "
        "where b.search_key is not d.id"
    ).fetchone()
    if stray:
        yield f"{stray:,} index entries belong to no message"
    unlisted = connection.execute(
        "select cast(content as blob) from body where not exists (select 1 from search_docsize where id = search_key)"
    )
    if missing := sum(any(index_texts(orjson.loads(content))) for (content,) in unlisted):
        yield f"{missing:,} texts are missing from the index"
    bodies = _sampled_keys(connection, "body", "body_key", is_full=is_full)
    if lost := sum(not _is_found(connection, body) for body in bodies):
        yield f"{lost:,} of the sampled texts cannot be found by a search"


def _is_found(connection: sqlite3.Connection, body: int) -> bool:
    """Return whether a search for words from each of its columns finds a body."""
    query = "select search_key, cast(content as blob) from body where body_key = ?"
    search_key, content = connection.execute(query, (body,)).fetchone()
    for column, words in zip(("text", "thinking", "tool"), index_texts(orjson.loads(content)), strict=True):
        sample = list(islice((found[0] for found in _WORD.finditer(words)), 3))
        if not sample:
            continue
        match = f"{column} : (" + " AND ".join(f'"{word}"' for word in sample) + ")"
        hit = "select 1 from search where search match ? and rowid = ?"
        if connection.execute(hit, (match, search_key)).fetchone() is None:
            return False
    return True


def check_index_structure(connection: sqlite3.Connection) -> Check:
    """Check the internal structure of the index; this needs a connection for writing."""
    try:
        connection.execute("insert into search (search) values ('integrity-check')")
    except sqlite3.OperationalError as error:
        return Check("index structure", "warning", f"could not be checked: {error}", "try again later")
    except sqlite3.DatabaseError as error:
        return Check("index structure", "problem", f"the index is damaged: {error}", REPAIR_ADVICE)
    return Check("index structure", "ok", "index intact")


def check_contents(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    """Check that every body belongs to a message, and is found by its hash."""
    (unused,) = connection.execute(
        "select count(*) from body where not exists (select 1 from message where body = body_key) "
        "and not exists (select 1 from revision where body = body_key)"
    ).fetchone()
    if unused:
        return Check("contents", "warning", f"{unused:,} stored contents belong to no message", REPAIR_ADVICE)
    bodies = _sampled_keys(connection, "body", "body_key", is_full=is_full)
    if lost := sum(not body_store.is_known(connection, body) for body in bodies):
        return Check("contents", "warning", f"{lost:,} of the sampled contents would be stored twice", REPAIR_ADVICE)
    return Check("contents", "ok", "every stored content belongs to a message")


def check_headers(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    """Check that the header and columns of each conversation agree with its joined header states."""
    wrong: list[str] = []
    checked = 0
    for key in _sampled_keys(connection, "conversation", "conversation_key", is_full=is_full):
        checked += 1
        conversation_id, header, *columns = connection.execute(
            "select conversation_id, cast(header as blob), title, project, model, status, is_sidechain, "
            "parent_conversation_id from conversation where conversation_key = ?",
            (key,),
        ).fetchone()
        query = "select updated_at, state_hash, cast(header as blob) from header_state where conversation = ?"
        joined = join.joined_header(connection.execute(query, (key,)).fetchall())
        if orjson.loads(header) != joined or tuple(columns) != header_columns(joined):
            wrong.append(conversation_id)
    if wrong:
        message = f"{len(wrong):,} of {checked:,} conversation headers do not match their sources"
        return Check("headers", "problem", message, REPORT_ADVICE, tuple(wrong[:_MAX_DETAILS]))
    return Check("headers", "ok", f"conversation headers are consistent{_sampled(connection, checked)}")


def check_documents(
    connection: sqlite3.Connection, is_valid: Callable[[dict[str, Any]], bool], *, is_full: bool = False
) -> Check:
    wrong: list[str] = []
    checked = 0
    for key in _sampled_keys(connection, "conversation", "conversation_key", is_full=is_full):
        checked += 1
        for made in conversation_documents(connection, key):
            if not is_valid(made):
                wrong.append(made["conversation_id"])
                break
    if wrong:
        message = f"{len(wrong):,} of {checked:,} conversations do not match the schema"
        return Check("documents", "problem", message, REPORT_ADVICE, tuple(wrong[:_MAX_DETAILS]))
    return Check("documents", "ok", f"conversations match the schema{_sampled(connection, checked)}")


def _sampled(connection: sqlite3.Connection, checked: int) -> str:
    """Return how many conversations were checked, unless all were."""
    (conversations,) = connection.execute("select count(*) from conversation").fetchone()
    return f" ({checked:,} of {conversations:,} checked)" if checked < conversations else ""


def _sampled_keys(connection: sqlite3.Connection, table: str, key: str, *, is_full: bool) -> Iterator[int]:
    """Yield all keys of a table, or a reproducible sample spread evenly over it."""
    if is_full:
        for (found,) in connection.execute(f"select {key} from {table} order by 1"):  # noqa: S608 - constants, bound values
            yield found
        return
    first, last = connection.execute(f"select coalesce(min({key}), 1), coalesce(max({key}), 0) from {table}").fetchone()  # noqa: S608 - constants, bound values
    previous = None
    for start in range(first, last + 1, max(1, (last + 1 - first) // SAMPLE_SIZE)):
        (found,) = connection.execute(f"select min({key}) from {table} where {key} >= ?", (start,)).fetchone()  # noqa: S608 - constants, bound values
        if found != previous:  # a gap between keys leads to the same key again
            yield found
        previous = found


def check_ledgers(connection: sqlite3.Connection) -> Check:
    wrong = connection.execute(
        "select label from ledger join source on source = source_key where failure = '' group by source "
        "having sum(iif(disposition = 'read', records, -records)) <> 0 order by 1"
    ).fetchall()
    if wrong:
        message = f"record counts of {len(wrong):,} sources do not add up"
        return Check("ledgers", "problem", message, REPORT_ADVICE, _names(wrong))
    (records,) = connection.execute(
        "select coalesce(sum(records), 0) from ledger where disposition = 'read'"
    ).fetchone()
    return Check("ledgers", "ok", f"all {records:,} records read are accounted for")


def check_failures(connection: sqlite3.Connection) -> Check:
    failed = connection.execute("select label || ': ' || failure from source where failure <> '' order by 1").fetchall()
    failed += connection.execute(
        "select label || ': interrupted while reading' from source where imported_at = '' order by 1"
    ).fetchall()
    if failed:
        message = f"{len(failed):,} sources could not be read to the end"
        return Check("failures", "warning", message, "`palaver scan` or `palaver import` tries again", _names(failed))
    return Check("failures", "ok", "every source was read to the end")


def check_missing_sources(connection: sqlite3.Connection, exists: Callable[[str], bool]) -> Check:
    files: dict[int, bool] = {}
    for source, path in connection.execute("select source, path from source_file"):
        files[source] = files.get(source, False) or exists(path)
    gone = [source for source, is_there in files.items() if not is_there]
    if not gone:
        return Check("sources", "ok", f"all {len(files):,} sources still exist")
    labels = [connection.execute("select label from source where source_key = ?", (key,)).fetchone() for key in gone]
    message = f"{len(gone):,} of {len(files):,} sources no longer exist; their conversations are kept"
    return Check("sources", "ok", message, "", _names(labels))


def check_other_files(connection: sqlite3.Connection, exists: Callable[[str], bool]) -> Check:
    """List the files beside conversations that no importer reads; `palaver scan` names each of them only once."""
    rows = connection.execute("select path from unclaimed_file where reason = '' order by path").fetchall()
    found = [row for row in rows if exists(row[0])]
    if not found:
        return Check("other files", "ok", "no files were skipped")
    message = f"{len(found):,} files were skipped: not conversations"
    if len(found) == 1:
        message = "1 file was skipped: not a conversation"
    return Check("other files", "ok", message, "", _names(found))


def check_outdated_sources(
    connection: sqlite3.Connection, revision: Callable[[str], int], exists: Callable[[str], bool]
) -> Check:
    """Check for sources that an earlier revision of their importer read; those that are gone stay as they were read."""
    query = "select platform, label, revision from source where revision >= 0 and imported_at <> '' order by label"
    current: dict[str, int] = {}
    waiting: list[tuple[str]] = []
    gone: list[tuple[str]] = []
    for platform, label, read_with in connection.execute(query):
        if platform not in current:
            current[platform] = revision(platform)
        if read_with < current[platform]:
            (waiting if exists(label) else gone).append((label,))
    messages = ["every existing source was read by current importers"]
    if waiting:
        sources_were = "source was" if len(waiting) == 1 else "sources were"
        messages = [f"{len(waiting):,} {sources_were} read by earlier importers"]
    if gone:
        are, them = ("is", "it") if len(gone) == 1 else ("are", "them")
        messages.append(f"{len(gone):,} read by earlier importers {are} gone; conversations from {them} stay unchanged")
    advice = f"`palaver scan` reads {'it' if len(waiting) == 1 else 'them'} again" if waiting else ""
    return Check("importers", "ok", "; ".join(messages), advice, _names(waiting or gone))


def check_quarantine(connection: sqlite3.Connection) -> Check:
    (entries,) = connection.execute("select count(*) from quarantine").fetchone()
    if not entries:
        return Check("quarantine", "ok", "nothing is quarantined")
    advice = "`palaver quarantine list` shows them, `palaver quarantine retry` reads them again"
    records = "1 record could not be read and is" if entries == 1 else f"{entries:,} records could not be read and are"
    return Check("quarantine", "warning", f"{records} quarantined", advice)


def check_unused_space(connection: sqlite3.Connection) -> Check:
    (pages,), (free,), (size,) = (
        connection.execute(f"pragma {word}").fetchone() for word in ("page_count", "freelist_count", "page_size")
    )
    message = f"{100 * free // max(pages, 1)}% of the file is unused ({format_size(free * size)})"
    if free * 4 > pages and free * size > 1 << 26:
        return Check("unused space", "warning", message, "`palaver doctor --repair` frees it")
    return Check("unused space", "ok", message)


def format_size(size_bytes: int) -> str:
    if size_bytes >= 1e9:
        return f"{size_bytes / 1e9:,.1f} GB"
    return (
        f"{size_bytes / 1e6:,.1f} MB" if size_bytes >= 50_000 else f"{size_bytes // 1000} kB" if size_bytes else "0 MB"
    )


def _names(rows: Iterable[tuple[str]]) -> tuple[str, ...]:
    return tuple(name for (name,) in islice(rows, _MAX_DETAILS))


def rebuild_index(connection: sqlite3.Connection) -> int:
    """Rebuild the search index in the caller's transaction, and return the number of bodies indexed."""
    connection.execute("insert into search (search) values ('delete-all')")
    # Sorts keys only, and reads texts one by one: sorting texts would need space for all of them.
    keys = connection.execute("select search_key, body_key from body order by search_key")
    indexed = 0
    while some := list(islice(_indexed_texts(connection, keys), _CHUNK_SIZE)):
        connection.executemany("insert into search (rowid, text, thinking, tool) values (?, ?, ?, ?)", some)
        indexed += len(some)
    return indexed


def _indexed_texts(
    connection: sqlite3.Connection, keys: Iterator[tuple[int, int]]
) -> Iterator[tuple[int, str, str, str]]:
    for search_key, body in keys:
        query = "select cast(content as blob) from body where body_key = ?"
        words = index_texts(orjson.loads(connection.execute(query, (body,)).fetchone()[0]))
        if any(words):
            yield (search_key, *words)


def remove_unused_bodies(connection: sqlite3.Connection) -> int:
    """Delete bodies that belong to no message, and return their number."""
    unused = connection.execute(
        "select body_key from body where not exists (select 1 from message where body = body_key) "
        "and not exists (select 1 from revision where body = body_key)"
    ).fetchall()
    connection.executemany("delete from body where body_key = ?", unused)
    return len(unused)
