import json
import shutil
import zipfile

import pytest

from palaver import importers
from palaver.importers._shared.contract import Match
from palaver.sources.source import Source


def test_a_recognised_file_is_told_with_its_importer_and_the_reason(run, session):
    result = run("identify", session)
    assert result.exit_code == 0
    reason = importers.importer("claude_code").recognizes(Source.at(session)).reason
    assert result.stdout == f"{session}: claude_code  {reason}\n"


def test_every_file_below_a_folder_is_told(run, session, tmp_path):
    shutil.copy(session, tmp_path)
    (tmp_path / "journal.jsonl").write_text('{"type":"started"}\n')
    result = run("identify", tmp_path)
    assert result.exit_code == 0
    assert "journal.jsonl: no conversation: a workflow's journal" in result.stdout


def test_what_belongs_to_a_session_is_told_with_it(run, case):
    [line] = run("identify", case("subagents_folder")).stdout.splitlines()
    assert line.endswith(", with 75cd0b95-f638-428d-9684-0dadeba1f47f")


def test_an_explicit_path_without_a_reader_exits_with_1(run, session, tmp_path):
    (tmp_path / "note.txt").write_text("a note")
    result = run("identify", session, tmp_path / "note.txt")
    assert result.exit_code == 1
    assert f"{tmp_path / 'note.txt'}: no importer reads it (text file)\n" in result.stdout


def test_a_folder_without_a_reader_exits_with_1(run, home):
    result = run("identify", home)
    assert result.exit_code == 1
    assert result.stdout == "~: an empty folder\n"


def test_a_missing_path_exits_with_2(run, session, tmp_path):
    result = run("identify", tmp_path / "nowhere", session)
    assert result.exit_code == 2
    assert "nowhere does not exist" in result.stderr
    assert "claude_code" in result.stdout


def test_the_members_of_a_zip_are_told(run, session, tmp_path):
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(session, "a/session.jsonl")
        archive.writestr("a/note.txt", "a note")
    result = run("identify", tmp_path / "export.zip")
    assert result.exit_code == 0
    assert "export.zip!a/session.jsonl: claude_code" in result.stdout
    assert "export.zip!a/note.txt: no importer reads it" in result.stdout


def test_standard_input(finish, session):
    result = finish("identify", "-", stdin=session.read_bytes())
    assert result.returncode == 0
    assert result.stdout.startswith(b"standard input: claude_code")


def test_the_verdicts_as_json(run, case, tmp_path):
    (tmp_path / "note.txt").write_text("a note")
    (tmp_path / "journal.jsonl").write_text('{"type":"started"}\n')
    files = (tmp_path / "journal.jsonl", tmp_path / "note.txt")
    result = run("identify", case("sessions_index"), *files, "--json")
    assert result.exit_code == 1
    session, index, journal, note = json.loads(result.stdout)["files"]
    assert (session["platform"], session["verdict"]) == ("claude_code", "yes")
    assert (index["platform"], index["verdict"]) == ("claude_code", "yes")
    assert (journal["platform"], journal["verdict"], journal["reason"]) == (None, "no", "a workflow's journal")
    assert note == {
        "path": str(tmp_path / "note.txt"),
        "platform": None,
        "verdict": "no",
        "reason": "",
        "members": [],
        "claimed_by": [],
        "kind": "text file",
    }
    assert session["kind"] is None


CODEX_LINE = b'{"timestamp": "2026-02-03T10:00:00Z", "type": "session_meta", "payload": {"id": "s1"}}\n'


def test_a_known_but_unread_format_is_named(run, tmp_path):
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(CODEX_LINE)
    result = run("identify", path)
    assert (result.exit_code, result.stdout) == (1, f"{path}: a Codex CLI session, which palaver does not read yet\n")
    [verdict] = json.loads(run("identify", path, "--json").stdout)["files"]
    assert (verdict["verdict"], verdict["kind"]) == ("no", "Codex CLI session")


def test_a_problem_names_the_file_once(run, tmp_path):
    path = tmp_path / "export.zip"
    path.write_bytes(b"PK\3\4 and nothing more")
    assert run("identify", path).stdout.count("export.zip") == 1


def test_a_narrow_terminal_gets_the_path_on_a_line_of_its_own(run, tmp_path, monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.setenv(name, "1")
    path = tmp_path / "a folder with a very long name" / "sessions of a whole year" / "rollout-2026-02-03.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(CODEX_LINE)
    for columns in (60, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = run("identify", path).stdout.splitlines()
        assert lines[0].endswith("/rollout-2026-02-03.jsonl:")
        assert lines[1:] == ["    a Codex CLI session, which palaver does not read yet"]
        assert max(map(len, lines)) <= columns


@pytest.fixture
def rival(monkeypatch):
    """A second importer, which claims everything that the first does."""

    class Rival:
        title, platform, record = "Rival", "rival", "row"

        def recognizes(self, source):
            return Match.no() if source.is_folder else Match.yes("everything is mine")

    first = importers.importer
    monkeypatch.setattr(importers, "importer", lambda name: Rival() if name == "rival" else first(name))
    monkeypatch.setattr(importers, "platforms", lambda: ["claude_code", "rival"])


@pytest.mark.usefixtures("rival")
def test_a_conflict_names_both(run, session):
    result = run("identify", session)
    assert result.exit_code == 1
    assert "is claimed by claude_code and rival: say which with `palaver import PLATFORM" in result.stdout
    [verdict] = json.loads(run("identify", session, "--json").stdout)["files"]
    assert (verdict["verdict"], verdict["claimed_by"]) == ("conflict", ["claude_code", "rival"])
