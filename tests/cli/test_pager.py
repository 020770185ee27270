"""Long output on a terminal goes through a pager."""

import fcntl
import os
import shlex
import stat
import struct
import sys
import termios
from contextlib import closing

import pytest

from palaver.archive.connection import open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.model import build

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals that Python can open", allow_module_level=True)


@pytest.fixture(autouse=True)
def no_pager_of_ours(monkeypatch):
    for name in ("PAGER", "PALAVER_PAGER", "LESS", "LV"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def keep(kept):
    def keep(count):
        messages = [
            build.message(
                message_id=f"m{number}",
                role="user",
                timestamp="2026-01-31T12:00:00.000Z",
                content=[build.text(f"message number {number}, and some more about it")],
                metadata={"author_kind": "human"},
            )
            for number in range(1, count + 1)
        ]
        document = build.conversation(
            conversation_id="one",
            title="A title",
            platform={"name": "toy"},
            created_at="2026-01-31T12:00:00.000Z",
            messages=messages,
        )
        with closing(open_to_write(kept / "archive.db")) as connection:
            Ingest(connection).add([(conversation_rows(document), None)])

    return keep


@pytest.fixture
def pager(tmp_path, monkeypatch):
    """Install a pager: a Python program that has `lines`, `number` of lines read, and `say`."""

    def install(program, variable="PALAVER_PAGER"):
        path = tmp_path / "pager.py"
        path.write_text(f"import os, signal, sys\n{program}\n", "utf-8")
        monkeypatch.setenv(variable, shlex.join([sys.executable, str(path)]))

    return install


class Terminal:
    """A process with a terminal of its own, as its standard input, output and error."""

    def __init__(self, start, *words):
        import pty

        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

        def take_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self.process = start(*words, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal)
        os.close(theirs)
        self.written = b""

    def read_until(self, text):
        while text not in self.written and self._read():
            pass
        assert text in self.written

    def type(self, text):
        os.write(self._ours, text)

    def finish(self):
        """Return everything that was written, with plain line ends, and the exit code."""
        while self._read():
            pass
        os.close(self._ours)
        return self.written.replace(b"\r\n", b"\n").decode(), self.process.wait()

    def _read(self):
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # the other side is closed
            return False
        self.written += piece
        return bool(piece)


@pytest.fixture
def terminal(start):
    return lambda *words: Terminal(start, *words)


COPY = "print('PAGED', flush=True)\nsys.stdout.writelines(sys.stdin)"


@pytest.mark.parametrize("words", [("show", "one"), ("list",), ("search", "message")])
def test_a_terminal_gets_a_pager(terminal, keep, pager, words):
    keep(3)
    pager(COPY)
    printed, exit_code = terminal(*words).finish()
    assert printed.startswith("PAGED\n")
    assert "one" in printed
    assert "\x1b[" in printed
    assert exit_code == 0


@pytest.mark.parametrize("words", [("show", "one", "--no-pager"), ("list", "--no-pager"), ("show", "one", "--raw")])
def test_a_pager_can_be_left_out(terminal, keep, pager, words):
    keep(1)
    pager(COPY)
    printed, exit_code = terminal(*words).finish()
    assert "PAGED" not in printed
    assert exit_code == 0


def test_neither_a_pipe_nor_a_dumb_terminal_gets_a_pager(terminal, finish, keep, pager, monkeypatch):
    keep(1)
    pager(COPY)
    assert b"PAGED" not in finish("show", "one").stdout
    monkeypatch.setenv("TERM", "dumb")
    printed, exit_code = terminal("show", "one").finish()
    assert "PAGED" not in printed
    assert "\x1b" not in printed
    assert "message number 1" in printed
    assert exit_code == 0


@pytest.mark.parametrize("command", ["", "cat", "no-such-pager-anywhere", "'unclosed"])
def test_without_a_pager_it_is_printed(terminal, keep, monkeypatch, command):
    keep(1)
    monkeypatch.setenv("PALAVER_PAGER", command)
    printed, exit_code = terminal("show", "one").finish()
    assert "message number 1," in printed
    assert exit_code == 0


def test_which_pager_it_is(terminal, keep, pager, tmp_path, monkeypatch):
    keep(1)
    pager("print('GENERAL')", "PAGER")
    assert "GENERAL" in terminal("show", "one").finish()[0]
    monkeypatch.delenv("PAGER")
    less = tmp_path / "bin" / "less"
    less.parent.mkdir()
    less.write_text('#!/bin/sh\necho "LESS $LESS $*"\ncat > /dev/null\n', "utf-8")
    less.chmod(less.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{less.parent}{os.pathsep}{os.environ['PATH']}")
    assert "LESS FRX -R\n" in terminal("show", "one").finish()[0]
    monkeypatch.setenv("LESS", "-i")
    assert "LESS -i -R\n" in terminal("show", "one").finish()[0]
    pager(COPY)
    assert "PAGED" in terminal("show", "one").finish()[0]


def test_a_pager_may_be_quit_early(terminal, keep, pager):
    keep(3_000)
    pager("print('SAW', sys.stdin.readline(), flush=True)")
    printed, exit_code = terminal("show", "one").finish()
    assert "A title" in printed
    assert "palaver:" not in printed
    assert "message number 3000" not in printed
    assert exit_code == 0


def test_ctrl_c_is_the_pagers(terminal, keep, pager):
    keep(5_000)
    pager(
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "lines = [sys.stdin.readline() for _ in range(200)]\n"
        "print('READY', flush=True)\n"
        "open('/dev/tty').readline()\n"
        "sys.stdin.read()\n"
        "print('LEFT', flush=True)"
    )
    process = terminal("show", "one")
    process.read_until(b"READY")
    process.type(b"\x03")
    process.type(b"\n")
    printed, exit_code = process.finish()
    assert "Traceback" not in printed
    assert printed.endswith("LEFT\n")
    assert exit_code == 130


def test_a_refusal_is_printed_without_a_pager(terminal, keep, pager):
    keep(1)
    pager(COPY)
    printed, exit_code = terminal("show", "one:7").finish()
    assert printed.endswith("one has 1 message; there is no message 7\x1b[0m\n")
    assert exit_code == 2


def test_the_first_screen_needs_only_the_first_messages(kept, keep):
    from itertools import islice

    from palaver.archive.connection import open_to_read
    from palaver.archive.messages import select_messages
    from palaver.cli._terminal.blocks import DisplayOptions
    from palaver.cli.show import _shown
    from palaver.config import Config

    keep(2_000)
    read = []
    with closing(open_to_read(kept / "archive.db")) as connection:
        (key,) = connection.execute("select conversation_key from conversation").fetchone()
        selection = select_messages(connection, key)
        connection.set_trace_callback(
            lambda statement: read.append(statement) if "message_key = " in statement else None
        )
        list(islice(_shown(connection, key, selection, DisplayOptions(width=80), config=Config(), prices=None), 60))
    assert 0 < len(read) < 100
