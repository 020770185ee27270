"""Bedrock: AWS event streams as a log keeps them, and models as an address names them.

The stream is binary: a header of lengths and checksums (so it begins with two NUL bytes), then `{"bytes": "<base64>"}`
with an event of Anthropic's. A log that took it for text has broken the headers, not the payloads. The last event, or
the stream itself, may count the tokens under Amazon's names; that count is the one that is billed.
"""

import binascii
import re
from typing import Any
from urllib.parse import unquote

from palaver.model.build import JsonObject
from palaver.sources.parse import NOT_JSON, parse
from palaver.streams._contract import Event

_PAYLOAD = re.compile(rb'\{"bytes"\s*:\s*"([A-Za-z0-9+/=]*)("?)')
_METRICS = "amazon-bedrock-invocationMetrics"
_STATED = re.compile(rb'"amazon-bedrock-invocationMetrics"\s*:\s*(\{[^{}]*\})')
_COUNTS = {
    "inputTokenCount": "input_tokens",
    "outputTokenCount": "output_tokens",
    "cacheReadInputTokenCount": "cache_read_input_tokens",
    "cacheWriteInputTokenCount": "cache_creation_input_tokens",
}
_MODEL = re.compile(r"/model/([^/?]+)/|/publishers/[^/]+/models/([^/:?@]+)|/models/([^/:?@]+):|/deployments/([^/?]+)/")
_MAKER = re.compile(r"^(?:arn:[^/]*/)?(?:[a-z-]{2,12}\.)?anthropic\.")
_EDITION = re.compile(r"(?:-v[0-9]+)?(?::[0-9]+)?$")


def is_event_stream(body: bytes) -> bool:
    return body.startswith((b"\0\0", b"\xef\xbf\xbd\0")) or b'event{"bytes":' in body[:512]


def events_of_stream(body: bytes) -> tuple[list[Event], JsonObject]:
    """The events, and the tokens as Amazon counted them, by Anthropic's names."""
    events: list[Event] = []
    metrics: Any = None
    for found in _PAYLOAD.finditer(body):
        try:
            data = binascii.a2b_base64(found[1])
        except binascii.Error:
            data = found[1]
        events.append(Event("message", data, is_cut=not found[2]))
        if _METRICS.encode() in data:
            metrics = _parsed(data).get(_METRICS, metrics)
    if metrics is None and (stated := _STATED.search(body)):
        metrics = _parsed(stated[1])
    return events, counts_of(metrics)


def counts_of(metrics: Any) -> JsonObject:
    if not isinstance(metrics, dict):
        return {}
    return {name: metrics[theirs] for theirs, name in _COUNTS.items() if type(metrics.get(theirs)) is int}


def model_of(url: str) -> str | None:
    """The model that an address names, as its maker calls it."""
    found = _MODEL.search(url)
    if found is None:
        return None
    stated = unquote(next(filter(None, found.groups())))
    bare = _MAKER.sub("", stated)
    return _EDITION.sub("", bare) if bare != stated else stated


def _parsed(raw: bytes) -> JsonObject:
    try:
        value = parse(raw)
    except NOT_JSON:
        return {}
    return value if isinstance(value, dict) else {}
