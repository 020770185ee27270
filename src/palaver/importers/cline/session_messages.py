"""Messages of SDK sessions: their ids, times, authors, models, tokens and cost.

Whenever a session is resumed or forked, older versions write every tool result again and append `_tool_<call id>` to
its id; the original id is restored. `inputTokens` includes cache reads and writes, as the product's own prices show.

Most messages with the role `user` were not typed by the user. The runtime wraps typed text in
`<user_input mode="act">` and commands in `<user_command slash="…">`; it puts `<mode_notice>` before a message when the
mode was switched, and `<SYSTEM_NOTICE>` where it left out earlier messages. Its own messages have a `kind` in their
`metadata`.
"""

import re
from collections.abc import Callable
from typing import Any, cast

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MADE_MESSAGE_ID
from palaver.importers.cline.session_blocks import Content
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.run import Run

_RUNTIME_KINDS = frozenset(
    {
        *("auto_compaction", "compaction_budget_emergency", "compaction_summary", "completion_reminder"),
        *("loop_detection_notice", "manual_compaction", "mistake_stop_notice", "recovery_notice"),
    }
)
_RUNTIME_ROLES = frozenset({"system", "status", "error"})
_NOTICES = (("<mode_notice>", "</mode_notice>"), ("<SYSTEM_NOTICE>", "</SYSTEM_NOTICE>"))
_WRAPPER = re.compile(r"</?user_(?:input|command)\b[^<>]*>")
_MODE = re.compile(r'<user_input\b[^<>]*\bmode="(act|plan|yolo)"')
_MODE_SWITCH_PROMPT = "The user approved switching to act mode. Continue with the approved plan now."
_RESUMPTION_PREFIX = "[TASK RESUMPTION]"


OWN_NAMES = frozenset({*build.METADATA, "modelInfo", "metrics", "mode", "role_inferred", "source_fields"})
"""Metadata names assigned by the importer; a source field of the same name goes to `source_fields`."""
_ROLES = frozenset({"user", "assistant", "system", "tool", "function"})
_MAPPED_FIELDS = frozenset({"id", "role", "content", "ts", "modelInfo", "metrics", "agent", "sessionId", "metadata"})
_BASE_FIELDS = _MAPPED_FIELDS - {"agent", "sessionId", "metadata"}
_MODEL_FIELDS = frozenset({"id", "provider", "family"})
_is_random = re.compile(r"(?:msg_)?[A-Za-z0-9_-]{8}|[A-Za-z0-9_-]{21}").fullmatch
"""Match ids as the product generates them: unique per answer, but shared by its copies in forks."""


class Messages:
    """Converts the records of one session to messages, in order."""

    def __init__(self, session_id: str, run: Run, *, is_sidechain: bool) -> None:
        self._session_id = session_id
        self._run = run
        self.where: Callable[[], str] = lambda: session_id
        """Returns the position of the current record, for findings."""
        self._is_sidechain = is_sidechain
        self._content = Content()
        self._ids: set[str] = set()

    def message(self, record: JsonObject, number: int) -> JsonObject:
        """Return the message of a record; its timestamp is "" if the source states none that is readable."""
        metadata: JsonObject = {}
        message_id = self._message_id(record, number, metadata)
        content = self._content.blocks(record.get("content"), message_id, self._note)
        role = _role_of(record, metadata)
        source_metadata = record.get("metadata")
        if isinstance(source_metadata, dict):
            if "modelToolActivities" in source_metadata:
                content = [*self._content.activities(source_metadata["modelToolActivities"], message_id), *content]
                source_metadata = {
                    name: value for name, value in source_metadata.items() if name != "modelToolActivities"
                }
            if source_metadata.get("kind") == "compaction_summary":
                metadata["is_compact_summary"] = True
        metadata["author_kind"] = author_of(role, content, source_metadata, is_sidechain=self._is_sidechain)
        if role == "user" and (mode := mode_of(content)) is not None:
            metadata["mode"] = mode
        stated = record.get("metrics")
        tokens, cost = (_tokens(stated) or None, _cost(stated)) if isinstance(stated, dict) else (None, None)
        if tokens and role == "assistant" and message_id == record.get("id") and _is_random(message_id):
            metadata["api_message_id"] = message_id
        if (model := record.get("modelInfo")) is not None:
            self._keep_model(model, metadata)
        if stated is not None:
            metadata["metrics"] = stated
        if not record.keys() <= _BASE_FIELDS:
            self._keep_unmapped(record, source_metadata, metadata)
        return build.message(
            message_id=message_id,
            role=role,
            timestamp=self._time(record.get("ts"), metadata),
            content=content,
            tokens=tokens,
            cost=cost,
            metadata=metadata,
        )

    def system_prompt(self, text: str, timestamp: str) -> JsonObject:
        """Return the message with the system prompt, which has no time of its own."""
        self._run.note(INFERRED_TIMESTAMP, f"{self._session_id}: the system prompt")
        return build.message(
            message_id=self._free_id(f"{self._session_id}:system", "system_prompt"),
            role="system",
            timestamp=timestamp,
            content=[build.text(text)],
            metadata={"author_kind": "harness", "timestamp_inferred": True},
        )

    def prompt(self, text: str, timestamp: str) -> JsonObject:
        """Return the message with the initial prompt of a session that lost its messages."""
        self._run.note(INFERRED_TIMESTAMP, f"{self._session_id}: the prompt")
        author = author_of("user", [build.text(text)], None, is_sidechain=self._is_sidechain)
        return build.message(
            message_id=self._free_id(f"{self._session_id}:prompt", "prompt"),
            role="user",
            timestamp=timestamp,
            content=[build.text(text)],
            metadata={"author_kind": author, "timestamp_inferred": True},
        )

    def _note(self, kind: FindingKind, message: str = "") -> None:
        self._run.note(kind, self.where(), message)

    def _message_id(self, record: JsonObject, number: int, metadata: JsonObject) -> str:
        stated = record.get("id")
        if not isinstance(stated, str) or not stated:
            self._note(MADE_MESSAGE_ID)
            if stated is not None:
                metadata.setdefault("source_fields", {})["id"] = stated
            return self._free_id(f"{self._session_id}:{number}", str(number))
        first, grown = _first_id(stated, record.get("content")) if "_tool_" in stated else (stated, "")
        if first is stated and stated not in self._ids:
            self._ids.add(stated)
            return stated
        reason = "its id had grown by that of its call" if first is not stated else "its id is that of another one"
        self._note(MADE_MESSAGE_ID, reason)
        metadata["source_ids"] = [stated]
        for wanted in (first, first + grown):  # results of parallel calls were one message and share its id
            if wanted not in self._ids:
                self._ids.add(wanted)
                return wanted
        return self._free_id(f"{first}:{number}", str(number))

    def _free_id(self, wanted: str, ending: str) -> str:
        while wanted in self._ids:
            wanted = f"{wanted}:{ending}"
        self._ids.add(wanted)
        return wanted

    def _time(self, stated: Any, metadata: JsonObject) -> str:
        time = timestamp_or_empty(stated)
        if not time:
            metadata["timestamp_inferred"] = True
            if stated is None:
                self._note(INFERRED_TIMESTAMP)
            else:
                self._note(BAD_TIMESTAMP, f"{stated!r:.60}")
                metadata.setdefault("source_fields", {})["ts"] = stated
        return time

    @staticmethod
    def _keep_model(stated: Any, metadata: JsonObject) -> None:
        rest = stated
        if isinstance(stated, dict) and isinstance((model := stated.get("id")), str) and model:
            metadata["model_override"] = model
            if stated.keys() <= _MODEL_FIELDS:
                rest = {name: value for name, value in stated.items() if name != "id"}
        if rest:
            metadata["modelInfo"] = rest

    def _keep_unmapped(self, record: JsonObject, source_metadata: Any, metadata: JsonObject) -> None:
        """Keep unmapped fields under their own names."""
        if record.keys() - _MAPPED_FIELDS:
            # A record with a `type` is not the product's own message: keep its fields together.
            is_foreign = "type" in record
            for name, value in record.items():
                if (name not in _MAPPED_FIELDS or (is_foreign and name == "id")) and value is not None:
                    holder = metadata.setdefault("source_fields", {}) if is_foreign or name in OWN_NAMES else metadata
                    holder[name] = value
        if source_metadata:
            metadata["metadata"] = source_metadata
        if record.get("agent") is not None:
            metadata["agent"] = record["agent"]
        if (session := record.get("sessionId")) is not None and session != self._session_id:
            metadata["sessionId"] = session


def _first_id(stated: str, content: Any) -> tuple[str, str]:
    """Return the original id of a tool result, and the suffix added at each resumption."""
    match content:
        case [{"type": "tool_result", "tool_use_id": str(call_id)}] if call_id:
            grown = f"_tool_{call_id}"
            end = len(stated)
            while stated.endswith(grown, 0, end):
                end -= len(grown)
            return (stated[:end] if 0 < end < len(stated) else stated), grown
        case _:
            return stated, ""


def _role_of(record: JsonObject, metadata: JsonObject) -> build.Role:
    role = record.get("role")
    if isinstance(role, str) and role in _ROLES:
        return cast("build.Role", role)
    metadata["role_inferred"] = True
    if role is not None:
        metadata.setdefault("source_fields", {})["role"] = role
    return "assistant" if record.get("modelInfo") or record.get("metrics") else "user"


def _tokens(stated: JsonObject) -> JsonObject:
    """Return the tokens of an answer; `input_tokens` excludes cached ones, as the schema requires."""
    total, read, written = (
        _count(stated.get("inputTokens")),
        _count(stated.get("cacheReadTokens")),
        _count(stated.get("cacheWriteTokens")),
    )
    tokens: JsonObject = {}
    if total is not None:
        cached = (read or 0) + (written or 0)
        tokens["input_tokens"] = total - cached if total >= cached else total
    if (output := _count(stated.get("outputTokens"))) is not None:
        tokens["output_tokens"] = output
    if written is not None:
        tokens["cache_creation_input_tokens"] = written
    if read is not None:
        tokens["cache_read_input_tokens"] = read
    return tokens


def _cost(stated: JsonObject) -> JsonObject | None:
    amount = stated.get("cost")
    is_amount = (type(amount) is int or isinstance(amount, float)) and 0 <= amount < _MAX_NUMBER
    return {"amount": amount, "currency": "USD"} if is_amount else None


_MAX_NUMBER = 1 << 63


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MAX_NUMBER else None


def author_of(role: str, content: list[JsonObject], metadata: Any, *, is_sidechain: bool) -> str:
    """Return `human`, `model`, `tool` or `harness`; the prompt of an agent comes from the model that started it."""
    if role != "user":
        return "tool" if role in {"tool", "function"} else "harness" if role == "system" else "model"
    if metadata is not None and _is_from_runtime(metadata):
        return "harness"
    has_result = False
    for block in content:
        kind = block["type"]
        if kind == "tool_result":
            has_result = True
        elif kind != "text" or is_typed(block["text"]):
            return "model" if is_sidechain else "human"
    return "tool" if has_result else "harness"


def is_typed(text: str) -> bool:
    """Return whether a text was typed by the user, as opposed to sent by the runtime as the user."""
    typed = typed_text(text)
    return bool(typed) and typed != _MODE_SWITCH_PROMPT and not typed.startswith(_RESUMPTION_PREFIX)


def typed_text(text: str) -> str:
    """Return a text without the wrappers and notices of the runtime."""
    if "<" not in text:
        return text.strip()
    for begin, end in _NOTICES:
        if begin in text:
            text = _remove_spans(text, begin, end)
    if "<user_" in text or "</user_" in text:
        text = _WRAPPER.sub("", text)
    return text.strip()


def _remove_spans(text: str, begin: str, end: str) -> str:
    pieces: list[str] = []
    at = 0
    while (start := text.find(begin, at)) >= 0 and (stop := text.find(end, start)) >= 0:
        pieces.append(text[at:start])
        at = stop + len(end)
    return "".join((*pieces, text[at:]))


def mode_of(content: list[JsonObject]) -> str | None:
    """Return the mode that a message was sent in, or None."""
    for block in content:
        if block["type"] == "text" and "<user_input" in block["text"] and (found := _MODE.search(block["text"])):
            return found[1]
    return None


def _is_from_runtime(metadata: Any) -> bool:
    if not isinstance(metadata, dict):
        return False
    kind, display_role = metadata.get("kind"), metadata.get("displayRole")
    if kind == "compaction":
        return False  # a user message, to which the runtime appended a notice about omitted messages
    return (isinstance(kind, str) and kind in _RUNTIME_KINDS) or (
        isinstance(display_role, str) and display_role in _RUNTIME_ROLES
    )
