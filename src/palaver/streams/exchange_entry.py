"""The line of a log for one exchange, written in pieces so that a long body is never copied as a whole."""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from palaver.model.build import JsonObject
from palaver.streams.details import encode_json
from palaver.streams.recorder import Recording

_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")
"""Line ends in JSON stand between values, never inside of them."""


class _StatedModel(msgspec.Struct):
    model: str | None = None


def entry_line(
    request: JsonObject, request_body: bytes, response: Iterable[bytes], more_fields: JsonObject
) -> Iterator[bytes]:
    """Yield a line: the request's fields and body, the response as JSON, and the fields beside them."""
    yield b'{"request":' + encode_json(request)[:-1]
    yield from _body_field(request_body)
    yield b'},"response":'
    yield from response
    yield b"," + encode_json(more_fields)[1:] + b"\n"


def plain_response(head: JsonObject, body: bytes, *, is_encoded: bool) -> Iterator[bytes]:
    """Yield a response that was not streamed; an encoded body is one whose content encoding could not be removed."""
    yield encode_json(head)[:-1]
    if is_encoded and body:
        yield _base64_field(body)
    else:
        yield from _body_field(body)
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


def _body_field(body: bytes) -> Iterator[bytes]:
    """Yield a body as a further field of an object: as JSON if it is that, else as text, else in base64."""
    if not body:
        return
    try:
        text = None if body.isascii() else body.decode()
    except UnicodeDecodeError:
        yield _base64_field(body)
        return
    if _is_json(body):
        yield b',"body":' + body.translate(_LINE_ENDS)
    else:
        yield b',"body_raw":' + encode_json(body.decode() if text is None else text)


def _base64_field(body: bytes) -> bytes:
    return b',"body_base64":"' + base64.b64encode(body) + b'"'


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
