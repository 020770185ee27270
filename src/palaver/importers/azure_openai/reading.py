"""From rows to conversations: rows are gathered by their ids, made into calls, and these joined to conversations."""

from collections.abc import Iterator

from palaver.importers._shared.calls import kept_apart
from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.azure_openai.calls import NoContentError, NoConversationError, UnreadableError, call_of
from palaver.importers.azure_openai.custom import FieldMap, field_map
from palaver.importers.azure_openai.envelopes import rows_of
from palaver.importers.azure_openai.formats import is_spoken
from palaver.importers.azure_openai.groups import Parts, distinct, parted
from palaver.importers.azure_openai.row import Row
from palaver.importers.azure_openai.secrets import MaskedRun
from palaver.importers.azure_openai.usage import usage_of
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, Spill
from palaver.threads.call import Call
from palaver.threads.conversations import Threads
from palaver.threads.literal import literal_document

REPEATED_ID = finding_kind(
    "repeated-call-id", "note", "Calls that differ have the same correlation id; each is kept, the later with a number."
)


PLATFORM = "azure_openai"
_OVERHEAD_BYTES = 1_000
"""What a row takes beside its texts."""
_LIMIT_BYTES = LIMIT_BYTES // 2
"""Of rows, and of what was made of them: both are held at a time."""


def conversations(
    source: Source, run: Run, *, is_threaded: bool, limit_bytes: int = _LIMIT_BYTES
) -> Iterator[JsonObject]:
    time = source.written_at()
    if not is_threaded:
        for call in calls(source, run, limit_bytes=limit_bytes):
            with kept_apart(call, run):
                yield literal_document(call, PLATFORM, time)
        return
    with Threads(PLATFORM, run.note, time, limit_bytes=limit_bytes) as threads:
        for call in calls(source, run, limit_bytes=limit_bytes):
            with kept_apart(call, run):
                threads.add(call)
        yield from threads.documents()


def calls(source: Source, run: Run, *, limit_bytes: int = _LIMIT_BYTES) -> Iterator[Call]:
    """The calls that a log tells of, in no certain order; in memory are a part of the rows only."""
    masked = MaskedRun(run)
    time = source.written_at()
    with Spill(limit_bytes) as spill:
        for row in rows_of(source, masked, _fields(run)):
            group = row.group
            row.pack()
            spill.add(group, row, row.size_bytes + _OVERHEAD_BYTES)
        for _, rows in spill.groups():
            yield from _Group(rows, masked, time).calls()


def _fields(run: Run) -> FieldMap:
    return field_map(getattr(run.options, "fields", ""))


class _Group:
    """The rows of one id."""

    def __init__(self, rows: list[Row], run: Run, time: str) -> None:
        self._run = run
        self._time = time
        """Where no row states one."""
        self._rows = distinct(rows)
        self._copies = len(rows) - len(self._rows)

    def calls(self) -> Iterator[Call]:
        if self._copies:
            self._run.folded("the same row", self._copies)
        found = 0
        for parts in parted(self._rows):
            call = self._call(parts)
            if call is not None:
                found += 1
                if found > 1:
                    self._run.note(REPEATED_ID, call.where, call.call_id)
                    call.call_id = f"{call.call_id}#{found}"
                yield call

    def _call(self, parts: Parts) -> Call | None:
        """The call of some rows, each of which has its disposition afterwards."""
        rows = parts.rows
        if not parts.has_content:
            self._use(parts)
            return None
        try:
            call = call_of(parts, self._run)
        except NoContentError:
            self._use(parts)
        except NoConversationError:
            self._run.skipped("no-conversation", len(rows))
        except UnreadableError:
            self._set_aside(rows)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other calls
            for row in rows:
                self._run.quarantined(UNFORESEEN, row.content(), row.where, f"{type(error).__name__}: {error}")
        else:
            self._run.mapped()
            if len(rows) > 1:
                self._run.folded("its call", len(rows) - 1)
            return call
        return None

    def _set_aside(self, rows: list[Row]) -> None:
        for row in rows:
            self._run.quarantined(BAD_CONVERSATION, row.content(), row.where, "a call in no format that is known")

    def _use(self, parts: Parts) -> None:
        """Give rows without content their dispositions: together they tell of one call, and what it used."""
        rows = parts.rows
        if any(is_spoken(row.columns) for row in rows):
            self._set_aside(rows)
            return
        record = usage_of(parts, self._run, PLATFORM, self._time)
        if record is None:
            for row in rows:
                self._run.skipped("other-log" if row.table == "other" else "no-content")
            return
        self._run.used(record)
        self._run.mapped()
        if len(rows) > 1:
            self._run.folded("its call", len(rows) - 1)
