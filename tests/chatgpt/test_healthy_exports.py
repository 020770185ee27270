"""Every file that stands beside the conversations of an export leaves the import green: exit 0, notes at most."""

import json
import zipfile

import pytest
from typer.testing import CliRunner

from palaver.cli import app

CHAT = {
    "id": "chat-1",
    "title": "Knots",
    "create_time": 1680426400.0,
    "current_node": "a",
    "mapping": {
        "q": {
            "id": "q",
            "parent": None,
            "message": {"id": "q", "author": {"role": "user"}, "content": {"parts": ["Which knot holds a hammock?"]}},
        },
        "a": {
            "id": "a",
            "parent": "q",
            "message": {"id": "a", "author": {"role": "assistant"}, "content": {"parts": ["A becket hitch."]}},
        },
    },
}
BROKEN_CHAT = {"id": "chat-2", "title": "Torn", "create_time": 1680426500.0}


def compared(message_id, text):
    return {"id": message_id, "author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [text]}}


ASKED = {"prompt_convo": {"messages": [{"id": "p", "author": {"role": "user"}, "content": {"parts": ["Which knot?"]}}]}}
TURNS = {"original_turn": [compared("t1", "A bowline.")], "new_turn": [compared("t2", "A sheet bend.")]}
ROW = {"id": "row-1", "user_id": "user-X", "create_time": "2023-04-02T09:00:00Z", "metadata": {"cf_headers": {}}}
COMPARISON_IN_CONTENT = {**ROW, "content": {"input": ASKED, "output": {"feedback_step_2": TURNS}}}
COMPARISON_IN_ROW = {**ROW, "input": ASKED, "output": {"feedback_step_2": TURNS}}
RATING = {
    "id": "a",
    "conversation_id": "chat-1",
    "user_id": "user-X",
    "rating": "thumbs_up",
    "create_time": "2023-04-02T09:00:00Z",
    "update_time": None,
    "workspace_id": None,
    "content": '{"tags": ["helpful"], "text": "It held."}',
}
LINK = {"id": "share-1", "conversation_id": "chat-1", "title": "Knots", "is_anonymous": True}
LIBRARY_ROW = {
    "file_id": "file_0000000011112222333344445555aaaa",
    "file_name": "hitch.png",
    "mime_type": "image/png",
    "file_size_bytes": 8,
    "origination_thread_id": "chat-1",
    "origination_message_id": "a",
    "gizmo_id": None,
}
MANIFEST = {
    "export_files": [{"path": "conversations.json", "size_bytes": 9}],
    "logical_files": {"conversations.json": {"files": ["conversations.json"], "shard_count": 1, "sharded": False}},
    "manifest_file": "export_manifest.json",
    "version": 1,
}
UUID = "0a1b2c3d-0000-4000-8000-00000000e001"

SIDE_FILES = {
    "user": ("user.json", {"id": "user-X", "email": "a@example.org", "chatgpt_plus_user": True, "phone_number": None}),
    "settings": (
        "user_settings.json",
        [{"user_id": "user-X", "settings": {"voice_name": "cove"}, "announcements": {}}],
    ),
    "ratings": ("message_feedback.json", [RATING, {**RATING, "rating": "thumbsDown", "content": "{}"}]),
    "ratings of other chats": (
        "message_feedback.json",
        [{**RATING, "id": f"m{n}", "conversation_id": "gone"} for n in range(7)],
    ),
    "ratings without a message": ("message_feedback.json", [{**RATING, "id": None}, {"rating": "thumbs_up"}]),
    "links": ("shared_conversations.json", [LINK, {**LINK, "id": "share-2", "conversation_id": "gone"}]),
    "links without a chat": ("shared_conversations.json", [{"id": "share-3", "title": "Knots"}]),
    "comparisons with a content": ("model_comparisons.json", [COMPARISON_IN_CONTENT]),
    "comparisons in the row": ("model_comparisons.json", [COMPARISON_IN_ROW, COMPARISON_IN_ROW]),
    "comparisons of no shape": ("model_comparisons.json", [{**ROW, "input": None, "output": None}, {}]),
    "no comparisons": ("model_comparisons.json", []),
    "manifest": ("export_manifest.json", MANIFEST),
    "manifest of sites": ("sites/export_manifest.json", MANIFEST),
    "names of assets": ("conversation_asset_file_names.json", {"file-AbC.dat": "hitch.jpg"}),
    "library": ("library_files.json", [LIBRARY_ROW, {**LIBRARY_ROW, "origination_thread_id": "gone"}]),
    "group chats": ("group_chats.json", {"chats": []}),
    "shopping": ("shopping.json", []),
    "videos": ("sora.json", {"user": {}, "generations": [], "tasks": [], "presets": [], "uploads": []}),
    "advertisements": ("ads.json", [{"ad": 1}]),
    "canvas": (f"textdocs/{UUID}.json", {"id": UUID, "content": "A list of knots."}),
    "page": ("chat.html", b"<html><script>var jsonData = []; var assetsJson = null;</script></html>"),
    "voice": (f"{UUID}/audio/clip.wav", b"RIFF\0\0\0\0WAVE"),
    "upload": ("file-AbCdEfGhIjKlMnOpQrStUv-hitch.png", b"\x89PNG\r\n\x1a\n"),
    "asset without a name": ("file_0000000011112222333344445555aaaa.dat", b"\x89PNG\r\n\x1a\n"),
    "picture": (f"dalle-generations/file-AbC-{UUID}.webp", b"RIFF\0\0\0\0WEBP"),
    "picture of the user": (f"user-AbC/file_0000000011112222333344445555aaaa-{UUID}.png", b"\x89PNG\r\n\x1a\n"),
}


@pytest.fixture(autouse=True)
def archive(tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path / "archive"))


def export_zip(folder, conversations, side_files):
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(conversations))
        for name, content in side_files:
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return path


def imported(path):
    result = CliRunner().invoke(app, ["import", str(path), "--json"], catch_exceptions=False)
    report = json.loads(result.stdout)
    assert report["refused"] == []
    return result.exit_code, report


@pytest.mark.parametrize("side_file", SIDE_FILES.values(), ids=SIDE_FILES.keys())
def test_a_side_file_ends_with_exit_0(tmp_path, side_file):
    exit_code, report = imported(export_zip(tmp_path, [CHAT], [side_file]))
    assert exit_code == 0
    assert report["totals"]["records"]["quarantined"] == {}
    assert report["unclaimed"] == []
    compares = side_file[1] in ([COMPARISON_IN_CONTENT], [COMPARISON_IN_ROW, COMPARISON_IN_ROW])
    assert report["totals"]["conversations"] == (2 if compares else 1)


def test_an_export_with_all_of_them_ends_with_exit_0(tmp_path):
    by_name = dict(SIDE_FILES.values())
    exit_code, report = imported(export_zip(tmp_path, [CHAT], by_name.items()))
    assert exit_code == 0
    assert report["unclaimed"] == []


@pytest.mark.parametrize("side_file", SIDE_FILES.values(), ids=SIDE_FILES.keys())
def test_a_damaged_conversation_beside_a_side_file_is_still_an_error(tmp_path, side_file):
    exit_code, report = imported(export_zip(tmp_path, [CHAT, BROKEN_CHAT], [side_file]))
    assert exit_code == 1
    assert report["totals"]["records"]["quarantined"] == {"bad-conversation": 1}


def test_a_conversation_file_that_the_manifest_names_and_the_export_lacks_is_still_an_error(tmp_path):
    files = ["conversations.json", "conversations-001.json"]
    manifest = {**MANIFEST, "logical_files": {"conversations.json": {"files": files}}}
    exit_code, report = imported(export_zip(tmp_path, [CHAT], [("export_manifest.json", manifest)]))
    assert exit_code == 1
    assert report["totals"]["findings"]["missing-member"] == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ratings of other chats", "7 ratings belong to chats that are not in the export"),
        ("links", "1 shared link belongs to a chat that is not in the export"),
    ],
)
def test_a_note_counts_what_belongs_to_chats_outside_the_export(tmp_path, name, sentence):
    path = export_zip(tmp_path, [CHAT], [SIDE_FILES[name]])
    result = CliRunner().invoke(app, ["import", str(path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert sentence in " ".join(result.stderr.split())
