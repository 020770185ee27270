"""The beginning of a JSON document as a value, for whoever wants to tell by its shape whose file it is."""

import json
import re
from typing import Any

from palaver.sources.damage import BOM, SPACE
from palaver.sources.parse import NOT_JSON, parse

_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[\[\]{},]', re.DOTALL)
_CLOSING = {b"{": b"}", b"[": b"]"}


def glimpse(head: bytes) -> Any:
    """The first JSON value; of one that is cut off, what stands before the cut. None where there is no JSON."""
    raw = closed(head)
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


def closed(raw: bytes) -> bytes:
    """The first object or array, closed before the part of it that is cut off; empty where none begins."""
    raw = raw.lstrip(BOM + SPACE + b"\0")
    if not raw.startswith((b"{", b"[")):
        return b""
    stack: list[bytes] = []
    whole = 0
    for token in _TOKENS.finditer(raw):
        mark = token[0]
        if mark in _CLOSING:
            stack.append(_CLOSING[mark])
            whole = token.end()
        elif mark == b",":
            whole = token.start()
        elif mark in {b"}", b"]"}:
            if stack.pop() != mark:
                return b""
            whole = token.end()
            if not stack:
                break
        elif not token[1]:
            break
    return raw[:whole] + b"".join(reversed(stack))
