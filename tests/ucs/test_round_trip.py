"""What palaver wrote comes back as it was, from every fixture of every platform, however it was stored."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest
import zstandard

from importing import Case, bytes_of, cases, check, import_folder
from palaver.importers import importer, match_importers
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.workflows.find_units import find_units

CASES = cases()
every_case = pytest.mark.parametrize("case", CASES, ids=str)
SESSION_NAME = "0a16bc32-f556-4312-8983-f223de242942.jsonl"


def written(case: Case, folder: Path) -> bytes:
    """The documents of a fixture as JSON Lines."""
    imported = import_folder(case.lay_out(folder), case.platform)
    return b"".join(line for lines in imported.lines for line in lines)


def read_back(path: Path) -> bytes:
    imported = import_folder(path)
    assert {unit.platform for unit in imported.units} <= {"ucs"}
    assert not imported.report.refused
    check(imported)
    assert not imported.quarantined
    return b"".join(line for lines in imported.lines for line in lines)


def a_document(*, messages: int = 1, **fields) -> dict:
    said = [
        {
            "message_id": str(number),
            "role": "user",
            "timestamp": f"2026-04-01T10:00:{number:02}.000Z",
            "content": [{"type": "text", "text": "a word"}],
        }
        for number in range(messages)
    ]
    document = {
        "schema_version": "1.0.0",
        "conversation_id": "one",
        "platform": {"name": "chatgpt"},
        "created_at": "2026-04-01T10:00:00.000Z",
        "messages": said,
    }
    return document | fields


def write(path: Path, *documents: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(document).encode() + b"\n" for document in documents))
    return path


@every_case
def test_every_document_comes_back_byte_by_byte(case, tmp_path):
    first = written(case, tmp_path)
    if first:
        path = tmp_path / "back" / "out.jsonl"
        path.parent.mkdir()
        path.write_bytes(first)
        assert read_back(path.parent) == first


@every_case
def test_nobody_else_claims_a_document_however_long_it_is_and_whatever_its_file_is_called(case, tmp_path):
    for number, line in enumerate(written(case, tmp_path).splitlines()):
        document = json.loads(line)
        padding = {"type": "text", "text": "x" * (1 << 16)}
        documents = (document, document | {"messages": [a_document()["messages"][0] | {"content": [padding]}]})
        for made in documents:
            for name, indent in ((SESSION_NAME, None), ("one.json", 2)):
                path = tmp_path / str(number) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(made, indent=indent) + "\n", "utf-8")
                verdicts = {platform: match.verdict for platform, match in match_importers(Source.at(path)).items()}
                assert {platform for platform, verdict in verdicts.items() if verdict == "yes"} == {"ucs"}


def _zstd(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(raw)


def _zipped(path: Path, raw: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("backup/out.jsonl", raw)


@pytest.mark.parametrize(
    ("name", "store"),
    [
        ("out.jsonl.gz", lambda path, raw: path.write_bytes(gzip.compress(raw))),
        ("out.jsonl.zst", lambda path, raw: path.write_bytes(_zstd(raw))),
        ("out.zip", _zipped),
        ("out.json", lambda path, raw: path.write_bytes(b"[" + b",".join(raw.splitlines()) + b"]")),
        ("no_suffix", lambda path, raw: path.write_bytes(raw)),
    ],
)
def test_every_form_gives_the_same_documents(name, store, tmp_path):
    raw = b"".join(written(case, tmp_path / case.folder.name) for case in CASES if case.platform == "ucs")
    path = tmp_path / "stored" / name
    path.parent.mkdir()
    store(path, raw)
    imported = import_folder(path)
    assert [line for lines in imported.lines for line in lines] == raw.splitlines(keepends=True)


def test_totals_that_differ_stand_and_those_that_do_not_are_no_statement(tmp_path):
    metrics = {"total_messages": 1, "tool_calls": 0, "duration_ms": 7, "turns": 1}
    [unit] = find_units([write(tmp_path / "a.jsonl", a_document(metrics=metrics))])[0]
    [document] = importer("ucs").read(unit.source, Run("a.jsonl", form=unit.match.form))
    assert document["metrics"] == {"duration_ms": 7, "turns": 1}


def test_a_damaged_first_line_leaves_the_file_recognizable(tmp_path):
    path = write(tmp_path / "a.jsonl", a_document())
    path.write_bytes(b'{"schema_version": "1.0.0", "conver\n' + path.read_bytes())
    assert match_importers(Source.at(path))["ucs"].verdict == "maybe"
    imported = import_folder(tmp_path)
    assert len(imported.documents) == 1
    assert [entry.code for entry in imported.quarantined] == ["bad-json"]


def test_what_was_set_aside_is_known_to_be_no_conversation(tmp_path):
    case = next(case for case in CASES if case.folder.name == "set_aside_beside")
    root = case.lay_out(tmp_path)
    aside = Source.at(root / "out.jsonl.quarantine.jsonl")
    assert bytes_of(aside)
    match = match_importers(aside)["ucs"]
    assert (match.verdict, match.reason) == ("no", "records quarantined by an import of palaver")
    assert import_folder(root).report.unclaimed == []


@pytest.mark.parametrize(
    "odd",
    [
        {"platform": {"name": "chatgpt", "metadata": None}, "tags": 5},
        {"platform": {"name": "chatgpt", "metadata": "a word"}, "tags": 5},
        {"platform": {"name": "chatgpt", "metadata": {"invalid_fields": "a word"}}, "tags": 5},
        {"platform": {"name": "chatgpt", "metadata": {"invalid_fields": {"tags": 4}}}, "tags": 5},
        {"fragment": None},
        {"fragment": {"sequence": 0, "final": "no"}},
        {"metrics": {"total_messages": -1}},
    ],
)
def test_values_of_the_wrong_kind_are_kept_inside_the_document(odd, tmp_path):
    write(tmp_path / "a.jsonl", a_document(**odd))
    imported = import_folder(tmp_path)
    check(imported)
    [document] = imported.documents
    kept = json.dumps(document)
    for value in ("5", '"a word"', "4", '"no"', "-1"):
        assert value in kept or value not in json.dumps(odd)
