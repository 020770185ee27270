"""The command line: one file per command.

A command is imported when it is called (see `_commands.py`), so that `palaver --help` and every command start quickly.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from palaver import __version__
from palaver.cli._commands import Commands
from palaver.cli._terminal import output
from palaver.errors import OptionError, PalaverError

__all__ = ["app", "main"]


# Looking for pydantic plugins, which are not used here, would take a fifth of a command's start-up time.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main() -> None:
    app(prog_name="palaver")


class _Commands(Commands):
    """Commands that end with an exit code and at most one line of error, never with a traceback."""

    def make_context(self, *args: Any, **settings: Any) -> Any:
        with exit_on_error():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        with exit_on_error():
            return super().invoke(ctx)


@contextmanager
def exit_on_error() -> Generator[None]:
    """Print an expected error as one line and exit with its code; a closed pipe is not an error."""
    output.prepare_streams()
    try:
        try:
            yield
        finally:
            output.flush()
    except PalaverError as error:
        output.report_error(str(error))
        raise typer.Exit(2) from error
    except typer.TyperException as error:
        from palaver.cli._usage_errors import is_help, usage_sentence

        if is_help(error):
            raise
        output.report_error(usage_sentence(error))
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        output.report_error("interrupted; nothing half-written is left behind")
        raise typer.Exit(130) from error
    except BrokenPipeError as error:
        output.discard_unwritten()
        raise typer.Exit(0) from error
    except OSError as error:
        output.discard_unwritten()
        file = f" ({error.filename})" if error.filename else ""
        output.report_error(f"cannot go on: {error.strerror or error}{file}")
        raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Commands,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(is_requested: bool) -> None:  # noqa: FBT001 - typer calls it with one positional value
    if is_requested:
        output.answer_text(f"palaver {__version__}")
        raise typer.Exit


@app.callback()
def _palaver(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the overview as one JSON object.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Every AI conversation you ever had, in one validated archive.

    Without a command, show what is in the archive, what is new, and what to do next.

    Exit codes: 0 done, 1 done but some records were refused or the answer is no, 2 could not do it.
    """
    if context.invoked_subcommand is None:
        from palaver.cli._home import home

        home(as_json=as_json)
    elif as_json:
        raise OptionError(f"--json goes after the command: `palaver {context.invoked_subcommand} --json`")
