"""The built wheel: what is in it, and that it works in an environment of its own, away from the checkout."""

import email
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from building import CHECKOUT, SCRIPTS, clean_environment, finish, wheel  # noqa: F401 - a fixture
from palaver import __version__

PACKAGE = CHECKOUT / "src" / "palaver"


def names_in(file):
    with zipfile.ZipFile(file) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


@pytest.fixture(scope="module")
def metadata(wheel):  # noqa: F811
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def test_everything_that_palaver_needs_is_in_the_wheel(wheel):  # noqa: F811
    own = {
        f"palaver/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    schemas = {f"palaver/{path.relative_to(CHECKOUT).as_posix()}" for path in (CHECKOUT / "schema").rglob("*.json")}
    names = names_in(wheel)
    assert {name for name in names if name.startswith("palaver/")} == own | schemas
    assert len(schemas) > 20
    assert "palaver/validation/html_report/page.js" in names
    assert f"palaver-{__version__}.data/data/share/man/man1/palaver.1" in names


def test_nothing_else_is_in_the_wheel(wheel):  # noqa: F811
    others = {name for name in names_in(wheel) if not name.startswith("palaver/")}
    assert {name.split("/")[0] for name in others} == {
        f"palaver-{__version__}.dist-info",
        f"palaver-{__version__}.data",
    }


def test_the_metadata_is_ready_to_be_published(metadata):
    assert (metadata["Name"], metadata["Version"]) == ("palaver", __version__)
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# palaver")
    assert metadata["Summary"]
    assert len(metadata["Keywords"].split(",")) > 5
    assert "Programming Language :: Python :: 3.11" in metadata.get_all("Classifier")
    assert metadata.get_all("Project-URL") is None, "an address that does not exist yet is worse than none"
    assert metadata["Home-page"] is None


def test_the_source_distribution_builds_the_same_wheel(wheel, tmp_path):  # noqa: F811
    build = [SCRIPTS / "uv", "build", "--quiet", "--python", sys.executable, "--out-dir", tmp_path / "out"]
    finish([*build, CHECKOUT], env=clean_environment(tmp_path))
    [built] = (tmp_path / "out").glob("*.whl")
    [source] = (tmp_path / "out").glob("*.tar.gz")
    assert names_in(built) == names_in(wheel)
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "constraints.txt", "CHANGELOG.md", "tests/conftest.py", "docs/build.py"} <= names
    assert not [name for name in names if re.match(r"\.(venv|git|cache)/|build/|dist/|site/", name)]


def install(requirement, folder):
    """Install into a new virtual environment, and return the folder of its programs."""
    environment = clean_environment(folder)
    uv = [SCRIPTS / "uv", "--quiet"]
    finish([*uv, "venv", "--python", sys.executable, folder / "venv"], env=environment)
    programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    command = [*uv, "pip", "install", "--python", programs / "python", "--constraints", CHECKOUT / "constraints.txt"]
    finish([*command, requirement], env=environment)
    return programs


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):  # noqa: F811
    """The wheel in a virtual environment with its dependencies, and a folder that knows no checkout."""
    folder = tmp_path_factory.mktemp("installed")
    programs = install(wheel, folder)
    environment = clean_environment(folder)
    (folder / "work").mkdir()
    session = CHECKOUT / "fixtures" / "claude_code" / "plain_session" / "source"
    shutil.copytree(session, folder / "work" / "sessions")
    environment["PATH"] = str(programs)

    def run(*words):
        return finish([programs / "palaver", *words], cwd=folder / "work", env=environment)

    run.folder = folder
    run.python = lambda program: finish([programs / "python", "-c", program], cwd=folder / "work", env=environment)
    return run


def test_the_installed_palaver_is_not_the_checkout(installed):
    where = Path(installed.python("import palaver; print(palaver.__file__)").strip())
    assert where.is_relative_to(installed.folder.resolve())
    assert (installed.folder / "venv" / "share" / "man" / "man1" / "palaver.1").is_file()
    assert installed("--version") == f"palaver {__version__}\n"


def test_a_command_that_needs_an_extra_says_so_in_one_line(installed):
    [palaver] = (installed.folder / "venv").glob("*/palaver*")
    words = [palaver, "record", "--", "no-such-command"]
    environment = clean_environment(installed.folder)
    recording = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (recording.returncode, recording.stdout) == (2, "")
    assert recording.stderr == "palaver: palaver record needs an extra: pip install 'palaver[record]'\n"
    assert "--upstream" in installed("record", "--help")
    assert "--curl" in installed("replay", "--help"), "it needs no extra"


@pytest.mark.parametrize("extra", ["record", "all"])
def test_with_its_extra_the_installed_palaver_records(wheel, tmp_path, extra):  # noqa: F811
    programs = install(f"{wheel}[{extra}]", tmp_path)
    command = [programs / "python", "-c", "import os; print(os.environ['ANTHROPIC_BASE_URL'])"]
    printed = finish([programs / "palaver", "record", "--quiet", *command], env=clean_environment(tmp_path))
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/anthropic\n", printed)


def test_no_development_tool_comes_with_it(installed):
    program = "import importlib.metadata as m; print(*(d.metadata['Name'].lower() for d in m.distributions()))"
    names = set(installed.python(program).split())
    assert {"palaver", "typer", "orjson"} <= names
    assert not names & {"pytest", "ruff", "hypothesis", "openai", "anthropic", "jsonschema", "zensical", "playwright"}
    assert not names & {"brotli", "httptools", "starlette", "uvicorn"}, "these belong to an extra"


def test_the_installed_palaver_imports_searches_counts_and_validates(installed):
    installed("import", "sessions")
    assert "mulched" in installed("search", "frost")
    assert json.loads(installed("stats", "--by", "model", "--since", "2020", "--json"))["groups"]
    assert json.loads(installed("schema"))["$id"].startswith("urn:palaver:schema:conversation:")
    assert json.loads(installed("schema", "stats-answer"))["title"]
    installed("validate", "--report", "report.html", "--report", "report.json")
    page = (installed.folder / "work" / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" in page
    assert json.loads((installed.folder / "work" / "report.json").read_text("utf-8"))
    assert "_palaver" in installed("completion", "zsh")
    assert "5e1bd177" in installed("complete-values", "id", "5e")


def test_the_installed_palaver_shows_its_demo(installed):
    shown = installed("demo", "--no-pause")
    assert "10/10" in shown
    assert "Dense sourdough" in shown


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make on this machine")
def test_make_builds_the_wheel_with_nothing_but_a_virtual_environment(tmp_path):
    planned = finish(["make", "--dry-run", f"VENV={tmp_path / 'venv'}", "wheel"], cwd=CHECKOUT)
    assert "pip wheel" in planned
    assert "pip install" not in planned
