"""The manual page `palaver(1)`, written in roff from what the command line says of itself."""

import re
from collections.abc import Iterator
from textwrap import wrap

import typer.main

from palaver import __version__
from palaver.cli import app
from palaver.cli._commands import GROUPS
from palaver.cli._examples import EXAMPLES
from palaver.cli._reference import Command, commands

_ESCAPES = str.maketrans(
    {"\\": r"\e", "-": r"\-", "~": r"\(ti", "^": r"\(ha", "`": r"\(ga", "'": r"\(aq", '"': r"\(dq"}
)
_ENVIRONMENT = {
    "PALAVER_HOME": "The folder of the archive and of config.toml, instead of the system's folders for them.",
    "PALAVER_CONFIG": "The file of settings, instead of config.toml.",
    "CLAUDE_CONFIG_DIR": "Where Claude Code keeps its files, for `palaver scan`.",
    "PAGER": "The program that shows long answers on a terminal.",
    "NO_COLOR, FORCE_COLOR": "Never, or always, print in colour.",
}
_FILES = {
    "archive.db": "The archive, an SQLite file, in $PALAVER_HOME or the system's folder for application data.",
    "config.toml": "The settings, in $PALAVER_HOME or the system's folder for settings. It need not exist.",
}


def man_page() -> str:
    known = commands()
    root = typer.main.get_command(app)
    summary, *description = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", root.help or "")]
    lines = [
        r".\" Written by `make docs` from the command line; changes made here are lost.",
        f'.TH PALAVER 1 "" "palaver {_escaped(__version__)}" "User Commands"',
        ".SH NAME",
        rf"palaver \- {_escaped(summary.rstrip('.'))}",
        ".SH SYNOPSIS",
        ".B palaver",
        r"[\fIOPTIONS\fR] [\fICOMMAND\fR [\fIARGUMENTS\fR]...]",
        ".SH DESCRIPTION",
        *_paragraphs([paragraph for paragraph in description if not paragraph.startswith("Exit codes: ")])[1:],
        ".PP",
        r"Every command has \fB\-\-help\fR.",
    ]
    for title, group in GROUPS.items():
        lines += [f'.SH "{_escaped(title.upper())}"']
        for command in known:
            if command.name.split()[0] in group:
                lines += _command(command)
    lines += [
        '.SH "EXIT STATUS"',
        *_definitions(
            {
                "0": "Done.",
                "1": "Done, but some records could not be read, or the answer is no.",
                "2": "It could not be done.",
                "130": "Interrupted.",
            }
        ),
        ".SH ENVIRONMENT",
        *_definitions(_ENVIRONMENT),
        ".SH FILES",
        *_definitions(_FILES),
    ]
    return "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    yield f'.SS "{_escaped(command.usage)}"'
    yield from _paragraphs(command.paragraphs)[1:]
    yield from _definitions({option.words: _with_default(option.meaning, option.default) for option in command.options})
    if command.exit_codes:
        codes = "; ".join(f"{code}: {meaning}" for code, meaning in command.exit_codes.items())
        yield from _paragraphs([f"Exit status: {codes}."])
    if command.name in EXAMPLES:
        yield from (".PP", "Examples:", ".PP", ".RS 4", ".nf")
        yield from (_guarded(_escaped(example)) for example in EXAMPLES[command.name])
        yield from (".fi", ".RE")


def _with_default(meaning: str, default: str) -> str:
    return f"{meaning} Default: {default}." if default else meaning


def _paragraphs(paragraphs: list[str]) -> list[str]:
    return [line for paragraph in paragraphs for line in (".PP", *_prose(paragraph))]


def _definitions(meanings: dict[str, str]) -> Iterator[str]:
    for term, meaning in meanings.items():
        yield ".TP"
        yield rf"\fB{_escaped(term)}\fR"
        yield from _prose(meaning)


def _prose(text: str) -> Iterator[str]:
    """Yield the lines of a text, with what stands in backticks in bold."""
    plain, *rest = text.split("`")
    parts = [_escaped(plain)]
    for index, part in enumerate(rest):
        parts.append(rf"\fB{_escaped(part)}\fR" if index % 2 == 0 else _escaped(part))
    yield from map(_guarded, wrap("".join(parts), 78, break_long_words=False, break_on_hyphens=False))


def _escaped(text: str) -> str:
    escaped = text.translate(_ESCAPES)
    return "".join(mark if mark.isascii() else f"\\[u{ord(mark):04X}]" for mark in escaped)


def _guarded(line: str) -> str:
    """Keep a line that begins like a request from being one."""
    return rf"\&{line}" if line.startswith((".", "'")) else line
