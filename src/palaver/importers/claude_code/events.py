"""Every other line: system events, attachments, queued prompts, and facts about the session.

Events become `system` messages, hidden where they are housekeeping, so that they keep their place and their links.
Facts go to the conversation: titles, tags, `platform.metadata`.
"""

from typing import Any

from palaver.importers.claude_code.authors import author_of
from palaver.importers.claude_code.content import blocks, plain_text
from palaver.importers.claude_code.disposition import (
    INTO_CONVERSATION,
    INTO_MESSAGE,
    MAPPED,
    PROGRESS,
    Disposition,
    skipped,
)
from palaver.importers.claude_code.header import HEADER, MAPPED_ALWAYS, Shapes, keep
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.transcript import Transcript, place_of, whole_place
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind

UNKNOWN_LINE = finding_kind("unknown-line-type", "note", "A line of an unknown type is kept whole.")
UNKNOWN_ATTACHMENT = finding_kind("unknown-attachment", "note", "An attachment of an unknown type is kept whole.")


_NEAR = 16


_SHAPES = Shapes()
_ATTACHMENT_SHAPES = Shapes("attachment")


def system(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    subtype = record.get("subtype")
    if record.get("parentUuid") is None and "logicalParentUuid" in record:
        record["parentUuid"] = record.pop("logicalParentUuid")
    message = record.get("message")
    if isinstance(message, dict) and message.get("content"):
        content = record.pop("message")["content"]
    else:
        content = record.pop("content", None)
    _without_headers(record)
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    if content:
        made = blocks(content)
    else:
        kept = {key: metadata.pop(key) for key in _SHAPES[tuple(record)].own if key in metadata}
        made = [build.opaque(kind=subtype if isinstance(subtype, str) and subtype else "system", raw=kept)]
        metadata["hidden"] = True
        if subtype is not None:
            metadata["subtype"] = subtype
    metadata["author_kind"] = "harness"
    if metadata.get("isMeta"):
        metadata["hidden"] = True
    added = transcript.append(place_of(record), "system", made, metadata, reading)
    if subtype == "away_summary":
        transcript.summarise(plain_text(made), added["timestamp"])
    return MAPPED


def _without_headers(record: JsonObject) -> None:
    """HTTP headers of a failed call may hold credentials: they are never kept."""
    stack: list[Any] = [record.get("error"), record.get("cause")]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            value.pop("headers", None)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


# -- attachments ----------------------------------------------------------------------------------------------------


def attachment(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    inner: Any = record.get("attachment")
    kind = inner.get("type") if isinstance(inner, dict) else None
    metadata = transcript.header.metadata(record, _ATTACHMENT_SHAPES[tuple(record)])
    if kind == "queued_command":
        return _queued_command(transcript, record, inner, metadata, reading)
    metadata["author_kind"] = "harness"
    is_for_reader = _is_one_of(kind, _FOR_THE_READER)
    text = _attachment_text(kind, inner)
    if not text and is_for_reader:
        text = "\n".join(_words_in(inner))
    if text:
        made = [build.text(text)]
        metadata["attachment"] = inner
    else:
        made = [build.opaque(kind=f"attachment:{kind}", raw=inner)]
    if not is_for_reader or not text:
        metadata["hidden"] = True
    if not is_for_reader and not _is_one_of(kind, _HOUSEKEEPING):
        transcript.run.note(UNKNOWN_ATTACHMENT, reading.where(), f"attachment {kind!r}")
    transcript.append(place_of(record), "system", made, metadata, reading)
    return MAPPED


def _is_one_of(kind: Any, kinds: frozenset[str]) -> bool:
    return isinstance(kind, str) and kind in kinds


def _attachment_text(kind: Any, inner: Any) -> str | None:
    """Take the text of an attachment out of it, where there is one for a reader."""
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


def _words_in(inner: Any) -> list[str]:
    """What a reader would want to see of a structured attachment, in its order."""
    words: list[str] = []
    stack = [inner]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            words += [value[key] for key in _WORDS if isinstance(value.get(key), str) and value[key]]
            stack.extend(part for part in reversed(value.values()) if type(part) in {dict, list})
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return words


_WORDS = ("subject", "description", "title", "name", "message", "text", "content", "summary", "deltaSummary")

_TEXT_PATHS: dict[Any, tuple[tuple[str, ...], ...]] = {
    "edited_text_file": (("snippet",),),
    "file": (("content", "file", "content"), ("content",)),
    "nested_memory": (("content", "content"), ("content",)),
    "plan_file_reference": (("planContent",), ("content",)),
    "task_reminder": (("reminder",), ("content",)),
    "hook_success": (("content",), ("stdout",)),
}
_FOR_THE_READER = frozenset(
    {
        *("queued_command", "file", "edited_text_file", "directory", "nested_memory", "plan_file_reference"),
        *("relevant_memories", "agent_mention", "task_reminder", "task_status", "diagnostics"),
    }
)
_HOUSEKEEPING = frozenset(
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
KNOWN_ATTACHMENTS = _FOR_THE_READER | _HOUSEKEEPING


# -- prompts typed while the model works ------------------------------------------------------------------------------


def _queued_command(
    transcript: Transcript, record: JsonObject, inner: JsonObject, metadata: JsonObject, reading: Reading
) -> Disposition:
    """A prompt that was put into the running turn: there is no user line for it, unless one stands close by."""
    made = blocks(inner.get("prompt"))
    text = plain_text(made)
    if (queued := transcript.queued.pop(text, None)) is not None:
        transcript.withdraw(queued)
    elif _was_just_said(transcript, text):
        transcript.link(record.get("uuid"), record.get("parentUuid"))
        return INTO_MESSAGE
    for key, value in inner.items():
        if key not in {"prompt", "type"}:
            keep(metadata, key, value)
    is_notice = inner.get("commandMode") == "task-notification"
    metadata["author_kind"] = "harness" if is_notice else author_of(text, metadata)
    metadata["queued"] = True
    transcript.append(place_of(record), "user", made, metadata, reading)
    return MAPPED


def queue_operation(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    """A prompt in the queue counts as said until its own line comes and takes its place."""
    if not (content := record.pop("content", None)):
        transcript.note_time(record.get("timestamp"))
        return skipped("queue-operation")
    made = blocks(content)
    text = plain_text(made)
    if record.get("operation") == "popAll" and (returned := transcript.queued.pop(text, None)) is not None:
        returned["metadata"].update(hidden=True, returned_to_input=True)
        return INTO_MESSAGE
    if text in transcript.queued or (record.get("operation") != "enqueue" and _was_just_said(transcript, text)):
        return INTO_MESSAGE
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    metadata["author_kind"] = author_of(text, metadata)
    metadata["queued"] = True
    transcript.queued[text] = transcript.append(place_of(record), "user", made, metadata, reading)
    return MAPPED


def _was_just_said(transcript: Transcript, text: str) -> bool:
    return any(
        message["role"] == "user" and plain_text(message["content"]) == text for message in transcript.messages[-_NEAR:]
    )


# -- facts about the session ----------------------------------------------------------------------------------------


def summary(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    """A summary names the line it ends with; old versions wrote those of other sessions into a new file."""
    text = record.get("summary")
    if text is None and isinstance((message := record.get("message")), dict):
        text = plain_text(blocks(message.get("content")))
    leaf = record.get("leafUuid")
    transcript.summarise(
        text if isinstance(text, str) else "", record.get("timestamp"), leaf=leaf if isinstance(leaf, str) else None
    )
    _keep_rest(transcript, record, "summary", "leafUuid", "message")
    return INTO_CONVERSATION


def title(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    for key, source in (("customTitle", "custom"), ("aiTitle", "ai")):
        if isinstance((text := record.get(key)), str):
            transcript.titles[source] = text
            given = transcript.facts.setdefault("titles", [])
            if text not in given:
                given.append(text)
    _keep_rest(transcript, record, "customTitle", "aiTitle")
    return INTO_CONVERSATION


def last_prompt(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    text = record.get("lastPrompt", record.get("text"))
    if isinstance(text, str):
        transcript.titles["last"] = text[:200]
        transcript.facts["last_prompt"] = text
    _keep_rest(transcript, record, "lastPrompt", "text")
    return INTO_CONVERSATION


def tag(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    text = record.get("tag")
    transcript.tags = [text] if isinstance(text, str) and text else []
    _keep_rest(transcript, record, "tag")
    return INTO_CONVERSATION


def cost_state(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    """Claude Code's own totals of the session; the last one counts."""
    total: Any = record.get("totalCostUSD")
    if type(total) in {int, float} and total >= 0:
        transcript.cost = {"amount": total, "currency": "USD"}
    return fact(transcript, record, _reading)


def pr_link(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    links = transcript.facts.setdefault("pr_links", [])
    link = _own_fields(record)
    if link not in links:
        links.append(link)
    return INTO_CONVERSATION


def worktree(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    transcript.custom["worktree"] = record.get("worktreeSession", _own_fields(record))
    return INTO_CONVERSATION


def fact(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    """A line that says one thing about the session: the last one counts."""
    transcript.note_time(record.get("timestamp"))
    fields = _own_fields(record)
    value = next(iter(fields.values())) if len(fields) == 1 else fields
    transcript.facts[str(record["type"]).replace("-", "_")] = value
    return INTO_CONVERSATION


def _keep_rest(transcript: Transcript, record: JsonObject, *mapped: str) -> None:
    """Keep what such a line says beyond what was taken from it; the last one counts."""
    rest = {key: value for key, value in _own_fields(record).items() if key not in mapped and value is not None}
    if rest:
        transcript.facts.setdefault("line_fields", {})[record["type"]] = rest


def _own_fields(record: JsonObject) -> JsonObject:
    return {key: value for key, value in record.items() if key not in HEADER and key not in MAPPED_ALWAYS}


# -- the rest -------------------------------------------------------------------------------------------------------


def progress(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    """States of running hooks and tools, up to half of all lines: they matter as links of a chain only."""
    try:
        uuid, parent, _ = whole_place(record)
    except KeyError:
        uuid, parent, _ = place_of(record)
    transcript.link(uuid, parent)
    data: Any = record.get("data")
    if isinstance(data, dict) and data.get("type") == "agent_progress":
        return reading.agent_progress(transcript, record, reading)
    return PROGRESS


def file_history(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    transcript.link(record.get("uuid"), record.get("parentUuid"))
    return skipped("file-history")


def kept_raw(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    """A known type that tells a reader nothing yet, kept whole and in its place."""
    kind = record.get("type")
    shape = _SHAPES[tuple(record)]
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    kept = {key: metadata.pop(key) for key in shape.own if key in metadata}
    if kind is not None and not isinstance(kind, str):
        kept["type"] = kind
    metadata["author_kind"] = "harness"
    metadata["hidden"] = True
    block = build.opaque(kind=kind if isinstance(kind, str) and kind else "line", raw=kept)
    transcript.append(place_of(record), "system", [block], metadata, reading)
    return MAPPED


def unknown(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    transcript.run.note(UNKNOWN_LINE, reading.where(), f"line type {record.get('type')!r}")
    return kept_raw(transcript, record, reading)
