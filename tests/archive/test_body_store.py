"""A content is found by its hash, whether that is among the latest ones or has moved to the others."""

from contextlib import closing

import pytest

from palaver.archive import body_store
from palaver.archive.connection import open_to_write


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.setattr(body_store, "_MIN_SETTLED", 10)
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        yield connection


def name(number):
    return bytes([number * 37 % 256, number])


def add(archive, numbers):
    bodies = [(number, name(number), number << 31, 0, "[]") for number in numbers]
    archive.executemany("insert into body values (?, ?, ?, ?, ?)", bodies)
    body_store.add_hashes(archive, [(name(number), number) for number in numbers])


def lost(archive):
    bodies = [body for (body,) in archive.execute("select body_key from body")]
    return [body for body in bodies if not body_store.is_known(archive, body)]


def count(archive, table):
    return archive.execute(f"select count(*) from {table}").fetchone()[0]


def test_hashes_that_became_many_move_and_are_found_as_before(archive):
    add(archive, range(1, 8))
    assert (count(archive, "recent_hash"), count(archive, "settled_hash")) == (7, 0)
    add(archive, range(8, 13))
    assert (count(archive, "recent_hash"), count(archive, "settled_hash")) == (0, 12)
    add(archive, range(13, 15))
    assert (count(archive, "recent_hash"), count(archive, "settled_hash")) == (2, 12)
    asked = [name(number) for number in range(1, 20)]
    assert body_store.known_bodies(archive, asked) == {name(number): (number, number << 31) for number in range(1, 15)}
    assert not lost(archive)


def test_of_a_large_archive_more_of_them_wait(archive):
    archive.execute("insert into body values (1600, x'00', 0, 0, '[]')")
    add(archive, range(1, 101))
    assert count(archive, "recent_hash") == 100
    add(archive, [101])
    assert count(archive, "recent_hash") == 0


def test_with_a_body_goes_its_hash(archive):
    add(archive, range(1, 12))
    add(archive, [12])
    archive.execute("delete from body where body_key in (3, 12)")
    assert not body_store.known_bodies(archive, [name(3), name(12)])
    assert count(archive, "recent_hash") + count(archive, "settled_hash") == 10


def test_hashes_are_taken_in_anew(archive):
    add(archive, range(1, 12))
    add(archive, [12])
    before = body_store.known_bodies(archive, map(name, range(20)))
    archive.execute("delete from settled_hash where body < 5")
    archive.execute("delete from recent_hash")
    archive.execute("insert into recent_hash values (x'ffff', 77)")
    assert lost(archive) == [1, 2, 3, 4, 12]
    body_store.rebuild_hashes(archive)
    assert not lost(archive)
    assert body_store.known_bodies(archive, map(name, range(20))) == before
    assert not archive.execute(
        "select 1 from recent_hash union all select 1 from settled_hash where body = 77"
    ).fetchall()


def test_a_hash_whose_body_is_not_there_is_taken_over(archive):
    archive.execute("insert into recent_hash values (?, 99)", (name(1),))
    assert not body_store.known_bodies(archive, [name(1)])
    add(archive, [1])
    assert body_store.known_bodies(archive, [name(1)]) == {name(1): (1, 1 << 31)}
