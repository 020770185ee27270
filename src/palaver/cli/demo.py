"""`palaver demo`: a walk through ten commands on sample conversations."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from textwrap import wrap
from typing import Annotated, NamedTuple

import typer

from palaver.cli._terminal import output
from palaver.errors import OptionError, PalaverError
from palaver.workflows.demo import EXPORT, demo_environment, write_demo_home

_MAX_LINES = 26
_LAST_LINES = 4
_PIPE_WIDTH = 80
_MIN_WIDTH = 40


class _Step(NamedTuple):
    sentence: str
    commands: tuple[tuple[str, ...], ...]
    max_lines: int = _MAX_LINES


_STEPS = (
    _Step(
        "Find the conversations on this machine, and read an export that a chat service sent.",
        (("scan",), ("import", f"~/{EXPORT.as_posix()}")),
        20,
    ),
    _Step("What is there? The first column is the id.", (("list",),)),
    _Step("Read one: each tool call is one line, with its outcome.", (("show", "c81e55aa"),), 40),
    _Step(
        "Find a word, in what people, models and tools wrote. `palaver show ID:N` opens a hit.",
        (("search", "backoff"),),
    ),
    _Step("What did it cost? Each answer counts once, however many files repeat it.", (("stats", "--by", "model"),)),
    _Step("What is there more than once?", (("duplicates",),)),
    _Step("Keep what matters in reach; --tag finds it again.", (("tag", "1d92b7e8", "performance", "keep"),)),
    _Step("Take it along: a folder of Markdown files.", (("export", "--format", "markdown", "--output", "notes/"),)),
    _Step("Is everything valid? Every record is accounted for.", (("validate",),)),
    _Step("Is the archive healthy?", (("doctor",),)),
)


def demo(
    *,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep the sample archive in this new or empty folder.")
    ] = None,
    pause: Annotated[bool, typer.Option("--pause/--no-pause", help="Wait for Enter after each step.")] = True,
) -> None:
    """Try palaver on sample conversations, in an archive that is removed afterwards.

    Ten steps show what palaver does, each with the command and its real output, shortened where it is long. Your own
    conversations and your archive are not touched, and nothing is read from your home folder. On a terminal, each step
    waits for Enter; --no-pause shows all at once.

    Exit codes: 0 all steps were shown, 2 the folder is not empty, or a step failed.
    """
    with _folder(keep) as folder:
        walk = _Walk(folder, is_paused=pause and output.is_terminal() and output.can_prompt())
        if not walk.take():
            output.notify("", "The demo ended early.")
        walk.finish(is_kept=keep is not None)


@contextmanager
def _folder(keep: Path | None) -> "Generator[Path]":
    """Yield the folder of the demo, removed afterwards unless the user named it."""
    if keep is not None:
        folder = keep.expanduser().absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OptionError(f"--keep {keep}: the folder has something in it; name a new or empty one")
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    folder = Path(tempfile.mkdtemp(prefix="palaver-demo-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Walk:
    """The steps on a terminal of some width; a pipe gets the same without colours."""

    def __init__(self, folder: Path, *, is_paused: bool) -> None:
        self._archive_folder = folder
        self._home = folder / "home"
        self._is_paused = is_paused
        columns = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
        self._width = max(columns, _MIN_WIDTH)
        self._is_coloured = output.is_terminal() and not os.environ.get("NO_COLOR")
        environment = demo_environment(self._home, folder)
        environment |= {"COLUMNS": str(self._width), "FORCE_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        # What a command prints is read here as UTF-8, whatever the terminal's own encoding.
        self._environment = {**environment, "PYTHONIOENCODING": "utf-8"}
        if not self._is_coloured:
            self._environment["NO_COLOR"] = "1"

    def take(self) -> bool:
        """Show the steps, and return whether all were shown."""
        write_demo_home(self._home, date.today())  # noqa: DTZ011 - days of the local calendar
        self._say(
            f"A walk through palaver in {len(_STEPS)} steps, with the conversations of somebody called Sam. "
            "Your own files are not touched."
        )
        for number, step in enumerate(_STEPS, 1):
            output.answer_text("")
            self._say(f"{number}/{len(_STEPS)}  {step.sentence}", "bold")
            for words in step.commands:
                output.answer_text("")
                self._show(words, step.max_lines)
            if self._is_paused and number < len(_STEPS) and not _is_continued():
                return False
        return True

    def finish(self, *, is_kept: bool) -> None:
        """Say what to do with one's own conversations, and what became of these."""
        output.answer_text("")
        self._say("Now with your own:", "bold")
        output.answer_text("  palaver scan            what is on this machine")
        output.answer_text("  palaver import PATH     an export or any other file")
        output.answer_text("  palaver --help          all commands")
        output.answer_text("")
        if is_kept:
            self._say("The sample archive is kept. To look around in it:")
            for line in _used_as(self._archive_folder):
                output.answer_text(f"  {line}")
        else:
            self._say("The sample archive is removed. To keep one: `palaver demo --keep DIR`.")

    def _show(self, words: tuple[str, ...], max_lines: int) -> None:
        self._say(f"$ palaver {' '.join(words)}", "cyan")
        home = str(self._home)
        # No shell is in between, which would replace the `~` of the shown command.
        command = [sys.executable, "-m", "palaver", *(word.replace("~", home, 1) for word in words)]
        done = subprocess.run(  # noqa: S603 - the commands above, run by this interpreter
            command,
            cwd=self._home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise PalaverError(f"`palaver {' '.join(words)}` failed in the demo: {done.stdout.strip()}")
        for line in _shortened(done.stdout.rstrip().splitlines(), max_lines):
            output.answer_text(line)

    def _say(self, text: str, style: str = "") -> None:
        from rich.text import Text

        for line in wrap(text, self._width, break_long_words=False):
            output.answer(Text(line, style))


def _is_continued() -> bool:
    """Wait for Enter; return False if the user wants to stop."""
    output.notify("")
    return output.wait_for_enter("Enter for the next step, q to stop: ")


def _shortened(lines: list[str], max_lines: int) -> list[str]:
    """Return the lines without some of the middle: what a command found is often said at its end."""
    if len(lines) <= max_lines + 1:
        return lines
    left_out = len(lines) - max_lines
    return [*lines[: max_lines - _LAST_LINES], f"… {left_out:,} more lines …", *lines[-_LAST_LINES:]]


def _used_as(folder: Path) -> list[str]:
    if sys.platform == "win32":
        return [f"$env:PALAVER_HOME = '{folder}'", "palaver list"]
    import shlex

    return [f"PALAVER_HOME={shlex.quote(str(folder))} palaver list"]
