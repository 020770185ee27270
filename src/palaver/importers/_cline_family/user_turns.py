"""User turns of the API history: tool results, what the user wrote, and what the extension added.

Before calls had ids, a result was text: `[read_file for 'a.ts'] Result:` and the body, in two blocks for Roo Code and
in one for Cline. Cline also writes such texts for calls with ids. They belong to the calls of the previous answer by
order (see `PendingCalls`).
"""

from dataclasses import dataclass
from typing import Any

import orjson

from palaver.importers._cline_family.blocks import block_of, result_content, with_unmapped
from palaver.importers._cline_family.task import PendingCalls, Task
from palaver.importers._cline_family.tool_calls import is_tool_name
from palaver.importers._cline_family.user_text import (
    Environment,
    Part,
    environment_in,
    feedback_in,
    has_wrapper,
    is_environment,
    split_by_author,
)
from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.model import build
from palaver.model.build import JsonObject

_ERROR_STATUSES = frozenset({"error", "denied"})
_RESULT_FIELDS = frozenset({"type", "tool_use_id", "content"})
_RESULT_SUFFIX = "] Result:"
_FAILURE_PREFIX = "The tool execution failed with the following error:"
_SUBTASK_PREFIX = "Subtask "
_STATUS_PREFIX = '{"status"'
_OUTCOME_LETTERS = frozenset({_FAILURE_PREFIX[0], _SUBTASK_PREFIX[0], _STATUS_PREFIX[0]})


@dataclass(slots=True)
class _ResultHeader:
    """The line before a result in text form."""

    name: str
    description: str
    body: str
    """Text after the header in the same block."""


class UserTurn:
    """Sorts the blocks of one turn by author and builds a message for each."""

    def __init__(self, task: Task, name: str) -> None:
        self._task = task
        self._turn_id = name
        self._results: list[JsonObject] = []
        self._human: list[JsonObject] = []
        self._context: list[JsonObject] = []
        self._wrappers: list[str] = []
        self._block_fields: list[JsonObject] = []
        """Other fields of text blocks."""
        self._is_incomplete = False
        self._open_result: JsonObject | None = None
        """The last result in text form; images that follow belong to it."""
        self._awaits_body = False
        """Whether the next text block is the body of the open result."""
        self.environment: Environment = {}

    def messages(self, raw: list[Any]) -> list[JsonObject]:
        """Return the messages of the turn, at least one."""
        has_result_or_wrapper: bool | None = None
        for block in raw:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_result":
                if self._open_result is not None:
                    self._close_text_result()
                self._results.append(self.native_result(block))
                continue
            text = block.get("text") if kind == "text" else block
            if not isinstance(text, str):
                self._add_other(kind, block)
                continue
            if text is not block and len(block) > 2:
                self._keep_block_fields(block)
            if is_environment(text):
                if self._open_result is not None:
                    self._close_text_result()
                self._add_environment(text)
            elif header := _result_header(text, self._task.calls):
                self._start_text_result(header)
            elif self._awaits_body:
                self._fill_text_result(text)
            else:
                self._close_text_result()
                if has_result_or_wrapper is None:
                    has_result_or_wrapper = any(map(self._is_result_or_wrapped, raw))
                self._add_text(text, has_result_or_wrapper=has_result_or_wrapper)
        return self._build_messages()

    def _is_result_or_wrapped(self, raw: Any) -> bool:
        """Return whether a block rules out that unwrapped text in the same turn comes from the user."""
        kind = raw.get("type") if isinstance(raw, dict) else None
        if kind == "tool_result":
            return True
        text = raw.get("text") if kind == "text" else raw
        if not isinstance(text, str) or is_environment(text):
            return False
        return _result_header(text, self._task.calls) is not None or has_wrapper(text)

    def _keep_block_fields(self, raw: JsonObject) -> None:
        if fields := {key: value for key, value in raw.items() if key not in {"type", "text"} and value}:
            self._block_fields.append(fields)

    def native_result(self, raw: JsonObject) -> JsonObject:
        """Return the block for a `tool_result`, which usually names its call."""
        stated = raw.get("tool_use_id")
        if isinstance(stated, str) and stated:
            call_id = stated
            self._task.calls.close(call_id)
            if call_id not in self._task.known_calls:
                self._is_incomplete = True
        else:
            call_id = self._pending_call_id("")
        content, text = result_content(raw.get("content"))
        description = ""
        if header := _result_header(_first_text(content), self._task.calls):
            description = header.description
            text = text[len(f"[{description}] Result:") :].removeprefix("\n")
            content = _without_header(content, header)
        block = build.tool_result(tool_use_id=call_id, content=content, is_error=raw.get("is_error") is True)
        self._read_outcome(block, text, description)
        if _RESULT_FIELDS.issuperset(raw) and call_id is stated:
            return block
        taken = ["type", "content"]
        taken += ["is_error"] if isinstance(raw.get("is_error"), bool) else []
        taken += ["tool_use_id"] if call_id is stated else []
        return with_unmapped(block, raw, *taken)

    def _start_text_result(self, header: _ResultHeader) -> None:
        """Open a result in text form; its body follows in the same block or in the next one."""
        self._close_text_result()
        self._open_result = build.tool_result(tool_use_id=self._pending_call_id(header.name), content=header.body)
        self._open_result["metadata"] = {"description": header.description}
        self._awaits_body = not header.body
        self._results.append(self._open_result)
        if header.body:
            self._read_outcome(self._open_result, header.body, header.description)

    def _fill_text_result(self, text: str) -> None:
        self._awaits_body = False
        if self._open_result is not None:
            self._open_result["content"] = text
            self._read_outcome(self._open_result, text, "")

    def _close_text_result(self) -> None:
        self._open_result = None
        self._awaits_body = False

    def _pending_call_id(self, name: str) -> str:
        call_id = self._task.calls.take(name)
        if call_id is None:
            self._is_incomplete = True
            return f"{self._turn_id}:lost{len(self._results) + 1}"
        return call_id

    def _read_outcome(self, block: JsonObject, text: str, description: str) -> None:
        """Add what the text of a result states: failure, a completed subtask, feedback by the user."""
        outcome: JsonObject = {"description": description} if description else {}
        feedback = _read_status(block, text, outcome) if _may_state_outcome(text) else ""
        if feedback:
            self._add_human(Part("human", feedback, "feedback"))
        elif part := feedback_in(text):
            self._add_human(part)
            self._open_result = None  # images that follow come from the user
        if outcome:
            block["metadata"] = {**block.get("metadata", {}), **outcome}

    def _add_text(self, text: str, *, has_result_or_wrapper: bool) -> None:
        found = split_by_author(text, is_wrapped_elsewhere=has_result_or_wrapper)
        if len(found) == 1 and not found[0].wrapper:
            found = [found[0]._replace(text=text)]
        elif not found and text:
            self._context.append(build.text(text))
        for part in found:
            if part.author == "human":
                self._add_human(part)
            else:
                self._context.append(build.text(part.text))

    def _add_human(self, part: Part) -> None:
        self._human.append(build.text(part.text))
        if part.wrapper and part.wrapper not in self._wrappers:
            self._wrappers.append(part.wrapper)

    def _add_environment(self, text: str) -> None:
        self._context.append(build.text(text))
        self.environment = environment_in(text)
        self._task.note_environment(self.environment)

    def _add_other(self, kind: Any, raw: Any) -> None:
        if kind != "image" and kind != "document":  # noqa: PLR1714 - it may be anything
            self._close_text_result()
            self._context.append(self._unknown(raw))
            return
        block = block_of(raw)
        if block["type"] == "opaque":
            self._context.append(self._unknown(raw))
        elif self._open_result is None:
            self._human.append(block)
        else:
            content = self._open_result["content"]
            if isinstance(content, str):
                content = self._open_result["content"] = [build.text(content)] if content else []
            content.append(block)

    def _unknown(self, raw: Any) -> JsonObject:
        made = block_of(raw)
        if made["type"] == "opaque":
            self._task.run.note(UNKNOWN_BLOCK, self._turn_id, f"block {made['kind']!r:.80}")
        return made

    def _build_messages(self) -> list[JsonObject]:
        found: list[JsonObject] = []
        if self._results:
            metadata: JsonObject = {"author_kind": "tool"}
            if self._is_incomplete:
                metadata["context_incomplete"] = True
            found.append(self._message(":result", self._results, metadata))
        if self._human:
            metadata = {"author_kind": "human"}
            if self._wrappers:
                metadata["wrapper"] = self._wrappers[0] if len(self._wrappers) == 1 else self._wrappers
            found.append(self._message("", self._human, metadata))
        if self._context or not found:
            metadata = {"author_kind": "harness"}
            if self.environment:
                metadata["environment"] = self.environment
            found.append(self._message(":context", self._context or [build.text("")], metadata))
        if self._block_fields:
            found[0]["metadata"]["source_fields"] = {"blocks": self._block_fields}
        return found

    def _message(self, suffix: str, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
        return {
            "message_id": self._turn_id + suffix,
            "role": "user",
            "timestamp": "",
            "content": content,
            "metadata": metadata,
        }


def _read_status(block: JsonObject, text: str, outcome: JsonObject) -> str:
    """Record the outcome stated at the start of a result; return the user's feedback in it, or ""."""
    status, feedback = _status_and_feedback(text)
    if status:
        outcome["status"] = status
    if status in _ERROR_STATUSES or _is_failure(text):
        block["is_error"] = True
    if subtask := _completed_subtask(text):
        outcome["subtask_id"] = subtask
    return feedback


def _first_text(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    first = content[0] if content else {}
    return first["text"] if first.get("type") == "text" else ""


def _without_header(content: str | list[JsonObject], header: _ResultHeader) -> str | list[JsonObject]:
    if isinstance(content, str):
        return header.body
    rest = list(content[1:])
    return ([{**content[0], "text": header.body}, *rest] if header.body else rest) or ""


def _result_header(text: str, calls: PendingCalls) -> _ResultHeader | None:
    """Return the header that starts a text, or None if it only resembles one."""
    if not text.startswith("["):
        return None
    at = text.find(_RESULT_SUFFIX)
    while at >= 0:
        behind = text[at + len(_RESULT_SUFFIX) : at + len(_RESULT_SUFFIX) + 1]
        if behind in {"", "\n"} or (behind == " " and text.endswith(" completed", 0, at)):
            description = text[1:at]
            name = description.split(" ", 1)[0]
            if is_tool_name(name) or calls.has_name(name):
                body = text[at + len(_RESULT_SUFFIX) :]
                return _ResultHeader(name, description, body[1:] if behind else "")
            return None
        at = text.find(_RESULT_SUFFIX, at + 1)
    return None


def _may_state_outcome(text: str) -> bool:
    """Return False if the first character rules out a stated outcome; a cheap check before the others."""
    return (first := text[:1]) in _OUTCOME_LETTERS or first.isspace()


def _is_failure(text: str) -> bool:
    return text.startswith(_FAILURE_PREFIX) or (text[:1].isspace() and text.lstrip().startswith(_FAILURE_PREFIX))


def _status_and_feedback(text: str) -> tuple[str, str]:
    """Return the status and feedback of a JSON result, as newer versions write denials; "" for each that is missing."""
    if not text.startswith(_STATUS_PREFIX):
        return "", ""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return "", ""
    match value:
        case {"status": str(status), "feedback": str(feedback)}:
            return status, feedback.strip()
        case {"status": str(status)}:
            return status, ""
        case _:
            return "", ""


def _completed_subtask(text: str) -> str:
    """Return the id of the subtask that the result reports as completed, or ""."""
    if not text.startswith(_SUBTASK_PREFIX):
        return ""
    name, found, _ = text[len(_SUBTASK_PREFIX) : len(_SUBTASK_PREFIX) + 200].partition(" completed.")
    return name if found and " " not in name else ""
