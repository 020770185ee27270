"""What the hallway does with documents that the writer or the schema refuses."""

import gc
import weakref
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palaver.importers._shared.contract import Options
from palaver.model import build
from palaver.model.report import SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.source import Source
from palaver.workflows import read_unit
from palaver.workflows.import_files import document_lines


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Sends documents through the pipeline, as if an importer had read them."""

    def write(*documents: dict[str, Any]) -> tuple[list[dict[str, Any]], SourceReport, list[Any]]:
        monkeypatch.setattr(read_unit, "importer", lambda _platform: Reader(documents))
        (tmp_path / "a").touch()
        aside: list[Any] = []
        report = SourceReport("a", "claude_code")
        unit = Unit(Source.at(tmp_path / "a"), "claude_code")
        made = [orjson.loads(line) for line in document_lines(unit, report, {}, aside.append)]
        assert not report.failure
        return made, report, aside

    return write


class Reader:
    options = read_unit.importer("claude_code").options

    def __init__(self, documents):
        self.documents = documents

    def read(self, _source, run):
        for document in self.documents:
            run.read()
            run.mapped()
            yield document


def document(conversation_id="first", *tokens, **fields) -> dict[str, Any]:
    return {
        "schema_version": "1.0.0",
        "conversation_id": conversation_id,
        "platform": {"name": "claude_code"},
        "created_at": "2026-01-01T00:00:00.000Z",
        "messages": [
            {
                "message_id": str(number),
                "role": "assistant",
                "timestamp": "2026-01-01T00:00:00.000Z",
                "content": [{"type": "tool_use", "id": "t", "name": "Add", "input": {"value": 7}}],
                "tokens": {"input_tokens": tokens[number]},
                "metadata": {},
            }
            for number in range(len(tokens))
        ],
        **fields,
    }


def codes(report: SourceReport) -> dict[str, int]:
    return {code: count for code, count in report.findings.counts.items() if count}


def test_a_document_that_cannot_be_made_valid_is_set_aside_and_the_others_are_written(write):
    made, report, aside = write(document("first"), document(""), document("third"))
    assert [one["conversation_id"] for one in made] == ["first", "third"]
    assert [(entry.code, orjson.loads(entry.raw)["conversation_id"]) for entry in aside] == [("invalid-document", "")]
    assert not report.is_clean


def test_an_integer_past_64_bits_is_written_as_its_digits(write):
    broken = document("first", 1, platform={"name": "claude_code", "metadata": {"seed": -(1 << 70)}})
    broken["messages"][0]["content"][0]["input"] = {"value": 1 << 64, "list": [1, (1 << 64) - 1, [10**30]]}
    [made], report, _ = write(broken)
    assert made["messages"][0]["content"][0]["input"] == {
        "value": "18446744073709551616",
        "list": [1, (1 << 64) - 1, [str(10**30)]],
    }
    assert made["platform"]["metadata"] == {"seed": str(-(1 << 70))}
    assert codes(report) == {"big-integer": 2}


def test_a_document_in_parts_that_fails_half_way_is_mended_and_comes_once_more(tmp_path, monkeypatch):
    raw = document("first", 1, 2)
    raw["messages"][1]["metadata"] = {"number": 1 << 70}
    monkeypatch.setattr(read_unit, "importer", lambda _platform: Reader([raw]))
    (tmp_path / "a").touch()
    report = SourceReport("a", "claude_code")
    unit = Unit(Source.at(tmp_path / "a"), "claude_code")
    parts = read_unit.read_unit(
        unit,
        read_unit.start_run(unit, report, {}),
        report,
        lambda one: map(orjson.dumps, one["messages"]),
        is_measured=False,
    )
    made = [orjson.loads(part) for part in parts]
    assert [part["message_id"] for part in made] == ["0", "0", "1"]
    assert made[-1]["metadata"]["number"] == str(1 << 70)
    assert (report.conversations, report.messages, report.failure) == (1, 2, "")


def test_a_figure_past_64_bits_is_kept_beside_the_tokens(write):
    [made], report, _ = write(document("first", 5, 1 << 80))
    assert made["metrics"]["total_tokens"]["input"] == 5
    assert made["messages"][1]["metadata"]["invalid_fields"] == {"tokens/input_tokens": str(1 << 80)}
    assert codes(report) == {"big-integer": 1, "invalid-value": 1}


def test_a_sum_past_64_bits_is_written(write):
    [made], report, _ = write(document("first", (1 << 64) - 1, 1 << 63))
    assert made["metrics"]["total_tokens"]["input"] == pytest.approx((1 << 64) - 1 + (1 << 63))
    assert not codes(report)


@pytest.mark.parametrize("depth", [50, 300, 20_000])
def test_a_value_nested_too_deeply_to_be_written_is_kept_as_text(write, depth):
    broken = document("first", 1, platform={"name": "claude_code", "metadata": {"state": nested(depth)}})
    broken["messages"][0]["content"][0]["input"] = nested(depth)
    [made], report, _ = write(broken)
    assert codes(report) == {"flattened" if depth > 100 else "big-integer": 2}
    for inner in (made["platform"]["metadata"]["state"], made["messages"][0]["content"][0]["input"]):
        left = depth
        while type(inner) is dict:
            inner = inner["a"]
            left -= 1
        if depth > 100:
            assert inner == '{"a":' * left + '[1180591620717411303424,"x"]' + "}" * left
        else:
            assert (left, inner) == (0, ["1180591620717411303424", "x"])


def nested(depth: int) -> Any:
    value: Any = [1 << 70, "x"]
    for _ in range(depth):
        value = {"a": value}
    return value


LISTS = st.lists(st.integers())
JUNK = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | LISTS | st.dictionaries(st.text(), LISTS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["tokens", "cost", "content", "timestamp", "metadata", "role"]), JUNK))
def test_a_message_of_whatever_kind_is_written_or_kept_whole(write, junk):
    broken = document("first", 3, 4)
    broken["messages"][0] |= junk
    [made], _, _ = write(broken)
    assert [message["message_id"] for message in made["messages"]] == ["0", "1"]
    assert made["metrics"]["total_messages"] == 2


def test_what_a_source_states_of_the_whole_stands_beside_what_is_counted(write):
    [made], _, _ = write(document("first", 3, 4, metrics={"total_cost": {"amount": 0.5, "currency": "USD"}}))
    assert made["metrics"] == {
        "total_messages": 2,
        "total_tokens": {"input": 7, "output": 0, "cache_read": 0, "cache_write": 0},
        "tool_calls": 2,
        "duration_ms": 0,
        "total_cost": {"amount": 0.5, "currency": "USD"},
    }


class Node:
    def __init__(self):
        self.itself = self


class Circular:
    """An importer whose objects refer to each other in a circle."""

    options = Options

    def read(self, _source, _run):
        node = Node()
        self.left = weakref.ref(node)
        yield from ()


def test_what_a_unit_took_up_goes_with_it(tmp_path, monkeypatch):
    circular = Circular()
    monkeypatch.setattr(read_unit, "importer", lambda _platform: circular)
    unit = Unit(Source.at(tmp_path), "claude_code")
    gc.disable()
    try:
        assert list(document_lines(unit, SourceReport("a", "claude_code"), {})) == []
        assert circular.left() is None
    finally:
        gc.enable()


# -- usage records --------------------------------------------------------------------------------------------------


@pytest.fixture
def use(tmp_path, monkeypatch):
    """Sends usage records through the pipeline, as if an importer had read them beside a document."""

    def use(*records: dict[str, Any], is_wanted: bool = True) -> tuple[list[dict[str, Any]], SourceReport, list[Any]]:
        monkeypatch.setattr(read_unit, "importer", lambda _platform: Using([document()], records))
        (tmp_path / "a").touch()
        aside: list[Any] = []
        used: list[bytes] = []
        report = SourceReport("a", "claude_code")
        unit = Unit(Source.at(tmp_path / "a"), "claude_code")
        take = (lambda record: used.append(orjson.dumps(record))) if is_wanted else None
        assert len(list(document_lines(unit, report, {}, aside.append, used=take))) == 1
        assert not report.failure
        return [orjson.loads(line) for line in used], report, aside

    return use


class Using(Reader):
    def __init__(self, documents, records):
        super().__init__(documents)
        self.records = records

    def read(self, source, run):
        for record in self.records:
            run.read()
            run.used(record)
            run.mapped()
        yield from super().read(source, run)


def record(**fields) -> dict[str, Any]:
    made = build.usage(usage_id="u1", platform={"name": "toy"}, kind="request", started_at="2026-01-01T00:00:00.000Z")
    return made | fields


@pytest.mark.parametrize("is_wanted", [True, False])
def test_usage_records_are_counted_whether_anybody_wants_them_or_not(use, is_wanted):
    made, report, aside = use(record(), record(usage_id="u2"), is_wanted=is_wanted)
    assert [one["usage_id"] for one in made] == (["u1", "u2"] if is_wanted else [])
    assert (report.usage_records, report.conversations, aside) == (2, 1, [])
    assert report.to_json()["usage_records"] == 2
    assert report.ledger.mapped == 3


def test_what_is_wrong_in_a_usage_record_is_kept_beside_it(use):
    broken = record(tokens={"input_tokens": -1, "output_tokens": 4}, subject={"kind": None}, model=5, metadata="x")
    [made], report, aside = use(broken)
    assert made["tokens"] == {"output_tokens": 4}
    assert made["metadata"]["invalid_fields"] == {
        "metadata": "x",
        "tokens/input_tokens": -1,
        "subject": {"kind": None},
        "model": 5,
    }
    assert (report.usage_records, aside) == (1, [])
    assert codes(report) == {"invalid-value": 4}


def test_a_usage_record_that_cannot_be_made_valid_is_set_aside(use):
    made, report, aside = use(record(usage_id=""), record(started_at="noon"), record(platform="toy"), record())
    assert len(made) == report.usage_records == 1
    assert [entry.code for entry in aside] == ["invalid-usage-record"] * 3
    assert [orjson.loads(entry.raw)["schema_version"] for entry in aside] == ["1.0.0"] * 3
    assert not report.is_clean


def test_what_cannot_be_written_in_a_usage_record_is_changed(use):
    [made], report, _ = use(record(metadata={"seed": 1 << 70, "state": nested(300)}))
    assert made["metadata"]["seed"] == str(1 << 70)
    assert set(codes(report)) == {"flattened", "big-integer"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["tokens", "cost", "counts", "subject", "platform", "metadata", "kind"]), JUNK))
def test_a_usage_record_of_whatever_kind_is_written_or_set_aside(use, junk):
    made, report, aside = use(record(**junk))
    assert len(made) + len(aside) == 1
    assert report.usage_records == len(made)


def test_a_run_does_not_hold_itself(tmp_path):
    (tmp_path / "a").touch()
    unit = Unit(Source.at(tmp_path / "a"), "claude_code")
    gc.disable()
    try:
        run = weakref.ref(
            read_unit.start_run(unit, SourceReport("a", "claude_code"), {}, cursors={}, used=lambda _: None)
        )
        assert run() is None
    finally:
        gc.enable()
