"""Calls that a log tells in pieces: chunks in any order, twice, without their request, more than memory holds."""

import json
import random

import pytest

from api_trace.tracing import asked, calls, events, lines, message, pair, sse, text_of
from importing import check, import_folder
from palaver.importers.api_trace.fragmented_calls import CallParts
from palaver.importers.api_trace.reader import calls_in
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.storage.spill import GroupSpill


def request(name, text="Is it raining?"):
    url = "https://api.anthropic.com/v1/messages"
    return {"type": "request", "id": name, "timestamp": "2026-01-05T10:00:00Z", "url": url, "body": asked(text)}


def chunks(name, *texts):
    return [
        {"type": "response_chunk", "request_id": name, "status_code": 200, "chunk_index": number, "content": event}
        for number, event in enumerate(events(*texts, message_id=f"msg_{name}"))
    ]


def meta(name):
    return {"type": "response_meta", "request_id": name, "total_latency_ms": 12.5, "status_code": 200}


def parts_of(count):
    return [
        record
        for number in range(count)
        for record in (request(f"r{number}"), *chunks(f"r{number}", "It is", f" {number}."), meta(f"r{number}"))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_records_does_not_matter(tmp_path, seed):
    records = parts_of(4)
    random.Random(seed).shuffle(records)
    made, run = calls(tmp_path, *records)
    assert sorted(map(text_of, made)) == [f"It is {number}." for number in range(4)]
    assert {one.duration_ms for one in made} == {12.5}
    assert (run.ledger.mapped, run.ledger.folded) == (4, {"call": len(records) - 4})


def test_more_than_memory_holds_gives_the_same():
    with GroupSpill(2_000) as small, GroupSpill() as large:
        told = []
        for spill in (small, large):
            parts = CallParts(spill)
            for number, record in enumerate(parts_of(30)):
                parts.add(record, f"line {number}", 200)
            told.append(sorted((seen.stated_id, seen.where, len(records)) for seen, records in parts.calls()))
        assert small.spilled_bytes
    assert told[0] == told[1]


def test_lines_that_stand_twice_count_once(tmp_path):
    records = [record for record in parts_of(1) for _ in range(2)]
    (made,), run = calls(tmp_path, *records)
    assert text_of(made) == "It is 0."
    assert run.ledger.read == run.ledger.mapped + run.ledger.folded["call"] == len(records)


def test_two_requests_of_one_id_are_two_calls(tmp_path):
    made, run = calls(tmp_path, request("r", "First?"), request("r", "Second?"), *chunks("r", "Yes."))
    assert [one.request["messages"][0]["content"] for one in made] == ["First?", "Second?"]
    assert [one.response is None for one in made] == [False, True]
    assert run.ledger.mapped == 2


def test_a_part_that_says_nothing_is_set_aside(tmp_path):
    made, run = calls(tmp_path, meta("r"))
    assert not made
    assert run.ledger.quarantined == {"bad-record": 1}


def test_chunks_of_one_answer_may_lie_in_a_file_of_their_own(tmp_path):
    text = sse(events("It is, ", "and it pours."))
    reads = [text[:101], text[101:333], text[333:]]
    chunk = {"request_id": "r", "event_type": "", "logged_at": ""}
    (tmp_path / "log-1.jsonl").write_bytes(lines(pair(response={}, request_id="r"), pair(response={"body": message()})))
    (tmp_path / "log-1.stream.jsonl").write_bytes(
        lines(*({**chunk, "timestamp": 9 - number, "chunk_data": read} for number, read in enumerate(reversed(reads))))
    )
    made = import_folder(tmp_path)
    check(made)
    texts = {block["text"] for one in made.documents for said in one["messages"] for block in said["content"]}
    assert "It is, and it pours." in texts
    (ledger,) = (report.ledger for report in made.reports)
    assert (ledger.read, ledger.mapped, ledger.folded) == (5, 2, {"call": 3})


def test_chunks_alone_are_answers_without_a_request(tmp_path):
    chunk = {"request_id": "r", "timestamp": 1.5, "chunk_data": sse(events("It is.")), "event_type": ""}
    (made,), run = calls(tmp_path, chunk, name="log-1.stream.jsonl")
    assert text_of(made) == "It is."
    assert (made.call_id, made.is_request_cut) == ("r", True)
    assert run.findings.counts == {"missing-request": 1}


def test_chunks_that_say_nothing_are_set_aside_as_they_are(tmp_path):
    chunk = {"request_id": "r", "timestamp": 1.5, "chunk_data": "event: unheard of", "event_type": ""}
    kept = []
    (tmp_path / "log.stream.jsonl").write_bytes(lines(chunk))
    run = Run("log", quarantine=kept.append)
    assert not list(calls_in(Source.at(tmp_path / "log.stream.jsonl"), run))
    assert [json.loads(one.raw) for one in kept] == [{"chunk_data": "event: unheard of"}]


def test_a_chunk_line_that_repeats_the_one_before_it_is_kept_and_noted(tmp_path):
    body = sse(events("It ", "is."))
    start = body.index("event: content_block_delta")
    end = body.index("event: content_block_delta", start + 1)
    parts = [body[:start], body[start:end], body[start:end], body[end:]]
    chunks = [{"timestamp": 1767607202.5, "request_id": "r", "chunk_data": part} for part in parts]
    (tmp_path / "log.stream.jsonl").write_bytes(lines(*chunks))
    (made,), run = calls(tmp_path, pair(request_id="r"))
    assert text_of(made) == "It It is."
    (finding,) = run.findings.first
    assert (finding.code, finding.message) == (
        "damaged-stream",
        "repeated_chunk: lines that repeat the one before them: 1; all are kept",
    )
