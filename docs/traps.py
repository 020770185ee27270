"""The page of traps: what a naive reader of each format gets wrong, and the test that shows it is read rightly."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FORMATS = {
    "Continue": ("continue_dev",),
    "Roo Code, Cline and Kilo Code": ("roo_code", "cline", "kilo_code"),
    "GitHub Copilot": ("github_copilot",),
    "Azure OpenAI and API Management": ("azure_openai",),
    "API traces, cook and merge": ("api_trace", "cook", "workflows/test_merge_streams.py"),
    "Wire formats": ("wire",),
}
"""Each format, and where in `tests/` its traps are."""

_NAME = re.compile(r"test_trap_([0-9]+)_(.+)")


class Trap(NamedTuple):
    number: int
    meaning: str
    test: str


def traps_of(tests: Path, places: tuple[str, ...]) -> list[Trap]:
    """The traps that tests name, by number."""
    found = [trap for place in places for path in _modules(tests / place) for trap in _traps_in(path, tests)]
    return sorted(found, key=lambda trap: trap.number)


def traps_page(tests: Path) -> str:
    lines = [
        "# Traps",
        "",
        "What a naive reader of these formats gets wrong: each trap by its number, with the tests that name it. What a",
        "test is called says what is right.",
    ]
    for title, places in FORMATS.items():
        lines += ["", f"## {title}", "", "| trap | what is right | test |", "|---|---|---|"]
        lines += [f"| {trap.number} | {trap.meaning} | `{trap.test}` |" for trap in traps_of(tests, places)]
    return "\n".join(lines) + "\n"


def _modules(place: Path) -> list[Path]:
    return [place] if place.suffix == ".py" else sorted(place.rglob("test_*.py"))


def _traps_in(path: Path, tests: Path) -> Iterator[Trap]:
    where = path.relative_to(tests.parent).as_posix()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and (name := _NAME.fullmatch(node.name)):
            yield Trap(int(name[1]), name[2].replace("_", " "), f"{where}::{node.name}")
