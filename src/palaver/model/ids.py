"""Identifiers made the same way every time, for platforms that have none of their own."""

import hashlib
import uuid

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def deterministic_uuid(text: str) -> str:
    """The version 5 UUID of a text; unlike `uuid.uuid5` it also takes lone surrogates, which damaged sources hold."""
    name = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(NAMESPACE.bytes + name, usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def conversation_uuid(platform: str, timestamp: object, identifier: object) -> str:
    return deterministic_uuid(f"{platform}-{timestamp}-{identifier}")
