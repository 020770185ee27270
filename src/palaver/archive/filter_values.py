"""Filters as people write them: parts of names in any case, resolved to values that the archive holds."""

# ruff: noqa: S608 - conditions are constants, every value is bound

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from palaver.archive.filters import Filters, model_condition
from palaver.archive.usage import RECORDS_AS_MESSAGES
from palaver.errors import OptionError

_MAX_LISTED = 8
_PROJECTS = (
    "select project from conversation where project is not null "
    f"union select m.project from {RECORDS_AS_MESSAGES} where m.project is not null"
)
_MODELS = (
    "select model from conversation where model is not null union select model from message where model is not null "
    "union select model from usage_record where model is not null"
)
_TAGS = "select tag from source_tag union select tag from tag where not is_removed"
_TOOLS = "select tool from tool_call group by tool order by sum(calls) desc, tool"


def resolve_filters(connection: sqlite3.Connection, filters: Filters) -> Filters:
    """Return filters with the stored values that these match; raise OptionError for a value that matches nothing.

    A project may be a full path, the end of one, a folder around it, or, if none of these exists, any part of its path.
    A tag or tool may be written in any case. Models stay as they are: `Filters` matches any part of their names.
    """
    if not (filters.projects or filters.models or filters.tags or filters.tools):
        return filters
    return replace(
        filters,
        projects=_resolve_projects(connection, filters.projects),
        models=_known_models(connection, filters.models),
        tags=_in_any_case(connection, "tag", _TAGS, filters.tags),
        tools=_in_any_case(connection, "tool", _TOOLS, filters.tools),
    )


def _resolve_projects(connection: sqlite3.Connection, words: Sequence[str]) -> tuple[str, ...]:
    if not words:
        return ()
    stored = _values(connection, _PROJECTS)
    found: dict[str, None] = {}
    for word in words:
        matches = matching_projects(stored, word)
        if not matches:
            raise _unknown("project", word, stored, shown=_folder_name)
        found |= dict.fromkeys(matches)
    return tuple(found)


def matching_projects(projects: Iterable[str], word: str) -> list[str]:
    """Return the projects whose folder a word names; those that contain the word, if it names none."""
    wanted = _as_compared(word)
    compared = [(project, _as_compared(project)) for project in projects]
    named = [
        project
        for project, path in compared
        if path == wanted or path.endswith("/" + wanted) or path.startswith(wanted + "/")
    ]
    return named or [project for project, path in compared if wanted in path]


def _as_compared(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").casefold()


def _folder_name(project: str) -> str:
    return project.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _known_models(connection: sqlite3.Connection, words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        condition, values = model_condition("model", (word,))
        # The small table first: most names are found without reading any message.
        tables = ("conversation", "usage_record", "message")
        queries = (f"select exists (select 1 from {table} where {condition})" for table in tables)
        if not any(connection.execute(query, values).fetchone()[0] for query in queries):
            raise _unknown("model", word, _values(connection, _MODELS))
    return tuple(words)


def _in_any_case(connection: sqlite3.Connection, kind: str, query: str, words: Sequence[str]) -> tuple[str, ...]:
    if not words:
        return ()
    stored = _values(connection, query)
    found: dict[str, None] = {}
    for word in words:
        matches = [value for value in stored if value.casefold() == word.casefold()]
        if not matches:
            raise _unknown(kind, word, stored)
        found |= dict.fromkeys(matches)
    return tuple(found)


def _values(connection: sqlite3.Connection, query: str) -> list[str]:
    return [value for (value,) in connection.execute(query)]


def _unknown(kind: str, word: str, stored: Sequence[str], shown: Callable[[str], str] = str) -> OptionError:
    """Return an error that names similar values, or the first of all values if none is similar."""
    names = list(dict.fromkeys(shown(value) for value in stored))
    if not names:
        return OptionError(f"no {kind} matches {word!r}: the archive has no {kind}s")
    if similar := [name for name in names if _is_similar(word.casefold(), name.casefold())]:
        return OptionError(f"no {kind} matches {word!r}: did you mean {_listed(similar, 'or')}?")
    return OptionError(f"no {kind} matches {word!r}: the archive has {_listed(names, 'and')}")


def _is_similar(word: str, name: str) -> bool:
    """Return whether a word occurs in a name, or is a typo away from it or from one of its parts."""
    return bool(word) and (
        word in name or bool(get_close_matches(word, {name, *re.split(r"[\W_]+", name)}, cutoff=0.75))
    )


def _listed(names: Sequence[str], conjunction: str) -> str:
    if len(names) > _MAX_LISTED:
        return f"{', '.join(names[:_MAX_LISTED])} and {len(names) - _MAX_LISTED:,} more"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"
