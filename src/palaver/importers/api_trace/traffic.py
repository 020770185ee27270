"""Which requests are conversations: by what they hold, and by where they went where that is not enough."""

import re
from functools import lru_cache
from typing import Any

ASKING = ("messages", "contents", "input")
"""Fields of which a request that asks a model has one."""
COUNT_TOKENS, TEXT_COMPLETION, OTHER_TRAFFIC = "count-tokens", "text-completion", "other-traffic"

_COUNTING = re.compile(r"/count_tokens\b|:countTokens\b|/input_tokens\b|/count-tokens\b")
_OTHER = re.compile(
    r"/embeddings\b|:(?:batch)?[eE]mbedContents?\b|:predict\b|/moderations\b|/(?:images|audio|files|batches|models|"
    r"assistants|vector_stores|fine_tuning|rerank|realtime)(?:/[^:]*)?$"
)
_WIRES = (
    ("openai-chat", re.compile(r"/chat/completions$|/api/chat$")),
    ("openai-responses", re.compile(r"/responses$|/responses/compact$")),
    ("anthropic", re.compile(r"/messages$|/invoke(?:-with-response-stream)?$|:(?:streamR|r)awPredict$")),
    ("gemini", re.compile(r":(?:streamG|g)enerateContent$")),
)


# Many requests go to few addresses: what each of these says is looked up once.
@lru_cache(1 << 6)
def path_of(url: str) -> str:
    return re.split("[?#]", url, maxsplit=1)[0].rstrip("/")


def rule_for(url: str, request: Any) -> str:
    """The rule under which a request is left out because it asks no model; empty where it may ask one."""
    path = path_of(url)
    if rule := _rule_of(path):
        return rule
    if path.endswith("/completions") and isinstance(request, dict) and "prompt" in request and not asks(request):
        return TEXT_COMPLETION
    return ""


@lru_cache(1 << 6)
def _rule_of(path: str) -> str:
    if _COUNTING.search(path):
        return COUNT_TOKENS
    return OTHER_TRAFFIC if _OTHER.search(path) else ""


def asks(request: Any) -> bool:
    return isinstance(request, dict) and any(field in request for field in ASKING)


@lru_cache(1 << 6)
def wire_for(url: str) -> str | None:
    """The format that is spoken at an address; None where that does not tell."""
    path = path_of(url)
    return next((wire for wire, pattern in _WIRES if pattern.search(path)), None)
