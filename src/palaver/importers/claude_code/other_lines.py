"""Handlers of all other lines: system events, attachments, queued prompts, and session fields.

Events become `system` messages, hidden if they are housekeeping, so that they keep their position and their links.
Session fields go to the conversation: titles, tags, `platform.metadata`.
"""

from typing import Any

from palaver.importers.claude_code.commands import typed_content
from palaver.importers.claude_code.content import plain_text, to_blocks
from palaver.importers.claude_code.line_context import (
    INTO_CONVERSATION,
    INTO_MESSAGE,
    MAPPED,
    PROGRESS,
    Disposition,
    LineContext,
    author_of,
    skipped,
)
from palaver.importers.claude_code.repeated_fields import ALWAYS_MAPPED, HEADER_FIELDS, Shapes, keep_field
from palaver.importers.claude_code.transcript import Transcript, complete_line_ref, line_ref
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind

UNKNOWN_LINE = finding_kind("unknown-line-type", "note", "A line of an unknown type is kept unchanged.")
UNKNOWN_ATTACHMENT = finding_kind("unknown-attachment", "note", "An attachment of an unknown type is kept unchanged.")

_RECENT_MESSAGES = 16
"""How far back a user line can be that repeats a queued prompt."""

_SHAPES = Shapes()
_ATTACHMENT_SHAPES = Shapes("attachment")


def system(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Add an event as a system message; without content, its fields become an opaque block."""
    subtype = record.get("subtype")
    if record.get("parentUuid") is None and "logicalParentUuid" in record:
        record["parentUuid"] = record.pop("logicalParentUuid")
    message = record.get("message")
    if isinstance(message, dict) and message.get("content"):
        content = record.pop("message")["content"]
    else:
        content = record.pop("content", None)
    _remove_headers(record)
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    author = "harness"
    if (typed := typed_content(record, content)) is not None:
        metadata["stored_text"] = plain_text(to_blocks(content))
        author = author_of(metadata["stored_text"], metadata)
        blocks = to_blocks(typed)
    elif content:
        blocks = to_blocks(content)
    else:
        raw = {key: metadata.pop(key) for key in _SHAPES[tuple(record)].own if key in metadata}
        blocks = [build.opaque(kind=subtype if isinstance(subtype, str) and subtype else "system", raw=raw)]
        metadata["hidden"] = True
        if subtype is not None:
            metadata["subtype"] = subtype
    metadata["author_kind"] = author
    if metadata.get("isMeta"):
        metadata["hidden"] = True
    added = transcript.append(line_ref(record), "system", blocks, metadata, context)
    if subtype == "away_summary":
        transcript.add_summary(plain_text(blocks), added["timestamp"])
    return MAPPED


def _remove_headers(record: JsonObject) -> None:
    """Remove the HTTP headers of a failed call, which may hold credentials."""
    stack: list[Any] = [record.get("error"), record.get("cause")]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            value.pop("headers", None)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def attachment(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Add an attachment as a system message, visible if its text is meant for a reader."""
    inner: Any = record.get("attachment")
    kind = inner.get("type") if isinstance(inner, dict) else None
    metadata = transcript.header.metadata(record, _ATTACHMENT_SHAPES[tuple(record)])
    if kind == "queued_command":
        return _queued_command(transcript, record, inner, metadata, context)
    metadata["author_kind"] = "harness"
    is_visible = _is_in(kind, _VISIBLE_ATTACHMENTS)
    text = _attachment_text(kind, inner)
    if not text and is_visible:
        text = "\n".join(_readable_texts(inner))
    if text:
        blocks = [build.text(text)]
        metadata["attachment"] = inner
    else:
        blocks = [build.opaque(kind=f"attachment:{kind}", raw=inner)]
    if not is_visible or not text:
        metadata["hidden"] = True
    if not is_visible and not _is_in(kind, _HIDDEN_ATTACHMENTS):
        transcript.run.note(UNKNOWN_ATTACHMENT, context.where(), f"attachment {kind!r}")
    transcript.append(line_ref(record), "system", blocks, metadata, context)
    return MAPPED


def _is_in(kind: Any, kinds: frozenset[str]) -> bool:
    return isinstance(kind, str) and kind in kinds


def _attachment_text(kind: Any, inner: Any) -> str | None:
    """Remove and return an attachment's text; None if it has none."""
    for path in _TEXT_PATHS.get(kind if isinstance(kind, str) else "", (("content",),)):
        holder: Any = inner
        for key in path[:-1]:
            holder = holder.get(key) if isinstance(holder, dict) else None
        value = holder.get(path[-1]) if isinstance(holder, dict) else None
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            del holder[path[-1]]
            return "\n\n".join(value)
        if isinstance(value, str) and value:
            del holder[path[-1]]
            return value
    return None


def _readable_texts(inner: Any) -> list[str]:
    """Return the texts in a structured attachment that a reader would want to see, in order."""
    texts: list[str] = []
    stack = [inner]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            texts += [value[key] for key in _TEXT_FIELDS if isinstance(value.get(key), str) and value[key]]
            stack.extend(part for part in reversed(value.values()) if type(part) in {dict, list})
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return texts


_TEXT_FIELDS = ("subject", "description", "title", "name", "message", "text", "content", "summary", "deltaSummary")

_TEXT_PATHS: dict[Any, tuple[tuple[str, ...], ...]] = {
    "edited_text_file": (("snippet",),),
    "file": (("content", "file", "content"), ("content",)),
    "nested_memory": (("content", "content"), ("content",)),
    "plan_file_reference": (("planContent",), ("content",)),
    "task_reminder": (("reminder",), ("content",)),
    "hook_success": (("content",), ("stdout",)),
}
_VISIBLE_ATTACHMENTS = frozenset(
    {
        *("queued_command", "file", "edited_text_file", "directory", "nested_memory", "plan_file_reference"),
        *("relevant_memories", "agent_mention", "task_reminder", "task_status", "diagnostics"),
    }
)
_HIDDEN_ATTACHMENTS = frozenset(
    {
        *("hook_success", "hook_non_blocking_error", "hook_blocking_error", "hook_cancelled", "hook_system_message"),
        *("hook_additional_context", "hook_stopped_continuation", "hook_permission_decision", "hook_deferred_tool"),
        *("hook_error_during_execution", "auto_mode", "auto_mode_exit", "plan_mode", "plan_mode_exit"),
        *("plan_mode_reentry", "deferred_tools_delta", "mcp_instructions_delta", "agent_listing_delta"),
        *("skill_listing", "invoked_skills", "output_style", "command_permissions", "compact_file_reference"),
        *("date_change", "critical_system_reminder", "read_truncation_notice", "ultrathink_effort", "goal_status"),
        *("structured_output", "max_turns_reached", "total_tokens_reminder", "todo_reminder", "context_tip"),
        *("companion_intro", "budget_usd"),
    }
)
KNOWN_ATTACHMENTS = _VISIBLE_ATTACHMENTS | _HIDDEN_ATTACHMENTS


def _queued_command(
    transcript: Transcript, record: JsonObject, inner: JsonObject, metadata: JsonObject, context: LineContext
) -> Disposition:
    """Add a prompt typed during the running turn; it has no user line, except sometimes one close by."""
    blocks = to_blocks(inner.get("prompt"))
    text = plain_text(blocks)
    if (queued := transcript.queued.pop(text, None)) is not None:
        transcript.withdraw_queued(queued)
    elif _is_recent_prompt(transcript, text):
        transcript.link_line(record.get("uuid"), record.get("parentUuid"))
        return INTO_MESSAGE
    for key, value in inner.items():
        if key not in {"prompt", "type"}:
            keep_field(metadata, key, value)
    is_notification = inner.get("commandMode") == "task-notification"
    metadata["author_kind"] = "harness" if is_notification else author_of(text, metadata)
    metadata["queued"] = True
    transcript.append(line_ref(record), "user", blocks, metadata, context)
    return MAPPED


def queue_operation(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Add a queued prompt as a message, until its own line replaces it."""
    if not (content := record.pop("content", None)):
        transcript.include_time(record.get("timestamp"))
        return skipped("queue-operation")
    blocks = to_blocks(content)
    text = plain_text(blocks)
    if record.get("operation") == "popAll" and (returned := transcript.queued.pop(text, None)) is not None:
        returned["metadata"].update(hidden=True, returned_to_input=True)
        return INTO_MESSAGE
    if text in transcript.queued or (record.get("operation") != "enqueue" and _is_recent_prompt(transcript, text)):
        return INTO_MESSAGE
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    metadata["author_kind"] = author_of(text, metadata)
    metadata["queued"] = True
    transcript.queued[text] = transcript.append(line_ref(record), "user", blocks, metadata, context)
    return MAPPED


def _is_recent_prompt(transcript: Transcript, text: str) -> bool:
    return any(
        message["role"] == "user" and plain_text(message["content"]) == text
        for message in transcript.messages[-_RECENT_MESSAGES:]
    )


def summary(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    """Add a summary, which names the line it ends with; old versions wrote those of other sessions into a new file."""
    text = record.get("summary")
    if text is None and isinstance((message := record.get("message")), dict):
        text = plain_text(to_blocks(message.get("content")))
    leaf = record.get("leafUuid")
    transcript.add_summary(
        text if isinstance(text, str) else "", record.get("timestamp"), leaf=leaf if isinstance(leaf, str) else None
    )
    _keep_unmapped(transcript, record, "summary", "leafUuid", "message")
    return INTO_CONVERSATION


def title(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    for key, source in (("customTitle", "custom"), ("aiTitle", "ai")):
        if isinstance((text := record.get(key)), str):
            transcript.titles[source] = text
            known_titles = transcript.platform_metadata.setdefault("titles", [])
            if text not in known_titles:
                known_titles.append(text)
    _keep_unmapped(transcript, record, "customTitle", "aiTitle")
    return INTO_CONVERSATION


def last_prompt(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    text = record.get("lastPrompt", record.get("text"))
    if isinstance(text, str):
        transcript.titles["last"] = text[:200]
        transcript.platform_metadata["last_prompt"] = text
    _keep_unmapped(transcript, record, "lastPrompt", "text")
    return INTO_CONVERSATION


def tag(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    text = record.get("tag")
    transcript.tags = [text] if isinstance(text, str) and text else []
    _keep_unmapped(transcript, record, "tag")
    return INTO_CONVERSATION


def cost_state(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    """Set the session's cost to Claude Code's own total; the last line wins."""
    total: Any = record.get("totalCostUSD")
    if type(total) in {int, float} and total >= 0:
        transcript.cost = {"amount": total, "currency": "USD"}
    return session_field(transcript, record, _context)


def pr_link(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    links = transcript.platform_metadata.setdefault("pr_links", [])
    link = _own_fields(record)
    if link not in links:
        links.append(link)
    return INTO_CONVERSATION


def worktree(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    transcript.custom["worktree"] = record.get("worktreeSession", _own_fields(record))
    return INTO_CONVERSATION


def session_field(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    """Store the fields of a session-level line; the last line of a type wins."""
    transcript.include_time(record.get("timestamp"))
    fields = _own_fields(record)
    value = next(iter(fields.values())) if len(fields) == 1 else fields
    transcript.platform_metadata[str(record["type"]).replace("-", "_")] = value
    return INTO_CONVERSATION


def _keep_unmapped(transcript: Transcript, record: JsonObject, *mapped: str) -> None:
    """Keep the fields of a session-level line that are not mapped; the last line of a type wins."""
    rest = {key: value for key, value in _own_fields(record).items() if key not in mapped and value is not None}
    if rest:
        transcript.platform_metadata.setdefault("line_fields", {})[record["type"]] = rest


def _own_fields(record: JsonObject) -> JsonObject:
    return {key: value for key, value in record.items() if key not in HEADER_FIELDS and key not in ALWAYS_MAPPED}


def progress(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Skip states of running hooks and tools, up to half of all lines, but keep them as links between parents."""
    try:
        uuid, parent, _ = complete_line_ref(record)
    except KeyError:
        uuid, parent, _ = line_ref(record)
    transcript.link_line(uuid, parent)
    data: Any = record.get("data")
    if isinstance(data, dict) and data.get("type") == "agent_progress":
        return context.handle_agent_progress(transcript, record, context)
    return PROGRESS


def file_history(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    transcript.link_line(record.get("uuid"), record.get("parentUuid"))
    return skipped("file-history")


def opaque_line(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Keep a line whose content is not mapped as a hidden opaque block, in its position."""
    kind = record.get("type")
    shape = _SHAPES[tuple(record)]
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    raw = {key: metadata.pop(key) for key in shape.own if key in metadata}
    if kind is not None and not isinstance(kind, str):
        raw["type"] = kind
    metadata["author_kind"] = "harness"
    metadata["hidden"] = True
    block = build.opaque(kind=kind if isinstance(kind, str) and kind else "line", raw=raw)
    transcript.append(line_ref(record), "system", [block], metadata, context)
    return MAPPED


def unknown_line(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    transcript.run.note(UNKNOWN_LINE, context.where(), f"line type {record.get('type')!r}")
    return opaque_line(transcript, record, context)
