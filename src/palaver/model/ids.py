"""Identifiers made the same way every time, for platforms that have none of their own."""

import hashlib
import uuid

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
_BEGUN = hashlib.sha1(NAMESPACE.bytes, usedforsecurity=False)
_VARIANT = {digit: "89ab"[number % 4] for number, digit in enumerate("0123456789abcdef")}


def deterministic_uuid(text: str) -> str:
    """The version 5 UUID of a text; unlike `uuid.uuid5` it also takes lone surrogates, which damaged sources hold."""
    digest = _BEGUN.copy()  # which takes less time than another beginning
    digest.update(text.encode("utf-8", "surrogatepass"))
    digits = digest.hexdigest()
    # What `uuid.UUID(bytes=..., version=5)` writes, without its cost.
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:32]}"


def conversation_uuid(platform: str, timestamp: object, identifier: object) -> str:
    return deterministic_uuid(f"{platform}-{timestamp}-{identifier}")
