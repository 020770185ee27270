import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palaver.cli import app

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "claude_code"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own for every test, with nothing in it."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path / "kept"))
    for name in (
        "CLAUDE_CONFIG_DIR",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DOWNLOAD_DIR",
        "NO_COLOR",
        "FORCE_COLOR",
        "PALAVER_DEBUG",
        "COLUMNS",
        "ANTHROPIC_BASE_URL",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "AZURE_OPENAI_ENDPOINT",
        "GOOGLE_GEMINI_BASE_URL",
        "PALAVER_RECORD_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return home


@pytest.fixture
def kept(tmp_path):
    """The data folder."""
    return tmp_path / "kept"


@pytest.fixture
def run():
    def invoke(*words, **settings):
        return CliRunner().invoke(
            app, [str(word) for word in words], catch_exceptions=False, prog_name="palaver", **settings
        )

    return invoke


@pytest.fixture
def start():
    """Start palaver as a process, where what a process does is the point."""

    def popen(*words, command=None, **settings):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        environment.pop("PYTHONUNBUFFERED", None)  # users do not have it
        command = [sys.executable, *(command or ["-m", "palaver", *map(str, words)])]
        return subprocess.Popen(command, env=environment, **settings)

    return popen


@pytest.fixture
def finish(start):
    def run_to_its_end(*words, stdin=b"", **settings):
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
        with start(*words, **streams) as process:
            stdout, stderr = process.communicate(stdin)
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    return run_to_its_end


@pytest.fixture
def case():
    def folder(name):
        found = FIXTURES / name / "source"
        assert found.is_dir()
        return found

    return folder


@pytest.fixture
def session(case):
    """One healthy session file."""
    [file] = case("plain_session").glob("*.jsonl")
    return file


@pytest.fixture
def damaged(case):
    """A session file with lines that cannot be read."""
    [file] = case("damage_bad_line_middle").glob("*.jsonl")
    return file
