"""What the index holds of what was said: under which time, and in which words."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive.body_store import BODY_BITS, epoch_second
from palaver.archive.connection import open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.query import TOKENIZER
from palaver.archive.rows import conversation_rows
from palaver.archive.search_text import _space_by_character, _space_cjk, content_texts, index_texts, space_cjk
from palaver.model import build

DAYS = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"]


@pytest.fixture
def archive(tmp_path):
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        yield connection


def saying(text, day, name):
    message = build.message(message_id=name, role="user", timestamp=day, content=[build.text(text)])
    return build.conversation(conversation_id=name, platform={"name": "toy"}, created_at=day, messages=[message])


def add(connection, *documents):
    Ingest(connection).add([(conversation_rows(document), None) for document in documents])


def numbers(connection, word):
    return [number for (number,) in connection.execute("select rowid from search where search match ?", (word,))]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_body_is_found_under_the_time_when_it_was_first_said_whatever_the_order(archive, order, at_once):
    documents = [saying("good morning", DAYS[index], f"c{index}") for index in order]
    for some in [documents] if at_once else [[document] for document in documents]:
        add(archive, *some)
    [number] = numbers(archive, "morning")
    assert number >> BODY_BITS == epoch_second(DAYS[0])
    assert archive.execute("select search_key from body").fetchall() == [(number,)]
    archive.execute("insert into search (search, rank) values ('integrity-check', 0)")


def test_any_part_of_a_text_without_spaces_is_found(archive):
    add(archive, saying("これはテストです。GPT模型を使う", DAYS[0], "c"))
    for word in ("テ ス ト", "模 型", "gpt", "使 う"):
        assert numbers(archive, f'"{word}"'), word
    assert not numbers(archive, '"ト テ"')


def test_what_is_shown_stays_as_it_was_written():
    content = [build.text("模型"), build.thinking("考える"), build.tool_use(id="1", name="Bash", input={"a": "東京"})]
    assert content_texts(content) == ("模型", "考える", "Bash\n東京")
    assert [words.split() for words in index_texts(content)] == [["模", "型"], ["考", "え", "る"], ["Bash", "東", "京"]]


@given(st.text())
def test_spacing_adds_nothing_but_spaces(text):
    assert [sign for sign in space_cjk(text) if sign != " "] == [sign for sign in text if sign != " "]


def words_in(texts):
    """What the index takes for words, in their order."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"create virtual table search using fts5 (text, tokenize = '{TOKENIZER}')")
        connection.execute("create virtual table vocabulary using fts5vocab (search, instance)")
        connection.executemany("insert into search values (cast(? as text))", [(text,) for text in texts])
        return connection.execute("select doc, offset, term from vocabulary order by 1, 2").fetchall()


def are_the_same_words(texts):
    return words_in(map(_space_cjk, texts)) == words_in(map(_space_by_character, texts))


@pytest.mark.parametrize("beside", ["", " and many plain words"])
def test_many_signs_at_once_are_spaced_as_one_by_one_whichever_they_are(beside):
    planes = (range(0x80, 0x3000), range(0x3000, 0xA100), range(0xF900, 0x10000), range(0x1F000, 0x20100))
    signs = [chr(code) for plane in (*planes, range(0x32300, 0x32400)) for code in plane]
    assert are_the_same_words([f"a{sign}b{sign}{sign}1 {sign}é{sign}漢{sign}か {sign}{beside}" for sign in signs])


@given(st.lists(st.text(st.sampled_from("aé1 \n。、々〇漢字かなカｶＡ１ㄅㅋ〡㊀豈𠀀🄀🎉한…"), min_size=1), max_size=20))
def test_law_many_signs_at_once_are_spaced_as_one_by_one_in_any_text(texts):
    assert are_the_same_words(texts)


def test_an_index_that_was_put_together_otherwise_goes_on_growing(archive):
    words = [f"word{number} {'and so on ' * (number % 7)}" for number in range(300)]
    documents = [saying(text, DAYS[number % 3], f"c{number}") for number, text in enumerate(words)]
    configure = "insert into search (search, rank) values (?, ?)"
    now = archive.execute("select k, v from search_config where k in ('automerge', 'crisismerge', 'pgsz')").fetchall()
    assert len(now) == 3
    archive.executemany(configure, [("automerge", 8), ("crisismerge", 16), ("pgsz", 4050)])
    for document in documents[:100]:
        add(archive, document)
    archive.executemany(configure, now)
    for document in documents[100:]:
        add(archive, document)
    archive.execute("insert into search (search, rank) values ('integrity-check', 0)")
    assert all(len(numbers(archive, f"word{number}")) == 1 for number in range(300))
    archive.execute("insert into search (search) values ('optimize')")
    archive.execute("insert into search (search, rank) values ('integrity-check', 0)")
    assert all(len(numbers(archive, f"word{number}")) == 1 for number in range(300))
