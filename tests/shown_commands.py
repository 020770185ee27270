"""The commands that a page shows, run in the order of the page, and their outputs compared or written anew.

A `console` block holds commands after `$ `, each with the output below it, if the page shows any. A line `…` stands
for what the page leaves out: at the end for the rest, at the beginning for the start, in between for the middle.
`pytest --update-golden` writes what the commands print now, keeping as many lines as the page showed.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from palaver.cli._reference import commands as known_commands

LEFT_OUT = "…"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_TIMING = re.compile(r"just now|\d+ (?:s|min) ago|[\d.,]+ (?:ms|s|min|[kMG]?B/s)(?!\w)")


@dataclass(frozen=True)
class Shown:
    """A command of a page: its line, and the lines of output below it."""

    line: str
    output: list[str]

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line, comments=True)


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shown_commands(block: str) -> list[Shown]:
    return [
        Shown(line, output.rstrip("\n").split("\n") if output.strip() else [])
        for line, _, output in (entry.partition("\n") for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    ]


def rewritten(text: str, run: Callable[[list[str]], str]) -> str:
    """Return a page with what its commands print now, where it shows an output."""

    def block(found: re.Match[str]) -> str:
        lines = [
            line
            for shown in shown_commands(found[1])
            for line in (
                f"$ {shown.line}",
                *_output_now(shown, run(shown.words) if shown.words[0] == "palaver" else ""),
            )
        ]
        return "\n".join(["```console", *lines, "```"])

    return _BLOCK.sub(block, text)


def _output_now(shown: Shown, printed: str) -> list[str]:
    if not shown.output:
        return []
    now = _cut(_COLOURS.sub("", printed).rstrip("\n").split("\n"), shown.output)
    # Times and rates differ between any two runs: a difference in nothing else leaves the page as it is.
    return shown.output if _untimed(now) == _untimed(shown.output) else now


def _untimed(lines: list[str]) -> list[str]:
    return [_TIMING.sub("TIME", line) for line in lines]


def _cut(lines: list[str], shown: list[str]) -> list[str]:
    """Leave out of an output what the page leaves out of it."""
    if LEFT_OUT not in shown:
        return lines
    at = shown.index(LEFT_OUT)
    head, tail = lines[:at], lines[len(lines) - (len(shown) - at - 1) :]
    return lines if len(head) + len(tail) >= len(lines) else [*head, LEFT_OUT, *tail]


def palaver_in(folder: Path, environment: dict[str, str]) -> Callable[[list[str]], str]:
    """Return what runs a command of a page in a folder, and gives all that a terminal would show."""

    def run(words: list[str]) -> str:
        home = environment["HOME"]
        command = [sys.executable, "-m", *(word.replace("~", home, 1) if word[:2] == "~/" else word for word in words)]
        done = subprocess.run(
            command,
            cwd=folder,
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        printed = done.stdout.decode().replace("\r\n", "\n")
        assert done.returncode == 0, (words, printed)
        return printed.replace("\\", "/")

    return run


def unknown_parts(words: list[str]) -> list[str]:
    """Return what no `--help` knows in the words of a command: its name, or options."""
    names = {command.name: command for command in known_commands()}
    rest = words[1:]
    name = next((" ".join(rest[:size]) for size in (2, 1) if " ".join(rest[:size]) in names), None)
    if name is None:
        return [rest[0]] if rest and not rest[0].startswith("-") else []
    known = {word.strip() for option in names[name].options for word in re.findall(r"--?[\w-]+", option.words)}
    asked = (word.partition("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word))
    return [option for option in asked if option not in known | {"--help", "-h"}]
