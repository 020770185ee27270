"""Recognizes traces of Copilot, as opposed to other programs, by the attributes of their first spans."""

import re
from typing import Any

import orjson

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.spans.attributes import resource_attributes
from palaver.importers.github_copilot.spans.records import is_record, records_in
from palaver.sources.source import Source
from palaver.sources.source_head import parse_head

OTLP, DUMP, DEBUG = "spans:otlp", "spans:dump", "spans:debug"
_BLANK = b"\xef\xbb\xbf\0 \t\r\n"
_MAX_LINES = 40
_NAME_PREFIXES = (b'"gen_ai.', b'"copilot_chat.', b'"github.copilot.')
_SERVICES = ("vs-copilot", "copilot-chat", "github-copilot")
_ENTRY_TYPES = (
    *("tool_call", "llm_request", "user_message", "agent_response", "subagent", "discovery", "error", "generic"),
    *("child_session_ref", "hook", "session_start", "turn_start", "turn_end"),
)
_is_exporter_file_name = re.compile(r"(?i).*copilot.*otel.*\.jsonl").fullmatch
_is_visual_studio_file_name = re.compile(r".*_VSGitHubCopilot_traces\.jsonl").fullmatch


def recognize(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    if source.file_name == "models.json":
        return _recognize_model_list(source)
    head = source.head().lstrip(_BLANK)
    if not _may_hold(head):
        return _recognize_by_location(source)
    for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
        form = _form_of(line)
        if form:
            return Match.yes(_REASONS[form], form=form)
    return _recognize_by_location(source)


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
    """Return the form of the file that a line reveals, or ""."""
    has_known_names = any(prefix in line for prefix in _NAME_PREFIXES)
    is_entry = _may_be_entry(line)
    if not has_known_names and not is_entry:
        return ""
    try:
        value: Any = orjson.loads(line.strip(_BLANK))
    except orjson.JSONDecodeError:
        value = parse_head(line)
    if not isinstance(value, dict):
        return ""
    if is_entry and is_debug_entry(value):
        return DEBUG
    if not has_known_names:
        return ""
    if "resourceSpans" in value or "resourceLogs" in value:
        return OTLP if _is_from_copilot(value) else ""
    if isinstance(value.get("scopeMetrics"), list):
        service = resource_attributes(value.get("resource")).get("service.name")
        is_named = isinstance(service, str) and service.startswith(_SERVICES)
        return DUMP if is_named or b'"copilot_chat.' in line else ""
    return DUMP if is_record(value) and _is_from_copilot(value) else ""


def is_debug_entry(value: dict[str, Any]) -> bool:
    match value:
        case {"ts": int() | float(), "sid": str(), "type": str(kind), "name": str(), "spanId": str()}:
            return kind in _ENTRY_TYPES or "attrs" in value
        case _:
            return False


def _is_from_copilot(value: dict[str, Any]) -> bool:
    """Return whether a span is from Copilot, by its service name, its own attributes, or its scope."""
    for record in records_in(value, ""):
        names = [name for name in record.attributes if name.startswith(("gen_ai.", "copilot_chat.", "github.copilot."))]
        if not names:
            continue
        service = record.resource.get("service.name")
        if isinstance(service, str) and service:
            return service.startswith(_SERVICES) or any(not name.startswith("gen_ai.") for name in names)
        if any(not name.startswith("gen_ai.") for name in names):
            return True
        scope = record.extra_fields.get("instrumentationScope")
        named = scope.get("name") if isinstance(scope, dict) else None
        if isinstance(named, str) and named:
            return "copilot" in named.lower()
        return record.text("gen_ai.provider.name") in ("", "github")
    return False


def _recognize_by_location(source: Source) -> Match:
    """Recognize a log whose first lines are damaged by its name and folder."""
    if _is_visual_studio_file_name(source.file_name):
        return Match.maybe("named like a trace of Visual Studio", form=OTLP)
    if _is_exporter_file_name(source.file_name):
        return Match.maybe("named like a file of Copilot's exporter", form=DUMP)
    folder = source.parent_folder() if source.suffix == ".jsonl" else None
    logs = folder.parent_folder() if folder is not None else None
    if logs is not None and logs.label.replace("\\", "/").rstrip("/").endswith("/debug-logs"):
        return Match.maybe("a log among debug logs", form=DEBUG)
    return Match.no()


def _recognize_model_list(source: Source) -> Match:
    try:
        has_main_log = source.sibling("main.jsonl").exists()
    except (PalaverError, OSError):
        return Match.no()
    return Match.no("the models that Copilot could choose from, beside a debug log") if has_main_log else Match.no()
