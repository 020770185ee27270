"""A log's entry with masks where its secrets were: headers, cookies, credentials, and what addresses carry.

What was said to the model and by it is content, and stays; of a request's body only headers and credentials for other
services (tools that the API calls by itself) are masked.
"""

import re
from typing import Any

from palaver.redact import MASK, masked_header, masked_headers, masked_url

_BODIES = {"body", "body_raw", "chunk_data", "data", "streaming_details"}
_COOKIES = {"cookie", "cookies", "set-cookie", "set_cookie", "setcookie"}
_CREDENTIALS = {"authorization", "authorization_token", "proxy-authorization", "proxy_authorization"}
_MORE_CREDENTIALS = {"api_key", "api-key", "apikey", "x-api-key", "access_token", "bearer", "password", "token"}
_ADDRESSES = ("url", "uri", "href", "location", "referer", "referrer", "endpoint")
_PARAMETERS = {"query", "querystring", "query_string", "params", "parameters"}
_LONGEST_NAME = 100
_SCHEMA_TYPES = {"object", "string", "array"}
_TEXT = r'"((?:[^"\\]|\\.)*)'
_FIELD = re.compile(rf'{_TEXT}"(\s*:\s*){_TEXT}("|\\?$)')
_LIST = re.compile(rf'{_TEXT}"(\s*:\s*\[)((?:\s*{_TEXT}(?:"|\\?$)\s*,?)+)')
_PAIR = re.compile(rf'{_TEXT}"(\s*,\s*){_TEXT}("|\\?$)')
_TEXTS = {"chunk_data", "event_type", "logged_at", "timestamp", "request_id"}


def masked_entry(entry: Any) -> Any:
    """The entry itself, masked in its place."""
    # Without recursion: an entry may be nested as deeply as the reader allows.
    waiting: list[tuple[Any, bool]] = [(entry, False)]
    while waiting:
        value, is_content = waiting.pop()
        if isinstance(value, list):
            waiting += [(one, is_content) for one in value if isinstance(one, dict | list)]
            continue
        for name, within in value.items():
            masked = _masked(name.lower(), within, is_content=is_content)
            if masked is not within:
                value[name] = masked
            elif isinstance(within, dict | list):
                waiting.append((within, is_content or name.lower() in _BODIES))
    return entry


def masked_text(text: str) -> str:
    """A record that cannot be read, with masks for what its fields would have masked, wherever it was torn."""
    text = _LIST.sub(_masked_list, text)
    return _PAIR.sub(_masked_words, _FIELD.sub(_masked_field, text))


def _masked(name: str, value: Any, *, is_content: bool) -> Any:
    if name.endswith("headers"):
        return value if is_content and not _is_like_headers(value) else masked_headers(value)
    if name in _CREDENTIALS:
        return MASK if isinstance(value, str) and value else value
    if is_content:
        return masked_url(value) if name == "server_url" and isinstance(value, str) else value
    if name in _COOKIES or name in _MORE_CREDENTIALS:
        return MASK if value else value
    if isinstance(value, str) and name.endswith(_ADDRESSES):
        return masked_url(value)
    if name in _PARAMETERS:
        return _masked_parameters(value)
    return value


def _is_like_headers(value: Any) -> bool:
    """Whether it is headers, and not the description of an argument that is called so."""
    if isinstance(value, dict):
        is_schema = value.get("type") in _SCHEMA_TYPES if isinstance(value.get("type"), str) else False
        return not is_schema and all(isinstance(one, str | int | float | list | None) for one in value.values())
    return isinstance(value, list)


def _masked_parameters(value: Any) -> Any:
    if isinstance(value, str):
        return masked_url(f"?{value.removeprefix('?')}")[1:] if value else value
    if isinstance(value, dict):
        return {name: _masked_parameter(name, one) for name, one in value.items()}
    if isinstance(value, list):
        return [_masked_pair(pair) for pair in value]
    return value


def _masked_pair(pair: Any) -> Any:
    match pair:
        case [str(name), value]:
            return [name, _masked_parameter(name, value)]
        case {"name": str(name), "value": value}:
            return {**pair, "value": _masked_parameter(name, value)}
        case _:
            return MASK


def _masked_parameter(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return MASK if isinstance(value, dict | list) else value
    return masked_url(f"?{name}={value}").partition("=")[2]


def _masked_list(found: re.Match[str]) -> str:
    name, opening = found[1], found[2]
    return found[0] if name in _TEXTS or not _is_masked(name) else f'"{name}"{opening}"{MASK}"'


def _masked_field(found: re.Match[str]) -> str:
    name, between, value, end = found.groups()
    if name in _TEXTS:
        return found[0]
    if name.lower().endswith(_ADDRESSES):
        masked: Any = masked_url(value)
    else:
        # The value of a header that is written as a pair of a name and a value.
        masked = MASK if name == "value" else masked_header(name, value)
    return f'"{name}"{between}"{masked}{end}'


def _masked_words(found: re.Match[str]) -> str:
    name, between, _, end = found.groups()
    return f'"{name}"{between}"{MASK}{end}' if _is_masked(name) else found[0]


def _is_masked(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and masked_header(name, "") == MASK
