"""The line of a log for one exchange, written in pieces so that a long body is in memory once at most."""

import base64
import codecs
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from palaver.model.build import JsonObject
from palaver.streams.content_encoding import slices
from palaver.streams.details import encode_json
from palaver.streams.recorder import Recording

_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")
"""Line ends in JSON stand between values, never inside of them."""
_SLICE_BYTES = 3 << 18
"""How much of a body is written at once: a multiple of 3, because base64 turns 3 bytes into 4 characters."""


class _StatedModel(msgspec.Struct):
    model: str | None = None


def entry_line(
    request: JsonObject, request_body: Iterable[bytes], response: Iterable[bytes], more_fields: JsonObject
) -> Iterator[bytes]:
    """Yield a line: the request's fields and body, the response as JSON, and the fields beside them."""
    yield b'{"request":' + encode_json(request)[:-1]
    yield from _body_field(_whole(request_body))
    yield b'},"response":'
    yield from response
    yield b"," + encode_json(more_fields)[1:] + b"\n"


def plain_response(head: JsonObject, body: Iterable[bytes], *, is_encoded: bool) -> Iterator[bytes]:
    """Yield a response that was not streamed; an encoded body is one whose content encoding could not be removed."""
    yield encode_json(head)[:-1]
    yield from _base64_field(_whole(body)) if is_encoded else _body_field(_whole(body))
    yield b"}"


def streamed_response(head: JsonObject, recording: Recording) -> Iterator[bytes]:
    """Yield a response with its raw body and the details of its events."""
    pieces = recording.response()
    yield encode_json(head)[:-1] + b"," + next(pieces)[1:]
    yield from pieces


def stated_model(body: bytes) -> str | None:
    """Return the model that the JSON body of a request names."""
    try:
        return msgspec.json.decode(body, type=_StatedModel).model
    except (msgspec.DecodeError, RecursionError):
        return None


def headers_by_name(headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return headers by their names in lower case; one that occurs several times has a list."""
    found: dict[str, Any] = {}
    for name, value in headers:
        lower = name.lower()
        found[lower] = value if lower not in found else [*header_values(found, lower), value]
    return found


def header_values(headers: JsonObject, name: str) -> list[str]:
    """Return all values of a header."""
    stated = headers.get(name, [])
    return stated if isinstance(stated, list) else [stated]


def _whole(pieces: Iterable[bytes]) -> bytearray:
    """Join the pieces of a body one by one: all at once, they would be in memory twice."""
    whole = bytearray()
    for piece in pieces:
        whole += piece
    return whole


def _body_field(body: bytearray) -> Iterator[bytes]:
    """Yield a body as a further field of an object: as JSON if it is that, else as text, else in base64."""
    if not body:
        return
    if not _is_text(body):
        yield from _base64_field(body)
    elif _is_json(body):
        yield b',"body":'
        for piece in slices(body, _SLICE_BYTES):
            yield piece.translate(_LINE_ENDS)
    else:
        decoder = codecs.getincrementaldecoder("utf-8")()
        yield b',"body_raw":"'
        for piece in slices(body, _SLICE_BYTES):
            yield encode_json(decoder.decode(piece))[1:-1]
        yield b'"'


def _base64_field(body: bytearray) -> Iterator[bytes]:
    if body:
        yield b',"body_base64":"'
        for piece in slices(body, _SLICE_BYTES):
            yield base64.b64encode(piece)
        yield b'"'


def _is_text(body: bytearray) -> bool:
    if body.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in slices(body, _SLICE_BYTES):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _is_json(body: bytearray) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
