"""How palaver starts and ends as a process, and what it sends to terminals."""

import contextlib
import inspect
import io
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import typer.main

from palaver import __version__
from palaver.cli import app
from palaver.cli._commands import COMMANDS
from palaver.cli._reference import commands
from palaver.cli._terminal import output
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import _read_to_file
from palaver.workflows.parallel import run_in_order

SOURCE = Path(output.__file__).parents[2]
HEAVY = {"ijson", "jsonschema_rs", "msgspec", "orjson", "platformdirs", "pydantic", "rich", "zstandard"}
needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as on POSIX")


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(word):
    imported = _imported_by(word)
    assert not imported & {f"palaver.cli.{entry.module}" for entry in COMMANDS.values()}
    assert not imported & HEAVY
    assert not {name for name in imported if name.startswith("palaver.importers")}


def test_summaries_are_the_first_sentences_of_the_help_texts():
    loaded = typer.main.get_command(app).commands
    first = {name: inspect.cleandoc(loaded[name].help).partition("\n")[0] for name in COMMANDS}
    assert {name: entry.summary for name, entry in COMMANDS.items()} == first


def test_a_scan_that_finds_nothing_new_imports_nothing_that_reads(run, home, session):
    projects = home / ".claude" / "projects" / "-home-dev"
    projects.mkdir(parents=True)
    shutil.copy(session, projects / session.name)
    assert run("scan").exit_code == 0
    imported = _imported_by("scan", "--json")
    assert not imported & (HEAVY - {"orjson"})
    assert not imported & {
        "importlib.metadata",
        "palaver.workflows.read_unit",
        "palaver.sources.source",
        "palaver.cli.import_",
    }


def _imported_by(*words):
    program = f"""
import atexit, sys
sys.argv = ["palaver", *{words!r}]
atexit.register(lambda: print(*sorted(sys.modules), sep="\\n", file=sys.stderr))
from palaver.cli import main
main()
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout
    return set(result.stderr.split())


def test_help_names_every_command(run):
    result = run("--help")
    assert result.exit_code == 0
    for command in commands():
        assert f"\n  {command.name.split()[0]} " in result.stdout
        assert run(*command.name.split(), "--help").exit_code == 0
    assert "..." not in result.stdout.partition("Commands:")[2]


def test_the_version(run):
    assert run("--version").stdout == f"palaver {__version__}\n"


@needs_posix
def test_an_interrupt_leaves_no_partial_file(start, session, tmp_path):
    out = tmp_path / "out.jsonl"
    settings = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start("import", "-", "-o", out, "--quarantine", tmp_path / "aside.jsonl", **settings) as process:
        # More than a pipe and its readers hold back: once all of it is written, the import is under way.
        plenty = (session.read_bytes() + b"damage\n") * 500
        process.stdin.write(plenty)
        assert any(path.suffix == ".partial" for path in tmp_path.iterdir())
        process.send_signal(signal.SIGINT)
        # A signal that comes while a read fetches its last bytes is heard only after the next bytes.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(plenty)
            process.stdin.close()
        stdout, stderr = process.stdout.read(), process.stderr.read()
    assert process.returncode == 130
    assert (stdout, stderr) == (b"", b"palaver: interrupted; nothing half-written is left behind\n")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@needs_posix
def test_an_interrupt_ends_all_processes_in_order(case, tmp_path, monkeypatch):
    program = """
import os, signal, sys
from palaver.workflows import import_files, outputs
from palaver.cli import main

def adopt_and_interrupt(self, unit, part, adopt=outputs.JsonLinesFile.adopt):
    adopt(self, unit, part)
    os.killpg(os.getpgrp(), signal.SIGINT)

outputs.JsonLinesFile.adopt = adopt_and_interrupt
import_files._PARALLEL_THRESHOLD_BYTES = 0
main()
"""
    (tmp_path / "parts").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "parts"))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    words = ["import", case("forked_pair"), case("resumed_pair"), "-o", tmp_path / "out.jsonl", "-j", "2"]
    command = [sys.executable, "-c", program, *map(str, words)]
    # In a session of its own: the signal goes to every process of the group, as Ctrl-C does.
    result = subprocess.run(command, capture_output=True, start_new_session=True, check=False)
    assert result.returncode == 130
    assert result.stderr == b"palaver: interrupted; nothing half-written is left behind\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["home", "parts"]


def test_processes_end_with_their_work(case, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    units, _ = find_units([case("forked_pair"), case("resumed_pair")])
    first = units[0]
    working = run_in_order(_read_to_file, units, {}, jobs=2, advance=lambda _: None)
    unit, part, *_ = next(working)
    assert unit == first
    assert units == []  # they are with the processes
    assert part.is_relative_to(tmp_path)
    working.close()
    assert multiprocessing.active_children() == []
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@needs_posix
@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["schema"],
        ["sources", "--json"],
        ["identify", "SESSION"],
        ["validate", "SESSION"],
        ["import", "SESSION", "-o", "-"],
        ["import", "SESSION", "--json"],
    ],
)
def test_a_reader_that_went_away_is_no_error(start, session, words):
    reading, writing = os.pipe()
    os.close(reading)
    words = [str(session) if word == "SESSION" else word for word in words]
    with start(*words, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        assert process.stderr.read() == b""
    assert process.returncode == 0


@needs_posix
def test_a_reader_of_messages_that_went_away_is_no_error(start, session):
    reading, writing = os.pipe()
    os.close(reading)
    with start("import", session, "--dry-run", stderr=writing) as process:
        os.close(writing)
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "link"])
def test_what_the_shell_opened_is_added_to_and_never_replaced(case, tmp_path, name):
    """`>>` opens a regular file: it is not ours, and no side file belongs beside it."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "link").symlink_to("/dev/stdout")
    kept = folder / "kept.jsonl"
    kept.write_text("before\n")
    words = ["import", case("damage_torn_line"), "-o", folder / name]
    with kept.open("ab") as stream:
        ended = subprocess.run(
            [sys.executable, "-m", "palaver", *map(str, words)], stdout=stream, stderr=subprocess.PIPE, check=False
        )
    assert ended.returncode == 1
    assert "palaver validate" not in ended.stderr.decode()
    assert "Records were quarantined; with --quarantine FILE" in ended.stderr.decode()
    first, *lines = kept.read_text().splitlines()
    assert first == "before"
    assert len(lines) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["kept.jsonl", "link"]
    assert not list(Path("/dev").glob("*.quarantine.jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["-o", "-"], ["--json"]])
def test_standard_output_without_room_is_one_clear_line(start, session, words):
    with (
        Path("/dev/full").open("wb") as full,
        start("import", session, *words, stdout=full, stderr=subprocess.PIPE) as process,
    ):
        stderr = process.stderr.read()
    assert process.returncode == 2
    assert stderr.endswith(b": No space left on device\n")
    assert stderr.count(b"\n") == 1


@needs_posix
def test_closed_streams(finish, session, tmp_path):
    def close_both():
        os.close(1)
        os.close(2)

    out = tmp_path / "out.jsonl"
    assert finish("import", session, "-o", out, preexec_fn=close_both).returncode == 0
    assert out.read_bytes().endswith(b"}\n")
    result = finish("import", "-", preexec_fn=lambda: os.close(0))
    assert (result.returncode, result.stderr) == (2, b"palaver: standard input (-) is closed\n")


def on_terminal(start, *words):
    """What a process writes to standard error when that is a terminal."""
    import pty

    ours, theirs = pty.openpty()
    with start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            written += piece
        process.stdout.read()
    os.close(ours)
    return written


@needs_posix
def test_colour_is_for_terminals_that_want_it(start, session, monkeypatch):
    assert b"\x1b[1m" in on_terminal(start, "import", session, "--dry-run")
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b" not in on_terminal(start, "import", session, "--dry-run")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert b"\x1b" not in on_terminal(start, "import", session, "--dry-run")


def test_colour_elsewhere_has_to_be_asked_for(run, session, monkeypatch):
    assert "\x1b" not in run("import", session, "--dry-run").output
    assert "\x1b" not in run("identify", session).output
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in run("import", session, "--dry-run").stderr
    assert "\x1b[1;32m" in run("identify", session).stdout
    assert "\x1b" not in run("import", session, "--dry-run", "--json").output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("import", session, "--dry-run").output


def test_lines_have_no_spaces_at_their_end(run, damaged):
    for line in run("import", damaged, "--dry-run").stderr.splitlines():
        assert line == line.rstrip()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Puts a terminal in the place of standard error when called: before the test, pytest would put its own there."""

    def replace():
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "80")
        return stream

    return replace


def test_a_short_work_has_no_bar(terminal):
    written = terminal()
    with output.Progress(1000) as progress:
        progress.advance(1000)
    assert (progress.done_bytes, written.getvalue()) == (1000, "")


@pytest.mark.parametrize("total", [1 << 25, 0])
def test_a_long_work_has_a_bar_that_never_overruns(terminal, monkeypatch, total):
    written = terminal()
    monkeypatch.setattr(output, "_BAR_AFTER_SECONDS", -1)
    with output.Progress(total) as progress:
        progress.advance(1 << 24)
        progress.advance(1 << 25)
    assert progress.done_bytes == 3 << 24
    assert "MB" in written.getvalue()
    assert ("33.6/33.6 MB" in written.getvalue()) == bool(total)


def test_a_bar_is_for_terminals_that_can_show_it(terminal, monkeypatch):
    written = terminal()
    monkeypatch.setattr(output, "_BAR_AFTER_SECONDS", -1)
    monkeypatch.setenv("TERM", "dumb")
    for is_quiet in (False, True):
        with output.Progress(1 << 25, is_quiet=is_quiet) as progress:
            progress.advance(1 << 24)
        monkeypatch.setenv("TERM", "xterm")
    assert written.getvalue() == ""
