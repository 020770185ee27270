"""What README and the first steps tell a newcomer to run, run; and what they say about palaver, compared with it."""

import re
import subprocess
import sys

import pytest

import palaver.importers
from importing import CHECKOUT
from shown_commands import blocks, palaver_in, rewritten, shown_commands, unknown_parts

sys.path.insert(0, str(CHECKOUT / "docs"))
from example_home import example_environment, make_example_home

README = (CHECKOUT / "README.md").read_text("utf-8")
PAGES = ("README.md", "docs/first-steps.md")
INSTALLING = {"pipx install .", "uvx --from . palaver scan", "make scan", "make test"}
"""What installs palaver or sets up a checkout: the test of the wheel runs the first two, CI the other two."""


@pytest.fixture
def home(tmp_path):
    make_example_home(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_work_and_print_what_it_shows(name, home, update_golden):
    text = (CHECKOUT / name).read_text("utf-8")
    now = rewritten(text, palaver_in(home, example_environment(home)))
    if update_golden:
        (CHECKOUT / name).write_text(now, "utf-8", newline="\n")
        return
    assert text == now, "run `make update-shown`, and review the difference"


@pytest.mark.parametrize("name", PAGES)
def test_every_other_command_of_a_page_is_tested_elsewhere(name):
    shown = [
        each for block in blocks((CHECKOUT / name).read_text("utf-8"), "console") for each in shown_commands(block)
    ]
    assert len(shown) > 6
    others = {" ".join(each.words) for each in shown if each.words[0] != "palaver"}
    assert others - INSTALLING == set()


@pytest.mark.parametrize("name", [*PAGES, "docs/index.md", "docs/configuration.md"])
def test_commands_within_sentences_exist(name):
    text = re.sub(r"^```.*?^```", "", (CHECKOUT / name).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r"`(palaver [a-z][^`]*)`", text)
    assert {command: unknown for command in named if (unknown := unknown_parts(command.split()))} == {}


def test_unknown_commands_and_options_are_seen():
    assert unknown_parts(["palaver", "lisst"]) == ["lisst"]
    assert unknown_parts(["palaver", "list", "--here-and-there=1"]) == ["--here-and-there"]
    assert unknown_parts(["palaver", "quarantine", "list", "--json"]) == []


@pytest.mark.parametrize(
    ("shown", "printed", "now"),
    [
        ("old", "new\n", "new"),
        ("took 0.10 s, 3 kB/s", "took 1.25 s, 90.1 MB/s\n", "took 0.10 s, 3 kB/s"),
        ("took 0.10 s\n4 files", "took 0.20 s\n5 files\n", "took 0.20 s\n5 files"),
        ("a\n…", "A\nB\nC\n", "A\n…"),
        ("…\nb\nc", "A\nB\nC\nD\n", "…\nC\nD"),
        ("a\n…\nc", "A\nB\nC\n", "A\n…\nC"),
        ("a\n…\nc", "A\nC\n", "A\nC"),
        ("", "not shown\n", ""),
        ("x", "\x1b[1mbold\x1b[0m\n", "bold"),
    ],
)
def test_outputs_are_rewritten_as_far_as_they_are_shown(shown, printed, now):
    def block(output):
        lines = ["```console", "$ palaver list", *filter(None, output.split("\n")), "```"]
        return "\n".join(["before", *lines, "after"])

    assert rewritten(block(shown), lambda words: printed if words == ["palaver", "list"] else "") == block(now)


def test_the_python_of_the_readme_works(home):
    (example,) = blocks(README, "python")
    environment = example_environment(home)
    palaver_in(home, environment)(["palaver", "scan"])
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_readme_has_about_800_words_without_its_outputs():
    assert len(re.sub(r"^```.*?^```", "", README, flags=re.MULTILINE | re.DOTALL).split()) < 860


def test_the_install_block_comes_first():
    first = blocks(README, "console")[0]
    assert {" ".join(each.words) for each in shown_commands(first)} == INSTALLING


@pytest.mark.parametrize("target", ["scan", "test"])
def test_the_targets_of_the_install_block_exist(target):
    assert re.search(rf"^{target}:", (CHECKOUT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_the_readme_names_every_platform():
    table = README.split("## What it reads")[1].split("\n## ")[0]
    rows = [row.split("|")[1].strip() for row in re.findall(r"^\|.*\|$", table, re.MULTILINE)[2:]]
    named = sorted(name for row in rows for name in row.split(", "))
    titles = [palaver.importers.importer(platform).title for platform in palaver.importers.platforms()]
    assert named == sorted(titles)


def test_the_readme_says_of_the_right_platforms_that_scan_finds_them():
    table = README.split("## What it reads")[1].split("\n## ")[0]
    rows = [row.split("|")[1:3] for row in re.findall(r"^\|.*\|$", table, re.MULTILINE)[2:]]
    found = {name.strip() for names, way in rows if "found by `palaver scan`" in way for name in names.split(", ")}
    importers = map(palaver.importers.importer, palaver.importers.platforms())
    assert found == {importer.title for importer in importers if importer.locations()} - {"API traces"}


def test_every_picture_of_the_readme_exists_in_light_and_dark():
    named = re.findall(r"docs/images/([\w.-]+)", README)
    assert {name.replace("-dark", "-light") for name in named if "-dark" in name} == {
        name for name in named if "-light" in name
    }
    assert len(named) >= 4
    for name in named:
        picture = CHECKOUT / "docs" / "images" / name
        assert picture.stat().st_size < 300_000
        if picture.suffix == ".svg":
            asked = re.findall(r"@font-face|@import|href=|src=|url\((?!#)", picture.read_text("utf-8"))
            assert asked == [], "a picture that asks the network is not shown everywhere"
