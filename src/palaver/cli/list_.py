"""`palaver list`: the conversations of the archive."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.conversation_list import ListedConversation, Sort, find_conversations, list_conversations
from palaver.archive.filters import Filters
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, escaped_line, gist, short_number, time_ago
from palaver.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rich.text import Text

_SCREENFUL = 30
_SORTS = ("updated", "created", "messages", "tokens")
_NARROW_TERMINAL = 100
_MAX_ID_WIDTH = 16
_PROJECT_WIDTH_IF_NARROW = 10
_PROJECT_WIDTH = 24
_HEADS = ("id", "when", "platform", "msgs", "tokens", "project")
_NUMBERS = {"msgs", "tokens"}
_HEAD_CELLS = [(head, "dim") for head in _HEADS]

Cell = tuple[str, str]
"""A text and its style; building rich Texts for a whole list would take as long as the query itself."""


@takes_filters
def list_(
    *,
    filters: Filters,
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
    if sort not in _SORTS:
        raise OptionError(f"--sort {sort}: conversations are sorted by {', '.join(_SORTS)}")
    with _archive.open_for_reading() as connection:
        found = find_conversations(connection, filters, Sort(sort), with_agents=agents)
        rows = list(list_conversations(connection, found.keys if everything else found.keys[:limit]))
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
        output.answer_texts(_lines(rows, output.terminal_width()))
        _notify_of_more(len(rows), len(found.keys))
    else:
        _notify_of_nothing(found.hidden, is_filtered=filters.where()[0] != "true")
    raise typer.Exit(0 if rows else 1)


def _described(row: ListedConversation) -> dict[str, Any]:
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


def _lines(rows: list[ListedConversation], width: int | None) -> "Iterator[Text]":
    """Yield the rows of a table without its empty columns; the title, in the last column, takes the remaining width."""
    from datetime import UTC, datetime

    from rich.cells import cell_len
    from rich.text import Span, Text

    now = datetime.now(UTC)
    project_width = None if width is None else _PROJECT_WIDTH_IF_NARROW if width < _NARROW_TERMINAL else _PROJECT_WIDTH
    columns = list(zip(*(_cells(row, now, project_width) for row in rows), strict=True))
    used = [number for number, cells in enumerate(columns) if any(text for text, _ in cells)]
    is_long = [width is not None and cell_len(text) > _MAX_ID_WIDTH for text, _ in columns[0]]
    widths = {
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
        # An id that must be long to be unique is shown in full, in place of the other columns.
        for number in used[:2] if long else used:
            text, style = cells[number]
            padding = " " * max(widths[number] - cell_len(text), 0)
            is_number = _HEADS[number] in _NUMBERS
            parts += [(padding if is_number else "", ""), (text, style), ("  " if is_number else f"{padding}  ", "")]
        title_width = None if width is None else max(width - sum(cell_len(text) for text, _ in parts), 8)
        parts += [("title", "dim")] if row is None else _title(row, title_width)
        spans: list[Span] = []
        offset = 0
        for text, style in parts:
            if text and style:
                spans.append(Span(offset, offset + len(text), style))
            offset += len(text)
        yield Text("".join(text for text, _ in parts), spans=spans)


def _cells(row: ListedConversation, now: "datetime", project_width: int | None) -> list[Cell]:
    project = gist(row.project.replace("\\", "/").rstrip("/").rpartition("/")[2]) if row.project else ""
    return [
        (escaped_line(row.short_id), "cyan"),
        (time_ago(row.updated_at or row.created_at, now), "dim"),
        (_archive.platform_title(row.platform), ""),
        (f"{row.totals.messages:,}", ""),
        (short_number(row.totals.size) if row.totals.has_tokens else "", "dim"),
        (_cut(project, project_width), "dim"),
    ]


def _title(row: ListedConversation, width: int | None) -> list[Cell]:
    # What is left of a deleted session is listed below the session like an agent, if the session is known.
    notes = "  archived" if row.status == "archived" else "  agent" if row.is_sidechain else ""
    if row.agents:
        notes += f"  +{counted(row.agents, 'agent')}"
    notes += "".join(f"  #{escaped_line(tag)}" for tag in row.tags)
    title = gist(row.title)
    if width is not None:
        from rich.cells import cell_len

        notes = _cut(notes, width // 2)
        title = _cut(title, width - cell_len(notes))
    return [(title, "" if row.has_title else "italic"), (notes, "dim")]


def _cut(text: str, width: int | None) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if width is None or cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _notify_of_more(shown: int, total: int) -> None:
    from rich.text import Text

    if shown < total:
        output.notify("", Text(f"{shown:,} of {counted(total, 'conversation')}: --limit N or --all shows more.", "dim"))


def _notify_of_nothing(agents: int, *, is_filtered: bool) -> None:
    if not is_filtered:
        output.notify("The archive is empty: `palaver scan` or `palaver import PATH` fills it.")
    elif agents:
        output.notify(f"No conversation is like that, but {counted(agents, 'agent')}: --agents shows them.")
    else:
        output.notify("No conversation is like that.")
