"""Markdown in a terminal: headings, lists, quotes, tables and code, wrapped to a width.

The text is foreign: everything it holds is escaped, and links are printed with their addresses rather than as links of
the terminal, whose targets cannot be seen.
"""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from palaver.cli._terminal.layout import console_for_wrapping, wrapped
from palaver.cli._terminal.words import escaped_line, escaped_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

_MAX_CHARACTERS = 20_000
"""The parser takes a time that grows with the square of some malformed texts."""
_MAX_LEVEL = 16
"""The parser drops what is nested more deeply than 20 levels."""
_MAX_HIGHLIGHTED_CHARACTERS = 20_000
_MAX_COLUMNS = 20
_MIN_COLUMN_WIDTH = 6
_MIN_WIDTH = 10
_RULE_WIDTH = 40
_CODE_STYLES = (
    ("Comment", "dim italic"),
    ("Keyword", "magenta"),
    ("Literal.String", "green"),
    ("Literal.Number", "cyan"),
    ("Name.Function", "bright_blue"),
    ("Name.Class", "bright_blue"),
    ("Name.Tag", "bright_blue"),
    ("Name.Decorator", "magenta"),
    ("Name.Builtin", "cyan"),
    ("Generic.Inserted", "green"),
    ("Generic.Deleted", "red"),
    ("Generic.Heading", "bold"),
    ("Generic.Subheading", "bold"),
)
_HEADINGS = {"h1": "bold underline", "h2": "bold"}
_LOWER_HEADING = "bold italic"


def is_renderable(text: str) -> bool:
    """Return whether a text is short enough to be parsed as Markdown without a noticeable pause."""
    return len(text) <= _MAX_CHARACTERS


def markdown_lines(text: str, width: int | None) -> list[Text]:
    """Return the lines of a Markdown text; a width of None never wraps."""
    from markdown_it.tree import SyntaxTreeNode

    safe = escaped_text(text)
    tokens = _parser().parse(safe)
    if any(token.level > _MAX_LEVEL for token in tokens):
        return [Text(line) for line in wrapped(safe, width)]
    return list(_Blocks(safe).lines(SyntaxTreeNode(tokens).children, width))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # HTML and definitions of links are shown as they are written.
    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["table", "strikethrough"]).disable("reference")


class _Blocks:
    def __init__(self, text: str) -> None:
        self._source = text.split("\n")

    def lines(self, nodes: "list[SyntaxTreeNode]", width: int | None) -> Iterator[Text]:
        """Yield the lines of some blocks, with an empty line between two of them where the source has one."""
        for number, node in enumerate(nodes):
            if number and self._follows_empty_line(node):
                yield Text()
            yield from self._block(node, width)

    def _follows_empty_line(self, node: "SyntaxTreeNode") -> bool:
        if node.map is None or not 0 < node.map[0] <= len(self._source):
            return False
        # Lines of a quote begin with its sign.
        return not self._source[node.map[0] - 1].strip("> \t\r")

    def _block(self, node: "SyntaxTreeNode", width: int | None) -> Iterator[Text]:
        match node.type:
            case "paragraph":
                yield from _wrapped(_inline(node.children), width)
            case "heading":
                text = _inline(node.children)
                text.stylize_before(_HEADINGS.get(node.tag, _LOWER_HEADING))
                yield from _wrapped(text, width)
            case "bullet_list" | "ordered_list":
                yield from self._list(node, width)
            case "blockquote":
                for line in self.lines(node.children, None if width is None else max(width - 2, _MIN_WIDTH)):
                    yield Text.assemble(("│ " if line else "│", "dim"), line)
            case "fence" | "code_block":
                language, _, details = node.info.strip().partition(" ")
                if details:
                    yield Text(f"  {escaped_line(node.info.strip())}", "dim")
                yield from _code(node.content, language)
            case "table":
                yield from _table(node, width)
            case "hr":
                yield Text("─" * min(width or _RULE_WIDTH, _RULE_WIDTH), "dim")
            case _:
                yield from _wrapped(Text(escaped_text(node.content)), width)

    def _list(self, node: "SyntaxTreeNode", width: int | None) -> Iterator[Text]:
        start = node.attrs.get("start", 1)
        number = start if isinstance(start, int) else 1
        for index, item in enumerate(node.children):
            if index and self._follows_empty_line(item):
                yield Text()
            marker = "• " if node.type == "bullet_list" else f"{number + index}. "
            inner = None if width is None else max(width - len(marker), _MIN_WIDTH)
            for line_number, line in enumerate(list(self.lines(item.children, inner)) or [Text()]):
                yield Text.assemble(" " * len(marker) if line_number else (marker, "dim"), line) if line else Text()


def _code(code: str, language: str) -> Iterator[Text]:
    for line in _highlighted(escaped_text(code.rstrip("\n")), language).split("\n", allow_blank=True):
        yield Text.assemble("  ", line) if line else Text()


def _highlighted(code: str, language: str) -> Text:
    if not language or len(code) > _MAX_HIGHLIGHTED_CHARACTERS:
        return Text(code)
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer: Any = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return Text(code)
    text = Text()
    for kind, part in lexer.get_tokens(code):
        text.append(part, _code_style(str(kind).removeprefix("Token.")))
    return text


@cache
def _code_style(kind: str) -> str:
    return next((style for start, style in _CODE_STYLES if kind.startswith(start)), "")


def _table(node: "SyntaxTreeNode", width: int | None) -> Iterator[Text]:
    rows = [[_inline(cell.children) for cell in row.children] for part in node.children for row in part.children]
    count = len(rows[0])
    if count > _MAX_COLUMNS:
        for row in rows:
            yield Text("  ").join(row)
        return
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    if width is not None:
        room = max(width - 2 * (count - 1), _MIN_COLUMN_WIDTH * count)
        while (excess := sum(widths) - room) > 0:
            # The widest column gives what it has over the next one.
            *_, second, widest = sorted([0, *widths])
            step = min(excess, max(widest - second, 1))
            widths[widths.index(widest)] -= step
    for number, row in enumerate(rows):
        cells = [_wrapped(cell, size) or [Text()] for cell, size in zip(row, widths, strict=True)]
        for line in range(max(map(len, cells))):
            parts: list[Text] = []
            for column, size in zip(cells, widths, strict=True):
                part = column[line] if line < len(column) else Text()
                parts.append(Text.assemble(part, " " * max(size - part.cell_len, 0)))
            joined = Text("  ").join(parts)
            joined.rstrip()
            if not number:
                joined.stylize_before("bold")
            yield joined
        if not number:
            yield Text("  ".join("─" * size for size in widths), "dim")


def _inline(nodes: "list[SyntaxTreeNode]", style: str = "") -> Text:
    text = Text()
    for node in nodes:
        match node.type:
            case "inline":
                text.append_text(_inline(node.children, style))
            case "softbreak" | "hardbreak":
                text.append("\n")
            case "code_inline":
                text.append(escaped_line(node.content), f"{style} cyan".strip())
            case "strong" | "em" | "s":
                added = {"strong": "bold", "em": "italic", "s": "strike"}[node.type]
                text.append_text(_inline(node.children, f"{style} {added}".strip()))
            case "link":
                label = _inline(node.children, f"{style} underline".strip())
                text.append_text(label)
                address = escaped_line(str(node.attrs.get("href", "")))
                if address and address.removeprefix("mailto:") != label.plain:
                    text.append(f" ({address})", "dim")
            case "image":
                words = [node.content, str(node.attrs.get("src", ""))]
                text.append(f"[image: {escaped_line(', '.join(filter(None, words)))}]", "dim")
            case _:
                text.append(escaped_text(node.content), style)
    return text


def _wrapped(text: Text, width: int | None) -> list[Text]:
    if width is None or (cell_len(text.plain) <= width and "\n" not in text.plain):
        return list(text.split("\n", allow_blank=True))
    lines = list(text.wrap(console_for_wrapping(), max(width, 1)))
    for line in lines:
        line.rstrip()
    return lines
