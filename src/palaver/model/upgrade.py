"""Upgrades of older documents to the current schema version, one function per step.

A step takes a document of one version and returns a new document of the next version; it does not change its argument.
"""

import re
from collections.abc import Callable

from palaver.errors import VersionError
from palaver.model import EXCHANGE_SCHEMA_VERSION, SCHEMA_VERSION
from palaver.model.build import Document

Step = Callable[[Document], Document]

# By version: the next version, and the step that leads to it.
STEPS: dict[str, tuple[str, Step]] = {}

_SEMVER = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


def upgrade(document: Document) -> Document:
    """Return the document in the current version; a current document is returned unchanged."""
    version = _version_of(document)
    while version != SCHEMA_VERSION:
        version, step = STEPS[version]
        document = {**step(document), "schema_version": version}
    return document


def upgrade_exchange(exchange: Document) -> Document:
    """Return an exchange of version 1.0.0 in the current version, and any other unchanged.

    In 1.0.0, the counts of Anthropic had the cache apart from the input, and one count for reading and writing it.
    """
    if exchange.get("schema_version") != "1.0.0":
        return exchange
    upgraded = {**exchange, "schema_version": EXCHANGE_SCHEMA_VERSION}
    match exchange:
        case {
            "provider": str(provider),
            "response": {"usage": {"input_tokens": int(tokens), "cached_tokens": int(cached)} as usage},
        } if provider.casefold() == "anthropic":
            data = usage.get("provider_data") or {}
            own = dict(data.get("anthropic") or {})
            own.pop("cache_read_input_tokens", None)
            written = own.pop("cache_creation_input_tokens", None)
            counts = {**usage, "input_tokens": tokens + cached, "cached_tokens": cached - (written or 0)}
            if written is not None:
                counts["cache_write_tokens"] = written
            if data:
                counts["provider_data"] = {**data, "anthropic": own}
            upgraded["response"] = {**exchange["response"], "usage": counts}
        case _:
            pass
    return upgraded


def _version_of(document: Document) -> str:
    version = document.get("schema_version")
    if version == SCHEMA_VERSION:
        return SCHEMA_VERSION
    if version is None:
        raise VersionError(f"the document has no schema_version ({_known_versions()}); is it a conversation document?")
    numbers = _SEMVER.fullmatch(version) if isinstance(version, str) else None
    if not isinstance(version, str) or numbers is None:
        raise VersionError(
            f"the document's schema_version is {_describe(version)} instead of three numbers ({_known_versions()}); "
            "correct the document or import its source again"
        )
    if version in STEPS:
        return version
    if tuple(map(int, numbers.groups())) > tuple(map(int, SCHEMA_VERSION.split("."))):
        raise VersionError(
            f"the document has schema_version {version!r}, newer than {_known_versions()}; upgrade palaver"
        )
    raise VersionError(
        f"the document has unknown schema_version {version!r} ({_known_versions()}); import its source again"
    )


def _known_versions() -> str:
    return "this palaver knows " + ", ".join([*STEPS, SCHEMA_VERSION])


def _describe(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float) else f"of type {type(value).__name__}"
    return text if len(text) <= 40 else text[:40] + "…"
