"""The commands to try next, each with what it is for."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text


def next_steps(steps: Mapping[str, str]) -> "Iterator[Text]":
    """Yield a line for each command, with its purpose aligned behind it."""
    from rich.text import Text

    width = max(map(len, steps))
    for command, purpose in steps.items():
        yield Text.assemble(f"  {command:{width}}", (f"   {purpose}", "dim"))
