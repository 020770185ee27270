"""The manual page: as `make docs` writes it, without complaints from those who read such pages, and complete."""

import re
import shutil
import subprocess
import sys

import pytest

from building import CHECKOUT
from palaver.cli._reference import commands
from palaver.cli.import_ import import_

PAGE = CHECKOUT / "docs" / "man" / "palaver.1"
sys.path.insert(0, str(CHECKOUT / "docs"))
import man_page  # noqa: E402


def rendered():
    if not shutil.which("mandoc"):
        if sys.platform == "linux":
            pytest.fail("mandoc is not installed: run `make shells`, or install it")
        pytest.skip("mandoc is not installed on this machine")
    words = ["mandoc", "-T", "utf8", "-O", "width=200", str(PAGE)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return re.sub(r".\x08", "", text)


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == man_page.man_page(), "run `make docs`"


def test_readers_of_such_pages_find_nothing_wrong():
    assert rendered()
    told = subprocess.run(["mandoc", "-T", "lint", str(PAGE)], capture_output=True, text=True, check=False).stdout
    assert [line for line in told.splitlines() if "missing date" not in line] == []


def test_every_command_is_there_with_its_options():
    text = rendered()
    for command in commands():
        section = text.split(f"   {command.usage}\n")[1]
        for option in command.options:
            assert re.search(rf"^ +{re.escape(option.words)}( |$)", section, re.MULTILINE), (command.name, option.words)


def test_marks_of_roff_are_text():
    hard = ".PP and 'quotes' \\fB -x ~/a `code` \"b\" é…"
    lines = list(man_page._prose(hard))
    page = '.TH X 1 "" "y" "z"\n.SH NAME\n' + "\n".join(lines) + "\n"
    words = ["mandoc", "-T", "utf8", "-O", "width=200"]
    done = subprocess.run(words, input=page, capture_output=True, text=True, check=True)
    assert hard.replace("`", "") in re.sub(r".\x08", "", done.stdout)


def test_the_page_says_what_the_help_says():
    first = (import_.__doc__ or "").splitlines()[0]
    assert first in rendered()
