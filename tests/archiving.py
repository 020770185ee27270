"""What the tests of the archive share: a folder kept in an archive, and what the archive holds as bytes."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from importing import FIXTURES
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.documents import documents
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.archive.usage_records import add_usage_records, usage_row
from palaver.importers import platforms
from palaver.model.report import Report
from palaver.workflows import archive_import
from palaver.workflows.plan import Planner
from palaver.workflows.reread_plan import add_rereads

Json = dict[str, Any]

_FACTS = {
    "conversation": "select platform, conversation_id, title, project, model, created_at, updated_at, status, "
    "is_sidechain, parent_conversation_id, header from conversation",
    "account": "select platform, conversation_id, state_hash, s.updated_at, s.header from header_state s "
    "join conversation on conversation_key = conversation",
    "message": "select platform, conversation_id, message_id, position, m.parent_message_id, role, author_kind, "
    "timestamp, m.model, api_message_id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, "
    "cache_write_1h_tokens, thinking_tokens, tokens, hash, version, rest, request_id, sent_at, sent_request "
    "from message m join conversation on conversation_key = conversation join body on body_key = body",
    "revision": "select platform, conversation_id, message_id, version, r.parent_message_id, role, timestamp, hash, "
    "rest from revision r join conversation on conversation_key = conversation join body on body_key = body",
    "summary": "select platform, conversation_id, summary_id, position, timestamp, summary from summary "
    "join conversation on conversation_key = conversation",
    "tag": "select platform, conversation_id, tag from source_tag join conversation on conversation_key = conversation",
    "call": "select platform, conversation_id, message_id, a.api_message_id, a.tokens, a.input_tokens, "
    "a.output_tokens, a.cache_read_tokens, a.cache_write_tokens, a.cache_write_1h_tokens, a.thinking_tokens "
    "from answer_usage a join message on message_key = message join conversation on conversation_key = conversation",
    "usage record": "select platform, usage_id, kind, started_at, ended_at, subject_kind, subject_id, model, "
    "request_id, api_message_id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, "
    "cache_write_1h_tokens, thinking_tokens, record from usage_record",
    "body": "select hash, content, is_error from body",
}


def keep_folder(root: Path, archive: Path, platform: str | None = None, *, is_again: bool = False) -> Report:
    """Import what is new below a folder into an archive, in this process."""
    return keep_paths([root], archive, platform, is_again=is_again)


def keep_fixtures(archive: Path) -> Report:
    """Import the fixtures of every platform, as far as they are new."""
    return keep_paths([folder for name in platforms() if (folder := FIXTURES / name).is_dir()], archive)


def keep_paths(paths: list[Path], archive: Path, platform: str | None = None, *, is_again: bool = False) -> Report:
    planner = Planner(archive, {}, is_again=is_again)
    plan = planner.plan(paths, platform)
    add_rereads(plan, planner)
    archive_import.import_into_archive(
        plan.tasks, plan.report, archive, unclaimed=plan.unclaimed, released=plan.released
    )
    return plan.report


def keep_documents(archive: Path, *documents: Json) -> Path:
    """Join documents with an archive, one after the other."""
    with closing(open_to_write(archive)) as connection:
        connection.execute("begin")
        ingest = Ingest(connection)
        for document in documents:
            ingest.add([(conversation_rows(document), None)])
        connection.execute("commit")
    return archive


def keep_usage(archive: Path, *records: Json) -> Path:
    """Join usage records with an archive, one after the other."""
    with closing(open_to_write(archive)) as connection:
        connection.execute("begin")
        for record in records:
            add_usage_records(connection, [usage_row(record)], None)
        connection.execute("commit")
    return archive


def exported(archive: Path, keys: Iterable[int] | None = None) -> list[bytes]:
    """Every document of an archive, as `palaver export --format jsonl` writes them."""
    with closing(open_to_read(archive)) as connection:
        return [orjson.dumps(document) for document in documents(connection, keys)]


def facts(archive: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that an archive knows of conversations, without regard to the numbers that it gave them."""
    with closing(open_to_read(archive)) as connection:
        return {name: sorted(connection.execute(query), key=repr) for name, query in _FACTS.items()}
