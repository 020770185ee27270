"""Masks for the secrets of a log entry: headers, cookies, credentials, and what URLs carry.

Prompts and answers are content and stay; in a request body only headers and credentials for other services (tools that
the API calls by itself) are masked.
"""

import codecs
import re
from typing import Any

import msgspec

from palaver.model.build import JsonObject
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
_HEADERS = re.compile(r'(?<="headers")\s*:\s*\{[^{}]*', re.IGNORECASE)
_KEYS = frozenset({"key", "encoded_api_key", "connection_string", "connectionstring", "access_token", "password"})
_TOOL_KEYS = {
    "apikey",
    "api_key",
    "apikeystring",
    "api_key_string",
    "accesstoken",
    "access_token",
    "idtoken",
    "id_token",
}
_SERVICES: dict[str, frozenset[str]] = {
    "mcp_servers": frozenset({"url"}),
    "mcpservers": frozenset({"url"}),
    "data_sources": _KEYS,
    "datasources": _KEYS | {"embeddingkey"},
    "domain_secrets": frozenset({"value"}),
    "tools": frozenset(_TOOL_KEYS),
}
"""Lists of services that the API calls by itself, with the fields that hold their credentials: servers of Anthropic and
Gemini, Azure's sources of data (camel-case in its first versions), what OpenAI's containers may send to a domain, and
tools, of which Gemini's have keys for its searches. OpenAI's servers are tools with a `server_url`."""
_MCP_TOOL = "mcp_server"
"""The type of a tool that has the `url` of a server, in Gemini's interactions."""
_SETTING_ENDS = tuple(
    f'{name}"'.encode()
    for name in (
        *("headers", "server_url", _MCP_TOOL, *sorted(_SERVICES.keys() - {"tools"})),
        *sorted(_CREDENTIALS | _TOOL_KEYS),
    )
)
_MESSAGES = {"messages", "input", "contents", "system", "instructions"} | {
    *("content", "choices", "candidates", "output"),
}
"""Fields of a body with what people and models wrote, which stays as it is."""
_SCHEMAS = {"input_schema", "parameters", "function", "function_declarations", "functiondeclarations"}
"""Fields of tools with the schemas of functions, which are long and hold no credentials."""
_CONTENT_FIELDS = {"chunk_data", "event_type", "logged_at", "timestamp", "request_id"}


def mask_entry(entry: Any) -> Any:
    """Mask an entry in place and return it."""
    # No recursion: an entry may be nested as deeply as the reader allows.
    pending: list[tuple[Any, bool, str]] = [(entry, False, "")]
    while pending:
        value, is_content, service = pending.pop()
        if isinstance(value, list):
            pending += [(item, is_content, service) for item in value if isinstance(item, dict | list)]
            continue
        for name, inner in value.items():
            lower = name.lower()
            masked = _mask_field_value(lower, inner, is_content=is_content)
            if masked is inner and service:
                masked = _mask_service_field(service, value, lower, inner)
            if masked is not inner:
                value[name] = masked
                continue
            has_none = (is_content and lower in _MESSAGES) or (service == "tools" and lower in _SCHEMAS)
            if isinstance(inner, dict | list) and not has_none:
                kind = lower if lower in _SERVICES and isinstance(inner, list) else service
                pending.append((inner, is_content or lower in _BODIES, kind))
    return entry


def mask_request(request: JsonObject) -> None:
    """Mask the credentials for other services in the settings of a request in place; its messages stay."""
    mask_entry({"body": request})


def mask_settings(body: bytes) -> bytes:
    """Mask the credentials for other services in the JSON body of a request, which otherwise stays byte for byte."""
    whole = body.removeprefix(codecs.BOM_UTF8)
    if not whole.lstrip().startswith((b"{", b"[")) or not _has_settings(body):
        return body
    try:
        masked: Any = msgspec.json.decode(whole)
        mask_entry({"body": masked})
        return body if masked == msgspec.json.decode(whole) else encode_json(masked)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return mask_torn_settings(body)


def mask_torn_settings(body: bytes) -> bytes:
    """Mask the credentials for other services in a piece of JSON, by the names of its fields."""
    if not _has_settings(body):
        return body
    lower = body.lower()
    named = [names for kind, names in _SERVICES.items() if f'{kind}"'.encode() in lower]
    fields = {"server_url", *(["url"] if f'{_MCP_TOOL}"'.encode() in lower else ())}.union(*named)
    text = body.decode("utf-8", "surrogateescape")
    text = _HEADERS.sub(lambda found: _FIELD.sub(_mask_matched_header, found[0]), text)
    masked = mask_pairs(text, lambda name: is_secret_name(name) or name.lower() in fields)
    return masked.encode("utf-8", "surrogateescape")


def _has_settings(body: bytes) -> bool:
    """Return whether a body may hold credentials for other services; this is fast."""
    lower = body.lower()
    return any(end in lower for end in _SETTING_ENDS)


def mask_record_text(text: str) -> str:
    """Mask an unreadable record by the names of its fields, wherever it was torn."""
    text = _LIST.sub(_mask_matched_list, text)
    return _PAIR.sub(_mask_matched_pair, _FIELD.sub(_mask_matched_field, text))


def _mask_service_field(kind: str, settings: Any, name: str, value: Any) -> Any:
    """Mask a field in the settings of a service."""
    if name == "authentication" and kind in {"data_sources", "datasources"} and isinstance(value, dict):
        return {each: MASK if each != "type" and item else item for each, item in value.items()}
    if not isinstance(value, str) or not value:
        return value
    if name == "url":
        return mask_url(value) if "url" in _SERVICES[kind] or settings.get("type") == _MCP_TOOL else value
    return MASK if name in _SERVICES[kind] else value


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


def _mask_matched_header(found: re.Match[str]) -> str:
    name, between, value, end = found.groups()
    return f'"{name}"{between}"{mask_header(name, value)}{end}'


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
