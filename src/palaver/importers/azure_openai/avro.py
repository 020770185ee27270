"""Event Hub Capture: Avro files whose records hold the events' bodies, read without help.

An Avro file names its own schema, so that any record can be read that is made of the usual types. Blocks come plain or
deflated; a block that is damaged costs only itself.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

from palaver.errors import SourceError
from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.model.build import JsonObject
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_LARGEST_BYTES = 1 << 28
_STEP_BYTES = 1 << 20
_LONGEST_NUMBER = 70
_UNREADABLE = (ValueError, TypeError, LookupError, EOFError, OverflowError, RecursionError, zlib.error, struct.error)


class _Bytes:
    """Avro's smallest parts, out of a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._held = b""
        self._taken: list[bytes] = []
        self.offset = 0

    def is_at_end(self) -> bool:
        self._held = self._held or self._stream.read(1)
        return not self._held

    def begin(self) -> None:
        """From here on, remember what was taken."""
        self._taken = []

    def taken(self) -> bytes:
        return b"".join(self._taken)

    def take(self, size: int) -> bytes:
        if not 0 <= size <= _LARGEST_BYTES:
            raise ValueError(f"there is nothing of {size} bytes")
        raw = self._held[:size]
        self._held = self._held[size:]
        if len(raw) < size:
            raw += self._stream.read(size - len(raw))
        self.offset += len(raw)
        self._taken.append(raw)
        if len(raw) < size:
            raise EOFError("it ends too early")
        return raw

    def pass_over(self, mark: bytes) -> bytes:
        """All that was taken, and more up to and with a mark: what is behind it comes next."""
        raw = self.taken()
        searched = 0
        while not mark or (at := raw.find(mark, searched)) < 0:
            searched = max(0, len(raw) - len(mark))
            more = (self._held or self._stream.read(_STEP_BYTES)) if len(raw) < _LARGEST_BYTES else b""
            self._held = b""
            if not more:
                return raw
            raw += more
            self.offset += len(more)
        end = at + len(mark)
        self._held = raw[end:] + self._held
        self.offset -= len(raw) - end
        return raw[:end]

    def long(self) -> int:
        number = shift = 0
        while shift < _LONGEST_NUMBER:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise ValueError("a number has no end")

    def sized(self) -> bytes:
        return self.take(self.long())

    def blocks(self) -> Iterator[None]:
        """Once for each element of an array or map."""
        while count := self.long():
            if count < 0:
                self.long()
            for _ in range(abs(count)):
                yield None


Decode = Callable[[_Bytes], Any]


@dataclass(frozen=True, slots=True)
class _Header:
    decode: Decode
    sync: bytes
    """What stands behind every block."""
    is_deflated: bool


class AvroRecords:
    """Iterates over the records of a stream; a block that cannot be read is counted, and set aside, as one."""

    def __init__(self, stream: BinaryIO, run: Run) -> None:
        self._bytes = _Bytes(stream)
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
                self._bytes.begin()
                yield from self._block(header)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"after byte {self._start}", str(error), kept=False)

    def _header(self) -> _Header | None:
        facts: dict[str, bytes] = {}
        try:
            if self._bytes.take(len(_MAGIC)) != _MAGIC:
                raise ValueError("this is no Avro file")
            for _ in self._bytes.blocks():
                name = self._bytes.sized().decode()
                facts[name] = self._bytes.sized()
            codec = facts.get("avro.codec", b"null").decode()
            if codec not in {"null", "deflate"}:
                raise ValueError(f"the codec is {codec}; null and deflate are read")
            decode = _decoder(json.loads(facts["avro.schema"]))
            return _Header(decode, self._bytes.take(_SYNC_BYTES), is_deflated=codec == "deflate")
        except _UNREADABLE as error:
            self._set_aside(self._bytes.pass_over(b""), f"the header: {error}")
            return None

    def _block(self, header: _Header) -> Iterator[Any]:
        taken = 0
        try:
            count, raw = self._bytes.long(), self._bytes.sized()
            if self._bytes.take(_SYNC_BYTES) != header.sync:
                raise ValueError("the mark behind it is another one")
            self._run.advance(len(raw))
            block = _Bytes(BytesIO(_inflated(raw) if header.is_deflated else raw))
            for _ in range(max(0, count)):
                value = header.decode(block)
                taken += 1
                self.number += 1
                self._run.read()
                yield value
                block.begin()
        except _UNREADABLE as error:
            self._set_aside(self._bytes.pass_over(header.sync), f"after {taken} records: {error}")

    def _set_aside(self, raw: bytes, why: str) -> None:
        self._run.read()
        self._run.quarantined(BAD_CONVERSATION, raw, self.where(), f"a part of an Avro file cannot be read: {why}")


def _inflated(raw: bytes) -> bytes:
    inflater = zlib.decompressobj(-15)
    plain = inflater.decompress(raw, _LARGEST_BYTES)
    if inflater.unconsumed_tail:
        raise ValueError("it is larger than anything that Capture writes")
    return plain


def _decoder(schema: Any, known: dict[str, Decode] | None = None) -> Decode:
    """How to read a value of a schema."""
    known = {} if known is None else known
    match schema:
        case str() if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        case str():
            return lambda data: known[schema](data)  # noqa: PLW0108 - a record may hold itself
        case list():
            options = [_decoder(one, known) for one in schema]
            return lambda data: options[data.long()](data)
        case {"type": "record", "fields": list() as fields}:
            return _named(schema, known, _record([(field["name"], _decoder(field["type"], known)) for field in fields]))
        case {"type": "map", "values": values}:
            return _map(_decoder(values, known))
        case {"type": "array", "items": items}:
            item = _decoder(items, known)
            return lambda data: [item(data) for _ in data.blocks()]
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
    if space := schema.get("namespace"):
        known[f"{space}.{name}"] = decode
    return decode


def _record(fields: list[tuple[str, Decode]]) -> Decode:
    return lambda data: {name: decode(data) for name, decode in fields}


def _map(decode: Decode) -> Decode:
    return lambda data: {data.sized().decode(errors="replace"): decode(data) for _ in data.blocks()}


_PRIMITIVES: dict[str, Decode] = {
    "null": lambda _: None,
    "boolean": lambda data: data.take(1) != b"\0",
    "int": _Bytes.long,
    "long": _Bytes.long,
    "float": lambda data: struct.unpack("<f", data.take(4))[0],
    "double": lambda data: struct.unpack("<d", data.take(8))[0],
    "bytes": _Bytes.sized,
    "string": lambda data: data.sized().decode(errors="replace"),
}
