import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.streams import assemble, assembler
from palaver.streams.event_parsers import events_of, events_of_lines
from stream_oracles import sdk_results
from streaming import assembled, kinds, sse, without_unsaid

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 1, "service_tier": "standard"},
    },
}
END = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 20, "input_tokens": None, "cache_read_input_tokens": 5},
}
STOP = {"type": "message_stop"}


def block(index, start, *deltas):
    return (
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    )


def text(*pieces, index=0):
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def tool(*pieces, index=0):
    start = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    return block(index, start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def whole(*blocks):
    made = assemble("anthropic", sse(START, *blocks, END, STOP))
    assert made.is_complete
    return made


PIECES = st.lists(st.text(max_size=5), max_size=4)
CITATION = {"type": "char_location", "cited_text": "a", "document_index": 0, "document_title": None}
CITATION |= {"start_char_index": 0, "end_char_index": 1}
VALUES = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=9), max_size=3)


@st.composite
def messages(draw):
    events = [START]
    for index in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["text", "cited", "thinking", "tool_use", "server_tool_use", "result"]))
        pieces = draw(PIECES)
        match kind:
            case "text":
                events += text(*pieces, index=index)
            case "cited":
                start = {"type": "text", "text": "", "citations": []}
                deltas = [{"type": "citations_delta", "citation": CITATION}] * len(pieces)
                events += block(index, start, *deltas, {"type": "text_delta", "text": "x"})
            case "thinking":
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
                deltas.append({"type": "signature_delta", "signature": draw(st.text(max_size=5))})
                events += block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)
            case "result":
                content = [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}]
                events += block(index, {"type": "web_search_tool_result", "tool_use_id": "s", "content": content})
            case _:
                raw = json.dumps(draw(VALUES))
                cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=3)))
                start = {"type": kind, "id": "t", "name": "web_search", "input": {}}
                parts = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)] if pieces else []
                events += block(index, start, *({"type": "input_json_delta", "partial_json": part} for part in parts))
        if draw(st.booleans()):
            events.append({"type": "ping"})
    return sse(*events, END, STOP)


@given(messages())
def test_any_message_is_what_the_sdk_makes_of_it(body):
    made = assemble("anthropic", body)
    assert (made.is_complete, made.issues) == (True, [])
    for theirs in sdk_results("anthropic", body):
        assert made.payload == without_unsaid(theirs, made.payload)


def test_usage_is_replaced_and_null_erases_nothing():
    assert whole().payload["usage"] == {
        "input_tokens": 7,
        "cache_read_input_tokens": 5,
        "output_tokens": 20,
        "service_tier": "standard",
    }


def test_the_end_tells_more_than_a_reason():
    end = END | {"context_management": {"applied_edits": []}, "delta": END["delta"] | {"container": {"id": "c"}}}
    made = assemble("anthropic", sse(START, *text("a"), end, STOP))
    assert made.payload["context_management"] == {"applied_edits": []}
    assert made.payload["container"] == {"id": "c"}
    assert made.payload["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("pieces", "expected"), [((), {}), (("",), {}), ((" ", "\n"), {}), (("", '{"a": ', "[1]}"), {"a": [1]})]
)
def test_a_tools_input_is_an_object(pieces, expected):
    assert whole(*tool(*pieces)).payload["content"][0]["input"] == expected


def test_integers_of_a_tools_input_are_exact():
    assert whole(*tool('{"n": 123456789012345678901}')).payload["content"][0]["input"] == {"n": 123456789012345678901}


def test_an_input_that_the_limit_of_tokens_cut_is_kept_as_text_and_never_closed():
    made = whole(*tool('{"path": "/etc", "lines": [1, 23, 4', "5"))
    assert made.payload["content"][0]["input"] == {"raw": '{"path": "/etc", "lines": [1, 23, 45'}
    assert kinds(made) == ["incomplete_json"]


def test_an_input_that_is_no_json_is_kept():
    made = whole(*tool('{"path": /etc}'))
    assert made.payload["content"][0]["input"] == {"raw": '{"path": /etc}'}
    assert kinds(made) == ["invalid_json"]


def test_a_signature_is_kept_though_the_thinking_is_not_shown():
    start = {"type": "thinking", "thinking": "", "signature": ""}
    made = whole(*block(0, start, {"type": "signature_delta", "signature": "abc"}))
    assert made.payload["content"] == [{"type": "thinking", "thinking": "", "signature": "abc"}]


def test_citations_are_gathered():
    first, second = CITATION, CITATION | {"cited_text": "b"}
    deltas = [{"type": "citations_delta", "citation": citation} for citation in (first, second)]
    made = whole(*block(0, {"type": "text", "text": "", "citations": None}, *deltas))
    assert made.payload["content"] == [{"type": "text", "text": "", "citations": [first, second]}]


def test_a_compaction_is_kept():
    delta = {"type": "compaction_delta", "content": "short", "encrypted_content": None}
    made = whole(*block(0, {"type": "compaction", "content": None, "encrypted_content": "e"}, delta))
    assert made.payload["content"] == [{"type": "compaction", "content": "short", "encrypted_content": "e"}]


def test_a_fallback_names_the_model_that_answered():
    start = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    assert whole(*block(0, start)).payload["model"] == "b"


def test_names_of_events_may_be_missing_and_data_may_be_padded():
    body = sse(START, *text("a", "b"), END, STOP)
    plain = b"\n\n".join(event.data + b"     " for event in events_of(body)).replace(b"\n\n", b"\n\ndata:")
    made = assemble("anthropic", b"data:" + plain)
    assert made.payload == whole(*text("a", "b")).payload
    assert made.issues == []


def test_the_type_may_be_missing_in_the_data():
    body = sse(START, *text("a"), END, STOP).replace(b'"type": "message_stop"', b"").replace(b'"type": "ping"', b"")
    assert assemble("anthropic", body).is_complete


def test_an_error_in_the_middle_ends_it():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    made = assemble("anthropic", sse(START, *text("a"), error))
    assert made.payload["content"] == [{"type": "text", "text": "a"}]
    assert made.payload["error"] == error["error"]
    assert not made.is_complete
    assert kinds(made) == ["error_event", "incomplete_stream_end"]
    assert made.issues[0].sequence == 4


def test_an_error_alone_is_the_body_that_a_request_without_a_stream_gets():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert assemble("anthropic", sse(error)).payload == error
    assert assemble("anthropic", json.dumps(error).encode()).payload == error


def test_a_stream_without_its_end_gives_what_there_is():
    made = assemble("anthropic", sse(START, *text("a", "b"), *tool('{"a": "b', index=1)[:-1]))
    assert made.payload["content"][0]["text"] == "ab"
    assert made.payload["content"][1]["input"] == {"raw": '{"a": "b'}
    assert made.payload["usage"]["output_tokens"] == 1
    assert not made.is_complete
    assert kinds(made) == ["incomplete_json", "incomplete_stream_end"]


def test_a_stream_without_its_start_gives_what_there_is():
    made = assemble("anthropic", sse(*text("a"), END, STOP))
    assert made.payload["content"] == [{"type": "text", "text": "a"}]
    assert made.payload["stop_reason"] == "end_turn"
    assert kinds(made) == ["incomplete_stream_start"]


def test_nothing_gives_nothing():
    made = assemble("anthropic", b"")
    assert (made.payload, made.is_complete) == ({}, False)
    assert kinds(made) == ["incomplete_stream_start", "incomplete_stream_end"]


def test_data_that_is_no_json_is_an_issue_and_the_rest_goes_on():
    made = assemble("anthropic", sse(START, *text("a", "b"), END, STOP).replace(b'"text": "a"}', b'"text": "a'))
    assert made.payload["content"] == [{"type": "text", "text": "b"}]
    assert kinds(made) == ["corrupted_data"]
    assert (made.issues[0].sequence, made.is_complete) == (2, False)


def test_a_last_event_that_is_cut_is_an_issue_only_where_it_makes_no_sense():
    body = sse(START, *text("a"), END, STOP)
    assert assemble("anthropic", body.rstrip(b"\n")).issues == []
    assert kinds(assemble("anthropic", body.rstrip(b"\n")[:-2])) == ["cut_event", "incomplete_stream_end"]


def test_a_character_whose_halves_came_apart_is_whole_again():
    body = sse(START, *text("A", "B"), END, STOP).replace(b'"A"', b'"a\\ud83d"').replace(b'"B"', b'"\\ude00b\\ud83d"')
    made = assemble("anthropic", body)
    assert made.payload["content"][0]["text"] == "a\U0001f600b\ufffd"
    assert kinds(made) == ["lenient_json"] * 2
    assert made.is_complete


ODD = {
    "an event nobody knows": (({"type": "new_thing"},), "unknown_event"),
    "a delta nobody knows": (
        (*text()[:1], {"type": "content_block_delta", "index": 0, "delta": {"type": "new"}}),
        None,
    ),
    "an end without a beginning": (({"type": "content_block_stop", "index": 0},), "unknown_block"),
    "a block that ends twice": ((*text("a"), text()[-1]), "repeated_event"),
    "a block that begins twice": ((*text("a"), *text("b")), "repeated_event"),
    "a block that never ends": (text("a")[:-1], "unclosed_block"),
    "a block too early": (text("a", index=1), "out_of_order"),
    "text for a tool": ((*tool()[:1], text("a")[1], tool()[-1]), "out_of_order"),
    "a piece that is late": ((*text("a"), text("b")[1]), "out_of_order"),
    "a second start": ((START,), "repeated_event"),
    "a number for text": ((text()[0], *text(5)[1:]), "unexpected_value"),
    "a list for an index": (({"type": "content_block_delta", "index": [], "delta": {}},), "unexpected_value"),
    "no object": (("[]",), "corrupted_data"),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_an_issue(case):
    events, kind = ODD[case]
    made = assemble("anthropic", sse(START, *events, END, STOP))
    assert (kind or "unknown_event") in kinds(made)
    assert made.payload["stop_reason"] == "end_turn"


def test_pieces_of_a_block_that_never_began_are_given():
    made = assemble("anthropic", sse(START, *text("a", "b")[1:], *tool('{"c": 1}', index=1)[1:], END, STOP))
    assert made.payload["content"] == [{"type": "text", "text": "ab"}, {"type": "tool_use", "input": {"c": 1}}]
    assert kinds(made) == ["unknown_block", "unknown_block"]


def test_what_comes_after_the_end_is_taken_and_told():
    made = assemble("anthropic", sse(START, END, STOP, *text("late"), "[DONE]"))
    assert made.payload["content"] == [{"type": "text", "text": "late"}]
    assert kinds(made) == ["out_of_order"] * 3


def test_a_result_does_not_change_when_more_follows():
    events = list(events_of(sse(START, *text("a", "b"), *tool('{"a":', "1}", index=1), END, STOP)))
    early = [assembled("anthropic", events[:count]) for count in range(len(events) + 1)]
    made = assembler("anthropic")
    seen = [made.result()]
    for event in events:
        made.feed(event)
        seen.append(made.result())
    assert seen == early


def test_so_many_issues_that_they_are_counted():
    made = assemble("anthropic", sse(START, *[{"type": "x"}] * 5_000, END, STOP))
    assert len(made.issues) == 1_001
    assert made.issues[-1] == ("more_issues", 5_003, "4,000 more")


def test_the_streaming_example_of_the_cook_specification():
    lines = [
        "event: message_start",
        'data: {"type":"message_start","message":{"id":"msg_xxx","model":"claude-sonnet-4-20250514"}}',
        "event: content_block_start",
        'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        "event: content_block_delta",
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello!"}}',
        "event: content_block_stop",
        'data: {"type":"content_block_stop","index":0}',
        "event: message_delta",
        'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
        "event: message_stop",
        'data: {"type":"message_stop"}',
    ]
    assert assembled("anthropic", events_of_lines(lines)) == (
        {
            "id": "msg_xxx",
            "model": "claude-sonnet-4-20250514",
            "content": [{"type": "text", "text": "Hello!"}],
            "stop_reason": "end_turn",
        },
        True,
        [],
        (),
    )
