"""What CONTRIBUTING and the examples of the commands show a reader, done. README has tests of its own."""

import importlib
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
from palaver.sources.source import Source

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
        rest = _with_slashes(done.stdout + done.stderr)
        for part in filter(str.strip, re.split(r"^…$", _with_slashes(shown), flags=re.MULTILINE)):
            before, found, rest = rest.partition(part.strip("\n"))
            assert found, (command, part, before)


def _with_slashes(text):
    """Write the separators of paths as they are everywhere but on Windows."""
    return text.replace("\\\\", "/").replace("\\", "/")


@pytest.fixture
def reader(tmp_path):
    """A folder that looks like a checkout to somebody who follows an example, and a home of its own."""
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


LAWS = re.findall(
    r"^@every_(case|platform)\ndef (test_\w+)", (CHECKOUT / "tests/test_importers.py").read_text("utf-8"), re.MULTILINE
)


def block_with(language, mark):
    (found,) = (block for block in blocks(CONTRIBUTING, language) if mark in block)
    return found


@pytest.fixture
def toy(tmp_path):
    """The importer and the fixture of CONTRIBUTING, copied to the letter, and a pytest that sees them."""
    case = tmp_path / "fixtures" / "toy" / "plain_chat"
    files = {
        tmp_path / "importers" / "toy.py": block_with("python", "IMPORTER"),
        case / "source" / "garden.toy": block_with("json", '"chat"'),
        case / "NOTE.md": block_with("markdown", "toy"),
        case.parent / "oracle.toml": block_with("toml", "text_fields"),
        tmp_path / "plugins" / "with_toy.py": (
            f"import palaver.importers\npalaver.importers.__path__.append({str(tmp_path / 'importers')!r})\n"
        ),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def laws(*options):
        words = [*("-p", "with_toy", "-k", "toy", "-p", "no:cacheprovider", "-p", "no:randomly", "-q"), *options]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            "PALAVER_FIXTURES": str(tmp_path / "fixtures"),
            "PYTHONPATH": os.pathsep.join([str(tmp_path / "plugins"), str(CHECKOUT / "src")]),
        }
        command = [sys.executable, "-m", "pytest", *words, str(CHECKOUT / "tests" / "test_importers.py")]
        return subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True, check=False)

    laws.case = case
    laws.module = tmp_path / "importers" / "toy.py"
    return laws


def test_the_importer_of_the_walk_through_keeps_all_laws(toy):
    written = toy("--update-golden")
    assert written.returncode == 0, written.stdout
    expected = (toy.case / "expected.jsonl").read_text("utf-8")
    assert "about five centimetres deep" in expected
    assert '"timestamp_inferred": true' in expected
    kept = toy()
    assert kept.returncode == 0, kept.stdout
    assert re.search(rf"^{len(LAWS)} passed, \d+ deselected", kept.stdout, re.MULTILINE), kept.stdout
    assert len(LAWS) > 12


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["importers/toy.py", "cli/count.py"])
def test_the_modules_of_the_walk_through_keep_the_house_style(name, command):
    module = block_with("python", "IMPORTER" if "toy" in name else "def count(")
    words = [sys.executable, "-m", "ruff", *command, "--stdin-filename", f"src/palaver/{name}", "-"]
    done = subprocess.run(words, input=module, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "broken", "law"),
    [
        ("timestamp_or_empty(rest", "normalize_timestamp(rest", "test_any_value_of_any_record"),
        ("content=[build.text(text)]", "content=[build.text(text[:30])]", "test_content_survives"),
        ("run.mapped()", "pass", "test_ledger_adds_up"),
    ],
)
def test_the_laws_see_a_mistake_in_it(toy, line, broken, law):
    """Otherwise the walk-through would prove nothing."""
    text = toy.module.read_text("utf-8")
    assert text.count(line) == 1
    imported = "from palaver.model.timestamps import timestamp_or_empty"
    text = text.replace(line, broken).replace(imported, f"{imported}, normalize_timestamp")
    toy.module.write_text(text, "utf-8")
    failed = toy("--update-golden")
    assert failed.returncode == 1
    assert law in failed.stdout


def test_the_command_of_the_walk_through_works(tmp_path):
    """Every step, done in a copy of the checkout: table, model, invocations, example, `make docs` and its tests."""
    for name in ("src", "docs", "schema", "tests"):
        shutil.copytree(CHECKOUT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("fixtures", "pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile", "CHANGELOG.md"):
        (tmp_path / name).symlink_to(CHECKOUT / name)
    package = tmp_path / "src" / "palaver"
    (package / "cli" / "count.py").write_text(block_with("python", "def count("), "utf-8")
    (tmp_path / "tests/cli/invocations/count.toml").write_text(block_with("toml", "is_answered"), "utf-8")
    example = re.search(r"^````markdown\n(.*?)^````$", CONTRIBUTING, re.MULTILINE | re.DOTALL)[1]
    (tmp_path / "docs/examples/count.md").write_text(example, "utf-8")
    models = package / "model" / "json_output"
    with (models / "statistics.py").open("a", encoding="utf-8") as module:
        module.write(f"\n\n{block_with('python', 'class CountAnswer')}")
    for path, table, line in (
        (package / "cli" / "_commands.py", '    "Read": {\n', block_with("python", '_Entry("count"')),
        (package / "cli" / "_examples.py", "EXAMPLES = {\n", block_with("python", '"palaver count"')),
        (models / "__init__.py", "_MODELS = {\n", block_with("python", '"statistics:CountAnswer"')),
    ):
        text = path.read_text("utf-8")
        assert text.count(table) == 1
        path.write_text(text.replace(table, table + line), "utf-8")

    def run(*words):
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            "PYTHONPATH": str(tmp_path / "src"),
        }
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("docs/build.py")
    assert (tmp_path / "schema" / "count-answer" / "1.0.0.json").is_file()
    assert "## palaver count" in (tmp_path / "docs" / "cli.md").read_text("utf-8")
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "count or no_answer or invocations_of or command_line_work or test_help",
    )
    run("-m", "pytest", *options, "tests/cli/test_answers.py", "tests/cli/test_reference.py", "tests/cli/test_help.py")
    run("-m", "pytest", *options[:-1], "examples_of_the_command_line and count", "tests/test_walkthroughs.py")


def test_what_the_walk_through_names_exists():
    named = re.findall(r"`((?:sources|model)\.[\w.]+)", CONTRIBUTING) + [
        f"model.build.{name}" for name in re.findall(r"`build\.(\w+)", CONTRIBUTING)
    ]
    assert len(named) >= 10
    for name in named:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(f"palaver.{module}"), attribute), name
    for method in re.findall(r"`source\.(\w+)\(", CONTRIBUTING):
        assert hasattr(Source, method), method
