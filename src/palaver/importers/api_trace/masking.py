"""Masks credentials in records that are quarantined or quoted: headers, cookies and addresses."""

import json
import re
from typing import Any, cast

import orjson

from palaver.model.build import JsonObject
from palaver.redact.logs import mask_entry, mask_torn_settings
from palaver.redact.policy import MASK, harmless_headers, mask_header, mask_url
from palaver.redact.text import mask_addresses
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import MaskedRun, Run

_PAYLOAD_FIELDS = frozenset(
    {"body", "body_raw", "request_body", "messages", "contents", "content", "system", "tools", "input", "sse_lines"}
    | {"chunk_data", "chunks", "events", "output", "choices", "candidates", "text", "raw", "response_text"}
)
"""Fields with the content of conversations, of which only the settings of other services are masked."""
_HEADER_FIELDS = frozenset({"headers", "trailers", "request_headers", "response_headers"})
_SECRET_FIELDS = frozenset({"cookies", "querystring", "params", "serveripaddress"})
_ADDRESS_FIELDS = frozenset({"url", "redirecturl", "referrer", "path"})
_USUAL_HEADERS = frozenset(
    {"host", "user-agent", "content-type", "authorization", "cookie", "set-cookie", "accept", "date"}
)
"""An object with one of these names holds headers, whatever its own name is."""
_MAX_DEPTH = 8

_MASK_BYTES = MASK.encode()
_FIELD_NAMES = re.compile(
    rb'"(?:(body|body_raw|request_body|messages|contents|content|input|system|tools|output|choices|candidates|text|'
    rb'sse_lines|chunk_data|events|postData)|request|response|headers|url|redirectURL|cookies|queryString)"\s*:'
)
"""Names of fields; group 1 matches those that hold payload."""
_BEGINNING = re.compile(rb'[^"{}\[\]]*+')


def masked_run(run: Run) -> MaskedRun:
    """Return a run that masks credentials in findings and quarantined bytes."""
    return MaskedRun(run, mask_addresses, mask_bytes)


def mask_bytes(raw: bytes) -> bytes:
    """Mask a record, be it JSON or a fragment of it."""
    try:
        value = parse(raw)
    except NOT_JSON:
        return _mask_fragment(mask_torn_settings(raw))
    return dump_json(mask_value(value)) if isinstance(value, dict | list) else _mask_fragment(raw)


def mask_value(value: Any, depth: int = 0) -> Any:
    """Mask all credentials in a value; the content of conversations is left alone."""
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [mask_value(item, depth + 1) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    if are_headers(value):
        return _mask_headers(value)
    return {name: _mask_field(name, item, depth + 1) for name, item in cast("JsonObject", value).items()}


def are_headers(value: Any) -> bool:
    """Return whether the value is an object of headers."""
    return isinstance(value, dict) and not _USUAL_HEADERS.isdisjoint(name.lower() for name in value)


def dump_json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer past 64 bits, or half of a surrogate pair
        return json.dumps(value).encode()


def _mask_field(name: str, value: Any, depth: int) -> Any:
    lower = name.lower()
    if lower in _PAYLOAD_FIELDS and not are_headers(value):
        return mask_entry({"body": {name: value}})["body"][name]
    if lower in _HEADER_FIELDS:
        return _mask_headers(value)
    if lower in _SECRET_FIELDS and value:
        return MASK
    if lower in _ADDRESS_FIELDS and isinstance(value, str):
        return mask_url(value)
    if isinstance(value, str):
        return mask_addresses(value) if _is_harmless(name) else MASK
    return mask_value(value, depth)


def _is_harmless(name: str) -> bool:
    """Return whether a field may be shown; session ids are no secrets here, since requests name them."""
    return name.lower() in {"_session_id", "session_id"} or mask_header(name, "") != MASK


def _mask_headers(headers: Any) -> Any:
    """Mask the values of all headers that are not known to be harmless."""
    if isinstance(headers, dict):
        return {name: _mask_header(name, value) for name, value in cast("JsonObject", headers).items()}
    if isinstance(headers, list):
        return [_mask_entry(entry) for entry in cast("list[Any]", headers)]
    return MASK if headers else headers


def _mask_entry(entry: Any) -> Any:
    match entry:
        case {"name": str(name), "value": value}:
            return {"name": name, "value": _mask_header(name, value)}
        case [str(name), value]:
            return [name, _mask_header(name, value)]
        case _:
            return MASK


def _mask_header(name: str, value: Any) -> Any:
    """Mask one header; a list of objects is no header value but payload that ended up among the headers."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return value
    return value if harmless_headers({name: value}) else MASK


def _mask_fragment(raw: bytes) -> bytes:
    """Keep only the payload of a JSON fragment, where a name may be torn from its value, and mask the rest."""
    beginning = _BEGINNING.match(raw)
    is_payload = beginning is not None and _is_prose(beginning[0])
    pieces: list[bytes] = []
    at = 0
    for name in _FIELD_NAMES.finditer(raw):
        pieces.append(raw[at : name.start()] if is_payload else _MASK_BYTES)
        pieces.append(name[0])
        is_payload = name[1] is not None
        at = name.end()
    pieces.append(raw[at:] if is_payload else _MASK_BYTES)
    return b"".join(pieces)


def _is_prose(text: bytes) -> bool:
    """Return whether the text is prose, not the rest of a header."""
    return text.count(b" ") > 2 and b"=" not in text
