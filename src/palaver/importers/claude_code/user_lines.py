"""Handlers of `user` lines: what a person typed, what tools returned, and what Claude Code inserted itself.

Plugins write tool calls and tool results on separate lines; they are rewritten as lines of the usual shape.
"""

from typing import Any

from palaver.importers.claude_code.assistant_lines import add_odd_message, assistant, copy_disposition
from palaver.importers.claude_code.commands import typed_content
from palaver.importers.claude_code.content import (
    PERSISTED_MISSING,
    PERSISTED_PREFIX,
    attach_structured_result,
    note_unknown_block,
    plain_text,
    restore_persisted,
    result_text,
    to_blocks,
)
from palaver.importers.claude_code.line_context import MAPPED, Disposition, LineContext, author_of
from palaver.importers.claude_code.repeated_fields import Shapes, keep_field
from palaver.importers.claude_code.transcript import Transcript, complete_line_ref, line_ref
from palaver.model.build import JsonObject

_SIDE_RUNS = ("acompact", "aprompt_suggestion", "aside_question")
"""Prefixes of the agent ids of side runs, which Claude Code starts itself."""
_SHAPES = Shapes("message", "toolUseResult", "isCompactSummary")


def user(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Add a prompt, a tool result, or text that Claude Code inserted."""
    message: Any = record.get("message")
    if not isinstance(message, dict):
        if message is not None or "content" not in record:
            return add_odd_message(transcript, record, "user", context)
        message = record["message"] = {"content": record.pop("content")}
    content = message.get("content")
    stored_text = None
    if (typed := typed_content(record, content)) is not None:
        stored_text = plain_text(to_blocks(content))
        content = typed
    try:
        ref = complete_line_ref(record)
    except KeyError:
        ref = line_ref(record)
    if (
        transcript.has_seen(ref[0], ref[2])
        and (copy := copy_disposition(transcript, record, content, context)) is not None
    ):
        return copy
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    if len(message) != 2 or content is None or message.get("role") != "user":
        _keep_unmapped(message, metadata)
    if stored_text is not None:
        metadata["stored_text"] = stored_text
    blocks = to_blocks(content)
    if len(blocks) == 1 and blocks[0]["type"] == "tool_result":
        metadata["author_kind"] = "tool"
        structured = record.get("toolUseResult")
        if structured is None and "tool_use_result" in metadata:
            structured = metadata.pop("tool_use_result")
        _complete_result(transcript, blocks[0], structured, metadata, context)
        transcript.append(ref, "user", blocks, metadata, context)
        return MAPPED
    if (structured := record.get("toolUseResult")) is not None:
        metadata["tool_use_result"] = structured
    has_results = False
    for block in blocks:
        if block["type"] == "tool_result":
            _complete_result(transcript, block, None, metadata, context)
            has_results = True
        else:
            note_unknown_block(block, transcript.run, context)
    if has_results:
        metadata["author_kind"] = "tool"
    else:
        _set_author(transcript, record, blocks, metadata)
    added = transcript.append(ref, "user", blocks, metadata, context)
    if record.get("isCompactSummary"):
        metadata["is_compact_summary"] = True
        boundary = transcript.links.get(added.get("parent_message_id", ""), {})
        transcript.add_summary(plain_text(blocks), added["timestamp"], covers=boundary.get("parent_message_id"))
    return MAPPED


def _keep_unmapped(message: JsonObject, metadata: JsonObject) -> None:
    for key, value in message.items():
        if value is not None and key not in {"content", "role", "type"}:
            keep_field(metadata, key, value)
    if (role := message.get("role", "user")) != "user":
        metadata["role"] = role


def _complete_result(
    transcript: Transcript, result: JsonObject, structured: Any, metadata: JsonObject, context: LineContext
) -> None:
    """Pair a result with its call, restore its full text, and attach its structured form."""
    call_id: Any = result.get("tool_use_id")
    if not isinstance(call_id, str):
        waiting = transcript.generated_call_ids
        call_id = waiting.pop(0) if waiting else f"unpaired-{context.number}"
        result["tool_use_id"] = call_id
    if call_id not in transcript.calls:
        metadata["context_incomplete"] = True  # the line of the call is missing
    text: Any = result["content"]
    if not isinstance(text, str):
        text = result_text(result)
    if text.startswith(PERSISTED_PREFIX):
        if restore_persisted(result, text, context):
            text = result["content"]
        else:
            transcript.run.note(PERSISTED_MISSING, context.where())
    if structured is None:
        return
    if isinstance(structured, dict) and "agentId" in structured and isinstance((agent := structured["agentId"]), str):
        metadata["agent_conversation_id"] = transcript.agent_conversation_id(agent)
        transcript.task_of_agent[agent] = call_id
    attach_structured_result(result, text, structured, transcript.calls.get(call_id), context.keep_original_files)


def _set_author(transcript: Transcript, record: JsonObject, blocks: list[JsonObject], metadata: JsonObject) -> None:
    text = plain_text(blocks)
    stored_text = metadata.get("stored_text", text)
    if transcript.is_sidechain and not transcript.messages and not transcript.sequence:
        # The assistant wrote an agent's first prompt, Claude Code itself that of a side run.
        is_side_run = (transcript.agent_id or "").startswith(_SIDE_RUNS)
        metadata["author_kind"] = "harness" if is_side_run else "model"
        return
    author = metadata["author_kind"] = "harness" if record.get("isCompactSummary") else author_of(stored_text, metadata)
    if author == "harness" and metadata.get("isMeta"):
        metadata["hidden"] = True
    if name := metadata.get("command_name"):
        transcript.titles.setdefault("command", name)
    if transcript.queued and (queued := transcript.queued.pop(text, None)) is not None:
        transcript.withdraw_queued(queued)


def tool_use(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Add a tool call on a separate line, as plugins write it."""
    if "message" in record:
        return assistant(transcript, record, context)
    call: JsonObject = {"type": "tool_use"}
    for name, spellings in _CALL_FIELDS.items():
        for spelling in spellings:
            if spelling in record:
                call.setdefault(name, record.pop(spelling))
    record["message"] = {"content": [{"name": "", "input": {}, **call}]}
    return assistant(transcript, record, context)


def tool_result(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Add a tool result on a separate line, as plugins write it."""
    if "message" in record:
        return user(transcript, record, context)
    result: JsonObject = {"type": "tool_result"}
    for name, spellings in _RESULT_FIELDS.items():
        for spelling in spellings:
            if spelling in record:
                result.setdefault(name, record.pop(spelling))
    if "tool_use_id" not in result and transcript.generated_call_ids:
        call_input = transcript.calls.get(transcript.generated_call_ids[0])
        if record.get("tool_input") == call_input:
            record.pop("tool_input", None)
    output = result.get("content")
    if isinstance(output, dict) and isinstance(output.get("output"), str):
        result["content"] = output.pop("output")
        if output:
            record["tool_output"] = output
    record["message"] = {"content": [result]}
    return user(transcript, record, context)


_CALL_FIELDS = {"id": ("tool_use_id", "id"), "name": ("tool_name", "name"), "input": ("tool_input", "input")}
_RESULT_FIELDS = {"tool_use_id": ("tool_use_id",), "content": ("content", "tool_output"), "is_error": ("is_error",)}
