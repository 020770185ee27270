"""Secrets of HTTP messages: what of their headers and addresses may be kept.

Into documents go only headers that are known to be harmless (`kept_headers`), and addresses without user, password
and fragment, of whose parameters only harmless ones keep their values (`masked_url`). A log that is written again keeps
all of its headers; of those that may hold a secret, the value is masked (`masked_headers`).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

MASK = "[masked]"

_SECRET_NAME = re.compile(
    r"auth|cookie|key|token|secret|session|credential|passw|passphrase|pwd|signature|bearer|jwt|otp|csrf|xsrf|"
    r"account|identity|principal|certificate|client-cert|assertion|nonce",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"(?:bearer|basic|digest|negotiate|token)\s+\S|sk-[A-Za-z0-9_-]{8}|eyJ[A-Za-z0-9_-]{8,}\.|AIza[0-9A-Za-z_-]{8}|"
    r"gh[pousr]_[A-Za-z0-9]{8}|xox[abprs]-|AKIA[0-9A-Z]{8}|-----BEGIN",
    re.IGNORECASE,
)
_HARMLESS_HEADERS = re.compile(
    r"(?:(?:anthropic-|x-)?(?:request-id|ms-request-id|correlation-id|ms-correlation-request-id)|apim-request-id|"
    r"x-ms-(?:region|deployment-name|rai-invoked|client-request-id|served-model|gateway-region)|azureml-model-session|"
    r"azureml-served-by-cluster|azureml-model-group|x-ratelimit-[a-z-]+|anthropic-ratelimit-[a-z0-9-]+|retry-after(?:-ms)?|"
    r"openai-(?:model|version|processing-ms)|anthropic-(?:version|beta)|content-(?:type|length|encoding)|date|"
    r"user-agent|x-app|x-stainless-(?:lang|os|arch|runtime|runtime-version|package-version|retry-count)|"
    r"x-content-type-options|transfer-encoding)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?:[^/?#\s\"]*@)?[^/?#:@\s\"]*(?::[0-9]*)?(?:[/?#][^\s\"]*)?|"
    r"(?!//)[^:@?#\s\"]*(?:[?#][^\s\"]*)?"
)
"""One with a host, or a place on the same one."""
_LONGEST_KNOWN = 200
_WORD = re.compile(r"[^\s<>\"']+")
_HARMLESS_PARAMETERS = re.compile(r"(?:api-version|beta|alt|stream|view|limit|purpose|order)", re.IGNORECASE)


def kept_headers(headers: Any) -> dict[str, str]:
    """The harmless headers by their names in lower case; whatever is no header is left out."""
    if not isinstance(headers, Mapping):
        return {}
    texts = {str(name).lower(): value for name, value in headers.items() if isinstance(value, str)}
    return {name: value for name, value in texts.items() if _is_harmless(name) and not _is_secret(value)}


def masked_headers(headers: Any) -> Any:
    """The same headers, with a mask for each value that may be a secret; a list of pairs stays one."""
    if isinstance(headers, Mapping):
        return {name: masked_header(str(name), value) for name, value in headers.items()}
    if isinstance(headers, list):
        return [_masked_entry(entry) for entry in headers]
    return MASK if isinstance(headers, str) and headers else headers


def masked_header(name: str, value: Any) -> Any:
    if _is_harmless(name) and not _is_secret(value):
        return value
    if isinstance(value, list):
        return [masked_header(name, one) for one in value]
    is_secret = bool(_SECRET_NAME.search(name)) or _is_secret(value) or not isinstance(value, str | int | None)
    if is_secret:
        return MASK
    # Some send somewhere else (`location`, `link`, `referer`): whatever has a host or parameters may be an address.
    return _WORD.sub(_masked_word, value) if isinstance(value, str) else value


@lru_cache(1 << 8)
def _is_harmless(name: str) -> bool:
    """Whether a header is one of those that may be kept: most of a log's have few names."""
    return _HARMLESS_HEADERS.fullmatch(name) is not None


def _masked_word(word: re.Match[str]) -> str:
    return masked_url(word[0]) if "//" in word[0] or "?" in word[0] else word[0]


def _masked_entry(entry: Any) -> Any:
    match entry:
        case [str(name), value]:
            return [name, masked_header(name, value)]
        case {"name": str(name), "value": value}:
            return {**entry, "value": masked_header(name, value)}
        case _:
            return MASK


def _is_secret(value: Any) -> bool:
    return isinstance(value, str) and (_looks_secret if len(value) < _LONGEST_KNOWN else _seems_secret)(value)


def _seems_secret(text: str) -> bool:
    return _SECRET_VALUE.search(text) is not None


_looks_secret = lru_cache(1 << 10)(_seems_secret)
"""Most headers of a log have the same values."""


def masked_url(url: str) -> str:
    """An address that tells where a request went, and nothing that lets in."""
    if not _ADDRESS.fullmatch(url):
        return MASK  # it may hold anything anywhere
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    place = parts.netloc.rpartition("@")[2]
    path = "/".join(MASK if _is_secret(step) else step for step in parts.path.split("/"))
    query = "&".join(_masked_parameter(one) for one in re.split("[&;]", parts.query)) if parts.query else ""
    return urlunsplit((parts.scheme, place, path, query, ""))


def _masked_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    if not equals:
        return name if _HARMLESS_PARAMETERS.fullmatch(name) else MASK
    return f"{name}={value if _HARMLESS_PARAMETERS.fullmatch(name) and not _is_secret(value) else MASK}"
