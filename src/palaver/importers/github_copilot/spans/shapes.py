"""Telling traces of Copilot from those of other programs: by the attributes of their first spans."""

import re
from typing import Any

import orjson

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.spans.attributes import resource_of
from palaver.importers.github_copilot.spans.names import DEBUG, DUMP, OTLP
from palaver.importers.github_copilot.spans.records import is_record, records_in
from palaver.sources.glimpse import glimpse
from palaver.sources.source import Source

_BLANK = b"\xef\xbb\xbf\0 \t\r\n"
_LINES_LOOKED_AT = 40
_MARKS = (b'"gen_ai.', b'"copilot_chat.', b'"github.copilot.')
_SERVICES = ("vs-copilot", "copilot-chat", "github-copilot")
_ENTRY_TYPES = (
    *("tool_call", "llm_request", "user_message", "agent_response", "subagent", "discovery", "error", "generic"),
    *("child_session_ref", "hook", "session_start", "turn_start", "turn_end"),
)
_is_exported_name = re.compile(r"(?i).*copilot.*otel.*\.jsonl").fullmatch
_is_trace_name = re.compile(r".*_VSGitHubCopilot_traces\.jsonl").fullmatch


def recognize(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    if source.file_name == "models.json":
        return _models(source)
    head = source.head().lstrip(_BLANK)
    if not _may_hold(head):
        return _by_place(source)
    for line in head.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]:
        form = _form_of(line)
        if form:
            return Match.yes(_REASONS[form], form=form)
    return _by_place(source)


_REASONS = {
    OTLP: "OTLP spans of Copilot",
    DUMP: "spans and events of Copilot",
    DEBUG: "entries of a debug log, each with a span",
}


def _may_hold(head: bytes) -> bool:
    return b'"gen_ai.' in head or b"copilot" in head or _may_be_entry(head)


def _may_be_entry(text: bytes) -> bool:
    return b'"sid"' in text and b'"spanId"' in text


def _form_of(line: bytes) -> str:
    """The form that a line shows; empty where it shows none."""
    has_marks = any(mark in line for mark in _MARKS)
    is_entry = _may_be_entry(line)
    if not has_marks and not is_entry:
        return ""
    try:
        value: Any = orjson.loads(line.strip(_BLANK))
    except orjson.JSONDecodeError:
        value = glimpse(line)
    if not isinstance(value, dict):
        return ""
    if is_entry and is_debug_entry(value):
        return DEBUG
    if not has_marks:
        return ""
    if "resourceSpans" in value or "resourceLogs" in value:
        return OTLP if _is_copilots(value) else ""
    if isinstance(value.get("scopeMetrics"), list):
        service = resource_of(value.get("resource")).get("service.name")
        is_named = isinstance(service, str) and service.startswith(_SERVICES)
        return DUMP if is_named or b'"copilot_chat.' in line else ""
    return DUMP if is_record(value) and _is_copilots(value) else ""


def is_debug_entry(value: dict[str, Any]) -> bool:
    match value:
        case {"ts": int() | float(), "sid": str(), "type": str(kind), "name": str(), "spanId": str()}:
            return kind in _ENTRY_TYPES or "attrs" in value
        case _:
            return False


def _is_copilots(value: dict[str, Any]) -> bool:
    """Whether a span is one of Copilot's: by the program, by attributes of its own, or by what it calls itself."""
    for record in records_in(value, ""):
        names = [name for name in record.attributes if name.startswith(("gen_ai.", "copilot_chat.", "github.copilot."))]
        if not names:
            continue
        service = record.resource.get("service.name")
        if isinstance(service, str) and service:
            return service.startswith(_SERVICES) or any(not name.startswith("gen_ai.") for name in names)
        if any(not name.startswith("gen_ai.") for name in names):
            return True
        scope = record.about.get("instrumentationScope")
        named = scope.get("name") if isinstance(scope, dict) else None
        if isinstance(named, str) and named:
            return "copilot" in named.lower()
        return record.text("gen_ai.provider.name") in ("", "github")
    return False


def _by_place(source: Source) -> Match:
    """A log whose first lines are damaged is known by where it lies."""
    if _is_trace_name(source.file_name):
        return Match.maybe("named like a trace of Visual Studio", form=OTLP)
    if _is_exported_name(source.file_name):
        return Match.maybe("named like a file of Copilot's exporter", form=DUMP)
    folder = source.above() if source.suffix == ".jsonl" else None
    around = folder.above() if folder is not None else None
    if around is not None and around.label.replace("\\", "/").rstrip("/").endswith("/debug-logs"):
        return Match.maybe("a log among debug logs", form=DEBUG)
    return Match.no()


def _models(source: Source) -> Match:
    try:
        is_beside = source.beside("main.jsonl").exists()
    except (PalaverError, OSError):
        return Match.no()
    return Match.no("the models that Copilot could choose from, beside a debug log") if is_beside else Match.no()
