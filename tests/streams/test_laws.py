"""What holds for every stream: however it is cut, packed, broken off or mangled."""

import gzip
import json
import zlib
from itertools import pairwise

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from cassettes import needs_samples
from palaver.errors import UnrecognizedError
from palaver.streams import FORMATS, assemble, assemble_events, assembler, recognize
from palaver.streams._contract import Event
from palaver.streams.event_parsers import events_of
from streaming import all_streams, assembled, parsed, sse

RECORDED = list(all_streams())
SEGMENT_BYTES = 1_500
WITH_A_SHORT_WAY = ("openai_chat", "openai_responses", "anthropic")

of_every_stream = pytest.mark.parametrize(
    ("wire_format", "call"), RECORDED, ids=[f"{wire_format} {call.name}" for wire_format, call in RECORDED]
)


def cut(body, bounds):
    whole = [0, *sorted(min(bound, len(body)) for bound in bounds), len(body)]
    return [body[a:b] for a, b in pairwise(whole)]


def assembled_carefully(wire_format, events):
    """Without the short way that most events take."""
    made = assembler(wire_format)
    for event in events:
        made._sequence += 1
        made._feed_carefully(event)
    return made.result()


def segments(body):
    """The body in runs of whole events, so that cutting each at every byte takes no hour."""
    run = b""
    for event in body.replace(b"\n\n", b"\n\n\0").replace(b"\r\n\r\n", b"\r\n\r\n\0").split(b"\0"):
        run += event
        if len(run) > SEGMENT_BYTES:
            yield run
            run = b""
    yield run


@needs_samples
@of_every_stream
def test_a_stream_cut_at_every_byte_gives_the_same_events(wire_format, call):
    assert recognize(parsed([call.stream])) == wire_format
    runs = list(segments(call.stream))
    assert b"".join(runs) == call.stream
    assert [event for run in runs for event in parsed([run])] == parsed([call.stream])
    for run in runs:
        whole = parsed([run])
        for at in range(len(run)):
            assert parsed([run[:at], run[at:]]) == whole, at


@needs_samples
@of_every_stream
def test_a_stream_cut_anywhere_gives_the_same_result(wire_format, call):
    whole = assemble(wire_format, call.stream)
    body = call.stream
    for at in range(0, len(body), max(1, len(body) // 300)):
        assert assemble(wire_format, [body[:at], body[at:]]) == whole, at
    for size in (1, 2, 3, 7, 64, 1_000):
        chunks = [body[at : at + size] for at in range(0, len(body), size)]
        assert parsed(chunks) == parsed([body])
        assert assemble(wire_format, chunks) == whole


@needs_samples
@of_every_stream
def test_the_short_way_leads_to_the_same_place(wire_format, call):
    if wire_format in WITH_A_SHORT_WAY:
        events = parsed([call.stream])
        assert assembled_carefully(wire_format, events) == assembled(wire_format, events)


@needs_samples
@of_every_stream
def test_other_line_ends_change_nothing(wire_format, call):
    whole = assemble(wire_format, call.stream)
    plain = call.stream.replace(b"\r\n", b"\n")
    for end in (b"\n", b"\r", b"\r\n"):
        assert assemble(wire_format, b"\xef\xbb\xbf: comment" + end + plain.replace(b"\n", end)) == whole


@needs_samples
@of_every_stream
def test_a_packed_stream_is_the_same(wire_format, call):
    whole = assemble(wire_format, call.stream)
    for pack in (gzip.compress, zlib.compress, zstandard.compress):
        packed = pack(call.stream)
        assert assemble(wire_format, packed) == whole
        assert assemble(wire_format, [packed[at : at + 100] for at in range(0, len(packed), 100)]) == whole


@needs_samples
@of_every_stream
def test_a_stream_that_breaks_off_says_so(wire_format, call):
    events = list(events_of(call.stream))
    whole = assemble_events(wire_format, events)
    made = assembler(wire_format)
    for count, event in enumerate(events):
        early = made.result()
        assert not early.is_complete or early.payload == whole.payload, count
        assert early.issues[-1].type == "incomplete_stream_end"
        made.feed(event)
    assert made.result() == whole
    for at in range(0, len(call.stream), max(1, len(call.stream) // 300)):
        early = assemble(wire_format, call.stream[:at])
        assert not early.is_complete or early.payload == whole.payload, at


LINES = st.lists(
    st.sampled_from(
        [
            b"data: ",
            b"data:",
            b"data",
            b"event: x",
            b"id: 7",
            b"id",
            b"retry: 5",
            b": c",
            b"x",
            b"\xef\xbb\xbf",
            b"\xc3",
        ]
    )
    | st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n"]),
    max_size=30,
)


@given(LINES.map(b"".join), st.lists(st.integers(0, 200), max_size=8))
def test_any_bytes_give_the_same_events_however_they_are_cut(body, bounds):
    assert parsed(cut(body, bounds)) == parsed([body])


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_no_bytes_raise(body, bounds):
    assert parsed(cut(body, bounds)) == parsed([body])
    for wire_format in FORMATS:
        assert not assemble(wire_format, body).is_complete
    recognize(events_of(body))


NO_END = st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])
EVENTS = st.builds(
    Event,
    name=st.text(NO_END, min_size=1, max_size=8),
    data=st.lists(st.text(NO_END, max_size=12), min_size=1, max_size=3).map(lambda lines: "\n".join(lines).encode()),
    id=st.text(NO_END.filter(lambda one: one != "\0"), max_size=4),
    retry_ms=st.none() | st.integers(0, 10**9),
)


def encoded(event, end, space):
    lines = [f"event:{space}{event.name}", f"id:{space}{event.id}"]
    lines += [f"retry:{space}{event.retry_ms}"] if event.retry_ms is not None else []
    lines += [f"data:{space}{line}" for line in event.data.decode().split("\n")]
    return "".join(line + end for line in [*lines, ""]).encode()


@given(st.lists(EVENTS, max_size=5), st.sampled_from(["\n", "\r", "\r\n"]), st.lists(st.integers(0, 300), max_size=6))
def test_events_that_are_written_are_read_again(events, end, bounds):
    body = b"".join(encoded(event, end, " ") for event in events)
    assert parsed(cut(body, bounds)) == events


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KNOWN = {
    "openai_chat": {
        "id": "i",
        "choices": [
            {
                "index": 0,
                "delta": {
                    "role": "assistant",
                    "content": "a",
                    "tool_calls": [{"index": 0, "id": "c", "function": {"name": "n", "arguments": "{"}}],
                    "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}],
                },
                "logprobs": {"content": [1]},
                "finish_reason": None,
            },
            {"index": 1, "delta": {"content": "b"}, "finish_reason": None},
        ],
    },
    "openai_responses": {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": "a",
        "sequence_number": 1,
        "response": {"output": [{"type": "message", "content": [{"type": "output_text"}]}]},
        "item": {"type": "message"},
        "part": {"type": "output_text", "text": ""},
    },
    "anthropic": {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "a", "partial_json": "{"},
        "content_block": {"type": "text", "text": "", "citations": None, "input": {}},
        "message": {"content": [{"type": "text"}], "usage": {"output_tokens": 1}},
        "usage": {"output_tokens": 2},
    },
    "gemini": {
        "candidates": [
            {
                "index": 0,
                "content": {
                    "parts": [
                        {"text": "a", "thought": True},
                        {"functionCall": {"name": "n", "willContinue": True}},
                        {"functionCall": {"partialArgs": [{"jsonPath": "$.a[0]", "stringValue": "x"}]}},
                    ],
                    "role": "model",
                },
                "citationMetadata": {"citationSources": [{"uri": "u"}]},
                "logprobsResult": {"chosenCandidates": [1]},
            }
        ],
        "usageMetadata": {"totalTokenCount": 1},
    },
}
TYPES = {
    "openai_responses": [
        *("response.created", "response.completed", "response.output_item.added", "response.output_item.done"),
        *("response.content_part.added", "response.content_part.done", "response.output_text.delta", "error"),
        *("response.output_text.done", "response.function_call_arguments.delta", "response.refusal.delta"),
        *("response.reasoning_summary_text.delta", "response.shell_call_command.delta", "response.mcp_call.failed"),
        *("response.shell_call_output_content.delta", "response.output_text.annotation.added", "response.audio.delta"),
    ],
    "anthropic": [
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop", "error", "ping"),
    ],
}


@st.composite
def mangled(draw, wire_format):
    """Events of a format with values of any type in any place."""
    events = []
    for _ in range(draw(st.integers(0, 6))):
        data = json.loads(json.dumps(KNOWN[wire_format]))
        if wire_format in TYPES:
            data["type"] = draw(st.sampled_from(TYPES[wire_format]))
        for _ in range(draw(st.integers(0, 3))):
            here = data
            while isinstance(here, dict | list) and here:
                key = draw(st.sampled_from(list(here) if isinstance(here, dict) else range(len(here))))
                if not isinstance(here[key], dict | list) or draw(st.booleans()):
                    here[key] = draw(JSON)
                    break
                here = here[key]
        events.append(data)
    return sse(*events)


@pytest.mark.parametrize("wire_format", FORMATS)
@given(st.data())
@settings(max_examples=300)
def test_no_event_raises(wire_format, data):
    body = data.draw(mangled(wire_format))
    made = assemble(wire_format, body)
    json.dumps(made.payload, allow_nan=False)
    if wire_format in WITH_A_SHORT_WAY:
        assert assembled_carefully(wire_format, parsed([body])) == made
    recognize(events_of(body))


DEEP = {
    "openai_chat": [
        b'{"id": @, "choices": [{"index": 0, "delta": {"content": @, "tool_calls": [@]}, "logprobs": {"a": @}}]}',
        b'{"id": "i", "error": @}',
        b'{"choices": [{"index": @, "delta": @}]}',
        b'{"type": @}',
    ],
    "openai_responses": [
        b'{"type": "response.created", "response": {"output": [{"type": @}]}}',
        b'{"type": "response.output_text.annotation.added", "output_index": 0, "content_index": 0, "annotation": @}',
        b'{"type": "response.output_text.delta", "output_index": @, "delta": @}',
        b'{"type": "error", "code": @, "message": @}',
        b'{"type": @}',
    ],
    "anthropic": [
        b'{"type": "message_start", "message": {"usage": @, "content": @}}',
        b'{"type": "content_block_start", "index": 0, "content_block": {"type": @, "text": @}}',
        b'{"type": "content_block_start", "index": @}',
        b'{"type": "content_block_delta", "index": 0, "delta": {"type": @}}',
        b'{"type": "error", "error": @}',
        b'{"type": "error", "error": {"type": @}}',
        b'{"type": @}',
    ],
    "gemini": [
        b'{"candidates": [{"content": {"parts": [@, {"text": @}]}, "index": @, "citationMetadata": {"a": [@, @]}}]}',
        b'{"candidates": [{"content": {"parts": [{"functionCall": {"willContinue": true, "partialArgs": [@]}}]}}]}',
        b'{"candidates": [{"content": {"parts": [{"functionCall": {"willContinue": true, "args": {"a": @}}}]}}]}',
        b'{"error": @}',
        b'{"type": @}',
    ],
}


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("depth", [200, *range(880, 1_000, 3), 100_000])
def test_nesting_does_not_raise(wire_format, depth):
    deep = b"[" * depth + b"]" * depth
    for data in DEEP[wire_format]:
        made = assemble(wire_format, b"data: %s\n\n" % data.replace(b"@", deep) * 2)
        assert not made.is_complete


def test_a_format_nobody_knows_is_refused_with_the_known_ones():
    with pytest.raises(UnrecognizedError, match="gemini"):
        assembler("cohere")
    assert assembled("openai-chat", []).payload == {}


@pytest.mark.parametrize(
    ("body", "wire_format"),
    [
        (b"data: [DONE]\n\n", "openai_chat"),
        (b'data: {"choices": [], "prompt_filter_results": []}\n\n', "openai_chat"),
        (b'data: {"object": "chat.completion.chunk"}\n\n', "openai_chat"),
        (b'event: ping\ndata: {"type": "ping"}\n\n', "anthropic"),
        (b"event: message_start\ndata: {}\n\n", "anthropic"),
        (b'data: {"type": "error", "error": {"type": "overloaded_error"}}\n\n', "anthropic"),
        (b'data: {"type": "error", "code": "x", "message": "y"}\n\n', "openai_responses"),
        (b': hello\n\ndata: x\n\ndata: {"type": "response.created"}\n\n', "openai_responses"),
        (b'[{"candidates": []}', "gemini"),
        (b'data: {"hello": 1}\n\n', None),
        (b"<html>", None),
    ],
)
def test_a_format_is_known_by_its_first_events(body, wire_format):
    assert recognize(events_of(body)) == wire_format
