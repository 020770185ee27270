"""The only module that prints: answers to standard output, everything else to standard error.

Rich is imported when something is printed with it: `--help`, `--version` and JSON do not need it.
"""

import contextlib
import io
import os
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from palaver.cli._terminal.words import escaped_json, escaped_line, escaped_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from rich.text import Text

_UNWRAPPED = 10_000
_INTERRUPTED = 130
_BAR_AFTER_SECONDS = 1.0
_BAR_FROM_BYTES = 1 << 24


def prepare_streams() -> None:
    """Make both streams accept any text, and replace a closed one."""
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            # Closed by the caller (`>&-`): without this, the next file opened would get its descriptor.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - lives to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write what is buffered, so that a failure shows here and not when the interpreter ends."""
    sys.stdout.flush()


def discard_unwritten() -> None:
    """Discard what is still buffered: the reader has gone, or the disk is full."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            continue
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def answer(line: "RenderableType") -> None:
    """Print to standard output; a text is never wrapped, so that `grep` and copying see one line."""
    from rich.text import Text

    console = _console(sys.stdout)
    if isinstance(line, str | Text):
        console.print(line, soft_wrap=True)
    else:
        _print_trimmed(console, line)


def answer_all(parts: "Iterable[RenderableType]") -> None:
    for part in parts:
        answer(part)


def answer_text(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def answer_bytes(pieces: "Iterable[bytes]") -> None:
    """Write bytes unchanged to a pipe or file; escape control characters in a terminal."""
    is_escaped = sys.stdout.isatty()
    for piece in pieces:
        sys.stdout.buffer.write(escaped_text(piece.decode()).encode() if is_escaped else piece)


def answer_json(value: Any) -> None:
    import orjson

    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # a number past 64 bits, or a file name that is not UTF-8
        import json

        text = json.dumps(value, indent=2, ensure_ascii=False)
    # Such a name holds lone surrogates, which JSON allows as escapes.
    sys.stdout.buffer.write(escaped_json(text).encode(errors="backslashreplace") + b"\n")


def answer_json_with_list(value: dict[str, Any], name: str, entries: "Iterable[Any]") -> None:
    """Print a JSON object whose last value is a list, each entry on its own line as soon as it is available."""
    import json

    def write(text: str) -> None:
        sys.stdout.buffer.write(escaped_json(text).encode(errors="backslashreplace"))

    write(json.dumps(value, indent=2, ensure_ascii=False).removesuffix("\n}") + f',\n  "{name}": [')
    separator = "\n    "
    for entry in entries:
        write(separator + json.dumps(entry, ensure_ascii=False))
        separator = ",\n    "
    write("]\n}\n" if separator.startswith("\n") else "\n  ]\n}\n")


def answer_json_lines(values: "Iterable[Any]") -> None:
    for value in values:
        _write_json_line(value)


def answer_texts(texts: "Iterable[Text]") -> None:
    """Print each text as soon as it is available, without wrapping."""
    console = None if _is_plain(sys.stdout) else _console(sys.stdout)
    if console is None or console.color_system is None:
        for text in texts:
            sys.stdout.write(f"{text.plain}\n")
        return
    for text in texts:
        console.print(text, soft_wrap=True)


@contextlib.contextmanager
def paged(*, is_wanted: bool = True) -> "Generator[None]":
    """Send the answers printed in this context to a pager if they go to a terminal.

    A pager that is quit early ends the context quietly, and so does Ctrl-C, once the pager has been quit.
    """
    if not (is_wanted and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        yield
        return
    from palaver.cli._terminal.pager import start_pager

    sys.stdout.flush()
    pager = start_pager()
    if pager is None:
        yield
        return
    terminal, sys.stdout = sys.stdout, pager.stream
    try:
        with contextlib.suppress(BrokenPipeError):
            yield
    except KeyboardInterrupt as error:
        raise SystemExit(_INTERRUPTED) from error
    finally:
        sys.stdout = terminal
        pager.close()


def has_colours() -> bool:
    """Return whether the answer is printed with colours and other styles."""
    return not _is_plain(sys.stdout) and _console(sys.stdout).color_system is not None


def terminal_width() -> int | None:
    """Return the width available to the answer; None outside a terminal."""
    if _is_plain(sys.stdout):
        return None
    width = _console(sys.stdout).width
    return None if width == _UNWRAPPED else width


def answer_json_line(value: Any) -> None:
    """Print one of several answers on its own line, and flush."""
    _write_json_line(value)
    sys.stdout.flush()


def _write_json_line(value: Any) -> None:
    import json

    text = escaped_json(json.dumps(value, ensure_ascii=False))
    sys.stdout.buffer.write(text.encode(errors="backslashreplace") + b"\n")


def notify(*parts: "RenderableType") -> None:
    """Print to standard error, wrapped at the width of the terminal."""
    texts = [part if isinstance(part, str) else getattr(part, "plain", None) for part in parts]
    if _is_plain(sys.stderr) and None not in texts:
        sys.stderr.writelines(f"{line.rstrip()}\n" for text in texts for line in str(text).split("\n"))
        return
    console = _console(sys.stderr)
    for part in parts:
        _print_trimmed(console, part)


def report_error(message: str) -> None:
    from rich.text import Text

    line = Text.assemble(("palaver: ", "bold red"), (escaped_line(message), "red"))
    _console(sys.stderr).print(line, soft_wrap=True)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def can_prompt() -> bool:
    """Return whether a person at a terminal can answer a question."""
    return bool(sys.stdin) and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str) -> bool:
    """Ask on standard error; any answer but yes means no."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def wait_for_enter(prompt: str) -> bool:
    """Wait for Enter at a prompt on standard error; return False for `q`, or if there is no more input."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().lower() not in {"q", "quit", "exit"}


def _is_plain(stream: TextIO) -> bool:
    """Return whether a stream gets neither colours nor wrapped lines: then `rich.console` need not be imported."""
    return not (stream.isatty() or os.environ.get("FORCE_COLOR"))


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with a failure here.
            raise BrokenPipeError

    is_tty = stream.isatty()
    may_colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    forced = bool(os.environ.get("FORCE_COLOR"))
    return PipeConsole(
        file=stream,
        force_terminal=is_tty or forced,
        color_system="auto" if may_colour else None,
        width=None if is_tty or (forced and os.environ.get("COLUMNS")) else _UNWRAPPED,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _print_trimmed(console: "Console", part: "RenderableType") -> None:
    """Print without the spaces that tables append to their last column; leave a line that may be pasted whole."""
    from rich.segment import Segment, Segments
    from rich.text import Text

    if isinstance(part, Text) and part.overflow == "ignore":
        console.print(part, soft_wrap=True)
        return

    segments: list[Segment] = []
    for line in console.render_lines(part, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = line[-1]._replace(text=line[-1].text.rstrip())
        segments += [*line, Segment.line()]
    console.print(Segments(segments), end="", soft_wrap=True)


class StatusLine:
    """A line at the end of the terminal that is drawn again when it changes; without a terminal, there is none."""

    def __init__(self, *, is_quiet: bool = False) -> None:
        self.is_possible = not is_quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._live: Live | None = None
        self._shown: Text | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hide()

    def show(self, line: "Text") -> None:
        if not self.is_possible:
            return
        if self._live is None:
            from rich.live import Live

            self._live = Live(
                console=_console(sys.stderr),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        # The terminal shows Ctrl-C as ^C behind the line, which must not begin another one.
        line.truncate(self._live.console.width - 3, overflow="ellipsis")
        if line != self._shown:
            self._live.update(line, refresh=True)
            self._shown = line

    def hide(self) -> None:
        """Remove the line, so that something else can be printed; `show` draws it again."""
        if self._live is not None:
            self._live.stop()
            self._live = self._shown = None


class Progress:
    """A count of bytes, with a bar on a terminal once the work turns out to be long."""

    def __init__(self, total_bytes: int, *, is_quiet: bool = False) -> None:
        self.done_bytes = 0
        self._total_bytes = total_bytes
        self._is_wanted = not is_quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, size_bytes: int) -> None:
        self.done_bytes += size_bytes
        if self._bar is None and self._is_wanted and self._is_long():
            self._bar, self._task = self._start_bar()
        if self._bar is not None and self._task is not None:
            # Compressed sources yield more bytes than their size, and side files are not in the total.
            shown = min(self.done_bytes, self._total_bytes) if self._total_bytes else self.done_bytes
            self._bar.update(self._task, completed=shown)

    def _is_long(self) -> bool:
        return self._total_bytes > _BAR_FROM_BYTES or time.monotonic() - self._began > _BAR_AFTER_SECONDS

    def _start_bar(self) -> "tuple[Bar, TaskID]":
        from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(bar_width=None), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        bar = Bar(
            *columns,
            console=_console(sys.stderr),
            transient=True,
            expand=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bar.start()
        return bar, bar.add_task("", total=self._total_bytes or None)
