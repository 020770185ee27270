"""`palaver list`: the conversations of the archive."""

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive, _output
from palaver.cli._arguments import AsJson
from palaver.cli._words import ago, amount, counted, gist, plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rich.text import Text

    from palaver.archive.listing import Listed

_SCREENFUL = 30
_SORTS = ("updated", "created", "messages", "tokens")
_NARROW = 100
_LONGEST_ID = 16
_PROJECT_WHERE_NARROW = 10
_PROJECT = 24


def list_(
    *,
    platforms: _archive.Platforms = None,
    projects: _archive.Projects = None,
    models: _archive.Models = None,
    since: _archive.Since = None,
    until: _archive.Until = None,
    has: _archive.Has = None,
    tools: _archive.Tools = None,
    tags: _archive.Tags = None,
    agents: Annotated[bool, typer.Option("--agents", help="The conversations of agents as well.")] = False,
    sort: Annotated[
        str, typer.Option(metavar="BY", help="The greatest first: updated, created, messages, tokens.")
    ] = "updated",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many.")] = _SCREENFUL,
    everything: Annotated[bool, typer.Option("--all", "-a", help="All of them.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the conversations of the archive, the latest first.

    The word in front of each is a name that `palaver show` understands. The conversations that agents had are counted
    behind the title of the one that started them. Tokens are counted once where a message is kept twice, without those
    that were only read from the cache.

    Exit codes: 0 there are some, 1 there are none, 2 the archive could not be read.
    """
    from palaver.archive.listing import Sort, find, listed
    from palaver.errors import OptionError

    if sort not in _SORTS:
        raise OptionError(f"--sort {sort}: conversations are sorted by {', '.join(_SORTS)}")
    wanted = _archive.filters(
        platforms=platforms,
        projects=projects,
        models=models,
        since=since,
        until=until,
        has=has,
        tools=tools,
        tags=tags,
    )
    with _archive.reading() as connection:
        found = find(connection, wanted, Sort(sort), with_agents=agents)
        rows = list(listed(connection, found.keys if everything else found.keys[:limit]))
    if as_json:
        _output.answer_json(
            {
                "conversations": [_described(row) for row in rows],
                "total": len(found.keys),
                "shown": len(rows),
                "hidden_agents": found.hidden,
            }
        )
    elif rows:
        _output.answer_pieces(_lines(rows, _output.columns()))
        _tell_what_is_left(len(rows), len(found.keys))
    else:
        _tell_there_are_none(found.hidden, is_filtered=wanted.where()[0] != "true")
    raise typer.Exit(0 if rows else 1)


def _described(row: "Listed") -> dict[str, Any]:
    totals = row.totals
    return {
        "conversation_id": row.conversation_id,
        "short_id": row.short_id,
        "platform": row.platform,
        "title": row.title,
        "has_title": row.has_title,
        "project": row.project,
        "model": row.model,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "status": row.status,
        "messages": totals.messages,
        "human_messages": totals.human_messages,
        "tokens": totals.tokens(),
        "tags": row.tags,
        "rating": row.rating,
        "is_sidechain": row.is_sidechain,
        "parent": row.parent,
        "agents": row.agents,
        "sources": row.sources,
    }


_HEADS = ("id", "when", "platform", "msgs", "tokens", "project")
_NUMBERS = {"msgs", "tokens"}


def _lines(rows: "list[Listed]", width: int | None) -> "Iterator[Text]":
    """A table whose last column, the title, takes what room the others leave; columns without anything are left out."""
    from datetime import UTC, datetime

    from rich.text import Text

    now = datetime.now(UTC)
    longest_project = None if width is None else _PROJECT_WHERE_NARROW if width < _NARROW else _PROJECT
    table = [_cells(row, now, longest_project) for row in rows]
    heads = [Text(head, "dim") for head in _HEADS]
    columns = [cells for cells in zip(heads, *table, strict=True) if any(cell.plain for cell in cells[1:])]
    is_long = [width is not None and cell.cell_len > _LONGEST_ID for cell in columns[0]]
    widths = [max(cell.cell_len for cell, long in zip(cells, is_long, strict=True) if not long) for cells in columns]
    for number, row in enumerate([None, *rows]):
        line = Text()
        # An id that must be long to mean one conversation only is shown whole, in place of what else is known.
        for cells, room in list(zip(columns, widths, strict=True))[: 2 if is_long[number] else None]:
            cell = cells[number]
            cell.align("right" if cells[0].plain.strip() in _NUMBERS else "left", max(room, cell.cell_len))
            line.append_text(cell).append("  ")
        room = None if width is None else max(width - line.cell_len, 8)
        line.append_text(Text("title", "dim") if row is None else _title(row, room))
        yield line


def _cells(row: "Listed", now: "datetime", longest_project: int | None) -> "list[Text]":
    from rich.text import Text

    project = Text(gist(PurePath(row.project.replace("\\", "/")).name) if row.project else "", "dim")
    if longest_project is not None:
        project.truncate(longest_project, overflow="ellipsis")
    return [
        Text(plain(row.short_id), "cyan"),
        Text(ago(row.updated_at or row.created_at, now), "dim"),
        Text(_archive.platform_title(row.platform)),
        Text(f"{row.totals.messages:,}"),
        Text(amount(row.totals.size) if row.totals.has_tokens else "", "dim"),
        project,
    ]


def _title(row: "Listed", room: int | None) -> "Text":
    from rich.text import Text

    notes = Text(style="dim")
    if row.is_sidechain:
        notes.append("  agent")
    if row.agents:
        notes.append(f"  +{counted(row.agents, 'agent')}")
    if row.tags:
        notes.append("".join(f"  #{plain(tag)}" for tag in row.tags))
    title = Text(gist(row.title), "" if row.has_title else "italic")
    if room is not None:
        notes.truncate(room // 2, overflow="ellipsis")
        title.truncate(room - notes.cell_len, overflow="ellipsis")
    return title.append_text(notes)


def _tell_what_is_left(shown: int, total: int) -> None:
    from rich.text import Text

    if shown < total:
        _output.tell("", Text(f"{shown:,} of {counted(total, 'conversation')}: --limit N or --all shows more.", "dim"))


def _tell_there_are_none(agents: int, *, is_filtered: bool) -> None:
    if not is_filtered:
        _output.tell("The archive is empty: `palaver scan` or `palaver import PATH` fills it.")
    elif agents:
        _output.tell(f"No conversation is like that, but {counted(agents, 'agent')}: --agents shows them.")
    else:
        _output.tell("No conversation is like that.")
