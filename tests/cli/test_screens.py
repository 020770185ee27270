"""Screens as people see them, on an empty machine, in a home with every platform and in the demo, at four widths.

`pytest tests/cli/test_screens.py --update-golden` rewrites `screens/`; read the difference as you would look at it.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from rich.cells import cell_len

from homes import UNSCANNED, fill_home
from palaver.importers import platforms
from screens import as_wrapped_by_terminal, printed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="terminals and places as on Linux")

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (60, 80, 120, 200)
ON_AN_EMPTY_MACHINE = [[], ["scan"], ["list"], ["search", "x"], ["stats"]]
WITH_EVERY_PLATFORM = [
    *([], ["scan"], ["scan"], ["import", *UNSCANNED], []),
    *(["sources"], ["list"], ["search", "tide"], ["stats"], ["show", "latest"], ["doctor"]),
]
FITTING = ("scan", "import", "sources")
"""Commands that, like `palaver` alone, print no line that is wider than the terminal."""
_MACHINE = (
    (re.compile(r"(?<=/screen-)\w{8}"), "12345678"),
    (re.compile(r"(?<=/palaver-demo-)\w{8}"), "12345678"),
    (re.compile(r"[\d.,]+ [kMGT]?B(?= (?:are )?free)"), "12 GB"),
    (re.compile(r"Python [\w.]+, SQLite [\d.]+.*"), "Python and SQLite"),
    (re.compile(r"(?<!log )\b[\d.,]+ MB$", re.MULTILINE), "1.0 MB"),
)
"""What differs between machines, and what the stored screens have instead."""
_PASTED = re.compile(r" +palaver import ")
"""A command that may be pasted whole is wrapped by the terminal itself."""


@pytest.fixture
def home():
    """A home whose path has the same length on every machine, since that decides where lines are wrapped."""
    folder = Path(tempfile.mkdtemp(prefix="screen-", dir=Path("/", "tmp")))
    yield folder
    shutil.rmtree(folder)


def compare(commands, home, width, name, *, is_updated):
    screens = []
    for words in commands:
        text = printed(words, home=home, width=width)
        for pattern, instead in _MACHINE:
            text = pattern.sub(instead, text)
        if not words or words[0] in FITTING:
            wide = [line for line in text.splitlines()[1:] if cell_len(line) > width and not _PASTED.match(line)]
            assert wide == []
        screens.append(as_wrapped_by_terminal(text, width))
    shown = "\n".join(screens)
    stored = SCREENS / f"{name}-{width}.txt"
    if is_updated:
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(shown, "utf-8")
    assert shown == stored.read_text("utf-8")


@pytest.mark.parametrize("width", WIDTHS)
def test_an_empty_machine(home, width, update_golden):
    compare(ON_AN_EMPTY_MACHINE, home, width, "empty_machine", is_updated=update_golden)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_home_with_every_platform(home, width, update_golden):
    fill_home(home)
    compare(WITH_EVERY_PLATFORM, home, width, "every_platform", is_updated=update_golden)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_demo(home, width, update_golden):
    compare([["demo", "--no-pause"]], home, width, "demo", is_updated=update_golden)


def test_the_home_has_every_platform(run, home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    fill_home(home)
    reports = [run("scan", "--json"), run("import", *(home / place for place in UNSCANNED), "--json")]
    found = {source["platform"] for report in reports for source in json.loads(report.stdout)["sources"]}
    assert found == set(platforms())
