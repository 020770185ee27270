"""Telling the forms of Claude Code's files apart, and from files of others, by their first lines."""

import json
import re
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Literal, NamedTuple

import orjson

from palaver.importers.claude_code.lines import HANDLERS
from palaver.importers.claude_code.unit import is_session_id
from palaver.model.build import JsonObject
from palaver.sources.source import Source

Form = Literal["session", "web-export", "stream-json", "stream-json-array", "history"]


class Guess(NamedTuple):
    form: Form | None
    reason: str
    is_sure: bool = True


BLANK = b"\xef\xbb\xbf\0 \t\r\n"
"""What may stand before the first record."""

_LINES_LOOKED_AT = 60
_SESSION_FIELDS = ("uuid", "parentUuid", "sessionId", "isSidechain", "leafUuid")
_FACT_TYPES = frozenset(HANDLERS) - {"user", "assistant", "system", "tool_use", "tool_result", "summary", "result"}
_LOG_LINES = re.compile(rb'\s*\{\s*(?:"[^"]*"\s*:\s*(?:"[^"]*"|[0-9]+|null|true|false)\s*,\s*)*"loglines"\s*:\s*\[')
_OWN_DOCUMENT = re.compile(rb'\{\s*"schema_version"\s*:')
"""What palaver itself wrote: the same words may stand in it, and the file may be named after the session."""
_EDITORS_LOG = re.compile(rb'\{\s*"kind"\s*:\s*[0-9]')
_EDITORS_SESSION = re.compile(rb'"(?:requests|history)"\s*:\s*\[')
"""Chats of Copilot and Continue: their sessions, too, have ids."""
_LONG_FIRST_LINE = re.compile(rb'"(?:parentUuid|isSidechain|sessionId)"\s*:')
_GEMINI_MESSAGE = re.compile(rb'"message"\s*:\s*\{\s*"role"\s*:\s*"[a-z]*"\s*,\s*"parts"\s*:')
_UNTYPED_MARKS = ("sessionId", "requestId", "costUSD")
"""Fields that the oldest versions wrote beside a message; other products write a message without a type as well."""


def guess(source: Source) -> Guess:
    head = source.head().lstrip(BLANK)
    if not head:
        return _by_name(source)
    if _OWN_DOCUMENT.match(head):
        return Guess(None, "")
    if _LOG_LINES.match(head):
        return Guess("web-export", "an object with `loglines`")
    if is_array(source):
        for record in _objects(head[1:].lstrip(BLANK)):
            if _is_stream(record):
                return Guess("stream-json-array", "an array of stream-json records")
        return Guess(None, "")
    if not head.startswith(b"{") and b"\n{" not in head:
        if _is_named_like_session(source):
            return Guess("session", "a damaged file named like a session", is_sure=False)
        return Guess(None, "")
    best = Guess(None, "")
    for record in _objects(head):
        if _is_of_gemini_fork(record):
            return Guess(None, "")
        found = _judge(record)
        if found.form and found.is_sure:
            return found
        best = best if best.form else found
    is_cut = b"\n" not in head and head.startswith(b"{") and not _EDITORS_LOG.match(head)
    is_of_others = _EDITORS_SESSION.search(head) or _GEMINI_MESSAGE.search(head)
    is_like_session = _LONG_FIRST_LINE.search(head, 0, 4096) or _is_named_like_session(source)
    if best.form is None and is_cut and is_like_session and not is_of_others:
        return Guess("session", "a first line, longer than was looked at, of a session")
    return best


def is_array(source: Source) -> bool:
    """Whether the whole document is one array: not a session file, nor lines of which the first is an array."""
    head = source.head().lstrip(BLANK)
    if not head.startswith(b"[") or _is_named_like_session(source):
        return False
    first, _, rest = head.partition(b"\n")
    if not rest.strip():
        return True
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError:
        return True
    return False


def _is_named_like_session(source: Source) -> bool:
    return source.suffix == ".jsonl" and (source.stem.startswith("agent-") or bool(is_session_id(source.stem)))


def _by_name(source: Source) -> Guess:
    if _is_named_like_session(source):
        return Guess("session", "an empty file named like a session")
    return Guess(None, "")


def _judge(record: JsonObject) -> Guess:
    kind = record.get("type")
    message = record.get("message")
    if "payload" in record:
        return Guess(None, "")  # a rollout of Codex
    if "contextItems" in record or isinstance(record.get("history"), list):
        return Guess(None, "")  # an item, or the whole, of a session of Continue
    if isinstance(record.get("display"), str) and ("pastedContents" in record or "project" in record):
        return Guess("history", "rows with `display` and `pastedContents`")
    if _is_stream(record):
        return Guess("stream-json", "records with `session_id` or `_audit_timestamp`")
    if isinstance(kind, str) and kind in HANDLERS:
        has_fields = any(field in record for field in _SESSION_FIELDS)
        if kind in {"user", "assistant"} and isinstance(message, dict):
            return Guess("session", f"a line of type {kind!r} with a message", has_fields)
        if has_fields or (kind in _FACT_TYPES and "data" not in record):
            return Guess("session", f"a line of type {kind!r}")
        if kind == "user" and isinstance(record.get("content"), str) and "id" not in record:
            return Guess("session", "a line of type 'user' with plain content", is_sure=False)
        if "tool_use_id" in record or "tool_name" in record:
            return Guess("session", f"a line of type {kind!r}", is_sure=False)
        return Guess(None, "")
    mark = next((field for field in _UNTYPED_MARKS if field in record), None)
    if mark and kind is None and isinstance(message, dict) and "usage" in message:
        return Guess("session", f"lines with `usage` and `{mark}`")
    return Guess(None, "")


def _is_of_gemini_fork(record: JsonObject) -> bool:
    """Return whether a line is of Qwen Code or its kind, which name their fields as Claude Code does."""
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


def _objects(head: bytes) -> Iterator[JsonObject]:
    """The objects among the first lines; of a pretty-printed document, the first ones."""
    found = False
    for line in islice(BytesIO(head), _LINES_LOOKED_AT):
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
    for _ in range(_LINES_LOOKED_AT):
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
