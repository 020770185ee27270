"""Which files are logs of API calls, and which only look like them."""

import json

import pytest

from api_trace.tracing import asked, events, lines, message, pair, sse, trace
from importing import CHECKOUT, FIXTURES
from palaver.importers import importer, match_importers, platforms
from palaver.sources.discovery import discover
from palaver.sources.source import Source

FIXTURE_FOLDERS = [folder for folder in (FIXTURES / name for name in platforms()) if folder.is_dir()]


def verdict(folder, raw, name="log.jsonl"):
    path = folder / name
    path.write_bytes(raw)
    return importer("api_trace").recognizes(Source.at(path))


@pytest.mark.parametrize(
    "record",
    [
        trace(response=message()),
        trace({"model": "m", "contents": []}, {}),
        trace({"model": "m", "input": "Hi"}, None),
        {"request": asked(), "response": None},
        pair(),
        pair(response={"body": message()}),
        {"type": "request", "id": "1", "method": "POST", "url": "https://h/v1/messages", "headers": {}, "body": {}},
        {"type": "response_chunk", "request_id": "1", "status_code": 200, "chunk_index": 0, "content": {}},
        {"_meta_type": "session_start", "session_id": "s", "timestamp": "2026-01-05T10:00:00"},
        {"timestamp": 1.5, "request_id": "r", "chunk_data": "event: ping", "event_type": "ping", "logged_at": ""},
        {"request_id": "1", "method": "POST", "url": "u", "request_body": {}, "response_status": 200},
    ],
)
def test_records_that_are_known(tmp_path, record):
    assert verdict(tmp_path, lines(record)).verdict == "yes"
    assert verdict(tmp_path, b"{torn\n" + lines(record, record)).verdict == "yes"
    assert verdict(tmp_path, json.dumps([record], indent=2).encode(), "log.json").form == "array"
    others = {
        name: match
        for name, match in match_importers(Source.at(tmp_path / "log.json")).items()
        if match.verdict != "no"
    }
    assert set(others) == {"api_trace"}


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [], "tools": [], "requests": []},
        {"schema_version": "1.0.0", "exchange_id": "e", "request": asked(), "response": None},
        {"schema_version": "1.0.0", "conversation_id": "c", "messages": []},
        {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}, "request": "x"},
        {"sessionId": "s", "title": "t", "workspaceDirectory": "/", "history": [{"message": {"role": "user"}}]},
        {"request": {"url": "https://example.org", "method": "GET"}, "response": {"status": 200}},
        {"request": {"model": "m"}},
        {"type": "request", "body": "hello"},
        {"log": {"version": "1.2", "entries": []}},
        {"error": {"message": "no"}},
        [],
        ["request"],
        {},
    ],
)
def test_records_that_are_not_ours(tmp_path, value):
    assert verdict(tmp_path, lines(value)).verdict == "no"
    assert verdict(tmp_path, json.dumps(value, indent=1).encode(), "log.json").verdict == "no"


@pytest.mark.parametrize("folder", FIXTURE_FOLDERS, ids=lambda folder: folder.name)
def test_fixtures_of_other_platforms_are_left_alone(folder):
    ours = importer("api_trace")
    if folder.name != "api_trace":
        claimed = [path for path in folder.rglob("*") if path.is_file() and "source" in path.parts]
        assert not [path for path in claimed if ours.recognizes(Source.at(path)).verdict != "no"]


def test_traces_that_are_cooked_can_be_imported_as_well():
    traces = CHECKOUT / "fixtures" / "traces"
    assert importer("api_trace").recognizes(Source.at(traces / "bakery.jsonl")).verdict == "yes"


def test_a_first_line_longer_than_the_head_is_known(tmp_path):
    assert verdict(tmp_path, lines(pair(asked("long " * 30_000)))).verdict == "yes"
    assert verdict(tmp_path, lines(trace(asked("long " * 30_000)))).verdict == "yes"


def test_a_log_takes_its_chunks_and_its_page_along(tmp_path):
    page = b"<script>window.claudeData = JSON.parse(decodeURIComponent(escape(atob('e30='))));</script>"
    chunk = {"timestamp": 1.5, "request_id": "r", "chunk_data": sse(events("x")), "event_type": "", "logged_at": ""}
    match = verdict(tmp_path, page, "log-1.html")
    assert (match.verdict, match.form) == ("yes", "page")
    assert verdict(tmp_path, lines(chunk), "log-1.stream.jsonl").verdict == "yes"
    assert verdict(tmp_path, lines(pair()), "log-1.jsonl").members == ("log-1.stream.jsonl", "log-1.html")
    assert "log-1.jsonl" in verdict(tmp_path, page, "log-1.html").reason
    assert verdict(tmp_path, lines(chunk), "log-1.stream.jsonl").verdict == "no"
    units = [one for one in discover(tmp_path, _claim) if hasattr(one, "platform")]
    assert [unit.source.name for unit in units] == ["log-1.jsonl"]


def _claim(source):
    from palaver.sources.match import Claim

    match = importer("api_trace").recognizes(source)
    if match.verdict == "no":
        return match.reason
    return Claim("api_trace", match)


def test_a_page_beside_something_else_is_read(tmp_path):
    page = b"<script>window.claudeData = JSON.parse(atob('e30='));</script>"
    (tmp_path / "log-1.jsonl").write_bytes(b'{"something": "else"}\n')
    assert verdict(tmp_path, page, "log-1.html").verdict == "yes"


def test_a_page_of_somebody_else_is_not_ours(tmp_path):
    assert verdict(tmp_path, b"<html><title>claude-traffic</title></html>", "log.html").verdict == "no"


def test_a_har_file_of_other_traffic_says_so(tmp_path):
    entry = {"request": {"url": "https://example.org/", "method": "GET"}, "response": {}}
    raw = json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode()
    match = verdict(tmp_path, raw, "traffic.har")
    assert (match.verdict, "api_trace" in match.reason) == ("no", True)
