"""What to try next: commands, each with its purpose, and exports that wait to be imported."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.text import Text

from palaver.cli._terminal.paths import shell_path
from palaver.cli._terminal.words import counted, display_path

_EXPORTS_SHOWN = 5


def next_steps(steps: Mapping[str, str]) -> Iterator[Text]:
    """Yield a line for each command, with its purpose aligned behind it."""
    width = max(map(len, steps))
    for command, purpose in steps.items():
        yield Text.assemble(f"  {command:{width}}", (f"   {purpose}", "dim"))


def exports_to_import(exports: Sequence[tuple[Path, str]]) -> Iterator[Text]:
    """Yield how to import some files, each given with the title of its platform, in commands that can be pasted."""
    for path, title in exports[:_EXPORTS_SHOWN]:
        yield Text(f"{display_path(path.parent)} has what looks like a {title} export:")
        # Wrapped by the terminal itself, so that a long line is pasted as one.
        yield Text(f"    palaver import {shell_path(path)}", "cyan", no_wrap=True, overflow="ignore")
    if len(exports) > _EXPORTS_SHOWN:
        yield Text(f"and {counted(len(exports) - _EXPORTS_SHOWN, 'more export')}", "dim")
