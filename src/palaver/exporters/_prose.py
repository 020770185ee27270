"""Text that others wrote, as a part of a Markdown document that it can neither break nor pass for.

Messages are Markdown already and mostly stay what they are. Three things are changed, as a CommonMark parser sees them:
headings go two levels down, so that they stand below the heading of their message; parts with HTML are shown as they
are written, in a fence; and a fence that is never closed is closed. An empty comment stands before a text that begins
with a space, which a list above it would take in.
"""

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

_DEEPER = 2
_DEEPEST = 6
_MAY_MATTER = re.compile(r"^[ \t>*+\-\d.)]*(?:#|```|~~~|=+[ \t]*$|-[ \t]*$)|<", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}(?=\s|$)")
_UNDERLINE = re.compile(r"[=-]+\s*$")
_BACKTICKS = re.compile("`+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&!])")
_SPACES = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029]+")
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


def prose(text: str) -> str:
    """A message's text as a part of the document."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    shown = _as_part(text) if _MAY_MATTER.search(text) else text
    return f"{_END_OF_LIST}{shown}" if _INDENTED.match(shown) else shown


_INDENTED = re.compile(r"\s*^[ \t]+\S", re.MULTILINE)
_END_OF_LIST = "<!-- -->\n\n"


def _as_part(text: str) -> str:
    lines = text.split("\n")
    tokens = _blocks().parse(text)
    shown: list[str] = []
    done = 0
    for first, end, tokens_of_part in _parts(tokens):
        shown += lines[done:first]
        done = end
        part = lines[first:end]
        if _holds_html(tokens_of_part):
            shown.append(fenced("\n".join(part), "html"))
        else:
            shown += _with_deeper_headings(part, first, tokens_of_part)
            if tokens_of_part[0].type == "fence" and not _is_closed(part, tokens_of_part[0].markup):
                shown.append(tokens_of_part[0].markup)
    return "\n".join(shown + lines[done:]).rstrip("\n")


def fenced(text: str, language: str = "") -> str:
    """A text in a fence that is longer than any in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    info = language if _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{info}\n{text}\n{fence}"


def inline(text: str) -> str:
    """A text as words within a line, whatever marks it holds."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    """A text as code within a line."""
    text = one_line(text)
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    mark = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{mark}{padding}{text or ' '}{padding}{mark}"


def one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


@cache
def _blocks() -> MarkdownIt:
    """A parser that finds blocks, and looks into none of them."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _words() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _parts(tokens: list[Token]) -> Iterator[tuple[int, int, list[Token]]]:
    """The outermost blocks: the lines from and up to which they stand, and all their tokens."""
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
            [parsed] = _words().parseInline(token.content)
            if any(child.type == "html_inline" for child in _all(parsed)):
                return True
    return False


def _all(token: Token) -> Iterator[Token]:
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
            part[at] = _HEADING.sub(_deeper, part[at], count=1)
        else:  # words with a line below them
            at = token.map[1] - 1 - first
            # Without the heading, what follows would go on with the same paragraph.
            part[at] = _UNDERLINE.sub(r"\\\g<0>", part[at], count=1) + "\n"
    return part


def _deeper(marks: re.Match[str]) -> str:
    return "#" * min(len(marks[0]) + _DEEPER, _DEEPEST)


def _is_closed(part: list[str], fence: str) -> bool:
    return len(part) > 1 and re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", part[-1]) is not None
