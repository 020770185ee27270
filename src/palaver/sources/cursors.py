"""Telling whether a file changed, and where to continue in one that grew."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

TAIL_BYTES = 24 << 10
HEAD_BYTES = 4 << 10
"""What is read twice of a file that grew, once to check the old cursor and once to make the new one: 56 KB in all."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file that has the same fingerprint is not opened again."""

    size_bytes: int
    modified_ns: int

    @classmethod
    def of(cls, path: Path) -> "Fingerprint":
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where reading of one file ended; `state` is the importer's own and opaque to everybody else."""

    offset: int
    tail_hash: str
    state: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_valid_for(self, stream: BinaryIO) -> bool:
        """Whether the file still holds, before the offset, what it held when the cursor was made."""
        return bool(self.tail_hash) and tail_hash(stream, self.offset) == self.tail_hash


def tail_hash(stream: BinaryIO, offset: int) -> str:
    """Hash of the head and of the last 24 KB before the offset; empty when the file is shorter than that."""
    if stream.seek(0, os.SEEK_END) < offset:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    stream.seek(0)
    digest.update(stream.read(min(HEAD_BYTES, offset)))
    start = max(0, offset - TAIL_BYTES)
    stream.seek(start)
    digest.update(stream.read(offset - start))
    return digest.hexdigest()
