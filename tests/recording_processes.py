"""`palaver record` as a process, on pipes or on a terminal, and what it has printed so far."""

import os
import re
import signal
import subprocess
import threading
from typing import Any, Self

DEADLINE_S = 30
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class RunningPalaver:
    """A process whose output can be waited for; on a terminal, `output` has all that it shows."""

    def __init__(self, start: Any, *words: str, is_on_terminal: bool = False, **settings: Any) -> None:
        self._changed = threading.Condition()
        self._printed = bytearray()
        self._terminal: int | None = None
        if is_on_terminal:
            import pty

            self._terminal, theirs = pty.openpty()
            streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
            self.process = start(*words, start_new_session=True, preexec_fn=_take_terminal, **streams, **settings)
            os.close(theirs)
            source = self._terminal
        else:
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            self.process = start(*words, start_new_session=True, **streams, **settings)
            source = self.process.stdout.fileno()
        self._reader = threading.Thread(target=self._read, args=(source,))
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        if self._terminal is not None:
            os.close(self._terminal)
        else:
            self.process.stdout.close()

    @property
    def output(self) -> str:
        return _STYLE.sub("", self._printed.decode(errors="replace")).replace("\r\n", "\n")

    def wait_for(self, pattern: str) -> "re.Match[str]":
        """Wait until it has printed something, and return that."""
        with self._changed:
            is_there = self._changed.wait_for(lambda: re.search(pattern, self.output), DEADLINE_S)
        assert is_there, f"{pattern!r} is not in what it printed:\n{self.output}"
        return is_there

    def type(self, keys: bytes) -> None:
        assert self._terminal is not None
        os.write(self._terminal, keys)

    def send(self, number: int) -> None:
        """Send a signal to palaver alone."""
        self.process.send_signal(number)

    def finish(self) -> int:
        """Wait for the end and return the exit code."""
        code = self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        return code

    def _read(self, source: int) -> None:
        while True:
            try:
                piece = os.read(source, 1 << 16)
            except OSError:  # Linux reports the end of a terminal as an error
                piece = b""
            if not piece:
                return
            with self._changed:
                self._printed += piece
                self._changed.notify_all()


def _take_terminal() -> None:
    """Make the terminal on standard input that of the new session, so that Ctrl-C works on it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
