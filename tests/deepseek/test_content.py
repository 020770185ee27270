"""Who speaks and what is said, where fixtures show one case of many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.importers.deepseek.fragments import Content, role_of


def blocks(message, notes=None):
    content = Content("7", lambda kind, _: notes.append(kind.code) if notes is not None else None)
    content.add(message)
    return content.blocks


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"fragments": [{"type": "REQUEST"}]}, "user"),
        ({"fragments": [{"type": "FILE"}]}, "user"),
        ({"fragments": [{"type": "FILE"}, {"type": "RESPONSE"}]}, "assistant"),
        ({"fragments": [{"type": "THINK"}]}, "assistant"),
        ({"fragments": [{"type": "TOOL_ANYTHING"}]}, "assistant"),
        ({"fragments": [{"type": "REQUEST"}], "role": "ASSISTANT"}, "user"),
        ({"fragments": [{"type": "HOLOGRAM"}], "role": "Assistant"}, "assistant"),
        ({"fragments": [{"type": ["REQUEST"]}]}, None),
        ({"content": "hi", "role": "SYSTEM"}, "system"),
        ({"content": "hi", "role": 1}, None),
        ({}, None),
    ],
)
def test_fragments_tell_who_speaks_before_the_stated_role(message, role):
    assert role_of(message) == role


@given(
    st.lists(st.text(max_size=8).filter(lambda text: "[" not in text and "]" not in text), min_size=1, max_size=6),
    st.lists(st.integers(0, 20), min_size=6, max_size=6),
    st.sets(st.integers(0, 20)),
)
def test_citations_stand_where_they_say_and_mean_the_result_of_their_number(texts, numbers, known):
    """Places count code points, whatever characters stand before them."""
    marks = [f"[citation:{number}]" for number in numbers[: len(texts)]]
    text = "".join(text + mark for text, mark in zip(texts, marks, strict=True))
    results = [{"cite_index": number, "url": f"https://example.org/{number}"} for number in sorted(known)]
    *_, block = blocks({"fragments": [{"type": "SEARCH", "results": results}, {"type": "RESPONSE", "content": text}]})
    assert block["text"] == text
    assert [text[cited["start"] : cited["end"]] for cited in block["citations"]] == marks
    for cited, number in zip(block["citations"], numbers, strict=False):
        assert cited["cite_index"] == number
        assert cited.get("url") == (f"https://example.org/{number}" if number in known else None)


def test_a_citation_of_an_answer_without_a_search_has_no_result():
    (block,) = blocks({"fragments": [{"type": "RESPONSE", "content": "a [citation:1]"}]})
    assert block["citations"] == [{"start": 2, "end": 14, "cite_index": 1}]


def test_a_file_with_two_different_descriptions_is_two_files():
    entry = {"id": "f", "file_name": "a.txt"}
    other = {"file_id": "f", "file_name": "b.txt"}
    message = {"files": [entry, entry | {"status": "SUCCESS"}], "fragments": [{"type": "FILE", "files": [other]}]}
    assert [block["name"] for block in blocks(message)] == ["a.txt", "b.txt"]


def test_a_result_beside_results_is_kept():
    fragment = {"type": "TOOL_OPEN", "results": [{"title": "one"}], "result": {"title": "two"}}
    _, result = blocks({"fragments": [fragment]})
    assert result["content"] == "one"
    assert result["metadata"] == {"results": [{"title": "one"}], "source_fields": {"result": {"title": "two"}}}


def test_older_texts_are_not_said_twice():
    """Fragments are what the message says; what stands beside them is metadata."""
    notes = []
    message = {"content": "hi", "thinking_content": "hm", "fragments": [{"type": "RESPONSE", "content": "hi"}]}
    assert blocks(message, notes) == [{"type": "text", "text": "hi"}]
    assert notes == []
