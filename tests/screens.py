"""What a person sees: the real command in a real terminal of some width, at a fixed moment.

Run as a program, it is palaver with the clock stopped: `python tests/screens.py list`.
"""

import os
import re
import shlex
import subprocess
import sys
from itertools import count
from pathlib import Path

from rich.cells import chop_cells

NOW = "2026-07-17T12:00:00+00:00"
"""A day after the newest fixture, so that screens have times like `1 day ago` and statistics of the last days."""
HEIGHT = 50
_STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")


def printed(words: list[str], *, home: Path, width: int) -> str:
    """Run palaver in a terminal and return the command, what it printed without colours, and a failing exit code."""
    import fcntl
    import pty
    import struct
    import termios

    names = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    environment |= {"HOME": str(home), "TERM": "xterm-256color", "TZ": "UTC", "PAGER": "cat", "PYTHONUTF8": "1"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, width, 0, 0))
    command = [sys.executable, __file__, *words]
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen(command, env=environment, cwd=home, start_new_session=True, **streams) as process:
        os.close(theirs)
        output = _read_to_end(ours)
    os.close(ours)
    text = _STYLE.sub("", output.decode()).replace("\r\n", "\n")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text), "the screen has more than lines of text"
    ending = f"[exit {process.returncode}]\n" if process.returncode else ""
    return f"$ {shlex.join(['palaver', *words])}\n{text}{ending}"


def as_wrapped_by_terminal(text: str, width: int) -> str:
    """Break the lines that are wider than the terminal, as it does: anywhere, even inside a word."""
    return "\n".join("\n".join(chop_cells(line, width)) for line in text.split("\n"))


def _read_to_end(terminal: int) -> bytes:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # Linux reports the end of a terminal as an error
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def stop_the_clock() -> None:
    """Make it always the same moment; what is measured takes a quarter of a second each time."""
    import datetime as dt
    import time

    moment = dt.datetime.fromisoformat(NOW)

    class Stopped(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Stopped":
            return cls.fromtimestamp(moment.timestamp(), tz)

    class StoppedDate(dt.date):
        @classmethod
        def today(cls) -> dt.date:
            return moment.date()

    ticks = count()
    dt.datetime = Stopped  # type: ignore[misc]
    dt.date = StoppedDate  # type: ignore[misc]
    time.time = moment.timestamp
    time.time_ns = lambda: int(moment.timestamp()) * 10**9
    time.perf_counter = lambda: next(ticks) / 4


if __name__ == "__main__":
    stop_the_clock()
    from palaver.cli import main

    main()
