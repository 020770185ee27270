"""The head of a JSON document as a value, by whose shape importers recognise their files."""

import json
import re
from typing import Any

from palaver.sources.damage import BOM, SPACE
from palaver.sources.parse import NOT_JSON, parse

_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[\[\]{},]', re.DOTALL)
_CLOSING = {b"{": b"}", b"[": b"]"}


def parse_head(head: bytes) -> Any:
    """Parse the first JSON value, as far as it goes if it is truncated; None if the head is not JSON."""
    raw = close_truncated(head)
    if not raw:
        return None
    try:
        return parse(raw)
    except NOT_JSON:
        pass
    try:
        return json.loads(raw.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def close_truncated(raw: bytes) -> bytes:
    """Return the first object or array without its truncated part and with closed brackets; empty if there is none."""
    raw = raw.lstrip(BOM + SPACE + b"\0")
    if not raw.startswith((b"{", b"[")):
        return b""
    stack: list[bytes] = []
    end = 0
    for token in _TOKENS.finditer(raw):
        symbol = token[0]
        if symbol in _CLOSING:
            stack.append(_CLOSING[symbol])
            end = token.end()
        elif symbol == b",":
            end = token.start()
        elif symbol in {b"}", b"]"}:
            if stack.pop() != symbol:
                return b""
            end = token.end()
            if not stack:
                break
        elif not token[1]:
            break
    return raw[:end] + b"".join(reversed(stack))
