"""The install lines of the README, run: with pipx and uvx, each with its own folders, on this checkout."""

import re
import shlex
import sys

import pytest

from building import CHECKOUT, SCRIPTS, clean_environment, finish
from palaver import __version__

README = (CHECKOUT / "README.md").read_text("utf-8")


def install_lines():
    """The commands of the first console block, without their comments."""
    block = re.search(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture
def environment(tmp_path):
    folders = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man", "UV_TOOL_DIR": "tools"}
    return {
        **clean_environment(tmp_path),
        **{name: str(tmp_path / folder) for name, folder in folders.items()},
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "UV_PYTHON": sys.executable,
        "USE_EMOJI": "0",
    }


def run(words, environment):
    return finish([SCRIPTS / words[0], *words[1:]], cwd=CHECKOUT, env=environment)


def test_the_readme_installs_with_pipx_uvx_and_make():
    assert install_lines() == [
        ["pipx", "install", "."],
        ["uvx", "--from", ".", "palaver", "scan"],
        ["make", "scan"],
        ["make", "test"],
    ]


def test_pipx_installs_the_command_and_its_manual_page(environment, tmp_path):
    [line] = [line for line in install_lines() if line[0] == "pipx"]
    run(line, environment)
    assert finish([tmp_path / "bin" / "palaver", "--version"], env=environment) == f"palaver {__version__}\n"
    if sys.platform != "win32":
        assert (tmp_path / "man" / "man1" / "palaver.1").exists()


def test_uvx_scans_without_installing(environment, tmp_path):
    [line] = [line for line in install_lines() if line[0] == "uvx"]
    session = (
        tmp_path / "home" / ".claude" / "projects" / "-home-ada-garden" / "5e1bd177-1e25-4f05-8820-4b8e55392b42.jsonl"
    )
    session.parent.mkdir(parents=True)
    source = CHECKOUT / "fixtures" / "claude_code" / "plain_session" / "source" / session.name
    session.write_bytes(source.read_bytes())
    run(line, environment)
    assert (tmp_path / "data" / "archive.db").is_file()
