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
    assert b"3 requests, 7 messages and 1 tool after deduplication" in result.stderr


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


def write_trace(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return path


def odd_record(name, **fields):
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    return {"id": name, "timestamp": "2026-02-20T10:00:00Z", "request": request, "response": None, **fields}


def test_a_cooked_file_is_refused_with_the_reason(run, cooked, tmp_path):
    cooked(TRACES / "bakery.jsonl")
    result = run("cook", tmp_path / "cooked.json", "--dry-run")
    assert result.exit_code == 2
    assert "cooked.json: already cooked" in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_was_odd_is_printed_once_for_each_kind_with_the_count_and_the_first_place(run, tmp_path):
    trace = write_trace(
        tmp_path / "trace.jsonl",
        odd_record("a", response={"raw": "<html>502</html>"}),
        odd_record("b", response={"raw": "<html>503</html>"}),
        odd_record("b", response={"choices": [{"message": {"content": "part"}}]}, error="reset"),
    )
    printed = run("cook", trace, "--output", tmp_path / "cooked.json").stderr.splitlines()
    meaning = "An answer has an unknown format; it is kept unchanged."
    assert [line for line in printed if "unreadable-answer" in line] == [
        f"{trace}, line 1, byte 0: unreadable-answer: {meaning} (2 times, first shown)"
    ]
    assert len([line for line in printed if "repeated-request-id" in line and "line 3" in line]) == 1
    assert len([line for line in printed if "partial-answer" in line and "reset" in line]) == 1


def test_the_answer_names_what_was_odd_in_words_with_places(run, tmp_path):
    trace = write_trace(tmp_path / "trace.jsonl", odd_record("a"), odd_record("a", response="<html>502</html>"))
    [source] = json.loads(run("cook", trace, "--dry-run", "--json").stdout)["sources"]
    assert source["read_as"] == "api_trace"
    assert source["findings"] == {"missing-answer": 1, "repeated-request-id": 1, "unreadable-answer": 1}
    assert [(one["code"], one["where"].partition(",")[0]) for one in source["first_findings"]] == [
        ("missing-answer", "line 1"),
        ("unreadable-answer", "line 2"),
        ("repeated-request-id", "line 2"),
    ]
    assert source["first_findings"][2]["message"] == "the id 'a' is taken: this request is 'a#2'"


def test_calls_stay_where_they_stood_on_request(run, tmp_path):
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    answer = {"content": [{"type": "text", "text": "Before."}, call, {"type": "text", "text": "After."}]}
    trace = write_trace(tmp_path / "trace.jsonl", odd_record("a", response=answer))
    roles = {}
    for words in ((), ("--keep-order",)):
        made = json.loads(run("cook", trace, *words).stdout)
        roles[words] = [message["role"] for message in made["messages"]]
    assert roles == {
        (): ["user", "assistant", "assistant", "tool_use"],
        ("--keep-order",): ["user", "assistant", "tool_use", "assistant"],
    }


def test_repeated_ids_give_a_file_that_validates(run, tmp_path):
    trace = write_trace(tmp_path / "trace.jsonl", odd_record("r3"), odd_record("r3", timestamp="2026-02-20T10:00:01Z"))
    assert run("cook", trace, "--output", tmp_path / "cooked.json").exit_code == 0
    assert run("validate", tmp_path / "cooked.json").exit_code == 0


@pytest.fixture
def long_cooked(run, tmp_path):
    """A cooked file that is longer than the part by which files are recognized."""
    messages = [{"role": "user", "content": f"{number} {'x' * 300}"} for number in range(300)]
    trace = write_trace(tmp_path / "long.jsonl", odd_record("a", request={"model": "m", "messages": messages}))
    run("cook", trace, "--output", tmp_path / "long.cooked")
    return tmp_path / "long.cooked"


def test_a_long_cooked_file_is_recognized_under_any_name(run, finish, long_cooked):
    assert "already cooked" in run("cook", long_cooked, "--dry-run").stderr
    assert b"already cooked" in finish("cook", "-", "--dry-run", stdin=long_cooked.read_bytes()).stderr
    assert run("validate", long_cooked).exit_code == 0


def test_a_cooked_file_with_a_long_system_prompt_is_recognized(run, tmp_path):
    messages = [{"role": "system", "content": "x" * 100_000}]
    trace = write_trace(tmp_path / "long.jsonl", odd_record("a", request={"model": "m", "messages": messages}))
    run("cook", trace, "--output", tmp_path / "cooked")
    assert "already cooked" in run("cook", tmp_path / "cooked", "--dry-run").stderr


def test_a_folder_with_nothing_but_a_cooked_file_is_refused_with_the_reason(run, long_cooked, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    long_cooked.rename(folder / "cooked.json")
    result = run("cook", folder, "--dry-run")
    assert result.exit_code == 2
    assert "cooked.json: already cooked" in result.stderr


def test_a_cooked_file_is_passed_over_beside_a_trace_in_a_folder(run, long_cooked, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    long_cooked.rename(folder / "cooked.json")
    write_trace(folder / "trace.jsonl", odd_record("a"))
    result = run("cook", folder, "--dry-run")
    assert result.exit_code == 0
    assert "1 request," in result.stderr


def test_a_kind_of_oddity_in_many_files_is_one_line(run, tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    for number in range(30):
        write_trace(
            folder / f"{number:02}.jsonl", odd_record(f"a{number}"), odd_record(f"b{number}", duration_ms="soon")
        )
    printed = run("cook", folder, "--dry-run").stderr.splitlines()
    assert len(printed) == 3
    assert printed[0].startswith(f"{folder / '00.jsonl'}, line 1, byte 0: missing-answer: ")
    assert printed[0].endswith("(60 times in 30 sources, first shown)")
    assert printed[1].startswith(f"{folder / '00.jsonl'}, line 2, ")
    assert printed[1].endswith("'soon' (30 times in 30 sources, first shown)")


def test_what_is_odd_about_conversations_of_the_archive_is_reported(run, tmp_path):
    documents = tmp_path / "documents.jsonl"
    time = "2026-01-02T03:04:05.678Z"
    text = [{"type": "text", "text": "Hi!"}]
    write_trace(
        documents,
        *(
            {
                "schema_version": "1.0.0",
                "conversation_id": name,
                "platform": {"name": "claude_code", "model": "m"},
                "created_at": time,
                "messages": [
                    {"message_id": f"{name}1", "role": "user", "timestamp": time, "content": text},
                    {
                        "message_id": f"{name}2",
                        "role": "assistant",
                        "timestamp": time,
                        "content": text,
                        "metadata": {"request_id": "req_1"},
                    },
                ],
            }
            for name in "ab"
        ),
    )
    assert run("import", documents).exit_code == 0
    result = run("cook", "--output", tmp_path / "cooked.json")
    assert "archive, b: repeated-request-id: the id 'req_1' is taken: this request is 'req_1#2'" in result.stderr
    [source] = json.loads(run("cook", "--dry-run", "--json").stdout)["sources"]
    assert (source["source"], source["findings"]) == ("archive", {"repeated-request-id": 1})


def test_a_long_error_is_quoted_in_part(run, tmp_path):
    answer = {"choices": [{"message": {"content": "part"}}]}
    trace = write_trace(tmp_path / "trace.jsonl", odd_record("a" * 5_000, response=answer, error="first\nsecond" * 500))
    write_trace(tmp_path / "again.jsonl", odd_record("a" * 5_000))
    printed = run("cook", trace, tmp_path / "again.jsonl", "--output", tmp_path / "cooked.json").stderr.splitlines()
    assert any("partial-answer" in line for line in printed)
    assert any("repeated-request-id" in line for line in printed)
    assert max(len(line.removeprefix(str(tmp_path))) for line in printed) < 300
    assert "first\nsecond" * 500 in json.loads((tmp_path / "cooked.json").read_bytes())["messages"][2]["content"]
