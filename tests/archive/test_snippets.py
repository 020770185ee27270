"""Passages: what is shown of a message, and which words in it are marked."""

import re
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive.query import ScratchIndex, parse
from palaver.archive.search_text import content_texts
from palaver.archive.snippets import COLUMNS, best_snippet, found_ranges, pieces
from palaver.model import build

WORDS = ["apple", "apples", "Pear", "FIG", "plum"]


@pytest.fixture(scope="module")
def scratch():
    with closing(ScratchIndex()) as scratch:
        yield scratch


def marked(scratch, typed, text):
    terms = list(parse(typed, scratch).terms())
    return [text[start:end] for start, end in found_ranges(text, terms, scratch)]


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ("apple", "Apple apples apple-pie", ["Apple", "apple"]),
        ("app*", "apples APP happy", ["apples", "APP"]),
        ('"an apple"', "an apple, apple, An  Apple", ["an apple", "An  Apple"]),
        ("apple pear", "pear, apple", ["pear", "apple"]),
        ("apple -pear", "pear, apple", ["apple"]),
        ("resume", "Résumé Re\u0301sume\u0301", ["Résumé", "Re\u0301sume\u0301"]),
        ("テスト", "これはテストです、テスト", ["テスト", "テスト"]),
        ("GPT模型", "新しいGPT模型を", ["GPT模型"]),
        ("東 テスト", "東😀テスト\x00東", ["東", "テスト", "東"]),
        ("C++", "c++, C, C++11", ["c++", "C++"]),
        ("🎉", "🎉 and 🎉", ["🎉", "🎉"]),
        ("foo-bar", "foo bar foo", ["foo bar"]),
        ("red", "\x1b[31m red\x02red\x03", ["red", "red"]),
        ('"a b" "b c"', "a b c", ["a b c"]),
    ],
)
def test_the_words_are_marked(scratch, typed, text, expected):
    assert marked(scratch, typed, text) == expected


separators = st.sampled_from([" ", "\n", ", ", "-", "_", " é ", "。", "😀", "\x00", "\x02", "\x1b[m "])
texts = st.lists(st.tuples(st.sampled_from(WORDS), separators), max_size=30).map(
    lambda pairs: "".join(word + separator for word, separator in pairs)
)


@given(texts, st.sampled_from(["apple", "pear", "fig"]), st.booleans())
def test_exactly_the_words_are_marked(scratch, text, word, is_prefix):
    pattern = rf"(?<![^\W_]){word}" + (r"[^\W_]*" if is_prefix else r"(?![^\W_])")
    expected = [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    terms = list(parse(f"{word}*" if is_prefix else word, scratch).terms())
    assert found_ranges(text, terms, scratch) == expected


@given(
    st.lists(texts, min_size=1, max_size=3), st.integers(20, 200), st.sampled_from(["fig", "pear plum", '"fig apple"'])
)
def test_a_passage_is_part_of_the_text_and_its_marks_are_words(scratch, some, room, typed):
    query = parse(typed, scratch)
    shown = best_snippet([build.text(text) for text in some], (), query, room, scratch)
    if not any(some):
        assert shown is None
        return
    text = shown.piece.text
    assert text in some
    assert text[shown.start : shown.start + len(shown.text)] == shown.text
    assert len(shown.text) <= room
    everywhere = found_ranges(text, list(query.terms()), scratch)
    for start, end in shown.ranges:
        whole = next(one for one in everywhere if one[0] <= shown.start + start < one[1])
        cut = max(whole[0], shown.start), min(whole[1], shown.start + len(shown.text))
        assert (shown.start + start, shown.start + end) == cut
    within = [one for one in everywhere if one[0] < shown.start + len(shown.text) and one[1] > shown.start]
    assert len(shown.ranges) == len(within)
    assert bool(shown.ranges) == any(found_ranges(one, list(query.terms()), scratch) for one in some)


def test_the_passage_is_where_most_of_the_words_stand_together(scratch):
    filler = "nothing to see here " * 40
    text = f"apple {filler} pear {filler} apple and pear {filler} apple"
    shown = best_snippet([build.text(text)], (), parse("apple pear", scratch), 80, scratch)
    assert "apple and pear" in shown.text
    assert (shown.is_cut_before, shown.is_cut_after) == (True, True)
    assert not shown.text[0].isspace()
    assert text[shown.start - 1].isspace()


def test_a_block_with_more_of_the_words_is_preferred(scratch):
    content = [build.text("an apple"), build.thinking("an apple, a pear")]
    assert best_snippet(content, (), parse("apple pear", scratch), 80, scratch).piece.column == "thinking"
    assert best_snippet(content, ("text",), parse("apple pear", scratch), 80, scratch).piece.column == "text"


def test_words_far_inside_a_huge_text_are_found(scratch):
    text = "lorem ipsum " * 300_000 + "apple " + "dolor " * 300_000
    shown = best_snippet([build.text(text)], (), parse("apple", scratch), 80, scratch)
    assert [shown.text[start:end] for start, end in shown.ranges] == ["apple"]


def test_a_text_without_the_words_is_shown_from_its_beginning(scratch):
    shown = best_snippet([build.text("pear " * 100)], (), parse("apple", scratch), 40, scratch)
    assert (shown.start, shown.ranges, shown.is_cut_after) == (0, (), True)


@given(
    st.lists(
        st.one_of(
            st.text(min_size=1).map(build.text),
            st.text(min_size=1).map(build.thinking),
            st.builds(
                build.tool_use, id=st.just("1"), name=st.just("Bash"), input=st.fixed_dictionaries({"a": st.text()})
            ),
            st.builds(build.tool_result, tool_use_id=st.just("1"), content=st.text(min_size=1)),
            st.builds(build.code, st.text(min_size=1)),
        ),
        max_size=5,
    )
)
def test_pieces_are_what_the_index_holds(content):
    for column, text in zip(COLUMNS, content_texts(content), strict=True):
        assert "\n".join(piece.text for piece in pieces(content, (column,))) == text
