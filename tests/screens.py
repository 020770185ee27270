"""What a person sees: the real command in a real terminal of some width, at a fixed moment.

The clock of palaver, and of every Python process that it starts, is stopped by `stopped_clock/sitecustomize.py`.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.cells import chop_cells

HEIGHT = 50
_TESTS = Path(__file__).parent
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
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (_TESTS / "stopped_clock", _TESTS.parent / "src")))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, width, 0, 0))
    command = [sys.executable, "-m", "palaver", *words]
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
