"""What a search found, for people: conversations with the passages in them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, local, plain

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from palaver.archive.search import Conversation, Found, Hit

_ROOM_IN_A_PIPE = 160
_BESIDE_SNIPPET = 28
_LEAST_OF_A_TITLE = 20
_STYLE_OF_WORDS = "bold yellow"
_STYLES = {"human": "green", "model": "blue", "tool": "magenta", "harness": "dim"}
_LINE_END = re.compile(r"\s*[\n\r]\s*")
_SPACES = re.compile(r"[ \t\f\v]+")


def room_for_snippets() -> int:
    """Characters of two lines, beside what tells who and when."""
    columns = output.columns()
    return _ROOM_IN_A_PIPE if columns is None else max(60, 2 * (columns - _BESIDE_SNIPPET))


def show(found: "Found") -> None:
    """Conversations found by their title alone, then those with hits, each in the order of its first one."""
    groups: dict[Conversation, list[Hit]] = {}
    for hit in found.hits:
        groups.setdefault(hit.conversation, []).append(hit)
    titles = {title.conversation: title.ranges for title in found.titles}
    alone = [conversation for conversation in titles if conversation not in groups]
    for conversation in alone:
        output.answer(_header(conversation, titles[conversation]))
    for number, (conversation, hits) in enumerate(groups.items()):
        if number or alone:
            output.answer("")
        output.answer(_header(conversation, titles.get(conversation, ())))
        output.answer(_table(hits))


def _header(conversation: "Conversation", ranges: Sequence[tuple[int, int]] = ()) -> "Text":
    from rich.text import Text

    when = local(conversation.created_at)
    facts = [
        plain(conversation.platform),
        plain(re.split(r"[/\\]", (conversation.project or "").rstrip("/\\"))[-1]),
        f"{when:%Y-%m-%d}" if when else plain(conversation.created_at[:10]),
    ]
    told = " · ".join(fact for fact in facts if fact)
    name = plain(conversation.short_id)
    title = _highlighted(conversation.title, ranges)
    title.stylize_before("bold" if conversation.has_title else "dim")
    if (columns := output.columns()) is not None:
        title.truncate(max(_LEAST_OF_A_TITLE, columns - len(name) - len(told) - 4), overflow="ellipsis")
    return Text.assemble((name, "cyan"), "  ", title, "  ", (told, "dim"))


def _table(hits: "list[Hit]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for hit in hits:
        who = hit.author_kind or hit.role
        table.add_row(Text(f"  {_when(hit)}", "dim"), Text(plain(who), _STYLES.get(who, "")), _passage(hit))
    return table


def _when(hit: "Hit") -> str:
    """The time of day; with the date if that is not the one in the header."""
    moment, began = local(hit.timestamp), local(hit.conversation.created_at)
    if moment is None:
        return plain(hit.timestamp[:16])
    return f"{moment:%H:%M}" if began and began.date() == moment.date() else f"{moment:%Y-%m-%d %H:%M}"


def _passage(hit: "Hit") -> "Text":
    from rich.text import Text

    told = Text()
    if hit.snippet is not None:
        told.append(_where(hit), "dim italic")
        told.append("…" if hit.snippet.is_cut_before else "", "dim")
        told.append_text(_highlighted(hit.snippet.text, hit.snippet.ranges))
        told.append("…" if hit.snippet.is_cut_after else "", "dim")
    if hit.others_total:
        told.append(f"  (also in {counted(hit.others_total, 'other')})", "dim")
    return told


def _where(hit: "Hit") -> str:
    assert hit.snippet is not None
    match hit.snippet.piece.block:
        case "text":
            return ""
        case "tool_use":
            return f"in {plain(hit.tool or 'tool')} call: "
        case "tool_result":
            return f"in {plain(hit.tool or 'tool')} result: "
        case block:
            return f"in {plain(block)}: "


def _highlighted(text: str, ranges: Sequence[tuple[int, int]]) -> "Text":
    from rich.text import Text

    told = Text()
    end = len(text) - len(text.lstrip())
    for start, close in ranges:
        told.append(_on_one_line(text[end:start]))
        told.append(_on_one_line(text[start:close]), _STYLE_OF_WORDS)
        end = close
    told.append(_on_one_line(text[end:].rstrip()))
    return told


def _on_one_line(text: str) -> str:
    """The ends of its lines can be seen, and nothing in it steers the terminal."""
    return plain(_SPACES.sub(" ", _LINE_END.sub(" ⏎ ", text)))


def summary(found: "Found", offset: int, limit: int, *, is_ranked: bool, has_filters: bool) -> list[str]:
    """How much of it this is, and how to see the rest."""
    from palaver.archive.search import COUNTED

    told: list[str] = []
    page = offset // limit + 2
    if found.hits:
        total = counted(found.total, "message")
        if not found.is_total_exact:
            total = f"{'the newest' if is_ranked else 'more than' if found.total >= COUNTED else 'at least'} {total}"
        has_more = offset + limit < found.total or not (found.is_total_exact or is_ranked)
        order = "the best first" if is_ranked else "newest first"
        told.append(f"{len(found.hits)} of {total}, {order}{f'; --page {page} shows more' * has_more}")
    if found.titles:
        total = counted(found.titles_total, "title")
        if not found.is_titles_total_exact:
            total = f"at least {total}"
        more = "--in title shows all" if found.hits or not offset else f"--page {page} shows more"
        has_more = offset + len(found.titles) < found.titles_total
        told.append(f"{len(found.titles)} of {total}{f'; {more}' * has_more}")
    if told:
        return told
    if offset:
        return ["there is no more of it"]
    less = ", and so does leaving out a filter" if has_filters else ""
    return [f"nothing was found: fewer words, this OR that, or the beginning of a word* find more{less}"]
