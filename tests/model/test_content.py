import pytest

from palaver.errors import ContentError
from palaver.validation.coercion import normalize_content

TEXT = {"type": "text", "text": "hello"}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hello", [TEXT]),
        ("", [{"type": "text", "text": ""}]),
        ([], []),
        ([TEXT], [TEXT]),
        (["hello", {"type": "image"}], [TEXT, {"type": "image"}]),
        ([{"unknown": 1}], [{"unknown": 1}]),
        (TEXT, [TEXT]),
        ({"content": "hello"}, [TEXT]),
        ({"role": "user", "content": {"content": ["hello"]}}, [TEXT]),
        ({"type": "message", "content": [TEXT]}, [TEXT]),
        ({"content": ""}, [{"type": "text", "text": ""}]),
        ({"content": []}, []),
        ({"type": "text", "text": "hello", "content": None}, [{**TEXT, "content": None}]),
        (RESULT, [RESULT]),
        ({"content": RESULT}, [RESULT]),
        ({"type": "tool_result", "content": "hello"}, [TEXT]),
    ],
    ids=repr,
)
def test_content_becomes_blocks(content, expected):
    assert normalize_content(content) == expected


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "null"),
        (5, "a number"),
        (0.5, "a number"),
        (True, "a boolean"),
        (("hello",), "a value of type tuple"),
        ({}, "neither content nor type"),
        ({"content": None}, "neither content nor type"),
        ({"type": ""}, "neither content nor type"),
        ({"type": 5}, "neither content nor type"),
        ({"content": 5}, "a number"),
        (["hello", None], "null at position 1"),
        ([["hello"]], "a list at position 0"),
    ],
    ids=repr,
)
def test_other_content_is_refused_with_a_sentence(content, told):
    with pytest.raises(ContentError, match=told):
        normalize_content(content)


def test_blocks_that_are_right_already_are_not_copied():
    content = [TEXT, {"type": "image"}]
    assert normalize_content(content) is content


def test_nesting_may_be_deeper_than_the_stack():
    content = "hello"
    for _ in range(100_000):
        content = {"content": content}
    assert normalize_content(content) == [TEXT]
