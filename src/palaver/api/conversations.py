"""Conversations as typed objects, and what the mapping specification asks about their messages."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

import orjson

from palaver.config import config_path, load_config
from palaver.errors import ContentError, OptionError, SourceError
from palaver.model.build import JsonObject
from palaver.model.conversation import Conversation, Message
from palaver.model.report import SourceReport
from palaver.model.timestamps import milliseconds_of, normalize_timestamp
from palaver.prices import Prices
from palaver.threads.chain import canonical_json
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

    At the level `strict` warnings make it invalid as well; `lenient` asks the schema only. What is no object at all is
    invalid, too.
    """
    if level not in list(Level):
        raise OptionError(f"there is no level {level!r}; there are: {', '.join(Level)}")
    chosen = Level(level)
    document: Any = _plain(conversation)
    if not isinstance(document, dict):
        kind = type(document).__name__
        return ValidationResult(
            valid=False, errors=[f"A conversation document is an object, not a value of type {kind}"]
        )
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


def message_hash(message: "Message | JsonObject") -> str:
    """Return the SHA-256 of what a message says: its role and content, without its time."""
    role, content = _stated(message, "role", "content")
    return hashlib.sha256(canonical_json([role, content])).hexdigest()


def is_duplicate(first: "Message | JsonObject", second: "Message | JsonObject", window_ms: int = 5000) -> bool:
    """Return whether two messages say the same within a window of time."""
    _check_type(window_ms, int | float, "window_ms is a number of milliseconds")
    stamps = [stamp for message in (first, second) for stamp in _stated(message, "timestamp")]
    times = [milliseconds_of(normalize_timestamp(stamp)) for stamp in stamps]
    return abs(times[0] - times[1]) <= window_ms and message_hash(first) == message_hash(second)


def calculate_cost(
    tokens: Mapping[str, Any], model: str, at: str | None = None, platform: str | None = None
) -> Decimal | None:
    """Return what one request with these `tokens` of a message costs, in USD; None if no price is known.

    Prices are those in the user's `config.toml`, else the public ones, at the time `at`, else now. The platform decides
    whose model a bare name means.
    """
    _check_type(tokens, Mapping, "tokens are a mapping of counts")
    for name, count in tokens.items():
        if str(name).endswith("_tokens"):
            _check_type(count, int | float | None, f"{name} is a number")
    _check_type(model, str, "a model is a text")
    found = _prices(config_path()).cost(model, tokens, at, platform)
    return found.amount if found else None


@cache
def _prices(config: Path) -> Prices:
    return Prices(load_config(config))


def _check_type(value: object, kind: Any, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what}, not a value of type {type(value).__name__}")


def _stated(message: Any, *names: str) -> list[Any]:
    """Return fields of a message that it must have."""
    document = _plain(message)
    if not isinstance(document, Mapping):
        raise ContentError(f"a message is an object, not a value of type {type(document).__name__}")
    if missing := [name for name in names if name not in document]:
        raise ContentError(f"a message has a {missing[0]}, and this one has none")
    return [document[name] for name in names]


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", exclude_unset=True) if isinstance(value, Conversation | Message) else value
