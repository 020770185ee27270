"""The beginning of a JSON text, closed where it breaks off: all that is certain of a tool's input that never ended.

A string that is cut keeps what there is of it. A key without its value, and a number or a word that could have gone on,
are left out.
"""

import re
from typing import Any

import msgspec

_TOKEN = re.compile(r'[\[\]{},:]|"[^"\\]*(?:\\.[^"\\]*)*("?)|[^\s\[\]{},:"]+', re.DOTALL)
_SOUND_STRING = re.compile(
    r"""" (?: [^"\\]+ | \\["\\/bfnrt]
            | \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
            | \\u(?![dD][89a-fA-F])[0-9a-fA-F]{4} )*+""",
    re.VERBOSE,
)
_WHOLE_WORDS = {"true", "false", "null"}
_CLOSER = {"{": "}", "[": "]"}


def closed(text: str) -> Any:
    """The value as far as it goes.

    Raises:
        ValueError: This is not the beginning of JSON, or not even a first value.
    """
    open_brackets: list[str] = []
    # As much of the text as brackets alone can close: only they change what is open.
    kept, is_value_next = "", True
    end = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in _CLOSER:
            open_brackets.append(mark)
            end, is_value_next = token.end(), mark == "["
        elif mark in {"}", "]"}:
            if not open_brackets:
                raise ValueError(f"there is nothing that {mark} could close")
            open_brackets.pop()
            end = token.end()
        elif mark == ":":
            is_value_next = True
        elif mark == ",":
            is_value_next = open_brackets[-1:] == ["["]
        elif is_value_next:
            is_value_next = False
            if token[1] == "":
                sound = _SOUND_STRING.match(text, token.start())
                kept = text[: sound.end() if sound else end] + '"'
                break
            if mark.startswith('"') or token.end() < len(text) or mark in _WHOLE_WORDS:
                end = token.end()
    closing = "".join(_CLOSER[bracket] for bracket in reversed(open_brackets))
    return msgspec.json.decode((kept or text[:end]) + closing)
