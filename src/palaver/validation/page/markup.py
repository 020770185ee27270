"""HTML that nothing shown can break: text becomes markup here only, escaped, and with nothing hidden in it."""

import re
from html import escape

_NAME = re.compile(r"[a-z][A-Za-z0-9-]*")
_VOID = {"input", "link", "meta", "wbr"}
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class Markup(str):
    """HTML that is finished. Joined to other text it is text again, and is escaped like any other."""

    __slots__ = ()


def tag(name: str, /, *content: str | int | None, **attributes: str | int | None) -> Markup:
    """An element. Text in it is escaped, numbers get thousands separators, None is left out.

    An attribute's name is written `class_` or `aria_label`; True gives a bare one, None and False give none.
    """
    opening = f"<{_checked(name)}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID:
        return Markup(opening)
    return Markup(f"{opening}{joined(*content)}</{name}>")


def joined(*content: str | int | None) -> Markup:
    """Pieces one after the other, each made safe as in an element."""
    return Markup("".join(_piece(piece) for piece in content))


def lines(text: str) -> Markup:
    """Text that keeps its line ends, for an element that shows them."""
    return Markup("\n".join(_piece(line) for line in text.split("\n")))


def breakable(text: str, behind: str) -> Markup:
    """A long name that may go on in the next line behind each of these characters."""
    return Markup(str(tag("wbr")).join(_piece(part) for part in re.split(f"(?<=[{re.escape(behind)}])", text)))


def inlined(name: str, content: str) -> Markup:
    """A style sheet or a script of this package as it stands, since its hash is what the page's policy allows."""
    if "</" in content or "<!--" in content:
        raise ValueError(f"the {name} would end before its end")
    return Markup(f"<{_checked(name)}>{content}</{name}>")


def visible(text: str) -> str:
    """The text with each character spelled out that shows nothing, or turns the direction of others."""
    return _UNSEEN.sub(lambda found: _spelled(found[0]), text)


def _piece(piece: str | int | None) -> str:
    match piece:
        case Markup():
            return piece
        case str():
            marked = '<span class="unseen">{}</span>'.format
            return _UNSEEN.sub(lambda found: marked(_spelled(found[0])), escape(piece, quote=False))
        case int():
            return f"{piece:,}"
        case None:
            return ""


def _attribute(key: str, value: str | int | None) -> str:
    name = _checked(key.rstrip("_").replace("_", "-"))
    if name == "style" or name.startswith("on"):
        raise ValueError(f"the page's policy forbids the attribute {name}")
    if name == "href" and value != "data:," and not str(value).startswith("#"):
        raise ValueError("the page links to itself only")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"not the name of an element or attribute: {name!r}")
    return name


def _spelled(character: str) -> str:
    # Spelled out, since the pictures of control characters are missing from many fonts.
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
