"""Reads a log into calls; every record is read once and accounted for in the ledger."""

from collections.abc import Iterator
from typing import Any, cast

from palaver.errors import PalaverError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.api_trace.calls import AMBIGUOUS_CHUNKS, BAD_RECORD, MERGE_ERROR, LoggedCall, call_from_log
from palaver.importers.api_trace.fragmented_calls import CallParts, ChunkStreams
from palaver.importers.api_trace.html_page import PAIRS_PATH, PageData
from palaver.importers.api_trace.masking import dump_json
from palaver.importers.api_trace.recognition import SPLIT_FILE_NAME, form_of, members_of
from palaver.importers.api_trace.records import har_call, merged_call, pair_call, record_kind, trace_call
from palaver.model.build import JsonObject
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import CUT_OFF, JsonLines
from palaver.sources.run import MaskedRun, Run
from palaver.sources.small_files import count_file, json_document
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, GroupSpill
from palaver.threads.call import Call

_HAR_PATH = ("log", "entries")
_SINGLE_RECORD_CALLS = {"trace": trace_call, "pair": pair_call, "har": har_call, "merged": merged_call}


def calls_in(source: Source, run: MaskedRun) -> Iterator[Call]:
    """Yield the calls of a source."""
    # The conversations are held in memory as well; together they must stay within the limit of one spill.
    with GroupSpill(LIMIT_BYTES // 4) as parts, GroupSpill(LIMIT_BYTES // 4) as streams:
        yield from _Reader(source, run, parts, streams).calls()


class _Reader:
    def __init__(self, source: Source, run: MaskedRun, parts: GroupSpill, streams: GroupSpill) -> None:
        self._source = source
        self._run = run
        self._parts = CallParts(parts)
        self._streams = ChunkStreams(streams)
        self._has_streams = False
        self._record_number = -1

    def calls(self) -> Iterator[Call]:
        form = self._run.form or form_of(self._source)
        if form == "split":
            self._read_split_files()
        else:
            chunks, page = members_of(self._source) if form == "lines" else (None, None)
            if chunks is not None:
                self._read_chunks(chunks)
            with self._source.open() as stream:
                yield from self._read_records(self._open_records(stream, form))
            if page is not None:
                count_file(page, self._run)
                self._run.skipped("page")
        yield from self._fragmented_calls()

    def _open_records(self, stream: Any, form: str) -> JsonLines | JsonElements:
        match form:
            case "array":
                return JsonElements(stream, self._run, accepts_truncated=True)
            case "har":
                return JsonElements(stream, self._run, _HAR_PATH, accepts_truncated=True)
            case "page":
                return JsonElements(
                    cast("Any", PageData(stream)), self._run, PAIRS_PATH, accepts_truncated=True, is_embedded=True
                )
            case _:
                return JsonLines(stream, self._run)

    def _read_records(self, records: JsonLines | JsonElements) -> Iterator[Call]:
        for record in records:
            self._record_number += 1
            if not isinstance(record, dict):
                self._run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            try:
                call = self._read_record(record, records)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other records
                message = f"{type(error).__name__}: {error}"
                self._run.quarantined(UNFORESEEN, records.raw, records.where(), message)
                continue
            if call is not None:
                yield call

    def _read_record(self, record: JsonObject, records: JsonLines | JsonElements) -> Call | None:
        kind = record_kind(record)
        match kind:
            case "trace" | "pair" | "har" | "merged":
                where = records.where()
                if kind == "pair" and self._has_streams:
                    if self._streams.claim_entry(record, where, self._record_number, len(records.raw)):
                        return None
                    return self._read_pair(record, records)
                return self._build_call(_SINGLE_RECORD_CALLS[kind](record, where), records)
            case "part":
                self._parts.add(record, records.where(), len(records.raw))
            case "chunk":
                self._has_streams = True
                self._streams.add(record, records.where(), len(records.raw))
            case "control":
                self._run.skipped("control-frame")
            case "merge-error":
                self._run.note(MERGE_ERROR, records.where(), _error_text(record["error"]))
                self._run.skipped("merge-error")
            case _:
                self._run.quarantined(BAD_RECORD, records.raw, records.where())
        return None

    def _read_pair(self, record: JsonObject, records: JsonLines | JsonElements) -> Call | None:
        logged = pair_call(record, records.where())
        if logged.last_chunk is None:
            answer_id = (logged.reply.payload or {}).get("id")
            logged.first_chunk, logged.last_chunk = self._streams.times_of(record, answer_id)
        call = self._build_call(logged, records)
        if call is not None and call.response is not None:
            self._streams.mark_answered(record, call.response.get("id"))
        return call

    def _build_call(self, logged: LoggedCall, records: JsonLines | JsonElements) -> Call | None:
        call_or_rule = call_from_log(logged, self._run.note)
        if isinstance(call_or_rule, Call):
            self._run.mapped()
            return call_or_rule
        if call_or_rule:
            self._run.skipped(call_or_rule)
        else:
            self._run.quarantined(BAD_RECORD, records.raw, records.where())
        return None

    def _read_chunks(self, chunks: Source) -> None:
        try:
            with chunks.open() as stream:
                lines = JsonLines(stream, self._run, label=chunks.file_name)
                for chunk in lines:
                    if isinstance(chunk, dict) and "chunk_data" in chunk:
                        self._has_streams = True
                        self._streams.add(chunk, lines.where(), len(lines.raw))
                    else:
                        self._run.quarantined(BAD_RECORD, lines.raw, lines.where())
        except (PalaverError, OSError) as error:
            self._run.note(CUT_OFF, chunks.file_name, str(error), kept=False)
        if self._streams.needs_times:
            with self._source.open() as stream:
                entries = JsonLines(stream, Run(self._run.source))
                self._streams.match_by_time(entry if isinstance(entry, dict) else {} for entry in entries)
            for where in self._streams.ambiguous:
                self._run.note(AMBIGUOUS_CHUNKS, where)

    def _read_split_files(self) -> None:
        for name in self._source.listing()[0]:
            file = Source(self._source.folder, name)
            if SPLIT_FILE_NAME.fullmatch(name):
                for record in json_document(file, self._run):
                    if isinstance(record, dict) and record_kind(record) == "part":
                        self._parts.add(record, name, file.size_bytes)
                    else:
                        self._run.quarantined(BAD_RECORD, _file_bytes(file), name)
            elif name == "session_meta.json":
                count_file(file, self._run)
                self._run.skipped("control-frame")

    def _fragmented_calls(self) -> Iterator[Call]:
        """Yield the calls that were logged in several records."""
        for logged, records in self._parts.calls():
            yield from self._build_fragmented_call(logged, records)
        for logged, records in self._streams.calls():
            if logged is None:
                self._run.folded("the answer in the log", len(records))
            else:
                yield from self._build_fragmented_call(logged, records)

    def _build_fragmented_call(self, logged: LoggedCall, records: list[tuple[str, Any]]) -> Iterator[Call]:
        call_or_rule = call_from_log(logged, self._run.note)
        if isinstance(call_or_rule, Call):
            self._run.mapped()
            if len(records) > 1:
                self._run.folded("call", len(records) - 1)
            yield call_or_rule
        elif call_or_rule:
            self._run.skipped(call_or_rule, len(records))
        else:
            for where, record in records:
                self._run.quarantined(BAD_RECORD, dump_json(record), where)


def _error_text(error: JsonObject) -> str:
    values = [error.get(name) for name in ("type", "message", "request_id")]
    return ": ".join(value for value in values if isinstance(value, str) and value)


def _file_bytes(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read(1 << 24)
