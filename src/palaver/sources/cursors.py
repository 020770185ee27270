"""Whether a file changed, and where to continue in a file that grew."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

TAIL_BYTES = 24 << 10
HEAD_BYTES = 4 << 10
"""A file that grew is read at both ends twice, to check the old cursor and to make the new one: 56 KB in total."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Size and modification time: a file whose fingerprint is unchanged need not be opened again."""

    size_bytes: int
    modified_ns: int

    @classmethod
    def of(cls, path: Path) -> "Fingerprint":
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where reading of one file ended; only the importer understands `state`."""

    offset: int
    tail_hash: str
    state: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_valid_for(self, stream: BinaryIO) -> bool:
        """Return whether the file is unchanged before the offset."""
        return bool(self.tail_hash) and tail_hash(stream, self.offset) == self.tail_hash


def tail_hash(stream: BinaryIO, offset: int) -> str:
    """Hash the head and the last 24 KB before the offset; return "" if the file is shorter than the offset."""
    if stream.seek(0, os.SEEK_END) < offset:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    stream.seek(0)
    digest.update(stream.read(min(HEAD_BYTES, offset)))
    start = max(0, offset - TAIL_BYTES)
    stream.seek(start)
    digest.update(stream.read(offset - start))
    return digest.hexdigest()
