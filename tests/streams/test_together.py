"""Streams that are read at once: the same comes out as event by event, and what is not by the book is left to that."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.streams import assemble, assemble_in_one_pass, recognize
from palaver.streams.anthropic import read_in_one_pass
from palaver.streams.event_parsers import events_of

LAW = settings(max_examples=300, deadline=None, derandomize=True, database=None)
START = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"a": 1}}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
EVENTS = [
    {"type": "message_start", "message": {"id": "other", "role": "assistant", "content": [], "usage": {"a": 2}}},
    DELTA,
    BLOCK,
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "input": {}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 'a}\n{"é'}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": None}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"b": 2}},
    {"type": "message_stop"},
    {"type": "ping"},
    {"index": 0},
    START,
]
DATA = st.sampled_from([json.dumps(event) for event in EVENTS])
DAMAGED = st.sampled_from(
    ['{"a":', "1} {}", "{}{}", '{"a":{}', "[1]", "[DONE]", "", '{"a":"\ud800"}'.encode("utf-8", "replace").decode()]
)
NAME = st.sampled_from(["event: ping\n", "event: message_stop\n", "event: \n", "id: 1\n", ""])


@LAW
@given(st.lists(st.tuples(NAME, DATA | DAMAGED), max_size=8), st.sampled_from(["\n\n", "\n\n\n", "\r\n\r\n", "\n"]))
def test_at_once_is_the_same_as_one_by_one(events, end):
    body = "".join(
        f"{name}data: {data}{end}" for name, data in [("event: message_start\n", json.dumps(START)), *events]
    ).encode()
    together = assemble_in_one_pass(body)
    if together is not None:
        assert recognize(events_of(body)) == together[0]
        assert together[1] == assemble("anthropic", body)


def body_of(*datas: str) -> bytes:
    return "".join(f"event: x\ndata: {data}\n\n" for data in datas).encode()


def test_a_stream_by_the_book_is_read_at_once():
    events = [START, BLOCK, DELTA, DELTA, *EVENTS[-6:-1]]
    assert assemble_in_one_pass(body_of(*map(json.dumps, events))) is not None


def test_pieces_of_a_text_are_joined():
    pieces = [json.dumps({**DELTA, "delta": {"type": "text_delta", "text": word}}) for word in ("a", '"b"', "é", "")]
    read = read_in_one_pass(body_of(json.dumps(START), *pieces, '{"type":"ping"}'))
    assert read is not None
    assert [(count, data.get("delta")) for count, _, data in read] == [
        *((1, None), (4, {"type": "text_delta", "text": 'a"b"é'}), (1, None))
    ]


@pytest.mark.parametrize("word", ['"a","b"', "", "1", '"a"}}{"b":{"c":"d"', '"a', '"a"]+["b"'])
def test_what_is_no_text_joins_nothing(word):
    before, after = json.dumps(DELTA).split('"a"')
    for other in (json.dumps(DELTA), f'{before}"a"'):
        assert read_in_one_pass(body_of(json.dumps(START), other, f"{before}{word}{after}")) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        body_of("{}"),
        body_of(json.dumps(START), '{"a":', '1}{"b":2}'),
        body_of(json.dumps(START))[:-1],
        body_of(json.dumps(START)).replace(b"\n", b"\r\n"),
        body_of(json.dumps({"choices": []})),
    ],
)
def test_others_are_not(body):
    assert assemble_in_one_pass(body) is None
