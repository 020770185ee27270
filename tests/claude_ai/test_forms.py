"""The forms in which an export comes, each known by its shape, and files of others that look much the same."""

import zipfile

import orjson
import pytest

from importing import FIXTURES, check, import_folder, import_units
from palaver.importers import importer
from palaver.sources.source import Source
from palaver.workflows.find_units import find_units

LONG = "a long letter that was pasted into the question " * 4_000
CONVERSATION = {"uuid": "c-1", "name": "Ferns", "chat_messages": [{"uuid": "m-1", "sender": "human", "text": "Which?"}]}
PROJECT = {"uuid": "p-1", "name": "Ferns", "prompt_template": "Be brief.", "is_private": True, "docs": []}
MEMORY = {"conversations_memory": "likes ferns", "account_uuid": "a-1"}


def written(tmp_path, value, name="saved.json"):
    path = tmp_path / name
    path.write_bytes(value if isinstance(value, bytes) else orjson.dumps(value))
    return path


def verdict(tmp_path, value):
    return importer("claude_ai").recognizes(Source.at(written(tmp_path, value))).verdict


def ids(imported):
    return [document["conversation_id"] for document in imported.documents]


@pytest.mark.parametrize(
    "value",
    [
        [CONVERSATION],
        CONVERSATION,
        {"conversations": [CONVERSATION], "exported_at": "today"},
        {"conversation": CONVERSATION},
        [{**CONVERSATION, "chat_messages": []}],
        {"chat_messages": CONVERSATION["chat_messages"]},
        {"uuid": "c-1", "chat_messages": [{"uuid": "m-1", "text": LONG}]},
        [PROJECT],
        PROJECT,
        [MEMORY],
    ],
)
def test_shapes_of_an_export(tmp_path, value):
    assert verdict(tmp_path, value) == "yes"


@pytest.mark.parametrize(
    "value",
    [
        [],
        [{"title": "t", "conversation_id": "c", "chat_messages": [{"text": "without sender or uuid"}]}],
        {"uuid": "c-1", "chat_messages": {"m-1": {"sender": "human"}}},
        [{"id": "c", "title": "t", "mapping": {}}],
        {"uuid": "x", "prompt_template": "{question}"},
        {"text": 'somebody quotes "chat_messages" and "conversations_memory"'},
        b'"chat_messages"',
    ],
)
def test_files_of_others(tmp_path, value):
    assert verdict(tmp_path, value) == "no"


@pytest.mark.parametrize("case", ["export_folder", "file_per_conversation"])
def test_a_zip_gives_what_its_folder_gives(tmp_path, case):
    folder = FIXTURES / "claude_ai" / case / "source" / "data-2026-09-01"
    (tmp_path / "zip").mkdir()
    with zipfile.ZipFile(tmp_path / "zip" / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*.json")):
            archive.write(path, path.relative_to(folder).as_posix())
    packed, unpacked = import_folder(tmp_path / "zip"), import_folder(folder)
    assert len(packed.units) == len(unpacked.units) == 1
    assert not packed.found.unclaimed
    assert packed.reports[0].ledger == unpacked.reports[0].ledger
    assert ids(packed) == ids(unpacked)


def test_an_export_without_its_other_files(tmp_path):
    """Since 2026 conversations come in a download of their own, and so do the others."""
    written(tmp_path, [CONVERSATION], "conversations-000.json")
    written(tmp_path, [PROJECT], "what was in the second mail.json")
    assert ids(import_folder(tmp_path)) == ["c-1", "project:p-1"]


def test_the_account_is_not_opened(tmp_path):
    written(tmp_path, [CONVERSATION], "conversations.json")
    written(tmp_path, b"\0 no JSON at all", "users.json")
    imported = import_folder(tmp_path)
    assert imported.reports[0].ledger.skipped == {"account": 1}
    assert not {"bad-json", "nul-bytes"} & imported.reports[0].findings.counts.keys()


def test_files_beside_an_export_stay_with_their_owners(tmp_path):
    """An export unpacked where other things lie: a folder `projects` may be anybody's."""
    written(tmp_path, [CONVERSATION], "conversations.json")
    (tmp_path / "projects").mkdir()
    written(tmp_path / "projects", {"name": "a package"}, "package.json")
    imported = import_folder(tmp_path)
    assert ids(imported) == ["c-1"]
    assert imported.found.unclaimed == [str(tmp_path / "projects" / "package.json")]


@pytest.mark.parametrize(
    ("before", "between", "after"),
    [
        (b"null\n", b",\n", b"]"),
        (b"\x01\n", b",\n", b"]"),
        (b'{\0"conversations": [', b",", b"]}"),
        (b'{"convorsations": [', b",", b"]}"),
        (b'{"a": 1}, [', b",", b"]"),
    ],
)
def test_damage_around_the_conversations(tmp_path, before, between, after):
    conversations = [orjson.dumps({**CONVERSATION, "uuid": f"c-{number}"}) for number in (1, 2)]
    path = written(tmp_path, before + between.join(conversations) + after)
    imported = import_units(tmp_path, find_units([path], "claude_ai")[0])
    check(imported)
    assert ids(imported) == ["c-1", "c-2"]
