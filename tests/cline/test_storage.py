"""Where the products of the family keep their tasks, and what is known around a task folder."""

import json
import sqlite3
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from palaver.importers._cline_family.product import (
    CLINE,
    KILO_CODE,
    PRODUCTS,
    ROO_CODE,
    custom_storages,
    parse_relaxed_json,
    product_of_path,
)
from palaver.importers._cline_family.task_info import Storage
from palaver.sources.source import Source
from palaver.sources.zip.folder import ZipFolder

VARIABLES = ("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR", "XDG_CONFIG_HOME", "APPDATA", "VSCODE_PORTABLE")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of our own, with nothing set that points elsewhere."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def remember(path, **values):
    """Make an editor's memory, as the editor does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        rows = [(key, json.dumps(value)) for key, value in values.items()]
        connection.executemany("INSERT INTO ItemTable VALUES (?, ?)", rows)
        connection.commit()


def task(storage, task_id="1736200000000"):
    write(storage / "tasks" / task_id / "api_conversation_history.json", [])
    return Source.at(storage / "tasks" / task_id)


# -- locations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "user"),
    [
        ("linux", ".config/Code/User"),
        ("linux", ".config/Cursor/User"),
        ("linux", ".vscode-server/data/User"),
        ("darwin", "Library/Application Support/Windsurf/User"),
        ("darwin", ".cursor-server/data/User"),
        ("win32", "AppData/Roaming/VSCodium/User"),
    ],
)
@pytest.mark.parametrize(
    ("product", "extension"),
    [
        (ROO_CODE, "rooveterinaryinc.roo-cline"),
        (ROO_CODE, "rooveterinaryinc.roo-code-nightly"),
        (CLINE, "saoudrizwan.claude-dev"),
        (CLINE, "saoudrizwan.cline-nightly"),
        (KILO_CODE, "kilocode.kilo-code"),
    ],
)
def test_extensions_store_in_every_editor_of_every_system(system, user, product, extension, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    places = product.locations()
    assert Path.home() / user / "globalStorage" / extension / "tasks" in places
    assert Path.home() / user / "globalStorage" / extension / "state" / "taskHistory.json" in places
    assert len(places) == len(set(places))
    assert {place.name for place in places} <= {"tasks", "taskHistory.json", "sessions"}


def test_windows_names_the_folder_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", str(tmp_path / "Roaming"))
    assert tmp_path / "Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/tasks" in CLINE.locations()


def test_cline_stores_without_an_editor_where_the_environment_says(home, monkeypatch):
    usual = home / ".cline" / "data"
    assert {usual / "tasks", usual / "sessions", usual / "state" / "taskHistory.json"} <= set(CLINE.locations())
    monkeypatch.setenv("CLINE_DIR", str(home / "elsewhere"))
    monkeypatch.setenv("CLINE_DATA_DIR", f" {home / 'data'} ")
    monkeypatch.setenv("CLINE_SESSION_DATA_DIR", str(home / "talks"))
    places = set(CLINE.locations())
    assert {home / "elsewhere/data/sessions", home / "data/sessions", home / "data/tasks", home / "talks"} <= places
    assert usual / "sessions" in places
    assert not {home / "elsewhere/data/sessions", home / "talks"} & set(ROO_CODE.locations())


def test_kilo_code_stores_without_an_editor_but_its_database_is_of_another_format(home):
    places = KILO_CODE.locations()
    assert home / ".kilocode/globalStorage/kilo code.kilo-code/tasks" in places
    assert home / ".kilocode/cli/global/tasks" in places
    assert not [place for place in places if "kilo.db" in str(place) or ".local" in str(place)]


def test_a_custom_storage_is_found_in_the_settings_of_any_editor(home):
    write(
        home / ".config/Cursor/User/settings.json",
        '{\n  // where the tasks are\n  "editor.rulers": [80,],\n  /* "roo-cline.customStoragePath": "/no" */\n'
        f'  "roo-cline.customStoragePath": "{home}/tasks of mine", // here\n}}\n',
    )
    write(home / ".config/Code/User/settings.json", {"roo-cline.customStoragePath": "not/absolute"})
    write(home / ".vscode-server/data/Machine/settings.json", {"kilo-code.customStoragePath": f"{home}/kilo"})
    write(home / ".vscode-server/data/User/profiles/a1/settings.json", {"roo-cline.customStoragePath": f"{home}/b"})
    assert home / "tasks of mine" / "tasks" in ROO_CODE.locations()
    assert home / "b" / "tasks" in ROO_CODE.locations()
    assert home / "kilo" / "tasks" in KILO_CODE.locations()
    assert not [place for place in ROO_CODE.locations() if not place.is_absolute()]
    assert custom_storages(ROO_CODE.settings)[home / "tasks of mine"] == home / ".config/Cursor/User"


@pytest.mark.parametrize("text", ["", "{", "[]", "[1]", '{"roo-cline.customStoragePath": 5}', "\0", '{"a": "', "null"])
def test_settings_of_any_kind_are_read_without_an_error(text, home):
    write(home / ".config/Code/User/settings.json", text)
    assert custom_storages(ROO_CODE.settings) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "// no comment", "b": "/* nor this */"}', {"a": "// no comment", "b": "/* nor this */"}),
        ('{"a": ",}", /* one, */ "b": [1, 2, ], }', {"a": ",}", "b": [1, 2]}),
        ('{"a": "\\"// x", // y\n "b": 1, // z\n}', {"a": '"// x', "b": 1}),
        ("{} // the end", {}),
        ("{} /* without an end", {}),
        ('{"a": 1,, }', None),
    ],
)
def test_comments_and_last_commas_are_not_part_of_the_value(text, value):
    assert parse_relaxed_json(text) == value


# -- whose a path is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "product"),
    [
        ("/home/a/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1", ROO_CODE),
        ("/x/RooVeterinaryInc.roo-code-nightly/tasks", ROO_CODE),
        (r"C:\Users\a\AppData\Roaming\Code\User\globalStorage\saoudrizwan.claude-dev\tasks\17", CLINE),
        ("/home/a/.cline/data/tasks/17", CLINE),
        ("backup.zip!saoudrizwan.claude-dev/state/taskHistory.json", CLINE),
        ("/home/a/.kilocode/globalStorage/Kilo Code.kilo-code/tasks/1", KILO_CODE),
        ("/home/a/.kilocode/cli/global/tasks/1", KILO_CODE),
        ("/home/a/.cline/data/copy/kilocode.kilo-code/tasks/1", KILO_CODE),
        ("/home/a/tasks/1", None),
        ("/home/a/not-saoudrizwan.claude-dev/tasks", None),
        ("", None),
    ],
)
def test_a_path_tells_whose_it_is(label, product):
    assert product_of_path(label) is product


def test_every_location_tells_whose_it_is():
    assert [
        place for product in PRODUCTS for place in product.locations() if product_of_path(str(place)) is not product
    ] == []


# -- what is known around a task ------------------------------------------------------------------------------------


def test_the_index_goes_before_the_history_and_both_before_what_the_editor_remembers(home):
    storage = home / ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline"
    remember(
        storage.parent / "state.vscdb",
        **{
            "RooVeterinaryInc.roo-cline": {
                "taskHistory": [{"id": "1", "task": "memory"}, {"id": "2", "task": "memory"}, {"id": "3", "task": "m"}],
                "customInstructions": "Answer in rhymes.",
                "mode": "code",
                "openRouterApiKey": "REDACTED-BY-FIXTURE",
            },
            "saoudrizwan.claude-dev": {"taskHistory": [{"id": "4"}], "customInstructions": "Of another product."},
        },
    )
    write(storage / "state/taskHistory.json", [{"id": "1", "task": "history"}, {"id": "2", "task": "history"}, 5])
    write(storage / "tasks/_index.json", {"version": 1, "entries": [{"id": "1", "task": "index"}, "x", {"id": []}]})
    known = Storage.around(task(storage))
    assert [known.item(name).get("task") for name in ("1", "2", "3", "4")] == ["index", "history", "m", None]
    assert known.instructions() == "Answer in rhymes."
    assert "REDACTED" not in repr([vars(known), known._state])


@pytest.mark.parametrize(
    ("extension", "key"),
    [
        ("rooveterinaryinc.roo-cline", "RooVeterinaryInc.roo-cline"),
        ("rooveterinaryinc.roo-cline", "rooveterinaryinc.roo-cline"),
        ("saoudrizwan.claude-dev", "Saoudrizwan.Claude-Dev"),
        ("kilocode.kilo-code", "kilocode.Kilo-Code"),
    ],
)
def test_trap_1_older_indexes_are_what_the_editor_remembers_whatever_the_case_of_the_key(extension, key, home):
    storage = home / ".config/Code/User/globalStorage" / extension
    remember(storage.parent / "state.vscdb", **{key: {"taskHistory": [{"id": "1736200000000", "task": "Mow."}]}})
    assert Storage.around(task(storage)).item("1736200000000")["task"] == "Mow."


def test_modes_come_from_the_settings_of_the_storage(home):
    storage = home / "globalStorage" / "rooveterinaryinc.roo-cline"
    yaml = "customModes:\n  - slug: poet\n    name: Poet\n    roleDefinition: You write verse.\n    secret: no\n  - 5\n"
    write(storage / "settings/custom_modes.yaml", yaml)
    found = Storage.around(task(storage)).modes()
    assert found == [{"slug": "poet", "name": "Poet", "roleDefinition": "You write verse."}]


@pytest.mark.parametrize("name", ["custom_modes.json", "cline_custom_modes.json"])
def test_older_settings_of_modes_are_json(home, name):
    write(home / "s/settings" / name, {"customModes": [{"slug": "poet", "groups": ["read"]}]})
    assert Storage.around(task(home / "s")).modes() == [{"slug": "poet", "groups": ["read"]}]


def test_modes_that_are_only_remembered_are_modes(home):
    write(home / "s/globalState.json", {"customModes": [{"slug": "poet", "apiKey": "x"}], "customInstructions": " "})
    known = Storage.around(task(home / "s"))
    assert known.modes() == [{"slug": "poet"}]
    assert known.instructions() is None


def test_a_custom_storage_is_known_to_the_editor_that_names_it(home):
    user = home / ".config/Code/User"
    write(user / "settings.json", {"roo-cline.customStoragePath": str(home / "mine")})
    memory = {"taskHistory": [{"id": "7", "task": "far away"}], "customInstructions": "Be brief."}
    remember(user / "globalStorage/state.vscdb", **{"rooveterinaryinc.roo-cline": memory})
    known = Storage.around(task(home / "mine", "7"))
    assert known.item("7")["task"] == "far away"
    assert known.instructions() == "Be brief."


def test_where_nobody_says_whose_storage_it_is_tasks_are_told_by_their_ids(home):
    remember(
        home / "state.vscdb",
        **{
            "rooveterinaryinc.roo-cline": {"taskHistory": [{"id": "1"}], "customInstructions": "One."},
            "saoudrizwan.claude-dev": {"taskHistory": [{"id": "2"}], "customInstructions": "Other."},
        },
    )
    known = Storage.around(task(home / "copied"))
    assert known.item("1")
    assert known.item("2")
    assert known.instructions() is None


def test_a_storage_is_kept_until_it_changes(home):
    source = task(home / "s", "1")
    first = Storage.around(source)
    assert Storage.around(task(home / "s", "2")) is first
    assert first.item("1") == {}
    write(home / "s/tasks/_index.json", {"version": 1, "entries": [{"id": "1", "task": "new"}]})
    assert Storage.around(source).item("1") == {"id": "1", "task": "new"}


def test_a_storage_in_a_zip_is_one_as_well(home):
    archive = home / "backup.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("s/tasks/9/api_conversation_history.json", "[]")
        zipped.writestr("s/tasks/_index.json", json.dumps({"version": 1, "entries": [{"id": "9", "task": "zipped"}]}))
        zipped.writestr("s/settings/custom_modes.yaml", "customModes: [{slug: poet}]")
        zipped.writestr("state.vscdb", "no database")
    known = Storage.around(Source(ZipFolder(archive).subfolder("s/tasks/9"), ""))
    assert known.item("9")["task"] == "zipped"
    assert known.modes() == [{"slug": "poet"}]
    assert known.instructions() is None


@pytest.mark.parametrize("broken", ["", "{", "[", "nothing", "5", '"x"', "null", "{}"])
def test_whatever_lies_around_a_task_it_is_read(home, broken):
    storage = home / "globalStorage" / "saoudrizwan.claude-dev"
    write(storage.parent / "state.vscdb", broken)
    for name in ("tasks/_index.json", "state/taskHistory.json", "settings/custom_modes.yaml", "globalState.json"):
        write(storage / name, broken)
    known = Storage.around(task(storage))
    assert (known.item("1736200000000"), known.modes(), known.instructions()) == ({}, [], None)


def test_a_folder_without_one_around_it_has_no_storage():
    known = Storage.around(Source.at(Path("/")))
    assert (known.item("1"), known.modes(), known.instructions()) == ({}, [], None)
