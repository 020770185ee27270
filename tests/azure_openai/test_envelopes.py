"""Envelopes: the same rows, however they were kept, tell of the same calls."""

import csv
import io
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azure_logs import ANSWER, QUESTION, URL, Log, answered, asked, gateway
from palaver.importers.azure_openai.avro import AvroRecords
from palaver.importers.azure_openai.envelopes import JoinedBatches
from palaver.sources.run import Run

ROWS = [gateway("c-1", asked(), answered()), gateway("c-2", asked(ANSWER, QUESTION), answered())]


def flat(record):
    return {"TimeGenerated": record["time"], "CorrelationId": record["correlationId"], "TotalTime": 900} | {
        name[0].upper() + name[1:]: value for name, value in record["properties"].items()
    }


def suffixed(record):
    row = {"TimeGenerated": record["time"], "CorrelationId": record["correlationId"], "Category": "GatewayLogs"}
    return {**row, "DurationMs": 900} | {
        f"{name}_{'d' if isinstance(value, int) else 's'}": value for name, value in record["properties"].items()
    }


def as_csv(rows, mark=b"\xef\xbb\xbf"):
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["TimeGenerated [UTC]", *list(rows[0])[1:]])
    writer.writerows([["2/3/2026, 10:00:00.000 AM", *list(row.values())[1:]] for row in rows])
    return mark + out.getvalue().encode()


def as_tables(rows):
    names = list(rows[0])
    columns = [{"name": name, "type": "string"} for name in names]
    return {
        "tables": [
            {"name": "PrimaryResult", "columns": columns, "rows": [[row[name] for name in names] for row in rows]}
        ]
    }


FLAT = [flat(record) for record in ROWS]
LINES = b"".join(json.dumps(record).encode() + b"\n" for record in ROWS)
BATCHES = [json.dumps({"records": [record]}) for record in ROWS]


def zigzag(number):
    number, written = number << 1, b""
    while True:
        written += bytes([number & 0x7F | (0x80 if number > 0x7F else 0)])
        number >>= 7
        if not number:
            return written


def sized(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return zigzag(len(raw)) + raw


def avro(bodies, codec="null", sync=b"0123456789abcdef"):
    fields = [{"name": "EnqueuedTimeUtc", "type": "string"}, {"name": "Body", "type": ["null", "bytes"]}]
    schema = json.dumps({"type": "record", "name": "EventData", "fields": fields})
    facts = zigzag(2) + sized("avro.schema") + sized(schema) + sized("avro.codec") + sized(codec) + zigzag(0)
    made = b"Obj\x01" + facts + sync
    for body in bodies:
        raw = sized("2/3/2026 10:00:00 AM") + zigzag(1) + sized(body)
        if codec == "deflate":
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            raw = packer.compress(raw) + packer.flush()
        made += zigzag(1) + sized(raw) + sync
    return made


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        LINES.rstrip(b"\n"),
        LINES.replace(b"\n", b"\r\n"),
        "".join(BATCHES),
        "\n".join(BATCHES),
        json.dumps({"records": ROWS}, indent=1),
        f"[{','.join(BATCHES)}]",
        json.dumps(ROWS, indent=2),
        "".join(json.dumps(batch) + "\n" for batch in BATCHES),
        as_tables(FLAT),
        json.dumps(as_tables(FLAT), indent=1),
        json.dumps([row | {"TableName": "PrimaryResult"} for row in FLAT]),
        FLAT,
        [suffixed(record) for record in ROWS],
        as_csv(FLAT),
        as_csv(FLAT, mark=b""),
        avro(BATCHES),
        avro(BATCHES, "deflate"),
        avro([json.dumps(record) for record in ROWS]),
    ],
    ids=[
        *("lines", "last line without its end", "carriage returns", "batches in a row", "batches in lines"),
        *("a pretty batch", "an array of batches", "an array of records", "batches as texts", "tables"),
        *("pretty tables", "rows of the command line", "an export of a table", "suffixes", "csv", "csv without a mark"),
        *("a capture", "a deflated capture", "records alone in a capture"),
    ],
)
def test_all_envelopes_tell_of_the_same_calls(tmp_path, content):
    log = Log(tmp_path / "log", content)
    assert {(call.call_id, call.caller, call.started_at, call.duration_ms) for call in log.calls} == {
        ("c-1", "miller", "2026-02-03T10:00:00.000Z", 900),
        ("c-2", "miller", "2026-02-03T10:00:00.000Z", 900),
    }
    assert {json.dumps(call.request) for call in log.calls} == {
        json.dumps(asked()),
        json.dumps(asked(ANSWER, QUESTION)),
    }
    assert all(call.response == answered() and call.answer["url"] == URL for call in log.calls)
    assert (log.run.ledger.read, log.run.ledger.mapped) == (2, 2)
    assert not log.quarantined


def test_a_damaged_block_of_a_capture_costs_only_itself(tmp_path):
    raw = avro([json.dumps(gateway(name, asked(), answered())) for name in ("c-1", "c-2", "c-3")])
    mark = b"0123456789abcdef"
    second = raw.index(mark, raw.index(b"c-1")) + len(mark)
    for damaged in (raw[:second] + raw[second + 9 :], raw[:second] + b"\xff" * 20 + raw[second + 20 :]):
        log = Log(tmp_path / "capture.avro", damaged)
        assert {call.call_id for call in log.calls} == {"c-1", "c-3"}
        (entry,) = log.quarantined
        assert b"c-2" in entry.raw


def test_another_codec_is_refused_in_a_sentence(tmp_path):
    log = Log(tmp_path / "capture.avro", avro(BATCHES, "snappy"))
    assert not log.calls
    (entry,) = log.quarantined
    assert "the codec is snappy; null and deflate are read" in entry.message


def test_avro_of_any_type_is_read():
    fields = [
        {"name": "a", "type": {"type": "array", "items": "int"}},
        {"name": "b", "type": {"type": "map", "values": ["null", "double", "boolean"]}},
        {"name": "c", "type": {"type": "enum", "name": "E", "symbols": ["x", "y"]}},
        {"name": "d", "type": {"type": "fixed", "name": "F", "size": 2}},
        {"name": "e", "type": ["null", "E"]},
        {"name": "f", "type": "float"},
    ]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    sync = b"s" * 16
    value = zigzag(2) + zigzag(7) + zigzag(300) + zigzag(0)
    value += zigzag(1) + sized("k") + zigzag(1) + b"\0\0\0\0\0\0\xf8?" + zigzag(0)
    value += zigzag(1) + b"ok" + zigzag(1) + zigzag(0) + b"\0\0\x80?"
    raw = b"Obj\x01" + zigzag(1) + sized("avro.schema") + sized(schema) + zigzag(0) + sync
    raw += zigzag(1) + sized(value) + sync
    assert list(AvroRecords(io.BytesIO(raw), Run(""))) == [
        {"a": [7, 300], "b": {"k": 1.5}, "c": "y", "d": b"ok", "e": "x", "f": 1.0}
    ]


def test_an_event_that_was_cut_is_read_as_far_as_it_goes(tmp_path):
    whole = json.dumps({"EventTime": "2026-02-03T10:00:00Z", "RequestId": "c-9", "requestBody": asked()})
    for content in (f"{whole[:120]}\n{json.dumps(ROWS[0])}\n", avro([whole[:120], json.dumps(ROWS[0])])):
        log = Log(tmp_path / "events", content)
        cut = next(call for call in log.calls if call.call_id == "c-9")
        assert cut.is_request_cut
        assert QUESTION["content"].startswith(cut.request["messages"][0]["content"])
        assert len(log.calls) == 2


def test_a_result_that_is_not_all_is_told_in_the_querys_own_words(tmp_path):
    log = Log(tmp_path / "result.json", {**as_tables(FLAT), "error": {"code": "PartialError", "message": "Too slow."}})
    assert [(one.code, one.message) for one in log.run.findings.first] == [("partial-result", "Too slow.")]
    assert len(log.calls) == 2


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.sampled_from(["", "\n", " \r\n"]),
    st.sampled_from([None, 1]),
)
def test_any_number_of_batches_of_any_size_is_read(tmp_path_factory, sizes, between, indent):
    rows = [
        [gateway(f"c-{batch}-{row}", asked(), answered()) for row in range(size)] for batch, size in enumerate(sizes)
    ]
    content = between.join(json.dumps({"records": batch}, indent=indent) for batch in rows)
    log = Log(tmp_path_factory.mktemp("hub") / "batches.json", content)
    assert len(log.calls) == log.run.ledger.read == sum(sizes)
    assert not log.codes


@given(st.binary(max_size=40), st.integers(1, 30))
def test_what_stands_between_batches_is_found_wherever_a_chunk_ends(text, size):
    quoted = json.dumps({"records": [text.hex(), ']}{"records":[']}).encode()
    joined = JoinedBatches(io.BytesIO(quoted + quoted))
    pieces = list(iter(lambda: joined.read(size), b""))
    assert json.loads(b"".join(pieces))["records"] == [text.hex(), ']}{"records":['] * 2
    assert len(b"".join(pieces)) == 2 * len(quoted)
