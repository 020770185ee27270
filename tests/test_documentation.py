"""What the documentation promises: every finding is declared once, well formed, and listed; every trap has a test."""

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections import Counter

import pytest

import palaver.cook
import palaver.importers
import palaver.sources
import palaver.validation
from importing import CHECKOUT
from palaver.config import Config, load_config
from palaver.errors import OptionError
from palaver.model.finding import KINDS

SOURCE = CHECKOUT / "src" / "palaver"
FINDINGS = CHECKOUT / "docs" / "findings.md"


@pytest.fixture(scope="module", autouse=True)
def _all_declarations():
    """Kinds are declared by the modules that notice them: import every one."""
    for package in (palaver.sources, palaver.importers, palaver.validation, palaver.cook):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def declared_in_source() -> Counter[str]:
    """Codes as they are written in calls of `finding_kind`, wherever they stand, imported or not."""
    return Counter(
        node.args[0].value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "finding_kind"
        and isinstance(node.args[0], ast.Constant)
    )


def test_every_code_is_declared_once():
    assert [code for code, count in declared_in_source().items() if count > 1] == []


def test_every_declared_code_is_known():
    assert set(declared_in_source()) == set(KINDS)


def test_codes_are_kebab_case():
    assert [code for code in KINDS if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", code)] == []


def test_meanings_are_sentences():
    assert [kind for kind in KINDS.values() if not re.fullmatch(r"[A-Z].*\.", kind.meaning)] == []


def test_every_code_is_listed_for_the_reader():
    assert FINDINGS.is_file(), f"{FINDINGS} is missing: run make docs"
    listed = FINDINGS.read_text("utf-8")
    assert [code for code in sorted(KINDS) if f"`{code}`" not in listed] == [], "run make docs"


@pytest.mark.parametrize(
    ("title", "count"),
    [
        ("Continue", 18),
        ("Roo Code, Cline and Kilo Code", 20),
        ("GitHub Copilot", 26),
        ("Azure OpenAI and API Management", 16),
    ],
)
def test_every_trap_of_a_format_has_a_test(monkeypatch, title, count):
    monkeypatch.syspath_prepend(CHECKOUT / "docs")
    traps = importlib.import_module("traps")
    named = {trap.number for trap in traps.traps_of(CHECKOUT / "tests", traps.FORMATS[title])}
    assert named == set(range(1, count + 1))


ARCHITECTURE = (CHECKOUT / "docs" / "architecture.md").read_text("utf-8")


def test_the_page_of_the_architecture_shows_the_layers_that_are_enforced():
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    (shown,) = re.findall(r"^```layers\n(.*?)^```", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    assert shown.splitlines() == [layer.replace("palaver.", "") for layer in layers]
    assert len(layers) <= 12


def test_the_page_of_the_architecture_names_modules_that_exist():
    named = re.findall(r"`([\w/]+\.py|[\w/]+/)`", ARCHITECTURE)
    assert len(named) > 40
    folders = [SOURCE, *(folder for folder in SOURCE.rglob("*") if folder.is_dir())]
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


def test_every_package_is_on_the_page_of_the_architecture():
    packages = {path.stem for path in SOURCE.iterdir() if not path.name.startswith("__") and path.suffix in {"", ".py"}}
    table = ARCHITECTURE.split("## The way")[0]
    assert {package for package in packages if not re.search(rf"`{package}(/|\.py)`", table)} == set()


CONFIGURATION = (CHECKOUT / "docs" / "configuration.md").read_text("utf-8")


def test_the_example_of_the_configuration_page_has_every_setting(tmp_path):
    """Settings are those that the reader accepts: it names them all when it meets another."""
    (example,) = re.findall(r"^```toml\n(.*?)^```", CONFIGURATION, re.MULTILINE | re.DOTALL)
    file = tmp_path / "config.toml"
    file.write_text(example, "utf-8")
    config = load_config(file)
    assert config.price_of("my-model")
    assert config.duplicate_window_ms == Config().duplicate_window_ms
    shown = tomllib.loads(example)
    for table, heading in (
        (shown, ""),
        (shown["prices"]["my-model"], '[prices."m"]'),
        (shown["duplicates"], "[duplicates]"),
    ):
        file.write_text(f"{heading}\nno_setting = 1\n", "utf-8")
        with pytest.raises(OptionError) as refused:
            load_config(file)
        known = str(refused.value).rpartition(": ")[2].split(", ")
        assert sorted(known) == sorted(table)


def test_the_configuration_page_describes_every_setting():
    shown = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", CONFIGURATION, re.MULTILINE | re.DOTALL)[0])
    for section, settings in (("prices", shown["prices"]["my-model"]), ("duplicates", shown["duplicates"])):
        table = CONFIGURATION.split(f"\n### {section}\n")[1].split("\n#")[0]
        assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(settings)


def variables_in_source():
    """Names of environment variables that the program asks for: text in capitals beside `environ`, or in a constant."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        yield from re.findall(r'environ(?:\.get|\.setdefault)?[(\[]\s*"([A-Z][A-Z_]+)"', text)
        yield from re.findall(r'"((?:PALAVER|CLINE)_[A-Z_]+)"', text)


def test_the_configuration_page_has_every_environment_variable():
    named = set(re.findall(r"`([A-Z]{2}[A-Z_]+)`", CONFIGURATION.split("## Environment variables")[1]))
    asked = set(variables_in_source()) - {"PYDANTIC_DISABLE_PLUGINS"}  # set for pydantic, not read
    libraries = {"COLUMNS", "XDG_DATA_HOME"}  # read by rich and platformdirs
    assert named == asked | libraries


FOLDERS = {
    "linux": {"archive.db": ".local/share/palaver", "config.toml": ".config/palaver"},
    "darwin": dict.fromkeys(("archive.db", "config.toml"), "Library/Application Support/palaver"),
}
"""Where files are, below the home. On Windows the system is asked for it, and not to be told otherwise."""


@pytest.mark.parametrize("system", FOLDERS)
def test_the_configuration_page_names_the_folders(system):
    folders = FOLDERS[system]
    assert f"| `~/{folders['archive.db']}` | `~/{folders['config.toml']}` |" in CONFIGURATION


@pytest.mark.skipif(sys.platform == "win32", reason="a test cannot move the folders of Windows")
def test_files_are_where_the_configuration_page_says(tmp_path):
    folders = FOLDERS[sys.platform]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PALAVER_", "XDG_"))}

    def run(*words):
        command = [sys.executable, "-m", "palaver", *words]
        environment = {**kept, "HOME": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert run("import", str(CHECKOUT / "fixtures" / "claude_code" / "plain_session" / "source")).returncode == 0
    assert (tmp_path / folders["archive.db"] / "archive.db").is_file()
    settings = tmp_path / folders["config.toml"] / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("no_setting = 1\n")
    refused = run("stats")
    assert refused.returncode == 2
    assert "no_setting" in refused.stderr
