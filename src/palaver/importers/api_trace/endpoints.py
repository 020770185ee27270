"""Addresses of the APIs: which requests ask a model, in which wire format, and which model."""

import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

PROMPT_FIELDS = ("messages", "contents", "input")
"""Fields of which every request to a model has one."""
COUNT_TOKENS, TEXT_COMPLETION, OTHER_TRAFFIC = "count-tokens", "text-completion", "other-traffic"
WEBSOCKET = "websocket"

_COUNT_TOKENS_PATH = re.compile(r"/count_tokens\b|:countTokens\b|/input_tokens\b|/count-tokens\b")
_OTHER_PATH = re.compile(
    r"/embeddings\b|:(?:batch)?[eE]mbedContents?\b|:predict\b|/moderations\b|/(?:images|audio|files|batches|models|"
    r"assistants|vector_stores|fine_tuning|rerank|realtime)(?:/[^:]*)?$"
)
_WIRES = (
    ("openai-chat", re.compile(r"/chat/completions$|/api/chat$")),
    ("openai-responses", re.compile(r"/responses$|/responses/compact$")),
    ("anthropic", re.compile(r"/messages$|/invoke(?:-with-response-stream)?$|:(?:streamR|r)awPredict$")),
    ("gemini", re.compile(r":(?:streamG|g)enerateContent$")),
)
_MODEL = re.compile(r"/model/([^/?]+)/|/publishers/[^/]+/models/([^/:?@]+)|/models/([^/:?@]+):|/deployments/([^/?]+)/")
_BEDROCK_PREFIX = re.compile(r"^(?:arn:[^/]*/)?(?:[a-z-]{2,12}\.)?anthropic\.")
_BEDROCK_SUFFIX = re.compile(r"(?:-v[0-9]+)?(?::[0-9]+)?$")


# Many requests go to few addresses, hence the caches.
@lru_cache(1 << 6)
def url_path(url: str) -> str:
    return re.split("[?#]", url, maxsplit=1)[0].rstrip("/")


def skip_rule(url: str, request: Any) -> str:
    """Return the rule under which a request is skipped as it asks no model, or "" if it may ask one."""
    path = url_path(url)
    if rule := _rule_of_path(path):
        return rule
    if (
        path.endswith("/completions")
        and isinstance(request, dict)
        and "prompt" in request
        and not is_model_request(request)
    ):
        return TEXT_COMPLETION
    return ""


@lru_cache(1 << 6)
def _rule_of_path(path: str) -> str:
    if _COUNT_TOKENS_PATH.search(path):
        return COUNT_TOKENS
    return OTHER_TRAFFIC if _OTHER_PATH.search(path) else ""


def is_model_request(request: Any) -> bool:
    return isinstance(request, dict) and any(field in request for field in PROMPT_FIELDS)


@lru_cache(1 << 6)
def wire_of_url(url: str) -> str | None:
    """Return the wire format of an address, or None if it does not show."""
    path = url_path(url)
    return next((wire for wire, pattern in _WIRES if pattern.search(path)), None)


def model_in_url(url: str) -> str | None:
    """Return the model named in an address, without Bedrock's prefixes and suffixes."""
    found = _MODEL.search(url)
    if found is None:
        return None
    stated = unquote(next(filter(None, found.groups())))
    bare = _BEDROCK_PREFIX.sub("", stated)
    return _BEDROCK_SUFFIX.sub("", bare) if bare != stated else stated
