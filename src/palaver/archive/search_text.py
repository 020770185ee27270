"""The searchable text of a message, by column of the index: text, thinking, tool."""

import re
from typing import Any

from palaver.model.build import JsonObject

_MAX_WORD_CHARACTERS = 512
"""A longer run without spaces is data rather than words: an image, a signature, a hash."""
_CJK = re.compile(
    "([\u3005-\u3007\u3041-\u3096\u309d-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]+)"
)
"""Chinese and Japanese characters, which are written without spaces between words."""
_CJK_EXCEPTIONS = re.compile(rb"\xe3(?:\x80[\xa1-\xbc]|\x81\x80|\x82[\x97\x98]|[\x84-\x8f])")
"""Exceptions in U+3000 to U+9FFF, which take three bytes in UTF-8: letters and numerals. Nearly all other characters
there are Chinese or Japanese, or belong to no word."""
_CJK_FORMS = re.compile(rb"\xef[\xa4-\xab\xbd\xbe]")
"""Chinese and Japanese characters in compatibility forms and other widths, outside that range."""
_RARE_CJK = re.compile(rb"\xf0[\xa0-\xb2]")
_CJK_RUN = re.compile(rb"([\xe3-\xe9][\x80-\xbf\xe3-\xe9]*)")
"""A run of Chinese or Japanese characters, for texts that consist mostly of them.

Matching a first byte and whatever may follow is fast; matching one or more whole characters would be tried at every
byte."""
_SPACED_FIRST_BYTES = tuple((bytes((byte,)), b" " + bytes((byte,))) for byte in range(0xE3, 0xEA))
_BYTE_KINDS = (
    b"".join(b"w" if chr(byte).isalnum() else b" " for byte in range(0x80))
    + b"-" * 0x40
    + b"w" * (0xE3 - 0xC0)
    + b"s" * (0xEA - 0xE3)
    + b"w" * (0x100 - 0xEA)
)
"""What each byte starts: a Chinese or Japanese character (s), possibly a word (w), or nothing, if it continues (-)."""


def index_texts(content: list[JsonObject]) -> tuple[str, str, str]:
    """Return the texts of some blocks as the index stores them: text, thinking, tool.

    Deleting a body from the index takes exactly these texts: a change here needs a migration that rebuilds the index.
    """
    text, thinking, tool = content_texts(content)
    return space_cjk(text), space_cjk(thinking), space_cjk(tool)


def encoded_index_texts(content: list[JsonObject]) -> tuple[bytes, bytes, bytes]:
    """Return the texts of `index_texts` in UTF-8: with an emoji, a quarter of the memory, and encoded only once."""
    if len(content) == 1 and len(block := content[0]) == 2 and block["type"] == "text":
        return _space_cjk(block["text"]), b"", b""
    text, thinking, tool = content_texts(content)
    return _space_cjk(text), _space_cjk(thinking), _space_cjk(tool)


def space_cjk(text: str) -> str:
    """Put spaces around each Chinese or Japanese character.

    The index would otherwise take a sentence for one word, and find it only by its beginning.
    """
    return text if text.isascii() else _space_cjk(text).decode()


def _space_cjk(text: str) -> bytes:
    plain = text.encode()
    if len(plain) == len(text):
        return plain
    if (
        (b"\xe3" in plain and _CJK_EXCEPTIONS.search(plain))
        or (b"\xef" in plain and _CJK_FORMS.search(plain))
        or (b"\xf0" in plain and _RARE_CJK.search(plain))
    ):
        return _space_by_character(text)
    return _space_dense_cjk(plain) if len(plain) > 2 * len(text) else _space_sparse_cjk(plain)


def _space_dense_cjk(plain: bytes) -> bytes:
    """Space a text of mostly Chinese or Japanese characters: copy all first bytes, all second and all third bytes."""
    parts = _CJK_RUN.split(plain)
    if len(parts) == 1:
        return plain
    characters = b"\0\0\0".join(parts[1::2])
    spaced = bytearray(b" ") * (len(characters) // 3 * 4)
    spaced[1::4], spaced[2::4], spaced[3::4] = characters[::3], characters[1::3], characters[2::3]
    del spaced[0]
    parts[1::2] = spaced.split(b" \0\0\0 ")
    return b" ".join(parts)


def _space_sparse_cjk(plain: bytes) -> bytes:
    """Space a text with few such characters: put a space before each, and after those followed by a word."""
    between = plain.translate(_BYTE_KINDS).split(b"s--w")
    if len(between) > 1:
        parts: list[bytes] = []
        start = end = 0
        for kinds in between[:-1]:
            end += len(kinds) + 3
            parts.append(plain[start:end])
            start, end = end, end + 1
        plain = b" ".join([*parts, plain[start:]])
    for first, spaced in _SPACED_FIRST_BYTES:
        plain = plain.replace(first, spaced)
    return plain


def _space_by_character(text: str) -> bytes:
    parts = iter(_CJK.split(text))
    spaced = [next(parts)]
    for characters in parts:
        spaced += characters
        spaced.append(next(parts))
    return " ".join(spaced).encode()


def content_texts(content: list[JsonObject]) -> tuple[str, str, str]:
    """Return the words of some blocks: text, thinking, and the input and output of tools."""
    text: list[str] = []
    thinking: list[str] = []
    tool: list[str] = []
    for block in content:
        kind = block["type"]
        if kind == "text":
            text.append(block["text"])
            if block.get("citations"):
                _add_strings(block["citations"], text)
        elif kind == "tool_use":
            tool.append(block["name"])
            _add_strings(block["input"], tool)
        elif kind == "tool_result":
            _add_result(block["content"], tool)
        elif kind == "thinking":
            thinking.append(block["thinking"])
        else:
            _add_other(kind, block, text)
    return "\n".join(text), "\n".join(thinking), "\n".join(tool)


def _add_result(content: Any, texts: list[str]) -> None:
    if isinstance(content, str):
        texts.append(content)
        return
    for block in content:
        if block.get("type") == "text":
            texts.append(block["text"])
        else:
            _add_strings({key: value for key, value in block.items() if key != "type"}, texts)


def _add_other(kind: str, block: JsonObject, texts: list[str]) -> None:
    match kind:
        case "code":
            texts += [word for key in ("code", "file_path") if (word := block.get(key))]
        case "image":
            texts += [word for word in (block.get("alt_text"), _address(block)) if word]
        case "file":
            texts += [word for word in (block.get("name"), block.get("text"), _address(block)) if word]
        case "opaque":
            _add_strings(block["raw"], texts)
        case _:
            _add_strings({key: value for key, value in block.items() if key != "type"}, texts)


def _address(block: JsonObject) -> str | None:
    """Return the address of an image or file, or None if its data is inline."""
    match block.get("source"):
        case {"type": "url" | "file", "data": str(address)} if len(address) < _MAX_WORD_CHARACTERS:
            return address
        case _:
            return None


def _add_strings(value: Any, texts: list[str]) -> None:
    """Add every string inside a value, at any depth, in the order in which a body stores its keys."""
    stack: list[Any] = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if value and (len(value) <= _MAX_WORD_CHARACTERS or " " in value or "\n" in value):
                texts.append(value)
        elif isinstance(value, dict):
            stack.extend([value[key] for key in sorted(value, reverse=True)])
        elif isinstance(value, list):
            stack.extend(reversed(value))
