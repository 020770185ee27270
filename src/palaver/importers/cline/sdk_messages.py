"""Messages of the SDK's sessions: their ids, times, authors, models and figures.

When a session is resumed or forked, older versions write every tool result again with `_tool_<id of its call>` behind
its id, once more each time; the id that it had at first is taken. `inputTokens` counts what was read from and written
to the cache as well, as the product's own prices show.
"""

import re
from collections.abc import Callable
from typing import Any, cast

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MADE_MESSAGE_ID
from palaver.importers.cline.sdk_authors import author_of, mode_of
from palaver.importers.cline.sdk_blocks import Content
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run

OURS = frozenset({*build.METADATA, "modelInfo", "metrics", "mode", "role_inferred", "source_fields"})
"""Names that the importer itself gives; a source's field of the same name goes to `source_fields`."""
_ROLES = frozenset({"user", "assistant", "system", "tool", "function"})
_MAPPED = frozenset({"id", "role", "content", "ts", "modelInfo", "metrics", "agent", "sessionId", "metadata"})
_PLAIN = _MAPPED - {"agent", "sessionId", "metadata"}
_OF_MODELS = frozenset({"id", "provider", "family"})
_is_random = re.compile(r"(?:msg_)?[A-Za-z0-9_-]{8}|[A-Za-z0-9_-]{21}").fullmatch
"""Ids as the product draws them: no two answers have the same one, but an answer and its copies in forks do."""


class Messages:
    """Makes the messages of one session, one after the other."""

    def __init__(self, session_id: str, run: Run, *, is_sidechain: bool) -> None:
        self._session_id = session_id
        self._run = run
        self.where: Callable[[], str] = lambda: session_id
        """Words for where the current record stands."""
        self._is_sidechain = is_sidechain
        self._content = Content()
        self._ids: set[str] = set()

    def message(self, record: JsonObject, number: int) -> JsonObject:
        """One message; its timestamp is empty where the source states none that can be read."""
        metadata: JsonObject = {}
        message_id = self._message_id(record, number, metadata)
        content = self._content.blocks(record.get("content"), message_id, self._note)
        role = _role_of(record, metadata)
        own = record.get("metadata")
        if isinstance(own, dict):
            if "modelToolActivities" in own:
                content = [*self._content.activities(own["modelToolActivities"], message_id), *content]
                own = {name: value for name, value in own.items() if name != "modelToolActivities"}
            if own.get("kind") == "compaction_summary":
                metadata["is_compact_summary"] = True
        metadata["author_kind"] = author_of(role, content, own, is_sidechain=self._is_sidechain)
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
        if not record.keys() <= _PLAIN:
            self._keep_others(record, own, metadata)
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
        """What the model was told before all messages, which has no time of its own."""
        self._run.note(INFERRED_TIMESTAMP, f"{self._session_id}: the system prompt")
        return build.message(
            message_id=self._free_id(f"{self._session_id}:system", "system_prompt"),
            role="system",
            timestamp=timestamp,
            content=[build.text(text)],
            metadata={"author_kind": "harness", "timestamp_inferred": True},
        )

    def prompt(self, text: str, timestamp: str) -> JsonObject:
        """What a session was started with, of which no messages are left."""
        self._run.note(INFERRED_TIMESTAMP, f"{self._session_id}: the prompt")
        author = author_of("user", [build.text(text)], None, is_sidechain=self._is_sidechain)
        return build.message(
            message_id=self._free_id(f"{self._session_id}:prompt", "prompt"),
            role="user",
            timestamp=timestamp,
            content=[build.text(text)],
            metadata={"author_kind": author, "timestamp_inferred": True},
        )

    def _note(self, kind: FindingKind, words: str = "") -> None:
        self._run.note(kind, self.where(), words)

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
        words = "its id had grown by that of its call" if first is not stated else "its id is that of another one"
        self._note(MADE_MESSAGE_ID, words)
        metadata["source_ids"] = [stated]
        for wanted in (first, first + grown):  # results of calls at once were one message, and share its id
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
        time = readable_timestamp(stated)
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
            if stated.keys() <= _OF_MODELS:
                rest = {name: value for name, value in stated.items() if name != "id"}
        if rest:
            metadata["modelInfo"] = rest

    def _keep_others(self, record: JsonObject, own: Any, metadata: JsonObject) -> None:
        """What has no place elsewhere, under its own name."""
        if record.keys() - _MAPPED:
            # What names a type is no message of the product's: what it is and whose stays together.
            is_other = "type" in record
            for name, value in record.items():
                if (name not in _MAPPED or (is_other and name == "id")) and value is not None:
                    holder = metadata.setdefault("source_fields", {}) if is_other or name in OURS else metadata
                    holder[name] = value
        if own:
            metadata["metadata"] = own
        if record.get("agent") is not None:
            metadata["agent"] = record["agent"]
        if (session := record.get("sessionId")) is not None and session != self._session_id:
            metadata["sessionId"] = session


def _first_id(stated: str, content: Any) -> tuple[str, str]:
    """The id that a tool result had before sessions were resumed, and by what it grows."""
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
    """What an answer used, as the schema means it: what is cached stands apart."""
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
    is_amount = (type(amount) is int or isinstance(amount, float)) and 0 <= amount < _MOST
    return {"amount": amount, "currency": "USD"} if is_amount else None


_MOST = 1 << 63


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None
