"""What may be set aside, or said, of a record: no header, cookie or address in it lets anybody in."""

import json
import re
from typing import Any, cast

import orjson

from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.redact import MASK, kept_headers, masked_header, masked_url
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run

_PAYLOADS = frozenset(
    {"body", "body_raw", "request_body", "messages", "contents", "content", "system", "tools", "input", "sse_lines"}
    | {"chunk_data", "chunks", "events", "output", "choices", "candidates", "text", "raw", "response_text"}
)
"""What was said is kept as it was said."""
_HEADERS = frozenset({"headers", "trailers", "request_headers", "response_headers"})
_SECRETS = frozenset({"cookies", "querystring", "params", "serveripaddress"})
_ADDRESSES = frozenset({"url", "redirecturl", "referrer", "path"})
_USUAL_HEADERS = frozenset(
    {"host", "user-agent", "content-type", "authorization", "cookie", "set-cookie", "accept", "date"}
)
"""By one of these, headers are known whatever they are called."""
_DEEPEST = 8

_MASK = MASK.encode()
_MARKS = re.compile(
    rb'"(?:(body|body_raw|request_body|messages|contents|content|input|system|tools|output|choices|candidates|text|'
    rb'sse_lines|chunk_data|events|postData)|request|response|headers|url|redirectURL|cookies|queryString)"\s*:'
)
"""Where something that was said begins, and where something else does."""
_BEGINNING = re.compile(rb'[^"{}\[\]]*+')
_ADDRESS = re.compile(r"https?://[^\s\"'<>)\\]+")


class DiscreetRun(Run):
    """The same run, told and given only what may be kept; the readers, too, hand over bytes as they found them."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.source, run.options, form=run.form, cursors=run.cursors, keeps_cursors=run.keeps_cursors)
        self.next_cursors = run.next_cursors
        self.ledger, self.findings, self.advance = run.ledger, run.findings, run.advance
        self._behind = run

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        self._behind.note(kind, where, masked_text(message), kept=kept)

    def set_aside(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        self._behind.set_aside(kind, masked_bytes(raw), where, masked_text(message))


def masked_bytes(raw: bytes) -> bytes:
    """A copy of a record that may be kept, be it JSON or what is left of it."""
    try:
        value = parse(raw)
    except NOT_JSON:
        return _masked_remains(raw)
    return dumped(masked_value(value)) if isinstance(value, dict | list) else _masked_remains(raw)


def masked_value(value: Any, depth: int = 0) -> Any:
    """The same value, with a mask in place of whatever may let somebody in; what was said stays as it is."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [masked_value(one, depth + 1) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    if are_headers(value):
        return _masked_headers(value)
    return {name: _masked_field(name, one, depth + 1) for name, one in cast("JsonObject", value).items()}


def are_headers(value: Any) -> bool:
    """Whether an object holds headers, whatever it is called."""
    return isinstance(value, dict) and not _USUAL_HEADERS.isdisjoint(name.lower() for name in value)


def masked_text(text: str) -> str:
    """Words of ours or of a program in which an address may stand."""
    return _ADDRESS.sub(lambda found: masked_url(found[0]), text) if "://" in text else text


def dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer past 64 bits, or half of a surrogate pair
        return json.dumps(value).encode()


def _masked_field(name: str, value: Any, depth: int) -> Any:
    lower = name.lower()
    if lower in _PAYLOADS and not are_headers(value):
        return value
    if lower in _HEADERS:
        return _masked_headers(value)
    if lower in _SECRETS and value:
        return MASK
    if lower in _ADDRESSES and isinstance(value, str):
        return masked_url(value)
    if isinstance(value, str):
        return masked_text(value) if _is_harmless(name) else MASK
    return masked_value(value, depth)


def _is_harmless(name: str) -> bool:
    """Whether a field may be kept; ids of sessions are no secrets here, since requests name them."""
    return name.lower() in {"_session_id", "session_id"} or masked_header(name, "") != MASK


def _masked_headers(headers: Any) -> Any:
    """Only headers that are known to be harmless keep their values."""
    if isinstance(headers, dict):
        return {name: _masked_header(name, value) for name, value in cast("JsonObject", headers).items()}
    if isinstance(headers, list):
        return [_masked_entry(entry) for entry in cast("list[Any]", headers)]
    return MASK if headers else headers


def _masked_entry(entry: Any) -> Any:
    match entry:
        case {"name": str(name), "value": value}:
            return {"name": name, "value": _masked_header(name, value)}
        case [str(name), value]:
            return [name, _masked_header(name, value)]
        case _:
            return MASK


def _masked_header(name: str, value: Any) -> Any:
    """Objects are no values of headers: something that was said has come among them."""
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return value
    return value if kept_headers({name: value}) else MASK


def _masked_remains(raw: bytes) -> bytes:
    """Of pieces of JSON, in which a name may be cut from its value, only what was said: all around it is left out."""
    beginning = _BEGINNING.match(raw)
    is_said = beginning is not None and _is_prose(beginning[0])
    kept: list[bytes] = []
    at = 0
    for mark in _MARKS.finditer(raw):
        kept.append(raw[at : mark.start()] if is_said else _MASK)
        kept.append(mark[0])
        is_said = mark[1] is not None
        at = mark.end()
    kept.append(raw[at:] if is_said else _MASK)
    return b"".join(kept)


def _is_prose(text: bytes) -> bool:
    """Whether somebody said this: the rest of a header has no words."""
    return text.count(b" ") > 2 and b"=" not in text
