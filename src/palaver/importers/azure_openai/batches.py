"""Batches of an Event Hub, one behind the other or one a line, seen as one: the end of each and the start of the next.

`]}{"records":[` stands nowhere else: within a text, its quotes would be escaped, and within an object a comma would
come first. In its place goes a comma, and blanks, so that every byte stays where it was.
"""

import re
from typing import BinaryIO

_BETWEEN = re.compile(rb'(\[\s*)?\]\s*\}\s*\{\s*"records"\s*:\s*\[(?=\s*(\])?)')
_LONGEST_BYTES = 256
"""Of what stands between two batches, blanks included."""


class JoinedBatches:
    """A stream of batches as the stream of one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        """Some bytes, not always as many; none at the end."""
        while True:
            chunk = self._stream.read(size)
            self._held = _BETWEEN.sub(_blanked, self._held + chunk)
            # What may be the beginning of a boundary waits for the rest of it.
            given = self._held if not chunk else self._held[:-_LONGEST_BYTES]
            self._held = self._held[len(given) :]
            if given or not chunk:
                return given


def _blanked(found: re.Match[bytes]) -> bytes:
    size = len(found[0])
    if found[1]:
        return b"[".ljust(size)
    return (b" " if found[2] else b",").ljust(size)
