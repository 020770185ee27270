"""Pictures, sounds and files: from pointers to members, and out of the export."""

import json
import zipfile

import pytest

from importing import import_units
from palaver.importers.chatgpt.assets import file_id
from palaver.model.report import SourceReport
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines

PNG = bytes.fromhex("89504e470d0a1a0a") + b"the rest of a picture"


def message(key, parts, **metadata):
    content = {"content_type": "multimodal_text", "parts": parts}
    return {"id": key, "author": {"role": "user"}, "create_time": 1.7e9, "content": content, "metadata": metadata}


def picture(pointer):
    return {"content_type": "image_asset_pointer", "asset_pointer": pointer, "width": 1, "height": 1}


def export(tmp_path, messages, members, page=b""):
    nodes = {one["id"]: {"id": one["id"], "parent": None, "message": one} for one in messages}
    conversation = {"id": "c", "title": "t", "create_time": 1.7e9, "mapping": nodes, "current_node": messages[-1]["id"]}
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation]))
        for name, content in members.items():
            archive.writestr(name, content)
        if page:
            archive.writestr("chat.html", page)
    return path


def read(path, **options):
    (unit,), _ = find_units([path])
    report = SourceReport(unit.source.label, unit.platform)
    (document,) = [json.loads(line) for line in document_lines(unit, report, options)]
    assert not report.failure
    return document, report


@pytest.mark.parametrize(
    ("pointer", "identifier"),
    [
        ("file-service://file-AbC123", "file-AbC123"),
        ("sediment://file_00ff", "file_00ff"),
        ("sediment://3f2a#file_00ff#wm", "file_00ff"),
        ("sediment://3f2a#file_00ff#p_0.1a2b.jpg", "file_00ff"),
        ("file-AbC123-holiday.png", "file-AbC123"),
        ("https://example.org/picture.png", None),
        (None, None),
    ],
)
def test_the_id_in_a_pointer(pointer, identifier):
    assert file_id(pointer) == identifier


@pytest.mark.parametrize(
    ("pointer", "member", "media_type"),
    [
        ("file-service://file-AbC123", "file-AbC123-holiday.png", "image/png"),
        ("file-service://file-AbC123", "dalle-generations/file-AbC123-0000.webp", "image/webp"),
        ("sediment://file_00ff", "user-Xy/file_00ff-1234.png", "image/png"),
        ("sediment://3f2a#file_00ff#wm", "file_00ff.dat", "image/png"),
    ],
)
def test_a_pointer_leads_to_its_member(tmp_path, pointer, member, media_type):
    document, report = read(export(tmp_path, [message("m", [picture(pointer)])], {member: PNG}))
    source = document["messages"][0]["content"][0]["source"]
    assert source == {"type": "file", "data": member, "media_type": media_type, "asset_pointer": pointer}
    assert "missing-asset" not in report.findings.counts
    assert "unreferenced-asset" not in report.ledger.skipped


def test_a_missing_asset_is_a_note(tmp_path):
    document, report = read(export(tmp_path, [message("m", [picture("sediment://file_00ff")])], {}))
    assert document["messages"][0]["content"][0]["source"] == {
        "type": "url",
        "data": "sediment://file_00ff",
        "available": False,
    }
    assert [finding.severity for finding in report.findings.first] == ["note"]


def test_the_list_in_the_viewer_page_is_used_where_names_do_not_tell(tmp_path):
    page = b'<script>var jsonData = [{"a": "]"}];\nvar assetsJson = {"file-service://x": "odd name.png"};\n</script>'
    path = export(tmp_path, [message("m", [picture("file-service://x")])], {"dalle-generations/y.png": PNG}, page)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("odd name.png", PNG)
    document, _ = read(path)
    assert document["messages"][0]["content"][0]["source"]["data"] == "odd name.png"


def test_a_long_list_in_the_viewer_page_is_read_to_its_end(tmp_path):
    listed = {f"file-service://x{number}": f"odd name {number}.png" for number in range(40_000)}
    page = b"<script>var jsonData = [];\nvar assetsJson = " + json.dumps(listed).encode() + b";</script>"
    path = export(tmp_path, [message("m", [picture("file-service://x39999")])], {}, page)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("odd name 39999.png", PNG)
    document, _ = read(path)
    assert document["messages"][0]["content"][0]["source"]["data"] == "odd name 39999.png"


def test_names_of_attachments_lead_to_members_too(tmp_path):
    names = json.dumps({"file-Zz9.dat": "holiday.png"})
    attachment = {"id": "other", "name": "holiday.png", "mime_type": "image/png"}
    path = export(
        tmp_path,
        [message("m", ["look"], attachments=[attachment])],
        {"file-Zz9.dat": PNG, "conversation_asset_file_names.json": names},
    )
    document, _ = read(path)
    block = document["messages"][0]["content"][1]
    assert (block["type"], block["name"], block["source"]["data"]) == ("file", "holiday.png", "file-Zz9.dat")


def test_assets_are_extracted_once_under_the_name_of_their_content(tmp_path):
    messages = [
        message("m", [picture("sediment://file_1"), picture("sediment://file_2"), picture("sediment://file_1")])
    ]
    path = export(tmp_path, messages, {"file_1.dat": PNG, "file_2-same.png": PNG})
    into = tmp_path / "assets"
    document, _ = read(path, assets=str(into))
    sources = [block["source"] for block in document["messages"][0]["content"]]
    (file,) = [path for path in into.rglob("*") if path.is_file()]
    assert file.read_bytes() == PNG
    assert file.suffix == ".png"
    assert {source["data"] for source in sources} == {file.as_posix()}
    assert [source["member"] for source in sources] == ["file_1.dat", "file_2-same.png", "file_1.dat"]


def test_a_member_that_cannot_be_read_is_told_and_named(tmp_path):
    path = export(tmp_path, [message("m", [picture("sediment://file_1")])], {"file_1.png": PNG})
    path.write_bytes(path.read_bytes().replace(b"the rest of", b"the rust of"))
    document, report = read(path, assets=str(tmp_path / "assets"))
    assert document["messages"][0]["content"][0]["source"]["data"] == "file_1.png"
    assert report.findings.counts["unreadable-asset"] == 1
    assert not [path for path in (tmp_path / "assets").rglob("*") if path.is_file()]


def test_files_that_nobody_shows_are_counted(tmp_path):
    path = export(tmp_path, [message("m", ["nothing to see"])], {"file_1.png": PNG, "user-a/file_2.png": PNG})
    _, report = read(path)
    assert report.ledger.skipped == {"unreferenced-asset": 2}


def test_the_account_is_never_opened(tmp_path):
    path = export(tmp_path, [message("m", ["hello"])], {"user.json": b"\0 not JSON"})
    _, report = read(path)
    assert report.ledger.skipped == {"account": 1}
    assert not report.findings.counts


def test_a_bare_file_names_pointers_and_misses_nothing(tmp_path):
    nodes = {"m": {"parent": None, "message": message("m", [picture("sediment://file_00ff")])}}
    path = tmp_path / "saved.json"
    path.write_text(json.dumps({"id": "c", "create_time": 1, "mapping": nodes, "current_node": "m"}))
    units, _ = find_units([path])
    imported = import_units(tmp_path, units)
    assert imported.documents[0]["messages"][0]["content"][0]["source"] == {
        "type": "url",
        "data": "sediment://file_00ff",
    }
    assert not imported.reports[0].findings.counts
