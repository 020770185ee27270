"""Reads telemetry into conversations: groups events by request, requests into interactions, interactions into threads.

Neither the events of a request nor the requests of a file need to be adjacent: both are grouped in memory up to a
limit, and in a temporary file beyond it.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.importers.github_copilot.completions.events import (
    Event,
    event_of,
    has_nested,
    is_completion_event,
    missing_field,
    plain_event,
)
from palaver.importers.github_copilot.completions.interaction import (
    fallback_request_id,
    interaction_of,
    without_duplicates,
)
from palaver.importers.github_copilot.completions.messages import interaction_messages, usage_record
from palaver.importers.github_copilot.completions.properties import REQUEST_IDS
from palaver.importers.github_copilot.completions.recognition import Layout, layout_of, records_of
from palaver.importers.github_copilot.completions.threads import Threads
from palaver.importers.github_copilot.raw_records import is_deep, mask_record
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT, TOO_DEEP
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import MaskedRun, Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, GroupSpill

BAD_EVENT = finding_kind("bad-event", "error", "A telemetry record is not an event; it is quarantined.")

DEFAULT_WINDOW_SECONDS = 300
_OTHER_IDS = REQUEST_IDS[1:]
_OVERHEAD_BYTES = 1_500
_MAX_REMEMBERED_IDS = 200_000
"""Limit for completion ids whose request is remembered, for events that name only the completion."""


def conversations(source: Source, run: Run, *, limit_bytes: int = LIMIT_BYTES) -> Iterator[JsonObject]:
    run = MaskedRun(run, mask_record)
    layout = cast("Layout", run.form.partition(":")[2]) or layout_of(source)
    time = source.written_at()
    threads = Threads(getattr(run.options, "window", DEFAULT_WINDOW_SECONDS), limit_bytes // 2)
    with GroupSpill(limit_bytes) as requests:
        with source.open() as stream:
            _EventGrouper(run, requests, limit_bytes // 2).group(_reader(stream, run, layout))
        for name, events in requests.groups():
            _add_interaction(name, events, threads, run, time)
    yield from threads.documents()


def _reader(stream: BinaryIO, run: Run, layout: Layout) -> JsonLines | JsonElements:
    match layout:
        case "lines":
            return JsonLines(stream, run)
        case "array":
            return JsonElements(stream, run, accepts_truncated=True)
        case "events":
            return JsonElements(stream, run, ("events",), accepts_truncated=True)


class _EventGrouper:
    """Groups events by request."""

    def __init__(self, run: Run, requests: GroupSpill, limit_bytes: int) -> None:
        self._run = run
        self._requests = requests
        self._request_by_id: dict[str, str] = {}
        self._without_request = GroupSpill(limit_bytes)
        """Events that name only a completion, whose request another event may name."""

    def group(self, reader: JsonLines | JsonElements) -> None:
        for value in reader:
            if isinstance(value, dict) and (event := plain_event(value)) is not None:
                self._add_event(event)
                continue
            records = records_of(value)
            if len(records) != 1:
                self._run.read(len(records) - 1)
            for record in records:
                self._take_record(record, reader)
        with self._without_request:
            for name, events in self._without_request.groups():
                for event in events:
                    requests = map(self._request_by_id.get, _other_ids(event))
                    _add(self._requests, next(filter(None, requests), name), event)

    def _take_record(self, record: Any, reader: JsonLines | JsonElements) -> None:
        if not isinstance(record, dict):
            self._run.quarantined(NOT_AN_OBJECT, _record_bytes(record, reader), reader.where())
        elif (event := event_of(cast("JsonObject", record))) is None:
            missing = missing_field(cast("JsonObject", record))
            self._run.quarantined(BAD_EVENT, _record_bytes(record, reader), reader.where(), missing)
        elif not is_completion_event(event):
            self._run.skipped("other-event")
        elif has_nested(event.fields) and is_deep(event.fields):
            self._run.quarantined(TOO_DEEP, _record_bytes(record, reader), reader.where())
        else:
            self._add_event(event)

    def _add_event(self, event: Event) -> None:
        fields = event.fields
        request = fields.get(REQUEST_IDS[0])
        if isinstance(request, str) and request:
            if len(self._request_by_id) < _MAX_REMEMBERED_IDS:
                for key in _OTHER_IDS:
                    name = fields.get(key)
                    if isinstance(name, str) and name:
                        self._request_by_id[name] = request
            _add(self._requests, request, event)
        elif others := _other_ids(event):
            _add(self._without_request, others[0], event)
        else:
            _add(self._requests, fallback_request_id(event), event)


def _other_ids(event: Event) -> list[str]:
    """Return the ids of the completion and the opportunity, where the event names them."""
    fields = event.fields
    return [name for key in _OTHER_IDS if isinstance((name := fields.get(key)), str) and name]


def _add(spill: GroupSpill, name: str, event: Event) -> None:
    spill.add(name, event, event.size_bytes + _OVERHEAD_BYTES)


def _add_interaction(name: str, events: list[Event], threads: Threads, run: Run, time: str) -> None:
    distinct = without_duplicates(events) if len(events) > 1 else events
    if len(distinct) < len(events):
        run.folded("the same event", len(events) - len(distinct))
    run.mapped()
    if len(distinct) > 1:
        run.folded("its completion", len(distinct) - 1)
    interaction = interaction_of(name, distinct)
    if not interaction.time:
        where = f"{distinct[0].kind} and what belongs to it"
        run.note(INFERRED_TIMESTAMP, where, "no event of a completion states a time")
    if interaction.has_text:
        threads.add(interaction_messages(interaction, time))
    else:
        run.used(usage_record(interaction, time))


def _record_bytes(record: Any, reader: JsonLines | JsonElements) -> bytes:
    """Return a record as JSON, or the bytes around it if it is nested too deeply."""
    try:
        return json.dumps(record).encode()
    except RecursionError:
        return reader.raw
