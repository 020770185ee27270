"""Files of conversation documents and usage records: recognition, repair and reading.

Repair gives every message a unique id, cuts links to missing messages and cycles of links, and drops totals and costs
that can be computed, so that they are not reserved_ids for stated ones.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any

from palaver.errors import VersionError
from palaver.importers._shared.contract import Match
from palaver.importers._shared.findings import (
    BAD_CONVERSATION,
    MADE_MESSAGE_ID,
    MISSING_PARENT,
    PARENT_CYCLE,
    UNFORESEEN,
    UNKNOWN_BLOCK,
)
from palaver.importers._shared.message_tree import build_tree
from palaver.model import SCHEMA_VERSION, build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.metrics import MetricsTally
from palaver.model.timestamps import TIMESTAMP_PATTERN
from palaver.model.upgrade import upgrade
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import BOM, NOT_AN_OBJECT, SPACE
from palaver.sources.jsonl import JsonLines
from palaver.sources.parse import NOT_JSON, parse, parses
from palaver.sources.run import Run
from palaver.sources.source import HEAD_BYTES, Source

BAD_USAGE = finding_kind("bad-usage-record", "error", "A usage record lacks required fields; it is quarantined.")
UNKNOWN_VERSION = finding_kind(
    "unknown-version", "error", "A document has a schema version unknown to this version of palaver; it is quarantined."
)


_PLATFORM = re.compile("[a-z][a-z0-9_]*")
_TIMESTAMP = re.compile(TIMESTAMP_PATTERN)
_SQLITE = b"SQLite format 3\0"
_BLANK = BOM + SPACE + b"\0"


def recognize(source: Source) -> Match:
    head = source.head()
    if head.startswith(_SQLITE):
        from palaver.importers.ucs.archives import recognize_archive

        return recognize_archive(source)
    if b'"schema_version"' not in head:
        is_quarantine = b'"where"' in head and _is_quarantine_line(source.parsed_head())
        return Match.no("records quarantined by an import of palaver") if is_quarantine else Match.no()
    is_cut = len(head) >= HEAD_BYTES
    match source.parsed_head():
        case list() as values if any(_is_document(value, is_cut=is_cut) for value in values):
            return Match.yes("an array of conversation documents", form=_form_of(source))
        case value if _is_document(value, is_cut=is_cut):
            return Match.yes("conversation documents", form=_form_of(source))
        case _:
            pass
    if any(map(_is_document, _parsed_lines(head))):
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
        records = JsonElements(stream, run, accepts_truncated=True) if form == "array" else JsonLines(stream, run)
        for value in records:
            if not isinstance(value, dict):
                run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            if _is_usage(value):
                _read_usage(value, run, records)
                continue
            try:
                document = upgrade(value)
                problem = _problem(document)
                if not problem:
                    repair_messages(document, run, records.where())
                    drop_computed_costs(document)
                    totals.drop_computed(document)
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
    """Return whether the value is a document of any version; of a truncated one, the header suffices."""
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


def _read_usage(record: JsonObject, run: Run, records: JsonElements | JsonLines) -> None:
    """Hand over a usage record, or quarantine it; oddities in other fields are handled later."""
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


def _is_quarantine_line(value: Any) -> bool:
    match value:
        case {"source": str(), "where": str(), "code": str(), "message": str()}:
            return "raw" in value or "raw_base64" in value
        case _:
            return False


def _parsed_lines(head: bytes) -> Iterator[Any]:
    """Yield the values of those lines that are valid JSON."""
    for line in BytesIO(head):
        with suppress(*NOT_JSON):
            yield parse(line)


def _form_of(source: Source) -> str:
    """Return `archive`, `lines` or `array`; a file whose first line is a whole array and has more lines is `lines`."""
    if source.head().startswith(_SQLITE):
        return "archive"
    head = source.head().lstrip(_BLANK)
    if not head.startswith(b"[") or source.suffix in {".jsonl", ".ndjson"}:
        return "lines"
    first, _, rest = head.partition(b"\n")
    return "lines" if rest.strip(_BLANK) and parses(first) else "array"


def _problem(document: JsonObject) -> str:
    """Return why a document is unusable, or ""; oddities in other fields are handled later."""
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


def repair_messages(document: JsonObject, run: Run, where: str) -> None:
    """Repair ids and links of a document's messages in place; leave an intact document untouched."""
    if document.get("fragment", document) is None:
        del document["fragment"]
    is_whole = not _is_fragment(document.get("fragment"))
    messages = document["messages"]
    if _is_intact(messages, is_whole=is_whole):
        return
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            run.note(UNKNOWN_BLOCK, f"{where}, message {index + 1}", "a value that is not a message is kept unchanged")
            messages[index] = build.message(
                message_id="",
                role="system",
                timestamp=document["created_at"],
                content=[build.opaque(kind="message", raw=message)],
                metadata={"author_kind": "harness", "timestamp_inferred": True},
            )
    _assign_ids(messages, run, where)
    _repair_links(messages, run, where, is_whole=is_whole)


def _is_fragment(value: Any) -> bool:
    """Return whether the value is a valid `fragment`; an invalid one is moved to `invalid_fields` later."""
    match value:
        case {"sequence": int() | float() as sequence, "final": bool()}:
            return sequence is not True and sequence is not False and sequence >= 0 and sequence == int(sequence)
        case _:
            return False


def _is_intact(messages: list[Any], *, is_whole: bool) -> bool:
    """Return whether all ids are unique and every message follows its parent, which also rules out cycles."""
    try:
        names = {message["message_id"] for message in messages}
    except (TypeError, KeyError):
        return False
    if len(names) < len(messages) or "" in names or not all(isinstance(name, str) for name in names):
        return False
    known: set[str] = set()
    for message in messages:
        match message.get("parent_message_id"):
            case None:
                pass
            case str(parent) if parent in known or not (is_whole or parent in names):
                pass
            case _:
                return False
        known.add(message["message_id"])
    return True


def _assign_ids(messages: list[JsonObject], run: Run, where: str) -> None:
    reserved_ids = {name for message in messages if isinstance(name := message.get("message_id"), str)} | {""}
    used_ids: set[str] = set()
    for index, message in enumerate(messages, 1):
        stated = message.get("message_id")
        if isinstance(stated, str) and stated and stated not in used_ids:
            used_ids.add(stated)
            continue
        wanted = stated if isinstance(stated, str) and stated else "message"
        number = index
        while (new_id := f"{wanted}-{number}") in reserved_ids:
            number += 1
        if "message_id" in message and stated != "":
            _store_metadata(message, "message_id", stated)
        message["message_id"] = new_id
        reserved_ids.add(new_id)
        used_ids.add(new_id)
        run.note(MADE_MESSAGE_ID, f"{where}, message {index}", f"{stated!r:.80} became {new_id!r:.80}")


def _repair_links(messages: list[JsonObject], run: Run, where: str, *, is_whole: bool) -> None:
    by_id = {message["message_id"]: message for message in messages}
    links: dict[str, str | None] = {}
    for name, message in by_id.items():
        parent = message.get("parent_message_id")
        # A parent that is no string is moved to `invalid_fields` later, as everything that breaks the schema.
        is_link = isinstance(parent, str) and (is_whole or parent in by_id)
        links[name] = parent if is_link else None
    tree = build_tree(links, _no_age)
    for kind, names in ((MISSING_PARENT, tree.dangling), (PARENT_CYCLE, tree.circular)):
        for name in names:
            message = by_id[name]
            _store_metadata(message, "missing_parent", message.pop("parent_message_id"))
            run.note(kind, f"{where}, message {name!r:.80}")


def _no_age(_assign_ids: str) -> str:
    return ""


def _store_metadata(message: JsonObject, name: str, value: Any) -> None:
    """Store a value in a message's metadata, under a name that is not reserved_ids."""
    match message.get("metadata"):
        case dict() as metadata:
            pass
        case None:
            metadata = message["metadata"] = {}
        case odd:
            metadata = message["metadata"] = {"invalid_fields": {"metadata": odd}}
    while name in metadata:
        name += "_"
    metadata[name] = value


_UNCOUNTABLE = (TypeError, KeyError, AttributeError, ValueError)
"""Errors raised by messages that break the schema."""


class Totals:
    """Totals of the conversations whose final fragment is still to come, computed as during an import."""

    def __init__(self) -> None:
        self._open: dict[str, MetricsTally] = {}

    def drop_computed(self, document: JsonObject) -> None:
        """Remove values from `metrics` that equal the computed ones; the key keeps its position in the document."""
        conversation_id = document["conversation_id"]
        tally = self._open.pop(conversation_id, None) or MetricsTally()
        try:
            tally.add(document["messages"])
            computed = tally.metrics()
        except _UNCOUNTABLE:
            return
        if _has_next_fragment(document):
            self._open[conversation_id] = tally
            return
        match document.get("metrics"):
            case dict() as stated:
                document["metrics"] = {
                    name: value for name, value in stated.items() if computed.get(name, _MISSING) != value
                }
            case _:
                pass


_MISSING = object()


def drop_computed_costs(document: JsonObject) -> None:
    """Remove costs that `--with-cost` added to the messages, as prices change and documents do not."""
    for message in document["messages"]:
        match message:
            case {"metadata": {"computed_cost": {"source": "list_prices"}} as metadata}:
                del metadata["computed_cost"]
                if not metadata:
                    del message["metadata"]
            case _:
                pass


def _has_next_fragment(document: JsonObject) -> bool:
    match document.get("fragment"):
        case {"final": False}:
            return True
        case _:
            return False
