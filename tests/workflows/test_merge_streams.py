"""A log with its chunks: every case that the specification of the merge names, and what holds for all of them."""

import json
import random
import tracemalloc
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import palaver.workflows.merge_streams
from cassettes import SAMPLES
from importing import FIXTURES
from merging import AT, END, PING, Merging, chunks, entry, message, said, texts
from palaver.sources.source import Source
from palaver.storage.spill import GroupSpill
from palaver.streams.recorder import StreamRecorder
from palaver.workflows.merge_streams import chunks_beside
from streaming import sse

TRACES = FIXTURES / "traces"
STREAM = message("msg_1", "The gate ", "is open — “now”.")


@pytest.fixture
def merged(tmp_path):
    return Merging(tmp_path)


# -- what comes out -------------------------------------------------------------------------------------------------


def test_an_entry_gets_every_field_of_the_specification(merged):
    [made] = merged([entry(request_id="r")], chunks("r", texts(*STREAM)))
    details = made["response"]["streaming_details"]
    assert list(details) == [
        *("chunk_count", "first_chunk_timestamp", "last_chunk_timestamp", "total_duration_ms"),
        *("reconstructed_from_chunks", "network_chunks", "chunks"),
    ]
    assert details["chunk_count"] == len(details["chunks"]) == len(STREAM)
    assert (details["first_chunk_timestamp"], details["last_chunk_timestamp"]) == (AT + 2, AT + 2.6)
    assert details["total_duration_ms"] == 600
    assert details["reconstructed_from_chunks"] is True
    assert details["chunks"][1] == {
        "sequence": 2,
        "timestamp": AT + 2.1,
        "event_type": "content_block_start",
        "data": STREAM[1],
        "chunk_timing_ms": 100,
    }
    assert [chunk["sequence"] for chunk in details["chunks"]] == list(range(1, len(STREAM) + 1))
    assert made["response"]["body_raw"] == sse(*STREAM).decode()
    assert merged.done.is_clean


def test_trap_19_the_id_may_stand_anywhere(merged):
    places = [
        {"request_id": "r"},
        {"headers": {"Request-ID": "r"}},
        {"headers": {"X-REQUEST-ID": ["r"]}},
        {"headers": {"Anthropic-Request-Id": "r"}},
        {"headers": {"apim-request-id": "r"}},
    ]
    for place in places:
        assert not merged.issues([entry(**place)], chunks("r", texts(*STREAM)))
    for part in ("request", "response"):
        for place in ({"request_id": "r"}, {"headers": {"request-id": "r"}}, {"headers": [["Request-Id", "r"]]}):
            log = entry()
            log[part] |= place
            assert not merged.issues([log], chunks("r", texts(*STREAM)))


def test_trap_20_a_read_is_no_event(merged):
    body = sse(*STREAM).decode()
    parts = [body[:17], body[17:150], body[150:]]
    details = merged.details([entry(request_id="r")], chunks("r", parts))
    assert [chunk["data"] for chunk in details["chunks"]] == STREAM
    assert [chunk["timestamp"] for chunk in details["chunks"]] == [AT + 2.2] * len(STREAM), "where an event ends"
    assert (details["chunk_count"], details["network_chunks"]) == (len(STREAM), 3)


@pytest.mark.parametrize(
    "ping",
    [
        'event: ping\ndata: {"type": "ping"}\n\n',
        'data: {"type":"ping"}\n\n',
        "event:ping\r\ndata:\r\n\r\n",
        "event: ping\n\n",
        ": hello\n\n",
    ],
)
def test_trap_21_pings_are_known_by_what_they_say(merged, ping):
    parts = texts(*STREAM)
    details = merged.details([entry(request_id="r")], chunks("r", [*parts[:2], ping, *parts[2:]]))
    assert details["chunk_count"] == len(STREAM)
    assert "issues" not in details


def test_trap_22_without_chunks_the_body_is_the_source(merged):
    [made] = merged([entry(body_raw=sse(STREAM[0], PING, *STREAM[1:]).decode())])
    details = made["response"]["streaming_details"]
    assert details["reconstructed_from_chunks"] is False
    assert "network_chunks" not in details, "a body does not show its reads"
    assert said(made) == "The gate is open — “now”."
    assert {chunk["timestamp"] for chunk in details["chunks"]} == {AT + 2}
    assert {chunk["chunk_timing_ms"] for chunk in details["chunks"]} == {details["total_duration_ms"]} == {0}


def test_trap_22_an_entry_that_has_details_passes(merged):
    log = entry(request_id="r", body_raw="x", streaming_details={"chunk_count": 1, "chunks": []})
    assert merged([log], chunks("r", texts(*STREAM))) == [log]
    assert not merged.errors


def test_details_that_were_made_from_a_body_give_way_to_chunks(merged):
    body = sse(*STREAM).decode()
    rebuilt = merged([entry(request_id="r", body_raw=body), entry(AT + 60, body_raw=body)])
    lines = [*chunks("r", texts(*STREAM)), *chunks(None, texts(*STREAM[1:]), AT + 62)]
    whole, rest = merged(rebuilt, lines)
    assert merged.done.merged == 2
    assert whole["response"]["streaming_details"]["total_duration_ms"] == 600
    assert rest["response"]["streaming_details"]["matched_by"] == "time"
    merged([whole, rest], [{**line, "timestamp": line["timestamp"] + 1} for line in lines])
    assert merged.lines[:2] == [whole, rest], "times of chunks stay"


def test_trap_23_times_count_from_the_first_chunk(merged):
    details = merged.details([entry(at=AT - 60, request_id="r")], chunks("r", texts(*STREAM)))
    assert [chunk["chunk_timing_ms"] for chunk in details["chunks"]] == [0, 100, 200, 300, 400, 500, 600]


@pytest.mark.parametrize(("off", "is_near"), [(-2, True), (2, True), (-2.1, False), (2.1, False), (0, True)])
def test_trap_24_the_tolerance_is_two_seconds(merged, off, is_near):
    [made] = merged([entry()], chunks(None, texts(*STREAM[1:]), AT + 2 + off, step=0))
    assert ("streaming_details" in made["response"]) == is_near
    assert [error["type"] for error in merged.errors] == ([] if is_near else ["orphaned_chunks"])


def test_trap_25_gateways_leave_out_names_and_end_lines_as_they_like(merged):
    parts = [f"data: {json.dumps(event)}   \r\n\r\n" for event in STREAM]
    [made] = merged([entry(request_id="r")], chunks("r", parts))
    names = [chunk["event_type"] for chunk in made["response"]["streaming_details"]["chunks"]]
    assert names == [event["type"] for event in STREAM]
    assert made["response"]["body_raw"].startswith("event: message_start\ndata: {")


def test_chunks_from_which_a_logger_trimmed_the_line_ends(merged):
    parts = [text.strip() for text in texts(*STREAM)]
    details = merged.details([entry(request_id="r")], chunks("r", parts))
    assert [chunk["data"] for chunk in details["chunks"]] == STREAM


def test_entries_without_a_stream_pass_as_they_are(merged):
    log = [
        {"request": {"body": {"stream": False}}, "response": {"body": {"id": "m", "content": []}}},
        {"request": {}, "response": None, "note": "ORPHANED_REQUEST - No matching response received"},
        {"request": {}, "response": {"body_raw": '{"type": "error", "error": {}}'}},
        {"request": {}, "response": {"body_raw": "<html>"}},
        {"error": {"type": "orphaned_chunks"}},
        {"big": 1 << 90, "half": "\ud800"},
    ]
    merged(deepcopy(log), [])
    assert merged.lines[:-1] == log[:-1]
    assert merged.lines[-1]["big"] == 1 << 90
    assert (merged.done.merged, merged.done.rebuilt) == (0, 0)


def test_an_answer_that_was_never_logged_is_in_the_chunks(merged):
    log = entry(request_id="r")
    log["response"] = None
    [made] = merged([log], chunks("r", texts(*STREAM)))
    assert said(made) == "The gate is open — “now”."
    assert made["response"]["timestamp"] == AT + 2


# -- other formats --------------------------------------------------------------------------------------------------


def _chat(name, *pieces):
    head = {"id": name, "object": "chat.completion.chunk", "model": "m"}
    deltas = [{"content": piece} for piece in pieces]
    return [
        *({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas),
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]


RESPONSES = [
    {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "output": []}},
    {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {"type": "message"}},
    {"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": {"type": "message"}},
    {
        "type": "response.completed",
        "sequence_number": 3,
        "response": {"id": "resp_1", "output": [], "status": "completed"},
    },
]
GEMINI = [
    {"candidates": [{"content": {"parts": [{"text": "on"}]}}], "responseId": "g"},
    {"candidates": [{"content": {"parts": [{"text": "ward"}]}, "finishReason": "STOP"}], "responseId": "g"},
]


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        (texts(*_chat("c", "on", "ward"), "[DONE]"), {"message"}),
        (texts(*_chat("c", "on", "ward")), {"message"}),
        (texts(*RESPONSES), {event["type"] for event in RESPONSES}),
        (texts(*GEMINI), {"message"}),
        ([f"[{json.dumps(GEMINI[0])}", f",\n{json.dumps(GEMINI[1])}]"], {"message"}),
    ],
)
def test_streams_of_every_format_are_whole_by_their_own_rules(merged, parts, names):
    [made] = merged([entry(request_id="r")], chunks("r", parts))
    details = made["response"]["streaming_details"]
    assert "issues" not in details
    assert {chunk["event_type"] for chunk in details["chunks"]} == names
    again = merged.details([entry(body_raw=made["response"]["body_raw"])])
    assert [chunk["data"] for chunk in again["chunks"]] == [chunk["data"] for chunk in details["chunks"]]
    cut = merged.issues([entry(request_id="r")], chunks("r", parts[:1]))
    assert cut[-1] == "incomplete_stream_end"


# -- the specification's marks --------------------------------------------------------------------------------------


def test_incomplete_stream_start(merged):
    assert merged.issues([entry(request_id="r")], chunks("r", texts(*STREAM[1:]))) == ["incomplete_stream_start"]
    assert merged.done.is_clean, "all there is was merged"


def test_incomplete_stream_end(merged):
    found = merged.issues([entry(request_id="r")], chunks("r", texts(*STREAM[:3])))
    assert found == ["unclosed_block", "incomplete_stream_end"]
    assert merged.done.is_clean


def test_corrupted_data_keeps_its_text(merged):
    torn = 'event: content_block_delta\ndata: {"type":"content_blo\n\n'
    parts = texts(*STREAM)
    details = merged.details([entry(request_id="r")], chunks("r", [*parts[:3], torn, *parts[3:]]))
    assert details["chunks"][3]["data"] == {"corrupted_data": '{"type":"content_blo'}
    assert details["chunks"][3]["event_type"] == "content_block_delta"
    assert [(issue["type"], issue["sequence"]) for issue in details["issues"]] == [("corrupted_data", 4)]
    assert not merged.done.is_clean


def test_malformed_sse_keeps_the_chunk(merged):
    parts = texts(*STREAM)
    details = merged.details([entry(request_id="r")], chunks("r", [*parts[:3], "no event at all\n\n", *parts[3:]]))
    assert details["chunks"][3]["data"] == {"malformed_sse": "no event at all\n\n"}
    assert [(issue["type"], issue["sequence"]) for issue in details["issues"]] == [("malformed_sse", 4)]
    assert not merged.done.is_clean


def test_timing_anomaly_and_the_order_of_time(merged):
    lines = chunks("r", texts(*STREAM))
    lines[2], lines[3] = lines[3], lines[2]
    [made] = merged([entry(request_id="r")], lines)
    assert said(made) == "The gate is open — “now”."
    [issue] = made["response"]["streaming_details"]["issues"]
    assert (issue["type"], issue["sequence"]) == ("timing_anomaly", 4)
    assert merged.done.is_clean


def test_a_clock_that_was_set_back_does_not_tear_the_stream(merged):
    lines = chunks("r", texts(*STREAM))
    for line in lines[4:]:
        line["timestamp"] -= 3_600
    [made] = merged([entry(request_id="r")], lines)
    assert [chunk["data"] for chunk in made["response"]["streaming_details"]["chunks"]] == STREAM
    details = made["response"]["streaming_details"]
    assert [issue["type"] for issue in details["issues"]] == ["timing_anomaly"]
    assert details["total_duration_ms"] == 0
    assert [chunk["chunk_timing_ms"] for chunk in details["chunks"][3:5]] == [300, 0], "no time is negative"


def test_a_chunk_without_a_time_follows_the_one_before(merged):
    lines = chunks("r", texts(*STREAM))
    del lines[3]["timestamp"]
    lines[4] = {**lines[4], "timestamp": None, "logged_at": "2026-03-02T06:00:02.400Z"}
    details = merged.details([entry(request_id="r")], lines)
    assert [chunk["data"] for chunk in details["chunks"]] == STREAM
    assert [(issue["type"], issue["sequence"]) for issue in details["issues"]] == [("timing_anomaly", 4)]
    assert details["chunks"][4]["timestamp"] == AT + 2.4


@pytest.mark.parametrize("time", [10**400, 1e300, -1e300, -5, -0.5, "1e400", "soon", True, [], 1_772_431_202_300])
def test_a_time_that_is_none(merged, time):
    lines = chunks("r", texts(*STREAM))
    lines[3]["timestamp"] = time
    details = merged.details([entry(request_id="r")], lines)
    assert [chunk["data"] for chunk in details["chunks"]] == STREAM
    is_milliseconds = time == 1_772_431_202_300
    assert details["chunks"][3]["timestamp"] == AT + (2.3 if is_milliseconds else 2.2)
    assert ("issues" in details) != is_milliseconds


def test_request_id_mismatch_where_one_stream_has_two_ids(merged):
    log = entry(request_id="r", headers={"request-id": "api"})
    parts = texts(*STREAM)
    lines = [*chunks("r", parts[:3]), *chunks("api", parts[3:], AT + 3)]
    [made] = merged([log], lines)
    assert [chunk["data"] for chunk in made["response"]["streaming_details"]["chunks"]] == STREAM
    assert [issue["type"] for issue in made["response"]["streaming_details"]["issues"]] == ["request_id_mismatch"]
    assert not merged.done.is_clean


def test_request_id_mismatch_where_only_the_message_is_the_same(merged):
    body = sse(*STREAM).decode()
    assert merged.issues([entry(request_id="r", body_raw=body)], chunks("q", texts(*STREAM))) == ["request_id_mismatch"]
    details = merged.details([entry(headers={"request-id": "api"}, body_raw=body)], chunks("q", texts(*STREAM)))
    assert details["matched_by"] == "message_id"
    assert "issues" not in details, "an id of the API is not one of the logger's"


def test_block_balance_and_event_order(merged):
    start, block, delta, _, stop, *_ = STREAM
    twice = [start, block, delta, block, stop, stop, *END]
    assert merged.issues([entry(request_id="r")], chunks("r", texts(*twice))) == ["repeated_event", "repeated_event"]
    late = [start, *END, delta]
    assert merged.issues([entry(request_id="r")], chunks("r", texts(*late))) == ["out_of_order", "unknown_block"]


def test_orphaned_chunks(merged):
    lines = chunks("nobody", texts(*STREAM))
    assert merged([entry(request_id="r")], lines) == [entry(request_id="r")]
    [error] = merged.errors
    assert error["type"] == "orphaned_chunks"
    assert error["request_id"] == "nobody"
    assert error["original_chunk"] == lines
    assert set(error) == {"type", "message", "request_id", "chunk_sequence", "original_chunk", "error_details"}
    assert not merged.done.is_clean


@pytest.mark.parametrize("log", [[], ['{"request_id": "nobody", "request": {"head', entry(request_id="r")]])
def test_missing_main_log(merged, log):
    merged(log, chunks("nobody", texts(*STREAM)))
    [error] = merged.errors
    assert error["type"] == "missing_main_log"


def test_stream_reconstruction_error(merged):
    lines = chunks("r", texts(*STREAM))
    lines.insert(2, {"timestamp": AT + 2.15, "request_id": "r", "chunk_data": 7})
    [made] = merged([entry(request_id="r")], lines)
    assert [chunk["data"] for chunk in made["response"]["streaming_details"]["chunks"]] == STREAM
    [error] = merged.errors
    assert error == {
        "type": "stream_reconstruction_error",
        "message": "Failed to parse chunk 3 of 8",
        "request_id": "r",
        "chunk_sequence": 3,
        "original_chunk": lines[2],
        "error_details": "chunk_data has no text",
    }


def test_a_line_that_is_no_record_is_kept_as_it_is(merged):
    torn = '{"timestamp": 1, "request_id": "r", "chunk_data": "event: mess'
    merged([entry(request_id="r")], [torn, *chunks("r", texts(*STREAM)), "[1]"])
    assert [error["type"] for error in merged.errors] == ["stream_reconstruction_error"] * 2
    assert [error["original_chunk"]["raw"] for error in merged.errors] == [torn, "[1]"]
    assert merged.errors[0]["request_id"] == "r"


def test_the_last_line_is_read_when_it_is_finished(merged):
    tail = b'{"timestamp": 1, "request_id": "r", "chunk_data": "event: mess'
    merged([entry(request_id="r")], [*chunks("r", texts(*STREAM)), tail])
    assert merged.done.is_clean
    assert merged.done.chunks[0].findings.counts == {"unfinished-tail": 1}


@pytest.mark.parametrize("depth", [200, 300, 500, 700, 800, 900, 950, 990, 1_000, 2_000, 100_000])
def test_an_entry_may_be_nested_deeply(merged, depth):
    deep = json.dumps(entry(request_id="r")).replace('"messages": []', '"messages": ' + "[" * depth + "]" * depth)
    merged([deep, entry(AT + 60)], chunks("r", texts(*STREAM)))
    assert b"The gate " in merged.raw
    assert merged.done.log.ledger.adds_up
    lines = chunks("r", texts(*STREAM))
    lines[2]["x"] = "deep"
    raw = [json.dumps(line).replace('"deep"', "[" * depth + "]" * depth) for line in lines]
    for name in ("r", "nobody"):
        merged([entry(request_id=name)], raw)
        assert b"The gate " in merged.raw
        assert merged.done.chunks[0].ledger.adds_up


@pytest.mark.parametrize("odd", ["text", [1], 7])
def test_an_entry_without_a_place_for_the_stream(merged, odd):
    lines = chunks("r", texts(*STREAM))
    log = {"request_id": "r", "request": {}, "response": odd}
    assert merged([log], lines) == [log]
    [error] = merged.errors
    assert error["type"] == "stream_reconstruction_error"
    assert error["original_chunk"] == lines


def test_a_chunk_line_that_repeats_the_one_before_it_is_kept_and_remarked(merged):
    lines = chunks("r", texts(*STREAM))
    lines.insert(3, deepcopy(lines[2]))
    [made] = merged([entry(request_id="r")], lines)
    details = made["response"]["streaming_details"]
    assert details["issues"] == [
        {
            "type": "repeated_chunk",
            "sequence": 4,
            "detail": "this chunk repeats the line before it; both are kept",
        }
    ]
    assert said(made) == "The gate The gate is open — “now”."
    assert [remark.type for remark in merged.done.remarks] == ["repeated_chunk"]
    assert merged.done.is_clean


def test_equal_texts_at_different_times_are_no_repetition(merged):
    events = message("msg_1", "ha", "ha", "ha")
    assert merged.issues([entry(request_id="r")], chunks("r", texts(*events))) == []


def test_a_repeated_line_that_begins_a_stream_without_a_request_id_begins_no_other(merged):
    lines = chunks(None, texts(*STREAM))
    lines.insert(1, deepcopy(lines[0]))
    [made] = merged([entry()], lines)
    assert said(made) == "The gate is open — “now”."
    assert {issue["type"] for issue in made["response"]["streaming_details"]["issues"]} == {
        "repeated_chunk",
        "repeated_event",
    }
    assert not merged.errors


def test_a_stream_with_two_messages_has_both_in_its_details(merged):
    both = [*STREAM, *message("msg_2", "It was ", "closed.")]
    [made] = merged([entry(request_id="r")], chunks("r", texts(*both)))
    details = made["response"]["streaming_details"]
    assert [chunk["data"] for chunk in details["chunks"]] == both
    assert made["response"]["body_raw"] == sse(*both).decode()
    [issue] = details["issues"]
    assert (issue["type"], issue["sequence"]) == ("another_message", len(STREAM) + 1)
    assert [remark.type for remark in merged.done.remarks] == ["another_message"]


def test_every_message_of_a_body_is_compared(merged):
    both = [*STREAM, *message("msg_2", "It was closed.")]
    body = sse(*STREAM, *message("msg_2", "It was open.")).decode()
    issues = merged.issues([entry(request_id="r", body_raw=body)], chunks("r", texts(*both)))
    assert issues == ["another_message", "body_mismatch"]
    body = sse(*both).decode()
    assert merged.issues([entry(request_id="r", body_raw=body)], chunks("r", texts(*both))) == ["another_message"]


# -- the body -------------------------------------------------------------------------------------------------------


def test_an_existing_body_is_kept_and_compared(merged):
    odd = ": kept\r\n" + sse(*STREAM).decode().replace("\n", "\r\n")
    [made] = merged([entry(request_id="r", body_raw=odd)], chunks("r", texts(*STREAM)))
    assert made["response"]["body_raw"] == odd
    assert "issues" not in made["response"]["streaming_details"]
    other = sse(*message("msg_1", "The gate is shut.")).decode()
    [made] = merged([entry(request_id="r", body_raw=other)], chunks("r", texts(*STREAM)))
    assert made["response"]["body_raw"] == other
    [issue] = made["response"]["streaming_details"]["issues"]
    assert issue["type"] == "body_mismatch"
    assert "content" in issue["detail"]
    assert not merged.done.is_clean


def test_a_body_that_is_an_answer_is_compared_as_well(merged):
    body = {"id": "msg_1", "content": [{"type": "text", "text": "The gate is open — “now”."}]}
    assert not merged.issues([entry(request_id="r", body=body)], chunks("r", texts(*STREAM)))
    body["content"] = []
    assert merged.issues([entry(request_id="r", body=body)], chunks("r", texts(*STREAM))) == ["body_mismatch"]


# -- chunks without a request id ------------------------------------------------------------------------------------


def test_streams_are_cut_where_they_begin_and_end(merged):
    other = message("msg_2", "Not yet.")
    log = [entry(), entry(AT + 10), entry(AT + 20)]
    lines = [
        *chunks(None, texts(*STREAM)),
        *chunks(None, texts(*other[:3]), AT + 12),
        *chunks(None, texts(*message("msg_3", "Later.")), AT + 22),
    ]
    first, second, third = merged(log, lines)
    assert (said(first), said(second), said(third)) == ("The gate is open — “now”.", "Not yet.", "Later.")
    assert second["response"]["streaming_details"]["matched_by"] == "time"
    assert not merged.errors


def test_streams_that_were_written_in_turns_are_not_guessed_at(merged):
    one, other = texts(*STREAM), texts(*message("msg_2", "Not ", "yet."))
    turns = [part for both in zip(one, other, strict=True) for part in both]
    log = [entry(body_raw=sse(*STREAM).decode()), entry(AT + 60)]
    lines = [*chunks(None, turns, step=0.01), *chunks(None, texts(*message("msg_3", "Clear.")), AT + 62)]
    _, clear = merged(log, lines)
    assert said(clear) == "Clear.", "what follows is not tangled"
    assert {error["type"] for error in merged.errors} == {"ambiguous_chunks"}
    kept = [chunk["chunk_data"] for error in merged.errors for chunk in error["original_chunk"]]
    assert sorted(kept) == sorted(turns)


def test_events_that_name_their_message_are_told_apart(merged):
    one, other = texts(*_chat("a", "o", "n", "e")), texts(*_chat("b", "t", "w", "o"))
    turns = [part for both in zip(one, other, strict=True) for part in both]
    log = [entry(body={"id": name, "choices": []}) for name in "ba"]
    second, first = merged(log, [*chunks(None, turns, step=0.01)])
    for made, text in ((first, "one"), (second, "two")):
        pieces = [chunk["data"]["choices"][0]["delta"] for chunk in made["response"]["streaming_details"]["chunks"]]
        assert "".join(piece.get("content", "") for piece in pieces) == text


def test_an_empty_id_names_no_message(merged):
    announced = {"id": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    filtered = {"id": "", "object": "", "choices": [{"index": 0, "finish_reason": None}]}
    first, second, *rest = _chat("a", "o", "n", "e")
    events = [announced, first, second, filtered, *rest]
    [made] = merged([entry()], chunks(None, texts(*events)))
    assert [chunk["data"] for chunk in made["response"]["streaming_details"]["chunks"]][: len(events)] == events
    assert not merged.errors


def test_more_than_one_candidate_is_ambiguous(merged):
    log = [entry(), entry(AT + 1)]
    assert merged(log, chunks(None, texts(*STREAM))) == log
    [error] = merged.errors
    assert error["type"] == "ambiguous_chunks"
    assert "entries 1 and 2" in error["error_details"]
    merged([entry(request_id="r"), entry(request_id="r")], chunks("r", texts(*STREAM)))
    assert [error["type"] for error in merged.errors] == ["ambiguous_chunks"]
    two = [*chunks(None, texts(*STREAM)), *chunks(None, texts(*message("msg_2", "Not yet.")), AT + 3)]
    merged([entry()], two)
    assert [error["type"] for error in merged.errors] == ["ambiguous_chunks"] * 2


def test_a_message_id_tells_more_than_the_time(merged):
    log = [entry(body_raw=sse(*STREAM).decode()), entry(AT + 0.5, body_raw=sse(*message("msg_2", "No.")).decode())]
    first, second = merged(log, chunks(None, texts(*STREAM)))
    assert first["response"]["streaming_details"]["matched_by"] == "message_id"
    assert second["response"]["streaming_details"]["reconstructed_from_chunks"] is False
    assert not merged.errors


def test_two_streams_for_one_entry_are_told_apart_by_the_message(merged):
    log = entry(request_id="r", headers={"request-id": "api"}, body_raw=sse(*STREAM).decode())
    lines = [*chunks("r", texts(*STREAM)), *chunks("api", texts(*message("msg_2", "No.")))]
    [made] = merged([log], lines)
    assert said(made) == "The gate is open — “now”."
    [error] = merged.errors
    assert (error["type"], error["request_id"]) == ("ambiguous_chunks", "api")


@pytest.mark.parametrize("stray_id", ["stray", None])
@pytest.mark.parametrize("has_body", [True, False])
def test_a_stray_chunk_with_the_same_message_id_does_not_undo_a_match_by_request_id(merged, stray_id, has_body):
    body = {"body_raw": sse(*STREAM).decode()} if has_body else {}
    stray = chunks(stray_id, texts(STREAM[0]), AT + 260)
    [made] = merged([entry(request_id="r", **body)], [*chunks("r", texts(*STREAM)), *stray])
    assert said(made) == "The gate is open — “now”."
    assert made["response"]["streaming_details"]["reconstructed_from_chunks"] is True
    assert "issues" not in made["response"]["streaming_details"]
    [error] = merged.errors
    assert (error["type"], error["request_id"], error["original_chunk"]) == ("orphaned_chunks", stray_id, stray)
    assert merged.done.merged == 1
    assert not merged.done.is_clean


def test_an_entry_matched_by_message_id_is_closed_to_a_match_by_time(merged):
    log = entry(body_raw=sse(*STREAM).decode())
    near = chunks(None, texts(*STREAM[1:]), AT + 2.5)
    [made] = merged([log], [*near, *chunks("q", texts(*STREAM), AT + 100)])
    assert made["response"]["streaming_details"]["matched_by"] == "message_id"
    [error] = merged.errors
    assert (error["type"], error["original_chunk"]) == ("orphaned_chunks", near)


def test_an_entry_that_several_request_ids_claim_is_closed_to_weaker_matches(merged):
    log = entry(request_id="r", headers={"request-id": "api"})
    rivals = [*chunks("r", texts(*STREAM)), *chunks("api", texts(*message("msg_2", "No.")))]
    assert merged([log], [*rivals, *chunks(None, texts(*message("msg_3", "Near.")))]) == [log]
    assert sorted(error["type"] for error in merged.errors) == ["ambiguous_chunks"] * 2 + ["orphaned_chunks"]


def test_a_message_id_matches_only_entries_that_no_request_id_matched(merged):
    log = [entry(request_id="r", body_raw=sse(*STREAM).decode()), entry(AT + 50, body_raw=sse(*STREAM).decode())]
    first, second = merged(log, [*chunks("r", texts(*STREAM)), *chunks("q", texts(*STREAM), AT + 52)])
    assert "matched_by" not in first["response"]["streaming_details"]
    assert second["response"]["streaming_details"]["matched_by"] == "message_id"
    assert not merged.errors


# -- secrets --------------------------------------------------------------------------------------------------------

SECRET = "hush-hush-0451"  # noqa: S105 - made up
HIDING_PLACES = [
    lambda log, _: log["request"]["headers"].update({"Authorization": f"Bearer {SECRET}"}),
    lambda log, _: log["request"]["headers"].update({"X-Api-Key": SECRET}),
    lambda log, _: log["request"]["headers"].update({"cookie": f"a={SECRET}"}),
    lambda log, _: log["response"]["headers"].update({"Set-Cookie": [f"a={SECRET}", f"b={SECRET}"]}),
    lambda log, _: log["response"]["headers"].update({"Location": f"https://example.com/back?code={SECRET}"}),
    lambda log, _: log["response"]["headers"].update({"location": f"/back?state={SECRET}#at={SECRET}"}),
    lambda log, _: log["response"]["headers"].update({"Link": f'<https://e.com/?k={SECRET}>; rel="next"'}),
    lambda log, _: log["request"].update({"headers": [["Proxy-Authorization", SECRET]]}),
    lambda log, _: log["request"].update({"headers": [{"name": "x-amz-security-token", "value": SECRET}]}),
    lambda log, _: log["request"].update({"headers": f"Authorization: {SECRET}"}),
    lambda log, _: log["request"].update({"url": f"https://u:{SECRET}@example.com/v1?key={SECRET}&beta=true"}),
    lambda log, _: log["request"].update({"url": f"https://example.com/v1?beta=true&q={SECRET}#{SECRET}"}),
    lambda log, _: log["request"].update({"cookies": {"a": SECRET}}),
    lambda log, _: log["request"].update({"queryString": [{"name": "k", "value": SECRET}]}),
    lambda log, _: log["request"].update({"params": {"sig": SECRET}}),
    lambda log, _: log.update({"responseHeaders": {"set-cookie": SECRET}}),
    lambda log, _: log["request"]["body"].update({"mcp_servers": [{"authorization_token": SECRET}]}),
    lambda log, _: log["request"]["body"].update({"tools": [{"type": "mcp", "headers": {"Authorization": SECRET}}]}),
    lambda log, _: log["request"]["body"].update(
        {"tools": [{"type": "mcp", "server_url": f"https://e.com/?k={SECRET}"}]}
    ),
    lambda _, line: line.update({"headers": {"cookie": SECRET}}),
    lambda _, line: line.update({"url": f"https://example.com/?key={SECRET}"}),
]


@pytest.mark.parametrize("hide", HIDING_PLACES)
@pytest.mark.parametrize("name", ["r", "nobody"])
def test_a_secret_in_a_header_a_cookie_or_an_address_is_in_no_output(merged, hide, name):
    log, lines = entry(request_id="r", body_raw=sse(*STREAM).decode()), chunks(name, texts(*STREAM))
    hide(log, lines[2])
    assert SECRET in json.dumps([log, lines])
    merged([log], lines)
    assert SECRET.encode() not in merged.raw
    assert b"The gate" in merged.raw


@pytest.mark.parametrize(
    "torn",
    [
        '"headers":{"authorization":"%s"},"chunk_data":"kept',
        '"chunk_data":"kept","url":"https://e.com/?k=%s","x-api-key":"%s',
        '"chunk_data":"kept","headers":{"set-cookie":["a=%s","b=%s"]},"x',
        '"chunk_data":"kept","headers":[["cookie","%s"],["accept","*/*"]],"x',
        '"chunk_data":"kept","headers":[{"name":"cookie","value":"%s"}],"x',
        '"chunk_data":"kept\\n\\n","location":"/back?code=%s","x',
    ],
)
def test_a_secret_in_a_line_that_cannot_be_read_is_in_no_output(merged, torn):
    torn = torn.replace("%s", SECRET)
    for line in ('{"request_id":"r",' + torn, '{"request_id":"r","chunk_data":"to' + torn):
        merged([entry(request_id="r")], [line, *chunks("r", texts(*STREAM))])
        assert SECRET.encode() not in merged.raw
        assert "kept" in merged.errors[0]["original_chunk"]["raw"]


def test_what_was_said_is_no_secret(merged):
    log = entry(body_raw=sse(*message("msg_1", "curl -H 'Authorization: Bearer abc'")).decode())
    log["request"]["body"] |= {
        "messages": [{"role": "user", "content": [{"type": "image", "source": {"url": "https://e.com/a.png?sig=1"}}]}],
        "tools": [{"input_schema": {"properties": {"headers": {"type": "object", "description": "token counts"}}}}],
    }
    [made] = merged([deepcopy(log)])
    assert made["request"] == log["request"]
    assert made["response"]["body_raw"] == log["response"]["body_raw"]


# -- what holds for all ---------------------------------------------------------------------------------------------


def timeless(made):
    made = deepcopy(made)
    for line in made:
        details = (line.get("response") or {}).get("streaming_details") or {}
        for name in ("first_chunk_timestamp", "last_chunk_timestamp", "total_duration_ms", "network_chunks"):
            details.pop(name, None)
        for chunk in details.get("chunks", ()):
            del chunk["timestamp"], chunk["chunk_timing_ms"]
    return made


@pytest.mark.parametrize("stated", ["r", None])
def test_a_stream_split_at_every_character_is_the_same(merged, stated):
    body = sse(STREAM[0], PING, *STREAM[1:]).decode()
    log = [entry(request_id="r")]
    whole = timeless(merged(log, chunks(stated, [body])))
    for at in range(len(body)):
        made = merged(log, chunks(stated, [body[:at], body[at:]], step=0.001))
        assert timeless(made) == whole, at
        assert not merged.errors
    assert timeless(merged(log, chunks(stated, list(body), step=0.0001))) == whole


def test_the_lines_of_several_streams_may_lie_in_any_order(merged):
    names = ["r", "s", "t", "nobody"]
    log = [entry(request_id=name) for name in names[:3]]
    streams = [chunks(name, texts(*message(f"msg_{name}", name, "!")), AT + 2 + at) for at, name in enumerate(names)]
    merged(log, [line for stream in streams for line in stream])
    whole = merged.raw
    rng = random.Random(4)
    for _ in range(20):
        waiting = [list(stream) for stream in streams]
        lines = []
        while any(waiting):
            lines.append(rng.choice([stream for stream in waiting if stream]).pop(0))
        merged(log, lines)
        assert merged.raw == whole


def test_groups_that_outgrow_memory_give_the_same(merged, monkeypatch):
    names = [f"r{number}" for number in range(40)]
    log = [entry(request_id=name) for name in names]
    streams = [chunks(name, texts(*message(f"msg_{name}", name, "!"))) for name in [*names, "nobody"]]
    lines = [line for some in zip(*streams, strict=True) for line in some]
    merged(log, lines)
    whole = merged.raw
    monkeypatch.setattr(palaver.workflows.merge_streams, "LIMIT_BYTES", 4_000)
    monkeypatch.setattr(palaver.workflows.merge_streams, "GroupSpill", lambda _: GroupSpill(2_000))
    merged(log, lines)
    assert merged.raw == whole


def test_a_long_log_takes_no_more_memory_than_a_short_one(merged, monkeypatch):
    monkeypatch.setattr(palaver.workflows.merge_streams, "LIMIT_BYTES", 100_000)
    monkeypatch.setattr(palaver.workflows.merge_streams, "GroupSpill", lambda _: GroupSpill(50_000))

    def peak(count):
        names = [f"r{number}" for number in range(count)]
        log, beside = merged.write(
            [entry(request_id=name) for name in names],
            [line for name in names for line in chunks(name, texts(*message(name, *["a piece of text"] * 50)))],
        )
        tracemalloc.start()
        assert palaver.workflows.merge_streams.merge(Source.at(log), [Source.at(beside)], len).merged == count
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    peak(2)
    assert peak(400) < peak(100) + 500_000


def test_merging_again_changes_nothing(merged):
    merged([entry(request_id="r"), entry(body_raw=sse(*STREAM).decode())], chunks("r", texts(*STREAM)))
    once = merged.lines
    merged(deepcopy(once))
    assert merged.lines == once


def test_a_recorder_gives_what_a_merge_gives(merged):
    text = (sse(STREAM[0], PING, *STREAM[1:-2]) + b"no event\n\ndata: {torn\n\n").decode()
    lines = chunks("r", [text[at : at + 61] for at in range(0, len(text), 61)])
    recorder = StreamRecorder()
    for line in lines:
        recorder.feed(line["chunk_data"].encode(), line["timestamp"])
    recorded = recorder.finish().to_json()
    assert recorded["body_raw"] == text
    [made] = merged([entry(request_id="r", body_raw=text)], lines)
    assert recorded["streaming_details"].pop("reconstructed_from_chunks") is False
    assert made["response"]["streaming_details"].pop("reconstructed_from_chunks") is True
    assert made["response"]["streaming_details"] == recorded["streaming_details"]
    assert recorded["payload"]["content"][0]["text"] == "The gate is open — “now”."


def all_texts(value):
    if isinstance(value, dict):
        return [text for one in value.values() for text in all_texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in all_texts(one)]
    return [value] if isinstance(value, str) else []


ODD = st.sampled_from([None, 0, -1.5, True, "", "x", [], {}, [[]], {"a": None}, 1 << 70, "\ufffd", "9" * 30])
PATHS = st.sampled_from(
    [
        *[("request",), ("response",), ("request", "headers"), ("request", "url"), ("response", "headers")],
        *[("response", "timestamp"), ("response", "body"), ("response", "body_raw"), ("request_id",)],
        *[("response", "streaming_details"), ("request", "body"), ("request", "request_id")],
    ]
)
FIELDS = st.sampled_from(["timestamp", "request_id", "chunk_data", "event_type", "logged_at", "headers"])
MARK = "mark-of-the-chunk"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(PATHS, ODD), max_size=3),
    st.lists(st.tuples(st.integers(0, 20), FIELDS, ODD), max_size=4),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 400)), max_size=2),
)
def test_whatever_the_lines_hold_nothing_raises_and_no_chunk_is_lost(merged, of_log, of_chunks, cuts):
    log = [entry(request_id="r"), entry(AT + 30, headers={"request-id": "s"}, body_raw=sse(*STREAM).decode()), entry()]
    for path, odd in of_log:
        place = log[0]
        for name in path[:-1]:
            place = place[name] if isinstance(place.get(name), dict) else {}
        place[path[-1]] = odd
    lines = [
        *chunks("r", texts(*message("msg_r", "a", f"{MARK}-r"))),
        *chunks("s", texts(*message("msg_s", f"{MARK}-s", "b")), AT + 32),
        *chunks(None, texts(*message("msg_n", f"{MARK}-n")), AT + 90),
    ]
    for at, name, odd in of_chunks:
        line = lines[at % len(lines)]
        if name != "chunk_data" or MARK not in str(line["chunk_data"]):
            line[name] = odd
    raw = [json.dumps(line) for line in lines]
    for at, cut in cuts:
        raw[at % len(raw)] = raw[at % len(raw)][:cut] or "{"
    merged(log, raw)
    out = "\n".join(all_texts(merged.lines))
    for mark in ("r", "s", "n"):
        if any(f"{MARK}-{mark}" in line for line in raw):
            assert f"{MARK}-{mark}" in out
    assert merged.done.log.ledger.adds_up
    assert merged.done.chunks[0].ledger.adds_up


# -- files ----------------------------------------------------------------------------------------------------------


def test_the_fixtures_come_out_as_they_should(tmp_path):
    merged = Merging(tmp_path)
    for name, clean in (("tide", True), ("knots", False)):
        log, lines = (
            [line + b"\n" for line in (TRACES / f"{name}{suffix}").read_bytes().splitlines()]
            for suffix in (".jsonl", ".stream.jsonl")
        )
        merged(log, lines)
        assert merged.done.is_clean == clean
        assert b"made-up" in b"".join(log + lines)
        assert b"made-up" not in merged.raw
    assert dict(merged.done.errors) == {
        "stream_reconstruction_error": 2,
        "orphaned_chunks": 2,
        "ambiguous_chunks": 1,
    }


def test_chunks_beside_a_log_are_found_by_their_name(tmp_path):
    for name in ("log.jsonl", "log.jsonl.gz"):
        assert not chunks_beside(Source.at(tmp_path / name))
    (tmp_path / "log.stream.jsonl").touch()
    for name in ("log.jsonl", "log.jsonl.gz", "log.json"):
        [found] = chunks_beside(Source.at(tmp_path / name))
        assert Path(found.label) == tmp_path / "log.stream.jsonl"


SAMPLE = SAMPLES / "claude_trace" / "synthetic-stream-merge"


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="there are no samples")
def test_the_sample_is_merged_as_its_facts_say():
    facts = json.loads((SAMPLE / "facts.json").read_bytes())
    [path] = SAMPLE.glob("log-*[0-9].jsonl")
    out = []
    done = palaver.workflows.merge_streams.merge(Source.at(path), chunks_beside(Source.at(path)), out.append)
    lines = [json.loads(line) for line in out]
    entries, errors = (
        [line for line in lines if "request" in line],
        [line["error"] for line in lines if "error" in line],
    )
    assert len(entries) == done.entries == 15
    for letter, number in zip("abcdefgh", range(8), strict=True):
        fact, made = facts[letter], entries[number]
        assert fact["request_id"] in json.dumps(made)
        if fact.get("streaming") is False:
            assert "streaming_details" not in made["response"]
            continue
        details = made["response"]["streaming_details"]
        assert said(made) == fact["text"]
        flags = {issue["type"] for issue in details.get("issues", ())}
        assert flags >= set(fact.get("flags", ()))
        assert fact.get("complete") is None or not flags
        assert details["chunk_count"] == fact.get("chunks_without_ping", details["chunk_count"])
    assert {issue["type"] for issue in entries[7]["response"]["streaming_details"]["issues"]} == {"timing_anomaly"}
    pieces = (chunk["data"].get("delta", {}) for chunk in entries[1]["response"]["streaming_details"]["chunks"])
    assert json.loads("".join(piece.get("partial_json", "") for piece in pieces)) == facts["b"]["tool_input"]
    for name in ("legacy_clear", "legacy_by_message_id"):
        assert said(entries[facts[name]["main_index"]]) == facts[name]["text"]
    for number in facts["legacy_ambiguous"]["main_indexes"]:
        assert "streaming_details" not in entries[number]["response"]
    kept = {error["type"]: "" for error in errors}
    for error in errors:
        kept[error["type"]] += json.dumps(error, ensure_ascii=False)
    assert facts["orphan"]["request_id"] in kept["orphaned_chunks"]
    for name, kind in (("orphan", "orphaned_chunks"), ("legacy_orphan", "orphaned_chunks")):
        assert facts[name]["text"] in kept[kind]
    assert facts["legacy_ambiguous"]["text"] in kept["ambiguous_chunks"]
    assert said(entries[13]) == facts["ready"]["text"]
    original = path.read_text("utf-8").splitlines()
    assert [entries[number] for number in (6, 13, 14)] == [json.loads(original[number]) for number in (6, 13, 14)]


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="there are no samples")
def test_a_real_log_is_rebuilt_from_its_bodies():
    [path] = (SAMPLE.parent / "scrubbed-session").glob("*.jsonl")
    out = []
    done = palaver.workflows.merge_streams.merge(Source.at(path), chunks_beside(Source.at(path)), out.append)
    assert (done.entries, done.rebuilt, done.merged) == (14, 8, 0)
    assert done.is_clean
    assert not done.issues
