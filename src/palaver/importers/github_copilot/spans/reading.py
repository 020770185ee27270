"""From a file of traces to its conversations: by traces first, then by conversations, however they are mixed."""

from collections.abc import Iterator

from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.github_copilot.replays.times import noting
from palaver.importers.github_copilot.spans.conversation import told
from palaver.importers.github_copilot.spans.debug import read_debug
from palaver.importers.github_copilot.spans.metrics import Sums
from palaver.importers.github_copilot.spans.names import DEBUG
from palaver.importers.github_copilot.spans.noticed import BAD_SPAN
from palaver.importers.github_copilot.spans.places import placed
from palaver.importers.github_copilot.spans.records import metrics_in, records_in
from palaver.importers.github_copilot.spans.secrets import DiscreetRun
from palaver.importers.github_copilot.spans.shapes import recognize
from palaver.model.build import JsonObject
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, Spill


def read_unit(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form or recognize(source).form
    discreet = DiscreetRun(run)
    if form == DEBUG:
        yield from noting(read_debug(source, discreet), discreet)
        return
    time = source.written_at()
    with Spill(LIMIT_BYTES // 4) as traces, Spill(LIMIT_BYTES // 4) as conversations:
        sums = _Reader(discreet, traces)
        with source.open() as stream:
            sums.take(JsonLines(stream, discreet))
        for trace, records in traces.groups():
            for one in placed(records):
                conversations.add(one.conversation or f"trace {trace}", one, one.record.size_bytes)
        for key, held in conversations.groups():
            yield from noting(told(key, held, discreet, time), discreet)
        for record in sums.records(time):
            discreet.used(record)


class _Reader:
    """Takes lines, and gives each its place in the ledger."""

    def __init__(self, run: Run, traces: Spill) -> None:
        self._run = run
        self._traces = traces
        self._sums = Sums()
        self._summed = 0

    def take(self, lines: JsonLines) -> None:
        for line in lines:
            if not isinstance(line, dict):
                self._run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
            elif not line:
                self._run.skipped("circular-record")
            else:
                try:
                    is_known = self._take(line, lines.where())
                except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other lines
                    message = f"{type(error).__name__}: {error}"
                    self._run.quarantined(UNFORESEEN, lines.raw, lines.where(), message)
                    continue
                if not is_known:
                    self._run.quarantined(BAD_SPAN, lines.raw, lines.where())

    def records(self, time: str) -> Iterator[JsonObject]:
        """What the metrics of all lines sum up to."""
        if self._summed:
            self._run.mapped()
            if self._summed > 1:
                self._run.folded("the last sums", self._summed - 1)
        yield from self._sums.records(time)

    def _take(self, line: JsonObject, where: str) -> bool:
        records = list(records_in(line, where))
        for record in records:
            self._traces.add(record.trace_id or record.conversation or where, record, record.size_bytes)
        envelopes = metrics_in(line)
        if envelopes is None and line.get("type") == "metric" and not records:
            envelopes = [{"resource": line.get("resource"), "scopeMetrics": [{"metrics": [line]}]}]
        has_sums = [self._sums.add(envelope) for envelope in envelopes or ()]
        if records:
            self._run.mapped()
        elif any(has_sums):
            self._summed += 1
        elif envelopes is not None:
            self._run.skipped("empty-metrics")
        else:
            return False
        return True
