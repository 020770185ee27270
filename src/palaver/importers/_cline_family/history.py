"""The API history: what was sent to the model and what it answered, message by message.

An answer is one message. A user's turn becomes up to three: the results of tools, the person's words, and what the
program added, each with its own `author_kind`.
"""

from typing import Any

from palaver.importers._cline_family.blocks import block_of, call_blocks, reasoning
from palaver.importers._cline_family.task import Task, keep_rest, time_of
from palaver.importers._cline_family.turns import UserTurn
from palaver.importers._cline_family.xml_calls import pieces
from palaver.importers._shared.findings import MADE_CALL_ID, UNKNOWN_BLOCK
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.anthropic._calls import input_of

_ROLES: tuple[build.Role, ...] = ("user", "assistant", "system", "tool", "function")
_INTERRUPTED = "[Response interrupted by "
"""What the program writes where it cut an answer off."""
_AUTHORS = {"user": "harness", "assistant": "model", "system": "harness", "tool": "tool", "function": "tool"}
PLAIN = frozenset({"role", "content", "ts"})
"""The fields that every record has."""


class History:
    """Makes messages of the records of one task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._last_role = ""

    def messages(self, index: int, record: JsonObject, *, is_plain: bool = False) -> tuple[list[JsonObject], str]:
        """The messages of a record, without times and parents, and the time that it states; empty where it has none."""
        name = f"{self._task.task_id}:{index}"
        metadata: JsonObject = {}
        role = record.get("role")
        if role != "user" and role != "assistant":  # noqa: PLR1714 - it may be anything
            role = self._role(record, metadata)
        self._last_role = role
        content = record.get("content")
        raw = content if isinstance(content, list) else [content] if content is not None else []
        stated = self._time(record, metadata)
        if not is_plain and (record.get("isSummary") is True or record.get("isTruncationMarker") is True):
            made = [self._marker(name, raw, record, metadata)]
        elif role == "user":
            turn = UserTurn(self._task, name)
            made = turn.messages(raw)
            stated = stated or turn.environment.get("time", "")
            if metadata:
                made[0]["metadata"] |= metadata
        elif role == "assistant":
            made = [self._answer(name, raw, record, metadata, is_plain=is_plain)]
        else:
            metadata["author_kind"] = _AUTHORS[role]
            made = [_message(name, role, [self._block(one, name) for one in raw], metadata)]
        if not is_plain:
            keep_rest(made[0]["metadata"], record, *_taken(record, role))
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

    # -- what is no turn ---------------------------------------------------------------------------------------------

    def _marker(self, name: str, raw: list[Any], record: JsonObject, metadata: JsonObject) -> JsonObject:
        """A summary that took the place of messages, or a note that some are hidden: nobody said it."""
        metadata["author_kind"] = "harness"
        if record.get("isSummary") is True:
            metadata["is_compact_summary"] = True
        metadata.setdefault("source_role", record.get("role"))
        return _message(name, "system", [self._block(one, name) for one in raw], metadata)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _answer(
        self, name: str, raw: list[Any], record: JsonObject, metadata: JsonObject, *, is_plain: bool
    ) -> JsonObject:
        task = self._task
        metadata["author_kind"] = "model"
        content: list[JsonObject] = []
        if is_plain:
            if task.turn_model:
                metadata["model_override"] = task.turn_model
        else:
            self._describe(record, metadata)
            content += _thoughts(record)
        called: list[tuple[str, str]] = []
        if not task.has_native_calls:
            task.has_native_calls = "tool_use" in [one.get("type") for one in raw if isinstance(one, dict)]
        may_call = not task.has_native_calls
        for one in raw:
            kind = one.get("type") if isinstance(one, dict) else None
            if kind == "tool_use":
                content += self._native_call(name, one, called)
            elif may_call and kind == "text" and isinstance((text := one.get("text")), str) and "<" in text:
                content += self._text(name, text, one, called)
            elif may_call and isinstance(one, str):
                content += self._text(name, one, {}, called)
            elif kind == "thoughtSignature" and "thoughtSignature" in one:
                metadata.setdefault("thoughtSignature", []).append(one["thoughtSignature"])
            elif kind == "tool_result":
                content.append(UserTurn(task, name).native_result(one))
            else:
                content.append(self._block(one, name))
        if raw:
            task.calls.begin(called)
        return _message(name, "assistant", content, metadata)

    def _describe(self, record: JsonObject, metadata: JsonObject) -> None:
        """Note which response of the API an answer is, and whose."""
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

    def _native_call(self, name: str, raw: JsonObject, called: list[tuple[str, str]]) -> list[JsonObject]:
        stated, tool = raw.get("id"), raw.get("name")
        call_id = stated if isinstance(stated, str) and stated else self._made_id(name, called)
        tool = tool if isinstance(tool, str) else ""
        called.append((tool, call_id))
        self._task.known_calls.add(call_id)
        return call_blocks(call_id=call_id, name=tool, arguments=input_of(raw.get("input")), raw=raw)

    def _text(self, name: str, text: str, raw: JsonObject, called: list[tuple[str, str]]) -> list[JsonObject]:
        """The text of an answer, in which calls may stand as tags."""
        made: list[JsonObject] = []
        cut_at = text.rfind(_INTERRUPTED) if text.endswith("]") else -1
        if text.find("]", cut_at) < len(text) - 1:
            cut_at = -1  # it is quoted
        spoken = text if cut_at < 0 else text[:cut_at].rstrip()
        for piece in pieces(spoken, self._task.platform):
            if isinstance(piece, str):
                made.append(build.text(piece))
                continue
            call_id = self._made_id(name, called)
            called.append((piece.name, call_id))
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
        if len(raw) > 2 and (rest := {key: one for key, one in raw.items() if key not in {"type", "text"} and one}):
            made[0]["source_fields"] = rest
        return made

    def _made_id(self, name: str, called: list[tuple[str, str]]) -> str:
        if not self._task.has_made_ids:
            self._task.has_made_ids = True
            self._task.run.note(MADE_CALL_ID, name)
        return f"{name}:call{len(called) + 1}" if called else f"{name}:call"

    def _block(self, raw: Any, name: str) -> JsonObject:
        made = block_of(raw)
        if made["type"] == "opaque":
            self._task.run.note(UNKNOWN_BLOCK, name, f"block {made['kind']!r:.80}")
        return made


def _taken(record: JsonObject, role: str) -> list[str]:
    """The fields that the messages are made of."""
    taken = ["role", "content", "ts" if "ts" in record else "timestamp"]
    if role != "assistant" or record.get("isSummary") is True:
        return taken
    if isinstance(record.get("id"), str):
        taken.append("id")
    if isinstance(record.get("reasoning_content"), str):
        taken.append("reasoning_content")
    if isinstance(record.get("reasoning_details"), list) and _details(record["reasoning_details"]) is not None:
        taken.append("reasoning_details")
    if record.get("type") == "reasoning" and reasoning(_only_reasoning(record)) is not None:
        taken += _only_reasoning(record)
    return taken


def _thoughts(record: JsonObject) -> list[JsonObject]:
    """Reasoning that stands beside the content, or is all that a record holds."""
    made: list[JsonObject] = []
    if record.get("type") == "reasoning" and (thought := reasoning(_only_reasoning(record))):
        made.append(thought)
    if isinstance((words := record.get("reasoning_content")), str) and words:
        made.append(build.thinking(words))
    if isinstance((details := record.get("reasoning_details")), list):
        made += _details(details) or []
    return made


def _only_reasoning(record: JsonObject) -> JsonObject:
    return {name: record[name] for name in ("type", "text", "summary", "encrypted_content") if name in record}


def _details(details: list[Any]) -> list[JsonObject] | None:
    """Reasoning as OpenRouter tells it; None where it has another shape."""
    made: list[JsonObject] = []
    for detail in details:
        match detail:
            case {"type": "reasoning.text", "text": str(text)}:
                seal = detail.get("signature")
                block = build.thinking(text, signature=seal if isinstance(seal, str) and seal else None)
                taken = {"type", "text", "signature"}
            case {"type": "reasoning.summary", "summary": str(text)}:
                block, taken = build.thinking(text), {"type", "summary"}
            case {"type": "reasoning.encrypted", "data": str(data)}:
                block, taken = build.thinking("", redacted_data=data), {"type", "data"}
            case _:
                return None
        if rest := {key: value for key, value in detail.items() if key not in taken and value is not None}:
            block["source_fields"] = rest
        made.append(block)
    return made


def _message(name: str, role: build.Role, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
    return {
        "message_id": name,
        "role": role,
        "timestamp": "",
        "content": content or [build.text("")],
        "metadata": metadata,
    }
