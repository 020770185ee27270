"""`sessions.json`: the titles, times and folders of sessions, some of which have no file any more."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.errors import PalaverError
from palaver.importers._shared.findings import BAD_TIMESTAMP
from palaver.importers.continue_dev.fields import text_of
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import readable_timestamp
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.elements import elements_of
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import UNREADABLE_SIDE_FILE

MISSING_SESSION_FILE = finding_kind(
    "missing-session-file", "warning", "The index names a session whose file is not there; only its title is known."
)


class Row(NamedTuple):
    session_id: str
    title: str
    created_at: str
    """Empty where there is none, or none that can be read."""
    workspace: str
    is_old: bool
    """Whether it has the spelling that the product itself reads no more."""
    rest: JsonObject


def read_rows(source: Source, run: Run) -> Iterator[Row]:
    """The rows of the index, one record each; what is none is set aside."""
    try:
        with elements_of(source, run, label=source.file_name) as elements:
            for value in elements:
                if (row := row_of(value)) is None:
                    run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where(), "a row of the index without an id")
                    continue
                if not row.created_at and (stated := row.rest.get("dateCreated")) is not None:
                    run.note(BAD_TIMESTAMP, elements.where(), f"dateCreated {stated!r:.60}")
                yield row
    except (PalaverError, OSError) as error:
        run.note(UNREADABLE_SIDE_FILE, source.name, str(error), kept=False)


def row_of(value: Any) -> Row | None:
    if not isinstance(value, dict):
        return None
    is_old = "session_id" in value and not text_of(value, "sessionId")
    names = _OLD if is_old else _NEW
    session_id, title, created, workspace = names
    if not (stated := text_of(value, session_id)):
        return None
    created_at = readable_timestamp(value.get(created))
    rest = dict(value)
    for name in (session_id, *((created,) if created_at else ())):
        del rest[name]
    for name in (title, workspace):
        if isinstance(rest.get(name), str):
            del rest[name]
    return Row(stated, text_of(value, title), created_at, text_of(value, workspace), is_old, rest)


_NEW = ("sessionId", "title", "dateCreated", "workspaceDirectory")
_OLD = ("session_id", "title", "date_created", "workspace_directory")
