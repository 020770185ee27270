"""`palaver demo`: ten steps that work, on any terminal, without a trace of the user's files or in them."""

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from palaver.archive.connection import open_to_read
from palaver.cli import demo
from palaver.cli._commands import COMMANDS
from palaver.cli._terminal import output
from palaver.errors import PalaverError
from palaver.workflows.demo import EXPORT, demo_environment, write_demo_home

ROOT = Path(__file__).parents[2]
STEPS = demo._STEPS


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The only place for temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_there_are_ten_steps_of_known_commands():
    assert len(STEPS) == 10
    assert {words[0] for step in STEPS for words in step.commands} >= {
        *("scan", "import", "list", "show", "search", "stats", "duplicates", "tag", "export", "validate", "doctor")
    }
    assert all(words[0] in COMMANDS for step in STEPS for words in step.commands)


@pytest.mark.parametrize("width", [60])
def test_every_step_shows_its_command_and_output_within_the_width(run, temporary, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run("demo")
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout
    for number, step in enumerate(STEPS, 1):
        assert f"{number}/10  {step.sentence.split()[0]}" in shown.stdout
    for title in ("Dense sourdough", "Letter to the landlord"):
        assert title in shown.stdout
    assert "No problems found" in shown.stdout
    assert "resume" in shown.stdout
    # Paths and commands to copy stay whole, and so does what these commands never wrap.
    long = [line for line in shown.stdout.splitlines() if len(line) > width]
    assert [line for line in long if not re.search(r"palaver-demo-|claude --resume|^\d  |level standard", line)] == []
    assert list(temporary.iterdir()) == [], "the folder is removed"


@pytest.mark.usefixtures("temporary")
def test_the_users_own_files_are_neither_read_nor_written(run, monkeypatch, home, kept, session):
    own = home / ".claude" / "projects" / "-home-ada-garden" / session.name
    own.parent.mkdir(parents=True)
    own.write_bytes(session.read_bytes())
    before = sorted(home.rglob("*"))
    monkeypatch.setattr(demo, "_STEPS", STEPS[:2])
    shown = run("demo", "--no-pause")
    assert shown.exit_code == 0
    assert "mulched" not in shown.stdout
    assert sorted(home.rglob("*")) == before
    assert not kept.exists()


def test_a_kept_archive_can_be_used(run, tmp_path, monkeypatch):
    folder = tmp_path / "sample archive"
    shown = run("demo", "--keep", folder)
    assert shown.exit_code == 0
    assert f"PALAVER_HOME='{folder}'" in shown.stdout or "$env:PALAVER_HOME" in shown.stdout
    monkeypatch.setenv("PALAVER_HOME", str(folder))
    found = json.loads(run("list", "--agents", "--json").stdout)["conversations"]
    assert {"claude_code", "github_copilot", "chatgpt", "api_trace"} == {each["platform"] for each in found}
    assert 8 <= len(found) <= 14
    assert json.loads(run("validate", "--json").stdout)["findings"] == []
    assert (folder / "home" / "notes").is_dir()
    since = (datetime.now(UTC) - timedelta(days=30)).strftime("%Y-%m-%d")
    assert "$" in run("stats", "--by", "platform", "--since", since).stdout


def test_a_folder_with_something_in_it_is_refused(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    for path in (tmp_path / "full", tmp_path / "full" / "notes.txt"):
        refused = run("demo", "--keep", path)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "name a new or empty one" in refused.stderr
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]


def test_a_step_that_fails_is_said(temporary, monkeypatch):
    monkeypatch.setattr(demo, "_STEPS", (demo._Step("Look.", (("show", "nothing"),)),))
    with pytest.raises(PalaverError, match="`palaver show nothing` failed in the demo"):
        demo.demo(pause=False)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("day", [date(2026, 1, 31), date(2027, 3, 1), date(2024, 2, 29)])
def test_conversations_are_of_the_thirty_days_before(tmp_path, day, run, monkeypatch):
    home, archive = tmp_path / "home of sam", tmp_path / "archive"
    write_demo_home(home, day)
    monkeypatch.setenv("PALAVER_HOME", str(archive))
    for name, value in demo_environment(home, archive).items():
        monkeypatch.setenv(name, value)
    assert run("scan").exit_code == 0
    assert run("import", home / EXPORT).exit_code == 0
    connection = open_to_read(archive / "archive.db")
    first, last = connection.execute("select min(timestamp), max(timestamp) from message").fetchone()
    connection.close()
    assert first > str(day - timedelta(days=30))
    assert last.startswith(str(day - timedelta(days=1)))


def test_the_same_day_writes_the_same_files(tmp_path):
    for name in ("one", "two"):
        write_demo_home(tmp_path / name, date(2030, 5, 6))
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.jsonl")}
        for name in ("one", "two")
    )
    assert one == two
    assert len(one) > 8
    texts = [zipfile.ZipFile(tmp_path / name / EXPORT).read("conversations.json") for name in ("one", "two")]
    assert texts[0] == texts[1]
    assert all(b"2026-01" not in text for text in [*one.values(), *texts]), "a time was not moved"
    assert not [path for path in one if "2026-01" in path.name]


def test_variables_that_lead_elsewhere_are_left_out(tmp_path, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "COPILOT_HOME", "CONTINUE_GLOBAL_DIR", "PALAVER_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/elsewhere")
    environment = demo_environment(tmp_path / "home", tmp_path)
    assert "/elsewhere" not in environment.values()
    assert environment["HOME"] == str(tmp_path / "home")


class _Person:
    """A terminal at which somebody answers the prompts."""

    def __init__(self, monkeypatch, answers):
        self.asked = 0
        self._answers = iter(answers)
        monkeypatch.setattr(output, "is_terminal", lambda: True)
        monkeypatch.setattr(output, "can_prompt", lambda: True)
        monkeypatch.setattr(output, "wait_for_enter", self._wait)

    def _wait(self, _prompt):
        self.asked += 1
        return next(self._answers)


@pytest.mark.usefixtures("temporary")
def test_each_step_waits_for_enter_on_a_terminal(run, monkeypatch):
    monkeypatch.setattr(demo, "_STEPS", STEPS[:3])
    person = _Person(monkeypatch, [True, True])
    assert run("demo").exit_code == 0
    assert person.asked == 2


@pytest.mark.usefixtures("temporary")
def test_nobody_is_asked_with_no_pause(run, monkeypatch):
    monkeypatch.setattr(demo, "_STEPS", STEPS[:2])
    person = _Person(monkeypatch, [])
    assert run("demo", "--no-pause").exit_code == 0
    assert person.asked == 0


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("key", "exit_code"), [("q\r", 0), ("\x04", 0), ("\x03", 130)])
def test_a_real_terminal_is_asked_and_can_stop(tmp_path, key, exit_code):
    import pty

    keyboard, terminal = pty.openpty()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(temporary), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "palaver", "demo"]
    with subprocess.Popen(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: _take_terminal(terminal),  # noqa: PLW1509
    ) as process:
        os.close(terminal)
        shown = b""
        while b"q to stop: " not in shown:
            shown += os.read(keyboard, 1 << 16)
        os.write(keyboard, key.encode())
        while piece := _read(keyboard):
            shown += piece
    os.close(keyboard)
    assert process.returncode == exit_code
    assert b"\x1b[1m" in shown
    assert "2/10" not in shown.decode()
    assert list(temporary.iterdir()) == []


def _read(keyboard):
    try:
        return os.read(keyboard, 1 << 16)
    except OSError:  # on Linux, once the process has ended
        return b""


def _take_terminal(terminal):
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
