"""Cook gives the same output for a file of records, whatever foreign lines stand before or between them."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cooking import cook_file
from importing import FIXTURES
from odd_records import ASKED, ODD_RECORDS, RICH_RECORDS

RECORDS = [
    *(FIXTURES / "traces" / "bakery.jsonl").read_text("utf-8").splitlines(),
    *map(json.dumps, (*ODD_RECORDS, *RICH_RECORDS)),
    '{"id": "nan", "request": {"messages": []}, "response": {"content": [{"x": NaN, "y": 123456789012345678901}]}}',
]

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
foreign_objects = st.dictionaries(
    st.sampled_from(["note", "level", "msg", "event", "count", "type", "messages", "timestamp"]),
    scalars | st.lists(scalars, max_size=2),
    max_size=3,
)
OTHER_KINDS = [
    {"schema_version": "1.0.0", "conversation_id": "c", "platform": {"name": "x"}, "messages": []},
    {"schema_version": "1.1.0", "exchange_id": "e", "request": {"model": "m", "messages": []}, "response": None},
    {"messages": [], "tools": [], "requests": []},
    {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "message": ASKED, "cwd": "/x"},
    {"type": "summary", "summary": "s", "leafUuid": "u"},
    {"type": "session_meta", "timestamp": "2026-01-01T00:00:00Z", "payload": {"id": "x", "originator": "codex_cli_rs"}},
    {"timestamp": "2026-01-01T00:00:00Z", "completion": "x", "filePath": "/a"},
    {"request": {"method": "GET", "url": "https://x.test/"}, "response": {"status_code": 200}},
    {"request": None, "response": None},
    {"_meta_type": "session_start", "_session_id": "s"},
    {"resourceSpans": []},
    [{"title": "t", "mapping": {}, "create_time": 1.0}],
]
foreign_lines = st.one_of(
    st.sampled_from(["", "   ", "{", '{"id": "cut", "request": {"model": "gp', "not json at all", "[1, 2", '"', "]"]),
    st.sampled_from(["[", "\ufeff", "\0\0", "NaN", "<html>", "event: ping", "2026-01-01 12:00:00 INFO started"]),
    st.sampled_from(OTHER_KINDS).map(json.dumps),
    scalars.map(json.dumps),
    st.lists(scalars, max_size=3).map(json.dumps),
    foreign_objects.map(json.dumps),
)


def lines_with(foreign):
    lines = [*foreign[0]]
    for record, group in zip(RECORDS, foreign[1:], strict=True):
        lines += [record, *group]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    path.write_text("\n".join(RECORDS), "utf-8")
    made = cook_file(path)[0]
    assert len(made["requests"]) == len(RECORDS) + 1  # a stream with two messages is two requests
    return made


def assert_same(path, expected):
    made, report = cook_file(path)
    assert made == expected
    assert report.ledger.adds_up
    assert not report.failure


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(foreign_lines, max_size=4), min_size=len(RECORDS) + 1, max_size=len(RECORDS) + 1))
def test_foreign_lines_change_nothing(tmp_path, expected, groups):
    path = tmp_path / "trace.jsonl"
    path.write_text(lines_with(groups), "utf-8")
    assert_same(path, expected)


@pytest.mark.parametrize("count", [20, 3000], ids=["some", "more_than_files_are_recognized_by"])
@pytest.mark.parametrize("line", [json.dumps(other) for other in OTHER_KINDS], ids=range(len(OTHER_KINDS)))
def test_lines_of_other_files_before_the_records_change_nothing(tmp_path, expected, line, count):
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join([*[line] * count, *RECORDS]), "utf-8")
    assert_same(path, expected)


@pytest.mark.parametrize("line", ["x" * 100_000, json.dumps({"note": "x" * 100_000}), json.dumps(["x" * 100_000])])
def test_long_lines_before_the_records_change_nothing(tmp_path, expected, line):
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join([line, line, *RECORDS]), "utf-8")
    assert_same(path, expected)
