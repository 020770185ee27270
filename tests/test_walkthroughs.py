"""What README and CONTRIBUTING tell a reader to do, done."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import palaver.importers
from importing import CHECKOUT
from palaver.cli._reference import commands as known_commands
from palaver.importers import importer
from palaver.model.report import SourceReport
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines

README = (CHECKOUT / "README.md").read_text("utf-8")
CONTRIBUTING = (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8")
_OR_TRUE = " || true"
SCRIPTS = Path(sysconfig.get_path("scripts"))


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text):
    """Every `$ palaver …` of the console blocks, with the output shown below it."""
    found = []
    for block in blocks(text, "console"):
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = entry.partition("\n")
            if command.startswith("palaver "):
                found.append((command, output.strip()))
    return found


def follow(text, reader):
    """Run every command of a text, and find in its output what the text shows; a line of … is what was left out.

    A command that is followed by `|| true` may say no.
    """
    for command, shown in commands(text):
        may_refuse = command.endswith(_OR_TRUE)
        done = reader([sys.executable, "-m", *shlex.split(command.removesuffix(_OR_TRUE))])
        assert done.returncode == 0 or (may_refuse and done.returncode == 1), (command, done.stderr)
        rest = done.stdout.replace("\\\\", "/").replace("\\", "/")
        for part in filter(str.strip, re.split(r"^…$", shown, flags=re.MULTILINE)):
            before, found, rest = rest.partition(part.strip("\n"))
            assert found, (command, part, before)


@pytest.fixture
def reader(tmp_path):
    """A folder that looks like a checkout to somebody who follows the README, and a home of its own."""
    shutil.copytree(CHECKOUT / "fixtures", tmp_path / "fixtures")
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "CLAUDE_CONFIG_DIR"}
    environment |= {"HOME": str(home), "USERPROFILE": str(home), "PALAVER_HOME": str(home / "data")}
    environment["PYTHONPATH"] = str(Path(palaver.importers.__file__).parents[2])
    environment["PATH"] = f"{SCRIPTS}{os.pathsep}{environment['PATH']}"

    def run(words):
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_the_readme_shows_commands():
    assert len(commands(README)) >= 6


def test_the_commands_of_the_readme_work_and_print_what_it_shows(reader):
    follow(README, reader)


@pytest.mark.parametrize("example", sorted((CHECKOUT / "docs" / "examples").iterdir()), ids=lambda file: file.stem)
def test_the_examples_of_the_command_line_work_and_print_what_they_show(example, reader):
    text = example.read_text("utf-8")
    command = f"palaver {example.stem.replace('-', ' ')}"
    assert [shown for words, shown in commands(text) if f"{words} ".startswith(f"{command} ")], "it does not show it"
    follow(text, reader)


def test_the_reference_shows_every_command_with_its_example():
    reference = (CHECKOUT / "docs" / "cli.md").read_text("utf-8")
    names = [command.name for command in known_commands()]
    assert re.findall(r"^## palaver (.*)$", reference, re.MULTILINE) == names
    for name in names:
        example = (CHECKOUT / "docs" / "examples" / f"{name.replace(' ', '-')}.md").read_text("utf-8")
        assert example.rstrip() in reference.split(f"\n## palaver {name}\n")[1].split("\n## ")[0]
    assert len(list((CHECKOUT / "docs" / "examples").iterdir())) == len(names), "an example is of no command"


def test_the_library_example_of_the_readme_works(reader):
    (example,) = blocks(README, "python")
    done = reader([sys.executable, "-c", example])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("target", ["scan", "test"])
def test_the_two_commands_exist(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (CHECKOUT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_the_importer_of_the_walk_through_works(tmp_path, monkeypatch):
    """One module and one source file, as CONTRIBUTING has them, and nothing else."""
    (module,) = (block for block in blocks(CONTRIBUTING, "python") if "IMPORTER" in block)
    (tmp_path / "importers").mkdir()
    (tmp_path / "importers" / "toy.py").write_text(module, "utf-8")
    monkeypatch.setattr(palaver.importers, "__path__", [*palaver.importers.__path__, str(tmp_path / "importers")])
    importer.cache_clear()
    source = tmp_path / "garden.toy"
    source.write_text(
        '{"chat": "c1", "who": "user", "text": "When do I sow the beans?", "at": 1700000000}\n'
        '{"chat": "c1", "who": "assistant", "text": "After the last frost.", "at": 1700000005, "mood": "calm"}\n'
        '{"chat": "c1"}\n',
        "utf-8",
    )
    (unit,), _ = find_units([source])
    report = SourceReport(unit.source.label, unit.platform)
    made = list(document_lines(unit, report, {}))
    importer.cache_clear()
    sys.modules.pop("palaver.importers.toy", None)
    assert unit.platform == "toy"
    assert (len(made), report.messages) == (1, 2)
    assert report.ledger.adds_up
    assert report.ledger.quarantined.total() == 1
    assert not report.failure
