"""Reads trace files and debug logs into conversations.

Spans of a trace file come in any order, so they are grouped by trace first, then by conversation. A debug log of
VS Code has one entry per line: prompts, answers, tool runs and events.
"""

from collections.abc import Iterator

from palaver.errors import PalaverError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.github_copilot.replays.documents import note_inferred_times
from palaver.importers.github_copilot.spans.attributes import mask_record
from palaver.importers.github_copilot.spans.conversation import assign_conversations, conversation_documents
from palaver.importers.github_copilot.spans.debug_session import DebugEntry, DebugSession, entry_of
from palaver.importers.github_copilot.spans.recognition import DEBUG, recognize
from palaver.importers.github_copilot.spans.records import metrics_in, records_in
from palaver.importers.github_copilot.spans.usage_records import MetricSums
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import MaskedRun, Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, GroupSpill

BAD_SPAN = finding_kind("bad-span", "error", "A trace line has no span, event or metric; it is quarantined.")


def read_unit(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form or recognize(source).form
    masked = MaskedRun(run, mask_record)
    if form == DEBUG:
        yield from note_inferred_times(read_debug(source, masked), masked)
        return
    time = source.written_at()
    with GroupSpill(LIMIT_BYTES // 4) as traces, GroupSpill(LIMIT_BYTES // 4) as conversations:
        reader = _TraceReader(masked, traces)
        with source.open() as stream:
            reader.read_lines(JsonLines(stream, masked))
        for trace, records in traces.groups():
            for assigned in assign_conversations(records):
                conversations.add(assigned.conversation or f"trace {trace}", assigned, assigned.record.size_bytes)
        for key, group in conversations.groups():
            yield from note_inferred_times(conversation_documents(key, group, masked, time), masked)
        for record in reader.metric_records(time):
            masked.used(record)


class _TraceReader:
    """Sorts lines into traces and metrics, and accounts for each in the ledger."""

    def __init__(self, run: Run, traces: GroupSpill) -> None:
        self._run = run
        self._traces = traces
        self._metric_sums = MetricSums()
        self._metric_lines = 0

    def read_lines(self, lines: JsonLines) -> None:
        for line in lines:
            if not isinstance(line, dict):
                self._run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
            elif not line:
                self._run.skipped("circular-record")
            else:
                try:
                    is_known = self._read_line(line, lines.where())
                except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other lines
                    message = f"{type(error).__name__}: {error}"
                    self._run.quarantined(UNFORESEEN, lines.raw, lines.where(), message)
                    continue
                if not is_known:
                    self._run.quarantined(BAD_SPAN, lines.raw, lines.where())

    def metric_records(self, time: str) -> Iterator[JsonObject]:
        """Yield the usage records of the metrics of all lines."""
        if self._metric_lines:
            self._run.mapped()
            if self._metric_lines > 1:
                self._run.folded("the last sums", self._metric_lines - 1)
        yield from self._metric_sums.records(time)

    def _read_line(self, line: JsonObject, where: str) -> bool:
        records = list(records_in(line, where))
        for record in records:
            self._traces.add(record.trace_id or record.conversation or where, record, record.size_bytes)
        envelopes = metrics_in(line)
        if envelopes is None and line.get("type") == "metric" and not records:
            envelopes = [{"resource": line.get("resource"), "scopeMetrics": [{"metrics": [line]}]}]
        has_sums = [self._metric_sums.add(envelope) for envelope in envelopes or ()]
        if records:
            self._run.mapped()
        elif any(has_sums):
            self._metric_lines += 1
        elif envelopes is not None:
            self._run.skipped("empty-metrics")
        else:
            return False
        return True


_MAIN_LOG = "main.jsonl"
_MESSAGE_TYPES = ("user_message", "agent_response", "tool_call")


def read_debug(source: Source, run: Run) -> Iterator[JsonObject]:
    """Yield a conversation for each session of the log, which mostly has one."""
    parent = _parent_session(source)
    is_chat_saved = _is_chat_saved(source)
    sessions: dict[str, DebugSession] = {}
    with source.open() as stream:
        lines = JsonLines(stream, run)
        for line in lines:
            if not isinstance(line, dict):
                run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
                continue
            try:
                entry = entry_of(line, lines.where())
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other lines
                run.quarantined(UNFORESEEN, lines.raw, lines.where(), f"{type(error).__name__}: {error}")
                continue
            if entry is None:
                run.quarantined(BAD_SPAN, lines.raw, lines.where())
            elif is_chat_saved and entry.kind in _MESSAGE_TYPES:
                run.skipped("saved-chat-exists")
            else:
                run.mapped()
                _session_of(sessions, entry, parent).add(entry)
    for session in sessions.values():
        yield from session.documents(run, source.written_at())


def _session_of(sessions: dict[str, DebugSession], entry: DebugEntry, parent: str) -> DebugSession:
    if entry.session not in sessions:
        sessions[entry.session] = DebugSession(entry.session, parent if parent != entry.session else "")
    return sessions[entry.session]


def _parent_session(source: Source) -> str:
    """Return the session that started the one in this log, or "" if a person did."""
    folder = source.parent_folder()
    if source.file_name == _MAIN_LOG or folder is None or not source.sibling(_MAIN_LOG).exists():
        return ""
    return _folder_name(folder)


def _is_chat_saved(source: Source) -> bool:
    """Return whether the chat or its transcript is saved where the editor keeps them beside debug logs."""
    folder = source.parent_folder()
    logs = folder.parent_folder() if folder is not None and source.file_name == _MAIN_LOG else None
    extension = logs.parent_folder() if logs is not None else None
    if folder is None or extension is None:
        return False
    name = _folder_name(folder)
    locations = [(extension, "transcripts", ".jsonl")]
    if (workspace := extension.parent_folder()) is not None:
        locations += [(workspace, "chatSessions", ".jsonl"), (workspace, "chatSessions", ".json")]
    return any(_has_file(folder, subfolder, f"{name}{suffix}") for folder, subfolder, suffix in locations)


def _has_file(folder: Source, subfolder: str, name: str) -> bool:
    try:
        return name in folder.subfolder(subfolder).listing()[0]
    except (PalaverError, OSError):
        return False


def _folder_name(folder: Source) -> str:
    return folder.label.replace("\\", "/").rstrip("/").rpartition("/")[2]
