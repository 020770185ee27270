"""Each question about the archive's health: what is well is found well, what is not is found out."""

from contextlib import closing

import orjson
import pytest

from archiving import exported, keep_folder
from importing import CHECKOUT
from palaver.archive import health
from palaver.archive.connection import open_to_write
from palaver.archive.search_text import index_texts
from palaver.validation.schema import is_valid

FIXTURES = CHECKOUT / "fixtures"


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.db"
    for folder in ("claude_code/subagents_folder", "claude_code/damage_bad_line_middle", "chatgpt/plain_classic"):
        keep_folder(FIXTURES / folder / "source", path)
    with closing(open_to_write(path)) as connection:
        yield connection


CHECKS = {
    "tables": health.check_tables,
    "integrity": health.check_integrity,
    "references": health.check_references,
    "index": health.check_search_index,
    "full index": lambda connection: health.check_search_index(connection, is_full=True),
    "index structure": health.check_index_structure,
    "contents": health.check_contents,
    "contents, by hash": health.check_contents,
    "full contents": lambda connection: health.check_contents(connection, is_full=True),
    "headers": health.check_headers,
    "full headers": lambda connection: health.check_headers(connection, is_full=True),
    "documents": lambda connection: health.check_documents(connection, is_valid),
    "full documents": lambda connection: health.check_documents(connection, is_valid, is_full=True),
    "ledgers": health.check_ledgers,
    "failures": health.check_failures,
    "sources": lambda connection: health.check_missing_sources(connection, lambda _: True),
    "unused space": health.check_unused_space,
}


@pytest.mark.parametrize("name", CHECKS)
def test_what_is_well_is_found_well(archive, name):
    assert CHECKS[name](archive).verdict == "ok"


DAMAGE = {
    "tables": "update migration set number = number + 7",
    "references": "insert into source_tag values (99, 'of nobody')",
    "index": "delete from search_docsize",
    "full index": "update body set search_key = search_key + (1 << 31) where body_key = 2",
    "contents": "insert into body values (9999, x'00', 9999, 0, '[]')",
    "contents, by hash": "delete from recent_hash where body = 2",
    "full contents": "update recent_hash set body = 1 where body = 2",
    "headers": "update conversation set title = 'another'",
    "full headers": """update conversation set header = json_set(header, '$.title', 'another')""",
    "documents": "update message set role = 'nobody'",
    "ledgers": "update ledger set records = records + 1 where disposition = 'mapped'",
    "failures": "update source set failure = 'it broke off'",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_not_well_is_found_out(archive, name):
    archive.execute("pragma foreign_keys = off")
    archive.execute(DAMAGE[name])
    check = CHECKS[name](archive)
    assert check.verdict in {"problem", "warning"}
    assert check.message
    assert check.advice


def test_words_that_are_not_in_the_index_are_found_out(archive):
    [(key, content)] = archive.execute("select search_key, content from body order by length(content) desc limit 1")
    remove = "insert into search (search, rowid, text, thinking, tool) values ('delete', ?, ?, ?, ?)"
    archive.execute(remove, (key, *index_texts(orjson.loads(content))))
    assert health.check_search_index(archive).details[0] == "1 texts are missing from the index"
    archive.execute("insert into search (rowid, text) values (?, 'something else')", (key,))
    assert health.check_search_index(archive).details == ("1 of the sampled texts cannot be found by a search",)


def test_every_conversation_is_counted_once_despite_gaps_between_keys(archive):
    (conversations,) = archive.execute("select count(*) from conversation").fetchone()
    archive.execute("pragma foreign_keys = off")
    last = "(select max(conversation_key) from conversation)"
    for table, column in (("header_state", "conversation"), ("message", "conversation")):
        archive.execute(f"update {table} set {column} = {column} + 5 where {column} = {last}")
    archive.execute(f"update conversation set conversation_key = conversation_key + 5 where conversation_key = {last}")
    sampled = list(health._sampled_keys(archive, "conversation", "conversation_key", is_full=False))
    assert len(sampled) == len(set(sampled)) == conversations
    assert health.check_headers(archive).message == "conversation headers are consistent"
    assert health.check_documents(archive, is_valid).message == "conversations match the schema"


def test_a_sample_says_how_much_of_the_archive_it_covers(archive, monkeypatch):
    monkeypatch.setattr(health, "SAMPLE_SIZE", 1)
    (conversations,) = archive.execute("select count(*) from conversation").fetchone()
    checked = f"conversation headers are consistent (1 of {conversations} checked)"
    assert health.check_headers(archive).message == checked


def test_a_source_that_vanished_is_no_fault(archive):
    check = health.check_missing_sources(archive, lambda path: path.endswith(".jsonl"))
    assert check.verdict == "ok"
    assert "1 of 3 sources" in check.message
    assert "chatgpt" in check.details[0]


def test_what_is_set_aside_is_a_warning(archive):
    assert health.check_quarantine(archive).verdict == "warning"
    archive.execute("delete from quarantine")
    assert health.check_quarantine(archive).verdict == "ok"


def test_the_index_is_made_anew(archive):
    archive.execute("create virtual table temp.vocabulary using fts5vocab (main, search, instance)")
    instances = "select term, doc, col, offset from temp.vocabulary order by 1, 2, 3, 4"
    before = archive.execute(instances).fetchall()
    archive.execute("delete from search_data where id > 10")
    assert health.check_search_index(archive).verdict == "problem"
    archive.execute("begin")
    assert health.rebuild_index(archive) == archive.execute("select count(*) from search_docsize").fetchone()[0]
    archive.execute("commit")
    assert archive.execute(instances).fetchall() == before
    assert health.check_search_index(archive, is_full=True).verdict == "ok"
    assert health.check_index_structure(archive).verdict == "ok"


def test_what_nobody_uses_is_removed_and_nothing_else(archive, tmp_path):
    before = exported(tmp_path / "archive.db")
    archive.execute("insert into body values (9999, x'00', 9999, 0, '[]')")
    archive.execute("begin")
    assert health.remove_unused_bodies(archive) == 1
    archive.execute("commit")
    assert health.check_contents(archive).verdict == "ok"
    assert exported(tmp_path / "archive.db") == before


def test_a_sample_is_spread_over_everything(archive, monkeypatch):
    monkeypatch.setattr(health, "SAMPLE_SIZE", 3)
    keys = [key for (key,) in archive.execute("select body_key from body order by 1")]
    sample = list(health._sampled_keys(archive, "body", "body_key", is_full=False))
    assert 3 <= len(sample) <= 5 < len(keys)
    assert set(sample) <= set(keys)
    assert sample[0] == keys[0]
    assert list(health._sampled_keys(archive, "body", "body_key", is_full=True)) == keys
    archive.execute("pragma foreign_keys = off")
    archive.execute("delete from body")
    assert list(health._sampled_keys(archive, "body", "body_key", is_full=False)) == []
