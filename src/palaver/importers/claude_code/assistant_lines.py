"""Handler of `assistant` lines: the lines of one API answer become one message, its usage the field-wise maximum.

Repeated lines, and lines whose message is not an object, are handled here for `user` lines as well.
"""

from operator import itemgetter
from typing import Any

from palaver.importers.claude_code.content import note_unknown_block, to_block, to_blocks
from palaver.importers.claude_code.emitted_ids import signature
from palaver.importers.claude_code.line_context import COPY, INTO_MESSAGE, MAPPED, Disposition, LineContext
from palaver.importers.claude_code.repeated_fields import Shapes
from palaver.importers.claude_code.transcript import LineRef, Transcript, complete_line_ref, line_ref
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind

CONFLICTING_COPY = finding_kind(
    "conflicting-copy", "warning", "A line occurs twice with different content; the second is kept as a revision."
)
ODD_MESSAGE = finding_kind("odd-message", "warning", "A line's message is not an object; it is kept unchanged.")

_SYNTHETIC = "<synthetic>"
_AGENT_TOOLS = ("Task", "Agent")

_ODD_LINE_SHAPES = Shapes("message")
_SHAPES = Shapes("message", "requestId", "costUSD", "durationMs")
_MESSAGE_FIELDS = ("id", "content", "usage", "stop_reason", "model", "role", "stop_sequence", "type")
_MESSAGE_SHAPES = Shapes(*_MESSAGE_FIELDS, has_header=False)
_all_message_fields = itemgetter(*_MESSAGE_FIELDS)

_MessageFields = tuple[Any, Any, Any, Any, Any, Any, Any, Any]
"""The values of `_MESSAGE_FIELDS`, read at once: this is measurably faster than one by one."""


def assistant(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Start a message, or add to the one that an earlier line with the same API message id started."""
    message: Any = record.get("message")
    if not isinstance(message, dict):
        return add_odd_message(transcript, record, "assistant", context)
    has_only_mapped_fields = len(message) == len(_MESSAGE_FIELDS)
    fields: _MessageFields
    try:
        fields = _all_message_fields(message)
    except KeyError:
        has_only_mapped_fields = False
        fields = tuple(map(message.get, _MESSAGE_FIELDS))
    api_id, content, _, stop_reason, _, _, stop_sequence, _ = fields
    answer = transcript.answers.get(api_id) if isinstance(api_id, str) else None
    if answer is not None:
        if not _extend_answer(transcript, answer, record, fields, context):
            return COPY
        disposition = INTO_MESSAGE
    else:
        try:
            ref = complete_line_ref(record)
        except KeyError:
            ref = line_ref(record)
        if transcript.has_seen(ref[0], ref[2]):
            copy = copy_disposition(transcript, record, content, context)
            if copy is not None:
                return copy
        answer = _start_answer(transcript, record, ref, fields, context)
        disposition = MAPPED
    metadata = answer["metadata"]
    if stop_reason is not None:
        metadata["stop_reason"] = stop_reason
    if stop_sequence is not None:
        metadata["stop_sequence"] = stop_sequence
    if not has_only_mapped_fields:
        _MESSAGE_SHAPES[tuple(message)].keep_unmapped(message, metadata)
    return disposition


def _start_answer(
    transcript: Transcript, record: JsonObject, ref: LineRef, fields: _MessageFields, context: LineContext
) -> JsonObject:
    """Add a message for the first line of an answer."""
    api_id, content, usage, stop_reason, model, role, _, _ = fields
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    metadata["author_kind"] = "harness" if model == _SYNTHETIC else "model"
    if api_id is not None:
        metadata["api_message_id"] = api_id
    if model is not None:
        metadata["model_override"] = model
    if (request_id := record.get("requestId")) is not None:
        metadata["request_id"] = request_id
    if role != "assistant" and role is not None:
        metadata["role"] = role
    blocks = _answer_blocks(transcript, content, context)
    answer = transcript.append(ref, "assistant", blocks, metadata, context)
    if transcript.calls_without_id:
        transcript.assign_call_ids(answer)
    if transcript.new_tasks:
        transcript.register_tasks(answer)
    if "costUSD" in record or "durationMs" in record:
        _add_cost(record, answer)
    if model == _SYNTHETIC:
        # Claude Code's own words (an API error, "No response requested."): no model wrote them, no tokens were used.
        if usage:
            metadata["usage"] = usage
        return answer
    if isinstance(model, str):
        transcript.models[model] = transcript.models.get(model, 0) + 1
    if isinstance(api_id, str):
        transcript.answers[api_id] = answer
        if transcript.sequence and (emitted := transcript.emitted_answer(api_id)):
            metadata["continues"] = emitted[0]
            _continue_usage(transcript, answer, usage)
            return answer
    if isinstance(usage, dict):
        answer["tokens"] = usage
        if stop_reason is None:
            metadata["tokens_partial"] = True
    elif usage is not None:
        metadata["usage"] = usage
    return answer


def _extend_answer(
    transcript: Transcript, answer: JsonObject, record: JsonObject, fields: _MessageFields, context: LineContext
) -> bool:
    """Add another line to an answer; return False if the line only repeats it."""
    _, content, usage, stop_reason, _, _, _, _ = fields
    if not _add_blocks(transcript, answer, record.get("uuid"), content, context):
        return False
    metadata = answer["metadata"]
    if isinstance(usage, dict) and metadata["author_kind"] == "model":
        tokens = answer.get("tokens")
        if "continues" in metadata:
            _continue_usage(transcript, answer, usage)
        elif tokens is None:
            answer["tokens"] = usage
        elif tokens != usage:
            raise_usage(tokens, usage)
    if (request_id := record.get("requestId")) != metadata.get("request_id"):
        _add_request_id(metadata, request_id)
    if (timestamp := record.get("timestamp")) != answer["timestamp"]:
        metadata["completed_at"] = timestamp
        transcript.late_completions.append(metadata)
    if stop_reason is not None:
        metadata.pop("tokens_partial", None)
    shape = _SHAPES[tuple(record)]
    if shape.has_unmapped:
        shape.keep_unmapped(record, metadata)
    return True


def copy_disposition(
    transcript: Transcript, record: JsonObject, content: Any, context: LineContext
) -> Disposition | None:
    """Return the disposition of a line whose uuid is known, or None for a new line.

    After a dropped connection a session is replayed at the end of its file; compaction writes preserved lines again.
    A copy with different content is added to the message as a revision.
    """
    uuid = record.get("uuid")
    if not isinstance(uuid, str):
        return None
    earlier = transcript.links.get(uuid)
    if earlier is None:
        if not transcript.sequence:
            return None
        emitted = transcript.emitted_line(uuid)
        return COPY if emitted and emitted[1] == signature(to_blocks(content)) else None
    if earlier.get("message_id") != uuid:
        return None  # the uuid of a line that is not a message
    blocks = to_blocks(content)
    if without_metadata(blocks) != without_metadata(earlier["content"]):
        transcript.run.note(CONFLICTING_COPY, context.where())
        revision = {"timestamp": record.get("timestamp"), "content": blocks}
        earlier["metadata"].setdefault("revisions", []).append(revision)
    return COPY


def without_metadata(content: list[JsonObject]) -> list[JsonObject]:
    """Return blocks without what the importer added to them."""
    return [{key: value for key, value in block.items() if key != "metadata"} for block in content]


def add_odd_message(transcript: Transcript, record: JsonObject, role: str, context: LineContext) -> Disposition:
    """Add a line whose message is not an object; the message stays whole."""
    transcript.run.note(ODD_MESSAGE, context.where())
    metadata = transcript.header.metadata(record, _ODD_LINE_SHAPES[tuple(record)])
    metadata["author_kind"] = "harness"
    message = record.get("message")
    blocks = [build.text(message)] if isinstance(message, str) else [build.opaque(kind="message", raw=message)]
    transcript.append(line_ref(record), role, blocks, metadata, context)
    return MAPPED


def _answer_blocks(transcript: Transcript, content: Any, context: LineContext) -> list[JsonObject]:
    """Convert the content of an answer, and register its tool calls."""
    if not isinstance(content, list) or not content:
        blocks = to_blocks(content)
        note_unknown_block(blocks[0], transcript.run, context)
        return blocks
    for index, raw in enumerate(content):
        kind = raw.get("type") if isinstance(raw, dict) else None
        if kind == "tool_use":
            call_id = raw.get("id")
            if isinstance(call_id, str):
                transcript.calls[call_id] = raw.get("input")
                if raw.get("name") in _AGENT_TOOLS:
                    transcript.new_tasks.append(raw)
            else:
                transcript.calls_without_id.append(raw)
        elif kind != "text" and kind != "thinking":  # noqa: PLR1714 - a set lookup is slower here
            content[index] = to_block(raw)
            note_unknown_block(content[index], transcript.run, context)
    return content


def _add_blocks(transcript: Transcript, earlier: JsonObject, uuid: Any, content: Any, context: LineContext) -> bool:
    """Add new blocks, or longer copies of existing ones, to an answer; return False if all are known."""
    current_blocks = earlier["content"]
    known_calls = len(transcript.calls)
    new_blocks = _answer_blocks(transcript, content, context)
    if isinstance(uuid, str):
        if uuid not in transcript.links:
            transcript.links[uuid] = earlier
            metadata = earlier["metadata"]
            if "source_ids" in metadata:
                metadata["source_ids"].append(uuid)
            else:
                metadata["source_ids"] = [earlier["message_id"], uuid]
        elif all(new in current_blocks for new in new_blocks):
            return False
    if len(new_blocks) == 1 and len(transcript.calls) > known_calls:
        current_blocks.append(new_blocks[0])  # a new call
    else:
        for new in new_blocks:
            _merge_block(current_blocks, new)
    if transcript.calls_without_id:
        transcript.assign_call_ids(earlier)
    if transcript.new_tasks:
        transcript.register_tasks(earlier)
    return True


def _add_request_id(metadata: JsonObject, request_id: Any) -> None:
    if request_id is not None:
        others = metadata.setdefault("other_request_ids", [])
        if request_id not in others:
            others.append(request_id)


def _merge_block(current_blocks: list[JsonObject], new: JsonObject) -> None:
    kind = new.get("type")
    for index, old in enumerate(current_blocks):
        if old.get("type") != kind:
            continue
        if kind == "tool_use":
            if old.get("id") == new.get("id") and "id" in new:
                current_blocks[index] = new
                return
        elif kind in {"text", "thinking"}:
            before, after = old.get(kind), new.get(kind)
            if before == after and old == new:
                return
            if isinstance(before, str) and isinstance(after, str) and before and after:
                if after.startswith(before):
                    current_blocks[index] = new
                    return
                if before.startswith(after):
                    return
        elif old == new:
            return
    if len(current_blocks) == 1 and current_blocks[0] == {"type": "text", "text": ""}:
        current_blocks.clear()  # the placeholder for a first line without content
    current_blocks.append(new)


def raise_usage(tokens: JsonObject, usage: JsonObject) -> None:
    """Raise every figure in `tokens` to its maximum: the lines of one answer repeat its usage while it grows."""
    current = tokens.copy()
    tokens.update({**usage, **current})
    for key, old in current.items():
        if (new := usage.get(key, old)) == old:
            continue
        if type(new) is int and type(old) is int:
            if new > old:
                tokens[key] = new
        elif isinstance(new, dict) and isinstance(old, dict):
            raise_usage(old, new)
        elif new is not None:
            tokens[key] = new


def _continue_usage(transcript: Transcript, message: JsonObject, usage: Any) -> None:
    """Set the tokens of a message that continues one emitted with an earlier fragment to what it adds.

    The tokens of both messages then add up to the answer's; `answer_tokens` is its total so far.
    """
    metadata = message["metadata"]
    if not isinstance(usage, dict):
        return
    emitted = transcript.emitted_answer(metadata["api_message_id"])
    before = emitted[1] if emitted else {}
    total = metadata.get("answer_tokens") or dict(before)
    raise_usage(total, usage)
    added = {
        key: value - (before.get(key) or 0)
        for key, value in total.items()
        if type(value) is int and type(before.get(key) or 0) is int and value > (before.get(key) or 0)
    }
    if added:
        message["tokens"] = added
        metadata["answer_tokens"] = total


def _add_cost(record: JsonObject, message: JsonObject) -> None:
    """Add the cost and the duration that old versions recorded."""
    cost: Any = record.get("costUSD")
    duration = record.get("durationMs")
    if type(cost) in {int, float} and cost >= 0:
        message["cost"] = {"amount": cost, "currency": "USD"}
    elif cost is not None:
        message["metadata"]["costUSD"] = cost
    if type(duration) is int and duration >= 0:
        message["metadata"]["duration_ms"] = duration
    elif duration is not None:
        message["metadata"]["durationMs"] = duration
