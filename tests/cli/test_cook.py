import json

import jsonschema_rs
import pytest

from importing import FIXTURES
from palaver.model.schemas import published_schema

TRACES = FIXTURES / "traces"


@pytest.fixture
def cooked(run, tmp_path):
    def cook(*words, exit_code=0):
        out = tmp_path / "cooked.json"
        result = run("cook", *words, "--output", out)
        assert result.exit_code == exit_code, result.stderr
        made = json.loads(out.read_bytes())
        jsonschema_rs.validator_for(published_schema("cooked")).validate(made)
        return made

    return cook


def test_a_trace_is_a_chain_of_requests(cooked):
    made = cooked(TRACES / "bakery.jsonl")
    assert [request["parent_id"] for request in made["requests"]] == [None, "3b1f0e2c-0001", "3b1f0e2c-0002"]
    assert [message["role"] for message in made["messages"]] == [
        *("system", "user", "tool_use", "tool_result", "assistant", "user", "assistant"),
    ]
    assert made["messages"][-1]["content"] == "Error: timeout"
    assert [tool["name"] for tool in made["tools"]] == ["stock"]


def test_an_array_a_single_record_and_lines_are_the_same(cooked, tmp_path):
    records = [json.loads(line) for line in (TRACES / "bakery.jsonl").read_text("utf-8").splitlines()]
    array, single = tmp_path / "array.json", tmp_path / "single.json"
    array.write_text(json.dumps(records, indent=1))
    single.write_text(json.dumps(records[0], indent=1))
    assert cooked(array) == cooked(TRACES / "bakery.jsonl")
    assert [request["id"] for request in cooked(single)["requests"]] == ["3b1f0e2c-0001"]


def test_damaged_records_are_told_and_the_rest_is_cooked(run, cooked, tmp_path):
    made = cooked(TRACES / "damaged.jsonl", exit_code=1)
    assert [request["id"] for request in made["requests"]] == ["3b1f0e2c-0001", "3b1f0e2c-0002"]
    told = run("cook", TRACES / "damaged.jsonl", "--output", tmp_path / "again.json").stderr
    assert "line 2" in told
    assert "bad-record" in told


def test_a_conversation_is_cooked_alike_from_its_source_its_document_and_the_archive(run, cooked, case, tmp_path):
    out = tmp_path / "documents.jsonl"
    run("import", case("plain_session"), "--output", out)
    run("import", case("plain_session"))
    assert cooked(case("plain_session")) == cooked(out) == cooked("--platform", "claude_code")


def test_what_is_cooked_already_is_not_cooked_again(run, cooked, tmp_path):
    cooked(TRACES / "bakery.jsonl")
    (tmp_path / "cooked.json").rename(tmp_path / "done.json")
    result = run("cook", tmp_path / "done.json", "--dry-run")
    assert result.exit_code == 2


def test_standard_input_and_output(finish):
    result = finish("cook", "-", stdin=(TRACES / "bakery.jsonl").read_bytes())
    assert result.returncode == 0
    assert len(json.loads(result.stdout)["requests"]) == 3
    assert b"3 requests, 7 messages and 1 tool, once each" in result.stderr


@pytest.mark.parametrize(
    "odd", [None, 1, "x", [], {}, [None], [[1]], {"type": []}, [{"role": [], "content": {"a": 1}}]]
)
@pytest.mark.parametrize("place", ["messages", "tools", "contents", "input", "system", "model"])
def test_no_record_ends_the_run(run, tmp_path, odd, place):
    good = (TRACES / "bakery.jsonl").read_text("utf-8").splitlines()[0]
    bad = {"id": "odd", "timestamp": [], "request": {place: odd}, "response": {"choices": odd, "content": odd}}
    file = tmp_path / "trace.jsonl"
    file.write_text(f"{good}\n{json.dumps(bad)}\n")
    result = run("cook", file, "--output", tmp_path / "cooked.json", "--json")
    answer = json.loads(result.stdout)
    assert answer["requests"] >= 1
    [source] = answer["sources"]
    assert source["failure"] is None
    assert (
        source["records"]["read"] == source["records"]["mapped"] + sum(source["records"]["quarantined"].values()) == 2
    )
