"""What a person reads in a block, and what nobody does."""

import pytest

from palaver.model import build
from palaver.model.block_text import block_texts, is_encoded, strings

PICTURE = build.source("base64", "iVBORw0KGgo" * 100, media_type="image/png")


@pytest.mark.parametrize(
    ("block", "read"),
    [
        (build.text("words"), [("text", "words")]),
        (build.code("x = 1", language="python", file_path="a.py"), [("text", "x = 1")]),
        (build.thinking("hm", signature="c2ln"), [("thinking", "hm")]),
        (build.image(PICTURE, alt_text="a fern"), [("text", "a fern")]),
        (build.image(build.source("url", "https://example.org/a.png")), []),
        (build.file(source=PICTURE, name="a.txt", text="inside"), [("text", "a.txt"), ("text", "inside")]),
        (
            build.tool_use(
                id="1", name="Edit", input={"path": "a.py", "edits": [{"old": "b", "new": "c"}], "all": True}
            ),
            [("tool", "Edit"), ("tool", "a.py"), ("tool", "b"), ("tool", "c")],
        ),
        (build.tool_result(tool_use_id="1", content="done"), [("tool", "done")]),
        (
            build.tool_result(tool_use_id="1", content=[build.text("first"), build.image(PICTURE, alt_text="then")]),
            [("tool", "first"), ("tool", "then")],
        ),
        (build.opaque(kind="odd", raw={"a": ["b", {"c": "d"}], "e": 1}), [("text", "b"), ("text", "d")]),
        (build.opaque(kind="odd", raw={"source": {**PICTURE, "note": "n"}}), [("text", "image/png"), ("text", "n")]),
    ],
    ids=str,
)
def test_the_words_of_a_block(block, read):
    assert list(block_texts(block)) == read


def test_bytes_are_no_words():
    assert is_encoded("data:image/png;base64,iVBORw0KGgo=")
    assert is_encoded("A" * 600)
    assert not is_encoded("word " * 200)
    assert not is_encoded("")
    assert list(strings({"picture": "A" * 600, "words": "yes"})) == ["yes"]


def test_nesting_may_be_as_deep_as_it_likes():
    result = build.tool_result(tool_use_id="0", content="inmost")
    value = ["inmost"]
    for _ in range(100_000):
        result = build.tool_result(tool_use_id="0", content=[result])
        value = [value]
    assert list(block_texts(result)) == [("tool", "inmost")]
    assert list(block_texts(build.opaque(kind="deep", raw=value))) == [("text", "inmost")]
