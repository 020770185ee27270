import gzip
import json
import zipfile

import pytest


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


def conversation_id(file, line):
    return json.loads(file.read_bytes().splitlines()[line - 1])["conversation_id"]


def test_valid_documents(run, valid):
    result = run("validate", valid)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{valid}: valid  3 documents, ")
    assert result.stderr == ""


def test_a_fault_is_told_with_line_conversation_and_pointer(run, changed):
    file = changed(lambda document: document["messages"][0].update(role="robot"))
    result = run("validate", file)
    assert result.exit_code == 1
    first, verdict = result.stdout.splitlines()
    assert first.startswith(f"{file}:2 {conversation_id(file, 2)} /messages/0/role: ")
    assert "robot" in first
    assert verdict.startswith(f"{file}: not valid, 1 error  3 documents")


def test_a_missing_field_is_told_at_the_root(run, changed):
    file = changed(lambda document: document.pop("created_at"))
    assert f"{file}:2 {conversation_id(file, 2)} /: " in run("validate", file).stdout


def test_an_unknown_version_is_an_error_that_says_so(run, changed):
    file = changed(lambda document: document.update(schema_version="9.0.0"))
    result = run("validate", file)
    assert result.exit_code == 1
    assert "/schema_version: the document has schema_version '9.0.0', newer than" in result.stdout


def test_errors_are_capped_for_each_file(run, changed):
    def spoil(document):
        document["messages"] = [{"role": "user"}] * 10

    file = changed(spoil)
    total = json.loads(run("validate", file, "--json").stdout)["files"][0]["error_count"]
    result = run("validate", file, "--max-errors", "3")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert len(lines) == 5
    assert lines[3] == f"{file}: and {total - 3} more"
    assert lines[4].startswith(f"{file}: not valid, {total} errors")
    assert len(run("validate", file, "--max-errors", "0").stdout.splitlines()) == 1


def test_the_result_as_json(run, valid, changed):
    file = changed(lambda document: document["messages"][0].update(role="robot"))
    result = run("validate", valid, file, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["valid"] is False
    good, bad = answer["files"]
    assert (good["path"], good["read_as"], good["valid"], good["documents"]) == (str(valid), "ucs", True, 3)
    [error] = bad["errors"]
    assert (error["line"], error["pointer"]) == (2, "/messages/0/role")
    assert error["conversation_id"] == conversation_id(file, 2)


def test_a_single_pretty_printed_document(run, valid, tmp_path):
    document = json.loads(valid.read_bytes().splitlines()[0])
    file = tmp_path / "one.json"
    file.write_text(json.dumps(document, indent=2))
    assert run("validate", file).stdout.startswith(f"{file}: valid  1 document, ")
    del document["created_at"]
    file.write_text(json.dumps(document, indent=2))
    result = run("validate", file)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{file}:1 ")


def test_a_first_document_longer_than_what_is_looked_at_first(run, valid, tmp_path):
    document = json.loads(valid.read_bytes().splitlines()[0])
    document["messages"][0]["content"] = [{"type": "text", "text": "x" * 200_000}]
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps(document) + "\n")
    assert run("validate", file).exit_code == 0


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda raw: raw.replace(b'"schema_version"', b'"schema_version', 2), ": bad-json: "),
        (lambda raw: raw[:-200], ": unfinished-tail: "),
        (lambda raw: raw + b'["not a document"]\n', ": a conversation document is an object"),
        (lambda raw: raw.replace(b'"role":"user"', b'"role":"user\xff"', 1), ": invalid-utf8: "),
    ],
)
def test_damage_is_an_error(run, valid, damage, told):
    lines = valid.read_bytes().splitlines(keepends=True)
    valid.write_bytes(lines[0] + damage(b"".join(lines[1:])))
    result = run("validate", valid)
    assert result.exit_code == 1
    assert told in result.stdout


def test_compressed_zipped_and_piped_documents(run, finish, valid, tmp_path):
    packed = tmp_path / "valid.jsonl.gz"
    packed.write_bytes(gzip.compress(valid.read_bytes()))
    assert ": valid  3 documents" in run("validate", packed).stdout
    with zipfile.ZipFile(tmp_path / "valid.zip", "w") as archive:
        archive.write(valid, "valid.jsonl")
    assert ": valid  3 documents" in run("validate", tmp_path / "valid.zip").stdout
    result = finish("validate", "-", stdin=valid.read_bytes())
    assert (result.returncode, result.stdout[:15]) == (0, b"standard input:")


def test_a_folder_of_documents(run, case, kept):
    kept.mkdir()
    for number, name in enumerate(("resumed_pair", "plain_session", "damage_bad_line_middle")):
        run("import", case(name), "--output", kept / f"{number}.jsonl", "--quarantine", kept.with_name("aside.jsonl"))
    (kept / "notes.txt").write_text("not a document")
    result = run("validate", kept)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{kept}: valid  3 files, 4 documents, ")


def test_a_source_is_imported_and_checked(run, session):
    result = run("validate", session)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{session}: valid  1 document, ")
    assert result.stdout.endswith(", read as claude_code\n")


def test_quarantined_records_of_a_source_are_named(run, damaged):
    result = run("validate", damaged)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert [line.partition(": bad-json: ")[0] for line in lines[:3]] == [f"{damaged}:{line}" for line in (2, 5, 6)]
    assert lines[3].startswith(f"{damaged}: not valid, 3 errors")


@pytest.mark.parametrize("name", ["nowhere.jsonl", "note.txt", "empty"])
def test_what_cannot_be_checked_exits_with_2(run, valid, tmp_path, name):
    (tmp_path / "note.txt").write_text("a note")
    (tmp_path / "empty").mkdir()
    result = run("validate", tmp_path / name, valid)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert f"{valid}: valid" in result.stdout
