"""The file formats of Claude Code: how to recognize each by its first bytes, and which reader it needs.

The web version's export is one JSON object whose `loglines` are the lines of a session.
"""

import json
import re
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Any, Literal, NamedTuple

import orjson

from palaver.importers.claude_code.dispatch import HANDLERS
from palaver.importers.claude_code.files import is_session_id
from palaver.importers.claude_code.line_context import LineContext
from palaver.importers.claude_code.memory import read_memory
from palaver.importers.claude_code.prompt_history import read_history
from palaver.importers.claude_code.session import SessionReader
from palaver.importers.claude_code.session_index import INDEX_NAME, read_index
from palaver.importers.claude_code.stream_json import StreamReader
from palaver.model.build import JsonObject
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

Form = Literal["session", "web-export", "stream-json", "stream-json-array", "history", "sessions-index", "memory"]


class FormatMatch(NamedTuple):
    """The format of a file, or None if Claude Code did not write it, with the reason."""

    form: Form | None
    reason: str
    is_sure: bool = True


_LEADING_BLANKS = b"\xef\xbb\xbf\0 \t\r\n"
"""Bytes that may precede the first record."""

_MAX_RECORDS_IN_HEAD = 60
_SESSION_FIELDS = ("uuid", "parentUuid", "sessionId", "isSidechain", "leafUuid")
_SESSION_FIELD_TYPES = frozenset(HANDLERS) - {
    "user",
    "assistant",
    "system",
    "tool_use",
    "tool_result",
    "summary",
    "result",
}
_WEB_EXPORT = re.compile(rb'\s*\{\s*(?:"[^"]*"\s*:\s*(?:"[^"]*"|[0-9]+|null|true|false)\s*,\s*)*"loglines"\s*:\s*\[')
_OWN_DOCUMENT = re.compile(rb'\{\s*"schema_version"\s*:')
"""A document that palaver wrote: it contains the same words, and its file may be named after the session."""
_COPILOT_LOG = re.compile(rb'\{\s*"kind"\s*:\s*[0-9]')
_EDITOR_SESSION = re.compile(rb'"(?:requests|history)"\s*:\s*\[')
"""Chats of Copilot and Continue, whose sessions have ids too."""
_SESSION_FIELD = re.compile(rb'"(?:parentUuid|isSidechain|sessionId)"\s*:')
_INDEX_FIELD = re.compile(rb'"(?:firstPrompt|fullPath|fileMtime)"\s*:')
"""Other products have an index of the same name, with other fields."""
_GEMINI_MESSAGE = re.compile(rb'"message"\s*:\s*\{\s*"role"\s*:\s*"[a-z]*"\s*,\s*"parts"\s*:')
_UNTYPED_LINE_FIELDS = ("sessionId", "requestId", "costUSD")
"""Fields that the oldest versions wrote beside a message without a `type`; other products omit the type as well."""


def identify_format(source: Source) -> FormatMatch:
    """Identify a file by its name and first bytes."""
    if source.file_name == INDEX_NAME:
        return _match_index(source)
    head = source.head().lstrip(_LEADING_BLANKS)
    if not head:
        return _match_empty_file(source)
    if _OWN_DOCUMENT.match(head):
        return FormatMatch(None, "")
    if _WEB_EXPORT.match(head):
        return FormatMatch("web-export", "an object with `loglines`")
    if _is_array(source):
        for record in _objects_in_head(head[1:].lstrip(_LEADING_BLANKS)):
            if _is_stream(record):
                return FormatMatch("stream-json-array", "an array of stream-json records")
        return FormatMatch(None, "")
    if not head.startswith(b"{") and b"\n{" not in head:
        if _is_named_like_session(source):
            return FormatMatch("session", "a damaged file named like a session", is_sure=False)
        return FormatMatch(None, "")
    best = FormatMatch(None, "")
    for record in _objects_in_head(head):
        if _is_from_gemini_fork(record):
            return FormatMatch(None, "")
        found = _match_record(record)
        if found.form and found.is_sure:
            return found
        best = best if best.form else found
    is_cut = b"\n" not in head and head.startswith(b"{") and not _COPILOT_LOG.match(head) and not _is_json(head)
    is_from_other_product = _EDITOR_SESSION.search(head) or _GEMINI_MESSAGE.search(head)
    is_like_session = _SESSION_FIELD.search(head, 0, 4096) or _is_named_like_session(source)
    if best.form is None and is_cut and is_like_session and not is_from_other_product:
        return FormatMatch("session", "a first line, longer than was looked at, of a session")
    return best


def read_form(source: Source, run: Run, *, keep_original_files: bool) -> Iterator[dict[str, Any]]:
    """Read a file with the reader for its format."""
    match run.form or _form_of(source):
        case "history":
            yield from read_history(source, run)
        case "memory":
            yield from read_memory(source, run)
        case "sessions-index":
            yield from read_index(source, run)
        case "web-export":
            yield from _read_web_export(source, run, keep_original_files=keep_original_files)
        case "stream-json":
            with source.open() as stream:
                reader = StreamReader(source, run, keep_original_files=keep_original_files)
                yield from reader.read_stream(JsonLines(stream, run))
        case form if form == "stream-json-array" or (form is None and _is_array(source)):
            with source.open() as stream:
                reader = StreamReader(source, run, keep_original_files=keep_original_files)
                yield from reader.read_stream(JsonElements(stream, run))
        case _:
            yield from SessionReader(source, run, keep_original_files=keep_original_files).read()


def _read_web_export(source: Source, run: Run, *, keep_original_files: bool) -> Iterator[dict[str, Any]]:
    reader = SessionReader(source, run, keep_original_files=keep_original_files)
    router = reader.new_router()
    with source.open() as stream:
        records = JsonElements(stream, run, ("loglines",))
        tally = yield from reader.read_records(router, LineContext(records, keep_original_files))
        router.main.platform_metadata.update(records.wrapper)
    yield from reader.finish(router, tally)
    router.close()


def _is_json(head: bytes) -> bool:
    try:
        orjson.loads(head)
    except orjson.JSONDecodeError:
        return False
    return True


def _is_array(source: Source) -> bool:
    """Return whether the whole file is one array, not a session file or lines of which the first is an array."""
    head = source.head().lstrip(_LEADING_BLANKS)
    if not head.startswith(b"[") or _is_named_like_session(source):
        return False
    first, _, rest = head.partition(b"\n")
    return not rest.strip() or not _is_json(first)


def _is_named_like_session(source: Source) -> bool:
    return source.suffix == ".jsonl" and (source.stem.startswith("agent-") or bool(is_session_id(source.stem)))


def _form_of(source: Source) -> Form | None:
    if source.is_folder:
        return "memory"
    return "sessions-index" if source.file_name == INDEX_NAME else identify_format(source).form


def _match_index(source: Source) -> FormatMatch:
    head = source.head()
    if _INDEX_FIELD.search(head):
        return FormatMatch("sessions-index", "an index of sessions with `firstPrompt` and `fullPath`")
    return FormatMatch(None, "" if b'"sessionId"' in head else "an index without sessions")


def _match_empty_file(source: Source) -> FormatMatch:
    if _is_named_like_session(source):
        return FormatMatch("session", "an empty file named like a session")
    return FormatMatch(None, "")


def _match_record(record: JsonObject) -> FormatMatch:
    kind = record.get("type")
    message = record.get("message")
    if "payload" in record:
        return FormatMatch(None, "")  # a rollout of Codex
    if "contextItems" in record or isinstance(record.get("history"), list):
        return FormatMatch(None, "")  # a session of Continue, or an item of one
    if isinstance(record.get("display"), str) and ("pastedContents" in record or "project" in record):
        return FormatMatch("history", "rows with `display` and `pastedContents`")
    if _is_stream(record):
        return FormatMatch("stream-json", "records with `session_id` or `_audit_timestamp`")
    if isinstance(kind, str) and kind in HANDLERS:
        has_fields = any(field in record for field in _SESSION_FIELDS)
        if kind in {"user", "assistant"} and isinstance(message, dict):
            return FormatMatch("session", f"a line of type {kind!r} with a message", has_fields)
        if has_fields or (kind in _SESSION_FIELD_TYPES and "data" not in record):
            return FormatMatch("session", f"a line of type {kind!r}")
        if kind == "user" and isinstance(record.get("content"), str) and "id" not in record:
            return FormatMatch("session", "a line of type 'user' with plain content", is_sure=False)
        if "tool_use_id" in record or "tool_name" in record:
            return FormatMatch("session", f"a line of type {kind!r}", is_sure=False)
        return FormatMatch(None, "")
    marker_field = next((field for field in _UNTYPED_LINE_FIELDS if field in record), None)
    if marker_field and kind is None and isinstance(message, dict) and "usage" in message:
        return FormatMatch("session", f"lines with `usage` and `{marker_field}`")
    return FormatMatch(None, "")


def _is_from_gemini_fork(record: JsonObject) -> bool:
    """Return whether a line comes from Qwen Code or a similar fork, whose field names match Claude Code's."""
    message = record.get("message")
    return "systemPayload" in record or (isinstance(message, dict) and "parts" in message)


def _is_stream(record: JsonObject) -> bool:
    if "_audit_timestamp" in record and isinstance(record.get("type"), str):
        return True
    if not isinstance(record.get("session_id"), str) or "sessionId" in record:
        return False
    kind = record.get("type")
    if kind == "system":
        return isinstance(record.get("subtype"), str)
    return isinstance(kind, str) and kind in {"user", "assistant", "result", "stream_event"}


def _objects_in_head(head: bytes) -> Iterator[JsonObject]:
    """Yield the objects among the first lines, or the first objects of a pretty-printed document."""
    found = False
    for line in islice(BytesIO(head), _MAX_RECORDS_IN_HEAD):
        try:
            value = orjson.loads(line.strip(b"\0"))
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            found = True
            yield value
    if found or not head.startswith((b"{", b" ", b"\n", b"\r")):
        return
    decoder = json.JSONDecoder()
    text = head.decode(errors="replace")
    position = 0
    for _ in range(_MAX_RECORDS_IN_HEAD):
        position = text.find("{", position)
        if position < 0:
            return
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        if isinstance(value, dict):
            yield value
