"""The public library: conversations as typed objects."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import orjson

from palaver.errors import SourceError
from palaver.model.conversation import Conversation
from palaver.model.report import SourceReport
from palaver.validation.judge import Judge, Level, Verdict
from palaver.validation.schema import json_pointer
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines
from palaver.workflows.validate import platform_rules


@dataclass(frozen=True, slots=True)
class ValidationResult:
    valid: bool
    errors: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


def read(path: str | PathLike[str], platform: str | None = None, **options: Any) -> Iterator[Conversation]:
    """Yield the conversations at a path, whatever the platform; a long one may come in several fragments."""
    units, report = find_units([Path(path)], platform)
    if report.refused:
        raise SourceError("; ".join(report.refused))
    for unit in units:
        done = SourceReport(unit.source.label, unit.platform)
        for line in document_lines(unit, done, {name: str(value) for name, value in options.items()}):
            yield Conversation.model_validate(orjson.loads(line))
        if done.failure:
            raise SourceError(done.failure)


def validate(conversation: "Conversation | dict[str, Any]", level: str = "standard") -> ValidationResult:
    """Check a conversation, typed or plain, against the published schema and by all rules.

    At the level `strict` warnings make it invalid as well; `lenient` asks the schema only.
    """
    if isinstance(conversation, Conversation):
        document = conversation.model_dump(mode="json", exclude_unset=True)
    else:
        document = conversation
    chosen = Level(level)
    judging = Judge(chosen, platform_rules=platform_rules)
    verdicts = [*judging.judge(document), *(verdict for _, verdict in judging.close())]
    return ValidationResult(
        valid=not any(chosen.fails(verdict.severity) for verdict in verdicts),
        errors=[_sentence(verdict) for verdict in verdicts if verdict.severity == "error"],
        warnings=[_sentence(verdict) for verdict in verdicts if verdict.severity == "warning"],
    )


def _sentence(verdict: Verdict) -> str:
    """Return what is wrong, with the JSON pointer where the message is the schema's own."""
    is_named = verdict.stage == "rule" or not verdict.code.startswith("schema-") or verdict.code == "schema-version"
    return verdict.message if is_named else f"{json_pointer(verdict.path) or '/'}: {verdict.message}"
