"""Merge the recorded chunks of streams into the log of their requests: group the chunks, match them, write the log.

If there are chunks, the log is read twice: once to index its entries, once to write them. Memory holds only the groups
of chunks, spilled to disk beyond a limit, and a few ids and times for each entry and each stream.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from palaver.errors import PalaverError, SourceError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.model.build import JsonObject
from palaver.model.report import SourceReport
from palaver.redact.logs import mask_entry, mask_record_text
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT, TOO_DEEP
from palaver.sources.folders import StandardInput
from palaver.sources.jsonl import JsonLines
from palaver.sources.parse import parse
from palaver.sources.run import Quarantined, Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, GroupSpill, ValueSpill
from palaver.streams.details import encode_json, is_deeply_nested
from palaver.streams.entry_matches import ChunkStream, Claim, EntryIndex, Unmatched, match_streams
from palaver.streams.entry_merge import (
    ChunkFault,
    TimedChunk,
    can_hold_stream,
    merge_into_entry,
    rebuild_details,
    timed_chunks,
)
from palaver.streams.log_entries import (
    chunk_bytes,
    encode_text,
    has_details,
    is_merged,
    stated_request_id,
    stream_message_id,
)
from palaver.streams.stream_splitter import StreamSplitter

Advance = Callable[[int], None]
Write = Callable[[bytes], object]

RECONSTRUCTION_ERROR = "stream_reconstruction_error"
SERIOUS_ISSUES = {"corrupted_data", "cut_event", "malformed_sse", "request_id_mismatch", "body_mismatch"}
"""Issues that mean unread or contradictory data: the result is then not clean."""
_REMARKED_ISSUES = SERIOUS_ISSUES | {"another_message", "repeated_chunk"}
"""Issues that users are shown one by one, not only as a number."""
_MAX_REMARKS = 20
_REQUEST_ID = re.compile(rb'(?i)"(?:x-)?request[-_]?id"\s*:\s*"([^"\\]+)"')
_SUFFIXES = ("", ".gz", ".zst")


class Remark(NamedTuple):
    where: str
    type: str
    detail: str


@dataclass(slots=True)
class MergeResult:
    """The reports, counts and remarks of one merge."""

    log: SourceReport
    chunks: list[SourceReport] = field(default_factory=list[SourceReport])
    entries: int = 0
    merged: int = 0
    """Entries whose stream was assembled from chunks."""
    rebuilt: int = 0
    """Entries whose details come from their recorded body."""
    issues: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    """Error lines for chunks that match no entry or could not be read."""
    remarks: list[Remark] = field(default_factory=list[Remark])
    """The first issues and errors, as messages."""

    @property
    def is_clean(self) -> bool:
        is_read = all(report.is_clean for report in (self.log, *self.chunks))
        return is_read and not self.errors and SERIOUS_ISSUES.isdisjoint(self.issues)

    def remark(self, where: str, kind: str, detail: str) -> None:
        if len(self.remarks) < _MAX_REMARKS:
            self.remarks.append(Remark(where, kind, detail))


def chunks_beside(log: Source) -> list[Source]:
    """Return the chunk file that a logger writes next to a log, if there is one: `X.stream.jsonl` for `X.jsonl`."""
    if not log.is_reopenable:
        return []
    beside = (log.sibling(f"{log.stem}.stream.jsonl{suffix}") for suffix in _SUFFIXES)
    return [source for source in beside if source.exists()][:1]


def merge(log: Source, chunk_files: list[Source], write: Write, *, advance: Advance = lambda _: None) -> MergeResult:
    """Write every entry of a log with the details of its stream, then an error line for every unmatched stream."""
    for source in (log, *chunk_files):
        if source.is_folder or source.is_zip():
            raise SourceError(f"{source.label} is not a JSON Lines file")
    if isinstance(first := log.parsed_head(), dict) and "chunk_data" in first:
        raise SourceError(f"{log.label} is a file of chunks: name the log first, and this file with --chunks")
    result = MergeResult(SourceReport(log.label, "log", log.size_bytes))
    if chunk_files and isinstance(log.folder, StandardInput):
        log = Source.at(log.folder.spool())
    with ValueSpill[Any](LIMIT_BYTES // 2) as values, GroupSpill(LIMIT_BYTES // 2) as spill:
        chunks = _Chunks(values, spill, result)
        for source in chunk_files:
            chunks.read(source, advance)
        streams = chunks.streams()
        claims: dict[int, list[Claim]] = {}
        unmatched: list[Unmatched] = []
        if streams:
            claims, unmatched = match_streams(_index_entries(log, advance), streams)
        writer = _Writer(result, values, write)
        _merge_log(log, claims, writer, result, advance)
        writer.write_damaged(chunks.damaged)
        for leftover in sorted(unmatched, key=lambda leftover: leftover.stream.sort_key()):
            writer.write_unmatched(leftover)
    return result


def _records(source: Source, run: Run, report: SourceReport) -> Iterator[tuple[Any, JsonLines | JsonElements]]:
    """Yield the records of a file of lines or an array; if reading fails, the report states why."""
    report.ledger, report.findings = run.ledger, run.findings
    try:
        with source.open() as stream:
            is_array = isinstance(source.parsed_head(), list)
            records = JsonElements(stream, run, accepts_truncated=True) if is_array else JsonLines(stream, run)
            for record in records:
                yield record, records
    except (PalaverError, OSError) as error:
        report.failure = str(error)


class _Chunks:
    """Reads chunk files, and groups the chunks by stream."""

    def __init__(self, values: ValueSpill[Any], spill: GroupSpill, result: MergeResult) -> None:
        self.damaged: list[int] = []
        """The offsets of the lines that could not be read."""
        self._values = values
        self._spill = spill
        self._result = result
        self._splitter = StreamSplitter()

    def read(self, source: Source, advance: Advance) -> None:
        report = SourceReport(source.label, "chunks", source.size_bytes)
        self._result.chunks.append(report)
        run = Run(source.label, advance=advance, quarantine=self._store_damaged)
        for record, records in _records(source, run, report):
            if not isinstance(record, dict):
                run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            if is_deeply_nested(record):
                run.quarantined(TOO_DEEP, records.raw, records.where())
                continue
            # A copy, since the encoder's buffer is much larger than the line.
            line = bytes(memoryview(encode_json(record)))
            if request_id := stated_request_id(record):
                self._spill.add(f"id {request_id}", line, len(line))
            else:
                text = record.get("chunk_data")
                self._add_split(self._splitter.add(encode_text(text) if isinstance(text, str) else b"", line))
            run.folded("stream")
        self._add_split(self._splitter.end())

    def streams(self) -> list[ChunkStream]:
        """Store every group of chunks, and return the ids and times to match it by."""
        streams: list[ChunkStream] = []
        for key, lines in self._spill.groups():
            chunks = timed_chunks(list(map(parse, lines)))
            kind, _, name = key.partition(" ")
            times = [chunk.time for chunk in chunks if chunk.time is not None]
            texts = (chunk.text for chunk in sorted(chunks, key=TimedChunk.sort_time) if chunk.text is not None)
            streams.append(
                ChunkStream(
                    offset=self._values.put(lines),
                    request_id=name if kind == "id" else None,
                    message_id=stream_message_id(chunk_bytes(texts)),
                    first=min(times, default=None),
                    last=max(times, default=None),
                    is_interleaved=kind == "cut" and int(name) in self._splitter.interleaved,
                )
            )
        return streams

    def _add_split(self, split_lines: list[tuple[int, bytes]]) -> None:
        for number, line in split_lines:
            self._spill.add(f"cut {number}", line, len(line))

    def _store_damaged(self, quarantined: Quarantined) -> None:
        self.damaged.append(self._values.put(quarantined))


def _index_entries(log: Source, advance: Advance) -> EntryIndex:
    """Index the ids and times of the log's entries; damage is reported when the log is read again for writing."""
    index = EntryIndex()

    def collect_ids(quarantined: Quarantined) -> None:
        index.damaged_ids.update(found.decode("utf-8", "replace") for found in _REQUEST_ID.findall(quarantined.raw))

    run = Run(log.label, advance=advance, quarantine=collect_ids)
    for number, (entry, _) in enumerate(_records(log, run, SourceReport(log.label, "log")), 1):
        if isinstance(entry, dict):
            index.add(number, entry)
    return index


def _merge_log(
    log: Source, claims: dict[int, list[Claim]], writer: "_Writer", result: MergeResult, advance: Advance
) -> None:
    run = Run(log.label, advance=advance)
    for number, (entry, records) in enumerate(_records(log, run, result.log), 1):
        if not isinstance(entry, dict):
            run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
            continue
        try:
            writer.write_entry(number, entry, claims.get(number, []))
            run.mapped()
        except (PalaverError, OSError):
            raise
        except RecursionError:
            run.quarantined(TOO_DEEP, records.raw, records.where())
            writer.write_failed_chunks(claims.get(number, []), "the entry is nested too deeply")
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other entries
            message = f"{type(error).__name__}: {error}"
            run.quarantined(UNFORESEEN, records.raw, records.where(), message)
            writer.write_failed_chunks(claims.get(number, []), message)


class _Writer:
    """Writes entries and error lines, and counts them in the result."""

    def __init__(self, result: MergeResult, values: ValueSpill[Any], write: Write) -> None:
        self._result = result
        self._values = values
        self._write = write

    def write_entry(self, number: int, entry: JsonObject, claims: list[Claim]) -> None:
        # A copy, since the reader holds its records, and must not hold the details added below.
        entry = dict(entry)
        faults: list[ChunkFault] = []
        total = 0
        details = None
        if is_merged(entry):
            claims = []
        elif not claims:
            details = None if has_details(entry) else rebuild_details(entry)
            self._result.rebuilt += details is not None
        elif can_hold_stream(entry):
            chunks = [chunk for claim in claims for chunk in self._chunks(claim.stream)]
            if len(claims) > 1:
                chunks.sort(key=TimedChunk.sort_time)
            total = len(chunks)
            details = merge_into_entry(entry, chunks, claims, faults)
            self._result.merged += 1
        line = encode_json(mask_entry(entry))
        self._result.entries += 1
        self._write(line + b"\n")
        for issue in (details or {}).get("issues", ()):
            self._result.issues[issue["type"]] += 1
            if issue["type"] in _REMARKED_ISSUES:
                where = f"entry {number}, chunk {issue['sequence']}"
                self._result.remark(where, issue["type"], issue["detail"])
        for fault in faults:
            request_id = stated_request_id(fault.original)
            message = f"Failed to parse chunk {fault.sequence} of {total}"
            self._write_error(
                RECONSTRUCTION_ERROR, message, fault.detail, request_id, fault.original, sequence=fault.sequence
            )
        if claims and details is None:
            self.write_failed_chunks(claims, "the entry's response is not an object")

    def write_failed_chunks(self, claims: list[Claim], detail: str) -> None:
        """Write the chunks of an entry that could not be merged as error lines."""
        for claim in claims:
            records = [chunk.record for chunk in self._chunks(claim.stream)]
            self._write_error(
                RECONSTRUCTION_ERROR,
                f"Failed to merge {_chunk_count(records)}",
                detail,
                claim.stream.request_id,
                records,
            )

    def write_damaged(self, offsets: Iterable[int]) -> None:
        """Write error lines for the lines of chunk files that could not be read."""
        for offset in offsets:
            quarantined: Quarantined = self._values.get(offset)
            found = _REQUEST_ID.search(quarantined.raw)
            text = mask_record_text(quarantined.raw.decode("utf-8", "backslashreplace"))
            request_id = found[1].decode("utf-8", "replace") if found else None
            message = f"Failed to parse a chunk at {quarantined.where}"
            self._write_error(RECONSTRUCTION_ERROR, message, quarantined.message, request_id, {"raw": text})

    def write_unmatched(self, unmatched: Unmatched) -> None:
        records = [chunk.record for chunk in sorted(self._chunks(unmatched.stream), key=TimedChunk.sort_time)]
        count = _chunk_count(records)
        messages = {
            "orphaned_chunks": f"{count} without an entry in the log",
            "missing_main_log": f"{count} whose entry is missing from the log",
            "ambiguous_chunks": f"{count} that match several entries",
        }
        self._write_error(
            unmatched.type, messages[unmatched.type], unmatched.detail, unmatched.stream.request_id, records
        )

    def _chunks(self, stream: ChunkStream) -> list[TimedChunk]:
        return timed_chunks(list(map(parse, self._values.get(stream.offset))))

    def _write_error(
        self,
        kind: str,
        message: str,
        detail: str,
        request_id: str | None,
        original: Any,
        *,
        sequence: int | None = None,
    ) -> None:
        self._result.errors[kind] += 1
        where = f"request {request_id}" if request_id else "chunks without a request id"
        self._result.remark(where, kind, f"{message}: {detail}")
        error = {
            "type": kind,
            "message": message,
            "request_id": request_id,
            "chunk_sequence": sequence,
            "original_chunk": mask_entry(original),
            "error_details": detail,
        }
        self._write(encode_json({"error": error}) + b"\n")


def _chunk_count(records: list[JsonObject]) -> str:
    return f"{len(records):,} chunk{'' if len(records) == 1 else 's'}"
