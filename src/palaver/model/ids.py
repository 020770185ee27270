"""Deterministic identifiers: for platforms that have none of their own, and the hashes of cooked messages and tools."""

import hashlib
import json
import uuid

from palaver.model.build import JsonObject

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
_NAMESPACE_DIGEST = hashlib.sha1(NAMESPACE.bytes, usedforsecurity=False)
_VARIANT = {digit: "89ab"[number % 4] for number, digit in enumerate("0123456789abcdef")}


def deterministic_uuid(text: str) -> str:
    """Return the version 5 UUID of a text.

    Unlike `uuid.uuid5`, it accepts lone surrogates, which occur in damaged sources.
    """
    digest = _NAMESPACE_DIGEST.copy()  # faster than hashing the namespace again
    try:
        digest.update(text.encode("utf-8", "surrogatepass"))
    except AttributeError as error:
        raise TypeError(f"a UUID is made of a text, not of a value of type {type(text).__name__}") from error
    digits = digest.hexdigest()
    # The format of `uuid.UUID(bytes=..., version=5)`, without its cost.
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:32]}"


def conversation_uuid(platform: str, timestamp: object, identifier: object) -> str:
    return deterministic_uuid(f"{platform}-{timestamp}-{identifier}")


def is_platform_uuid(text: str) -> bool:
    """Return whether a text is a UUID that a platform gave, rather than one of `deterministic_uuid`."""
    try:
        return str(uuid.UUID(text)) == text and uuid.UUID(text).version != 5
    except ValueError:
        return False


MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_use_id", "is_error")
TOOL_FIELDS = ("name", "description", "parameters")


def message_hash(message: JsonObject) -> str:
    return _hash({name: message[name] for name in MESSAGE_FIELDS})


def tool_hash(tool: JsonObject) -> str:
    return _hash({name: tool[name] for name in TOOL_FIELDS})


def _hash(fields: JsonObject) -> str:
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
