"""Messages of the API history, which records what was sent to the model and what it answered.

An answer becomes one message, a user turn up to three: tool results, what the user wrote, and what the extension added,
each with its own `author_kind`.
"""

from typing import Any

from palaver.importers._cline_family.blocks import block_of, call_blocks, reasoning
from palaver.importers._cline_family.task import Task, keep_unmapped, time_of
from palaver.importers._cline_family.tool_calls import split_calls
from palaver.importers._cline_family.user_turns import UserTurn
from palaver.importers._shared.findings import MADE_CALL_ID, UNKNOWN_BLOCK
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.anthropic._tools import parse_input

_ROLES: tuple[build.Role, ...] = ("user", "assistant", "system", "tool", "function")
_INTERRUPTION = "[Response interrupted by "
"""How the extension ends an answer that was cut off."""
_AUTHORS = {"user": "harness", "assistant": "model", "system": "harness", "tool": "tool", "function": "tool"}
BASE_FIELDS = frozenset({"role", "content", "ts"})
"""The fields of a record without anything special."""


class History:
    """Converts the records of one task to messages."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._last_role = ""

    def messages(self, index: int, record: JsonObject, *, is_plain: bool = False) -> tuple[list[JsonObject], str]:
        """Return the messages of a record, without times and parents, and its stated time or ""."""
        message_id = f"{self._task.task_id}:{index}"
        metadata: JsonObject = {}
        role = record.get("role")
        if role != "user" and role != "assistant":  # noqa: PLR1714 - it may be anything
            role = self._role(record, metadata)
        self._last_role = role
        content = record.get("content")
        raw = content if isinstance(content, list) else [content] if content is not None else []
        stated = self._time(record, metadata)
        if not is_plain and (record.get("isSummary") is True or record.get("isTruncationMarker") is True):
            made = [self._marker(message_id, raw, record, metadata)]
        elif role == "user":
            turn = UserTurn(self._task, message_id)
            made = turn.messages(raw)
            stated = stated or turn.environment.get("time", "")
            if metadata:
                made[0]["metadata"] |= metadata
        elif role == "assistant":
            made = [self._answer(message_id, raw, record, metadata, is_plain=is_plain)]
        else:
            metadata["author_kind"] = _AUTHORS[role]
            made = [_message(message_id, role, [self._block(block, message_id) for block in raw], metadata)]
        if not is_plain:
            keep_unmapped(made[0]["metadata"], record, *_mapped_fields(record, role))
        return made, stated

    def _role(self, record: JsonObject, metadata: JsonObject) -> build.Role:
        stated = record.get("role")
        if isinstance(stated, str) and stated in _ROLES:
            return stated
        metadata["role_inferred"] = True
        if stated is not None:
            metadata["source_role"] = stated
        is_answer = record.get("type") == "reasoning" or self._last_role == "user"
        return "assistant" if is_answer else "user"

    def _time(self, record: JsonObject, metadata: JsonObject) -> str:
        stated = record["ts"] if "ts" in record else record.get("timestamp")
        time = time_of(stated)
        if not time and stated is not None:
            metadata["invalid_ts"] = stated
        return time

    def _marker(self, message_id: str, raw: list[Any], record: JsonObject, metadata: JsonObject) -> JsonObject:
        """Return the system message for a summary that replaces messages, or for a truncation marker."""
        metadata["author_kind"] = "harness"
        if record.get("isSummary") is True:
            metadata["is_compact_summary"] = True
        metadata.setdefault("source_role", record.get("role"))
        return _message(message_id, "system", [self._block(block, message_id) for block in raw], metadata)

    def _answer(
        self, message_id: str, raw: list[Any], record: JsonObject, metadata: JsonObject, *, is_plain: bool
    ) -> JsonObject:
        task = self._task
        metadata["author_kind"] = "model"
        content: list[JsonObject] = []
        if is_plain:
            if task.turn_model:
                metadata["model_override"] = task.turn_model
        else:
            self._add_model(record, metadata)
            content += _record_reasoning(record)
        calls: list[tuple[str, str]] = []
        if not task.has_native_calls:
            task.has_native_calls = "tool_use" in [block.get("type") for block in raw if isinstance(block, dict)]
        may_call = not task.has_native_calls
        for block in raw:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use":
                content += self._native_call(message_id, block, calls)
            elif may_call and kind == "text" and isinstance((text := block.get("text")), str) and "<" in text:
                content += self._text(message_id, text, block, calls)
            elif may_call and isinstance(block, str):
                content += self._text(message_id, block, {}, calls)
            elif kind == "thoughtSignature" and "thoughtSignature" in block:
                metadata.setdefault("thoughtSignature", []).append(block["thoughtSignature"])
            elif kind == "tool_result":
                content.append(UserTurn(task, message_id).native_result(block))
            else:
                content.append(self._block(block, message_id))
        if raw:
            task.calls.reset(calls)
        return _message(message_id, "assistant", content, metadata)

    def _add_model(self, record: JsonObject, metadata: JsonObject) -> None:
        """Record the id and the model of an answer."""
        task = self._task
        if isinstance((api_id := record.get("id")), str) and api_id:
            metadata["api_message_id"] = api_id
        match record.get("modelInfo"):
            case {"modelId": str(model)} as info if model:
                metadata["model_override"] = model
                if isinstance((mode := info.get("mode")), str) and mode:
                    task.note_mode(mode)
            case _ if task.turn_model:
                metadata["model_override"] = task.turn_model
            case _:
                pass

    def _native_call(self, message_id: str, raw: JsonObject, calls: list[tuple[str, str]]) -> list[JsonObject]:
        stated, tool = raw.get("id"), raw.get("name")
        call_id = stated if isinstance(stated, str) and stated else self._new_call_id(message_id, calls)
        tool = tool if isinstance(tool, str) else ""
        calls.append((tool, call_id))
        self._task.known_calls.add(call_id)
        return call_blocks(call_id=call_id, name=tool, arguments=parse_input(raw.get("input")), raw=raw)

    def _text(self, message_id: str, text: str, raw: JsonObject, calls: list[tuple[str, str]]) -> list[JsonObject]:
        """Return the blocks of an answer's text, which may contain calls as tags."""
        made: list[JsonObject] = []
        cut_at = text.rfind(_INTERRUPTION) if text.endswith("]") else -1
        if text.find("]", cut_at) < len(text) - 1:
            cut_at = -1  # only a quotation
        answer = text if cut_at < 0 else text[:cut_at].rstrip()
        for piece in split_calls(answer, self._task.platform):
            if isinstance(piece, str):
                made.append(build.text(piece))
                continue
            call_id = self._new_call_id(message_id, calls)
            calls.append((piece.name, call_id))
            self._task.known_calls.add(call_id)
            made += call_blocks(call_id=call_id, name=piece.name, arguments=dict(piece.input))
            if piece.is_partial:
                made[-1].setdefault("metadata", {})["partial"] = True
            if piece.rest:
                made[-1].setdefault("metadata", {})["rest"] = piece.rest
        if cut_at >= 0:
            made.append(build.text(text[cut_at:]))
        if not made:
            made.append(build.text(text))
        if len(raw) > 2 and (
            rest := {key: value for key, value in raw.items() if key not in {"type", "text"} and value}
        ):
            made[0]["source_fields"] = rest
        return made

    def _new_call_id(self, message_id: str, calls: list[tuple[str, str]]) -> str:
        if not self._task.has_made_ids:
            self._task.has_made_ids = True
            self._task.run.note(MADE_CALL_ID, message_id)
        return f"{message_id}:call{len(calls) + 1}" if calls else f"{message_id}:call"

    def _block(self, raw: Any, message_id: str) -> JsonObject:
        made = block_of(raw)
        if made["type"] == "opaque":
            self._task.run.note(UNKNOWN_BLOCK, message_id, f"block {made['kind']!r:.80}")
        return made


def _mapped_fields(record: JsonObject, role: str) -> list[str]:
    """Return the fields that are mapped to the message."""
    mapped = ["role", "content", "ts" if "ts" in record else "timestamp"]
    if role != "assistant" or record.get("isSummary") is True:
        return mapped
    if isinstance(record.get("id"), str):
        mapped.append("id")
    if isinstance(record.get("reasoning_content"), str):
        mapped.append("reasoning_content")
    if (
        isinstance(record.get("reasoning_details"), list)
        and _reasoning_details(record["reasoning_details"]) is not None
    ):
        mapped.append("reasoning_details")
    if record.get("type") == "reasoning" and reasoning(_reasoning_fields(record)) is not None:
        mapped += _reasoning_fields(record)
    return mapped


def _record_reasoning(record: JsonObject) -> list[JsonObject]:
    """Return the reasoning that a record holds beside or instead of content."""
    made: list[JsonObject] = []
    if record.get("type") == "reasoning" and (thought := reasoning(_reasoning_fields(record))):
        made.append(thought)
    if isinstance((text := record.get("reasoning_content")), str) and text:
        made.append(build.thinking(text))
    if isinstance((details := record.get("reasoning_details")), list):
        made += _reasoning_details(details) or []
    return made


def _reasoning_fields(record: JsonObject) -> JsonObject:
    return {name: record[name] for name in ("type", "text", "summary", "encrypted_content") if name in record}


def _reasoning_details(details: list[Any]) -> list[JsonObject] | None:
    """Return the blocks for OpenRouter's `reasoning_details`, or None for an unknown shape."""
    made: list[JsonObject] = []
    for detail in details:
        match detail:
            case {"type": "reasoning.text", "text": str(text)}:
                seal = detail.get("signature")
                block = build.thinking(text, signature=seal if isinstance(seal, str) and seal else None)
                mapped = {"type", "text", "signature"}
            case {"type": "reasoning.summary", "summary": str(text)}:
                block, mapped = build.thinking(text), {"type", "summary"}
            case {"type": "reasoning.encrypted", "data": str(data)}:
                block, mapped = build.thinking("", redacted_data=data), {"type", "data"}
            case _:
                return None
        if rest := {key: value for key, value in detail.items() if key not in mapped and value is not None}:
            block["source_fields"] = rest
        made.append(block)
    return made


def _message(message_id: str, role: build.Role, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
    return {
        "message_id": message_id,
        "role": role,
        "timestamp": "",
        "content": content or [build.text("")],
        "metadata": metadata,
    }
