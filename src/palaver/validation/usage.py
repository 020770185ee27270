"""Usage records on their way: each is valid against the published schema, or is made so, or is set aside."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.run import Run
from palaver.validation.repair import Note, made_writable, moved
from palaver.validation.schema import are_valid, is_valid, schema_errors

INVALID_USAGE = finding_kind(
    "invalid-usage-record", "error", "A usage record could not be made valid and was not kept."
)


_REQUIRED = ("schema_version", "usage_id", "kind", "started_at")
_ROUNDS = 8


def passed_on(records: Sequence[JsonObject], run: Run, take: Callable[[JsonObject], Any]) -> int:
    """Give records to `take`, which encodes and keeps each; how many there were that were not set aside instead."""
    passed = 0
    is_sure = _are_valid(records)
    for record in records:
        try:
            if not is_sure and not is_valid(record, "usage"):
                raise ValueError  # noqa: TRY301 - one way for all that is not as it should be
            take(record)
        except (TypeError, ValueError):  # it is not valid, or cannot be written
            if not _is_mended(record, run):
                continue
            take(record)
        passed += 1
    return passed


def _are_valid(records: Sequence[JsonObject]) -> bool:
    try:
        return are_valid(records, "usage")
    except (TypeError, ValueError):  # one of them is nested too deeply, or no Unicode
        return False


def _is_mended(record: JsonObject, run: Run) -> bool:
    """Make a record valid, and such that it can be written; else set it aside."""
    made_writable(record, run.note)
    if _is_repaired(record, run.note):
        return True
    error = next(schema_errors(record, "usage"))
    problem = f"{error.pointer}: {error.message}"
    run.set_aside(INVALID_USAGE, orjson.dumps(record), "a usage record", problem)
    return False


def _is_repaired(record: JsonObject, note: Note) -> bool:
    """Move what breaks the schema to the metadata, round by round."""
    for _ in range(_ROUNDS):
        if is_valid(record, "usage"):
            return True
        for error in list(schema_errors(record, "usage")):
            if error.path and error.path[0] not in _REQUIRED and error.path != ("platform", "name"):
                moved(record, error, record, note)
    return is_valid(record, "usage")
