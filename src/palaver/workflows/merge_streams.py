"""Chunks merged into the log that they were written beside: read as streams, grouped, matched, written again.

The log is read twice if there are chunks: once for what each entry is known by, once to write it. In between lie only
the open groups of chunks, beyond a limit on disk, and a few words for every entry and every stream.
"""

import pickle
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from palaver.errors import PalaverError, SourceError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.model.build import JsonObject
from palaver.model.report import SourceReport
from palaver.redact.logs import masked_entry, masked_text
from palaver.sources.damage import NOT_AN_OBJECT, TOO_DEEP
from palaver.sources.elements import JsonElements
from palaver.sources.folders import StandardInput
from palaver.sources.jsonl import JsonLines
from palaver.sources.parse import parse
from palaver.sources.run import Quarantined, Run
from palaver.sources.source import Source
from palaver.storage.spill import LIMIT_BYTES, Spill
from palaver.streams._writing import is_deep, written
from palaver.streams.cutting import Cutter
from palaver.streams.entries import chunk_bytes, encoded, is_merged, message_id, request_id
from palaver.streams.matching import Claim, Index, Stream, Unmatched, match
from palaver.streams.merged import Fault, Timed, merged, rebuilt, takes_a_stream, timed

Advance = Callable[[int], None]
Write = Callable[[bytes], object]

FAILED = "stream_reconstruction_error"
REFUSED = {"corrupted_data", "cut_event", "malformed_sse", "request_id_mismatch", "body_mismatch"}
"""Issues that leave something unread, or in contradiction: the answer is then no."""
REMARKS_KEPT = 20
_STATED_ID = re.compile(rb'(?i)"(?:x-)?request[-_]?id"\s*:\s*"([^"\\]+)"')
_COMPRESSED = ("", ".gz", ".zst")


class Remark(NamedTuple):
    where: str
    type: str
    detail: str


@dataclass(slots=True)
class Merged:
    """What became of a log and its chunks."""

    log: SourceReport
    chunks: list[SourceReport] = field(default_factory=list[SourceReport])
    entries: int = 0
    merged: int = 0
    """Entries whose stream was put together from chunks."""
    rebuilt: int = 0
    """Entries whose details come from their recorded body."""
    issues: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    """Lines that tell of chunks which found no entry, or could not be read."""
    remarks: list[Remark] = field(default_factory=list[Remark])
    """The first issues and errors, in words."""

    @property
    def is_clean(self) -> bool:
        is_read = all(report.is_clean for report in (self.log, *self.chunks))
        return is_read and not self.errors and REFUSED.isdisjoint(self.issues)

    def remark(self, where: str, kind: str, detail: str) -> None:
        if len(self.remarks) < REMARKS_KEPT:
            self.remarks.append(Remark(where, kind, detail))


def chunks_beside(log: Source) -> list[Source]:
    """The file of chunks that a logger writes beside a log: `X.stream.jsonl` for `X.jsonl`."""
    if not log.can_move:
        return []
    beside = (log.beside(f"{log.stem}.stream.jsonl{suffix}") for suffix in _COMPRESSED)
    return [source for source in beside if source.exists()][:1]


def merge(log: Source, chunk_files: list[Source], write: Write, *, advance: Advance = lambda _: None) -> Merged:
    """Write every entry of a log, with the details of its stream, and then a line for all that belongs nowhere."""
    for source in (log, *chunk_files):
        if source.is_folder or source.is_zip():
            raise SourceError(f"{source.label} is no file of JSON Lines")
    if isinstance(first := log.glimpse(), dict) and "chunk_data" in first:
        raise SourceError(f"{log.label} is a file of chunks: give the log, and this one with --chunks")
    done = Merged(SourceReport(log.label, "log", log.size_bytes))
    if chunk_files and isinstance(log.folder, StandardInput):
        log = Source.at(log.folder.spool())
    with _Shelf() as shelf, Spill(LIMIT_BYTES // 2) as spill:
        chunks = _Chunks(shelf, spill, done)
        for source in chunk_files:
            chunks.read(source, advance)
        streams = chunks.streams()
        claims: dict[int, list[Claim]] = {}
        unmatched: list[Unmatched] = []
        if streams:
            claims, unmatched = match(_index(log, advance), streams)
        writer = _Writer(done, shelf, write)
        _merge_log(log, claims, writer, done, advance)
        writer.failures(chunks.broken)
        for one in sorted(unmatched, key=lambda one: one.stream.order()):
            writer.unmatched(one)
    return done


def _records(source: Source, run: Run, done: SourceReport) -> Iterator[tuple[Any, JsonLines | JsonElements]]:
    """The records of a file, lines or an array; why it could not be read to its end stands in the report."""
    done.ledger, done.findings = run.ledger, run.findings
    try:
        with source.open() as stream:
            is_array = isinstance(source.glimpse(), list)
            records = JsonElements(stream, run, takes_cut=True) if is_array else JsonLines(stream, run)
            for record in records:
                yield record, records
    except (PalaverError, OSError) as error:
        done.failure = str(error)


class _Chunks:
    """Reads files of chunks, and puts together what belongs to one stream."""

    def __init__(self, shelf: "_Shelf", spill: Spill, done: Merged) -> None:
        self.broken: list[int] = []
        """Where lines are kept that could not be read."""
        self._shelf = shelf
        self._spill = spill
        self._done = done
        self._cutter = Cutter()

    def read(self, source: Source, advance: Advance) -> None:
        report = SourceReport(source.label, "chunks", source.size_bytes)
        self._done.chunks.append(report)
        run = Run(source.label, advance=advance, set_aside=self._keep_broken)
        for record, records in _records(source, run, report):
            if not isinstance(record, dict):
                run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            if is_deep(record):
                run.quarantined(TOO_DEEP, records.raw, records.where())
                continue
            # A copy: what the writer gives has room for far more than it holds.
            line = bytes(memoryview(written(record)))
            if stated := request_id(record):
                self._spill.add(f"id {stated}", line, len(line))
            else:
                text = record.get("chunk_data")
                self._place(self._cutter.add(encoded(text) if isinstance(text, str) else b"", line))
            run.folded("stream")
        self._place(self._cutter.end())

    def streams(self) -> list[Stream]:
        """Every group, put on the shelf, with what it is known by."""
        streams: list[Stream] = []
        for key, lines in self._spill.groups():
            chunks = timed(list(map(parse, lines)))
            kind, _, name = key.partition(" ")
            times = [chunk.time for chunk in chunks if chunk.time is not None]
            texts = (chunk.text for chunk in sorted(chunks, key=Timed.order) if chunk.text is not None)
            streams.append(
                Stream(
                    place=self._shelf.put(lines),
                    request_id=name if kind == "id" else None,
                    message_id=message_id(chunk_bytes(texts)),
                    first=min(times, default=None),
                    last=max(times, default=None),
                    is_tangled=kind == "cut" and int(name) in self._cutter.tangled,
                )
            )
        return streams

    def _place(self, placed: list[tuple[int, bytes]]) -> None:
        for number, line in placed:
            self._spill.add(f"cut {number}", line, len(line))

    def _keep_broken(self, quarantined: Quarantined) -> None:
        self.broken.append(self._shelf.put(quarantined))


class _Shelf:
    """Values that are put down and taken up again by their place; in memory up to a limit, then in a file."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=LIMIT_BYTES // 2, prefix="palaver-")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, value: Any) -> int:
        place = self._file.seek(0, 2)
        pickle.dump(value, self._file, protocol=5)
        return place

    def get(self, place: int) -> Any:
        self._file.seek(place)
        return pickle.load(self._file)  # noqa: S301 - a file without a name, which only this object has written


def _index(log: Source, advance: Advance) -> Index:
    """What the log's entries are known by; its damage is told when it is read to be written."""
    index = Index()

    def look_for_ids(quarantined: Quarantined) -> None:
        index.damaged_ids.update(found.decode("utf-8", "replace") for found in _STATED_ID.findall(quarantined.raw))

    run = Run(log.label, advance=advance, set_aside=look_for_ids)
    for number, (entry, _) in enumerate(_records(log, run, SourceReport(log.label, "log")), 1):
        if isinstance(entry, dict):
            index.add(number, entry)
    return index


def _merge_log(log: Source, claims: dict[int, list[Claim]], writer: "_Writer", done: Merged, advance: Advance) -> None:
    run = Run(log.label, advance=advance)
    for number, (entry, records) in enumerate(_records(log, run, done.log), 1):
        if not isinstance(entry, dict):
            run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
            continue
        try:
            writer.entry(number, entry, claims.get(number, []))
            run.mapped()
        except (PalaverError, OSError):
            raise
        except RecursionError:
            run.quarantined(TOO_DEEP, records.raw, records.where())
            writer.give_up(claims.get(number, []), "the entry is nested too deeply")
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other entries
            message = f"{type(error).__name__}: {error}"
            run.quarantined(UNFORESEEN, records.raw, records.where(), message)
            writer.give_up(claims.get(number, []), message)


class _Writer:
    """Writes entries and error lines, and counts what is to be told about them."""

    def __init__(self, done: Merged, shelf: _Shelf, write: Write) -> None:
        self._done = done
        self._shelf = shelf
        self._write = write

    def entry(self, number: int, entry: JsonObject, claims: list[Claim]) -> None:
        # A copy: the reader holds on to its records, and should not to all that becomes of them.
        entry = dict(entry)
        faults: list[Fault] = []
        total = 0
        made = None
        if is_merged(entry):
            claims = []
        elif not claims:
            made = rebuilt(entry)
            self._done.rebuilt += made is not None
        elif takes_a_stream(entry):
            chunks = [chunk for claim in claims for chunk in self._chunks(claim.stream)]
            if len(claims) > 1:
                chunks.sort(key=Timed.order)
            total = len(chunks)
            made = merged(entry, chunks, claims, faults)
            self._done.merged += 1
        line = written(masked_entry(entry))
        self._done.entries += 1
        self._write(line + b"\n")
        for issue in (made or {}).get("issues", ()):
            self._done.issues[issue["type"]] += 1
            if issue["type"] in REFUSED:
                where = f"entry {number}, chunk {issue['sequence']}"
                self._done.remark(where, issue["type"], issue["detail"])
        for fault in faults:
            stated = request_id(fault.original)
            message = f"Failed to parse chunk {fault.sequence} of {total}"
            self._fail(FAILED, message, fault.detail, stated, fault.original, sequence=fault.sequence)
        if claims and made is None:
            self.give_up(claims, "the entry's response is no object")

    def give_up(self, claims: list[Claim], detail: str) -> None:
        """Keep the chunks of an entry that could not be written."""
        for claim in claims:
            records = [chunk.record for chunk in self._chunks(claim.stream)]
            self._fail(FAILED, f"Failed to merge {_counted(records)}", detail, claim.stream.request_id, records)

    def failures(self, places: Iterable[int]) -> None:
        """Lines of chunk files that are no records."""
        for place in places:
            quarantined: Quarantined = self._shelf.get(place)
            found = _STATED_ID.search(quarantined.raw)
            text = masked_text(quarantined.raw.decode("utf-8", "backslashreplace"))
            stated = found[1].decode("utf-8", "replace") if found else None
            message = f"Failed to parse a chunk at {quarantined.where}"
            self._fail(FAILED, message, quarantined.message, stated, {"raw": text})

    def unmatched(self, one: Unmatched) -> None:
        records = [chunk.record for chunk in sorted(self._chunks(one.stream), key=Timed.order)]
        count = _counted(records)
        words = {
            "orphaned_chunks": f"{count} without an entry in the log",
            "missing_main_log": f"{count} whose entry is missing in the log",
            "ambiguous_chunks": f"{count} that cannot be told to belong to one entry",
        }
        self._fail(one.type, words[one.type], one.detail, one.stream.request_id, records)

    def _chunks(self, stream: Stream) -> list[Timed]:
        return timed(list(map(parse, self._shelf.get(stream.place))))

    def _fail(
        self, kind: str, message: str, detail: str, stated: str | None, original: Any, *, sequence: int | None = None
    ) -> None:
        self._done.errors[kind] += 1
        where = f"request {stated}" if stated else "chunks without a request id"
        self._done.remark(where, kind, f"{message}: {detail}")
        error = {
            "type": kind,
            "message": message,
            "request_id": stated,
            "chunk_sequence": sequence,
            "original_chunk": masked_entry(original),
            "error_details": detail,
        }
        self._write(written({"error": error}) + b"\n")


def _counted(records: list[JsonObject]) -> str:
    return f"{len(records):,} chunk{'' if len(records) == 1 else 's'}"
