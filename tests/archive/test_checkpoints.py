"""What is written leaves the log while writing goes on, so that the log stays short."""

import sqlite3
from contextlib import closing

import pytest

from palaver.archive import connection as checkpoints
from palaver.archive.connection import PAGE_BYTES, BackgroundCheckpoints, open_to_read, open_to_write

SOME_PAGES = 200


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.db"
    with closing(open_to_write(path)) as connection:
        connection.execute("create table filler (bytes blob)")
    return path


def write(connection):
    """Pages through the cache into the log before anybody commits, and then the rest."""
    connection.execute("pragma cache_size = 10")
    connection.execute("begin immediate")
    for _ in range(SOME_PAGES):
        connection.execute("insert into filler values (zeroblob(?))", (PAGE_BYTES - 1000,))
    connection.execute("commit")


def log_bytes(archive):
    return archive.with_name("archive.db-wal").stat().st_size


def test_a_log_stays_short_however_much_is_written(archive, monkeypatch):
    monkeypatch.setattr(checkpoints, "LOG_BYTES", SOME_PAGES * PAGE_BYTES)
    with closing(open_to_write(archive)) as connection, closing(BackgroundCheckpoints(archive, connection)) as asked:
        for _ in range(20):
            write(connection)
            asked.request()
        assert log_bytes(archive) < 7 * SOME_PAGES * PAGE_BYTES
        assert archive.stat().st_size > 15 * SOME_PAGES * PAGE_BYTES


def test_who_reads_meanwhile_sees_what_was_there_and_stops_nobody(archive):
    with (
        closing(open_to_read(archive)) as reader,
        closing(open_to_write(archive)) as connection,
        closing(BackgroundCheckpoints(archive, connection)) as asked,
    ):
        reader.execute("begin")
        before = reader.execute("select count(*) from filler").fetchone()
        for _ in range(3):
            write(connection)
            asked.request()
        assert reader.execute("select count(*) from filler").fetchone() == before == (0,)
        reader.execute("commit")
        assert reader.execute("select count(*) from filler").fetchone() == (3 * SOME_PAGES,)


def test_what_goes_wrong_is_told_to_the_one_who_writes(archive):
    with closing(open_to_write(archive)) as connection, closing(BackgroundCheckpoints(archive, connection)) as asked:
        write(connection)
        asked._connection.close()
        asked.request()
        with pytest.raises(sqlite3.Error):
            asked.request()
