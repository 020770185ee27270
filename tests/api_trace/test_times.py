"""How long a call took: to the last chunk of a stream, where the log says when that came."""

import pytest

from api_trace.tracing import asked, call, calls, events, imported, lines, pair, sse, trace
from palaver.importers import importer
from palaver.sources.run import Run
from palaver.sources.source import Source

ASKED_AT, HEADERS_AT = 1767607200.25, 1767607200.5
STREAM_TIMES = ("time_to_first_chunk_ms", "stream_ms")


def streamed(details, **more):
    record = pair(response={"body_raw": sse(events("It ", "is.")), "streaming_details": details, **more})
    record["response"]["timestamp"] = HEADERS_AT
    return record


def stated(first, last, **more):
    return {"first_chunk_timestamp": first, "last_chunk_timestamp": last, "reconstructed_from_chunks": False, **more}


def times(made):
    return (made.duration_ms, *(made.answer.get(name) for name in STREAM_TIMES))


WHOLE = stated(ASKED_AT + 1, ASKED_AT + 3.5)


def test_the_duration_of_a_streamed_call_ends_with_its_last_chunk(tmp_path):
    made = call(tmp_path, streamed(WHOLE))
    assert times(made) == (3500, 1000, 2500)
    assert made.ended_at == "2026-01-05T10:00:03.750Z"


def test_the_times_of_a_stream_are_in_the_metadata_and_in_the_exchange(tmp_path):
    (document,) = imported(tmp_path, {"log.jsonl": lines(streamed(WHOLE))}).documents
    answer = document["messages"][-1]
    assert {name: answer["metadata"][name] for name in ("duration_ms", *STREAM_TIMES)} == {
        "duration_ms": 3500,
        "time_to_first_chunk_ms": 1000,
        "stream_ms": 2500,
    }
    assert answer["timestamp"] == "2026-01-05T10:00:03.750Z"
    (made,) = importer("api_trace").calls(Source.at(tmp_path / "log.jsonl"), Run("log.jsonl"))
    assert made.exchange()["duration_ms"] == 3500


@pytest.mark.parametrize("where", ["streaming_details", "events"])
def test_without_a_sum_the_times_of_the_chunks_count(tmp_path, where):
    chunks = [
        {"event": one["type"], "event_type": one["type"], "data": one, "timestamp": ASKED_AT + 1 + at / 2}
        for at, one in enumerate(events("It is."))
    ]
    record = pair(response={where: {"chunks": chunks} if where == "streaming_details" else chunks})
    assert times(call(tmp_path, record)) == (4000, 1000, 3000)


def test_chunks_in_a_file_beside_the_log_have_times(tmp_path):
    body = sse(events("It ", "is."))
    chunks = [
        {"timestamp": ASKED_AT + at, "request_id": "r", "chunk_data": body[start:end]}
        for at, start, end in ((2, 0, 100), (3, 100, 300), (4, 300, None))
    ]
    (tmp_path / "log.stream.jsonl").write_bytes(lines(*chunks))
    (made,), _ = calls(tmp_path, pair(request_id="r"))
    assert times(made) == (4000, 2000, 2000)


@pytest.mark.parametrize("stated", [{"request_id": "r"}, {"requestId": "r"}, {}])
def test_chunks_beside_a_log_that_holds_the_answer_have_its_times(tmp_path, stated):
    body = sse(events("It ", "is."))
    chunks = [
        {"timestamp": ASKED_AT + at, "chunk_data": body[start:end], **stated}
        for at, start, end in ((3, 300, None), (1, 0, 300))
    ]
    (tmp_path / "log.stream.jsonl").write_bytes(lines(*(chunks if stated else reversed(chunks))))
    record = pair(request_id="r", response={"body_raw": body})
    record["response"]["timestamp"] = HEADERS_AT
    (made,), run = calls(tmp_path, record)
    assert times(made) == (3000, 1000, 2000)
    assert run.ledger.folded == {"the answer in the log": 2}
    (made,), _ = calls(tmp_path, {**streamed(WHOLE, body_raw=body), "request_id": "r"})
    assert times(made) == (3500, 1000, 2500), "what the entry itself states counts"


def test_a_stray_chunk_with_the_same_message_id_is_apart_wherever_it_stands(tmp_path):
    said = events("It ", "is.")
    own = [{"timestamp": ASKED_AT + 1, "request_id": "r", "chunk_data": sse(said)}]
    stray = [{"timestamp": ASKED_AT + 99, "request_id": "s", "chunk_data": sse(said[:1])}]
    for chunks in ([*own, *stray], [*stray, *own]):
        (tmp_path / "log.stream.jsonl").write_bytes(lines(*chunks))
        found, run = calls(tmp_path, pair(request_id="r", response={"body_raw": sse(said)}))
        assert len(found) == 2
        assert run.ledger.folded == {"the answer in the log": 1}


def test_events_of_llm_interceptor_have_times(tmp_path):
    at = "2026-01-05T10:00:0{}+00:00"
    request = {"type": "request", "id": "q", "timestamp": at.format("0.000000"), "url": "u", "body": asked()}
    chunks = [
        {"type": "response_chunk", "request_id": "q", "chunk_index": number, "content": one}
        | {"timestamp": at.format(f"{number}.500000")}
        for number, one in enumerate(events("It is."))
    ]
    (made,), _ = calls(tmp_path, request, *chunks)
    assert times(made) == (6500, 500, 6000)
    (made,), _ = calls(tmp_path, request, *chunks, {"type": "response_meta", "request_id": "q", "total_latency_ms": 9})
    assert times(made) == (9, 500, 6000), "what the recorder measured counts"


def test_details_that_were_made_from_a_body_state_no_times(tmp_path):
    record = streamed(stated(HEADERS_AT, HEADERS_AT, chunks=[]))
    assert times(call(tmp_path, record)) == (250, None, None)


@pytest.mark.parametrize(
    "details",
    [stated(ASKED_AT - 9, ASKED_AT - 5), stated(ASKED_AT + 3, ASKED_AT + 1), stated(None, ASKED_AT - 5)],
)
def test_a_stream_that_ends_before_it_begins_is_noted_and_the_response_counts(tmp_path, details):
    (made,), run = calls(tmp_path, streamed(details))
    assert times(made) == (250, None, None)
    assert dict(run.findings.counts) == {"odd-stream-times": 1}


def test_a_first_chunk_before_the_request_has_no_time_to_it(tmp_path):
    assert times(call(tmp_path, streamed(stated(ASKED_AT - 1, ASKED_AT + 2)))) == (2000, None, 3000)


@pytest.mark.parametrize("details", [stated("soon", "later"), stated(None, None), {"chunks": [7, {}]}, "odd", []])
def test_times_that_cannot_be_read_leave_the_response_to_count(tmp_path, details):
    (made,), _ = calls(tmp_path, streamed(details))
    assert times(made) == (250, None, None)


def test_a_duration_that_the_log_states_counts(tmp_path):
    made = call(tmp_path, trace(response={"stream": True, "sse_lines": sse(events("It is.")).splitlines()}))
    assert made.duration_ms == 1500


def test_only_the_first_of_several_messages_has_the_times_of_the_stream(tmp_path):
    both = sse([*events("One.", message_id="msg_a"), *events("Two.", message_id="msg_b")])
    (only,), _ = calls(tmp_path, streamed(WHOLE, body_raw=both))
    (later,) = only.following
    assert times(only) == (3500, 1000, 2500)
    assert times(later) == (None, None, None)
    assert later.ended_at == only.ended_at
