"""The schema of the archive, as numbered migrations.

A released migration never changes; a new one alters what it created.
"""

import sqlite3
from datetime import UTC, datetime
from typing import NamedTuple

from palaver.errors import ArchiveError

APPLICATION_ID = 0x50414C56
"""Spells "PALV" in the file's header, so that an archive is recognized by its first bytes."""


class Migration(NamedTuple):
    name: str
    statements: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "conversations, messages, bodies, sources",
        (
            """
            create table conversation (
                conversation_key integer primary key,
                platform text not null,
                conversation_id text not null,
                title text,
                project text,
                model text,
                created_at text not null,
                updated_at text,
                status text,
                is_sidechain integer not null,
                parent_conversation_id text,
                header text not null,
                unique (platform, conversation_id)
            )""",
            "create index conversation_by_creation on conversation (created_at)",
            """
            create index conversation_by_parent on conversation (parent_conversation_id)
            where parent_conversation_id is not null""",
            """
            create table header_state (
                conversation integer not null references conversation on delete cascade,
                state_hash blob not null,
                updated_at text not null,
                header text not null,
                primary key (conversation, state_hash)
            ) without rowid""",
            """
            create table body (
                body_key integer primary key,
                hash blob not null,
                search_key integer not null,
                is_error integer not null,
                content text not null
            )""",
            "create unique index body_by_hash on body (hash)",
            """
            create table tool_call (
                tool text not null,
                body integer not null references body on delete cascade,
                calls integer not null,
                primary key (tool, body)
            ) without rowid""",
            "create index tool_call_by_body on tool_call (body)",
            """
            create table message (
                message_key integer primary key,
                conversation integer not null references conversation on delete cascade,
                message_id text not null,
                position integer not null,
                parent_message_id text,
                role text not null,
                author_kind text,
                timestamp text not null,
                model text,
                api_message_id text,
                input_tokens integer,
                output_tokens integer,
                cache_read_tokens integer,
                cache_write_tokens integer,
                cache_write_1h_tokens integer,
                thinking_tokens integer,
                tokens text,
                body integer not null references body,
                version blob not null,
                rest text not null
            )""",
            "create unique index message_by_id on message (conversation, message_id)",
            # Covers what search needs of a message, so that it need not read the row.
            "create index message_by_body on message (body, conversation, timestamp, role, author_kind)",
            "create index message_by_api_message_id on message (api_message_id) where api_message_id is not null",
            """
            create table revision (
                conversation integer not null references conversation on delete cascade,
                message_id text not null,
                version blob not null,
                parent_message_id text,
                role text not null,
                timestamp text not null,
                body integer not null references body,
                rest text not null,
                primary key (conversation, message_id, version)
            ) without rowid""",
            "create index revision_by_body on revision (body)",
            """
            create table summary (
                conversation integer not null references conversation on delete cascade,
                summary_id text not null,
                position integer not null,
                timestamp text not null,
                summary text not null,
                primary key (conversation, summary_id)
            ) without rowid""",
            """
            create table source_tag (
                conversation integer not null references conversation on delete cascade,
                tag text not null,
                primary key (conversation, tag)
            ) without rowid""",
            """
            create table tag (
                platform text not null,
                conversation_id text not null,
                tag text not null,
                is_removed integer not null,
                changed_at text not null,
                primary key (platform, conversation_id, tag)
            ) without rowid""",
            """
            create table rating (
                platform text not null,
                conversation_id text not null,
                score real,
                feedback text,
                rated_at text not null,
                primary key (platform, conversation_id)
            ) without rowid""",
            """
            create table tombstone (
                platform text not null,
                conversation_id text not null,
                forgotten_at text not null,
                reason text,
                primary key (platform, conversation_id)
            ) without rowid""",
            """
            create table source (
                source_key integer primary key,
                label text not null,
                platform text not null,
                form text not null,
                reason text not null,
                members text not null,
                options text not null,
                size_bytes integer not null,
                conversations integer not null,
                messages integer not null,
                failure text not null,
                first_imported_at text not null,
                imported_at text not null,
                palaver_version text not null,
                unique (platform, label)
            )""",
            """
            create table source_file (
                path text not null,
                source integer not null references source on delete cascade,
                size_bytes integer not null,
                modified_ns integer not null,
                primary key (path, source)
            ) without rowid""",
            "create index source_file_by_source on source_file (source)",
            """
            create table unclaimed_file (
                path text primary key,
                size_bytes integer not null,
                modified_ns integer not null,
                reason text not null,
                asked text not null
            ) without rowid""",
            """
            create table cursor (
                source integer not null references source on delete cascade,
                file text not null,
                read_bytes integer not null,
                tail_hash text not null,
                state text not null,
                primary key (source, file)
            ) without rowid""",
            """
            create table ledger (
                source integer not null references source on delete cascade,
                disposition text not null,
                rule text not null,
                records integer not null,
                primary key (source, disposition, rule)
            ) without rowid""",
            """
            create table finding (
                source integer not null references source on delete cascade,
                code text not null,
                severity text not null,
                findings integer not null,
                places text not null,
                primary key (source, code)
            ) without rowid""",
            """
            create table quarantine (
                quarantine_key integer primary key,
                source integer not null references source on delete cascade,
                place text not null,
                code text not null,
                message text not null,
                set_aside_at text not null,
                raw blob not null
            )""",
            "create index quarantine_by_source on quarantine (source)",
            """
            create table origin (
                conversation integer not null references conversation on delete cascade,
                source integer not null references source on delete cascade,
                primary key (conversation, source)
            ) without rowid""",
            "create index origin_by_source on origin (source)",
            """
            create table withheld (
                platform text not null,
                conversation_id text not null,
                source integer not null references source on delete cascade,
                primary key (platform, conversation_id, source),
                foreign key (platform, conversation_id) references tombstone on delete cascade
            ) without rowid""",
            "create index withheld_by_source on withheld (source)",
            """
            create virtual table search using fts5 (
                text, thinking, tool, content = '', tokenize = 'unicode61 remove_diacritics 2'
            )""",
            # Collecting words in 16 MB before sorting them into the index saves a third of indexing time.
            "insert into search (search, rank) values ('hashsize', 16777216)",
            "insert into search (search, rank) values ('automerge', 8)",
        ),
    ),
    Migration(
        "usage records, usage of several calls with the same words",
        (
            """
            create table answer_usage (
                message integer not null references message on delete cascade,
                api_message_id text not null,
                input_tokens integer,
                output_tokens integer,
                cache_read_tokens integer,
                cache_write_tokens integer,
                cache_write_1h_tokens integer,
                thinking_tokens integer,
                tokens text not null,
                primary key (message, api_message_id)
            ) without rowid""",
            "create index answer_usage_by_api_message_id on answer_usage (api_message_id)",
            """
            create table usage_record (
                usage_key integer primary key,
                platform text not null,
                usage_id text not null,
                kind text not null,
                started_at text not null,
                ended_at text,
                subject_kind text,
                subject_id text,
                model text,
                request_id text,
                api_message_id text,
                input_tokens integer,
                output_tokens integer,
                cache_read_tokens integer,
                cache_write_tokens integer,
                cache_write_1h_tokens integer,
                thinking_tokens integer,
                record text not null,
                unique (platform, usage_id)
            )""",
            "create index usage_record_by_time on usage_record (started_at)",
            """
            create table usage_origin (
                usage_record integer not null references usage_record on delete cascade,
                source integer not null references source on delete cascade,
                primary key (usage_record, source)
            ) without rowid""",
            "create index usage_origin_by_source on usage_origin (source)",
        ),
    ),
    Migration(
        "what grows with the archive is written anew less often",
        (
            # Every transaction adds a segment to the index. Merging eight at a time takes a third of indexing time at a
            # gigabyte, and makes an import a quarter slower; searching more segments is just as fast.
            "insert into search (search, rank) values ('automerge', 64)",
            # Merge a little in each transaction: merging everything at once would write as much as the whole index.
            "insert into search (search, rank) values ('crisismerge', 256)",
            "insert into search (search, rank) values ('pgsz', 8000)",
            "create table settled_hash (hash blob primary key, body integer not null) without rowid",
            "create table recent_hash (hash blob primary key, body integer not null) without rowid",
            "insert into settled_hash select hash, body_key from body order by hash",
            "drop index body_by_hash",
            """
            create trigger hash_of_removed_body after delete on body begin
                delete from recent_hash where hash = old.hash and body = old.body_key;
                delete from settled_hash where hash = old.hash and body = old.body_key;
            end""",
        ),
    ),
    Migration(
        "which revision of its importer read each source",
        # What earlier versions read has revision 0, so that the next import reads it again.
        ("alter table source add column revision integer not null default 0",),
    ),
    Migration(
        "messages of recorded API traffic are found by the ids of their calls",
        (
            "alter table message add column request_id text",
            "alter table message add column sent_at text",
            "alter table message add column sent_request text",
            # No message has been sent yet: only importers of this version say so.
            """
            update message set request_id = json_extract(rest, '$.metadata.request_id')
            where api_message_id is null and instr(rest, '"request_id":"') > 0
            and json_type(rest, '$.metadata.request_id') = 'text'
            and json_extract(rest, '$.metadata.request_id') glob '*[^0-9]*'""",
            "create index message_by_sending on message (conversation, api_message_id) where sent_at is not null",
            """
            create index message_by_sent_request on message (sent_request, sent_at)
            where sent_request is not null""",
            "create index message_by_sent_request_id on message (request_id, api_message_id) where sent_at is not null",
            # Recorded calls that failed are left out: what else has their ids states no tokens.
            """
            create index message_by_request_id on message (request_id, sent_at) where api_message_id is null
            and request_id is not null and (sent_at is null or tokens is not null)""",
        ),
    ),
)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Migrate a file to the newest schema in one transaction; concurrent processes wait for the first one."""
    if schema_version(connection) == len(MIGRATIONS):
        return
    connection.execute("begin immediate")
    try:
        current = schema_version(connection)
        _reject_foreign_file(connection, current, path)
        for number, migration in enumerate(MIGRATIONS[current:], current + 1):
            _apply(connection, number, migration)
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def schema_version(connection: sqlite3.Connection) -> int:
    return connection.execute("pragma user_version").fetchone()[0]


def _reject_foreign_file(connection: sqlite3.Connection, current: int, path: str) -> None:
    if current > len(MIGRATIONS):
        raise ArchiveError(
            f"{path} was written by a newer palaver (tables {current}, known: {len(MIGRATIONS)}): upgrade palaver"
        )
    if connection.execute("pragma application_id").fetchone()[0] == APPLICATION_ID:
        return
    if current or connection.execute("select 1 from sqlite_master limit 1").fetchone():
        raise ArchiveError(f"{path} is a SQLite file of another program: set PALAVER_HOME to another folder")


def _apply(connection: sqlite3.Connection, number: int, migration: Migration) -> None:
    if number == 1:
        connection.execute("create table migration (number integer primary key, name text not null, applied_at text)")
    for statement in migration.statements:
        connection.execute(statement)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    connection.execute("insert into migration values (?, ?, ?)", (number, migration.name, now))
    connection.execute(f"pragma user_version = {number}")
