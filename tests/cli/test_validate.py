import gzip
import json
import zipfile

import jsonschema_rs
import pytest

from palaver.model.schemas import published_schema


@pytest.fixture
def valid(run, case, tmp_path):
    """A file of three documents, all valid."""
    out = tmp_path / "valid.jsonl"
    run("import", case("forked_pair"), "-o", out)
    assert len(out.read_bytes().splitlines()) == 3
    return out


@pytest.fixture
def changed(valid, tmp_path):
    """The same with the second document changed."""

    def change(edit):
        lines = valid.read_bytes().splitlines(keepends=True)
        document = json.loads(lines[1])
        edit(document)
        lines[1] = json.dumps(document).encode() + b"\n"
        file = tmp_path / "changed.jsonl"
        file.write_bytes(b"".join(lines))
        return file

    return change


@pytest.fixture
def report(run):
    """The report as programs read it."""

    def reported(*words):
        return json.loads(run("validate", *words, "--json").stdout)

    return reported


def conversation_id(file, line):
    return json.loads(file.read_bytes().splitlines()[line - 1])["conversation_id"]


def codes(answer):
    return {group["code"]: group["count"] for group in answer["findings"]}


def test_valid_documents(run, valid):
    result = run("validate", valid)
    assert result.exit_code == 0
    assert result.stdout.startswith("Checked: 1 source, 3 documents, ")
    *_, verdict, found = result.stdout.splitlines()
    assert verdict.startswith("Valid: checked 3 conversations, ")
    assert found == "No problems found"
    assert result.stderr == ""


def test_a_fault_is_told_with_line_conversation_pointer_and_excerpt(run, changed):
    file = changed(lambda document: document["messages"][0].update(role="robot"))
    result = run("validate", file)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    heading = lines.index("error 1 in 1 source  invalid-role: A message has a role unknown to the schema.")
    place = f"  {file}:2 {conversation_id(file, 2)} /messages/0/role: "
    assert lines[heading + 1] == place + "Message 0 has invalid role: robot"
    assert lines[heading + 2] == "      robot"
    assert lines[-2].startswith("1 of 3 documents has an error: checked 3 conversations, ")


def test_an_unknown_version_is_an_error_that_says_so(run, changed):
    file = changed(lambda document: document.update(schema_version="9.0.0"))
    result = run("validate", file)
    assert result.exit_code == 1
    assert "/schema_version: the document has schema_version '9.0.0', newer than" in result.stdout


def test_examples_are_capped_for_each_code_and_all_are_counted(run, report, changed):
    def spoil(document):
        document["messages"] = [{"role": "user"}] * 10

    file = changed(spoil)
    found = run("validate", file, "--max-errors", "3").stdout
    assert found.count(" missing timestamp") == 3
    assert "  and 7 more" in found
    [group] = [group for group in report(file, "--max-errors", "3")["findings"] if group["code"] == "missing-timestamp"]
    assert (group["count"], len(group["examples"])) == (10, 3)
    assert " missing timestamp" not in run("validate", file, "--max-errors", "0").stdout


def test_the_report_as_json(report, valid, changed):
    file = changed(lambda document: document["messages"][0].update(role="robot"))
    answer = report(valid, file)
    assert answer["valid"] is False
    good, bad = answer["sources"]
    assert (good["source"], good["read_as"], good["valid"], good["documents"]) == (str(valid), "ucs", True, 3)
    assert (bad["valid"], bad["severities"]["error"], bad["findings"]["invalid-role"]) == (False, 1, 1)
    [group] = [group for group in answer["findings"] if group["code"] == "invalid-role"]
    [example] = group["examples"]
    assert (group["stage"], example["line"], example["pointer"]) == ("schema", 2, "/messages/0/role")
    assert example["conversation_id"] == conversation_id(file, 2)
    [coverage] = answer["coverage"]
    assert (coverage["platform"], coverage["conversations"]) == ("claude_code", 5)


def test_errors_and_warnings_of_one_rule_are_groups_of_their_own(run, report, valid, tmp_path):
    lines = valid.read_bytes().splitlines(keepends=True)
    for number, incomplete in enumerate((False, True)):
        document = json.loads(lines[number])
        result = {"type": "tool_result", "tool_use_id": "nowhere", "content": "", "is_error": False}
        document["messages"][0].update(content=[result], metadata={"context_incomplete": incomplete})
        lines[number] = json.dumps(document).encode() + b"\n"
    file = tmp_path / "orphans.jsonl"
    file.write_bytes(b"".join(lines))
    answer = report(file)
    orphans = [group for group in answer["findings"] if group["code"] == "orphan-tool-result"]
    assert [(group["severity"], group["count"]) for group in orphans] == [("error", 1), ("warning", 1)]
    for severity, count in answer["totals"]["severities"].items():
        assert sum(group["count"] for group in answer["findings"] if group["severity"] == severity) == count
    assert "1 of 3 documents has an error" in run("validate", file).stdout


def test_the_report_in_files(run, valid, tmp_path):
    files = tmp_path / "report.json", tmp_path / "report.html"
    result = run("validate", valid, "--report", files[0], "--report", files[1])
    assert result.exit_code == 0
    answer = json.loads(files[0].read_text("utf-8"))
    jsonschema_rs.validator_for(published_schema("report")).validate(answer)
    assert files[1].read_text("utf-8").startswith("<!doctype html>")
    assert [line.rpartition("/")[2] for line in result.stderr.splitlines()] == ["report.json", "report.html"]


def test_a_report_that_cannot_be_written(run, valid, tmp_path):
    result = run("validate", valid, "--report", tmp_path / "nowhere" / "report.html")
    assert result.exit_code == 2
    assert "cannot write the report" in result.stderr


def test_a_single_pretty_printed_document_and_an_array(run, valid, tmp_path):
    document = json.loads(valid.read_bytes().splitlines()[0])
    for name, value in (("one.json", document), ("several.json", [document, document])):
        file = tmp_path / name
        file.write_text(json.dumps(value, indent=2))
        assert run("validate", file).exit_code == 0
    del document["created_at"]
    file.write_text(json.dumps([document], indent=2))
    result = run("validate", file)
    assert result.exit_code == 1
    assert "/created_at: created_at is missing" in result.stdout


def test_a_first_document_longer_than_what_is_looked_at_first(run, valid, tmp_path):
    document = json.loads(valid.read_bytes().splitlines()[0])
    document["messages"][0]["content"] = [{"type": "text", "text": "x" * 200_000}]
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps(document) + "\n")
    assert run("validate", file).exit_code == 0


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda raw: raw.replace(b'"schema_version"', b'"schema_version', 2), "bad-json"),
        (lambda raw: raw[:-200], "unfinished-tail"),
        (lambda raw: raw + b'["not a document"]\n', "not-an-object"),
        (lambda raw: raw.replace(b'"role":"user"', b'"role":"user\xff"', 1), "invalid-utf8"),
    ],
)
def test_damage_is_an_error_in_a_file_of_documents(report, valid, damage, code):
    lines = valid.read_bytes().splitlines(keepends=True)
    valid.write_bytes(lines[0] + damage(b"".join(lines[1:])))
    answer = report(valid)
    assert answer["valid"] is False
    [group] = [group for group in answer["findings"] if group["code"] == code]
    assert (group["stage"], group["severity"]) == ("reading", "error")
    records = answer["totals"]["records"]
    assert records["read"] == records["mapped"] + sum(records["quarantined"].values())


def test_compressed_zipped_and_piped_documents(run, finish, valid, tmp_path):
    packed = tmp_path / "valid.jsonl.gz"
    packed.write_bytes(gzip.compress(valid.read_bytes()))
    with zipfile.ZipFile(tmp_path / "valid.zip", "w") as archive:
        archive.write(valid, "valid.jsonl")
    for file in (packed, tmp_path / "valid.zip"):
        result = run("validate", file)
        assert (result.exit_code, ", 3 documents, " in result.stdout) == (0, True)
    result = finish("validate", "-", stdin=valid.read_bytes())
    assert (result.returncode, b", 3 documents, " in result.stdout) == (0, True)


def test_a_folder_of_documents(report, run, case, kept):
    kept.mkdir()
    for number, name in enumerate(("resumed_pair", "plain_session", "damage_bad_line_middle")):
        run("import", case(name), "--output", kept / f"{number}.jsonl", "--quarantine", kept.with_name("aside.jsonl"))
    (kept / "notes.txt").write_text("not a document")
    answer = report(kept)
    assert (len(answer["sources"]), answer["totals"]["documents"]) == (3, 4)
    assert answer["unclaimed"] == [str(kept / "notes.txt")]


def test_a_source_is_imported_and_judged(report, session):
    answer = report(session)
    [source] = answer["sources"]
    assert (answer["valid"], source["read_as"], source["conversations"]) == (True, "claude_code", 1)
    records = source["records"]
    assert records["read"] == records["mapped"] + records["folded"] + sum(records["skipped"].values())


def test_quarantined_records_of_a_source_are_named_with_their_bytes(report, damaged):
    answer = report(damaged)
    [group] = [group for group in answer["findings"] if group["severity"] == "error"]
    assert [example["line"] for example in group["examples"]] == [2, 5, 6]
    lines = damaged.read_text("utf-8").splitlines()
    assert all(lines[example["line"] - 1].startswith(example["excerpt"][:40]) for example in group["examples"])


def test_the_archive_tells_what_its_sources_told(run, report, case, damaged):
    directly = report(damaged, case("forked_pair"))
    run("import", damaged)
    run("import", case("forked_pair"))
    answer = report()
    assert answer["subject"] == "archive"
    assert codes(answer) == codes(directly)
    assert answer["totals"]["records"] == directly["totals"]["records"]
    for name in ("conversations", "messages"):
        assert answer["totals"][name] == directly["totals"][name]
    assert {one["platform"]: one["blocks"] for one in answer["coverage"]} == {
        one["platform"]: one["blocks"] for one in directly["coverage"]
    }


def test_without_an_archive_there_is_nothing_to_judge(run):
    result = run("validate")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_rules_can_be_chosen(report, changed):
    file = changed(lambda document: document["messages"][0].update(timestamp="2199-01-01T00:00:00.000Z"))
    assert "future-timestamp" in codes(report(file))
    assert "future-timestamp" not in codes(report(file, "--no-rule", "future-timestamp"))
    assert set(codes(report(file, "--rule", "future-timestamp"))) == {"future-timestamp"}


def test_levels(report, run, changed):
    file = changed(lambda document: document["messages"][0].update(timestamp="2199-01-01T00:00:00.000Z", content="hi"))
    assert run("validate", file, "--level", "strict").exit_code == 1
    assert run("validate", file).exit_code == 1
    answer = report(file, "--level", "lenient")
    assert answer["valid"] is True
    assert codes(answer) == {"coerced": 1}


def test_several_processes_say_what_one_says(report, case, monkeypatch):
    import palaver.workflows.validate

    alone = report(case("forked_pair"), case("resumed_pair"), case("damage_bad_line_middle"), "--jobs", "1")
    monkeypatch.setattr(palaver.workflows.validate, "_PARALLEL_THRESHOLD_BYTES", 0)
    together = report(case("forked_pair"), case("resumed_pair"), case("damage_bad_line_middle"), "--jobs", "2")
    assert {**together, "generated_at": ""} == {**alone, "generated_at": ""}


@pytest.mark.parametrize("name", ["nowhere.jsonl", "note.txt", "empty"])
def test_what_cannot_be_checked_exits_with_2(run, valid, tmp_path, name):
    (tmp_path / "note.txt").write_text("a note")
    (tmp_path / "empty").mkdir()
    result = run("validate", tmp_path / name, valid)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "3 documents" in result.stdout


def test_hostile_text_does_not_steer_the_terminal(run, changed):
    def poison(document):
        document["messages"][0].update(role="\x1b]0;gone\x07\u202e")
        document["conversation_id"] = "\x1b[2J"

    result = run("validate", changed(poison))
    assert result.exit_code == 1
    assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)


def test_one_answer_to_two_calls_of_a_trace_is_valid(run, tmp_path):
    records = [
        {
            "id": name,
            "timestamp": f"2026-02-20T10:0{number}:00Z",
            "request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
            "response": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}}]},
        }
        for number, name in enumerate("ab")
    ]
    trace, documents = tmp_path / "trace.jsonl", tmp_path / "documents.jsonl"
    trace.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    assert run("import", trace, "--output", documents).exit_code == 0
    assert run("validate", documents).exit_code == 0
    documents.write_text(documents.read_text().replace('"request_id":"b"', '"request_id":"a"'))
    assert run("validate", documents).exit_code == 1
