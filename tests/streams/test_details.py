"""The events of a stream with their times, and what their course says of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassettes import needs_samples
from merging import END, message
from palaver.streams import assemble
from palaver.streams.details import StreamingDetails, details_of_body, encode_json, sse_bytes
from palaver.streams.event_parsers import SseParser
from palaver.streams.stream_splitter import StreamSplitter
from streaming import all_streams, parsed, sse

RECORDED = list(all_streams())
STREAM = message("msg_1", "on", "ward")


def found(*data, wire_format="anthropic"):
    """The kinds of issues that a stream has, each with the number of its event."""
    details, made = details_of_body(sse(*data), 1.0)
    assert details.wire_format == wire_format
    return [(issue["type"], issue["sequence"]) for issue in made.get("issues", [])]


@needs_samples
@pytest.mark.parametrize(("wire_format", "call"), RECORDED, ids=[f"{one} {call.name}" for one, call in RECORDED])
def test_a_whole_stream_has_no_issues_and_a_cut_one_says_so(wire_format, call):
    details, made = details_of_body(call.stream, 1.0)
    assert details.wire_format == wire_format
    assert "issues" not in made
    events = parsed([call.stream])
    body = b"".join(map(sse_bytes, events))
    assert assemble(wire_format, body).payload == assemble(wire_format, call.stream).payload
    # Of OpenAI's chat, [DONE] and usage may be missing.
    few = events[: len(events) - 4]
    _, cut = details_of_body(b"".join(map(sse_bytes, few)), 1.0)
    assert "incomplete_stream_end" in [issue["type"] for issue in cut["issues"]]


def test_anthropic_has_an_order():
    start, block, delta, other, stop, *_ = STREAM
    assert found(*STREAM) == []
    assert found(*STREAM[1:]) == [("incomplete_stream_start", 1)]
    assert found(start) == [("incomplete_stream_end", 1)]
    assert found(start, *STREAM) == [("repeated_event", 2)]
    assert found(start, block, delta, *END) == [("unclosed_block", 5)]
    assert found(start, delta, *END) == [("unknown_block", 2)]
    assert found(start, stop, *END) == [("unknown_block", 2)]
    assert found(start, block, stop, stop, *END) == [("repeated_event", 4)]
    assert found(start, block, stop, other, *END) == [("out_of_order", 4)]
    assert found(start, block, block, stop, *END) == [("repeated_event", 3)]
    assert found(start, {**block, "index": 1}, {**stop, "index": 1}, *END) == [("out_of_order", 2)]
    assert found(start, {**block, "index": []}, *END) == [("unexpected_value", 2)]
    assert found(start, END[0], block, stop, END[1]) == [("out_of_order", 3), ("out_of_order", 4)]
    assert found(*STREAM, delta) == [("out_of_order", 8), ("out_of_order", 8)]
    assert found(start, {"type": "news"}, *END) == [("unknown_event", 2)]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert found(start, error) == [("error_event", 2), ("incomplete_stream_end", 2)]


def test_chat_ends_with_a_reason():
    def chunk(index=0, reason=None):
        return {"id": "c", "choices": [{"index": index, "delta": {}, "finish_reason": reason}]}

    ended = [chunk(), chunk(reason="stop")]
    assert found(*ended, "[DONE]", wire_format="openai_chat") == []
    assert found(*ended, wire_format="openai_chat") == [], "some servers leave [DONE] out"
    assert found(chunk(), "[DONE]", wire_format="openai_chat") == [("incomplete_stream_end", 2)]
    assert found(*ended, chunk(1), "[DONE]", wire_format="openai_chat") == [("incomplete_stream_end", 4)]
    assert found(*ended, "[DONE]", "[DONE]", wire_format="openai_chat") == [("repeated_event", 4)]
    assert found(*ended, "[DONE]", chunk(), wire_format="openai_chat") == [("out_of_order", 4)]
    assert found("[DONE]", wire_format="openai_chat") == [("incomplete_stream_start", 1), ("incomplete_stream_end", 1)]
    odd = {"choices": [None, {"index": "x", "finish_reason": "stop"}]}
    assert found(odd, wire_format="openai_chat") == [("unexpected_value", 1)]
    refused = {"id": "c", "choices": [], "error": {"message": "no"}}
    assert ("error_event", 1) in found(refused, wire_format="openai_chat")


def test_responses_are_numbered():
    def event(kind, number, **more):
        return {"type": f"response.{kind}", "sequence_number": number, **more}

    created, ended = event("created", 0), event("completed", 3)
    added, done = (event(f"output_item.{kind}", at, output_index=0) for at, kind in ((1, "added"), (2, "done")))
    of = {"wire_format": "openai_responses"}
    assert found(created, added, done, ended, **of) == []
    alive = {"type": "keepalive", "sequence_number": 3}
    assert found(created, added, done, alive, event("completed", 4), **of) == []
    assert found(created, added, done, event("completed", 5), **of) == [("out_of_order", 4)]
    assert found(added, done, ended, **of) == [("incomplete_stream_start", 1)]
    assert found(created, added, **of) == [("unclosed_block", 2), ("incomplete_stream_end", 2)]
    assert found(created, done, ended, **of) == [("out_of_order", 2), ("unknown_block", 2)]
    swapped = [("out_of_order", 2), ("unknown_block", 2), ("out_of_order", 3)]
    assert found(created, done, added, ended, **of) == swapped
    assert found(created, event("completed", 1), event("in_progress", 2), **of) == [("out_of_order", 3)]
    assert ("error_event", 2) in found(created, {"type": "error", "message": "no"}, **of)
    assert ("unknown_event", 2) in found(created, {"type": "news"}, **of)


def test_gemini_ends_with_a_reason_or_a_refusal():
    going = {"candidates": [{"content": {"parts": []}}]}
    ended = {"candidates": [{"finishReason": "STOP"}]}
    of = {"wire_format": "gemini"}
    assert found(going, ended, **of) == []
    assert found(going, **of) == [("incomplete_stream_end", 1)]
    assert found({"promptFeedback": {"blockReason": "SAFETY"}}, **of) == []
    assert found({"candidates": [7]}, ended, **of) == [("unexpected_value", 1)]


def test_text_that_is_almost_json_is_read_generously():
    details, made = details_of_body(sse(STREAM[0]) + b'data: {"type": "message_delta", "a": NaN, "b": "\x01"}\n\n', 1.0)
    assert details.count == 2
    assert made["chunks"].value()[1]["data"] == {"type": "message_delta", "a": "NaN", "b": "\x01"}
    assert made["issues"][0]["type"] == "lenient_json"


def test_an_event_that_the_end_cuts_off():
    whole = sse(STREAM[0]) + b'event: message_stop\ndata: {"type":"message_stop"}'
    assert "issues" not in details_of_body(whole, 1.0)[1], "only its line ends are missing"
    _, made = details_of_body(whole[:-3], 1.0)
    assert made["issues"][0]["type"] == "cut_event"
    assert made["chunks"].value()[1]["data"] == {"corrupted_data": '{"type":"message_sto'}


def test_what_else_an_event_says_is_kept():
    _, made = details_of_body(b'id: 7\nretry: 50\ndata: {"type":\ndata: "message_stop"}\n\n', 1.0)
    [chunk] = made["chunks"].value()
    assert (chunk["id"], chunk["retry_ms"], chunk["data"]) == ("7", 50, {"type": "message_stop"})
    assert b"\n" not in encode_json(made)


def test_nobody_knows_the_time_of_a_body_without_one():
    _, made = details_of_body(sse(*STREAM), None)
    assert made["first_chunk_timestamp"] is made["last_chunk_timestamp"] is None
    assert {chunk["timestamp"] for chunk in made["chunks"].value()} == {None}
    assert made["total_duration_ms"] == 0


def test_lines_that_mean_nothing_are_strays():
    parser = SseParser(collect_strays=True)
    events = parser.feed(b": fine\nretry: 5\nid: 1\nno field\ndata: x\n\nevent: alone\n\nevent: ping\n\nodd: field\n")
    assert [event.data for event in events] == [b"x"]
    assert parser.stray_lines == [b"no field", b"event: alone", b"odd: field"]
    assert SseParser().stray_lines is None


@given(st.lists(st.sampled_from([b"torn", b" line", b"\n", b"data: {}\n\n", b"event: x\n"]), max_size=12))
def test_a_stray_line_is_kept_however_it_is_cut(pieces):
    body = b"".join(pieces)
    whole = []
    for chunks in ([body], [bytes([one]) for one in body]):
        out = []
        details = StreamingDetails(out.append)
        for chunk in chunks:
            details.feed(chunk, 1.0)
        details.close()
        kept = json.loads(b"[%b]" % b"".join(out))
        texts = [chunk["data"].get("malformed_sse", "") for chunk in kept]
        whole.append([line for text in texts for line in text.split("\n") if line])
    assert whole[0] == whole[1]


def cut(*chunks):
    """The texts of each stream that chunks without ids are cut into, and the numbers of those that are tangled."""
    cutter = StreamSplitter()
    placed = [one for chunk in chunks for one in cutter.add(chunk, chunk)] + cutter.end()
    assert sorted(chunk for _, chunk in placed) == sorted(chunks)
    streams = {}
    for number, chunk in placed:
        streams.setdefault(number, []).append(chunk)
    return [b"".join(stream) for stream in streams.values()], cutter.interleaved


ONE, OTHER = sse(*STREAM), sse(*message("msg_2", "back"))


def test_chunks_are_cut_into_streams():
    assert cut() == ([], set())
    assert cut(ONE, OTHER) == ([ONE, OTHER], set())
    assert cut(ONE[:40], ONE[40:], OTHER) == ([ONE, OTHER], set())
    torn = ONE[: ONE.index(b"content_block_stop") + 3]
    assert cut(torn[:300], torn[300:], OTHER) == ([torn, OTHER], set()), "broken off within an event"
    rest = sse(*STREAM[2:])
    assert cut(OTHER, rest) == ([OTHER, rest], set()), "after an end something else must follow"
    ping = sse({"type": "ping"})
    assert cut(ping, ONE, ping, OTHER) == ([ping + ONE + ping, OTHER], set()), "a ping begins nothing"
    assert cut(b"\n", ONE) == ([b"\n" + ONE], set())
    assert cut(b"no event") == ([b"no event"], set())
    done = b"data: [DONE]\n\n"
    chat = sse({"id": "c", "choices": []})
    assert cut(chat, done, done, chat) == ([chat + done + done, chat], set())


def test_chunks_in_turns_are_tangled():
    turns = [sse(event) for both in zip(STREAM, message("msg_2", "back", "wards"), strict=True) for event in both]
    streams, tangled = cut(*turns, ONE)
    assert streams[-1] == ONE
    assert tangled == set(range(len(streams) - 1))


@given(st.lists(st.sampled_from([sse(event) for event in (*STREAM, *message("msg_2", "x"))] + [b"x", b"data: "])))
def test_every_chunk_is_a_part_of_one_stream(chunks):
    cut(*chunks)
