"""Layout of Continue's folder: file names, and the index of sessions.

The index, `sessions.json`, holds the titles, times and workspaces of sessions, some of which no longer have a file.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.errors import PalaverError
from palaver.importers._shared.findings import BAD_TIMESTAMP, ODD_INDEX_ROW
from palaver.importers.continue_dev.fields import text_of
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.arrays.elements import open_elements
from palaver.sources.run import Run
from palaver.sources.small_files import UNREADABLE_SETTINGS
from palaver.sources.source import Source

SESSIONS, DEV_DATA = "sessions", "dev_data"
INDEX = "sessions.json"
CONFIGS = ("config.yaml", "config.json")
"""In order of precedence: only the first that exists is used."""
OTHER_CONFIG = "config.ts"
INPUT_HISTORY = "input_history.json"
SECRETS = ("auth.json", "permissions.yaml", ".env")
"""Files with keys or policies, which are never opened."""

EVENTS = {
    "chat": "chatFeedback",
    "tokens_generated": "tokensGenerated",
    **{
        name: name
        for name in (
            *("chatInteraction", "chatFeedback", "tokensGenerated", "toolUsage", "editInteraction", "editOutcome"),
            *("autocomplete", "quickEdit", "nextEditOutcome", "nextEditWithHistory"),
        )
    },
}
"""Event name by log file name; the first two file names are those of older versions."""


MISSING_SESSION_FILE = finding_kind(
    "missing-session-file", "warning", "The file of a session in the index is missing; only its title is known."
)


class IndexRow(NamedTuple):
    session_id: str
    title: str
    created_at: str
    """Empty if missing or unreadable."""
    workspace: str
    is_old: bool
    """Whether the row has the spelling of 2023, which Continue itself no longer reads."""
    unmapped: JsonObject


def read_index(source: Source, run: Run) -> Iterator[IndexRow]:
    """Yield the rows of the index, one record each, and skip what is not a row."""
    try:
        with open_elements(source, run, label=source.file_name) as elements:
            for value in elements:
                if (row := index_row(value)) is None:
                    run.note(ODD_INDEX_ROW, elements.where(), kept=False)
                    run.skipped("odd-index-row")
                    continue
                if not row.created_at and (stated := row.unmapped.get("dateCreated")) is not None:
                    run.note(BAD_TIMESTAMP, elements.where(), f"dateCreated {stated!r:.60}")
                yield row
    except (PalaverError, OSError) as error:
        run.note(UNREADABLE_SETTINGS, source.name, str(error), kept=False)


def index_row(value: Any) -> IndexRow | None:
    """Parse a row in either spelling; return None if the value is not an object with a session id."""
    if not isinstance(value, dict):
        return None
    is_old = "session_id" in value and not text_of(value, "sessionId")
    session_id, title, created, workspace = _OLD_FIELDS if is_old else _FIELDS
    if not (found_id := text_of(value, session_id)):
        return None
    created_at = timestamp_or_empty(value.get(created))
    rest = dict(value)
    for name in (session_id, *((created,) if created_at else ())):
        del rest[name]
    for name in (title, workspace):
        if isinstance(rest.get(name), str):
            del rest[name]
    return IndexRow(found_id, text_of(value, title), created_at, text_of(value, workspace), is_old, rest)


_FIELDS = ("sessionId", "title", "dateCreated", "workspaceDirectory")
_OLD_FIELDS = ("session_id", "title", "date_created", "workspace_directory")
