"""`palaver list`: the conversations of the archive."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import ago, amount, counted, gist, plain

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
        output.answer_json(
            {
                "conversations": [_described(row) for row in rows],
                "total": len(found.keys),
                "shown": len(rows),
                "hidden_agents": found.hidden,
            }
        )
    elif rows:
        output.answer_pieces(_lines(rows, output.columns()))
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
_HEAD_CELLS = [(head, "dim") for head in _HEADS]


Cell = tuple[str, str]
"""A text and its style; all of a list in rich's own texts would take as long as looking everything up."""


def _lines(rows: "list[Listed]", width: int | None) -> "Iterator[Text]":
    """A table whose last column, the title, takes what room the others leave; columns without anything are left out."""
    from datetime import UTC, datetime

    from rich.cells import cell_len
    from rich.text import Span, Text

    now = datetime.now(UTC)
    longest_project = None if width is None else _PROJECT_WHERE_NARROW if width < _NARROW else _PROJECT
    columns = list(zip(*(_cells(row, now, longest_project) for row in rows), strict=True))
    used = [number for number, cells in enumerate(columns) if any(text for text, _ in cells)]
    is_long = [width is not None and cell_len(text) > _LONGEST_ID for text, _ in columns[0]]
    rooms = {
        number: max(
            cell_len(_HEADS[number]),
            *(cell_len(text) for (text, _), long in zip(columns[number], is_long, strict=True) if not long),
            0,
        )
        for number in used
    }
    for row, cells, long in zip(
        [None, *rows], [_HEAD_CELLS, *zip(*columns, strict=True)], [False, *is_long], strict=True
    ):
        parts: list[Cell] = []
        # An id that must be long to mean one conversation only is shown whole, in place of what else is known.
        for number in used[:2] if long else used:
            text, style = cells[number]
            padding = " " * max(rooms[number] - cell_len(text), 0)
            is_number = _HEADS[number] in _NUMBERS
            parts += [(padding if is_number else "", ""), (text, style), ("  " if is_number else f"{padding}  ", "")]
        room = None if width is None else max(width - sum(cell_len(text) for text, _ in parts), 8)
        parts += [("title", "dim")] if row is None else _title(row, room)
        spans: list[Span] = []
        place = 0
        for text, style in parts:
            if text and style:
                spans.append(Span(place, place + len(text), style))
            place += len(text)
        yield Text("".join(text for text, _ in parts), spans=spans)


def _cells(row: "Listed", now: "datetime", longest_project: int | None) -> list[Cell]:
    project = gist(row.project.replace("\\", "/").rstrip("/").rpartition("/")[2]) if row.project else ""
    return [
        (plain(row.short_id), "cyan"),
        (ago(row.updated_at or row.created_at, now), "dim"),
        (_archive.platform_title(row.platform), ""),
        (f"{row.totals.messages:,}", ""),
        (amount(row.totals.size) if row.totals.has_tokens else "", "dim"),
        (_cut(project, longest_project), "dim"),
    ]


def _title(row: "Listed", room: int | None) -> list[Cell]:
    notes = "  agent" if row.is_sidechain else ""
    if row.agents:
        notes += f"  +{counted(row.agents, 'agent')}"
    notes += "".join(f"  #{plain(tag)}" for tag in row.tags)
    title = gist(row.title)
    if room is not None:
        from rich.cells import cell_len

        notes = _cut(notes, room // 2)
        title = _cut(title, room - cell_len(notes))
    return [(title, "" if row.has_title else "italic"), (notes, "dim")]


def _cut(text: str, room: int | None) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if room is None or cell_len(text) <= room else f"{set_cell_size(text, room - 1)}…"


def _tell_what_is_left(shown: int, total: int) -> None:
    from rich.text import Text

    if shown < total:
        output.tell("", Text(f"{shown:,} of {counted(total, 'conversation')}: --limit N or --all shows more.", "dim"))


def _tell_there_are_none(agents: int, *, is_filtered: bool) -> None:
    if not is_filtered:
        output.tell("The archive is empty: `palaver scan` or `palaver import PATH` fills it.")
    elif agents:
        output.tell(f"No conversation is like that, but {counted(agents, 'agent')}: --agents shows them.")
    else:
        output.tell("No conversation is like that.")
