"""What of a message is searched: its words, apart by what they are."""

import re
from typing import Any

from palaver.model.build import JsonObject

_LONGEST_WORD = 512
"""A longer run without any space is no word but data: a picture, a signature, a hash."""
_UNSPACED = re.compile(
    "([\u3005-\u3007\u3041-\u3096\u309d-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]+)"
)
"""Chinese and Japanese: writing without spaces between its words."""
_LETTERS = re.compile(rb"\xe3(?:\x80[\xa1-\xbc]|\x81\x80|\x82[\x97\x98]|[\x84-\x8f])")
"""From U+3000 to U+9FFF, which take three bytes in UTF-8, nearly all are such signs or belong to no word. Not so these:
letters and numerals, and signs among them."""
_FORMS = re.compile(rb"\xef[\xa4-\xab\xbd\xbe]")
"""Such signs in other forms and widths, which stand elsewhere, as do the rare ones."""
_RARE = re.compile(rb"\xf0[\xa0-\xb2]")
_RUN = re.compile(rb"([\xe3-\xe9][\x80-\xbf\xe3-\xe9]*)")
"""Such signs, where they make up most of a text.

(A byte and those that may follow it are soon found. One or more of a kind are not: that is tried at every byte.)"""
_FIRST_BYTES = tuple((bytes((byte,)), b" " + bytes((byte,))) for byte in range(0xE3, 0xEA))
_KINDS = (
    b"".join(b"w" if chr(byte).isalnum() else b" " for byte in range(0x80))
    + b"-" * 0x40
    + b"w" * (0xE3 - 0xC0)
    + b"s" * (0xEA - 0xE3)
    + b"w" * (0x100 - 0xEA)
)
"""What each byte begins: a sign (s), what may be a word (w), or nothing, since another one comes before it (-)."""


def searchable(content: list[JsonObject]) -> tuple[str, str, str]:
    """The words of some blocks as the index takes them in.

    To forget a body, the index is told its words again: whoever changes this makes the index anew in a migration.
    """
    said, thought, tools = worded(content)
    return spaced(said), spaced(thought), spaced(tools)


def encoded(content: list[JsonObject]) -> tuple[bytes, bytes, bytes]:
    """The same in UTF-8: a quarter of the room where there is an emoji among them, and not encoded again."""
    if len(content) == 1 and len(block := content[0]) == 2 and block["type"] == "text":
        return _spaced(block["text"]), b"", b""
    said, thought, tools = worded(content)
    return _spaced(said), _spaced(thought), _spaced(tools)


def spaced(text: str) -> str:
    """A text with a space around each sign of a writing that has none.

    The index would otherwise take a sentence for one word, and find it by its beginning only; so it finds any part.
    """
    return text if text.isascii() else _spaced(text).decode()


def _spaced(text: str) -> bytes:
    plain = text.encode()
    if len(plain) == len(text):
        return plain
    if (
        (b"\xe3" in plain and _LETTERS.search(plain))
        or (b"\xef" in plain and _FORMS.search(plain))
        or (b"\xf0" in plain and _RARE.search(plain))
    ):
        return _spaced_one_by_one(text)
    return _spaced_by_runs(plain) if len(plain) > 2 * len(text) else _spaced_apart(plain)


def _spaced_by_runs(plain: bytes) -> bytes:
    """Where signs are many: their bytes, the first of all of them and so on, are put between spaces."""
    parts = _RUN.split(plain)
    if len(parts) == 1:
        return plain
    signs = b"\0\0\0".join(parts[1::2])
    spaced = bytearray(b" ") * (len(signs) // 3 * 4)
    spaced[1::4], spaced[2::4], spaced[3::4] = signs[::3], signs[1::3], signs[2::3]
    del spaced[0]
    parts[1::2] = spaced.split(b" \0\0\0 ")
    return b" ".join(parts)


def _spaced_apart(plain: bytes) -> bytes:
    """Where signs are few: a space goes before each of them, and after those that a word follows."""
    between = plain.translate(_KINDS).split(b"s--w")
    if len(between) > 1:
        parts: list[bytes] = []
        start = end = 0
        for kinds in between[:-1]:
            end += len(kinds) + 3
            parts.append(plain[start:end])
            start, end = end, end + 1
        plain = b" ".join([*parts, plain[start:]])
    for first, spaced in _FIRST_BYTES:
        plain = plain.replace(first, spaced)
    return plain


def _spaced_one_by_one(text: str) -> bytes:
    parts = iter(_UNSPACED.split(text))
    spaced = [next(parts)]
    for signs in parts:
        spaced += signs
        spaced.append(next(parts))
    return " ".join(spaced).encode()


def worded(content: list[JsonObject]) -> tuple[str, str, str]:
    """The words of some blocks: what was said, what was thought, what tools were given and gave back."""
    said: list[str] = []
    thought: list[str] = []
    tools: list[str] = []
    for block in content:
        kind = block["type"]
        if kind == "text":
            said.append(block["text"])
            if block.get("citations"):
                _add_strings(block["citations"], said)
        elif kind == "tool_use":
            tools.append(block["name"])
            _add_strings(block["input"], tools)
        elif kind == "tool_result":
            _add_result(block["content"], tools)
        elif kind == "thinking":
            thought.append(block["thinking"])
        else:
            _add_other(kind, block, said)
    return "\n".join(said), "\n".join(thought), "\n".join(tools)


def _add_result(content: Any, tools: list[str]) -> None:
    if isinstance(content, str):
        tools.append(content)
        return
    for block in content:
        if block.get("type") == "text":
            tools.append(block["text"])
        else:
            _add_strings({key: value for key, value in block.items() if key != "type"}, tools)


def _add_other(kind: str, block: JsonObject, said: list[str]) -> None:
    match kind:
        case "code":
            said += [word for key in ("code", "file_path") if (word := block.get(key))]
        case "image":
            said += [word for word in (block.get("alt_text"), _address(block)) if word]
        case "file":
            said += [word for word in (block.get("name"), block.get("text"), _address(block)) if word]
        case "opaque":
            _add_strings(block["raw"], said)
        case _:
            _add_strings({key: value for key, value in block.items() if key != "type"}, said)


def _address(block: JsonObject) -> str | None:
    """Where a picture or file is, unless its bytes stand there themselves."""
    match block.get("source"):
        case {"type": "url" | "file", "data": str(address)} if len(address) < _LONGEST_WORD:
            return address
        case _:
            return None


def _add_strings(value: Any, words: list[str]) -> None:
    """Every text anywhere inside a value, however deep it is, in the order in which a body stores its keys."""
    stack: list[Any] = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if value and (len(value) <= _LONGEST_WORD or " " in value or "\n" in value):
                words.append(value)
        elif isinstance(value, dict):
            stack.extend([value[key] for key in sorted(value, reverse=True)])
        elif isinstance(value, list):
            stack.extend(reversed(value))
