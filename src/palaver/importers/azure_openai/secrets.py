"""Secrets in rows: what of a column may be kept, and a run that sets nothing aside before secrets in it are masked."""

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from palaver.model.finding import FindingKind
from palaver.redact import MASK, kept_headers, masked_header, masked_headers, masked_url
from palaver.sources.run import Run

_PAIR = re.compile(r'((?:\\+"|"")|")([^"\\\r\n]{1,80})\1(\s*:\s*)\1([^"\\]+)')
_LINE = re.compile(r"(?<![A-Za-z0-9-])([A-Za-z][A-Za-z0-9-]{2,60})(: ?)(?!//)([^\r\n\"\\,{\[]+)")
_PARAMETER = re.compile(r"([?&;])([^\s=&?;\"\\]{1,80})=([^\s&;\"\\#]+)")
_USER = re.compile(r"(://)[^/\s\"\\@]+@")
_TOKEN = re.compile(
    r"(?<=\bbearer )[\w.~+/=-]{6,}|(?<=\bbasic )[\w+/=-]{8,}|\bsk-[\w-]{8,}|\beyJ[\w-]{8,}\.[\w.-]+|\b[0-9a-f]{32}\b",
    re.IGNORECASE,
)
"""What is a secret wherever it stands, by its own looks; an access key of Azure has 32 digits."""
_SHORTEST_TOKEN = 11
_LONGEST_WORDS = 200
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE).fullmatch
_DEEPEST = 8


def kept_value(name: str, value: Any, depth: int = 0) -> Any:
    """A column's value without what may be a secret; None where nothing remains."""
    if "header" in name.lower():
        return kept_headers(_headers(value)) or None
    match value:
        case str():
            if _is_secret(name):
                return None
            if "://" in value and _URL(value):
                return masked_url(value)
            # Headers may stand in a column of any name, as the text of an object.
            return masked_text(value) if value.startswith(("{", "[")) else masked_prose(value)
        case dict() if depth < _DEEPEST:
            kept = {key: kept_value(str(key), item, depth + 1) for key, item in value.items()}
            return {key: item for key, item in kept.items() if item is not None} or None
        case list() if depth < _DEEPEST:
            if all(isinstance(item, list) and len(item) == 2 for item in value):
                return masked_headers(value) or None
            return [kept_value(name, item, depth + 1) for item in value] or None
        case dict() | list():
            return None
        case _:
            return value


def headers_of(value: Any) -> dict[str, str]:
    """The harmless ones of a column that holds headers, in whatever form."""
    return kept_headers(_headers(value))


def _headers(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            lines = (line.partition(":") for line in value.splitlines())
            return {name.strip(): text.strip() for name, colon, text in lines if colon}
    match value:
        case dict():
            # A header may come more than once.
            return {name: item[0] if isinstance(item, list) and item else item for name, item in value.items()}
        case list():
            pairs = [item for item in value if isinstance(item, list) and len(item) == 2]
            named = [(item.get("name"), item.get("value")) for item in value if isinstance(item, dict)]
            return {name: text for name, text in (*pairs, *named) if isinstance(name, str)}
        case _:
            return {}


class MaskedRun(Run):
    """The same run, for readers that set bytes aside as they are."""

    def __init__(self, run: Run) -> None:
        vars(self).update(vars(run))

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        super().note(kind, where, masked_text(message), kept=kept)

    def set_aside(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        super().set_aside(kind, masked_bytes(raw), where, masked_text(message))


def masked_bytes(raw: bytes) -> bytes:
    """Bytes of whatever damaged form, with masks in place of what may be secrets."""
    text = raw.decode("utf-8", "surrogateescape")
    masked = masked_text(text)
    return raw if masked == text else masked.encode("utf-8", "surrogateescape")


def masked_text(text: str) -> str:
    text = _PAIR.sub(_masked_pair, text)
    text = _LINE.sub(_masked_line, text)
    text = _PARAMETER.sub(_masked_parameter, text)
    text = _USER.sub(r"\1", text)
    return masked_prose(text)


def masked_prose(text: str) -> str:
    """A sentence, with masks in place of keys and tokens that it quotes."""
    if len(text) < _SHORTEST_TOKEN:
        return text
    return _masked_words(text) if len(text) < _LONGEST_WORDS else _TOKEN.sub(MASK, text)


@lru_cache(1 << 10)
def _masked_words(text: str) -> str:
    """A few words, such as most columns have again and again."""
    return _TOKEN.sub(MASK, text)


def _masked_pair(pair: re.Match[str]) -> str:
    quote, name, colon, _ = pair.groups()
    return f"{quote}{name}{quote}{colon}{quote}{MASK}" if _is_secret(name) else pair[0]


def _masked_line(line: re.Match[str]) -> str:
    name, colon, _ = line.groups()
    return f"{name}{colon}{MASK}" if _is_secret(name) else line[0]


@cache
def _is_secret(name: str) -> bool:
    return masked_header(name, "") == MASK


def _masked_parameter(parameter: re.Match[str]) -> str:
    mark, name, value = parameter.groups()
    return f"{mark}{masked_url(f'?{name}={value}')[1:]}"
