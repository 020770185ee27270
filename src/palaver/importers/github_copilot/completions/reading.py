"""From telemetry to conversations: events are gathered by request, requests made into interactions, those into threads.

Neither the events of a request nor the requests in a file need be next to each other: both are gathered in memory up to
a limit, and beyond it in a temporary file.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.importers.github_copilot.completions.events import (
    Event,
    event_of,
    has_nested,
    is_of_a_completion,
    plain_event,
)
from palaver.importers.github_copilot.completions.facts import REQUEST_IDS
from palaver.importers.github_copilot.completions.inner import is_deep
from palaver.importers.github_copilot.completions.interaction import distinct, interaction_of, request_of
from palaver.importers.github_copilot.completions.messages import told
from palaver.importers.github_copilot.completions.secrets import DiscreetRun
from palaver.importers.github_copilot.completions.shapes import Layout, layout_of, within
from palaver.importers.github_copilot.completions.threads import Threads
from palaver.importers.github_copilot.completions.usage import usage_of
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.damage import NOT_AN_OBJECT, TOO_DEEP
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, Spill

BAD_EVENT = finding_kind("bad-event", "error", "A record of telemetry is no event; its bytes are set aside.")


DEFAULT_WINDOW_SECONDS = 300
_OTHER_IDS = REQUEST_IDS[1:]
_OVERHEAD_BYTES = 1_500
_MOST_NAMES = 200_000
"""Of completions whose request is remembered, for events that name the completion alone."""


def conversations(source: Source, run: Run, *, limit_bytes: int = LIMIT_BYTES) -> Iterator[JsonObject]:
    run = DiscreetRun(run)
    layout = cast("Layout", run.form.partition(":")[2]) or layout_of(source)
    time = source.written_at()
    threads = Threads(getattr(run.options, "window", DEFAULT_WINDOW_SECONDS), limit_bytes // 2)
    with Spill(limit_bytes) as requests:
        with source.open() as stream:
            _Gathering(run, requests, limit_bytes // 2).take(_reader(stream, run, layout))
        for name, events in requests.groups():
            _take_request(name, events, threads, run, time)
    yield from threads.documents()


def _reader(stream: BinaryIO, run: Run, layout: Layout) -> JsonLines | JsonElements:
    match layout:
        case "lines":
            return JsonLines(stream, run)
        case "array":
            return JsonElements(stream, run, takes_cut=True)
        case "events":
            return JsonElements(stream, run, ("events",), takes_cut=True)


class _Gathering:
    """Puts the events of one request together."""

    def __init__(self, run: Run, requests: Spill, limit_bytes: int) -> None:
        self._run = run
        self._requests = requests
        self._request_of: dict[str, str] = {}
        self._waiting = Spill(limit_bytes)
        """Events that name a completion, of which another one may tell the request."""

    def take(self, reader: JsonLines | JsonElements) -> None:
        for value in reader:
            if isinstance(value, dict) and (event := plain_event(value)) is not None:
                self._gather(event)
                continue
            records = within(value)
            if len(records) != 1:
                self._run.read(len(records) - 1)
            for record in records:
                self._take_record(record, reader)
        with self._waiting:
            for name, events in self._waiting.groups():
                for event in events:
                    known = (self._request_of[one] for one in _other_names(event) if one in self._request_of)
                    _add(self._requests, next(known, name), event)

    def _take_record(self, record: Any, reader: JsonLines | JsonElements) -> None:
        if not isinstance(record, dict):
            self._run.quarantined(NOT_AN_OBJECT, _bytes(record, reader), reader.where())
        elif (event := event_of(cast("JsonObject", record))) is None:
            self._run.quarantined(BAD_EVENT, _bytes(record, reader), reader.where())
        elif not is_of_a_completion(event):
            self._run.skipped("other-event")
        elif has_nested(event.facts) and is_deep(event.facts):
            self._run.quarantined(TOO_DEEP, _bytes(record, reader), reader.where())
        else:
            self._gather(event)

    def _gather(self, event: Event) -> None:
        facts = event.facts
        request = facts.get(REQUEST_IDS[0])
        if isinstance(request, str) and request:
            if len(self._request_of) < _MOST_NAMES:
                for key in _OTHER_IDS:
                    name = facts.get(key)
                    if isinstance(name, str) and name:
                        self._request_of[name] = request
            _add(self._requests, request, event)
        elif others := _other_names(event):
            _add(self._waiting, others[0], event)
        else:
            _add(self._requests, request_of(event), event)


def _other_names(event: Event) -> list[str]:
    """Of the completion and the opportunity, where they are named."""
    facts = event.facts
    return [name for key in _OTHER_IDS if isinstance((name := facts.get(key)), str) and name]


def _add(spill: Spill, name: str, event: Event) -> None:
    spill.add(name, event, event.size_bytes + _OVERHEAD_BYTES)


def _take_request(name: str, events: list[Event], threads: Threads, run: Run, time: str) -> None:
    own = distinct(events) if len(events) > 1 else events
    if len(own) < len(events):
        run.folded("the same event", len(events) - len(own))
    run.mapped()
    if len(own) > 1:
        run.folded("its completion", len(own) - 1)
    interaction = interaction_of(name, own)
    if not interaction.time:
        run.note(INFERRED_TIMESTAMP, f"{own[0].kind} and what belongs to it", "no event of a completion states a time")
    if interaction.has_words:
        threads.add(told(interaction, time))
    else:
        run.used(usage_of(interaction, time))


def _bytes(record: Any, reader: JsonLines | JsonElements) -> bytes:
    """A record as JSON; where that is too much, all that it stands in."""
    try:
        return json.dumps(record).encode()
    except RecursionError:
        return reader.raw
