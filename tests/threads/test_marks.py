"""Marks: of a request that goes on from another one, only what is new is read."""

from typing import Any

import pytest

from palaver.threads.call import Call
from palaver.threads.history import HistoryReader
from palaver.threads.prefix_index import Position

Json = dict[str, Any]

MARK = {"cache_control": {"type": "ephemeral"}}
ANSWER = [{"type": "text", "text": "ONE"}]


def text(said: str, **beside: Any) -> Json:
    return {"type": "text", "text": said, **beside}


def skipped(wire: str, first: list[Json], second: list[Json], answer: list[Json] = ANSWER) -> int:
    """How many messages of a request need not be read after another one was, and its answer."""
    histories = HistoryReader()
    said, marks = histories.read_new(Call("1", wire, {"messages": first}))
    marks.remember(said.turns, "conversation")
    marks.remember_answer(answer, Position(b"after the answer", len(first) + 1, "conversation"))
    _, marks = histories.read_new(Call("2", wire, {"messages": second}))
    return marks.skipped_items


@pytest.mark.parametrize(
    ("wire", "asked", "asked_again", "answered"),
    [
        ("openai-chat", "one", "one", "ONE"),
        ("anthropic", "one", "one", "ONE"),
        ("anthropic", "one", [text("one")], [text("ONE")]),
        ("anthropic", [text("one", **MARK)], [text("one")], [text("ONE")]),
        ("anthropic", [text("a"), text("one", **MARK)], [text("a"), text("one")], "ONE"),
    ],
)
def test_an_answer_is_expected_in_the_next_request(wire, asked, asked_again, answered):
    second = [
        {"role": "user", "content": asked_again},
        {"role": "assistant", "content": answered},
        {"role": "user", "content": "two"},
    ]
    assert skipped(wire, [{"role": "user", "content": asked}], second) == 2


@pytest.mark.parametrize(
    ("wire", "change"),
    [
        ("openai-chat", {"content": "One"}),
        ("openai-chat", {"name": "m"}),
        ("openai-chat", {"content": [text("ONE")]}),
        ("anthropic", {"content": [text("ONE", citations=[])]}),
        ("anthropic", {"content": [text("ONE"), text("ONE")]}),
        ("openai-chat", {"content": [text("ONE", **MARK)]}),
    ],
)
def test_whatever_else_is_said_is_read(wire, change):
    asked = {"role": "user", "content": "one"}
    second = [asked, {"role": "assistant", "content": "ONE", **change}, {"role": "user", "content": "two"}]
    assert skipped(wire, [asked], second) == 0
