"""Masks for secrets in text: unparsable records, log columns, and messages that quote them.

A record may be torn anywhere, and its quotes may be escaped once or several times (JSON in a string, CSV cells), so
the text is not parsed but searched for names followed by values.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache

from palaver.redact.policy import MASK, mask_header, mask_url

_PAIR = re.compile(r'((?:^|")([^"\\\r\n]{1,80})\\*"("?)\s*:\s*\\*"\3)(?:[^"\\]++|\\[^"])++')
"""A name and its value. Quotes may be escaped any number of times, and the first may be torn off; CSV doubles them."""
_ATTRIBUTE = re.compile(
    r'((?:^|")([^"\\\r\n]{1,80})\\*"\s*,\s*\\*"value\\*"\s*:\s*\{\s*\\*"[a-zA-Z]+\\*"\s*:\s*\\*")(?:[^"\\]++|\\[^"])++'
)
"""An attribute in OpenTelemetry's JSON."""
_LINE = re.compile(r"(?<![A-Za-z0-9-])([A-Za-z][A-Za-z0-9-]{2,60})(: ?)(?!//)([^\r\n\"\\,{\[]+)")
_PARAMETER = re.compile(r"([?&;])([^\s=&?;\"\\]{1,80})=([^\s&;\"\\#]+)")
_USER = re.compile(r"(://)[^/\s\"\\@]+@")
_TOKEN = re.compile(
    r"(?<=\bbearer )[\w.~+/=-]{6,}|(?<=\bbasic )[\w+/=-]{8,}|\bsk-[\w-]{8,}|\beyJ[\w-]{8,999}\.[\w.-]+|"
    r"\b[0-9a-f]{32}\b",
    re.IGNORECASE,
)
"""A secret recognised by its shape; an Azure access key has 32 hexadecimal digits."""
_URL = re.compile(r"https?://[^\s\"'<>\\]+")
_QUOTED_END = re.compile(r"(?<![:\s])[:\s]*+(?:\b(?:bytearray\()?b['\"]|(?<=header value: )['\"]).*", re.DOTALL)
_MIN_TOKEN_LENGTH = 11
_MAX_CACHED_LENGTH = 200


@cache
def is_secret_name(name: str) -> bool:
    """Return whether any value of a header, column or field with this name is masked."""
    return mask_header(name, "") == MASK


def mask_text(text: str) -> str:
    """Mask the values of secret names, parameters and users in URLs, and tokens."""
    text = mask_pairs(text, is_secret_name)
    text = _LINE.sub(lambda line: f"{line[1]}{line[2]}{MASK}" if is_secret_name(line[1]) else line[0], text)
    text = _PARAMETER.sub(_mask_parameter, text)
    text = _USER.sub(r"\1", text)
    return mask_tokens(text)


def mask_pairs(text: str, is_secret: Callable[[str], bool]) -> str:
    """Mask the values of secret names in JSON, even if it is damaged, and in OpenTelemetry's attribute lists."""

    def mask_value(found: re.Match[str]) -> str:
        return f"{found[1]}{MASK}" if is_secret(found[2]) else found[0]

    return _PAIR.sub(mask_value, _ATTRIBUTE.sub(mask_value, text))


def mask_error(message: str) -> str:
    """Mask the credentials in the message of an error, without the bytes or the header that it quotes at its end."""
    text = mask_addresses(_QUOTED_END.sub("", message))
    # Clients also quote URLs without a host, and those of proxies.
    return mask_tokens(_USER.sub(r"\1", _PARAMETER.sub(_mask_parameter, text)))


def mask_addresses(text: str) -> str:
    """Mask the credentials in every URL of a text."""
    return _URL.sub(lambda found: mask_url(found[0]), text) if "://" in text else text


def mask_tokens(text: str) -> str:
    """Mask keys and tokens, recognised by their shape."""
    if len(text) < _MIN_TOKEN_LENGTH:
        return text
    return _mask_tokens_cached(text) if len(text) < _MAX_CACHED_LENGTH else _TOKEN.sub(MASK, text)


@lru_cache(1 << 10)
def _mask_tokens_cached(text: str) -> str:
    """Mask a short text; cached, because most log columns repeat a few values."""
    return _TOKEN.sub(MASK, text)


def _mask_parameter(parameter: re.Match[str]) -> str:
    separator, name, value = parameter.groups()
    return f"{separator}{mask_url(f'?{name}={value}')[1:]}"
