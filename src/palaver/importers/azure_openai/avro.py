"""A reader for the Avro files of Event Hub Capture, whose records hold the bodies of events.

An Avro file carries its own schema, so any record made of the usual types can be read. Blocks are plain or deflated; a
damaged block does not affect the others. No Avro library is needed.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

from palaver.errors import SourceError
from palaver.importers._shared.findings import BAD_CONVERSATION
from palaver.model.build import JsonObject
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_MAX_BYTES = 1 << 28
_READ_BYTES = 1 << 20
_MAX_LONG_BITS = 70
_UNREADABLE = (ValueError, TypeError, LookupError, EOFError, OverflowError, RecursionError, zlib.error, struct.error)


class _ByteReader:
    """Reads Avro's primitive encodings from a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._pending = b""
        self._recorded: list[bytes] = []
        self.offset = 0

    def is_at_end(self) -> bool:
        self._pending = self._pending or self._stream.read(1)
        return not self._pending

    def start_recording(self) -> None:
        """Discard the recorded bytes, and record those taken from here on."""
        self._recorded = []

    def recorded(self) -> bytes:
        return b"".join(self._recorded)

    def take(self, size: int) -> bytes:
        if not 0 <= size <= _MAX_BYTES:
            raise ValueError(f"there is nothing of {size} bytes")
        raw = self._pending[:size]
        self._pending = self._pending[size:]
        if len(raw) < size:
            raw += self._stream.read(size - len(raw))
        self.offset += len(raw)
        self._recorded.append(raw)
        if len(raw) < size:
            raise EOFError("it ends too early")
        return raw

    def take_through(self, marker: bytes) -> bytes:
        """Return the recorded bytes and all that follows, through the marker; reading continues behind it.

        An empty marker is never found: all the rest is returned.
        """
        raw = self.recorded()
        searched = 0
        while not marker or (at := raw.find(marker, searched)) < 0:
            searched = max(0, len(raw) - len(marker))
            more = (self._pending or self._stream.read(_READ_BYTES)) if len(raw) < _MAX_BYTES else b""
            self._pending = b""
            if not more:
                return raw
            raw += more
            self.offset += len(more)
        end = at + len(marker)
        self._pending = raw[end:] + self._pending
        self.offset -= len(raw) - end
        return raw[:end]

    def long(self) -> int:
        number = shift = 0
        while shift < _MAX_LONG_BITS:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise ValueError("a number has no end")

    def prefixed_bytes(self) -> bytes:
        return self.take(self.long())

    def items(self) -> Iterator[None]:
        """Yield once for each item of an array or map."""
        while count := self.long():
            if count < 0:
                self.long()
            for _ in range(abs(count)):
                yield None


Decode = Callable[[_ByteReader], Any]


@dataclass(frozen=True, slots=True)
class _Header:
    decode: Decode
    sync: bytes
    """The marker that follows every block."""
    is_deflated: bool


class AvroRecords:
    """Iterates over the records of a stream; an unreadable block is counted, and quarantined, as one record."""

    def __init__(self, stream: BinaryIO, run: Run) -> None:
        self._bytes = _ByteReader(stream)
        self._run = run
        self._start = 0
        self.number = 0

    def where(self) -> str:
        return f"record {self.number}, in the block at byte {self._start}"

    def __iter__(self) -> Iterator[Any]:
        try:
            header = self._header()
            while header is not None and not self._bytes.is_at_end():
                self._start = self._bytes.offset
                self._bytes.start_recording()
                yield from self._block(header)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"after byte {self._start}", str(error), kept=False)

    def _header(self) -> _Header | None:
        metadata: dict[str, bytes] = {}
        try:
            if self._bytes.take(len(_MAGIC)) != _MAGIC:
                raise ValueError("not an Avro file")
            for _ in self._bytes.items():
                name = self._bytes.prefixed_bytes().decode()
                metadata[name] = self._bytes.prefixed_bytes()
            codec = metadata.get("avro.codec", b"null").decode()
            if codec not in {"null", "deflate"}:
                raise ValueError(f"the codec is {codec}; null and deflate are read")
            decode = _decoder(json.loads(metadata["avro.schema"]))
            return _Header(decode, self._bytes.take(_SYNC_BYTES), is_deflated=codec == "deflate")
        except _UNREADABLE as error:
            self._quarantine(self._bytes.take_through(b""), f"the header: {error}")
            return None

    def _block(self, header: _Header) -> Iterator[Any]:
        decoded = 0
        try:
            count, raw = self._bytes.long(), self._bytes.prefixed_bytes()
            if self._bytes.take(_SYNC_BYTES) != header.sync:
                raise ValueError("the mark behind it is another one")
            self._run.advance(len(raw))
            block = _ByteReader(BytesIO(_inflated(raw) if header.is_deflated else raw))
            for _ in range(max(0, count)):
                value = header.decode(block)
                decoded += 1
                self.number += 1
                self._run.read()
                yield value
                block.start_recording()
        except _UNREADABLE as error:
            self._quarantine(self._bytes.take_through(header.sync), f"after {decoded} records: {error}")

    def _quarantine(self, raw: bytes, reason: str) -> None:
        self._run.read()
        self._run.quarantined(BAD_CONVERSATION, raw, self.where(), f"a part of an Avro file cannot be read: {reason}")


def _inflated(raw: bytes) -> bytes:
    inflater = zlib.decompressobj(-15)
    plain = inflater.decompress(raw, _MAX_BYTES)
    if inflater.unconsumed_tail:
        raise ValueError("it is larger than anything that Capture writes")
    return plain


def _decoder(schema: Any, known: dict[str, Decode] | None = None) -> Decode:
    """Return a function that reads a value of this schema."""
    known = {} if known is None else known
    match schema:
        case str() if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        case str():
            return lambda data: known[schema](data)  # noqa: PLW0108 - a record may hold itself
        case list():
            options = [_decoder(option, known) for option in schema]
            return lambda data: options[data.long()](data)
        case {"type": "record", "fields": list() as fields}:
            return _named(schema, known, _record([(field["name"], _decoder(field["type"], known)) for field in fields]))
        case {"type": "map", "values": values}:
            return _map(_decoder(values, known))
        case {"type": "array", "items": items}:
            item = _decoder(items, known)
            return lambda data: [item(data) for _ in data.items()]
        case {"type": "enum", "symbols": list() as symbols}:
            return _named(schema, known, lambda data: symbols[data.long()])
        case {"type": "fixed", "size": int(size)}:
            return _named(schema, known, lambda data: data.take(size))
        case {"type": inner}:
            return _decoder(inner, known)
        case _:
            raise ValueError("the schema cannot be read")


def _named(schema: JsonObject, known: dict[str, Decode], decode: Decode) -> Decode:
    name = str(schema.get("name"))
    known[name] = decode
    if namespace := schema.get("namespace"):
        known[f"{namespace}.{name}"] = decode
    return decode


def _record(fields: list[tuple[str, Decode]]) -> Decode:
    return lambda data: {name: decode(data) for name, decode in fields}


def _map(decode: Decode) -> Decode:
    return lambda data: {data.prefixed_bytes().decode(errors="replace"): decode(data) for _ in data.items()}


_PRIMITIVES: dict[str, Decode] = {
    "null": lambda _: None,
    "boolean": lambda data: data.take(1) != b"\0",
    "int": _ByteReader.long,
    "long": _ByteReader.long,
    "float": lambda data: struct.unpack("<f", data.take(4))[0],
    "double": lambda data: struct.unpack("<d", data.take(8))[0],
    "bytes": _ByteReader.prefixed_bytes,
    "string": lambda data: data.prefixed_bytes().decode(errors="replace"),
}
