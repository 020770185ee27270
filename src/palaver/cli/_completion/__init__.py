"""Scripts that complete palaver's command line in bash, zsh and fish.

Commands, options and fixed choices are written into the script, so that completing them starts no process. Values of
the archive come from `palaver complete-values` (`palaver.archive.completion_values`), which the script runs.
"""

from palaver.cli._completion import bash, fish, zsh
from palaver.cli._completion.command_line import command_line

_WRITERS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
SHELLS = tuple(_WRITERS)


def script(shell: str) -> str:
    return _WRITERS[shell](command_line())
