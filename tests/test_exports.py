"""What holds for the exports of chat services: the same in a ZIP as unpacked, and each file read by one importer."""

import json
import zipfile
from pathlib import Path

import pytest

from importing import Case, cases, check, golden, import_folder, set_time
from palaver.importers import match_importers, platforms
from palaver.workflows.find_units import find_units

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
    units, report = find_units([root])
    assert not report.refused
    assert {unit.platform for unit in units} == {case.platform}
    for unit in units:
        claims = [name for name, match in match_importers(unit.source, platforms()).items() if match.verdict != "no"]
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
    units, report = find_units([tmp_path])
    assert [unit.platform for unit in units] == ["chatgpt", "claude_code"]
    assert report.unclaimed == [str(tmp_path / "notes.txt")]


# -- ZIPs that somebody damaged, or made to do harm ------------------------------------------------------------------


def conversation(name: str, words: str = "a few words to be found again") -> dict:
    message = {"author": {"role": "user"}, "create_time": 1.7e9, "content": {"content_type": "text", "parts": [words]}}
    nodes = {"m": {"id": "m", "parent": None, "message": message}}
    return {"id": name, "title": name, "create_time": 1.7e9, "mapping": nodes, "current_node": "m"}


def packed(path: Path, members: dict[str, bytes], *, stored: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def found_in(path: Path) -> tuple[list[str], dict[str, int]]:
    """The ids of the conversations that come out, and the codes of the findings."""
    imported = import_folder(path.parent)
    check(imported)
    counts = {code: count for report in imported.reports for code, count in report.findings.counts.items()}
    return [document["conversation_id"] for document in imported.documents], counts


TWO = json.dumps([conversation("first"), conversation("second")]).encode()


@pytest.mark.parametrize("name", ["../../evil.json", "/etc/evil.json", "C:\\evil.json", "a/../../evil.json"])
def test_members_that_point_out_of_the_zip_are_told_and_the_rest_is_read(tmp_path, name):
    ids, findings = found_in(packed(tmp_path / "export.zip", {"conversations.json": TWO, name: b"[]"}))
    assert ids == ["first", "second"]
    assert findings == {"unsafe-member-name": 1}


def test_a_zip_in_the_export_is_told(tmp_path):
    inner = packed(tmp_path / "inner.zip", {"conversations.json": TWO}).read_bytes()
    (tmp_path / "inner.zip").unlink()
    ids, findings = found_in(packed(tmp_path / "export.zip", {"conversations.json": TWO, "more.zip": inner}))
    assert ids == ["first", "second"]
    assert findings == {"nested-zip": 1}


def test_a_member_that_stands_twice_is_told_and_the_last_is_read(tmp_path):
    path = packed(tmp_path / "export.zip", {"conversations.json": b"[]"})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("conversations.json", TWO)
    ids, findings = found_in(path)
    assert ids == ["first", "second"]
    assert findings == {"duplicate-member": 1}


def test_an_encrypted_export_is_refused_in_a_sentence(tmp_path):
    path = packed(tmp_path / "export.zip", {"conversations.json": TWO})
    raw = bytearray(path.read_bytes())
    for magic, flags_at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(magic) + flags_at] |= 1
    path.write_bytes(raw)
    units, report = find_units([path])
    assert not units
    assert len(report.refused) == 1
    assert "encrypted" in report.refused[0]


def test_of_a_zip_cut_in_the_middle_the_rest_is_read(tmp_path):
    many = json.dumps([conversation(f"c{number}", "x" * 500) for number in range(200)]).encode()
    path = packed(tmp_path / "export.zip", {"conversations.json": many, "user.json": b"{}"}, stored=True)
    path.write_bytes(path.read_bytes()[: len(many) // 2])
    ids, findings = found_in(path)
    assert 80 < len(ids) < 120
    assert ids[:-1] == [f"c{number}" for number in range(len(ids) - 1)]
    assert findings.keys() >= {"zip-salvaged", "source-cut-off"}


def test_a_bomb_is_read_up_to_its_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_ZIP_MAX_BYTES", "5000")
    bomb = b"[" + json.dumps(conversation("before")).encode() + b"," + b" " * 1_000_000 + TWO[1:]
    ids, findings = found_in(packed(tmp_path / "export.zip", {"conversations.json": bomb}))
    assert ids == ["before"]
    assert findings.keys() >= {"source-cut-off"}


def test_a_zip64_export_is_read(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive, archive.open("conversations.json", "w", force_zip64=True) as member:
        member.write(TWO)
    assert found_in(path) == (["first", "second"], {})


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "deflated"])
def test_one_broken_conversation_costs_only_itself(tmp_path, stored):
    broken = [conversation("first"), {"title": "the broken one", "mapping": 7}, conversation("second")]
    path = packed(tmp_path / "export.zip", {"conversations.json": json.dumps(broken).encode()}, stored=stored)
    imported = import_folder(tmp_path)
    check(imported)
    assert [document["conversation_id"] for document in imported.documents] == ["first", "second"]
    (aside,) = imported.quarantined
    assert (aside.code, json.loads(aside.raw)) == ("bad-conversation", broken[1])
    assert "the broken one" in aside.message
    assert imported.reports[0].ledger.read == 3
    assert Path(imported.units[0].source.label) == path


def test_a_bug_in_the_mapping_costs_one_conversation(tmp_path, monkeypatch):
    from palaver.importers.chatgpt import export

    sound = export.document

    def breaks(raw, *rest):
        if raw["id"] == "second":
            raise RuntimeError("nobody thought of this")
        return sound(raw, *rest)

    monkeypatch.setattr(export, "document", breaks)
    many = json.dumps([conversation(name) for name in ("first", "second", "third")]).encode()
    packed(tmp_path / "export.zip", {"conversations.json": many})
    imported = import_folder(tmp_path)
    assert [document["conversation_id"] for document in imported.documents] == ["first", "third"]
    assert [(entry.code, json.loads(entry.raw)["id"]) for entry in imported.quarantined] == [("unforeseen", "second")]
    assert imported.reports[0].ledger.adds_up


def test_a_shard_or_a_side_file_that_cannot_be_opened_costs_only_itself(tmp_path):
    members = {"conversations-000.json": TWO, "conversations-001.json": TWO, "message_feedback.json": b"[]"}
    path = packed(tmp_path / "export.zip", members)
    raw = bytearray(path.read_bytes())
    for name in (b"conversations-001.json", b"message_feedback.json"):
        raw[raw.index(name) - 22] = raw[raw.rindex(name) - 36] = 77  # compressed in a way that nobody knows
    path.write_bytes(raw)
    ids, findings = found_in(path)
    assert ids == ["first", "second"]
    assert findings == {"source-cut-off": 2}
