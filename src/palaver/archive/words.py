"""What of a message is searched: its words, apart by what they are."""

import re
from typing import Any

Json = dict[str, Any]

_LONGEST_WORD = 512
"""A longer run without any space is no word but data: a picture, a signature, a hash."""
_SIGN = (
    "[\u3005-\u3007\u3041-\u3096\u309d-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]"
)
_UNSPACED = re.compile(f"({_SIGN}{_SIGN}*)")
"""Chinese and Japanese: writing without spaces between its words.

A sign and any others behind it: as one or more of them, the expression would be tried at every letter of a text."""


def searchable(content: list[Json]) -> tuple[str, str, str]:
    """The words of some blocks as the index takes them in.

    To forget a body, the index is told its words again: whoever changes this makes the index anew in a migration.
    """
    said, thought, tools = worded(content)
    return spaced(said), spaced(thought), spaced(tools)


def encoded(content: list[Json]) -> tuple[bytes, bytes, bytes]:
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
    if len(plain) == len(text) or not _may_be_unspaced(plain):
        return plain
    parts = iter(_UNSPACED.split(text))
    spaced = [next(parts)]
    for signs in parts:
        spaced += signs
        spaced.append(next(parts))
    return " ".join(spaced).encode()


def _may_be_unspaced(text: bytes) -> bool:
    """Whether a text holds bytes that such signs begin with: ten times as quick as to look for the signs."""
    marked = text.translate(_FIRST_BYTES)
    return b"\1" in marked or (b"\2" in marked and any(first in text for first in _FIRST_PAIRS))


_FIRST_BYTES = bytes(1 if 0xE3 <= byte <= 0xE9 or byte == 0xEF else 2 if byte == 0xF0 else 0 for byte in range(256))
_FIRST_PAIRS = [bytes((0xF0, second)) for second in range(0xA0, 0xB3)]


def worded(content: list[Json]) -> tuple[str, str, str]:
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
    if content.__class__ is str:
        tools.append(content)
        return
    for block in content:
        if block.get("type") == "text":
            tools.append(block["text"])
        else:
            _add_strings({key: value for key, value in block.items() if key != "type"}, tools)


def _add_other(kind: str, block: Json, said: list[str]) -> None:
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


def _address(block: Json) -> str | None:
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
        if value.__class__ is str:
            if value and (len(value) <= _LONGEST_WORD or " " in value or "\n" in value):
                words.append(value)
        elif value.__class__ is dict:
            stack.extend([value[key] for key in sorted(value, reverse=True)])
        elif value.__class__ is list:
            stack.extend(reversed(value))
