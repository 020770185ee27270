"""Recognizes logs of API calls by their first records."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.importers.api_trace.endpoints import is_model_request, wire_of_url
from palaver.importers.api_trace.html_page import is_page
from palaver.importers.api_trace.records import record_kind
from palaver.model.build import JsonObject
from palaver.sources.source import Source
from palaver.sources.source_head import parse_head
from palaver.streams.journal import FOLDER_NAME as JOURNAL

CHUNK_SUFFIX = ".stream.jsonl"
SPLIT_FILE_NAME = re.compile(r"[0-9]{3,}_(?:request|response)_[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9-]+\.json")
_SESSION_META = "session_meta.json"
_JOURNAL_SUFFIXES = frozenset({"", ".lock", ".part"})
_MAX_LINES = 8
_BLANK = b"\xef\xbb\xbf\0 \t\r\n"
_RECORD_STARTS = re.compile(
    rb'"(?:request|request_body|response)"\s*:\s*(?:\{|null)|"entries"\s*:\s*\[|"chunk_data"\s*:|"_meta_type"\s*:|'
    rb'"type"\s*:\s*"(?:request|response(?:_chunk|_meta)?)"'
)
_API_PATHS = re.compile(
    rb"/v1/messages|/chat/completions|/v1/responses|:(?:stream)?[gG]enerateContent|/invoke-with-response"
)
_REASONS = {
    "trace": "records of API calls with `request` and `response`",
    "pair": "pairs of claude-trace, `request` with `url` and `body`",
    "har": "HTTP requests and responses with `postData` and `content`",
    "merged": "calls merged by LLM Interceptor",
    "part": "records of LLM Interceptor, `request` and `response_chunk`",
    "chunk": "chunks of streams, with `chunk_data`",
    "control": "records of LLM Interceptor",
}


def recognize(source: Source) -> Match:
    if source.is_folder:
        return _split_session(source)
    if _is_in_journal(source):
        return Match.no("what `palaver record` notes of exchanges that have not ended: it is in the log once they have")
    head = source.head()
    if source.suffix in {".html", ".htm"}:
        return _page(source, head)
    if not _RECORD_STARTS.search(head):
        return Match.no()
    value = source.parsed_head()
    match value:
        case {"log": {"entries": list()}}:
            return _har(head)
        case list() | None if _is_array(head):
            listed = value if isinstance(value, list) else [parse_head(head[head.find(b"{") :])]
            kind = next(filter(None, (_certain_kind(record) for record in listed if isinstance(record, dict))), "")
            return Match.yes(f"an array of {_REASONS[kind]}", form="array") if kind else Match.no()
        case _:
            kind = next(filter(None, map(_certain_kind, _first_objects(head, value))), "")
    if not kind:
        return Match.no()
    if kind == "chunk" and (log := _log_of(source)):
        return Match.no(f"chunks of the streams in {log}: import that, and they are taken along")
    return Match.yes(_REASONS[kind], _members(source), form="lines")


def form_of(source: Source) -> str:
    """Return the form of a source that the user named, even if its content is damaged."""
    if source.is_folder:
        return "split"
    if source.suffix in {".html", ".htm"}:
        return "page"
    match source.parsed_head():
        case {"log": {"entries": list()}}:
            return "har"
        case _ if source.suffix == ".har":
            return "har"
        case _:
            return "array" if _is_array(source.head()) else "lines"


def members_of(source: Source) -> tuple[Source | None, Source | None]:
    """Return the chunk file and the page meta_files a log, each None if missing."""
    names = _members(source)
    chunks = next((name for name in names if name.endswith(CHUNK_SUFFIX)), None)
    page = next((name for name in names if not name.endswith(CHUNK_SUFFIX)), None)
    return source.sibling(chunks) if chunks else None, source.sibling(page) if page else None


def _is_in_journal(source: Source) -> bool:
    """Return whether a file belongs to the journal in a folder of logs."""
    folders = Path(source.label).parts[-3:-1]
    return JOURNAL in folders and source.suffix in _JOURNAL_SUFFIXES


def _is_array(head: bytes) -> bool:
    return head.lstrip(_BLANK).startswith(b"[")


def _certain_kind(record: JsonObject) -> str:
    """Return the kind of a possibly truncated record if it certainly belongs to a log, else ""."""
    kind = record_kind(record)
    match kind:
        case "trace":
            return kind if _is_trace(record) else ""
        case "pair":
            return kind if _is_pair(record.get("request")) else ""
        case "part":
            is_request = record.get("type") == "request"
            is_sure = isinstance(record.get("url"), str) if is_request else "status_code" in record
            return kind if is_sure else ""
        case "chunk":
            return kind if {"request_id", "event_type", "timestamp"} & record.keys() else ""
        case "control":
            return kind if str(record.get("_meta_type")).startswith("session_") else ""
        case "merged":
            return kind if "response_text" in record or "response_status" in record else ""
        case "har":
            return kind if "startedDateTime" in record and _asks_model(record) else ""
        case _:
            return ""


def _is_pair(request: Any) -> bool:
    match request:
        case {"url": str()}:
            return not {"body", "timestamp", "headers"}.isdisjoint(request)
        case _:
            return False


def _is_trace(record: JsonObject) -> bool:
    request: Any = record.get("request")
    if not is_model_request(request):
        return False
    if not isinstance(request.get("model"), str) and "contents" not in request and "response" not in record:
        return False
    return not {"response", "error", "duration_ms"}.isdisjoint(record) or {"id", "timestamp"} <= record.keys()


def _asks_model(entry: Any) -> bool:
    match entry:
        case {"request": {"url": str(url)}}:
            return wire_of_url(url) is not None
        case _:
            return False


def _har(head: bytes) -> Match:
    if _API_PATHS.search(head):
        return Match.yes("a HAR file with calls of a model's API", form="har")
    return Match.no("a HAR file that begins without calls of a model's API: see `palaver import api_trace`")


def _page(source: Source, head: bytes) -> Match:
    if not is_page(head):
        return Match.no()
    log = source.sibling(f"{source.stem}.jsonl")
    if _is_log(log):
        return Match.no(f"the page of {log.file_name}, which holds the same calls")
    return Match.yes("the page of a claude-trace log", form="page")


def _split_session(source: Source) -> Match:
    names = [name for name in source.listing()[0] if SPLIT_FILE_NAME.fullmatch(name)]
    if not any("_request_" in name for name in names):
        return Match.no()
    if not any(
        _certain_kind(value)
        for name in names[:4]
        if isinstance(value := Source(source.folder, name).parsed_head(), dict)
    ):
        return Match.no()
    meta_files = [name for name in source.listing()[0] if name == _SESSION_META]
    size_bytes = sum(Source(source.folder, name).size_bytes for name in names)
    return Match.yes("a session that LLM Interceptor split into files", (*names, *meta_files), "split", size_bytes)


def _first_objects(head: bytes, first: Any) -> Iterator[JsonObject]:
    if isinstance(first, dict):
        yield first
    position = head.find(b"\n{")
    for _ in range(_MAX_LINES):
        if position < 0:
            return
        if isinstance(value := parse_head(head[position + 1 :]), dict):
            yield value
        position = head.find(b"\n{", position + 1)


def _members(source: Source) -> tuple[str, ...]:
    """Return the names of the other files of a log."""
    if source.suffix != ".jsonl" or source.file_name.endswith(CHUNK_SUFFIX):
        return ()
    names = (f"{source.stem}{CHUNK_SUFFIX}", f"{source.stem}.html")
    return tuple(name for name in names if _exists(source.sibling(name)) and _is_ours(source.sibling(name)))


def _is_ours(member: Source) -> bool:
    try:
        head = member.head()
    except (PalaverError, OSError):
        return False
    return is_page(head) if member.suffix == ".html" else b'"chunk_data"' in head


def _log_of(source: Source) -> str:
    if not source.file_name.endswith(CHUNK_SUFFIX):
        return ""
    log = source.sibling(f"{source.file_name.removesuffix(CHUNK_SUFFIX)}.jsonl")
    return log.file_name if _is_log(log) else ""


def _is_log(source: Source) -> bool:
    return _exists(source) and recognize(source).verdict == "yes"


def _exists(source: Source) -> bool:
    try:
        return source.exists()
    except (PalaverError, OSError):
        return False
