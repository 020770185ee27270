"""What Claude Code wrote down about a project is one conversation, whose versions the archive joins."""

import os
from contextlib import closing

import orjson
import pytest

from archiving import exported, keep_folder
from importing import import_folder
from palaver.archive.connection import open_to_read
from palaver.sources.folders import DiskFolder


def write(tmp_path, **texts):
    folder = tmp_path / "projects" / "-home-ada-mill" / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    return folder


def test_the_files_of_a_project_are_one_conversation(tmp_path):
    write(tmp_path, MEMORY="The baker pays on Friday.", stones="The runner was dressed in April.")
    imported = import_folder(tmp_path)
    (document,) = imported.documents
    assert document["conversation_id"] == "memory:-home-ada-mill"
    assert [message["content"][0]["text"] for message in document["messages"]] == [
        "The baker pays on Friday.",
        "The runner was dressed in April.",
    ]
    assert not imported.found.unclaimed


@pytest.mark.parametrize(
    "folder", ["notes/-home-ada-mill/memory", "projects/mill/memory", "projects/-home-ada-mill/notes"]
)
def test_any_other_folder_is_left_alone(tmp_path, folder):
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "MEMORY.md").write_text("The baker pays on Friday.")
    assert not import_folder(tmp_path, "claude_code").units


def test_an_edited_file_is_a_new_version_of_its_message(tmp_path):
    file = write(tmp_path / "source", MEMORY="The baker pays on Friday, as he says.") / "MEMORY.md"
    os.utime(file, (1_767_225_600, 1_767_225_600))
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    file.write_text("He pays on Monday.")
    os.utime(file, (1_767_312_000, 1_767_312_000))
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    (document,) = map(orjson.loads, exported(tmp_path / "archive.db"))
    assert [message["content"][0]["text"] for message in document["messages"]] == ["He pays on Monday."]
    with closing(open_to_read(tmp_path / "archive.db")) as connection:
        assert connection.execute("select count(*) from revision").fetchone() == (1,)


def test_a_file_that_cannot_be_read_costs_nothing_but_itself(tmp_path, monkeypatch):
    write(tmp_path, MEMORY="The baker pays on Friday.", stones="The runner was dressed in April.")
    opening = DiskFolder.open
    monkeypatch.setattr(
        DiskFolder, "open", lambda folder, name: opening(folder, "gone" if name == "stones.md" else name)
    )
    imported = import_folder(tmp_path)
    assert len(imported.documents[0]["messages"]) == 1
    assert imported.skipped_rules() == {"unreadable-side-file"}
    assert imported.reports[0].findings.counts["unreadable-side-file"] == 1
