"""`assistant` lines: the lines of one API answer become one message, its usage the field-wise maximum."""

from operator import itemgetter
from typing import Any

from palaver.importers.claude_code.content import block, blocks, note_unknown
from palaver.importers.claude_code.copies import copied, odd_message
from palaver.importers.claude_code.disposition import A_COPY, INTO_MESSAGE, MAPPED, Disposition
from palaver.importers.claude_code.header import Shapes
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.transcript import Transcript, place_of, whole_place
from palaver.model.build import JsonObject

_SYNTHETIC = "<synthetic>"
_AGENT_TOOLS = ("Task", "Agent")


_SHAPES = Shapes("message", "requestId", "costUSD", "durationMs")
_MESSAGE_FIELDS = ("id", "content", "usage", "stop_reason", "model", "role", "stop_sequence", "type")
_MESSAGE_SHAPES = Shapes(*_MESSAGE_FIELDS, has_header=False)
_message_fields = itemgetter(*_MESSAGE_FIELDS)


def assistant(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    message: Any = record.get("message")
    if not isinstance(message, dict):
        return odd_message(transcript, record, "assistant", reading)
    shape = _SHAPES[tuple(record)]
    try:
        place = whole_place(record)
    except KeyError:
        place = place_of(record)
    uuid, _, timestamp = place
    request_id = record.get("requestId")
    api_id: Any
    model: Any
    usage: Any
    is_plain = len(message) == len(_MESSAGE_FIELDS)
    try:
        api_id, content, usage, stop_reason, model, role, stop_sequence, _ = _message_fields(message)
    except KeyError:
        is_plain = False
        api_id, content, usage, stop_reason, model, role, stop_sequence, _ = map(message.get, _MESSAGE_FIELDS)
    if isinstance(api_id, str) and (earlier := transcript.answers.get(api_id)) is not None:
        metadata = earlier["metadata"]
        if not _add_blocks(transcript, earlier, uuid, content, reading):
            return A_COPY
        if isinstance(usage, dict) and metadata["author_kind"] == "model":
            tokens = earlier.get("tokens")
            if "continues" in metadata:
                _continue_usage(transcript, earlier, usage)
            elif tokens is None:
                earlier["tokens"] = usage
            elif tokens != usage:
                raise_usage(tokens, usage)
        if request_id != metadata.get("request_id"):
            _note_request(metadata, request_id)
        if timestamp != earlier["timestamp"]:
            metadata["completed_at"] = timestamp
            transcript.completed.append(metadata)
        if stop_reason is not None:
            metadata.pop("tokens_partial", None)
        if shape.has_unmapped:
            shape.keep_unmapped(record, metadata)
        result = INTO_MESSAGE
    else:
        if transcript.knows(uuid, timestamp) and (copy := copied(transcript, record, content, reading)) is not None:
            return copy
        metadata = transcript.header.metadata(record, shape)
        metadata["author_kind"] = "model"
        if api_id is not None:
            metadata["api_message_id"] = api_id
        if model is not None:
            metadata["model_override"] = model
        if request_id is not None:
            metadata["request_id"] = request_id
        if role != "assistant" and role is not None:
            metadata["role"] = role
        made = _answer_blocks(transcript, content, reading)
        added = transcript.append(place, "assistant", made, metadata, reading)
        if transcript.unnamed:
            transcript.name_calls(added)
        if transcript.new_tasks:
            transcript.place_tasks(added)
        if "costUSD" in record or "durationMs" in record:
            _take_cost(record, added)
        if model == _SYNTHETIC:
            # The product's own words (an API error, "No response requested."): no model said them, nothing was used.
            metadata["author_kind"] = "harness"
            if usage:
                metadata["usage"] = usage
        else:
            if isinstance(model, str):
                transcript.models[model] = transcript.models.get(model, 0) + 1
            if isinstance(api_id, str):
                transcript.answers[api_id] = added
                if transcript.sequence and (left := transcript.earlier_answer(api_id)):
                    metadata["continues"] = left[0]
            if "continues" in metadata:
                _continue_usage(transcript, added, usage)
            elif isinstance(usage, dict):
                added["tokens"] = usage
                if stop_reason is None:
                    metadata["tokens_partial"] = True
            elif usage is not None:
                metadata["usage"] = usage
        result = MAPPED
    if stop_reason is not None:
        metadata["stop_reason"] = stop_reason
    if stop_sequence is not None:
        metadata["stop_sequence"] = stop_sequence
    if not is_plain:
        _MESSAGE_SHAPES[tuple(message)].keep_unmapped(message, metadata)
    return result


def _answer_blocks(transcript: Transcript, content: Any, reading: Reading) -> list[JsonObject]:
    if not isinstance(content, list) or not content:
        made = blocks(content)
        note_unknown(made[0], transcript.run, reading)
        return made
    for index, raw in enumerate(content):
        kind = raw.get("type") if isinstance(raw, dict) else None
        if kind == "tool_use":
            call_id = raw.get("id")
            if isinstance(call_id, str):
                transcript.calls[call_id] = raw.get("input")
                if raw.get("name") in _AGENT_TOOLS:
                    transcript.new_tasks.append(raw)
            else:
                transcript.unnamed.append(raw)
        elif kind != "text" and kind != "thinking":  # noqa: PLR1714 - a set lookup is slower here
            content[index] = block(raw)
            note_unknown(content[index], transcript.run, reading)
    return content


def _add_blocks(transcript: Transcript, earlier: JsonObject, uuid: Any, content: Any, reading: Reading) -> bool:
    """Another line of an answer: a new block, or a longer copy of one that is there; False for a whole copy."""
    held = earlier["content"]
    known_calls = len(transcript.calls)
    new_blocks = _answer_blocks(transcript, content, reading)
    if isinstance(uuid, str):
        if uuid not in transcript.links:
            transcript.links[uuid] = earlier
            metadata = earlier["metadata"]
            if "source_ids" in metadata:
                metadata["source_ids"].append(uuid)
            else:
                metadata["source_ids"] = [earlier["message_id"], uuid]
        elif all(new in held for new in new_blocks):
            return False
    if len(new_blocks) == 1 and len(transcript.calls) > known_calls:
        held.append(new_blocks[0])  # a call that was never seen
    else:
        for new in new_blocks:
            _merge_block(held, new)
    if transcript.unnamed:
        transcript.name_calls(earlier)
    if transcript.new_tasks:
        transcript.place_tasks(earlier)
    return True


def _note_request(metadata: JsonObject, request_id: Any) -> None:
    if request_id is not None:
        others = metadata.setdefault("other_request_ids", [])
        if request_id not in others:
            others.append(request_id)


def _merge_block(held: list[JsonObject], new: JsonObject) -> None:
    kind = new.get("type")
    for index, old in enumerate(held):
        if old.get("type") != kind:
            continue
        if kind == "tool_use":
            if old.get("id") == new.get("id") and "id" in new:
                held[index] = new
                return
        elif kind in {"text", "thinking"}:
            before, after = old.get(kind), new.get(kind)
            if before == after and old == new:
                return
            if isinstance(before, str) and isinstance(after, str) and before and after:
                if after.startswith(before):
                    held[index] = new
                    return
                if before.startswith(after):
                    return
        elif old == new:
            return
    if len(held) == 1 and held[0] == {"type": "text", "text": ""}:
        held.clear()  # the stand-in for a first line without content
    held.append(new)


def raise_usage(tokens: JsonObject, usage: JsonObject) -> None:
    """Raise every figure to its maximum: the lines of one answer repeat its usage while it grows."""
    held = tokens.copy()
    tokens.update({**usage, **held})
    for key, old in held.items():
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
    """The tokens of a message that continues one which left with an earlier fragment are what it adds to that one's.

    So messages add up. What the answer used in all by then stands in `answer_tokens`.
    """
    metadata = message["metadata"]
    if not isinstance(usage, dict):
        return
    left = transcript.earlier_answer(metadata["api_message_id"])
    before = left[1] if left else {}
    whole = metadata.get("answer_tokens") or dict(before)
    raise_usage(whole, usage)
    more = {
        key: value - (before.get(key) or 0)
        for key, value in whole.items()
        if type(value) is int and type(before.get(key) or 0) is int and value > (before.get(key) or 0)
    }
    if more:
        message["tokens"] = more
        metadata["answer_tokens"] = whole


def _take_cost(record: JsonObject, message: JsonObject) -> None:
    """Old versions state what an answer cost and how long it took."""
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
