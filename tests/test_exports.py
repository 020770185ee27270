"""What holds for the exports of chat services: the same in a ZIP as unpacked, and each file read by one importer."""

import json
import zipfile
from pathlib import Path

import pytest

from importing import Case, cases, check, golden, import_folder, set_time
from palaver import pipeline
from palaver.importers import judge, platforms

EXPORTS = ("chatgpt", "claude_ai", "deepseek")
CASES = [case for case in cases() if case.platform in EXPORTS]


def zipped(folder: Path, path: Path, *, below: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, below + file.relative_to(folder).as_posix())
    set_time(path)
    return path


@pytest.mark.parametrize("below", ["", "an export/of mine/"], ids=["at the root", "below"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_zip_is_read_like_the_folder_it_holds(case: Case, tmp_path, below):
    root = case.lay_out(tmp_path / "unpacked")
    (tmp_path / "zipped").mkdir()
    zipped(root, tmp_path / "zipped" / "export.zip", below=below)
    unpacked = import_folder(root)
    packed = import_folder(tmp_path / "zipped")
    check(packed)
    assert documents(packed) == documents(unpacked)
    assert ledgers(packed) == ledgers(unpacked)
    assert codes(packed) == codes(unpacked)


def documents(imported):
    return sorted(json.dumps(entry["document"]) for entry in golden(imported) if "document" in entry)


def ledgers(imported):
    return sorted(json.dumps(entry["ledger"]) for entry in golden(imported) if "ledger" in entry)


def codes(imported):
    return sorted(code for report in imported.reports for code in report.findings.counts)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_file_of_an_export_is_claimed_by_one_importer_at_most(case: Case, tmp_path):
    """ChatGPT, Claude.ai and DeepSeek give their files the same name."""
    root = case.lay_out(tmp_path)
    units, report = pipeline.find([root])
    assert not report.refused
    assert {unit.platform for unit in units} == {case.platform}
    for unit in units:
        claims = [name for name, match in judge(unit.source, platforms()).items() if match.verdict != "no"]
        assert claims == [case.platform]


def test_a_folder_with_an_export_keeps_its_other_files(tmp_path):
    """An export unpacked into a folder of downloads takes only what is its own."""
    case = next(case for case in CASES if str(case) == "chatgpt/plain_classic")
    (tmp_path / "conversations.json").write_bytes((case.source / "conversations.json").read_bytes())
    (tmp_path / "user.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "session").mkdir()
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-01-01T00:00:00.000Z"}
    line["message"] = {"role": "user", "content": "hello"}
    (tmp_path / "session" / "11111111-1111-4111-8111-111111111111.jsonl").write_text(json.dumps(line) + "\n")
    units, report = pipeline.find([tmp_path])
    assert [unit.platform for unit in units] == ["chatgpt", "claude_code"]
    assert report.unclaimed == [str(tmp_path / "notes.txt")]
