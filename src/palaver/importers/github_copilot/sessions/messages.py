"""Messages of a session: a prompt, an answer and the results of its tool calls for each request, in a chain."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MADE_MESSAGE_ID, UNKNOWN_BLOCK
from palaver.importers.github_copilot.sessions.answer import ANSWER_FIELDS, Answer, answer_of, state_of
from palaver.importers.github_copilot.sessions.kinds import LEFT_BEHIND_REQUEST
from palaver.importers.github_copilot.sessions.prompt import Prompt, is_hidden, prompt_of
from palaver.importers.github_copilot.sessions.session import Request
from palaver.importers.github_copilot.sessions.unmapped_fields import Note, add_unmapped
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.timestamps import timestamp_or_empty


class Messages:
    """Builds the messages of one session."""

    def __init__(self, created_at: str, note: Callable[[FindingKind, str, str], None]) -> None:
        self.messages: list[JsonObject] = []
        self.state: str | None = None
        """Outcome of the last request on the active path."""
        self.title = ""
        """First line that the user typed."""
        self.latest = ""
        """Latest time that the source states."""
        self._time = created_at
        self._note = note
        self._used_ids: dict[str, int] = {}
        """Ids in use, each with the last number appended to make it unique."""
        self._active_leaf: str | None = None
        """Id of the last message on the active path."""
        self._last_id: str | None = None

    def add(self, request: Request) -> None:
        before = len(self.messages)

        def note(kind: FindingKind, message: str) -> None:
            self._note(kind, _request_label(request.value, before), message)

        if not isinstance(request.value, dict):
            note(UNKNOWN_BLOCK, "a request that is not an object")
            self._add_malformed(request.value)
            return
        value: JsonObject = request.value
        is_inactive = bool(value.get("shouldBeRemovedOnSend")) or value.get("isHidden") is True or bool(request.origin)
        shared_metadata: JsonObject = {"hidden": True, "on_active_path": False} if is_inactive else {}
        if request.origin:
            shared_metadata["kept_from"] = request.origin
            note(LEFT_BEHIND_REQUEST, request.origin)
        self._last_id = self._last_id if is_inactive else self._active_leaf
        prompt = prompt_of(value, note)
        prompt_id = self._unique_id(value.get("requestId"), f"request-{len(self.messages)}", note)
        answer_id = self._unique_id(value.get("responseId"), f"{prompt_id}:response", note, is_needed=False)
        turn = _Turn(value, prompt, answer_of(value, answer_id, note), shared_metadata, note)
        self._add_prompt(prompt_id, turn)
        if turn.answer.has_content:
            self._add_answer(answer_id, turn)
        if not is_inactive:
            self._active_leaf = self._last_id
            self.state = state_of(value)
            if not self.title and prompt.is_typed:
                self.title = prompt.text.strip().partition("\n")[0].strip()[:200]

    def _add_prompt(self, name: str, turn: "_Turn") -> None:
        value, answer = turn.value, turn.answer
        metadata: JsonObject = {"author_kind": "human" if turn.prompt.is_typed else "harness", **turn.shared_metadata}
        if is_hidden(value):
            metadata["hidden"] = True
        mapped = {"message", "variableData"}
        if isinstance(value.get("requestId"), str):
            mapped.add("requestId")
        if time := timestamp_or_empty(value.get("timestamp")):
            mapped.add("timestamp")
            self._advance_time(time)
        else:
            metadata["timestamp_inferred"] = True
            if value.get("timestamp") is None:
                turn.note(INFERRED_TIMESTAMP, "")
            else:
                turn.note(BAD_TIMESTAMP, f"timestamp {value['timestamp']!r:.60}")
        metadata |= turn.prompt.fields
        if answer.has_content:
            mapped |= ANSWER_FIELDS
        else:
            metadata |= {field: item for field, item in answer.metadata.items() if field not in _ANSWER_ONLY_METADATA}
            mapped |= {"response", "result"}
        add_unmapped(metadata, value, mapped)
        self._append(name, "user", turn.prompt.blocks, metadata)

    def _add_answer(self, name: str, turn: "_Turn") -> None:
        answer = turn.answer
        metadata = answer.metadata | turn.shared_metadata
        if answer.time:
            self._advance_time(answer.time)
        else:
            metadata["timestamp_inferred"] = True
            turn.note(INFERRED_TIMESTAMP, "the answer")
        fields = {field: item for field, item in turn.value.items() if field in ANSWER_FIELDS}
        add_unmapped(metadata, fields, answer.mapped)
        self._append(name, "assistant", answer.blocks or [build.text("")], metadata, answer.tokens)
        if answer.results:
            metadata = {"author_kind": "tool", **turn.shared_metadata, "timestamp_inferred": True}
            self._append(self._unique_id(f"{name}:results", "", turn.note), "tool", answer.results, metadata)

    def _add_malformed(self, value: Any) -> None:
        """Add a request that is not an object as an opaque block."""
        self._last_id = self._active_leaf
        metadata = {"author_kind": "harness", "timestamp_inferred": True}
        name = self._unique_id(None, f"request-{len(self.messages)}", lambda _kind, _message: None)
        self._append(name, "user", [build.opaque(kind="request", raw=value)], metadata)
        self._active_leaf = self._last_id

    def _append(
        self,
        name: str,
        role: build.Role,
        blocks: list[JsonObject],
        metadata: JsonObject,
        tokens: JsonObject | None = None,
    ) -> None:
        self.messages.append(
            build.message(
                message_id=name,
                parent_message_id=self._last_id,
                role=role,
                timestamp=self._time,
                content=blocks,
                tokens=tokens,
                metadata=metadata,
            )
        )
        self._last_id = name

    def _advance_time(self, time: str) -> None:
        self._time = time
        self.latest = max(self.latest, time)

    def _unique_id(self, stated: Any, fallback: str, note: Note, *, is_needed: bool = True) -> str:
        """Return the stated id, or the fallback, made unique among the messages."""
        base = stated if isinstance(stated, str) and stated else fallback
        name, number = base, self._used_ids.get(base, 1)
        while name in self._used_ids:
            number += 1
            name = f"{base}:{number}"
        if name != stated and (is_needed or name != base):
            note(MADE_MESSAGE_ID, name)
        self._used_ids[base] = number
        self._used_ids.setdefault(name, 1)
        return name


_ANSWER_ONLY_METADATA = frozenset({"author_kind", "model_override", "agent_id", "duration_ms"})
"""Metadata that only applies if the answer has content."""


@dataclass(slots=True)
class _Turn:
    """A request with its parsed prompt and answer."""

    value: JsonObject
    prompt: Prompt
    answer: Answer
    shared_metadata: JsonObject
    """Metadata common to all messages of the request."""
    note: Note


def _request_label(value: Any, before: int) -> str:
    match value:
        case {"requestId": str(name)} if name:
            return f"request {name:.60}"
        case _:
            return f"the request behind message {before}"
