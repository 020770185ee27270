"""Which files are DeepSeek's: three services call theirs conversations.json."""

import json
import zipfile

import pytest

from importing import FIXTURES, import_folder
from palaver.importers import importer
from palaver.sources.source import Source

DEEPSEEK = importer("deepseek")


def node(parent, message):
    return {"id": "1", "parent": parent, "children": [], "message": message}


EXPORTED = {"id": "a", "inserted_at": "2026-01-01T10:00:00+08:00", "mapping": {"root": node(None, None)}}
FRAGMENTS = {"mapping": {"1": node(None, {"fragments": []})}}
CHATGPT = {
    "title": "x",
    "create_time": 1.0,
    "current_node": "1",
    "mapping": {"1": node(None, {"author": {"role": "user"}, "content": {"parts": ["hi"]}})},
}
CLAUDE = {"uuid": "a", "name": "x", "chat_messages": [{"sender": "human", "text": "hi"}]}
ANSWER = {"chat_session": {"id": "a"}, "chat_messages": []}
TREE = {"id": 1, "type": "user", "content": "hi", "thought": None, "children": []}


def match(tmp_path, value, name="conversations.json"):
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return DEEPSEEK.recognizes(Source.at(path))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ([EXPORTED], "export"),
        (EXPORTED, "export"),
        ([FRAGMENTS], "export"),
        ({"conversations": [EXPORTED]}, "export"),
        ({"saved": 1, "chat": EXPORTED}, "export"),
        (ANSWER, "answer"),
        ({"code": 0, "data": {"biz_data": ANSWER}}, "answer"),
        ([ANSWER], "answer"),
    ],
)
def test_a_file_is_known_by_its_shape(tmp_path, value, form):
    found = match(tmp_path, value, "some name.json")
    assert (found.verdict, found.form) == ("yes", form)


@pytest.mark.parametrize(
    "value",
    [
        [CHATGPT],
        [CHATGPT | {"inserted_at": "2026-01-01"}],
        [CLAUDE],
        CLAUDE,
        {"code": 0, "data": {"biz_data": {"chat_sessions": []}}},
        {"mapping": {}},
        {"mapping": [], "inserted_at": "2026-01-01"},
        [{**TREE, "thought": 3}],
        [],
        "mapping",
    ],
)
def test_files_of_others_are_not_claimed(tmp_path, value):
    assert match(tmp_path, value).verdict == "no"
    assert DEEPSEEK.recognizes(Source.at(tmp_path)).verdict == "no"


def test_a_tree_without_a_name_in_it_is_only_a_guess(tmp_path):
    assert match(tmp_path, [TREE]).verdict == "maybe"


def test_a_first_chat_that_is_larger_than_the_head(tmp_path):
    large = FRAGMENTS | {"mapping": {"1": node(None, {"fragments": [{"type": "REQUEST", "content": "x" * 100_000}]})}}
    assert match(tmp_path, [{"title": "x"} | large]).verdict == "yes"


def test_a_zip_is_read_like_the_folder_it_was_unpacked_to(tmp_path):
    folder = FIXTURES / "deepseek" / "folder_with_account" / "source" / "export"
    with zipfile.ZipFile(tmp_path / "deepseek_data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    zipped, unpacked = import_folder(tmp_path), import_folder(folder)
    assert zipped.documents == unpacked.documents
    assert [report.ledger for report in zipped.reports] == [report.ledger for report in unpacked.reports]
    assert zipped.reports[0].ledger.skipped == {"account": 1}
