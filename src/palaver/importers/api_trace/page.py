"""The page that claude-trace writes beside a log: the same pairs, in base64 in a script."""

import binascii
import re
from typing import BinaryIO

PATH = ("rawPairs",)
_OPENING = re.compile(rb"window\.claudeData\s*=\s*JSON\.parse\([^'\"]*atob\(\s*['\"]")
_CLOSING = re.compile(rb"['\"]")
_MARK = b"window.claudeData"
_KEPT = 256
_OTHERS = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
"""What is no digit of base64: line ends, padding, damage."""


def is_page(head: bytes) -> bool:
    return _MARK in head and bool(_OPENING.search(head))


class PageData:
    """A stream of the JSON in a page; empty where there is none."""

    def __init__(self, page: BinaryIO) -> None:
        self._page = page
        self._encoded = b""
        self._has_begun = False
        self._has_ended = False

    def read(self, size: int = -1) -> bytes:
        """About as many bytes as asked for; none at the end."""
        if not self._has_begun:
            self._find()
        while not self._has_ended:
            more = self._page.read(max(size, 1024))
            self._encoded += self._up_to_its_end(more)
            whole = len(self._encoded) & ~3
            encoded, self._encoded = self._encoded[:whole], self._encoded[whole:]
            if data := _decoded(encoded):
                return data
        rest, self._encoded = self._encoded, b""
        return _decoded(rest)

    def _find(self) -> None:
        self._has_begun = True
        held = b""
        while chunk := self._page.read(1 << 16):
            held += chunk
            if found := _OPENING.search(held):
                self._encoded = self._up_to_its_end(held[found.end() :])
                return
            held = held[-_KEPT:]
        self._has_ended = True

    def _up_to_its_end(self, encoded: bytes) -> bytes:
        found = _CLOSING.search(encoded)
        if found or not encoded:
            self._has_ended = True
        return (encoded[: found.start()] if found else encoded).translate(None, _OTHERS)


def _decoded(encoded: bytes) -> bytes:
    # A single character at the end stands for less than a byte.
    whole = encoded[:-1] if len(encoded) % 4 == 1 else encoded
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))
