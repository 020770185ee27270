"""Message text as part of a Markdown document, escaped so that it can neither break the document nor imitate it.

Messages are Markdown already and mostly stay unchanged. A CommonMark parser finds three things to change: headings move
two levels down, below the heading of their message; parts with HTML are shown as source in a fence, elements such as
`<system-reminder>` in one piece; and a fence that is never closed gets closed. A text that begins with a space is
preceded by an empty comment, since a list above it would absorb it.
"""

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

_HEADING_SHIFT = 2
_MAX_HEADING_LEVEL = 6
_MAY_NEED_CHANGES = re.compile(r"^[ \t>*+\-\d.)]*(?:#|```|~~~|=+[ \t]*$|-[ \t]*$)|<", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}(?=\s|$)")
_UNDERLINE = re.compile(r"[=-]+\s*$")
_BACKTICKS = re.compile("`+")
_MARKDOWN_CHARACTERS = re.compile(r"([\\`*_\[\]<>#|~&!])")
_SPACES = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029]+")
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_INDENTED = re.compile(r"\s*^[ \t]+\S", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)(?=[\s/>])")
_END_OF_LIST = "<!-- -->\n\n"


def prose(text: str) -> str:
    """Return a message's text as part of the document."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    shown = _embedded(text) if _MAY_NEED_CHANGES.search(text) else text
    return f"{_END_OF_LIST}{shown}" if _INDENTED.match(shown) else shown


def _embedded(text: str) -> str:
    lines = text.split("\n")
    parts = list(_parts(_block_parser().parse(text)))
    shown: list[str] = []
    done = 0
    element_ends: dict[int, int] = {}
    for number, (first, end, tokens) in enumerate(parts):
        if first < done:
            continue  # shown with the element that began above
        shown += lines[done:first]
        done = end
        if _holds_html(tokens):
            element_ends = element_ends or _element_ends(lines)
            done = max(end, *(element_ends.get(line, 0) for line in range(first, end)))
            # Whole parts only: the element may end inside a code block.
            done = next((last for _, last, _ in parts[number:] if last >= done), done)
            shown.append(fenced("\n".join(lines[first:done]), "html"))
            continue
        shown += _with_deeper_headings(lines[first:end], first, tokens)
        if tokens[0].type == "fence" and not _is_closed(lines[first:end], tokens[0].markup):
            shown.append(tokens[0].markup)
    return "\n".join(shown + lines[done:]).rstrip("\n")


def _element_ends(lines: list[str]) -> dict[int, int]:
    """Return where elements such as `<system-reminder>` end that begin a line: the line after, by the first line.

    A blank line ends a block of Markdown but not the element, which would be cut into several fences.
    """
    ends: dict[int, int] = {}
    open_elements: dict[str, list[tuple[int, bool]]] = {}
    for number, line in enumerate(lines):
        for tag in _TAG.finditer(line):
            opened = open_elements.setdefault(tag[2].lower(), [])
            if not tag[1]:
                opened.append((number, not line[: tag.start()].strip()))
            elif opened:
                first, begins_line = opened.pop()
                if begins_line:
                    ends[first] = max(ends.get(first, 0), number + 1)
    return ends


def fenced(text: str, language: str = "") -> str:
    """Return text in a fence that is longer than any inside it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    info = language if _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{info}\n{text}\n{fence}"


def inline(text: str) -> str:
    """Return text on one line, with Markdown characters escaped."""
    return _MARKDOWN_CHARACTERS.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    """Return text as inline code."""
    text = one_line(text)
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    delimiter = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{delimiter}{padding}{text or ' '}{padding}{delimiter}"


def one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


@cache
def _block_parser() -> MarkdownIt:
    """Return a parser that finds blocks without parsing their content."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _parts(tokens: list[Token]) -> Iterator[tuple[int, int, list[Token]]]:
    """Yield the outermost blocks: the first line, the line after the last, and all tokens."""
    part: list[Token] = []
    for token in tokens:
        part.append(token)
        if token.level == 0 and token.nesting <= 0:
            if part[0].map:
                yield part[0].map[0], part[0].map[1], part
            part = []


def _holds_html(tokens: list[Token]) -> bool:
    for token in tokens:
        if token.type == "html_block":
            return True
        if token.type == "inline" and "<" in token.content:
            [parsed] = _inline_parser().parseInline(token.content)
            if any(child.type == "html_inline" for child in _descendants(parsed)):
                return True
    return False


def _descendants(token: Token) -> Iterator[Token]:
    stack = [token]
    while stack:
        token = stack.pop()
        yield token
        stack += token.children or ()


def _with_deeper_headings(part: list[str], first: int, tokens: list[Token]) -> list[str]:
    for token in tokens:
        if token.type != "heading_open" or not token.map:
            continue
        if token.markup.startswith("#"):
            at = token.map[0] - first
            part[at] = _HEADING.sub(_lowered_heading, part[at], count=1)
        else:  # underlined text
            at = token.map[1] - 1 - first
            # Without the heading, the text that follows would join the same paragraph.
            part[at] = _UNDERLINE.sub(r"\\\g<0>", part[at], count=1) + "\n"
    return part


def _lowered_heading(hashes: re.Match[str]) -> str:
    return "#" * min(len(hashes[0]) + _HEADING_SHIFT, _MAX_HEADING_LEVEL)


def _is_closed(part: list[str], fence: str) -> bool:
    return len(part) > 1 and re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", part[-1]) is not None
