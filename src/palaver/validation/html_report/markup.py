"""HTML that no text can break: text becomes markup only here, escaped and with invisible characters spelled out."""

import re
from html import escape

_NAME = re.compile(r"[a-z][A-Za-z0-9-]*")
_VOID = {"input", "link", "meta", "wbr"}
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class Markup(str):
    """Finished HTML. Concatenated with other text it becomes plain text again, to be escaped like any other."""

    __slots__ = ()


def tag(name: str, /, *content: str | int | None, **attributes: str | int | None) -> Markup:
    """Return an element. Its text is escaped, its numbers get thousands separators, None is left out.

    Write attribute names as `class_` or `aria_label`. True gives a bare attribute; None and False omit it.
    """
    opening = f"<{_checked_name(name)}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID:
        return Markup(opening)
    return Markup(f"{opening}{joined(*content)}</{name}>")


def joined(*content: str | int | None) -> Markup:
    """Concatenate pieces, each escaped as inside an element."""
    return Markup("".join(_piece(piece) for piece in content))


def lines(text: str) -> Markup:
    """Return text with its line breaks, for an element that preserves them."""
    return Markup("\n".join(_piece(line) for line in text.split("\n")))


def breakable(text: str, behind: str) -> Markup:
    """Return a long name that may wrap after each of these characters."""
    return Markup(str(tag("wbr")).join(_piece(part) for part in re.split(f"(?<=[{re.escape(behind)}])", text)))


def inlined(name: str, content: str) -> Markup:
    """Return a style sheet or script of this package unescaped: the page's policy allows it by its hash."""
    if "</" in content or "<!--" in content:
        raise ValueError(f"the {name} would end before its end")
    return Markup(f"<{_checked_name(name)}>{content}</{name}>")


def visible(text: str) -> str:
    """Spell out each character that is invisible or changes the direction of text."""
    return _INVISIBLE.sub(lambda found: _escape_sequence(found[0]), text)


def _piece(piece: str | int | None) -> str:
    match piece:
        case Markup():
            return piece
        case str():
            marked = '<span class="unseen">{}</span>'.format
            return _INVISIBLE.sub(lambda found: marked(_escape_sequence(found[0])), escape(piece, quote=False))
        case int():
            return f"{piece:,}"
        case None:
            return ""


def _attribute(key: str, value: str | int | None) -> str:
    name = _checked_name(key.rstrip("_").replace("_", "-"))
    if name == "style" or name.startswith("on"):
        raise ValueError(f"the page's policy forbids the attribute {name}")
    if name == "href" and value != "data:," and not str(value).startswith("#"):
        raise ValueError("the page links to itself only")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"not the name of an element or attribute: {name!r}")
    return name


def _escape_sequence(character: str) -> str:
    # Many fonts lack the pictures of control characters.
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
