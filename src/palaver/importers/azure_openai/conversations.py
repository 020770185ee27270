"""The way from rows to conversations: group rows by id, build calls, and join the calls into conversations.

Calls without content become usage records.
"""

from collections.abc import Iterator

from palaver.importers._shared.call_errors import quarantine_on_error
from palaver.importers._shared.findings import BAD_CONVERSATION, UNFORESEEN
from palaver.importers.azure_openai.call_metadata import collect_metadata
from palaver.importers.azure_openai.calls import NoContentError, NoConversationError, UnknownFormatError, build_call
from palaver.importers.azure_openai.custom_rows import FieldMap, field_map
from palaver.importers.azure_openai.envelopes import read_rows
from palaver.importers.azure_openai.extra_columns import extra_columns
from palaver.importers.azure_openai.payload_formats import contains_message, is_model_path
from palaver.importers.azure_openai.row import Row
from palaver.importers.azure_openai.row_groups import CallRows, distinct_rows, split_calls
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.redact.text import mask_text
from palaver.sources.run import MaskedRun, Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, GroupSpill
from palaver.threads.call import Call
from palaver.threads.conversations import Threads
from palaver.threads.documents import literal_document

REPEATED_ID = finding_kind(
    "repeated-call-id",
    "note",
    "Different calls have the same correlation id; all are kept, and later ones are numbered.",
)

PLATFORM = "azure_openai"
_OVERHEAD_BYTES = 1_000
"""Memory of a row apart from its texts."""
_LIMIT_BYTES = LIMIT_BYTES // 2
"""Memory limit of rows, and again of the calls built from them: both are held at a time."""


def conversations(
    source: Source, run: Run, *, is_threaded: bool, limit_bytes: int = _LIMIT_BYTES
) -> Iterator[JsonObject]:
    time = source.written_at()
    masked = MaskedRun(run, mask_text)
    if not is_threaded:
        for call in calls(source, masked, limit_bytes=limit_bytes):
            with quarantine_on_error(call, masked):
                yield literal_document(call, PLATFORM, time)
        return
    # Findings of threads quote only call ids, some of which look like keys: masking would spoil them.
    with Threads(PLATFORM, run.note, time, limit_bytes=limit_bytes) as threads:
        for call in calls(source, masked, limit_bytes=limit_bytes):
            with quarantine_on_error(call, masked):
                threads.add(call)
        yield from threads.documents()


def calls(source: Source, run: MaskedRun, *, limit_bytes: int = _LIMIT_BYTES) -> Iterator[Call]:
    """Yield the calls of a log in no particular order; rows beyond the limit spill to disk."""
    time = source.written_at()
    with GroupSpill(limit_bytes) as spill:
        for row in read_rows(source, run, _fields(run)):
            group = row.group
            row.pack_messages()
            spill.add(group, row, row.size_bytes + _OVERHEAD_BYTES)
        for _, rows in spill.groups():
            yield from _Group(rows, run, time).calls()


def _fields(run: Run) -> FieldMap:
    return field_map(getattr(run.options, "fields", ""))


class _Group:
    """The rows of one correlation id."""

    def __init__(self, rows: list[Row], run: Run, time: str) -> None:
        self._run = run
        self._time = time
        """Used if no row has a time."""
        self._rows = distinct_rows(rows)
        self._copies = len(rows) - len(self._rows)

    def calls(self) -> Iterator[Call]:
        if self._copies:
            self._run.folded("the same row", self._copies)
        found = 0
        for call_rows in split_calls(self._rows):
            call = self._build_call(call_rows)
            if call is not None:
                found += 1
                if found > 1:
                    self._run.note(REPEATED_ID, call.where, call.call_id)
                    call.call_id = f"{call.call_id}#{found}"
                yield call

    def _build_call(self, call_rows: CallRows) -> Call | None:
        """Build a call, and count its rows on the run; None if it has no content or cannot be built."""
        rows = call_rows.rows
        if not call_rows.has_content:
            self._record_usage(call_rows)
            return None
        try:
            call = build_call(call_rows, self._run)
        except NoContentError:
            self._record_usage(call_rows)
        except NoConversationError:
            self._run.skipped("no-conversation", len(rows))
        except UnknownFormatError:
            self._quarantine(rows)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other calls
            for row in rows:
                self._run.quarantined(UNFORESEEN, row.content(), row.where, f"{type(error).__name__}: {error}")
        else:
            self._run.mapped()
            if len(rows) > 1:
                self._run.folded("its call", len(rows) - 1)
            return call
        return None

    def _quarantine(self, rows: list[Row]) -> None:
        for row in rows:
            self._run.quarantined(BAD_CONVERSATION, row.content(), row.where, "a call in no format that is known")

    def _record_usage(self, call_rows: CallRows) -> None:
        """Record the usage of a call without content, and count its rows on the run."""
        rows = call_rows.rows
        if any(contains_message(row.columns) for row in rows):
            self._quarantine(rows)
            return
        record = usage_record(call_rows, self._run, PLATFORM, self._time)
        if record is None:
            for row in rows:
                self._run.skipped("other-log" if row.table == "other" else "no-content")
            return
        self._run.used(record)
        self._run.mapped()
        if len(rows) > 1:
            self._run.folded("its call", len(rows) - 1)


def usage_record(call_rows: CallRows, run: Run, platform: str, time: str) -> JsonObject | None:
    """Build the usage record of a call; None if it used no model."""
    metadata = collect_metadata(call_rows, run)
    model = metadata.text("modelname") or None
    deployment, tokens = metadata.deployment, metadata.tokens
    if not (model or deployment or tokens or is_model_path(metadata.path)):
        return None
    platform_fields: JsonObject = {"name": platform}
    if metadata.version:
        platform_fields["version"] = metadata.version
    if model:
        platform_fields["model"] = model
    if deployment:
        platform_fields["metadata"] = {"deployment": deployment}
    extra: JsonObject = {} if metadata.status is None else {"status_code": metadata.status}
    extra |= extra_columns(_with_head(call_rows))
    api_message_id: str | None = extra.pop("api_message_id", None)
    return build.usage(
        usage_id=metadata.call_id,
        platform=platform_fields,
        kind="request",
        started_at=metadata.started_at or time,
        ended_at=metadata.ended_at,
        subject=build.subject("caller", metadata.caller) if metadata.caller else None,
        model=model,
        request_id=metadata.call_id,
        api_message_id=api_message_id,
        tokens=tokens or None,
        duration_ms=metadata.duration_ms,
        metadata=extra or None,
    )


def _with_head(call_rows: CallRows) -> CallRows:
    """Return the rows with a head: without one, a row without content describes the call."""
    if call_rows.heads or not call_rows.others:
        return call_rows
    others = sorted(call_rows.others, key=lambda row: row.table == "resource")
    return CallRows(others[:1], call_rows.llm, others[1:])
