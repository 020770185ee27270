"""Parse filters as people write them, for the command line and for the library.

Platforms are named by their id or their title, times as in "2 weeks ago", and projects, models, tools and tags by what
`archive.filter_values` finds in the archive.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date

from palaver.archive.filter_times import parse_time
from palaver.archive.filters import Filters
from palaver.importers import platforms as known_platforms
from palaver.importers._shared.platform_names import resolve_platform

OpenArchive = Callable[[], AbstractContextManager[sqlite3.Connection]]
"""A function that opens the archive; it is called only if a filter cannot be parsed without it."""


def parse_filters(
    open_archive: OpenArchive,
    *,
    platforms: Sequence[str] = (),
    projects: Sequence[str] = (),
    models: Sequence[str] = (),
    since: str | date | None = None,
    until: str | date | None = None,
    has: Sequence[str] = (),
    tools: Sequence[str] = (),
    tags: Sequence[str] = (),
) -> Filters:
    """Return filters with stored values; raise OptionError or UnrecognizedError for a value that matches nothing."""
    filters = Filters(
        platform_ids(open_archive, platforms),
        tuple(projects),
        tuple(models),
        parse_time(since),
        parse_time(until),
        tuple(has),
        tuple(tools),
        tuple(tags),
    )
    if not (projects or models or tools or tags):
        return filters
    from palaver.archive.filter_values import resolve_filters

    with open_archive() as connection:
        return resolve_filters(connection, filters)


def platform_ids(open_archive: OpenArchive, names: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of platforms, among importers and what the archive holds."""
    if all(name in known_platforms() for name in names):
        return tuple(names)
    with open_archive() as connection:
        stored = [platform for (platform,) in connection.execute("select distinct platform from conversation")]
    return tuple(resolve_platform(name, stored) for name in names)
