"""Is the archive what it should be: each question is one function, its answer one check.

Questions that need a look at every conversation take a sample unless all of them are asked for.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import orjson

from palaver.archive import hashes, merge
from palaver.archive.ingest import columns_of
from palaver.archive.migrations import MIGRATIONS, version
from palaver.archive.reading import document
from palaver.archive.words import searchable

Verdict = Literal["ok", "warning", "problem"]

SAMPLE = 300
_SHOWN = 5
_WORD = re.compile(r"(?<!\w)[A-Za-z0-9]{3,40}(?!\w)")
REPAIR = "`palaver doctor --repair` mends it"
REPORT = "this is a bug of palaver: please report it"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    verdict: Verdict
    told: str
    advice: str = ""
    details: tuple[str, ...] = ()
    """Some of the things that are meant, by name."""


def tables(connection: sqlite3.Connection) -> Check:
    recorded = connection.execute("select coalesce(max(number), 0), count(*) from migration").fetchone()
    current = version(connection)
    if recorded != (current, current) or current != len(MIGRATIONS):
        return Check("tables", "problem", f"the tables are of version {current}, their record says {recorded}", REPORT)
    names = ("conversation", "message", "usage_record")
    held = [connection.execute(f"select count(*) from {table}").fetchone()[0] for table in names]  # noqa: S608
    used = f", {held[2]:,} usage records" if held[2] else ""
    return Check("tables", "ok", f"version {current}, {held[0]:,} conversations, {held[1]:,} messages{used}")


def integrity(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    pragma = "integrity_check" if is_full else "quick_check"
    try:
        faults = [told for (told,) in connection.execute(f"pragma {pragma}({_SHOWN})")]
    except sqlite3.DatabaseError as error:
        faults = [str(error)]
    if faults == ["ok"]:
        return Check("integrity", "ok", "every page and every index is sound" if is_full else "every page is sound")
    return Check("integrity", "problem", "the file is damaged", DAMAGED, tuple(faults))


DAMAGED = (
    "restore a copy of it; or move it away and run `palaver scan`, which brings back what the sources still hold "
    "(`sqlite3 FILE .recover` may save more)"
)


def references(connection: sqlite3.Connection) -> Check:
    broken = connection.execute('select "table", count(*) from pragma_foreign_key_check group by 1').fetchall()
    if not broken:
        return Check("references", "ok", "nothing refers to what is not there")
    details = tuple(f"{table}: {count:,} rows" for table, count in broken)
    return Check("references", "problem", "rows refer to what is not there", DAMAGED, details)


# -- the index of words -------------------------------------------------------------------------------------------


def index(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    """Whether the index holds every body that has words, under its number, and nothing else."""
    try:
        faults = list(_index_faults(connection, is_full=is_full))
    except sqlite3.DatabaseError as error:
        faults = [str(error)]
    if faults:
        return Check("search index", "problem", "the index does not agree with the messages", REPAIR, tuple(faults))
    (entries,) = connection.execute("select count(*) from search_docsize").fetchone()
    return Check("search index", "ok", f"{entries:,} texts can be searched")


def _index_faults(connection: sqlite3.Connection, *, is_full: bool) -> Iterator[str]:
    (stray,) = connection.execute(
        "select count(*) from search_docsize d left join body b on b.body_key = (d.id & 2147483647) "
        "where b.search_key is not d.id"
    ).fetchone()
    if stray:
        yield f"{stray:,} entries are of no message"
    unlisted = connection.execute(
        "select cast(content as blob) from body where not exists (select 1 from search_docsize where id = search_key)"
    )
    if missing := sum(any(searchable(orjson.loads(content))) for (content,) in unlisted):
        yield f"{missing:,} texts are not in the index"
    bodies = _spread(connection, "body", "body_key", is_full=is_full)
    if lost := sum(not _finds(connection, body) for body in bodies):
        yield f"{lost:,} of the texts looked at are not found by their own words"


def _finds(connection: sqlite3.Connection, body: int) -> bool:
    """Whether a body is found by some words of each kind that it has."""
    query = "select search_key, cast(content as blob) from body where body_key = ?"
    search_key, content = connection.execute(query, (body,)).fetchone()
    for column, words in zip(("text", "thinking", "tool"), searchable(orjson.loads(content)), strict=True):
        wanted = list(islice((found[0] for found in _WORD.finditer(words)), 3))
        if not wanted:
            continue
        match = f"{column} : (" + " AND ".join(f'"{word}"' for word in wanted) + ")"
        hit = "select 1 from search where search match ? and rowid = ?"
        if connection.execute(hit, (match, search_key)).fetchone() is None:
            return False
    return True


def index_structure(connection: sqlite3.Connection) -> Check:
    """Whether the index is sound in itself; it can be asked only by one who may write."""
    try:
        connection.execute("insert into search (search) values ('integrity-check')")
    except sqlite3.OperationalError as error:
        return Check("index structure", "warning", f"it could not be looked at: {error}", "try again later")
    except sqlite3.DatabaseError as error:
        return Check("index structure", "problem", f"the index is damaged: {error}", REPAIR)
    return Check("index structure", "ok", "the index is sound in itself")


# -- conversations ------------------------------------------------------------------------------------------------


def contents(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    """Whether every content belongs to a message, and is found when it comes again."""
    (unused,) = connection.execute(
        "select count(*) from body where not exists (select 1 from message where body = body_key) "
        "and not exists (select 1 from revision where body = body_key)"
    ).fetchone()
    if unused:
        return Check("contents", "warning", f"{unused:,} contents belong to no message", REPAIR)
    bodies = _spread(connection, "body", "body_key", is_full=is_full)
    if lost := sum(not hashes.is_known(connection, body) for body in bodies):
        return Check("contents", "warning", f"{lost:,} of the contents looked at would be stored a second time", REPAIR)
    return Check("contents", "ok", "every content belongs to a message")


def headers(connection: sqlite3.Connection, *, is_full: bool = False) -> Check:
    """Whether what can be asked for in SQL says what the accounts of a conversation say together."""
    wrong: list[str] = []
    looked_at = 0
    for key in _spread(connection, "conversation", "conversation_key", is_full=is_full):
        looked_at += 1
        conversation_id, header, *columns = connection.execute(
            "select conversation_id, cast(header as blob), title, project, model, status, is_sidechain, "
            "parent_conversation_id from conversation where conversation_key = ?",
            (key,),
        ).fetchone()
        query = "select updated_at, state_hash, cast(header as blob) from header_state where conversation = ?"
        joined = merge.header_of(connection.execute(query, (key,)).fetchall())
        if orjson.loads(header) != joined or tuple(columns) != columns_of(joined):
            wrong.append(conversation_id)
    if wrong:
        told = f"{len(wrong):,} of {looked_at:,} conversations do not say what their accounts say"
        return Check("headers", "problem", told, REPORT, tuple(wrong[:_SHOWN]))
    return Check("headers", "ok", f"{looked_at:,} conversations say what their accounts say")


def documents(
    connection: sqlite3.Connection, is_valid: Callable[[dict[str, Any]], bool], *, is_full: bool = False
) -> Check:
    wrong: list[str] = []
    looked_at = 0
    for key in _spread(connection, "conversation", "conversation_key", is_full=is_full):
        looked_at += 1
        for made in document(connection, key):
            if not is_valid(made):
                wrong.append(made["conversation_id"])
                break
    if wrong:
        told = f"{len(wrong):,} of {looked_at:,} conversations are not as the schema says"
        return Check("documents", "problem", told, REPORT, tuple(wrong[:_SHOWN]))
    return Check("documents", "ok", f"{looked_at:,} conversations are as the schema says")


def _spread(connection: sqlite3.Connection, table: str, key: str, *, is_full: bool) -> Iterator[int]:
    """All keys of a table, or a sample that is spread over it evenly and is the same each time."""
    if is_full:
        for (found,) in connection.execute(f"select {key} from {table} order by 1"):  # noqa: S608
            yield found
        return
    first, last = connection.execute(f"select coalesce(min({key}), 1), coalesce(max({key}), 0) from {table}").fetchone()  # noqa: S608
    for start in range(first, last + 1, max(1, (last + 1 - first) // SAMPLE)):
        (found,) = connection.execute(f"select min({key}) from {table} where {key} >= ?", (start,)).fetchone()  # noqa: S608
        yield found


# -- sources ------------------------------------------------------------------------------------------------------


def ledgers(connection: sqlite3.Connection) -> Check:
    wrong = connection.execute(
        "select label from ledger join source on source = source_key where failure = '' group by source "
        "having sum(iif(disposition = 'read', records, -records)) <> 0 order by 1"
    ).fetchall()
    if wrong:
        told = f"the records of {len(wrong):,} sources do not add up"
        return Check("ledgers", "problem", told, REPORT, _names(wrong))
    (records,) = connection.execute(
        "select coalesce(sum(records), 0) from ledger where disposition = 'read'"
    ).fetchone()
    return Check("ledgers", "ok", f"all {records:,} records that were read are accounted for")


def failures(connection: sqlite3.Connection) -> Check:
    failed = connection.execute("select label || ': ' || failure from source where failure <> '' order by 1").fetchall()
    failed += connection.execute(
        "select label || ': reading it was broken off' from source where imported_at = '' order by 1"
    ).fetchall()
    if failed:
        told = f"{len(failed):,} sources could not be read to their end"
        return Check("failures", "warning", told, "`palaver scan` or `palaver import` tries again", _names(failed))
    return Check("failures", "ok", "every source was read to its end")


def vanished(connection: sqlite3.Connection, exists: Callable[[str], bool]) -> Check:
    files: dict[int, bool] = {}
    for source, path in connection.execute("select source, path from source_file"):
        files[source] = files.get(source, False) or exists(path)
    gone = [source for source, is_there in files.items() if not is_there]
    if not gone:
        return Check("sources", "ok", f"all {len(files):,} sources are where they were")
    labels = [connection.execute("select label from source where source_key = ?", (key,)).fetchone() for key in gone]
    told = f"{len(gone):,} of {len(files):,} sources are no longer there; what they held is kept"
    return Check("sources", "ok", told, "", _names(labels))


def quarantine(connection: sqlite3.Connection) -> Check:
    (entries,) = connection.execute("select count(*) from quarantine").fetchone()
    if not entries:
        return Check("quarantine", "ok", "nothing is set aside")
    advice = "`palaver quarantine list` shows them, `palaver quarantine retry` tries again"
    return Check("quarantine", "warning", f"{entries:,} records could not be read and are set aside", advice)


def unused_space(connection: sqlite3.Connection) -> Check:
    (pages,), (free,), (size,) = (
        connection.execute(f"pragma {word}").fetchone() for word in ("page_count", "freelist_count", "page_size")
    )
    told = f"{100 * free // max(pages, 1)} % of the file is unused ({in_words(free * size)})"
    if free * 4 > pages and free * size > 1 << 26:
        return Check("unused space", "warning", told, "`palaver doctor --repair` gives it back")
    return Check("unused space", "ok", told)


def in_words(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:,.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:,.1f} MB"


def _names(rows: Iterable[tuple[str]]) -> tuple[str, ...]:
    return tuple(name for (name,) in islice(rows, _SHOWN))
