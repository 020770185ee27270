"""Files beside a source that are read for more about it, and what editors remember: never an exception, never a lie."""

import json
import sqlite3
import sys
from pathlib import Path

import pytest

from palaver.importers._shared import vscode
from palaver.importers._shared.side_files import read_side_file
from palaver.importers._shared.vscode import global_storage, path_from_uri, read_state
from palaver.sources.source import Source


@pytest.mark.parametrize(
    ("name", "content", "value"),
    [
        ("a.json", '{"a": 1}', {"a": 1}),
        ("a.json", '{"a": 1', None),
        ("a.json", "", None),
        ("a.yaml", "a: [1, two]", {"a": [1, "two"]}),
        ("a.yml", "- a: 1\n  b: {", None),
        ("a.yaml", "a: !!python/object/apply:os.getcwd []", None),
        ("a.yaml", "when: 2024-13-45", None),
        ("a.txt", "a: 1", None),
        ("missing.json", None, None),
    ],
)
def test_a_side_file_is_a_value_or_nothing(tmp_path, name, content, value):
    if content is not None:
        (tmp_path / name).write_text(content)
    assert read_side_file(Source.at(tmp_path / name)) == value


def test_a_side_file_that_changed_is_read_anew(tmp_path):
    path = tmp_path / "index.json"
    path.write_text("[1]")
    first = read_side_file(Source.at(path))
    assert read_side_file(Source.at(path)) is first == [1]
    path.write_text("[1, 2]")
    assert read_side_file(Source.at(path)) == [1, 2]


@pytest.fixture
def state(tmp_path) -> Path:
    path = tmp_path / "odd name #1?" / "state.vscdb"
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        rows = [("Maker.Tool", json.dumps({"history": [1]})), ("other", b'"words"'), ("broken", "{"), ("number", 7)]
        connection.executemany("INSERT INTO ItemTable VALUES (?, ?)", rows)
    connection.close()
    return path


@pytest.mark.parametrize(
    ("key", "value"),
    [("maker.tool", {"history": [1]}), ("MAKER.TOOL", {"history": [1]}), ("other", "words"), ("broken", None)],
)
def test_what_an_editor_remembers(state, key, value):
    assert read_state(state, key) == value


def test_nothing_is_remembered_where_nothing_can_be_read(state, tmp_path):
    assert read_state(state, "number") is None
    assert read_state(state, "absent") is None
    assert read_state(tmp_path / "none.vscdb", "other") is None
    (tmp_path / "text.vscdb").write_text("no database")
    assert read_state(tmp_path / "text.vscdb", "other") is None
    with sqlite3.connect(tmp_path / "empty.vscdb") as connection:
        connection.execute("CREATE TABLE other (key)")
    connection.close()
    assert read_state(tmp_path / "empty.vscdb", "other") is None


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"XDG_CONFIG_HOME": ""}, "home/.config"),
        ("linux", {"XDG_CONFIG_HOME": "{top}/settings"}, "settings"),
        ("darwin", {}, "home/Library/Application Support"),
        ("win32", {"APPDATA": "{top}/roaming"}, "roaming"),
        ("win32", {"APPDATA": ""}, "home/AppData/Roaming"),
    ],
)
def test_editors_keep_their_files_in_each_systems_own_place(tmp_path, monkeypatch, platform, variables, folder):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.delenv("VSCODE_PORTABLE", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(top=tmp_path))
    found = global_storage("maker.tool")
    assert tmp_path / folder / "Code" / "User" / "globalStorage" / "maker.tool" in found
    assert tmp_path / folder / "Cursor" / "User" / "globalStorage" / "maker.tool" in found
    assert tmp_path / "home" / ".vscode-server" / "data" / "User" / "globalStorage" / "maker.tool" in found
    assert len(found) == len(set(found)) == len(vscode.user_folders())


def test_a_portable_editor_has_its_files_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("VSCODE_PORTABLE", str(tmp_path))
    assert tmp_path / "user-data" / "User" / "globalStorage" / "a.b" in global_storage("a.b")


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("file:///c%3A/garden/b%20c", "c:/garden/b c"),
        ("file:///home/jo/100%25", "/home/jo/100%"),
        ("file://server/share/a", "//server/share/a"),
        ("file://localhost/a", "/a"),
        ("/home/jo", "/home/jo"),
        ("d:\\garden", "d:\\garden"),
        ("vscode-remote://wsl/home", "vscode-remote://wsl/home"),
        ("file://[", "file://["),
        ("", ""),
    ],
)
def test_an_address_of_a_file_is_its_path(address, path):
    assert path_from_uri(address) == path
