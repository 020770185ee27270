"""Members of a ZIP whose directory is missing or damaged, found by the headers that stand before each of them.

A download that broke off has no directory: it would stand at the end. The file is gone through once, in pieces. Where a
header tells no size (the archive was written into a pipe), or a wrong one, a deflated member is inflated to find its
end; any other ends at the descriptor behind it that fits. Of a ZIP that is stored in a damaged member, the members may
be found as well.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from palaver.sources.allowance import Allowance, Limits
from palaver.sources.inflate import DEFLATED, Member

LOCAL_HEADER = struct.Struct("<4s5H3L2H")
LOCAL_MAGIC = b"PK\x03\x04"
MOST_MEMBERS = 1 << 20

_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_DESCRIPTOR_BYTES = 24
_MARK = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02)")
_DIRECTORY_MAGIC = b"PK\x01\x02"
_FOLLOWERS = (LOCAL_MAGIC, _DESCRIPTOR_MAGIC, _DIRECTORY_MAGIC, b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x08")
_KNOWN_METHODS = {*range(20), 93, 94, 95, 96, 97, 98, 99}
_NEWEST_VERSION = 63
_LONGEST_NAME = 1 << 12
_ENCRYPTED, _STREAMED, _UTF8 = 0x1, 0x8, 0x800
_IN_EXTRA = 0xFFFFFFFF
_ZIP64 = 1
_WINDOW_BYTES = 1 << 20
_STEP_BYTES = 1 << 16


def salvaged(path: Path, limits: Limits) -> Iterator[Member]:
    """Yield members in the order of the file, at most a million of them."""
    with path.open("rb") as file:
        window = _Window(file)
        ends = _Ends(file, window.size, limits)
        for number, member in enumerate(_members(window, ends)):
            if number == MOST_MEMBERS:
                return
            yield member


def _members(window: "_Window", ends: "_Ends") -> Iterator[Member]:
    at = 0
    # A member that is not inflated here, and whose end is yet to come: with the place where its bytes start.
    pending: tuple[Member, int] | None = None
    while (at := window.find(at)) >= 0:
        found = _header(window, at)
        if pending and (ended := _described(window, at, *pending)):
            yield ended
            pending = None
        elif pending and (found or window.at(at, 4) == _DIRECTORY_MAGIC):
            yield _up_to(at, *pending)
            pending = None
        if found is None:
            at += 4
            continue
        member, start = found
        end = start + member.packed_bytes
        if member.has_end and (end == window.size or window.at(end, 4) in _FOLLOWERS):
            yield _described(window, end, member, start) or member
            at = end
        elif member.method == DEFLATED and not member.flags & _ENCRYPTED:
            end, at = ends.of(start)
            yield _described(window, end, member, start) or _up_to(end, member, start)
        elif member.flags & _STREAMED:
            pending, at = found, start
        else:
            yield member
            at = window.size if end > window.size else start
    if pending:
        yield _up_to(_without_descriptor(window, pending[1]), *pending)


def _header(window: "_Window", at: int) -> tuple[Member, int] | None:
    """The member whose local header stands here, and where its bytes start; nothing if it cannot be a header."""
    raw = window.at(at, LOCAL_HEADER.size)
    if len(raw) < LOCAL_HEADER.size or not raw.startswith(LOCAL_MAGIC):
        return None
    _, version, flags, method, _, _, crc, packed, size, name_bytes, extra_bytes = LOCAL_HEADER.unpack(raw)
    if version & 0xFF > _NEWEST_VERSION or method not in _KNOWN_METHODS or not 0 < name_bytes <= _LONGEST_NAME:
        return None
    names = window.at(at + LOCAL_HEADER.size, name_bytes + extra_bytes)
    if len(names) < name_bytes + extra_bytes:
        return None
    if _IN_EXTRA in {packed, size}:
        size, packed = _large_sizes(names[name_bytes:], size, packed)
    name = names[:name_bytes].decode("utf-8" if flags & _UTF8 else "cp437", "replace")
    has_end = not flags & _STREAMED or packed > 0
    return Member(name, at, method, flags, packed, size, crc, has_end=has_end), at + LOCAL_HEADER.size + len(names)


def _large_sizes(extra: bytes, size: int, packed: int) -> tuple[int, int]:
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == _ZIP64 and length >= 16 and at + 20 <= len(extra):
            return struct.unpack_from("<QQ", extra, at + 4)
        at += 4 + length
    return size, 0 if packed == _IN_EXTRA else packed


def _described(window: "_Window", at: int, member: Member, start: int) -> Member | None:
    """The member with what the descriptor at this place says, if it fits."""
    raw = window.at(at, 24).ljust(24, b"\0")
    crc, packed, size = struct.unpack_from("<LLL", raw, 4)
    if packed != at - start:
        crc, packed, size = struct.unpack_from("<LQQ", raw, 4)
    if not raw.startswith(_DESCRIPTOR_MAGIC) or packed != at - start:
        return None
    return replace(member, packed_bytes=packed, size_bytes=size, crc=crc, has_end=True)


def _up_to(end: int, member: Member, start: int) -> Member:
    crc = None if member.flags & _STREAMED else member.crc
    return replace(member, packed_bytes=end - start, crc=crc, has_end=False)


def _without_descriptor(window: "_Window", start: int) -> int:
    """The end of the file, or where a descriptor that was cut off begins."""
    tail_start = max(start, window.size - _DESCRIPTOR_BYTES)
    tail = window.at(tail_start, window.size - tail_start)
    begun = (len(tail) - count for count in (3, 2, 1) if tail.endswith(_DESCRIPTOR_MAGIC[:count]))
    whole = tail.rfind(_DESCRIPTOR_MAGIC)
    return tail_start + (whole if whole >= 0 else next(begun, len(tail)))


class _Ends:
    """Finds where deflated bytes end; its work is limited, as forged headers may have the same bytes inflated often."""

    def __init__(self, file: BinaryIO, size: int, limits: Limits) -> None:
        self._file = file
        self._size = size
        self._work_left = 2 * size + _WINDOW_BYTES
        self._allowance = Allowance(limits, size)

    def of(self, start: int) -> tuple[int, int]:
        """Where the bytes that start here end, and where the next header may stand: in them, if they are damaged."""
        # ISA-L would be faster, but it may hold bytes back that belong to what follows.
        inflater = zlib.decompressobj(-15)
        inflated = taken = 0
        self._file.seek(start)
        while not inflater.eof:
            piece = inflater.unconsumed_tail
            if not piece:
                piece = self._file.read(_STEP_BYTES)
                taken += len(piece)
                self._work_left -= len(piece)
            try:
                plain = inflater.decompress(piece, _WINDOW_BYTES)
            except zlib.error:
                return self._size, start
            if not piece and not plain:
                return self._size, self._size
            inflated += len(plain)
            if self._work_left < 0 or self._allowance.refusal(str(start), inflated, taken):
                return self._size, start
        end = start + taken - len(inflater.unused_data)
        return end, end


class _Window:
    """The part of a file that is being looked at."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = file.seek(0, 2)
        self._start = 0
        self._held = b""

    def at(self, offset: int, size: int) -> bytes:
        place = offset - self._start
        if 0 <= place <= len(self._held) - size:
            return self._held[place : place + size]
        if offset >= self.size:
            return b""  # as large a number as it may be
        self._file.seek(offset)
        return self._file.read(size)

    def find(self, offset: int) -> int:
        """The next mark at or behind an offset, or -1."""
        if _MARK.match(self.at(offset, 4)):
            return offset
        while offset <= self.size - 4:
            if not 0 <= offset - self._start <= len(self._held) - 4:
                self._file.seek(offset)
                self._start, self._held = offset, self._file.read(_WINDOW_BYTES)
            if mark := _MARK.search(self._held, offset - self._start):
                return self._start + mark.start()
            if len(self._held) < 4:
                break  # the file has become shorter
            offset = self._start + len(self._held) - 3
        return -1
