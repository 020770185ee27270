"""From a log to its calls: every record is read once, and gets its place in the ledger."""

from collections.abc import Iterator
from typing import Any, cast

from palaver.errors import PalaverError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.api_trace.calls import Seen, call_of
from palaver.importers.api_trace.chunks import Streams
from palaver.importers.api_trace.masking import DiscreetRun, dumped
from palaver.importers.api_trace.noticed import AMBIGUOUS_CHUNKS, BAD_RECORD, MERGE_ERROR
from palaver.importers.api_trace.page import PATH, PageData
from palaver.importers.api_trace.parts import Parts
from palaver.importers.api_trace.recognize import SPLIT, form_of, members_of
from palaver.importers.api_trace.shapes import entry_of, kind_of, merged_of, pair_of, trace_of
from palaver.model.build import JsonObject
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import CUT_OFF, JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import counted, json_document
from palaver.storage.spill import LIMIT_BYTES, Spill
from palaver.threads.call import Call

_HAR_PATH = ("log", "entries")
_SINGLE = {"trace": trace_of, "pair": pair_of, "har": entry_of, "merged": merged_of}


def calls_in(source: Source, run: Run) -> Iterator[Call]:
    """The calls that a source tells of."""
    # Conversations are held at the same time: together they must not take more than one would alone.
    with Spill(LIMIT_BYTES // 4) as parts, Spill(LIMIT_BYTES // 4) as streams:
        yield from _Reader(source, DiscreetRun(run), parts, streams).calls()


class _Reader:
    def __init__(self, source: Source, run: DiscreetRun, parts: Spill, streams: Spill) -> None:
        self._source = source
        self._run = run
        self._parts = Parts(parts)
        self._streams = Streams(streams)
        self._has_streams = False
        self._number = -1

    def calls(self) -> Iterator[Call]:
        form = self._run.form or form_of(self._source)
        if form == "split":
            self._take_files()
        else:
            chunks, page = members_of(self._source) if form == "lines" else (None, None)
            if chunks is not None:
                self._take_chunks(chunks)
            with self._source.open() as stream:
                yield from self._records(self._reader(stream, form))
            if page is not None:
                counted(page, self._run)
                self._run.skipped("page")
        yield from self._gathered()

    def _reader(self, stream: Any, form: str) -> JsonLines | JsonElements:
        match form:
            case "array":
                return JsonElements(stream, self._run, takes_cut=True)
            case "har":
                return JsonElements(stream, self._run, _HAR_PATH, takes_cut=True)
            case "page":
                return JsonElements(cast("Any", PageData(stream)), self._run, PATH, takes_cut=True, is_embedded=True)
            case _:
                return JsonLines(stream, self._run)

    def _records(self, records: JsonLines | JsonElements) -> Iterator[Call]:
        for record in records:
            self._number += 1
            if not isinstance(record, dict):
                self._run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            try:
                made = self._take(record, records)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other records
                message = f"{type(error).__name__}: {error}"
                self._run.quarantined(UNFORESEEN, records.raw, records.where(), message)
                continue
            if made is not None:
                yield made

    def _take(self, record: JsonObject, records: JsonLines | JsonElements) -> Call | None:
        kind = kind_of(record)
        match kind:
            case "trace" | "pair" | "har" | "merged":
                where = records.where()
                if kind == "pair" and self._has_streams:
                    if self._streams.takes(record, where, self._number, len(records.raw)):
                        return None
                    return self._paired(record, records)
                return self._made(_SINGLE[kind](record, where), records)
            case "part":
                self._parts.add(record, records.where(), len(records.raw))
            case "chunk":
                self._has_streams = True
                self._streams.add(record, records.where(), len(records.raw))
            case "control":
                self._run.skipped("control-frame")
            case "merge-error":
                self._run.note(MERGE_ERROR, records.where(), _words_of(record["error"]))
                self._run.skipped("merge-error")
            case _:
                self._run.quarantined(BAD_RECORD, records.raw, records.where())
        return None

    def _paired(self, record: JsonObject, records: JsonLines | JsonElements) -> Call | None:
        made = self._made(pair_of(record, records.where()), records)
        if made is not None and made.response is not None:
            self._streams.tell(record, made.response.get("id"))
        return made

    def _made(self, seen: Seen, records: JsonLines | JsonElements) -> Call | None:
        made = call_of(seen, self._run.note)
        if isinstance(made, Call):
            self._run.mapped()
            return made
        if made:
            self._run.skipped(made)
        else:
            self._run.quarantined(BAD_RECORD, records.raw, records.where())
        return None

    def _take_chunks(self, chunks: Source) -> None:
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

    def _take_files(self) -> None:
        for name in self._source.listing()[0]:
            file = Source(self._source.folder, name)
            if SPLIT.fullmatch(name):
                for record in json_document(file, self._run):
                    if isinstance(record, dict) and kind_of(record) == "part":
                        self._parts.add(record, name, file.size_bytes)
                    else:
                        self._run.quarantined(BAD_RECORD, _bytes(file), name)
            elif name == "session_meta.json":
                counted(file, self._run)
                self._run.skipped("control-frame")

    def _gathered(self) -> Iterator[Call]:
        """The calls that were told in several records."""
        for seen, records in self._parts.calls():
            yield from self._joined(seen, records)
        for seen, records in self._streams.calls():
            if seen is None:
                self._run.folded("the answer in the log", len(records))
            else:
                yield from self._joined(seen, records)

    def _joined(self, seen: Seen, records: list[tuple[str, Any]]) -> Iterator[Call]:
        made = call_of(seen, self._run.note)
        if isinstance(made, Call):
            self._run.mapped()
            if len(records) > 1:
                self._run.folded("call", len(records) - 1)
            yield made
        elif made:
            self._run.skipped(made, len(records))
        else:
            for where, record in records:
                self._run.quarantined(BAD_RECORD, dumped(record), where)


def _words_of(error: JsonObject) -> str:
    words = [error.get(name) for name in ("type", "message", "request_id")]
    return ": ".join(word for word in words if isinstance(word, str) and word)


def _bytes(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read(1 << 24)
