"""`user` lines: what a person typed, what tools returned, and what the product put there itself."""

from typing import Any

from palaver.importers.claude_code.answers import assistant
from palaver.importers.claude_code.authors import author_of
from palaver.importers.claude_code.content import blocks, note_unknown, plain_text, result_text
from palaver.importers.claude_code.copies import copied, odd_message
from palaver.importers.claude_code.disposition import MAPPED, Disposition
from palaver.importers.claude_code.header import Shapes, keep
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.tool_results import PERSISTED, PERSISTED_MISSING, attach_twin, restore_persisted
from palaver.importers.claude_code.transcript import Transcript, place_of, whole_place
from palaver.model.build import JsonObject

_SIDE_RUNS = ("acompact", "aprompt_suggestion", "aside_question")
_SHAPES = Shapes("message", "toolUseResult", "isCompactSummary")


def user(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    message: Any = record.get("message")
    if not isinstance(message, dict):
        if message is not None or "content" not in record:
            return odd_message(transcript, record, "user", reading)
        message = record["message"] = {"content": record.pop("content")}
    content = message.get("content")
    try:
        place = whole_place(record)
    except KeyError:
        place = place_of(record)
    if transcript.knows(place[0], place[2]) and (copy := copied(transcript, record, content, reading)) is not None:
        return copy
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    if len(message) != 2 or content is None or message.get("role") != "user":
        _keep_unmapped(message, metadata)
    made = blocks(content)
    if len(made) == 1 and made[0]["type"] == "tool_result":
        metadata["author_kind"] = "tool"
        twin = record.get("toolUseResult")
        if twin is None and "tool_use_result" in metadata:
            twin = metadata.pop("tool_use_result")
        _finish_result(transcript, made[0], twin, metadata, reading)
        transcript.append(place, "user", made, metadata, reading)
        return MAPPED
    if (twin := record.get("toolUseResult")) is not None:
        metadata["tool_use_result"] = twin
    results = 0
    for block in made:
        if block["type"] == "tool_result":
            _finish_result(transcript, block, None, metadata, reading)
            results += 1
        else:
            note_unknown(block, transcript.run, reading)
    if results:
        metadata["author_kind"] = "tool"
    else:
        _name_author(transcript, record, made, metadata)
    added = transcript.append(place, "user", made, metadata, reading)
    if record.get("isCompactSummary"):
        metadata["is_compact_summary"] = True
        boundary = transcript.links.get(added.get("parent_message_id", ""), {})
        transcript.summarise(plain_text(made), added["timestamp"], covers=boundary.get("parent_message_id"))
    return MAPPED


def _keep_unmapped(message: JsonObject, metadata: JsonObject) -> None:
    for key, value in message.items():
        if value is not None and key not in {"content", "role", "type"}:
            keep(metadata, key, value)
    if (role := message.get("role", "user")) != "user":
        metadata["role"] = role


def _finish_result(
    transcript: Transcript, result: JsonObject, twin: Any, metadata: JsonObject, reading: Reading
) -> None:
    """Pair a result with its call, restore its full text, and attach what the structured twin tells."""
    call_id: Any = result.get("tool_use_id")
    if not isinstance(call_id, str):
        call_id = transcript.unanswered.pop(0) if transcript.unanswered else f"unpaired-{reading.number}"
        result["tool_use_id"] = call_id
    text: Any = result["content"]
    if not isinstance(text, str):
        text = result_text(result)
    if text.startswith(PERSISTED):
        if restore_persisted(result, text, reading):
            text = result["content"]
        else:
            transcript.run.note(PERSISTED_MISSING, reading.where())
    if twin is None:
        return
    if isinstance(twin, dict) and "agentId" in twin and isinstance((agent := twin["agentId"]), str):
        metadata["agent_conversation_id"] = transcript.agent_conversation(agent)
        transcript.task_of_agent[agent] = call_id
    attach_twin(result, text, twin, transcript.calls.get(call_id), reading.keep_original_files)


def _name_author(transcript: Transcript, record: JsonObject, made: list[JsonObject], metadata: JsonObject) -> None:
    text = plain_text(made)
    if transcript.is_sidechain and not transcript.messages and not transcript.sequence:
        # An agent's first prompt is written by the assistant that called it, a side run's by the product.
        is_side_run = (transcript.agent_id or "").startswith(_SIDE_RUNS)
        metadata["author_kind"] = "harness" if is_side_run else "model"
        return
    author = metadata["author_kind"] = "harness" if record.get("isCompactSummary") else author_of(text, metadata)
    if author == "harness":
        if metadata.get("isMeta"):
            metadata["hidden"] = True
        if isinstance((name := metadata.get("command_name")), str) and name:
            transcript.titles.setdefault("command", name)
    if transcript.queued and (queued := transcript.queued.pop(text, None)) is not None:
        transcript.withdraw(queued)


def tool_use(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    """A tool call on a line of its own, as plugins write them."""
    if "message" in record:
        return assistant(transcript, record, reading)
    call: JsonObject = {"type": "tool_use"}
    for name, spellings in _CALL_FIELDS.items():
        for spelling in spellings:
            if spelling in record:
                call.setdefault(name, record.pop(spelling))
    record["message"] = {"content": [{"name": "", "input": {}, **call}]}
    return assistant(transcript, record, reading)


def tool_result(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    """A tool result on a line of its own, as plugins write them."""
    if "message" in record:
        return user(transcript, record, reading)
    result: JsonObject = {"type": "tool_result"}
    for name, spellings in _RESULT_FIELDS.items():
        for spelling in spellings:
            if spelling in record:
                result.setdefault(name, record.pop(spelling))
    if "tool_use_id" not in result and transcript.unanswered:
        call_input = transcript.calls.get(transcript.unanswered[0])
        if record.get("tool_input") == call_input:
            record.pop("tool_input", None)
    output = result.get("content")
    if isinstance(output, dict) and isinstance(output.get("output"), str):
        result["content"] = output.pop("output")
        if output:
            record["tool_output"] = output
    record["message"] = {"content": [result]}
    return user(transcript, record, reading)


_CALL_FIELDS = {"id": ("tool_use_id", "id"), "name": ("tool_name", "name"), "input": ("tool_input", "input")}
_RESULT_FIELDS = {"tool_use_id": ("tool_use_id",), "content": ("content", "tool_output"), "is_error": ("is_error",)}
