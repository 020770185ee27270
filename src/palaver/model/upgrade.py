"""Upgrades of older documents to the current schema version, one function per step.

A step takes a document of one version and returns a new document of the next version; it does not change its argument.
"""

import re
from collections.abc import Callable

from palaver.errors import VersionError
from palaver.model import SCHEMA_VERSION
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
