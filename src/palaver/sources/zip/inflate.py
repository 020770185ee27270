"""ZIP members as plain bytes: inflated in large pieces, checked at their end, stopped at the limits.

ISA-L inflates three times as fast as zlib, but a call that meets damage loses its output, and the last bytes before a
truncation may never come out. When it fails, zlib reads the same member again, in ever smaller steps.
"""

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from palaver.errors import SourceError
from palaver.sources.decompress import ReadOnlyStream
from palaver.sources.zip.limits import Allowance

try:
    from isal import isal_zlib as fast_zlib
except ImportError:  # there are no wheels for every machine
    fast_zlib: Any = zlib

STORED, DEFLATED, BZIP2, LZMA = 0, 8, 12, 14
METHODS = {STORED, DEFLATED, BZIP2, LZMA}

_MIN_READ_BYTES = 1 << 12
_TYPICAL_RATIO = 4
"""How much smaller text usually becomes."""
_READ_BYTES = 1 << 18
_PIECE_BYTES = 1 << 20
_EXACT_STEP_BYTES = 1 << 14
_MAX_LZMA_DICTIONARY_BYTES = 1 << 30
_DAMAGE_ERRORS = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, struct.error)
_INFLATE_ERRORS = (EOFError, zlib.error, fast_zlib.error)


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    offset: int
    """The position of its local header."""
    method: int
    flags: int
    packed_bytes: int
    size_bytes: int
    """The declared size, which is never relied on."""
    crc: int | None
    is_link: bool = False
    has_end: bool = True
    """Whether the end of its packed bytes is known; if not, they extend to the next header or the end of the file."""


class PackedBytes:
    """The packed bytes of a member, read through their own file handle, so that several members may be open."""

    def __init__(self, file: BinaryIO, start: int, size_bytes: int) -> None:
        self._file = file
        self._start = start
        self._size = size_bytes
        self.rewind()

    def rewind(self) -> None:
        self._file.seek(self._start)
        self.bytes_read = 0

    def read(self, size: int) -> bytes:
        piece = self._file.read(min(size, self._size - self.bytes_read))
        self.bytes_read += len(piece)
        return piece

    @property
    def is_exhausted(self) -> bool:
        return self.bytes_read == self._size

    def close(self) -> None:
        self._file.close()


class MemberStream(ReadOnlyStream):
    """The plain bytes of a member; raises on damage only after returning everything before it."""

    def __init__(self, packed: PackedBytes, member: Member, label: str, allowance: Allowance) -> None:
        self._packed = packed
        self._unpacker = _UNPACKERS[member.method](packed, member)
        self._member = member
        self._label = label
        self._allowance = allowance
        self._bytes_given = 0
        self._checksum = 0
        self._damage: SourceError | None = None
        self._refuse(allowance.refusal(member.name, 0, 0))

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        bytes_read = 0
        while self._damage is None and bytes_read != size:
            piece = self._next(_PIECE_BYTES if size < 0 else size - bytes_read)
            if not piece:
                break
            pieces.append(piece)
            bytes_read += len(piece)
        if self._damage is not None and not pieces and size:
            raise self._damage
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read1(self, size: int) -> bytes:
        """Return the next piece of at most this size as it was unpacked, without joining pieces."""
        piece = self._next(size) if self._damage is None else b""
        if not piece and self._damage is not None:
            raise self._damage
        return piece

    def close(self) -> None:
        self._packed.close()

    def _next(self, limit: int) -> bytes:
        remaining = self._allowance.limits.max_bytes - self._bytes_given
        try:
            # One byte past the limit shows whether the member ends there.
            piece = self._unpacker.next_piece(min(limit, remaining + 1))
            self._bytes_given += len(piece)
            self._checksum = fast_zlib.crc32(piece, self._checksum)
            if not piece and self._member.crc not in {None, self._checksum}:
                raise EOFError("its checksum is wrong")
        except _DAMAGE_ERRORS as error:
            self._damage = SourceError(f"{self._label} is damaged or cut off: {error}")
            self._damage.__cause__ = error
            return b""
        self._refuse(self._allowance.refusal(self._member.name, self._bytes_given, self._packed.bytes_read))
        return piece[:remaining] if len(piece) > remaining else piece

    def _refuse(self, refusal: str) -> None:
        if refusal:
            self._damage = SourceError(f"{self._label} {refusal}")


class _Unpacker(Protocol):
    def next_piece(self, limit: int) -> bytes:
        """Return at least one of the next bytes, or none at the end."""
        ...


class _StoredBytes:
    def __init__(self, packed: PackedBytes, member: Member) -> None:
        self._packed = packed
        self._has_end = member.has_end

    def next_piece(self, limit: int) -> bytes:
        piece = self._packed.read(limit)
        if not piece and not (self._has_end and self._packed.is_exhausted):
            raise EOFError("its end is missing")
        return piece


class _FastInflater:
    def __init__(self, packed: PackedBytes, member: Member) -> None:
        _ = member
        self._packed = packed
        self._inflater = fast_zlib.decompressobj(-15)
        self._bytes_given = 0
        self._exact: _ExactInflater | None = None

    def next_piece(self, limit: int) -> bytes:
        if self._exact is None:
            try:
                return self._inflate_fast(limit)
            except _INFLATE_ERRORS:
                self._exact = _ExactInflater(self._packed, self._bytes_given)
        return self._exact.next_piece(limit)

    def _inflate_fast(self, limit: int) -> bytes:
        inflater = self._inflater
        while not inflater.eof:
            # Each call copies the input that is not inflated yet, so read no more than needed.
            wanted = min(max(limit // _TYPICAL_RATIO, _MIN_READ_BYTES), _READ_BYTES)
            chunk = inflater.unconsumed_tail or self._packed.read(wanted)
            piece = inflater.decompress(chunk, limit)
            if piece:
                self._bytes_given += len(piece)
                return piece
            if not chunk:
                raise EOFError
        return b""


class _ExactInflater:
    """zlib from the start of the member, past the bytes already returned, up to the very byte where it breaks."""

    def __init__(self, packed: PackedBytes, bytes_given: int) -> None:
        packed.rewind()
        self._packed = packed
        self._bytes_to_skip = bytes_given
        self._inflater = zlib.decompressobj(-15)
        self._step = _EXACT_STEP_BYTES

    def next_piece(self, limit: int) -> bytes:
        while not self._inflater.eof:
            chunk = self._inflater.unconsumed_tail or self._packed.read(_EXACT_STEP_BYTES)
            piece = self._inflate_step(chunk, min(limit, self._bytes_to_skip or limit))
            if piece and not self._bytes_to_skip:
                return piece
            self._bytes_to_skip -= len(piece)
            if not piece and not chunk:
                raise EOFError("its end is missing")
        return b""

    def _inflate_step(self, chunk: bytes, limit: int) -> bytes:
        while True:
            step = min(limit, self._step)
            before = self._inflater.copy()
            try:
                return self._inflater.decompress(chunk, step)
            except zlib.error:
                if step == 1:
                    raise
                self._inflater = before
                self._step = step // 2


class _SteppedUnpacker:
    """bzip2 and LZMA in small steps, because a step that meets damage loses its output."""

    def __init__(self, packed: PackedBytes, member: Member, decompressor: Callable[[], Any]) -> None:
        self._packed = packed
        self._has_end = member.has_end
        self._make = decompressor
        self._decompressor: Any = None

    def next_piece(self, limit: int) -> bytes:
        if self._decompressor is None:
            self._decompressor = self._make()
        while not self._decompressor.eof:
            chunk = self._packed.read(_EXACT_STEP_BYTES) if self._decompressor.needs_input else b""
            is_last = self._decompressor.needs_input and not chunk
            if piece := self._decompressor.decompress(chunk, min(limit, _EXACT_STEP_BYTES)):
                return piece
            if is_last:
                return self._end()
        return b""

    def _end(self) -> bytes:
        # LZMA needs no end marker: the checksum decides.
        if isinstance(self._decompressor, lzma.LZMADecompressor) and self._has_end and self._packed.is_exhausted:
            return b""
        raise EOFError("its end is missing")


def _bzip2(packed: PackedBytes, member: Member) -> _Unpacker:
    return _SteppedUnpacker(packed, member, bz2.BZ2Decompressor)


def _lzma(packed: PackedBytes, member: Member) -> _Unpacker:
    def decompressor() -> lzma.LZMADecompressor:
        _, properties_bytes = struct.unpack("<HH", packed.read(4))
        lc_lp_pb, dictionary_bytes = struct.unpack("<BL", packed.read(properties_bytes))
        if dictionary_bytes > _MAX_LZMA_DICTIONARY_BYTES:
            raise ValueError("it asks for too much memory")
        rest, lc = divmod(lc_lp_pb, 9)
        pb, lp = divmod(rest, 5)
        wanted = {"id": lzma.FILTER_LZMA1, "dict_size": dictionary_bytes, "lc": lc, "lp": lp, "pb": pb}
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[wanted])

    return _SteppedUnpacker(packed, member, decompressor)


_UNPACKERS: dict[int, Callable[[PackedBytes, Member], _Unpacker]] = {
    STORED: _StoredBytes,
    DEFLATED: _FastInflater,
    BZIP2: _bzip2,
    LZMA: _lzma,
}
