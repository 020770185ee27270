"""The archive and its filters, as the command line names them."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli._arguments import data_folder
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

    from palaver.archive.filters import Filters

Platforms = Annotated[list[str] | None, typer.Option("--platform", "-p", metavar="NAME", help="Only this platform.")]
Projects = Annotated[
    list[str] | None,
    typer.Option("--project", metavar="FOLDER", help="Only this folder, or the end of its name."),
]
Models = Annotated[list[str] | None, typer.Option("--model", metavar="NAME", help="Only this model, or how it begins.")]
Since = Annotated[str | None, typer.Option(metavar="WHEN", help="Not before: a date, a time, or 7d, 12h, today.")]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Before: a date, a time, or 7d, 12h, today.")]
Has = Annotated[
    list[str] | None, typer.Option("--has", metavar="WHAT", help="Only with: tool, error, branch, agent, tag, rating.")
]
Tools = Annotated[list[str] | None, typer.Option("--tool", metavar="NAME", help="Only where this tool was called.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag.")]


def archive_path() -> Path:
    from palaver.archive.connection import FILE_NAME

    return data_folder() / FILE_NAME


@contextmanager
def reading() -> "Generator[sqlite3.Connection]":
    """The archive, to look things up in."""
    from palaver.archive.connection import open_to_read, told

    path = archive_path()
    with closing(open_to_read(path)) as connection, told(path):
        yield connection


@contextmanager
def writing() -> "Generator[sqlite3.Connection]":
    """The archive, to change it in one transaction; nothing is changed when anything goes wrong."""
    from palaver.archive.connection import open_to_read, open_to_write, told

    path = archive_path()
    open_to_read(path).close()
    with closing(open_to_write(path)) as connection, told(path):
        connection.execute("begin immediate")
        try:
            yield connection
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("commit")


def filters(
    *,
    platforms: list[str] | None = None,
    projects: list[str] | None = None,
    models: list[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    has: list[str] | None = None,
    tools: list[str] | None = None,
    tags: list[str] | None = None,
) -> "Filters":
    from palaver.archive.filters import Filters

    return Filters(
        tuple(platforms or ()),
        tuple(projects or ()),
        tuple(models or ()),
        moment(since),
        moment(until),
        tuple(has or ()),
        tuple(tools or ()),
        tuple(tags or ()),
    )


def moment(word: str | None) -> str:
    """A time in the schema's spelling from what people write; dates are this machine's, `7d` is that long ago."""
    import re
    from datetime import UTC, datetime, timedelta

    from palaver.model.timestamps import normalize_timestamp

    if not word:
        return ""
    now = datetime.now(UTC).astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in {"today", "yesterday"}:
        return normalize_timestamp(midnight - timedelta(days=word == "yesterday"))
    if ago := re.fullmatch(r"(\d{1,6})([mhdw])", word):
        unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[ago[2]]
        return normalize_timestamp(now - timedelta(**{unit: int(ago[1])}))
    try:
        when = datetime.fromisoformat(word)
    except ValueError as error:
        raise OptionError(f"{word!r} is no time: write 2026-01-31, 2026-01-31T12:00, 7d, 12h, today") from error
    return normalize_timestamp(when if when.tzinfo else when.astimezone())


@cache
def platform_title(platform: str) -> str:
    """A platform's name for people, also of one that this palaver cannot read itself."""
    from palaver.importers import importer, platforms

    return importer(platform).title if platform in platforms() else platform
