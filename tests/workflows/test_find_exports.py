"""Exports in the downloads folder: recognized by their heads, never imported, and quiet about everything else."""

import os
import shutil
import zipfile

import pytest

from homes import FIXTURES, write_zip
from palaver.workflows import find_exports
from palaver.workflows.archive_import import import_into_archive
from palaver.workflows.find_exports import FoundExport
from palaver.workflows.plan import Planner

CHATGPT = FIXTURES / "chatgpt" / "branches" / "source"


@pytest.fixture
def downloads(tmp_path):
    folder = tmp_path / "Downloads"
    folder.mkdir()
    return folder


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive.db"


def names(found):
    return {(export.path.name, export.platform) for export in found}


def import_path(path, archive):
    plan = Planner(archive, {}).plan([path])
    import_into_archive(plan.tasks, plan.report, archive, unclaimed=plan.unclaimed)


def test_exports_of_each_service_are_recognized(downloads, archive):
    write_zip(downloads / "one.zip", CHATGPT)
    write_zip(downloads / "two.ZIP", FIXTURES / "claude_ai" / "tool_calls" / "source")
    write_zip(downloads / "three.zip", FIXTURES / "deepseek" / "branches" / "source")
    shutil.copy(CHATGPT / "conversations.json", downloads)
    assert names(find_exports.find_exports(archive, downloads)) == {
        ("one.zip", "chatgpt"),
        ("two.ZIP", "claude_ai"),
        ("three.zip", "deepseek"),
        ("conversations.json", "chatgpt"),
    }
    assert not archive.exists()


def test_everything_else_is_passed_over_in_silence(downloads, archive):
    (downloads / "empty.zip").touch()
    (downloads / "not-a-zip.zip").write_text("hello")
    (downloads / "bad.json").write_text("{")
    (downloads / "package.json").write_text('{"name": "webshop"}')
    (downloads / "loop.zip").symlink_to(downloads / "loop.zip")
    (downloads / "folder.zip").mkdir()
    write_zip(downloads / "whole.zip", CHATGPT)
    (downloads / "half.zip").write_bytes((downloads / "whole.zip").read_bytes()[:-40])
    write_zip(downloads / "whole.zip", FIXTURES / "rules")
    with zipfile.ZipFile(downloads / "nested.zip", "w") as outer:
        outer.write(downloads / "whole.zip", "whole.zip")
    (downloads / "deep").mkdir()
    write_zip(downloads / "deep" / "export.zip", CHATGPT)
    assert find_exports.find_exports(archive, downloads) == []
    assert find_exports.find_exports(archive, downloads / "nowhere") == []


def test_an_imported_export_is_not_found_again_until_it_changes(downloads, archive):
    write_zip(downloads / "export.zip", CHATGPT)
    import_path(downloads / "export.zip", archive)
    assert find_exports.find_exports(archive, downloads) == []
    write_zip(downloads / "export.zip", FIXTURES / "chatgpt" / "plain_classic" / "source")
    assert find_exports.find_exports(archive, downloads) == [FoundExport(downloads / "export.zip", "chatgpt")]


def test_only_the_newest_files_are_looked_at(downloads, archive, monkeypatch):
    monkeypatch.setattr(find_exports, "_MAX_FILES", 2)
    for number, name in enumerate(("old.zip", "newer.zip", "newest.zip")):
        write_zip(downloads / name, CHATGPT)
        os.utime(downloads / name, (1_700_000_000 + number, 1_700_000_000 + number))
    found = find_exports.find_exports(archive, downloads)
    assert [export.path.name for export in found] == ["newest.zip", "newer.zip"]


def test_few_parts_of_a_zip_are_looked_at(downloads, archive, monkeypatch):
    judged = []
    monkeypatch.setattr("palaver.importers.match_importers", lambda source, _: judged.append(source) or {})
    with zipfile.ZipFile(downloads / "photos.zip", "w") as photos:
        for number in range(500):
            photos.writestr(f"{number}.jpg", b"\xff\xd8\xff")
    assert find_exports.find_exports(archive, downloads) == []
    assert 0 < len(judged) <= 2 * find_exports._MAX_PARTS
