"""Cook gives the same output for a file of records, whatever foreign lines stand before or between them."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cooking import cook_file
from importing import FIXTURES

RECORDS = (FIXTURES / "traces" / "bakery.jsonl").read_text("utf-8").splitlines()

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
foreign_objects = st.dictionaries(
    st.sampled_from(["note", "level", "msg", "event", "count"]), scalars | st.lists(scalars, max_size=2), max_size=3
)
foreign_lines = st.one_of(
    st.sampled_from(["", "   ", "{", '{"id": "cut", "request": {"model": "gp', "not json at all", "[1, 2", '"', "]"]),
    scalars.map(json.dumps),
    st.lists(scalars, max_size=3).map(json.dumps),
    foreign_objects.map(json.dumps),
)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    path.write_text("\n".join(RECORDS), "utf-8")
    return cook_file(path)[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(foreign_lines, max_size=4), min_size=len(RECORDS) + 1, max_size=len(RECORDS) + 1))
def test_foreign_lines_change_nothing(tmp_path, expected, groups):
    lines = [*groups[0]]
    for record, group in zip(RECORDS, groups[1:], strict=True):
        lines += [record, *group]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    made, report = cook_file(path)
    assert made == expected
    assert report.ledger.adds_up
    assert not report.failure
