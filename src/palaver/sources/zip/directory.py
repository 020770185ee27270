"""The members of a ZIP, from its directory or, if that is missing or damaged, from the headers before each member.

An interrupted download has no directory, which is at the end of the file. To salvage its members, the file is read
once, in pieces. If a header states no size (the archive was written to a pipe) or a wrong one, a deflated member is
inflated to find its end; any other member ends at the matching descriptor after it. Salvaging may also find the
members of a ZIP that is stored in a damaged member.
"""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from palaver.errors import SourceError
from palaver.sources.zip.inflate import DEFLATED, Member
from palaver.sources.zip.limits import Allowance, Limits

LOCAL_HEADER = struct.Struct("<4s5H3L2H")
LOCAL_MAGIC = b"PK\x03\x04"
MAX_MEMBERS = 1 << 20

_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_DESCRIPTOR_BYTES = 24
_SIGNATURE = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02)")
_DIRECTORY_MAGIC = b"PK\x01\x02"
_AFTER_MEMBER_MAGICS = (LOCAL_MAGIC, _DESCRIPTOR_MAGIC, _DIRECTORY_MAGIC, b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x08")
_KNOWN_METHODS = {*range(20), 93, 94, 95, 96, 97, 98, 99}
_NEWEST_VERSION = 63
_MAX_NAME_BYTES = 1 << 12
_ENCRYPTED, _HAS_DESCRIPTOR, _UTF8 = 0x1, 0x8, 0x800
_SIZE_IN_EXTRA = 0xFFFFFFFF
_ZIP64 = 1
_WINDOW_BYTES = 1 << 20
_STEP_BYTES = 1 << 16
# zipfile trusts what it reads: damaged headers make it raise any of these.
_NOT_A_ZIP = (OSError, zipfile.BadZipFile, RuntimeError, KeyError, ValueError, EOFError, struct.error, OverflowError)
_WITHOUT_END = {"File is not a zip file": "its directory, at the end, is missing"}
_END_RECORD = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_SPLIT_MAGIC = b"PK\x07\x08"
_IN_ZIP64 = 0xFFFF
_MAX_OFFSET = 1 << 62


@dataclass(frozen=True, slots=True)
class Directory:
    members: list[Member]
    archive_bytes: int
    problem: str = ""
    """Why the members were salvaged; empty if they were not."""


def read_directory(path: Path, label: str, limits: Limits) -> Directory:
    try:
        with path.open("rb") as file:
            archive_bytes = file.seek(0, 2)
            try:
                return Directory(_listed_members(file), archive_bytes)
            except _NOT_A_ZIP as error:
                split_problem = _split_problem(file)
                problem = split_problem or _WITHOUT_END.get(str(error)) or " ".join(str(error).split())
        members = list(salvage_members(path, limits))
    except OSError as error:
        raise SourceError(f"cannot open {label} as a ZIP: {error.strerror or error}") from error
    if not members:
        advice = "" if split_problem else ", and no file could be found in it: download it again"
        raise SourceError(f"cannot open {label} as a ZIP: {problem}{advice}")
    count = f"the first {MAX_MEMBERS:,}" if len(members) == MAX_MEMBERS else f"{len(members):,}"
    members_found = (
        "1 member was found by its own header" if count == "1" else f"{count} members were found by their own headers"
    )
    return Directory(members, archive_bytes, f"{problem}; {members_found}")


def data_start(file: BinaryIO, member: Member) -> int | None:
    """Return the offset of a member's packed bytes; None if its header is not where it should be."""
    if not 0 <= member.offset < _MAX_OFFSET:
        return None
    file.seek(member.offset)
    raw = file.read(LOCAL_HEADER.size)
    if len(raw) < LOCAL_HEADER.size or not raw.startswith(LOCAL_MAGIC):
        return None
    *_, name_bytes, extra_bytes = LOCAL_HEADER.unpack(raw)
    return member.offset + LOCAL_HEADER.size + name_bytes + extra_bytes


def _listed_members(file: BinaryIO) -> list[Member]:
    with zipfile.ZipFile(file) as archive:
        members = [
            Member(
                info.orig_filename,  # `filename` ends at a NUL, and has other slashes on Windows
                info.header_offset,
                info.compress_type,
                info.flag_bits,
                info.compress_size,
                info.file_size,
                info.CRC,
                stat.S_ISLNK(info.external_attr >> 16),
            )
            for info in archive.infolist()
        ]
    # Bytes lost or inserted before the directory shift the offset of the first or of the last member.
    by_offset = sorted(members, key=lambda member: member.offset)
    if not (by_offset and by_offset[0].offset == 0) and _starts_with(file, LOCAL_MAGIC):
        # A truncated archive may end with a complete one stored in it, whose directory zipfile then uses.
        raise zipfile.BadZipFile("its directory leaves out its first member")
    if any(data_start(file, member) is None for member in (*by_offset[:1], *by_offset[-1:])):
        raise zipfile.BadZipFile("its directory does not fit its members")
    return members


def _split_problem(file: BinaryIO) -> str:
    size = file.seek(0, 2)
    is_part = _starts_with(file, _SPLIT_MAGIC)
    if size >= _END_RECORD.size:
        file.seek(-_END_RECORD.size, 2)
        magic, disk, *_ = _END_RECORD.unpack(file.read(_END_RECORD.size))
        is_part = is_part or (magic == _END_MAGIC and disk not in {0, _IN_ZIP64})
    return "it is one part of a split archive (join the parts first)" if is_part else ""


def _starts_with(file: BinaryIO, magic: bytes) -> bool:
    file.seek(0)
    return file.read(len(magic)) == magic


def salvage_members(path: Path, limits: Limits) -> Iterator[Member]:
    """Yield the members found by their own headers, in file order, at most a million."""
    with path.open("rb") as file:
        window = _Window(file)
        ends = _DeflateEnds(file, window.size, limits)
        for number, member in enumerate(_found_members(window, ends)):
            if number == MAX_MEMBERS:
                return
            yield member


def _found_members(window: "_Window", ends: "_DeflateEnds") -> Iterator[Member]:
    position = 0
    # A member that is not inflated here and whose end was not found yet, with the offset of its bytes.
    pending: tuple[Member, int] | None = None
    while (position := window.find(position)) >= 0:
        found = _local_header(window, position)
        if pending and (ended := _with_descriptor(window, position, *pending)):
            yield ended
            pending = None
        elif pending and (found or window.read(position, 4) == _DIRECTORY_MAGIC):
            yield _ending_at(position, *pending)
            pending = None
        if found is None:
            position += 4
            continue
        member, start = found
        end = start + member.packed_bytes
        if member.has_end and (end == window.size or window.read(end, 4) in _AFTER_MEMBER_MAGICS):
            yield _with_descriptor(window, end, member, start) or member
            position = end
        elif member.method == DEFLATED and not member.flags & _ENCRYPTED:
            end, position = ends.find(start)
            yield _with_descriptor(window, end, member, start) or _ending_at(end, member, start)
        elif member.flags & _HAS_DESCRIPTOR:
            pending, position = found, start
        else:
            yield member
            position = window.size if end > window.size else start
    if pending:
        yield _ending_at(_without_descriptor(window, pending[1]), *pending)


def _local_header(window: "_Window", position: int) -> tuple[Member, int] | None:
    """Return the member whose local header is here and the offset of its bytes; None if it cannot be a header."""
    raw = window.read(position, LOCAL_HEADER.size)
    if len(raw) < LOCAL_HEADER.size or not raw.startswith(LOCAL_MAGIC):
        return None
    _, version, flags, method, _, _, crc, packed, size, name_bytes, extra_bytes = LOCAL_HEADER.unpack(raw)
    if version & 0xFF > _NEWEST_VERSION or method not in _KNOWN_METHODS or not 0 < name_bytes <= _MAX_NAME_BYTES:
        return None
    names = window.read(position + LOCAL_HEADER.size, name_bytes + extra_bytes)
    if len(names) < name_bytes + extra_bytes:
        return None
    if _SIZE_IN_EXTRA in {packed, size}:
        size, packed = _zip64_sizes(names[name_bytes:], size, packed)
    name = names[:name_bytes].decode("utf-8" if flags & _UTF8 else "cp437", "replace")
    has_end = not flags & _HAS_DESCRIPTOR or packed > 0
    return Member(
        name, position, method, flags, packed, size, crc, has_end=has_end
    ), position + LOCAL_HEADER.size + len(names)


def _zip64_sizes(extra: bytes, size: int, packed: int) -> tuple[int, int]:
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        if kind == _ZIP64 and length >= 16 and position + 20 <= len(extra):
            return struct.unpack_from("<QQ", extra, position + 4)
        position += 4 + length
    return size, 0 if packed == _SIZE_IN_EXTRA else packed


def _with_descriptor(window: "_Window", position: int, member: Member, start: int) -> Member | None:
    """Return the member completed by the descriptor at this offset; None if there is none that matches."""
    raw = window.read(position, 24).ljust(24, b"\0")
    crc, packed, size = struct.unpack_from("<LLL", raw, 4)
    if packed != position - start:
        crc, packed, size = struct.unpack_from("<LQQ", raw, 4)
    if not raw.startswith(_DESCRIPTOR_MAGIC) or packed != position - start:
        return None
    return replace(member, packed_bytes=packed, size_bytes=size, crc=crc, has_end=True)


def _ending_at(end: int, member: Member, start: int) -> Member:
    crc = None if member.flags & _HAS_DESCRIPTOR else member.crc
    return replace(member, packed_bytes=end - start, crc=crc, has_end=False)


def _without_descriptor(window: "_Window", start: int) -> int:
    """Return the end of the file, or where a truncated descriptor at its end begins."""
    tail_start = max(start, window.size - _DESCRIPTOR_BYTES)
    tail = window.read(tail_start, window.size - tail_start)
    partial = (len(tail) - count for count in (3, 2, 1) if tail.endswith(_DESCRIPTOR_MAGIC[:count]))
    complete = tail.rfind(_DESCRIPTOR_MAGIC)
    return tail_start + (complete if complete >= 0 else next(partial, len(tail)))


class _DeflateEnds:
    """The search for the end of deflated bytes, with limited work: forged headers may refer to the same bytes often."""

    def __init__(self, file: BinaryIO, size: int, limits: Limits) -> None:
        self._file = file
        self._size = size
        self._work_left = 2 * size + _WINDOW_BYTES
        self._allowance = Allowance(limits, size)

    def find(self, start: int) -> tuple[int, int]:
        """Return the end of the bytes that start here, and where to search for the next header.

        If the bytes are damaged, the next header may be among them.
        """
        # ISA-L would be faster, but it may hold back bytes that belong to what follows.
        inflater = zlib.decompressobj(-15)
        inflated = bytes_read = 0
        self._file.seek(start)
        while not inflater.eof:
            piece = inflater.unconsumed_tail
            if not piece:
                piece = self._file.read(_STEP_BYTES)
                bytes_read += len(piece)
                self._work_left -= len(piece)
            try:
                plain = inflater.decompress(piece, _WINDOW_BYTES)
            except zlib.error:
                return self._size, start
            if not piece and not plain:
                return self._size, self._size
            inflated += len(plain)
            if self._work_left < 0 or self._allowance.refusal(str(start), inflated, bytes_read):
                return self._size, start
        end = start + bytes_read - len(inflater.unused_data)
        return end, end


class _Window:
    """A buffered part of the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = file.seek(0, 2)
        self._start = 0
        self._buffer = b""

    def read(self, offset: int, size: int) -> bytes:
        position = offset - self._start
        if 0 <= position <= len(self._buffer) - size:
            return self._buffer[position : position + size]
        if offset >= self.size:
            return b""  # `seek` rejects very large offsets
        self._file.seek(offset)
        return self._file.read(size)

    def find(self, offset: int) -> int:
        """Return the offset of the next signature from an offset on, or -1."""
        if _SIGNATURE.match(self.read(offset, 4)):
            return offset
        while offset <= self.size - 4:
            if not 0 <= offset - self._start <= len(self._buffer) - 4:
                self._file.seek(offset)
                self._start, self._buffer = offset, self._file.read(_WINDOW_BYTES)
            if signature := _SIGNATURE.search(self._buffer, offset - self._start):
                return self._start + signature.start()
            if len(self._buffer) < 4:
                break  # the file became shorter
            offset = self._start + len(self._buffer) - 3
        return -1
