"""A stream recorded while it runs: the same as if it had been read whole, whatever its size and its bytes."""

import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassettes import needs_samples
from merging import message
from palaver.storage.spill import ByteSpill, MemoryBudget
from palaver.streams import assemble
from palaver.streams.recorder import StreamRecorder
from streaming import all_streams, parsed, sse

RECORDED = list(all_streams())
STREAM = sse(*message("msg_1", "The gate ", "is open — “now”."))


def recorded(chunks, **settings):
    recorder = StreamRecorder(**settings)
    for number, chunk in enumerate(chunks):
        recorder.feed(chunk, 100 + number / 4)
    return recorder.finish()


@needs_samples
@pytest.mark.parametrize(("wire_format", "call"), RECORDED, ids=[f"{one} {call.name}" for one, call in RECORDED])
def test_a_recorded_stream_is_what_it_was(wire_format, call):
    for size in (1, 700, len(call.stream)):
        recording = recorded([call.stream[at : at + size] for at in range(0, len(call.stream), size)])
        assert recording.wire_format == wire_format
        assert not recording.issues
        assert b"".join(recording.body()) == call.stream
        assert recording.payload() == assemble(wire_format, call.stream).payload
        details = json.loads(b"".join(recording.details()))
        events = [event for event in parsed([call.stream]) if b'"ping"' not in event.data]
        assert details["chunk_count"] == len(details["chunks"]) == len(events)
        for chunk, event in zip(details["chunks"], events, strict=True):
            assert chunk["data"] == ("[DONE]" if event.data == b"[DONE]" else json.loads(event.data))


def test_a_stream_cut_at_every_byte_is_the_same():
    whole = recorded([STREAM]).to_json()
    times = ("timestamp", "chunk_timing_ms")
    plain = [{name: one for name, one in chunk.items() if name not in times} for chunk in chunks_of(whole)]
    for at in range(len(STREAM)):
        made = recorded([STREAM[:at], STREAM[at:]]).to_json()
        assert [{name: one for name, one in chunk.items() if name not in times} for chunk in chunks_of(made)] == plain
        assert (made["body_raw"], made["payload"]) == (whole["body_raw"], whole["payload"])
        assert "issues" not in made["streaming_details"]


def chunks_of(made):
    return made["streaming_details"]["chunks"]


def test_what_does_not_fit_into_memory_is_written_to_a_file():
    chunks = [STREAM[at : at + 50] for at in range(0, len(STREAM), 50)]
    held = recorded(chunks)
    spilled = recorded(chunks, held_bytes=300)
    assert (held.is_spilled, spilled.is_spilled) == (False, True)
    assert spilled.to_json() == held.to_json()
    assert spilled.size_bytes == len(STREAM)
    spilled.close()


def test_a_long_stream_takes_no_more_memory_than_a_short_one():
    def peak(count):
        body = sse(*message("msg_1", *["twenty characters at"] * count))
        chunks = [body[at : at + 1_000] for at in range(0, len(body), 1_000)]
        tracemalloc.start()
        with recorded(chunks, held_bytes=100_000) as recording:
            for _ in recording.response():
                pass
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    peak(10)
    assert peak(20_000) < peak(4_000) + 100_000


def test_an_aborted_stream_keeps_what_there_is():
    recorder = StreamRecorder()
    recorder.feed(STREAM[: STREAM.index(b"event: content_block_stop") + 9], 1.5)
    made = recorder.abort("the connection was reset").to_json()
    assert made["payload"]["content"][0]["text"] == "The gate is open — “now”."
    found = {issue["type"]: issue["detail"] for issue in made["streaming_details"]["issues"]}
    assert found["aborted"] == "the connection was reset"
    assert "incomplete_stream_end" in found


def test_a_stream_without_chunks():
    made = StreamRecorder().finish(7.5).to_json()
    details = made["streaming_details"]
    assert (made["body_raw"], made["payload"], details["chunk_count"]) == ("", {}, 0)
    assert details["first_chunk_timestamp"] == details["last_chunk_timestamp"] == 7.5
    assert details["total_duration_ms"] == 0
    assert [issue["type"] for issue in details["issues"]] == ["incomplete_stream_start", "incomplete_stream_end"]


def test_a_finished_recording_takes_nothing_more():
    recorder = StreamRecorder()
    recorder.finish()
    for again in (lambda: recorder.feed(b"", 1), recorder.finish, lambda: recorder.abort("reset")):
        with pytest.raises(ValueError, match="this recording is finished: create a StreamRecorder for each stream"):
            again()


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        ("data: x", "chunk must be bytes, not str: encode it first"),
        (None, "chunk must be bytes, not NoneType"),
        (7, "chunk must be bytes, not int"),
        ([b"data"], "chunk must be bytes, not list"),
    ],
)
def test_a_chunk_that_is_no_bytes_is_refused(chunk, message):
    recorder = StreamRecorder()
    with pytest.raises(TypeError, match=f"^{message}$"):
        recorder.feed(chunk, 1.0)
    assert recorder.finish().size_bytes == 0


def test_a_buffer_that_is_used_again_is_copied():
    buffer = bytearray(STREAM)
    recorder = StreamRecorder()
    recorder.feed(buffer, 1.0)
    recorder.feed(memoryview(b": end"), 1.0)
    buffer[:] = b"x" * len(STREAM)
    assert b"".join(recorder.finish().body()) == STREAM + b": end"


NO_TIMES = [
    (None, TypeError, "timestamp must be a number of seconds since 1970, not NoneType"),
    ("1.5", TypeError, "timestamp must be a number of seconds since 1970, not str"),
    (True, TypeError, "timestamp must be a number of seconds since 1970, not bool"),
    (-1.5, ValueError, "timestamp must be a number of seconds since 1970, not -1.5"),
    (math.nan, ValueError, "timestamp must be a number of seconds since 1970, not nan"),
    (-math.inf, ValueError, "timestamp must be a number of seconds since 1970, not -inf"),
    (
        *(1_767_607_200_250, ValueError),
        "timestamp must be a number of seconds since 1970, not 1767607200250: divide milliseconds by 1,000",
    ),
]


@pytest.mark.parametrize(("timestamp", "error", "message"), NO_TIMES)
def test_a_timestamp_that_is_no_time_in_seconds_is_refused(timestamp, error, message):
    recorder = StreamRecorder()
    ways = [lambda: recorder.feed(b"data", timestamp)]
    if timestamp is not None:
        ways += [lambda: recorder.finish(timestamp), lambda: recorder.abort("reset", timestamp)]
    for way in ways:
        with pytest.raises(error, match=f"^{message}$"):
            way()
    recorder.feed(STREAM, 1.0)
    assert not recorder.finish().issues, "a refused call changes nothing"


@pytest.mark.parametrize(
    ("held_bytes", "error", "message"),
    [
        ("8", TypeError, "held_bytes must be an int, not str"),
        (None, TypeError, "held_bytes must be an int, not NoneType"),
        (-1, ValueError, "held_bytes must not be negative: -1"),
    ],
)
def test_a_limit_that_is_none_is_refused(held_bytes, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        StreamRecorder(held_bytes=held_bytes)


def test_the_reason_of_an_abort_is_text():
    with pytest.raises(TypeError, match=r"^reason must be a str, not OSError$"):
        StreamRecorder().abort(OSError())


def test_a_live_recording_counts_its_reads_and_was_not_put_together_from_chunks():
    recorder = StreamRecorder()
    for at in range(0, len(STREAM), 100):
        recorder.feed(STREAM[at : at + 100], 1.0)
    recorder.feed(b"", 1.0)
    details = recorder.finish().to_json()["streaming_details"]
    assert details["chunk_count"] == len(parsed([STREAM]))
    assert details["network_chunks"] == -(-len(STREAM) // 100)
    assert details["reconstructed_from_chunks"] is False


PIECES = st.sampled_from(
    [
        *[b"data: ", b"event: ping", b"event: x", b"\n", b"\n\n", b"\r", b"{", b"[", b"\xc3", b"x", b"\xef\xbb\xbf"],
        *[b"data: [DONE]\n\n", b"id: 1\n", b"retry: 5\n", b": c\n", b'{"type": "message_start"}', STREAM[:200]],
        *[b"data: NaN\n\n", b'data: {"a": NaN, "b": "\x01"}\n\n', b'data: {"a": "\\ud800"}\n\n'],
        b"data: " + b"[" * 3_000 + b"\n\n",
    ]
)


@given(st.lists(PIECES | st.binary(max_size=8), max_size=20))
def test_no_bytes_raise_and_none_are_lost(chunks):
    body = b"".join(chunks)
    made = recorded(chunks).to_json()
    assert made["body_raw"] == body.decode("utf-8", "replace")
    assert made == recorded(chunks, held_bytes=10).to_json()


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(0, 200))
def test_a_journal_gives_back_what_was_written(pieces, held_bytes):
    budget = MemoryBudget(held_bytes)
    first, second = ByteSpill(budget), ByteSpill(budget)
    for at, piece in enumerate(pieces):
        (second if at % 3 else first).write(piece)
    assert b"".join(first.pieces()) == b"".join(pieces[::3])
    assert b"".join(second.pieces()) == b"".join(piece for at, piece in enumerate(pieces) if at % 3)
    assert first.size_bytes == len(b"".join(pieces[::3]))
    first.close()
    second.close()
