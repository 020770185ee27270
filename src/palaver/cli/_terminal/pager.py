"""The pager: a program such as `less` that shows long output one screen at a time.

The program is `$PALAVER_PAGER`, else `$PAGER`, else `less` where it is installed. An empty name, or `cat`, means none.
`less` leaves at once if everything fits the screen, unless `$LESS` says otherwise.
"""

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys

_IS_WINDOWS = os.name == "nt"


class _PagerStream(io.TextIOWrapper):
    """Standard output as the pager reads it; the pager shows it on the terminal."""

    def isatty(self) -> bool:
        return True


class Pager:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        assert process.stdin is not None
        # Each line is sent at once, so that the first screen appears while the rest is being read from the archive.
        self.stream = _PagerStream(
            process.stdin, sys.stdout.encoding or "utf-8", errors="backslashreplace", line_buffering=True
        )

    def close(self) -> None:
        """Send what is left, and wait until the pager has been quit."""
        # The pager may be gone: its reader has seen enough.
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.stream.close()
        while True:
            # Ctrl-C belongs to the pager: it would be left behind with the terminal in its own mode.
            with contextlib.suppress(KeyboardInterrupt):
                self._process.wait()
                return


def start_pager() -> Pager | None:
    """Start the pager; None if there is none, or if it cannot be started."""
    command = _command()
    if command is None:
        return None
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    try:
        return Pager(subprocess.Popen(command, stdin=subprocess.PIPE, env=environment))  # noqa: S603 - the user's choice
    except OSError:
        return None


def _command() -> list[str] | None:
    """Return the pager's command line; None if it is not wanted or not installed."""
    chosen = os.environ.get("PALAVER_PAGER", os.environ.get("PAGER", "less"))
    try:
        words = shlex.split(chosen, posix=not _IS_WINDOWS)
    except ValueError:
        return None
    words = [word.strip('"') for word in words] if _IS_WINDOWS else words
    program = shutil.which(words[0]) if words else None
    if program is None:
        return None
    name = os.path.splitext(os.path.basename(program))[0].casefold()  # noqa: PTH119, PTH122 - a name, not a path
    if name == "cat":
        return None
    # Without it, a `$LESS` that does not ask for colours would print their codes.
    return [program, *words[1:], *(["-R"] if name == "less" else [])]
