"""What a ZIP holds: its members by its directory, or by their own headers where the directory is missing or damaged."""

import stat
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from palaver.errors import SourceError
from palaver.sources.allowance import Limits
from palaver.sources.inflate import Member
from palaver.sources.salvage import LOCAL_HEADER, LOCAL_MAGIC, MOST_MEMBERS, salvaged

# zipfile trusts what it reads: damaged headers break it in all these ways.
_NOT_A_ZIP = (OSError, zipfile.BadZipFile, RuntimeError, KeyError, ValueError, EOFError, struct.error, OverflowError)
_END_RECORD = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_SPLIT_MAGIC = b"PK\x07\x08"
_IN_ZIP64 = 0xFFFF
_FARTHEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Directory:
    members: list[Member]
    archive_bytes: int
    trouble: str = ""
    """Why the members were found by their headers, if they were."""


def read_directory(path: Path, label: str, limits: Limits) -> Directory:
    try:
        with path.open("rb") as file:
            archive_bytes = file.seek(0, 2)
            try:
                return Directory(_listed(file), archive_bytes)
            except _NOT_A_ZIP as error:
                trouble = _split(file) or " ".join(str(error).split())
        members = list(salvaged(path, limits))
    except OSError as error:
        raise SourceError(f"cannot open {label} as a ZIP: {error.strerror or error}") from error
    if not members:
        raise SourceError(f"cannot open {label} as a ZIP: {trouble}")
    count = f"the first {MOST_MEMBERS}" if len(members) == MOST_MEMBERS else str(len(members))
    return Directory(members, archive_bytes, f"{trouble}; {count} found by their own headers")


def start_of(file: BinaryIO, member: Member) -> int | None:
    """Where the packed bytes of a member start; nothing if its header is not where it should be."""
    if not 0 <= member.offset < _FARTHEST:
        return None
    file.seek(member.offset)
    raw = file.read(LOCAL_HEADER.size)
    if len(raw) < LOCAL_HEADER.size or not raw.startswith(LOCAL_MAGIC):
        return None
    *_, name_bytes, extra_bytes = LOCAL_HEADER.unpack(raw)
    return member.offset + LOCAL_HEADER.size + name_bytes + extra_bytes


def _listed(file: BinaryIO) -> list[Member]:
    with zipfile.ZipFile(file) as archive:
        members = [
            Member(
                about.orig_filename,  # the other one ends at a NUL, and has other slashes on Windows
                about.header_offset,
                about.compress_type,
                about.flag_bits,
                about.compress_size,
                about.file_size,
                about.CRC,
                stat.S_ISLNK(about.external_attr >> 16),
            )
            for about in archive.infolist()
        ]
    # Bytes that were lost or put in before the directory shift what it says of the first or of the last.
    places = sorted(members, key=lambda member: member.offset)
    if not (places and places[0].offset == 0) and _starts_with(file, LOCAL_MAGIC):
        # A cut archive may end with a whole one that is stored in it: zipfile takes that one's directory for its own.
        raise zipfile.BadZipFile("its directory leaves out its first member")
    if any(start_of(file, member) is None for member in (*places[:1], *places[-1:])):
        raise zipfile.BadZipFile("its directory does not fit its members")
    return members


def _split(file: BinaryIO) -> str:
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
