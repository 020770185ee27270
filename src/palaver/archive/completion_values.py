"""Values of the archive for completion in a shell, written as quickly as possible.

A shell runs `palaver complete-values KIND PREFIX` while somebody waits for a key to take effect. So `palaver.__main__`
calls `write_values` before it imports anything else, this imports little more than sqlite3, reads tables through their
indexes, and never waits. Without an archive that can be read at once, there are no values and no messages.
"""

import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator

from palaver.archive.connection import user_archive

MAX_VALUES = 200
_MAX_DESCRIPTION = 60
_RECENT = 5_000
"""How many of the newest conversations are asked for their project and model."""
_LAST = "\U0010ffff"
_AFTER_COLON = "substr(conversation_id, instr(conversation_id, ':') + 1)"
_PLATFORMS = """
    with recursive known (value) as (
        select min(platform) from conversation
        union all
        select (select min(platform) from conversation where platform > value) from known where value is not null
    )
    select value from known where value is not null"""
"""Jumps from one platform to the next in the index, however many conversations each has."""
_TOOLS = """
    with recursive known (value) as (
        select min(tool) from tool_call
        union all
        select (select min(tool) from tool_call where tool > value) from known where value is not null
    )
    select value from known where value is not null"""
_TAGS = (
    "select tag, count(*) from (select tag from source_tag union all select tag from tag where not is_removed) "
    "group by tag order by count(*) desc, tag"
)

Value = tuple[str, str]
"""A value, and a description of it that may be empty."""


def write_values(arguments: list[str]) -> None:
    """Print the values of a kind that begin with a prefix (KIND, PREFIX), each with a tab and its description."""
    kind, prefix = (*arguments, "", "")[:2]
    if kind in KINDS:
        lines = [f"{value}\t{_in_one_line(description)}\n" for value, description in values(kind, prefix)]
        with contextlib.suppress(OSError):
            sys.stdout.buffer.write("".join(lines).encode(errors="replace"))
            sys.stdout.flush()


def values(kind: str, prefix: str) -> list[Value]:
    """Return at most MAX_VALUES values of a kind that begin with a prefix."""
    try:
        archive = user_archive().absolute()
        # Without its log, no process has the archive open: it is read as a plain file, and no log is left behind.
        has_log = archive.with_name(f"{archive.name}-wal").exists()
        uri = f"{archive.as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
            found = KINDS[kind](connection, prefix.encode(errors="replace").decode())
            printable = (value for value in found if value[0] and value[0].isprintable())
            return list(dict(printable).items())[:MAX_VALUES]
    except (sqlite3.Error, OSError, RuntimeError, ValueError):
        # Missing, locked, damaged, of another version: a message would end up in the line that is being typed.
        return []


def _ids(connection: sqlite3.Connection, prefix: str) -> Iterator[Value]:
    """Yield ids with titles, newest first: of agents only where a colon or their own name asks for them."""
    if "latest".startswith(prefix):
        yield "latest", "the conversation that changed last"
    if not prefix:
        query = (
            "select conversation_id, title from conversation where not is_sidechain order by created_at desc limit ?"
        )
        yield from connection.execute(query, (MAX_VALUES,))
        return
    platform, colon, rest = prefix.partition(":")
    found = _ids_with_prefix(connection, prefix, platforms(connection), with_agents=bool(colon))
    yield from found
    if not found:
        condition = f"is_sidechain and instr(conversation_id, ':') and {_AFTER_COLON} >= ? and {_AFTER_COLON} < ?"
        query = (
            f"select {_AFTER_COLON}, title from conversation where {condition} "  # noqa: S608 - constants, bound values
            "order by coalesce(updated_at, created_at) desc limit ?"
        )
        yield from connection.execute(query, (prefix, prefix + _LAST, MAX_VALUES))
    if colon and not found:
        for conversation_id, title in _ids_with_prefix(connection, rest, [platform], with_agents=":" in rest):
            yield f"{platform}:{conversation_id}", title


def _ids_with_prefix(
    connection: sqlite3.Connection, prefix: str, among: list[str], *, with_agents: bool
) -> list[Value]:
    """Return ids that begin with a prefix: platform by platform, since platform is the first column of the index."""
    query = (
        "select conversation_id, title, coalesce(updated_at, created_at) from conversation where platform = ? "
        "and conversation_id >= ? and conversation_id < ? and (? or not is_sidechain) order by 3 desc limit ?"
    )
    found = [
        row
        for platform in among
        for row in connection.execute(query, (platform, prefix, prefix + _LAST, with_agents, MAX_VALUES))
    ]
    return [(name, title) for name, title, _ in sorted(found, key=lambda row: row[2], reverse=True)]


def platforms(connection: sqlite3.Connection) -> list[str]:
    return [platform for (platform,) in connection.execute(_PLATFORMS)]


def _platforms(connection: sqlite3.Connection, prefix: str) -> list[Value]:
    return _matching([(platform, "") for platform in platforms(connection)], prefix)


def _projects(connection: sqlite3.Connection, prefix: str) -> list[Value]:
    """Return the names of folders, described by their paths; whole paths once the prefix is part of a path."""
    stored = _recent(connection, "project")
    if prefix.startswith("~"):
        home = os.path.expanduser("~")  # noqa: PTH111 - compared with text, which may be no path of this system
        stored = [f"~{path[len(home) :]}" for path in stored if path.startswith(home)]
    if any(mark in prefix for mark in "/\\~"):
        return [(path, "") for path in stored if path.startswith(prefix)]
    names = [path.replace("\\", "/").rstrip("/").rpartition("/")[2] for path in stored]
    return _matching(list(zip(names, stored, strict=True)), prefix)


def _models(connection: sqlite3.Connection, prefix: str) -> list[Value]:
    return _matching([(model, "") for model in _recent(connection, "model")], prefix)


def _recent(connection: sqlite3.Connection, column: str) -> list[str]:
    """Return the values of a column in the newest conversations, newest first."""
    query = f"select {column} from conversation order by created_at desc limit ?"  # noqa: S608 - a constant of this module
    return list(dict.fromkeys(value for (value,) in connection.execute(query, (_RECENT,)) if value))


def _tags(connection: sqlite3.Connection, prefix: str) -> list[Value]:
    counted = [(tag, f"{count} conversation{'' if count == 1 else 's'}") for tag, count in connection.execute(_TAGS)]
    return _matching(counted, prefix)


def _tools(connection: sqlite3.Connection, prefix: str) -> list[Value]:
    return _matching([(tool, "") for (tool,) in connection.execute(_TOOLS)], prefix)


KINDS: dict[str, Callable[[sqlite3.Connection, str], Iterable[Value]]] = {
    "platform": _platforms,
    "id": _ids,
    "project": _projects,
    "model": _models,
    "tag": _tags,
    "tool": _tools,
}


def _matching(found: list[Value], prefix: str) -> list[Value]:
    """Return the values that begin with a prefix in any case, or else those that contain it."""
    wanted = prefix.casefold()
    return [value for value in found if value[0].casefold().startswith(wanted)] or [
        value for value in found if wanted in value[0].casefold()
    ]


def _in_one_line(description: str | None) -> str:
    text = " ".join("".join(mark if mark.isprintable() else " " for mark in description or "").split())
    return text if len(text) <= _MAX_DESCRIPTION else f"{text[: _MAX_DESCRIPTION - 1]}…"
