"""The command line: one command, one file; arguments in, pipeline, answer out.

Nothing heavy is imported before a command runs, so that `palaver --help` is quick.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from palaver import __version__
from palaver.cli._commands import Commands
from palaver.cli._terminal import output
from palaver.errors import PalaverError

__all__ = ["app", "main"]


# No plugin of pydantic's has a say here; to look for some would take a fifth of the time that a command starts in.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main() -> None:
    app(prog_name="palaver")


class _Commands(Commands):
    """However a command ends, it ends with a line at most and an exit code that tells."""

    def make_context(self, *args: Any, **settings: Any) -> Any:
        with _told():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _told():
            return super().invoke(ctx)


@contextmanager
def _told() -> Generator[None]:
    output.prepare()
    try:
        try:
            yield
        finally:
            output.flush()
    except PalaverError as error:
        output.complain(str(error))
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        output.complain("interrupted; nothing half-written is left behind")
        raise typer.Exit(130) from error
    except BrokenPipeError as error:
        output.let_go()
        raise typer.Exit(0) from error
    except OSError as error:
        output.let_go()
        about = f" ({error.filename})" if error.filename else ""
        output.complain(f"cannot go on: {error.strerror or error}{about}")
        raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001 - the shape of a typer callback
    if is_asked:
        output.answer_text(f"palaver {__version__}")
        raise typer.Exit


@app.callback()
def _palaver(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Every AI conversation you ever had, in one validated archive.

    Exit codes: 0 done, 1 done but some records were refused or the answer is no, 2 could not do it.
    """
