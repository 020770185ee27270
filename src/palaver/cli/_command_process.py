"""A command that runs on this terminal as if palaver were not there: streams, Ctrl-C and exit code are its own.

The command stays in palaver's process group, so the terminal sends Ctrl-C to both; palaver ignores it and waits. What
only palaver gets, such as the signals of `kill` or of a service manager, is passed on. The exit codes are those of a
shell: 128 + n for a command that signal n ended, 127 for one that does not exist, 126 for one that cannot be run.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import FrameType

NOT_FOUND = 127
NOT_RUNNABLE = 126
_KILLED = 128


class CommandError(Exception):
    """A command could not be started; `exit_code` is the one that a shell would give."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run_command(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end and return its exit code.

    Raises:
        CommandError: The command does not exist or cannot be run.
    """
    passing = _Passing()
    # Unlike an ignored signal, one with a handler has its default action in the command.
    with signals_handled(passing, _PASSED_ON):
        try:
            # The user's own command, which is to be run as it is.
            process = subprocess.Popen([_program(words[0]), *words[1:]], env=environment)  # noqa: S603
        except FileNotFoundError as error:
            raise CommandError(f"{words[0]}: command not found", NOT_FOUND) from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise CommandError(f"{words[0]} cannot be run: {reason}", NOT_RUNNABLE) from error
        passing.start(process)
        code = process.wait()
    return _KILLED - code if code < 0 else code


class _Passing:
    """Passes signals on to a process, those included that come before it runs."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def start(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def __call__(self, number: int, _: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        elif not (number in _KEYBOARD_SIGNALS and _is_in_foreground()):
            self._process.send_signal(number)


@contextlib.contextmanager
def signals_handled(handler: Callable[[int, FrameType | None], None], numbers: Iterable[int]) -> Generator[None]:
    """Let a handler take signals; one that is ignored stays so, as `nohup` and background jobs want it."""
    handled = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _known(*names: str) -> tuple[signal.Signals, ...]:
    """Return those of the signals that this system has."""
    return tuple(signal.Signals[name] for name in names if name in signal.Signals.__members__)


STOP_SIGNALS = _known("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""Signals that ask a program to end."""
_PASSED_ON = (*STOP_SIGNALS, *_known("SIGQUIT"))
_KEYBOARD_SIGNALS = frozenset(_known("SIGINT", "SIGQUIT", "SIGBREAK"))
"""Signals that a terminal sends to all programs in its foreground."""

if sys.platform == "win32":

    def _is_in_foreground() -> bool:
        """Return True: a console sends its signals to all programs that run on it."""
        return True

    def _program(name: str) -> str:
        """Return the file of a program: without it, Windows finds no scripts such as `claude.cmd`."""
        return shutil.which(name) or name

else:

    def _is_in_foreground() -> bool:
        """Return whether the terminal sends its signals to this process, and so to the command."""
        try:
            terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        except OSError:
            return False
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        except OSError:
            return False
        finally:
            os.close(terminal)

    def _program(name: str) -> str:
        return name
