"""Requests as messages: the question, the answer, and the results of the answer's calls, each behind the one before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MADE_MESSAGE_ID, UNKNOWN_BLOCK
from palaver.importers.github_copilot.sessions.answers import FIELDS, Answer, answer_of, state_of
from palaver.importers.github_copilot.sessions.asked import Question, is_hidden, question_of
from palaver.importers.github_copilot.sessions.kept import Note, keep
from palaver.importers.github_copilot.sessions.noticed import LEFT_BEHIND
from palaver.importers.github_copilot.sessions.session import Request
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.timestamps import readable_timestamp


class Messages:
    """The messages of one session."""

    def __init__(self, created_at: str, note: Callable[[FindingKind, str, str], None]) -> None:
        self.all: list[JsonObject] = []
        self.state: str | None = None
        """What became of the last request that is shown."""
        self.title = ""
        """The first line that was typed."""
        self.latest = ""
        """The greatest time that the source states."""
        self._time = created_at
        self._note = note
        self._names: dict[str, int] = {}
        """The ids that are given, each with the last number that was put behind it."""
        self._shown: str | None = None
        """The last message that is on the active path."""
        self._last: str | None = None

    def add(self, request: Request) -> None:
        before = len(self.all)

        def note(kind: FindingKind, words: str) -> None:
            self._note(kind, _place(request.value, before), words)

        if not isinstance(request.value, dict):
            note(UNKNOWN_BLOCK, "a request that is no object")
            self._add_odd(request.value)
            return
        value: JsonObject = request.value
        is_undone = bool(value.get("shouldBeRemovedOnSend")) or value.get("isHidden") is True or bool(request.kept_from)
        marks: JsonObject = {"hidden": True, "on_active_path": False} if is_undone else {}
        if request.kept_from:
            marks["kept_from"] = request.kept_from
            note(LEFT_BEHIND, request.kept_from)
        self._last = self._last if is_undone else self._shown
        question = question_of(value, note)
        question_id = self._named(value.get("requestId"), f"request-{len(self.all)}", note)
        answer_id = self._named(value.get("responseId"), f"{question_id}:response", note, is_needed=False)
        turn = _Turn(value, question, answer_of(value, answer_id, note), marks, note)
        self._ask(question_id, turn)
        if turn.answer.is_there:
            self._answer(answer_id, turn)
        if not is_undone:
            self._shown = self._last
            self.state = state_of(value)
            if not self.title and question.is_typed:
                self.title = question.text.strip().partition("\n")[0].strip()[:200]

    def _ask(self, name: str, turn: "_Turn") -> None:
        value, answer = turn.value, turn.answer
        metadata: JsonObject = {"author_kind": "human" if turn.question.is_typed else "harness", **turn.marks}
        if is_hidden(value):
            metadata["hidden"] = True
        mapped = {"message", "variableData"}
        if isinstance(value.get("requestId"), str):
            mapped.add("requestId")
        if time := readable_timestamp(value.get("timestamp")):
            mapped.add("timestamp")
            self._saw(time)
        else:
            metadata["timestamp_inferred"] = True
            if value.get("timestamp") is None:
                turn.note(INFERRED_TIMESTAMP, "")
            else:
                turn.note(BAD_TIMESTAMP, f"timestamp {value['timestamp']!r:.60}")
        metadata |= turn.question.fields
        if answer.is_there:
            mapped |= FIELDS
        else:
            metadata |= {field: item for field, item in answer.metadata.items() if field not in _OF_ANSWERS}
            mapped |= {"response", "result"}
        keep(metadata, value, mapped)
        self._append(name, "user", turn.question.blocks, metadata)

    def _answer(self, name: str, turn: "_Turn") -> None:
        answer = turn.answer
        metadata = answer.metadata | turn.marks
        if answer.time:
            self._saw(answer.time)
        else:
            metadata["timestamp_inferred"] = True
            turn.note(INFERRED_TIMESTAMP, "the answer")
        keep(metadata, {field: item for field, item in turn.value.items() if field in FIELDS}, answer.mapped)
        self._append(name, "assistant", answer.blocks or [build.text("")], metadata, answer.tokens)
        if answer.results:
            metadata = {"author_kind": "tool", **turn.marks, "timestamp_inferred": True}
            self._append(self._named(f"{name}:results", "", turn.note), "tool", answer.results, metadata)

    def _add_odd(self, value: Any) -> None:
        """Keep what should be a request and is none."""
        self._last = self._shown
        metadata = {"author_kind": "harness", "timestamp_inferred": True}
        name = self._named(None, f"request-{len(self.all)}", lambda _kind, _words: None)
        self._append(name, "user", [build.opaque(kind="request", raw=value)], metadata)
        self._shown = self._last

    def _append(
        self,
        name: str,
        role: build.Role,
        blocks: list[JsonObject],
        metadata: JsonObject,
        tokens: JsonObject | None = None,
    ) -> None:
        self.all.append(
            build.message(
                message_id=name,
                parent_message_id=self._last,
                role=role,
                timestamp=self._time,
                content=blocks,
                tokens=tokens,
                metadata=metadata,
            )
        )
        self._last = name

    def _saw(self, time: str) -> None:
        self._time = time
        self.latest = max(self.latest, time)

    def _named(self, stated: Any, fallback: str, note: Note, *, is_needed: bool = True) -> str:
        """An id that no other message has."""
        base = stated if isinstance(stated, str) and stated else fallback
        name, number = base, self._names.get(base, 1)
        while name in self._names:
            number += 1
            name = f"{base}:{number}"
        if name != stated and (is_needed or name != base):
            note(MADE_MESSAGE_ID, name)
        self._names[base] = number
        self._names.setdefault(name, 1)
        return name


_OF_ANSWERS = frozenset({"author_kind", "model_override", "agent_id", "duration_ms"})
"""What is only said of an answer that is there."""


@dataclass(slots=True)
class _Turn:
    """A request with what was made of it."""

    value: JsonObject
    question: Question
    answer: Answer
    marks: JsonObject
    """What the metadata of all its messages say."""
    note: Note


def _place(value: Any, before: int) -> str:
    match value:
        case {"requestId": str(name)} if name:
            return f"request {name:.60}"
        case _:
            return f"the request behind message {before}"
