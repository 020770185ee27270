"""The table of `palaver list`, fitted to the terminal.

Empty columns are left out. On a narrow terminal, columns are dropped before titles become too short to recognize.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from palaver.archive.conversation_list import ListedConversation
from palaver.cli._archive import platform_title
from palaver.cli._terminal.layout import stars
from palaver.cli._terminal.words import counted, escaped_line, gist, short_number, time_ago

if TYPE_CHECKING:
    from rich.text import Text

Cell = tuple[str, str]
"""A text and its style; building rich Texts for a whole list would take as long as the query itself."""

_HEADS = ("id", "when", "platform", "msgs", "tokens", "project")
_DROPPED = ("tokens", "project", "platform", "msgs")
"""The columns to drop, in order, until titles have `_MIN_TITLE_WIDTH`."""
_NUMBERS = {"msgs", "tokens"}
_MIN_TITLE_WIDTH = 30
_MAX_PROJECT_WIDTH = 24
_MAX_PLATFORM_WIDTH = 20


def conversation_lines(rows: list[ListedConversation], width: int | None) -> "Iterator[Text]":
    """Yield the lines of the table; the title, in the last column, takes the remaining width."""
    from rich.cells import cell_len
    from rich.text import Span, Text

    now = datetime.now(UTC)
    columns = dict(zip(_HEADS, zip(*(_cells(row, now, width) for row in rows), strict=True), strict=True))
    columns = {head: cells for head, cells in columns.items() if any(text for text, _ in cells)}
    widths = {head: max(cell_len(head), *(cell_len(text) for text, _ in cells)) for head, cells in columns.items()}
    title_width = None if width is None else _fit(widths, width)
    columns = {head: cells for head, cells in columns.items() if head in widths}
    for index, row in enumerate([None, *rows]):
        parts: list[Cell] = []
        for head, cells in columns.items():
            text, style = cells[index - 1] if index else (head, "dim")
            padding = " " * max(widths[head] - cell_len(text), 0)
            is_number = head in _NUMBERS
            parts += [(padding if is_number else "", ""), (text, style), ("  " if is_number else f"{padding}  ", "")]
        parts += [("title", "dim")] if row is None else _title(row, title_width)
        spans: list[Span] = []
        offset = 0
        for text, style in parts:
            if text and style:
                spans.append(Span(offset, offset + len(text), style))
            offset += len(text)
        yield Text("".join(text for text, _ in parts), spans=spans)


def _fit(widths: dict[str, int], width: int) -> int:
    """Drop columns until titles have enough room, and return that room."""
    for head in _DROPPED:
        if _room(widths, width) >= _MIN_TITLE_WIDTH:
            break
        widths.pop(head, None)
    return max(_room(widths, width), 8)


def _room(widths: dict[str, int], width: int) -> int:
    return width - sum(widths.values()) - 2 * len(widths)


def _cells(row: ListedConversation, now: datetime, width: int | None) -> tuple[Cell, ...]:
    project = gist(row.project.replace("\\", "/").rstrip("/").rpartition("/")[2]) if row.project else ""
    when = time_ago(row.updated_at or row.created_at, now)
    return (
        (escaped_line(row.short_id), "cyan"),
        (f"~{when}" if row.is_undated else when, "dim"),
        (_cut(escaped_line(platform_title(row.platform)), None if width is None else _MAX_PLATFORM_WIDTH), ""),
        (f"{row.totals.messages:,}", ""),
        (short_number(row.totals.size) if row.totals.has_tokens else "", "dim"),
        (_cut(project, None if width is None else _MAX_PROJECT_WIDTH), "dim"),
    )


def _title(row: ListedConversation, width: int | None) -> list[Cell]:
    # What is left of a deleted session is listed below the session like an agent, if the session is known.
    notes = "  archived" if row.status == "archived" else "  agent" if row.is_sidechain else ""
    if row.rating:
        notes += f"  {stars(row.rating['score'])}"
    if row.agents:
        notes += f"  +{counted(row.agents, 'agent')}"
    notes += "".join(f"  #{escaped_line(tag)}" for tag in row.tags)
    title = gist(row.title)
    if width is not None:
        from rich.cells import cell_len

        # A short title leaves its room to the notes.
        notes = _cut(notes, max(width // 2, width - cell_len(title)))
        title = _cut(title, width - cell_len(notes))
    return [(title, "" if row.has_title else "italic"), (notes, "dim")]


def _cut(text: str, width: int | None) -> str:
    from rich.cells import cell_len, set_cell_size

    if width is None or cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…"
