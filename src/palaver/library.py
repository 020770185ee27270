"""palaver as a library: conversations as typed objects."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import orjson

from palaver.errors import SourceError
from palaver.model.conversation import Conversation
from palaver.model.report import SourceReport
from palaver.pipeline import documents, find
from palaver.validate.schema import schema_errors


@dataclass(frozen=True, slots=True)
class ValidationResult:
    valid: bool
    errors: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


def read(path: str | PathLike[str], platform: str | None = None, **options: Any) -> Iterator[Conversation]:
    """Yield the conversations at a path, whatever the platform; a long one may come in several fragments."""
    units, report = find([Path(path)], platform)
    if report.refused:
        raise SourceError("; ".join(report.refused))
    for unit in units:
        done = SourceReport(unit.source.label, unit.platform)
        for line in documents(unit, done, {name: str(value) for name, value in options.items()}):
            yield Conversation.model_validate(orjson.loads(line))
        if done.failure:
            raise SourceError(done.failure)


def validate(conversation: "Conversation | dict[str, Any]") -> ValidationResult:
    """Check a conversation, typed or plain, against the published schema."""
    if isinstance(conversation, Conversation):
        document = conversation.model_dump(mode="json", exclude_unset=True)
    else:
        document = conversation
    errors = [f"{error.pointer or '/'}: {error.message}" for error in schema_errors(document)]
    return ValidationResult(valid=not errors, errors=errors)
