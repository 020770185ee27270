"""Names and sentences for what the schema refuses: faults that people know have a rule's name, others the keyword's.

The sentences about ids, times, content and roles are those of the mapping's own checks.
"""

import re
from typing import Any, NamedTuple

from palaver.model.rules import Path
from palaver.validation.schema import SchemaError


class NamedFault(NamedTuple):
    code: str
    message: str


def named(error: SchemaError, kind: str = "conversation") -> NamedFault:
    """What a fault is called, and the sentence that tells it without its pointer."""
    path = (*error.path, error.missing) if error.missing else error.path
    value = None if error.missing else error.value
    known = None
    if kind == "conversation":
        known = _in_conversation(path, value, error.keyword)
    elif kind == "exchange":
        known = _in_exchange(path, value)
    return known or NamedFault(f"schema-{_kebab(error.keyword)}", error.message)


def _in_conversation(path: Path, value: Any, keyword: str) -> NamedFault | None:
    match path:
        case ("conversation_id",) if not value:
            return NamedFault("missing-conversation-id", "Missing conversation_id")
        case ("platform",) | ("platform", "name") if not value:
            return NamedFault("missing-platform-name", "Missing platform name")
        case ("messages",) if not value:
            return NamedFault("no-messages", "No messages found")
        case ("schema_version",):
            told = "Missing schema_version" if value is None else f"{_shown(value)} is no version of the schema"
            return NamedFault("schema-version", told)
        case ("messages", int(index), "timestamp") if not value:
            return NamedFault("missing-timestamp", f"Message {index} missing timestamp")
        case ("messages", int(index), "message_id") if not value:
            return NamedFault("missing-message-id", f"Message {index} missing message_id")
        case ("messages", int(index), "content") if not value:
            return NamedFault("empty-content", f"Message {index} has empty content")
        case ("messages", int(index), "role"):
            return NamedFault("invalid-role", f"Message {index} has invalid role: {_shown(value)}")
        case ("messages", int(index), "tokens", *inner) if keyword == "minimum":
            name = " ".join(map(str, inner))
            return NamedFault("negative-tokens", f"Message {index} has negative {name}: {value}")
        case _:
            return None


def _in_exchange(path: Path, value: Any) -> NamedFault | None:
    match path:
        case ("request", "messages") if not value:
            return NamedFault("exchange-without-messages", "The request holds no message")
        case ("request", "model"):
            return NamedFault("exchange-without-model", "The request names no model")
        case ("response", "finish_reason"):
            return NamedFault("exchange-bad-finish-reason", f"The response ended with {_shown(value)}")
        case _:
            return None


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else "null" if value is None else repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _kebab(keyword: str) -> str:
    """`minItems` as `min-items`."""
    return re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", keyword.lstrip("$"))
