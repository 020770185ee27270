"""Files of documents and usage records: which they are, and what is in them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any

from palaver.errors import VersionError
from palaver.importers._shared.contract import Match
from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.ucs.links import sound
from palaver.importers.ucs.totals import Totals, leave_out_costs
from palaver.model import SCHEMA_VERSION
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import TIMESTAMP_PATTERN
from palaver.model.upgrade import upgrade
from palaver.sources.damage import BOM, NOT_AN_OBJECT, SPACE
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.parse import NOT_JSON, parse, parses
from palaver.sources.run import Run
from palaver.sources.source import HEAD_BYTES, Source

BAD_USAGE = finding_kind("bad-usage-record", "error", "A usage record lacks what makes it one; it is set aside.")
UNKNOWN_VERSION = finding_kind(
    "unknown-version", "error", "A document has a schema version that this palaver does not know; it is set aside."
)


_PLATFORM = re.compile("[a-z][a-z0-9_]*")
_TIMESTAMP = re.compile(TIMESTAMP_PATTERN)
_SQLITE = b"SQLite format 3\0"
_BLANK = BOM + SPACE + b"\0"


def recognize(source: Source) -> Match:
    head = source.head()
    if head.startswith(_SQLITE):
        from palaver.importers.ucs.archives import recognized

        return recognized(source)
    if b'"schema_version"' not in head:
        is_aside = b'"where"' in head and _is_set_aside(source.glimpse())
        return Match.no("records that an import of palaver has set aside") if is_aside else Match.no()
    is_cut = len(head) >= HEAD_BYTES
    match source.glimpse():
        case list() as values if any(_is_document(value, is_cut=is_cut) for value in values):
            return Match.yes("an array of conversation documents", form=_form_of(source))
        case value if _is_document(value, is_cut=is_cut):
            return Match.yes("conversation documents", form=_form_of(source))
        case _:
            pass
    if any(map(_is_document, _values(head))):
        return Match.maybe("conversation documents behind something else", form=_form_of(source))
    return Match.no()


def read(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form or _form_of(source)
    if form == "archive":
        from palaver.importers.ucs.archives import read_archive

        yield from read_archive(source, run)
        return
    totals = Totals()
    with source.open() as stream:
        records = JsonElements(stream, run, takes_cut=True) if form == "array" else JsonLines(stream, run)
        for value in records:
            if not isinstance(value, dict):
                run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            if _is_usage(value):
                _use(value, run, records)
                continue
            try:
                document = upgrade(value)
                problem = _problem(document)
                if not problem:
                    sound(document, run, records.where())
                    leave_out_costs(document)
                    totals.leave_out(document)
            except VersionError as error:
                kind = UNKNOWN_VERSION if "schema_version" in value else BAD_CONVERSATION
                run.quarantined(kind, records.raw, records.where(), str(error))
                continue
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other documents
                message = f"{type(error).__name__}: {error}"
                run.quarantined(UNFORESEEN, records.raw, records.where(), message)
                continue
            if problem:
                run.quarantined(BAD_CONVERSATION, records.raw, records.where(), problem)
                continue
            run.mapped()
            yield document


def _is_document(value: Any, *, is_cut: bool = False) -> bool:
    """Whether this is a document, of whatever version; of one that is cut off, the header has to do."""
    match value:
        case {"schema_version": str(), "conversation_id": str()}:
            return is_cut or isinstance(value.get("messages"), list)
        case _:
            return _is_usage(value)


def _is_usage(value: Any) -> bool:
    match value:
        case {"schema_version": str(), "usage_id": str(), "kind": str()}:
            return "conversation_id" not in value
        case _:
            return False


def _use(record: JsonObject, run: Run, records: JsonElements | JsonLines) -> None:
    """Hand over a usage record; what is odd further inside can be kept there."""
    match record:
        case {"schema_version": version} if version != SCHEMA_VERSION:
            problem = f"the usage record has schema_version {version!r:.40}; this palaver knows {SCHEMA_VERSION}"
            run.quarantined(UNKNOWN_VERSION, records.raw, records.where(), problem)
        case {
            "usage_id": str(usage_id),
            "kind": "request" | "period",
            "started_at": str(started_at),
            "platform": {"name": str(name)},
        } if usage_id and _TIMESTAMP.fullmatch(started_at) and _PLATFORM.fullmatch(name):
            run.mapped()
            run.used(record)
        case _:
            problem = f"the usage record {record['usage_id']!r:.200} does not say what was used where and when"
            run.quarantined(BAD_USAGE, records.raw, records.where(), problem)


def _is_set_aside(value: Any) -> bool:
    match value:
        case {"source": str(), "where": str(), "code": str(), "message": str()}:
            return "raw" in value or "raw_base64" in value
        case _:
            return False


def _values(head: bytes) -> Iterator[Any]:
    """The lines of a head that can be read."""
    for line in BytesIO(head):
        with suppress(*NOT_JSON):
            yield parse(line)


def _form_of(source: Source) -> str:
    """An array spans the whole file, whatever its lines; in a file of lines, one of them may be an array."""
    if source.head().startswith(_SQLITE):
        return "archive"
    head = source.head().lstrip(_BLANK)
    if not head.startswith(b"[") or source.suffix in {".jsonl", ".ndjson"}:
        return "lines"
    first, _, rest = head.partition(b"\n")
    return "lines" if rest.strip(_BLANK) and parses(first) else "array"


def _problem(document: JsonObject) -> str:
    """Why nothing can be made of a document, in words; what is odd further inside can be kept there."""
    match document:
        case {"messages": list()}:
            pass
        case _:
            return "the document has no list of messages"
    match document:
        case {"conversation_id": str(conversation_id)} if conversation_id:
            pass
        case _:
            return "the document has no conversation_id"
    match document:
        case {"platform": {"name": str(name)}} if _PLATFORM.fullmatch(name):
            pass
        case _:
            return f"the conversation {conversation_id!r:.200} names no platform"
    match document:
        case {"created_at": str(created_at)} if _TIMESTAMP.fullmatch(created_at):
            return ""
        case _:
            return f"the conversation {conversation_id!r:.200} does not say when it was created"
