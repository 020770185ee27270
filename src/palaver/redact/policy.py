"""Secrets of HTTP messages: which headers and which parts of URLs may be stored.

Documents contain only headers known to be harmless (`harmless_headers`), and URLs without user, password and fragment,
in which only harmless parameters keep their values (`mask_url`). A log that is rewritten keeps all headers; the values
of those that may hold a secret are masked (`mask_headers`).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

MASK = "[masked]"

_SECRET_NAME = re.compile(
    r"auth|cookie|key|token|secret|session|credential|passw|passphrase|pwd|signature|bearer|jwt|otp|csrf|xsrf|"
    r"account|identity|principal|certificate|client-cert|assertion|nonce",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"(?:bearer|basic|digest|negotiate|token)\s+\S|sk-[A-Za-z0-9_-]{8}|eyJ[A-Za-z0-9_-]{8,999}\.|AIza[0-9A-Za-z_-]{8}|"
    r"gh[pousr]_[A-Za-z0-9]{8}|xox[abprs]-|AKIA[0-9A-Z]{8}|-----BEGIN|"
    # A named key, as in a query, in JSON or in the name of a WebSocket's protocol.
    r"(?:key|token|secret|passw(?:or)?d|\bpass|pwd|\bsig|signature|credentials?|jwt|\bauth|authorization|bearer|cookie|"
    r"\botp|jsessionid|phpsessid|\bsid)(?:=|[\"']\s*:\s*)"
    r"(?!\[masked\])[\"']?[^\s\"'&;,]|"
    r"api-?key[.\s]\s*\S|bearer[.,]\s*\S|"
    # The user and the password of an address.
    r"//[^\s/?#@]+@|(?<!mailto):[^\s/:@]+@",
    re.IGNORECASE,
)
_HARMLESS_HEADERS = re.compile(
    r"(?:(?:anthropic-|x-)?(?:request-id|ms-request-id|correlation-id|ms-correlation-request-id)|apim-request-id|"
    r"x-ms-(?:region|deployment-name|rai-invoked|client-request-id|served-model|gateway-region)|azureml-model-session|"
    r"azureml-served-by-cluster|azureml-model-group|x-ratelimit-[a-z0-9_-]+|anthropic-ratelimit-[a-z0-9-]+|"
    r"anthropic-(?:priority|fast)-(?:in|out)put-tokens-(?:limit|remaining|reset)|retry-after(?:-ms)?|"
    r"openai-(?:model|version|processing-ms)|anthropic-(?:version|beta)|content-(?:type|length|encoding)|date|"
    r"user-agent|x-app|x-stainless-(?:lang|os|arch|runtime|runtime-version|package-version|retry-count)|"
    r"x-content-type-options|transfer-encoding)",
    re.IGNORECASE,
)
_URL = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?:[^/?#\s\"]*@)?(?:\[[0-9A-Fa-f:.]+(?:%25\w+)?\]|[^/?#:@\s\"]*)(?::[0-9]*)?"
    r"(?:[/?#][^\s\"]*)?|"
    r"(?!//)[^:@?#\s\"]*(?:[?#][^\s\"]*)?"
)
"""A URL with a host, or one relative to the same host."""
_MAX_CACHED_LENGTH = 200
_MAX_DECODINGS = 4
_WORD = re.compile(r"[^\s<>\"']+")
_HARMLESS_PARAMETERS = re.compile(r"(?:api-version|beta|alt|stream|view|limit|purpose|order)", re.IGNORECASE)


def harmless_headers(headers: Any) -> dict[str, str]:
    """Return the harmless headers by their lower-case names, without anything that is not a header."""
    if not isinstance(headers, Mapping):
        return {}
    texts = {str(name).lower(): value for name, value in headers.items() if isinstance(value, str)}
    return {name: value for name, value in texts.items() if _is_harmless_header(name) and not _is_secret_value(value)}


def mask_headers(headers: Any) -> Any:
    """Return headers, given as a mapping or a list of pairs, with each value masked that may be a secret."""
    if isinstance(headers, Mapping):
        return {name: mask_header(str(name), value) for name, value in headers.items()}
    if isinstance(headers, list):
        return [_mask_entry(entry) for entry in headers]
    return MASK if isinstance(headers, str) and headers else headers


def mask_header(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [mask_header(name, item) for item in value]
    if _is_harmless_header(name) and not _is_secret_value(value):
        return value
    if _SECRET_NAME.search(name) or not isinstance(value, str | int | None):
        return MASK
    if not isinstance(value, str):
        return value
    # `location`, `link`, `referer` and others hold URLs: mask every word with a host or parameters as one.
    masked = _WORD.sub(_mask_word, value)
    return MASK if _is_secret_value(masked) else masked


@lru_cache(1 << 8)
def _is_harmless_header(name: str) -> bool:
    """Return whether a header may be stored; cached, because a log has few header names."""
    return _HARMLESS_HEADERS.fullmatch(name) is not None


def _mask_word(word: re.Match[str]) -> str:
    text = word[0]
    if _is_address(text):
        return mask_url(text)
    return MASK if "%" in text and _is_address(_decoded(text)) else text


def _is_address(word: str) -> bool:
    return "//" in word or "?" in word or "#" in word[1:]


def _mask_entry(entry: Any) -> Any:
    match entry:
        case [str(name), value]:
            return [name, mask_header(name, value)]
        case {"name": str(name), "value": value}:
            return {**entry, "value": mask_header(name, value)}
        case _:
            return MASK


def _is_secret_value(value: Any) -> bool:
    return isinstance(value, str) and (_is_secret_text_cached if len(value) < _MAX_CACHED_LENGTH else _is_secret_text)(
        value
    )


def _is_secret_text(text: str) -> bool:
    return _SECRET_VALUE.search(_decoded(text) if "%" in text else text) is not None


_is_secret_text_cached = lru_cache(1 << 10)(_is_secret_text)
"""Cached, because most headers of a log repeat their values."""


def _decoded(text: str) -> str:
    """Return a text without percent-encoding, which it may have several times, as a URL in the query of another one."""
    for _ in range(_MAX_DECODINGS):
        decoded = unquote(text)
        if decoded == text:
            break
        text = decoded
    return text


def mask_url(url: str) -> str:
    """Return a URL that shows where a request went, without credentials."""
    if not _URL.fullmatch(url):
        return MASK  # a secret may be anywhere in it
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    decoded = _decoded(parts.netloc)
    host = (decoded if "@" in decoded else parts.netloc).rpartition("@")[2]
    path = "/".join(map(_mask_step, parts.path.split("/")))
    query = "&".join(_mask_parameter(item) for item in re.split("[&;]", parts.query)) if parts.query else ""
    return urlunsplit((parts.scheme, host, path, query, ""))


def _mask_step(step: str) -> str:
    """Mask a step of a path; parameters may follow it, as in a query."""
    if _is_secret_value(step):
        return MASK
    name, *parameters = step.split(";")
    return ";".join((name, *map(_mask_parameter, parameters)))


def _mask_parameter(parameter: str) -> str:
    name, _, value = parameter.partition("=")
    if _HARMLESS_PARAMETERS.fullmatch(name) and not _is_secret_value(value):
        return parameter
    if not value.strip("="):
        return MASK  # a key may stand alone, perhaps in base64 with `=` at its end
    return f"{MASK if _is_secret_value(name) else name}={MASK}"
