"""Stores an archive of the newest version as text, for the tests of later ones; run once, when a migration is added.

python tests/archive/store.py
"""

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from archiving import exported, keep_documents, keep_folder, keep_usage
from importing import FIXTURES, set_time
from palaver.archive.migrations import APPLICATION_ID, MIGRATIONS

CASES = ("claude_code/plain_session", "claude_code/damage_bad_line_middle", "chatgpt/branches")
HOME = "/home/ada/stored"
AT = "2026-01-01T10:00:00.000Z"


def answered(api_message_id: str, output_tokens: int) -> dict:
    """The same words, by one of several calls."""
    return {
        "schema_version": "1.0.0",
        "conversation_id": "twice",
        "platform": {"name": "azure_openai"},
        "created_at": AT,
        "messages": [
            {
                "message_id": "m1",
                "role": "assistant",
                "timestamp": AT,
                "content": [{"type": "text", "text": "Yes."}],
                "tokens": {"output_tokens": output_tokens},
                "metadata": {"api_message_id": api_message_id},
            }
        ],
    }


RECORD = {
    "schema_version": "1.0.0",
    "usage_id": "call-1",
    "platform": {"name": "azure_openai"},
    "kind": "request",
    "started_at": AT,
    "tokens": {"output_tokens": 7},
}


def main() -> None:
    stored = Path(__file__).parent / "stored"
    stored.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for case in CASES:
            shutil.copytree(FIXTURES / case / "source", folder / case)
        for path in folder.rglob("*"):
            set_time(path)
        archive = folder / "archive.db"
        keep_folder(folder, archive)
        keep_documents(archive, answered("chatcmpl-1", 3), answered("chatcmpl-2", 4))
        keep_usage(archive, RECORD)
        with closing(sqlite3.connect(archive)) as connection:
            lines = [line.replace(str(folder), HOME) for line in dumped(connection)]
        (stored / f"{len(MIGRATIONS)}.sql").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (stored / f"{len(MIGRATIONS)}.jsonl").write_bytes(b"".join(line + b"\n" for line in exported(archive)))


def dumped(connection: sqlite3.Connection) -> Iterator[str]:
    """The whole file as statements; the tables behind the index are filled as they are."""
    yield "begin;"
    made = connection.execute(
        "select type, name, sql from sqlite_master where sql is not null order by rowid"
    ).fetchall()
    for kind, name, sql in made:
        if kind == "table" and not name.startswith("search_"):
            yield f"{sql};"
    for kind, name, _ in made:
        if kind != "table" or name == "search":
            continue
        yield f"delete from {name};"
        columns = [column for _, column, *_ in connection.execute(f"pragma table_info({name})")]
        quoted = " || ', ' || ".join(f"quote({column})" for column in columns)
        for (values,) in connection.execute(f"select {quoted} from {name}"):
            yield f"insert into {name} values ({values});"
    for kind, _, sql in made:
        if kind in {"index", "trigger"}:
            yield f"{sql};"
    yield f"pragma user_version = {len(MIGRATIONS)};"
    yield f"pragma application_id = {APPLICATION_ID};"
    yield "commit;"


if __name__ == "__main__":
    main()
