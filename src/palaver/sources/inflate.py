"""Members of a ZIP as plain bytes: inflated in large pieces, checked at their end, stopped at the limits.

ISA-L inflates three times as fast as zlib, but what a call took in before it met damage is lost with the call, and the
last bytes before a cut may stay inside. Where it stumbles, zlib goes over the same member again, in ever smaller steps.
"""

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from palaver.errors import SourceError
from palaver.sources.allowance import Allowance
from palaver.sources.decompress import ReadOnly

try:
    from isal import isal_zlib as fast_zlib
except ImportError:  # there are no wheels for every machine
    fast_zlib: Any = zlib

STORED, DEFLATED, BZIP2, LZMA = 0, 8, 12, 14
METHODS = {STORED, DEFLATED, BZIP2, LZMA}

_LEAST_READ_BYTES = 1 << 12
_USUAL_RATIO = 4
"""By how much text shrinks when it is packed."""
_READ_BYTES = 1 << 18
_PIECE_BYTES = 1 << 20
_CAREFUL_BYTES = 1 << 14
_LZMA_MOST_BYTES = 1 << 30
_DAMAGE = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, struct.error)
_STUMBLES = (EOFError, zlib.error, fast_zlib.error)


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    offset: int
    """Where its local header stands."""
    method: int
    flags: int
    packed_bytes: int
    size_bytes: int
    """As declared: never relied on."""
    crc: int | None
    is_link: bool = False
    has_end: bool = True
    """Whether it is known where its packed bytes end; if not, they go on until the next header or the end of file."""


class Span:
    """The packed bytes of a member, read through a file of its own: several members may be open at once."""

    def __init__(self, file: BinaryIO, start: int, size_bytes: int) -> None:
        self._file = file
        self._start = start
        self._size = size_bytes
        self.rewind()

    def rewind(self) -> None:
        self._file.seek(self._start)
        self.taken = 0

    def read(self, size: int) -> bytes:
        piece = self._file.read(min(size, self._size - self.taken))
        self.taken += len(piece)
        return piece

    @property
    def is_used_up(self) -> bool:
        return self.taken == self._size

    def close(self) -> None:
        self._file.close()


class MemberStream(ReadOnly):
    """A read-only stream that tells of damage only after all that came before it was handed out."""

    def __init__(self, span: Span, member: Member, label: str, allowance: Allowance) -> None:
        self._span = span
        self._plain = _PLAIN[member.method](span, member)
        self._member = member
        self._label = label
        self._allowance = allowance
        self._given = 0
        self._sum = 0
        self._damage: SourceError | None = None
        self._heed(allowance.refusal(member.name, 0, 0))

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        held = 0
        while self._damage is None and held != size:
            piece = self._next(_PIECE_BYTES if size < 0 else size - held)
            if not piece:
                break
            pieces.append(piece)
            held += len(piece)
        if self._damage is not None and not pieces and size:
            raise self._damage
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read1(self, size: int) -> bytes:
        """The next piece of at most that size, as it comes out of the packed bytes: nothing is joined."""
        piece = self._next(size) if self._damage is None else b""
        if not piece and self._damage is not None:
            raise self._damage
        return piece

    def close(self) -> None:
        self._span.close()

    def _next(self, limit: int) -> bytes:
        most = self._allowance.limits.max_bytes - self._given
        try:
            # One byte more than is allowed shows whether the member ends there.
            piece = self._plain.piece(min(limit, most + 1))
            self._given += len(piece)
            self._sum = fast_zlib.crc32(piece, self._sum)
            if not piece and self._member.crc not in {None, self._sum}:
                raise EOFError("its checksum is wrong")
        except _DAMAGE as error:
            self._damage = SourceError(f"{self._label} is damaged or cut off: {error}")
            self._damage.__cause__ = error
            return b""
        self._heed(self._allowance.refusal(self._member.name, self._given, self._span.taken))
        return piece[:most] if len(piece) > most else piece

    def _heed(self, refusal: str) -> None:
        if refusal:
            self._damage = SourceError(f"{self._label} {refusal}")


class _Plain(Protocol):
    def piece(self, limit: int) -> bytes:
        """Some of the next bytes, at least one, unless they are at their end."""
        ...


class _Stored:
    def __init__(self, span: Span, member: Member) -> None:
        self._span = span
        self._has_end = member.has_end

    def piece(self, limit: int) -> bytes:
        piece = self._span.read(limit)
        if not piece and not (self._has_end and self._span.is_used_up):
            raise EOFError("its end is missing")
        return piece


class _Inflated:
    def __init__(self, span: Span, member: Member) -> None:
        _ = member
        self._span = span
        self._inflater = fast_zlib.decompressobj(-15)
        self._given = 0
        self._careful: _CarefullyInflated | None = None

    def piece(self, limit: int) -> bytes:
        if self._careful is None:
            try:
                return self._quick(limit)
            except _STUMBLES:
                self._careful = _CarefullyInflated(self._span, self._given)
        return self._careful.piece(limit)

    def _quick(self, limit: int) -> bytes:
        inflater = self._inflater
        while not inflater.eof:
            # What is not inflated yet is copied at each call: no more of it than there is use for.
            wanted = min(max(limit // _USUAL_RATIO, _LEAST_READ_BYTES), _READ_BYTES)
            taken = inflater.unconsumed_tail or self._span.read(wanted)
            piece = inflater.decompress(taken, limit)
            if piece:
                self._given += len(piece)
                return piece
            if not taken:
                raise EOFError
        return b""


class _CarefullyInflated:
    """From the start again, past what was given before, and then to the very byte where it breaks."""

    def __init__(self, span: Span, given: int) -> None:
        span.rewind()
        self._span = span
        self._to_pass = given
        self._inflater = zlib.decompressobj(-15)
        self._step = _CAREFUL_BYTES

    def piece(self, limit: int) -> bytes:
        while not self._inflater.eof:
            taken = self._inflater.unconsumed_tail or self._span.read(_CAREFUL_BYTES)
            piece = self._stepped(taken, min(limit, self._to_pass or limit))
            if piece and not self._to_pass:
                return piece
            self._to_pass -= len(piece)
            if not piece and not taken:
                raise EOFError("its end is missing")
        return b""

    def _stepped(self, taken: bytes, limit: int) -> bytes:
        while True:
            step = min(limit, self._step)
            before = self._inflater.copy()
            try:
                return self._inflater.decompress(taken, step)
            except zlib.error:
                if step == 1:
                    raise
                self._inflater = before
                self._step = step // 2


class _Unpacked:
    """bzip2 and LZMA, in small steps: what a step took in before it met damage is lost with it."""

    def __init__(self, span: Span, member: Member, decompressor: Callable[[], Any]) -> None:
        self._span = span
        self._has_end = member.has_end
        self._make = decompressor
        self._decompressor: Any = None

    def piece(self, limit: int) -> bytes:
        if self._decompressor is None:
            self._decompressor = self._make()
        while not self._decompressor.eof:
            taken = self._span.read(_CAREFUL_BYTES) if self._decompressor.needs_input else b""
            is_last = self._decompressor.needs_input and not taken
            if piece := self._decompressor.decompress(taken, min(limit, _CAREFUL_BYTES)):
                return piece
            if is_last:
                return self._end()
        return b""

    def _end(self) -> bytes:
        # LZMA needs no mark at its end: there the checksum has the last word.
        if isinstance(self._decompressor, lzma.LZMADecompressor) and self._has_end and self._span.is_used_up:
            return b""
        raise EOFError("its end is missing")


def _bzip2(span: Span, member: Member) -> _Plain:
    return _Unpacked(span, member, bz2.BZ2Decompressor)


def _lzma(span: Span, member: Member) -> _Plain:
    def decompressor() -> lzma.LZMADecompressor:
        _, properties_bytes = struct.unpack("<HH", span.read(4))
        packed, dictionary_bytes = struct.unpack("<BL", span.read(properties_bytes))
        if dictionary_bytes > _LZMA_MOST_BYTES:
            raise ValueError("it asks for too much memory")
        rest, lc = divmod(packed, 9)
        pb, lp = divmod(rest, 5)
        wanted = {"id": lzma.FILTER_LZMA1, "dict_size": dictionary_bytes, "lc": lc, "lp": lp, "pb": pb}
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[wanted])

    return _Unpacked(span, member, decompressor)


_PLAIN: dict[int, Callable[[Span, Member], _Plain]] = {
    STORED: _Stored,
    DEFLATED: _Inflated,
    BZIP2: _bzip2,
    LZMA: _lzma,
}
