"""Masks for the secrets of a log entry: headers, cookies, credentials, and what URLs carry.

Prompts and answers are content and stay; in a request body only headers and credentials for other services (tools that
the API calls by itself) are masked.
"""

import re
from typing import Any

import msgspec

from palaver.redact.policy import MASK, mask_header, mask_headers, mask_url
from palaver.redact.text import is_secret_name, mask_pairs
from palaver.streams.details import encode_json

_BODIES = {"body", "body_raw", "chunk_data", "data", "streaming_details"}
_COOKIES = {"cookie", "cookies", "set-cookie", "set_cookie", "setcookie"}
_CREDENTIALS = {"authorization", "authorization_token", "proxy-authorization", "proxy_authorization"}
_MORE_CREDENTIALS = {"api_key", "api-key", "apikey", "x-api-key", "access_token", "bearer", "password", "token"}
_URL_SUFFIXES = ("url", "uri", "href", "location", "referer", "referrer", "endpoint")
_PARAMETERS = {"query", "querystring", "query_string", "params", "parameters"}
_MAX_NAME_LENGTH = 100
_SCHEMA_TYPES = {"object", "string", "array"}
_STRING = r'(?<!\\)"((?:[^"\\]|\\.)*)'
_FIELD = re.compile(rf'{_STRING}"(\s*:\s*){_STRING}("|\\?$)')
_LIST = re.compile(rf'{_STRING}"(\s*:\s*\[)((?:\s*{_STRING}(?:"|\\?$)\s*,?)+)')
_PAIR = re.compile(rf'{_STRING}"(\s*,\s*){_STRING}("|\\?$)')
_SERVICES = {
    "mcp_servers": {"url"},
    "data_sources": {"key", "encoded_api_key", "connection_string", "access_token", "password"},
    "domain_secrets": {"value"},
}
"""Lists of services that the API calls by itself, with the fields that hold their credentials: Anthropic's servers,
Azure's sources of data, what OpenAI's containers may send to a domain. OpenAI's servers are tools, in no such list."""
_SETTING_ENDS = tuple(f'{name}"'.encode() for name in ("headers", "server_url", *_SERVICES, *sorted(_CREDENTIALS)))
_CONTENT_FIELDS = {"chunk_data", "event_type", "logged_at", "timestamp", "request_id"}


def mask_entry(entry: Any) -> Any:
    """Mask an entry in place and return it."""
    # No recursion: an entry may be nested as deeply as the reader allows.
    pending: list[tuple[Any, bool]] = [(entry, False)]
    while pending:
        value, is_content = pending.pop()
        if isinstance(value, list):
            pending += [(item, is_content) for item in value if isinstance(item, dict | list)]
            continue
        for name, inner in value.items():
            masked = _mask_field_value(name.lower(), inner, is_content=is_content)
            if masked is not inner:
                value[name] = masked
            elif isinstance(inner, dict | list):
                if name.lower() in _SERVICES and isinstance(inner, list):
                    for service in inner:
                        _mask_service(name.lower(), service)
                pending.append((inner, is_content or name.lower() in _BODIES))
    return entry


def mask_settings(body: bytes) -> bytes:
    """Mask the credentials for other services in the JSON body of a request, which otherwise stays byte for byte."""
    lower = body.lower()
    if not body.lstrip().startswith((b"{", b"[")) or not any(end in lower for end in _SETTING_ENDS):
        return body
    try:
        masked: Any = msgspec.json.decode(body)
        mask_entry({"body": masked})
        return body if masked == msgspec.json.decode(body) else encode_json(masked)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # It may be cut off: go by the names of its fields.
        text = body.decode("utf-8", "surrogateescape")
        fields = {"server_url"}.union(*(names for kind, names in _SERVICES.items() if f'{kind}"'.encode() in lower))
        masked = mask_pairs(text, lambda name: is_secret_name(name) or name.lower() in fields)
        return masked.encode("utf-8", "surrogateescape")


def mask_record_text(text: str) -> str:
    """Mask an unreadable record by the names of its fields, wherever it was torn."""
    text = _LIST.sub(_mask_matched_list, text)
    return _PAIR.sub(_mask_matched_pair, _FIELD.sub(_mask_matched_field, text))


def _mask_service(kind: str, service: Any) -> None:
    """Mask the credentials of one service in place."""
    match kind, service:
        case "mcp_servers", {"url": str(url)}:
            service["url"] = mask_url(url)
        case "data_sources", {"parameters": {"authentication": dict(authentication)}}:
            authentication.update({name: MASK for name, value in authentication.items() if name != "type" and value})
        case "domain_secrets", {"value": str()}:
            service["value"] = MASK
        case _:
            pass


def _mask_field_value(name: str, value: Any, *, is_content: bool) -> Any:
    if name.endswith("headers"):
        return value if is_content and not _looks_like_headers(value) else mask_headers(value)
    if name in _CREDENTIALS:
        return MASK if isinstance(value, str) and value else value
    if is_content:
        return mask_url(value) if name == "server_url" and isinstance(value, str) else value
    if name in _COOKIES or name in _MORE_CREDENTIALS:
        return MASK if value else value
    if isinstance(value, str) and name.endswith(_URL_SUFFIXES):
        return mask_url(value)
    if name in _PARAMETERS:
        return _mask_parameters(value)
    return value


def _looks_like_headers(value: Any) -> bool:
    """Return whether a value is headers, and not the schema of an argument named "headers"."""
    if isinstance(value, dict):
        is_schema = value.get("type") in _SCHEMA_TYPES if isinstance(value.get("type"), str) else False
        return not is_schema and all(isinstance(item, str | int | float | list | None) for item in value.values())
    return isinstance(value, list)


def _mask_parameters(value: Any) -> Any:
    if isinstance(value, str):
        return mask_url(f"?{value.removeprefix('?')}")[1:] if value else value
    if isinstance(value, dict):
        return {name: _mask_parameter(name, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_mask_pair(pair) for pair in value]
    return value


def _mask_pair(pair: Any) -> Any:
    match pair:
        case [str(name), value]:
            return [name, _mask_parameter(name, value)]
        case {"name": str(name), "value": value}:
            return {**pair, "value": _mask_parameter(name, value)}
        case _:
            return MASK


def _mask_parameter(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return MASK if isinstance(value, dict | list) else value
    return mask_url(f"?{name}={value}").partition("=")[2]


def _mask_matched_list(found: re.Match[str]) -> str:
    name, opening = found[1], found[2]
    return found[0] if name in _CONTENT_FIELDS or not _is_secret_name(name) else f'"{name}"{opening}"{MASK}"'


def _mask_matched_field(found: re.Match[str]) -> str:
    name, between, value, end = found.groups()
    if name in _CONTENT_FIELDS:
        return found[0]
    if name.lower().endswith(_URL_SUFFIXES):
        masked: Any = mask_url(value)
    else:
        # "value" belongs to a header that is written as an object with "name" and "value".
        masked = MASK if name == "value" else mask_header(name, value)
    return f'"{name}"{between}"{masked}{end}'


def _mask_matched_pair(found: re.Match[str]) -> str:
    name, between, _, end = found.groups()
    return f'"{name}"{between}"{MASK}{end}' if _is_secret_name(name) else found[0]


def _is_secret_name(name: str) -> bool:
    return len(name) <= _MAX_NAME_LENGTH and mask_header(name, "") == MASK
