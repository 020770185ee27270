"""Where Copilot's files are on every system, in every editor, and that what lies there is read from there."""

import json
import sys
import tempfile
from pathlib import Path

import pytest

from github_copilot.chatting import NAME, asked, said, session
from importing import import_folder
from palaver.importers.github_copilot import IMPORTER

VARIABLES = ("XDG_CONFIG_HOME", "APPDATA", "VSCODE_PORTABLE", "COPILOT_HOME")
EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Trae")
SETTINGS = {"linux": ".config", "darwin": "Library/Application Support", "win32": "AppData/Roaming"}
SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".cursor-server")
USER_FOLDERS = [
    *((system, f"{settings}/{editor}/User") for system, settings in SETTINGS.items() for editor in EDITORS),
    *((system, f"{server}/data/User") for system in SETTINGS for server in SERVERS),
]
HASH = "8f1e2d3c4b5a69788796a5b4c3d2e1f0"
CHAT = json.dumps(session(asked(1, "one", said("first"))))
EVENTS = "".join(
    json.dumps(
        {"type": kind, "id": f"e-{number}", "timestamp": "2026-03-01T10:00:00.000Z", "parentId": None, "data": of}
    )
    + "\n"
    for number, (kind, of) in enumerate(
        [
            ("session.start", {"sessionId": NAME, "producer": "copilot-agent", "version": 1}),
            ("user.message", {"content": "one"}),
        ]
    )
)
OF_EDITORS = {
    f"workspaceStorage/{HASH}/chatSessions/{NAME}.json": CHAT,
    f"globalStorage/emptyWindowChatSessions/{NAME}.json": CHAT,
    f"globalStorage/transferredChatSessions/{NAME}.json": CHAT,
    f"workspaceStorage/no-workspace/chatSessions/{NAME}.json": CHAT,
    f"workspaceStorage/{HASH}/GitHub.copilot-chat/transcripts/{NAME}.jsonl": EVENTS,
    f"globalStorage/github.copilot-chat/transcripts/{NAME}.jsonl": EVENTS,
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def found_from(path: Path) -> list[dict]:
    """What is read of a file through the locations that hold it."""
    holders = [place for place in IMPORTER.locations() if path.is_relative_to(place)]
    return [document for place in holders for document in import_folder(place).documents]


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(("system", "user"), USER_FOLDERS)
def test_chats_are_found_in_every_editor_of_every_system(system, user, home, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    chat = f"workspaceStorage/{HASH}/chatSessions/{NAME}.json"
    (document,) = found_from(written(home / user / chat, CHAT))
    assert document["conversation_id"] == NAME


@pytest.mark.parametrize("place", OF_EDITORS)
def test_every_store_of_an_editor_is_read_once(place, home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    (document,) = found_from(written(home / ".config/Code/User" / place, OF_EDITORS[place]))
    assert document["session"]["session_id"] == NAME


@pytest.mark.parametrize("variable", ["", "COPILOT_HOME"])
def test_sessions_of_the_command_line_are_found_where_the_environment_says(variable, home, monkeypatch):
    folder = home / ("elsewhere" if variable else ".copilot")
    if variable:
        monkeypatch.setenv(variable, str(folder))
    for name in (f"session-state/{NAME}/events.jsonl", f"session-state/{NAME}.jsonl"):
        path = written(folder / name, EVENTS)
        (document,) = found_from(path)
        assert document["conversation_id"] == NAME
        path.unlink()
    assert {folder / "history-session-state", folder / "jb"} <= set(IMPORTER.locations())


def test_traces_of_visual_studio_are_looked_for_where_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "Temp"))
    traces = tmp_path / "Temp" / "VSGitHubCopilotLogs" / "traces"
    for system in SETTINGS:
        monkeypatch.setattr(sys, "platform", system)
        assert (traces in IMPORTER.locations()) == (system == "win32")


def test_no_place_is_named_twice(home):
    (home / ".config/Code/User/workspaceStorage" / HASH).mkdir(parents=True)
    places = IMPORTER.locations()
    assert len(places) == len(set(places))
