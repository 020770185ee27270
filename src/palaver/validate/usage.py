"""Usage records on their way: each is valid against the published schema, or is made so, or is set aside."""

from collections.abc import Callable
from typing import Any

import orjson

from palaver.model.finding import finding_kind
from palaver.sources.run import Run
from palaver.validate.repair import Note, made_writable, moved
from palaver.validate.schema import is_valid, schema_errors

INVALID_USAGE = finding_kind(
    "invalid-usage-record", "error", "A usage record could not be made valid and was not kept."
)

Json = dict[str, Any]

_REQUIRED = ("schema_version", "usage_id", "kind", "started_at")
_ROUNDS = 8


def passed_on(record: Json, run: Run, take: Callable[[Json], Any]) -> bool:
    """Give a record to `take`, which encodes and keeps it; False when it was set aside instead."""
    try:
        if not is_valid(record, "usage"):
            raise ValueError  # noqa: TRY301 - one way for all that is not as it should be
        take(record)
    except (TypeError, ValueError):  # it is not valid, or cannot be written
        made_writable(record, run.note)
        if not _is_repaired(record, run.note):
            error = next(schema_errors(record, "usage"))
            problem = f"{error.pointer}: {error.message}"
            run.set_aside(INVALID_USAGE, orjson.dumps(record), "a usage record", problem)
            return False
        take(record)
    return True


def _is_repaired(record: Json, note: Note) -> bool:
    """Move what breaks the schema to the metadata, round by round."""
    for _ in range(_ROUNDS):
        if is_valid(record, "usage"):
            return True
        for error in list(schema_errors(record, "usage")):
            if error.path and error.path[0] not in _REQUIRED and error.path != ("platform", "name"):
                moved(record, error, record, note)
    return is_valid(record, "usage")
