"""The HTML page that claude-trace writes beside a log, with the same pairs as base64 in a script."""

import binascii
import re
from typing import BinaryIO

PAIRS_PATH = ("rawPairs",)
_OPENING = re.compile(rb"window\.claudeData\s*=\s*JSON\.parse\([^'\"]*atob\(\s*['\"]")
_CLOSING = re.compile(rb"['\"]")
_DATA_NAME = b"window.claudeData"
_OVERLAP_BYTES = 256
_NOT_BASE64 = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
"""Bytes that are no base64 digits: line ends, padding, damage."""


def is_page(head: bytes) -> bool:
    return _DATA_NAME in head and bool(_OPENING.search(head))


class PageData:
    """A stream of the JSON in a page; empty if the page has none."""

    def __init__(self, page: BinaryIO) -> None:
        self._page = page
        self._encoded = b""
        self._has_begun = False
        self._has_ended = False

    def read(self, size: int = -1) -> bytes:
        """Return roughly as many bytes as asked for, or b"" at the end."""
        if not self._has_begun:
            self._seek_data()
        while not self._has_ended:
            more = self._page.read(max(size, 1024))
            self._encoded += self._until_closing_quote(more)
            whole = len(self._encoded) & ~3
            encoded, self._encoded = self._encoded[:whole], self._encoded[whole:]
            if data := _decoded(encoded):
                return data
        rest, self._encoded = self._encoded, b""
        return _decoded(rest)

    def _seek_data(self) -> None:
        self._has_begun = True
        held = b""
        while chunk := self._page.read(1 << 16):
            held += chunk
            if found := _OPENING.search(held):
                self._encoded = self._until_closing_quote(held[found.end() :])
                return
            held = held[-_OVERLAP_BYTES:]
        self._has_ended = True

    def _until_closing_quote(self, encoded: bytes) -> bytes:
        found = _CLOSING.search(encoded)
        if found or not encoded:
            self._has_ended = True
        return (encoded[: found.start()] if found else encoded).translate(None, _NOT_BASE64)


def _decoded(encoded: bytes) -> bytes:
    # A single character at the end encodes less than a byte.
    whole = encoded[:-1] if len(encoded) % 4 == 1 else encoded
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))
