"""Search results in a terminal: conversations with their matching passages."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palaver.cli._archive import platform_title
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, escaped_line, gist, local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.table import Table
    from rich.text import Text

    from palaver.archive.query import Query
    from palaver.archive.search import Hit, HitConversation, Neighbour, SearchResult

_SNIPPET_LENGTH_IN_PIPE = 160
_COLUMNS_BESIDE_SNIPPET = 42
_NARROW_TERMINAL = 80
"""Narrower terminals show neither the time of a message nor the platform and project of a conversation."""
_MIN_TITLE_WIDTH = 20
_MATCH_STYLE = "bold red"
_STYLES = {"human": "green", "model": "bright_blue", "tool": "cyan", "harness": "magenta"}
_LINE_END = re.compile(r"\s*[\n\r]\s*")
_SPACES = re.compile(r"[ \t\f\v]+")


def snippet_length() -> int:
    """Return the characters that fit on two lines, beside the columns for time and author."""
    width = output.terminal_width()
    return _SNIPPET_LENGTH_IN_PIPE if width is None else max(60, 2 * (width - _COLUMNS_BESIDE_SNIPPET))


def result_pieces(found: "SearchResult") -> "Iterator[Table | Text]":
    """Yield the conversations found by title only, then those with hits, in the order of their first hit."""
    from rich.text import Text

    groups: dict[HitConversation, list[Hit]] = {}
    for hit in found.hits:
        groups.setdefault(hit.conversation, []).append(hit)
    titles = {title.conversation: title.ranges for title in found.titles}
    title_only = [conversation for conversation in titles if conversation not in groups]
    for conversation in title_only:
        yield _header(conversation, titles[conversation])
    for number, (conversation, hits) in enumerate(groups.items()):
        if number or title_only:
            yield Text()
        yield _header(conversation, titles.get(conversation, ()))
        yield _table(hits)


def _header(conversation: "HitConversation", ranges: Sequence[tuple[int, int]] = ()) -> "Text":
    from rich.text import Text

    when = local_time(conversation.created_at)
    details = [
        escaped_line(platform_title(conversation.platform)),
        escaped_line(re.split(r"[/\\]", (conversation.project or "").rstrip("/\\"))[-1]),
        f"{when:%Y-%m-%d}" if when else escaped_line(conversation.created_at[:10]),
    ]
    width = output.terminal_width()
    if width is not None and width < _NARROW_TERMINAL:
        details = details[-1:]
    subtitle = " · ".join(filter(None, details))
    name = escaped_line(conversation.short_id)
    title = _highlighted(conversation.title, ranges)
    title.stylize_before("bold" if conversation.has_title else "dim")
    if width is not None:
        title.truncate(max(_MIN_TITLE_WIDTH, width - len(name) - len(subtitle) - 4), overflow="ellipsis")
    return Text.assemble((name, "cyan"), "  ", title, "  ", (subtitle, "dim"))


def _table(hits: "list[Hit]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    width = output.terminal_width()
    is_narrow = width is not None and width < _NARROW_TERMINAL
    has_context = any(hit.before or hit.after for hit in hits)
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2 if is_narrow else 3):
        table.add_column(no_wrap=True)
    table.add_column()

    def add(place: Text, when: str, who: str, text: Text) -> None:
        cells = [place, *([] if is_narrow else [Text(when, "dim")]), Text(escaped_line(who), _STYLES.get(who, ""))]
        table.add_row(*cells, text)

    for number, hit in enumerate(hits):
        if number and has_context:
            add(Text("  --", "dim"), "", "", Text())
        began = hit.conversation.created_at
        name = escaped_line(hit.conversation.short_id)
        for neighbour in hit.before:
            _add_neighbour(add, name, began, neighbour)
        add(
            Text(f"  {name}:{hit.number}", "cyan"),
            _when(hit.timestamp, began),
            hit.author_kind or hit.role,
            _passage(hit),
        )
        for neighbour in hit.after:
            _add_neighbour(add, name, began, neighbour)
    return table


def _add_neighbour(
    add: "Callable[[Text, str, str, Text], None]", name: str, began: str, neighbour: "Neighbour"
) -> None:
    """Add a message near a hit, on one line."""
    from rich.text import Text

    width = output.terminal_width()
    text = Text(gist(neighbour.text, _SNIPPET_LENGTH_IN_PIPE) or "(empty)", "dim", no_wrap=width is not None)
    text.overflow = "ellipsis"
    when = _when(neighbour.timestamp, began)
    add(Text(f"  {name}:{neighbour.number}", "dim"), when, neighbour.author_kind or neighbour.role, text)


def _when(timestamp: str, conversation_began: str) -> str:
    """Return the time of day, with the date if it differs from the header's."""
    moment, began = local_time(timestamp), local_time(conversation_began)
    if moment is None:
        return escaped_line(timestamp[:16])
    return f"{moment:%H:%M}" if began and began.date() == moment.date() else f"{moment:%Y-%m-%d %H:%M}"


def _passage(hit: "Hit") -> "Text":
    from rich.text import Text

    text = Text()
    if hit.snippet is not None:
        found, ranges = hit.snippet.text, hit.snippet.ranges
        if hit.snippet.piece.block == "tool_use":
            name, found, ranges = _without_name(hit, found, ranges)
            text.append("in ", "dim italic").append_text(name).append(" call: ", "dim italic")
        else:
            text.append(_where(hit), "dim italic")
        text.append("…" if hit.snippet.is_cut_before else "", "dim")
        text.append_text(_highlighted(found, ranges))
        text.append("…" if hit.snippet.is_cut_after else "", "dim")
    if hit.others_total:
        text.append(f"  (also in {counted(hit.others_total, 'other')})", "dim")
    return text


def _without_name(
    hit: "Hit", found: str, ranges: Sequence[tuple[int, int]]
) -> "tuple[Text, str, Sequence[tuple[int, int]]]":
    """Return the tool of a call, and the snippet without the name of the tool, with which every call begins."""
    from rich.text import Text

    tool = hit.tool or "tool"
    start = len(tool) + 1
    if hit.snippet is None or hit.snippet.is_cut_before or not f"{found}\n".startswith(f"{tool}\n"):
        return Text(escaped_line(tool), "dim italic"), found, ranges
    name = _highlighted(tool, [(begin, end) for begin, end in ranges if end < start])
    name.stylize_before("dim italic")
    return name, found[start:], [(begin - start, end - start) for begin, end in ranges if begin >= start]


def _where(hit: "Hit") -> str:
    assert hit.snippet is not None
    match hit.snippet.piece.block:
        case "text":
            return ""
        case "tool_result":
            return f"in {escaped_line(hit.tool or 'tool')} result: "
        case block:
            return f"in {escaped_line(block)}: "


def _highlighted(text: str, ranges: Sequence[tuple[int, int]]) -> "Text":
    from rich.text import Text

    highlighted = Text()
    end = len(text) - len(text.lstrip())
    for start, close in ranges:
        highlighted.append(_on_one_line(text[end:start]))
        highlighted.append(_on_one_line(text[start:close]), _MATCH_STYLE)
        end = close
    highlighted.append(_on_one_line(text[end:].rstrip()))
    return highlighted


def _on_one_line(text: str) -> str:
    """Return a text on one line, with visible line ends and escaped control characters."""
    return escaped_line(_SPACES.sub(" ", _LINE_END.sub(" ⏎ ", text)))


def reading(query: "Query", *, is_as_typed: bool) -> list[str]:
    """Return how a query was read; nothing for plain words, all of which are required."""
    if is_as_typed:
        return [f"Searched for {query.description} as typed (to exclude a word, write NOT word)"]
    return [] if query.is_plain else [f"Searched for {query.description}"]


def summary(found: "SearchResult", offset: int, limit: int, *, is_ranked: bool, has_filters: bool) -> list[str]:
    """Return how much of the result is shown, and how to see the rest."""
    from palaver.archive.search import MAX_COUNTED

    sentences: list[str] = []
    page = offset // limit + 2
    if found.hits:
        total = counted(found.total, "message")
        if not found.is_total_exact:
            total = (
                f"{'the newest' if is_ranked else 'more than' if found.total >= MAX_COUNTED else 'at least'} {total}"
            )
        has_more = offset + limit < found.total or not (found.is_total_exact or is_ranked)
        order = "the best first" if is_ranked else "newest first"
        sentences.append(f"{len(found.hits)} of {total}, {order}{f'; --page {page} shows more' * has_more}")
    if found.titles:
        total = counted(found.titles_total, "title")
        if not found.is_titles_total_exact:
            total = f"at least {total}"
        more = "--in title shows all" if found.hits or not offset else f"--page {page} shows more"
        has_more = offset + len(found.titles) < found.titles_total
        sentences.append(f"{len(found.titles)} of {total}{f'; {more}' * has_more}")
    if sentences:
        return sentences
    if offset:
        return ["No more results."]
    fewer = ", or fewer filters" if has_filters else ""
    return [f"Nothing found. Try fewer words, `this OR that`, or a prefix: `compil*`{fewer}."]
