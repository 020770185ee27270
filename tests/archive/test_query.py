"""What people type, and what is meant by it."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from palaver.archive.connection import open_to_write
from palaver.archive.query import MAX_QUERY_CHARACTERS, TOKENIZER, ScratchIndex, parse, parse_as_typed
from palaver.errors import OptionError


@pytest.fixture(scope="module")
def scratch():
    with closing(ScratchIndex()) as scratch:
        yield scratch


@pytest.mark.parametrize(
    ("typed", "text", "is_found"),
    [
        ("apple pear", "a pear and an apple", True),
        ("apple pear", "an apple", False),
        ('"apple pear"', "apple, pear", True),
        ('"apple pear"', "pear apple pear", True),
        ('"apple pear"', "apple and pear", False),
        ("app*", "apple", True),
        ("app", "apple", False),
        ('"an app"*', "an apple", True),
        ("apple -pear", "an apple", True),
        ("apple -pear", "apple pear", False),
        ('apple -"a pear"', "apple pear", True),
        ("apple -p*", "apple pear", False),
        ("apple OR pear fig", "pear fig", True),
        ("apple OR pear fig", "apple pear", False),
        ("a OR b OR c", "c", True),
        ("apple OR", "apple or nothing", True),
        ("apple OR", "apple", False),
        ("OR", "this or that", True),
        ('apple "OR" pear', "apple pear", False),
        ("apple or pear", "apple pear", False),
        ("AND NOT", "not and", True),
        ("apple AND pear", "a pear and an apple", True),
        ("apple AND pear", "apple pear", True),
        ("apple AND pear", "apple", False),
        ("apple and pear", "apple pear", False),
        ("apple NOT pear", "apple", True),
        ("apple NOT pear", "apple pear", False),
        ("apple AND NOT pear", "apple pear", False),
        ("apple AND NOT pear", "apple", True),
        ("NOT pear apple", "apple", True),
        ('apple NOT "a pear"', "apple a pear", False),
        ("apple NOT", "apple or not", True),
        ("apple NOT", "apple", False),
        ("AND apple", "apple", False),
        ("apple AND -pear", "apple", True),
        ("apple AND -pear", "apple pear", False),
        ("apple OR pear AND fig", "pear fig", True),
        ("apple OR pear AND fig", "apple pear", False),
        ('apple "AND" pear', "apple pear", False),
        ("NEAR(", "it is near", True),
        ("foo-bar", "foo bar, foo-bar, foo_bar", True),
        ("foo-bar", "bar foo", False),
        ("col:x", "col x", True),
        ("git --amend", "git commit --amend", True),
        ("it's", "It\u2019s", True),
        ("C++", "I like C++.", True),
        ("c++", "I like C++.", True),
        ("C++", "I like C.", False),
        ("C# OR rust", "rust", True),
        ("C# OR rust", "C", False),
        ("like -C++", "I like C.", True),
        ("like -C++", "I like C++.", False),
        ("x=1", "max=10 and x, 1", False),
        ("x=1", "max=10 and x=1", True),
        ("🎉", "done 🎉", True),
        ("🎉", "done", False),
        ("done 🎉", "done 🎉", True),
        ("done -🎉", "done 🎉", False),
        ('"->"', "a -> b", True),
        ("résumé", "RESUME", True),
        ("resume", "Re\u0301sume\u0301", True),
        ("テスト", "これはテストです", True),
        ("テス ト", "これはテストです", True),
        ("東京大学", "大学は東京", False),
        ("GPT模型", "新しいGPT模型を", True),
        ('"unbalanced apple', "unbalanced apple", True),
        ('"unbalanced apple', "apple unbalanced", False),
        ("** what?! apple", "what, an apple", True),
        ("**apple**", "apples", False),
        ("\ud800apple\x00pear", "pear apple", True),
    ],
)
def test_what_is_found(scratch, typed, text, is_found):
    query = parse(typed, scratch)
    assert query.matches([text], scratch) is is_found
    if not query.needs_text_check:
        assert is_in_index(query.expression(), text) is is_found
    elif is_found and query.expression() is not None:
        assert is_in_index(query.expression(), text), "the index may find more, never less"


@pytest.mark.parametrize(
    ("typed", "description", "is_plain"),
    [
        ("apple pear", "apple and pear", True),
        ("apple AND pear", "apple and pear", True),
        ("apple NOT pear", "apple, without pear", False),
        ("git commit -m", "git and commit, without m", False),
        ("apple OR pear fig*", "(apple or pear) and fig*", False),
        ("apple OR pear", "apple or pear", False),
        ('"an apple" -"a pear"*', '"an apple", without "a pear"*', False),
        ("title:Foo", '"title foo"', False),
        ("apple -x -y", "apple, without x or y", False),
        ("C++ apple", "C++ and apple", True),
        ("apple AND", "apple and AND", True),
    ],
)
def test_a_query_says_how_it_was_read(scratch, typed, description, is_plain):
    query = parse(typed, scratch)
    assert (query.description, query.is_plain) == (description, is_plain)


@pytest.mark.parametrize(
    ("typed", "text", "is_found"),
    [
        ("git commit -m", "run git commit -m now", True),
        ("git commit -m", "run git  commit\n-m now", True),
        ("git commit -m", "git commit", False),
        ("git commit -m", "git commit -message", False),
        ("ls -la | wc", "ls -la | wc", True),
        ("ls -la | wc", "ls -la wc", False),
    ],
)
def test_a_pasted_command_line_is_searched_as_typed(scratch, typed, text, is_found):
    query = parse_as_typed(typed, scratch)
    assert query is not None
    assert query.matches([text], scratch) is is_found
    assert query.description == f'"{typed}"'


@pytest.mark.parametrize("typed", ["apple", "foo-bar", '"git commit -m"', "apple --amend", "-", "", "apple NOT pear"])
def test_nothing_else_is_searched_as_typed(scratch, typed):
    assert parse_as_typed(typed, scratch) is None


def is_in_index(expression, text):
    from palaver.archive.search_text import space_cjk

    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"create virtual table search using fts5 (text, tokenize = '{TOKENIZER}')")
        connection.execute("insert into search values (?)", (space_cjk(text),))
        return connection.execute("select 1 from search where search match ?", (expression,)).fetchone() is not None


@pytest.mark.parametrize("typed", ["", " ", '"', '""', "*", "...", "-", "--", "-\ud800", "\x00"])
def test_nothing_to_search_for_is_said_with_advice(scratch, typed):
    with pytest.raises(OptionError, match="nothing to search for: write words"):
        parse(typed, scratch)


@pytest.mark.parametrize("typed", ["-apple", '-"an apple" -pear*', "-C++"])
def test_taking_away_from_nothing_is_said_with_advice(scratch, typed):
    with pytest.raises(OptionError, match="add at least one word"):
        parse(typed, scratch)


def test_a_whole_book_is_no_query(scratch):
    with pytest.raises(OptionError, match="too long"):
        parse("word " * MAX_QUERY_CHARACTERS, scratch)


@given(st.text(st.characters(exclude_categories=())))
@example('"')
@example("a" * MAX_QUERY_CHARACTERS)
@example("a " * (MAX_QUERY_CHARACTERS // 2))
@example("(" * 1000 + "a")
@example("a OR " * 900 + "b")
@example("-a* " * 900 + "b")
@example('{text} : "x" ^y + NEAR(a b, 2)')
def test_any_text_is_a_query_that_the_index_takes(scratch, typed):
    try:
        query = parse(typed, scratch)
    except OptionError:
        return
    for columns in ((), ("text",), ("thinking", "tool")):
        if expression := query.expression(columns):
            with closing(sqlite3.connect(":memory:")) as connection:
                connection.execute("create virtual table search using fts5 (text, thinking, tool)")
                connection.execute("select 1 from search where search match ?", (expression,)).fetchall()
    query.matches([typed.encode(errors="replace").decode()], scratch)


@given(st.text())
def test_words_are_those_of_the_archive(scratch, text):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"create virtual table search using fts5 (text, tokenize = '{TOKENIZER}')")
        connection.execute("create virtual table words using fts5vocab (search, instance)")
        connection.execute("insert into search values (?)", (text,))
        words = [word for (word,) in connection.execute("select term from words order by offset")]
    # Writing without spaces is cut into its signs, so letters are compared.
    assert "".join(scratch.tokens(text)) == "".join(words)


def test_words_are_found_by_the_archives_own_rules(tmp_path):
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        [made] = connection.execute("select sql from sqlite_master where name = 'search'").fetchone()
    assert f"tokenize = '{TOKENIZER}'" in made
