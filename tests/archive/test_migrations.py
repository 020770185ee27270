"""Archives of every earlier version open as archives of this one; those of others are refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from archiving import exported, keep_folder
from importing import FIXTURES
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.migrations import APPLICATION_ID, MIGRATIONS, schema_version
from palaver.errors import ArchiveError

STORED = Path(__file__).parent / "stored"
PLAIN = FIXTURES / "claude_code" / "plain_session" / "source"
DOCS = Path(__file__).parents[2] / "docs" / "archive.md"


def schema(path: Path) -> list[tuple]:
    with closing(open_to_read(path)) as connection:
        return connection.execute(
            "select type, name, tbl_name, sql from sqlite_master where type <> 'index' or sql is not null order by 1, 2"
        ).fetchall()


def test_there_is_a_stored_archive_of_every_version():
    assert sorted(path.name for path in STORED.glob("*.sql")) == [f"{n}.sql" for n in range(1, len(MIGRATIONS) + 1)]


@pytest.mark.parametrize("number", range(1, len(MIGRATIONS) + 1))
def test_a_stored_archive_opens_and_holds_what_it_held(number, tmp_path):
    path = tmp_path / "archive.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript((STORED / f"{number}.sql").read_text(encoding="utf-8"))
        assert schema_version(connection) == number
    open_to_write(path).close()
    assert exported(path) == (STORED / f"{number}.jsonl").read_bytes().splitlines()
    open_to_write(tmp_path / "new.db").close()
    assert schema(path) == schema(tmp_path / "new.db")
    with closing(open_to_read(path)) as connection:
        assert [row[0] for row in connection.execute("select number from migration order by 1")] == list(
            range(1, len(MIGRATIONS) + 1)
        )
        found = connection.execute("select count(*) from search where search match 'recipe OR the'").fetchone()[0]
        assert found


def test_a_failed_migration_leaves_the_archive_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "archive.db"
    keep_folder(PLAIN, path)
    before = exported(path)
    broken = MIGRATIONS[0]._replace(name="broken", statements=("create table half (x)", "create nonsense"))
    monkeypatch.setattr("palaver.archive.migrations.MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(ArchiveError, match="syntax error"):
        open_to_write(path)
    monkeypatch.undo()
    assert exported(path) == before
    with closing(open_to_read(path)) as connection:
        assert schema_version(connection) == len(MIGRATIONS)
        assert not connection.execute("select 1 from sqlite_master where name = 'half'").fetchone()


def test_a_newer_archive_is_refused(tmp_path):
    path = tmp_path / "archive.db"
    open_to_write(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    for opened in (open_to_read, open_to_write):
        with pytest.raises(ArchiveError, match="newer palaver"):
            opened(path)


@pytest.mark.parametrize("user_version", [0, len(MIGRATIONS)])
def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path, user_version):
    path = tmp_path / "archive.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table theirs (x)")
        connection.execute(f"pragma user_version = {user_version}")
    for opened in (open_to_read, open_to_write):
        with pytest.raises(ArchiveError):
            opened(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select name from sqlite_master").fetchall() == [("theirs",)]


def test_what_is_no_database_is_refused_in_words(tmp_path):
    path = tmp_path / "archive.db"
    path.write_bytes(b"not a database " * 1000)
    with pytest.raises(ArchiveError, match="damaged"):
        open_to_read(path)


def test_a_new_archive_is_its_owners_and_says_whose_it_is(tmp_path):
    path = tmp_path / "below" / "archive.db"
    open_to_write(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma application_id").fetchone()[0] == APPLICATION_ID
        assert connection.execute("pragma journal_mode").fetchone()[0] == "wal"


def test_every_table_and_column_is_documented(tmp_path):
    text = DOCS.read_text(encoding="utf-8")
    open_to_write(tmp_path / "archive.db").close()
    with closing(open_to_read(tmp_path / "archive.db")) as connection:
        tables = connection.execute(
            "select name from sqlite_master where type = 'table' and name not like 'search\\_%' escape '\\'"
        ).fetchall()
        for (table,) in tables:
            section = next(
                (part for part in text.split("\n### ")[1:] if table in part.splitlines()[0].split(", ")), None
            )
            assert section, f"docs/archive.md says nothing of {table}"
            for _, column, *_ in connection.execute(f"pragma table_info({table})"):
                assert column in section, f"docs/archive.md says nothing of {table}.{column}"
