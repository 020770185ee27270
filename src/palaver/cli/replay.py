"""`palaver replay`: a recorded request as a command for `curl`, and as a payload; nothing is sent."""

from pathlib import Path
from typing import Annotated

import typer

from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, escaped_line, listed
from palaver.errors import OptionError
from palaver.storage.user_folders import recordings_folder


def replay(
    word: Annotated[str, typer.Argument(metavar="LOG:LINE", hidden=True)],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command and the payload.")] = False,
    curl: Annotated[bool, typer.Option("--curl", help="Print only the command.")] = False,
    payload: Annotated[bool, typer.Option("--payload", help="Print only the payload.")] = False,
) -> None:
    """Print a recorded request as a command for `curl`, and its payload.

    LOG:LINE is a line of a log, such as log-2026-11-19-08-30-00.jsonl:3; a file name alone is looked for in the folder
    of recordings. Nothing is sent: --dry-run prints both forms, --curl and --payload one of them.

    The command works in sh, bash, zsh and fish. Keys are masked in a log, so the command takes them from
    variables such as $ANTHROPIC_API_KEY, and says which. The payload is what `palaver convert` reads.

    Exit codes: 0 it was printed, 2 there is no such request, or it cannot be printed in this form.
    """
    if not (dry_run or curl or payload):
        raise OptionError("replay sends nothing: add --dry-run to print the request, or only --curl or --payload of it")
    if sum((dry_run, curl, payload)) > 1:
        raise OptionError("choose one of --dry-run, --curl and --payload")
    from palaver.workflows import replay_exchange

    request = replay_exchange.logged_request(*_place(word))
    if not payload:
        command = replay_exchange.curl_command(request)
        output.answer_bytes([command.text.encode(), b"\n"])
        if command.variables:
            output.notify(
                f"Set {listed([f'${name}' for name in command.variables])} before: keys are masked in the log."
            )
        if command.left_out:
            output.notify(f"Masked in the log, and to be added by hand: {escaped_line(listed(command.left_out))}.")
    if dry_run:
        output.answer_bytes([b"\n"])
    if payload or (dry_run and request.is_json):
        output.answer_bytes([replay_exchange.payload(request), b"\n"])


def _place(word: str) -> tuple[Path, int]:
    """Return the log and the number of the line that a word names."""
    name, _, number = word.rpartition(":")
    if not name or not number.isdecimal() or int(number) < 1:
        raise OptionError(f"{word} does not name a request: write LOG:LINE, such as log-2026-11-19-08-30-00.jsonl:3")
    path = Path(name).expanduser()
    if not path.exists() and path.name == name:
        path = Path(recordings_folder()) / name
        if not path.exists():
            raise OptionError(f"{name} is neither here nor in {display_path(recordings_folder())}")
    return path, int(number)
