"""`palaver record`: the API traffic of a command, or of any program, logged by a reverse proxy."""

import os
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from palaver.cli import _import_run
from palaver.cli._archive import archive_path
from palaver.cli._arguments import AsJson, output_path
from palaver.cli._commands import Command
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path
from palaver.errors import OptionError, PalaverError

if TYPE_CHECKING:
    from palaver.api.exchange_log import ExchangeLog
    from palaver.cli._recording import Recording
    from palaver.model.report import Report
    from palaver.recorder.addresses import Address

_EXTRA = "palaver record needs an extra: pip install 'palaver[record]'"
_LISTEN = "127.0.0.1:8788"
_ANY_PORT = "127.0.0.1:0"
_PLATFORM = "api_trace"
_FAILED = 2


class RecordCommand(Command):
    """A command line whose options end where the command to run begins, with or without `--`."""

    allow_interspersed_args = False


COMMAND = RecordCommand
"""The class that `_commands` makes this command of, in place of `Command`."""


def record(
    words: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", hidden=True)] = None,
    *,
    upstream_words: Annotated[
        list[str] | None,
        typer.Option(
            "--upstream",
            "-u",
            metavar="WHERE",
            help="anthropic, openai, azure-openai, gemini, a URL, or NAME=URL; repeatable.",
            show_default="all of these that have an address",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Listen there.", show_default=f"{_LISTEN}, with COMMAND a free port"),
    ] = None,
    log_folder: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="FOLDER", help="Write the log there.", show_default="recordings, in the data folder"
        ),
    ] = None,
    archive: Annotated[
        bool, typer.Option("--archive", help="Import the log at the end; with COMMAND, that is always done.")
    ] = False,
    ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Trust these certificates, too.", show_default="those of the system"),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long an upstream may stay silent.")
    ] = 600.0,
    redact: Annotated[bool, typer.Option("--redact", help="Mask keys in bodies, too.")] = False,
    sample: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Log this share of the calls, such as 0.1.")
    ] = 1.0,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Log only calls to paths like '/v1/messages*'; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Log no calls to paths like this; repeatable.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no status and no summary.")] = False,
    as_json: AsJson = False,
) -> None:
    """Record API traffic, with the time of every event.

    With COMMAND, run it with its API calls recorded: variables such as ANTHROPIC_BASE_URL send them through palaver,
    and a base URL that is set already stays their destination. The terminal belongs to the command, and so does the
    exit code, as in a shell: 127 if the command is not found, 126 if it cannot be run, 128 + n after signal n.
    Afterwards, a summary is printed, and the log is imported into the archive.

    Without COMMAND, listen until Ctrl-C, and print the variables to set for the programs to record.

    Each call is a line in a log file that only you can read. Keys in headers and URLs are never written; --redact masks
    those in bodies, too. If the recorder is killed, the next one recovers the calls that were running. To listen beyond
    this machine, it needs a token, which becomes part of the URL: $PALAVER_RECORD_TOKEN, or else a random one. With
    --json, the summary is an object on standard output, after the output of COMMAND.

    Exit codes: 0 the recording ended, 2 it could not begin, or the log could not be imported.
    """
    _require_extra()
    from palaver.cli import _recording
    from palaver.recorder.addresses import parse_address
    from palaver.recorder.settings import ProxySettings
    from palaver.recorder.upstreams import choose_upstreams

    address = parse_address(listen or (_ANY_PORT if words else _LISTEN))
    token = _token(address)
    settings = ProxySettings(
        token=token.value,
        ca=None if ca is None else ca.expanduser(),
        timeout_s=timeout,
        sample=sample,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
    )
    upstreams = choose_upstreams(upstream_words or (), os.environ)
    exit_code = 0
    with (
        _open_log(log_folder, redact=redact) as log,
        _recording.Recording(log, upstreams, settings, address) as recording,
    ):
        if not (words and recording.is_local):
            recording.announce(token.shown)
        if words:
            exit_code = _run(recording, words)
        else:
            recording.watch(is_quiet=quiet)
    recording.report_problems()
    imported, failure = _import(recording.files) if words or archive else (None, "")
    if as_json:
        output.answer_json(recording.answer(imported, exit_code if words else None, failure))
    elif not quiet:
        recording.summarize(imported, is_hinting=not (words or archive))
    if failure:
        output.report_error(failure)
    raise typer.Exit(exit_code or (_FAILED if failure else 0))


def _require_extra() -> None:
    try:
        import_module("palaver.recorder.server")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("palaver"):
            raise
        raise OptionError(_EXTRA) from error


class _Token(NamedTuple):
    """The token of a recorder, and how it is printed: a new one in full, one that the user set by its variable."""

    value: str
    shown: str


def _token(address: "Address") -> _Token:
    from palaver.recorder.addresses import TOKEN_VARIABLE, required_token

    value, is_new = required_token(address)
    if is_new or not value:
        return _Token(value, value)
    return _Token(value, f"$env:{TOKEN_VARIABLE}" if os.name == "nt" else f"${TOKEN_VARIABLE}")


def _open_log(folder: str | None, *, redact: bool) -> "ExchangeLog":
    """Open the log, and report what earlier recorders left."""
    from palaver.api.exchange_log import ExchangeLog
    from palaver.storage.user_folders import recordings_folder

    path = Path(recordings_folder()) if folder is None else output_path(folder, "--log").absolute()
    try:
        log = ExchangeLog(path, redact=redact)
    except OSError as error:
        raise OptionError(f"cannot write a log to {display_path(path)}: {error.strerror or error}") from error
    if log.recovered:
        files = ", ".join(file.name for file in log.files)
        output.notify(f"Recovered {counted(log.recovered, 'call')} of a recorder that was killed: {files}.")
    for problem in log.problems:
        output.report_error(problem)
    return log


def _run(recording: "Recording", words: list[str]) -> int:
    from palaver.cli._command_process import CommandError

    try:
        return recording.run(words)
    except CommandError as error:
        output.report_error(str(error))
        raise typer.Exit(error.exit_code) from error


def _import(files: list[Path]) -> "tuple[Report | None, str]":
    """Import log files into the archive; return the report, and why it failed if it did."""
    if not files:
        return None, ""
    from palaver.workflows.plan import Planner

    try:
        plan = Planner(archive_path(), {}).plan(files, _PLATFORM)
        _import_run.import_into_archive(plan, jobs=1, began=time.perf_counter())
    except (PalaverError, OSError) as error:
        return None, _failure(str(error), files)
    failures = [*plan.report.refused, *(source.failure for source in plan.report.sources if source.failure)]
    return plan.report, _failure(failures[0], files) if failures else ""


def _failure(reason: str, files: list[Path]) -> str:
    return f"the log could not be imported: {reason}; `palaver import {display_path(files[0].parent)}` tries again"
