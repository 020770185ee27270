"""CLI sessions from before event logs: OpenAI chat messages without times, and a timeline that has them.

The timeline repeats the messages with timestamps: an entry belongs to the message with the same call id or the same
text. An entry without a message becomes a message of its own, after that of the preceding entry.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.findings import BAD_CONVERSATION, INFERRED_TIMESTAMP, MADE_CALL_ID, UNKNOWN_BLOCK
from palaver.importers.github_copilot.events.document import PLATFORM
from palaver.importers.github_copilot.events.tool_calls import parse_input
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.run import Run
from palaver.sources.small_files import json_document
from palaver.sources.source import Source

_AUTHORS = {"user": "human", "assistant": "model", "system": "harness", "tool": "tool", "function": "tool"}
_ROLES = {"user": "user", "copilot": "assistant", "assistant": "assistant"}
_MAPPED = {"role", "content", "tool_calls", "tool_call_id"}
_TITLE_LENGTH = 200


def read_history(source: Source, run: Run) -> Iterator[JsonObject]:
    for value in json_document(source, run):
        if not isinstance(value, dict) or not (value.get("chatMessages") or value.get("timeline")):
            with source.open() as stream:
                run.quarantined(BAD_CONVERSATION, stream.read(), source.name)
            return
        yield _HistorySession(value, source, run).document()
        run.mapped()


class _HistorySession:
    def __init__(self, session: JsonObject, source: Source, run: Run) -> None:
        self._session = session
        self._source = source
        self._run = run
        self._unnamed_calls: deque[str] = deque()
        """Generated ids of calls that have no result yet."""
        session_id = session.get("sessionId")
        self._id = session_id if isinstance(session_id, str) and session_id else self._made_id()

    def _made_id(self) -> str:
        return conversation_uuid(PLATFORM, self._session.get("startTime"), self._source.stem)

    def document(self) -> JsonObject:
        session = self._session
        started_at = timestamp_or_empty(session.get("startTime"))
        timeline = Timeline(session.get("timeline"))
        messages: list[JsonObject] = []
        raw = session.get("chatMessages")
        for number, message in enumerate(raw if isinstance(raw, list) else [] if raw is None else [raw]):
            converted = self._message(message, number)
            messages += timeline.before(converted)
            messages.append(converted)
        messages += timeline.rest()
        self._finish_messages(messages, started_at)
        return self._conversation(messages, started_at)

    def _finish_messages(self, messages: list[JsonObject], started_at: str) -> None:
        """Give every message a time, an id with the session's prefix, and a parent."""
        latest = started_at
        parent_id: str | None = None
        for number, message in enumerate(messages):
            if not message["timestamp"]:
                message["timestamp"] = latest or self._source.written_at()
                message["metadata"]["timestamp_inferred"] = True
                self._run.note(INFERRED_TIMESTAMP, f"message {number}")
            latest = message["timestamp"]
            message["message_id"] = f"{self._id}-{message['message_id']}"
            if parent_id is not None:
                message["parent_message_id"] = parent_id
            parent_id = message["message_id"]

    def _message(self, raw: Any, number: int) -> JsonObject:
        if not isinstance(raw, dict):
            self._run.note(UNKNOWN_BLOCK, f"message {number}")
            content = [build.opaque(kind="message", raw=raw)]
            return _undated_message(number, "system", content, {"author_kind": "harness"})
        raw_role = raw.get("role")
        role: Any = raw_role if isinstance(raw_role, str) and raw_role in _AUTHORS else "system"
        metadata: JsonObject = {"author_kind": _AUTHORS[role]}
        if role != raw_role and raw_role is not None:
            metadata["role"] = raw_role
        for name, value in raw.items():
            if name not in _MAPPED and value is not None:
                metadata[name if name not in build.METADATA else f"source_{name}"] = value
        content = _parts(raw.get("content"))
        if role == "tool":
            content = [self._result(raw, content)]
        if (call_id := raw.get("tool_call_id")) is not None and (role != "tool" or not isinstance(call_id, str)):
            metadata["tool_call_id"] = call_id
        content += self._tool_uses(raw.get("tool_calls"), number)
        return _undated_message(number, role, content or [build.text("")], metadata)

    def _tool_uses(self, calls: Any, number: int) -> list[JsonObject]:
        if calls is None:
            return []
        if not isinstance(calls, list):
            return [build.opaque(kind="tool_calls", raw=calls)]
        return [self._tool_use(call, f"{number}-{index}") for index, call in enumerate(calls)]

    def _tool_use(self, call: Any, position: str) -> JsonObject:
        match call:
            case {"function": {"name": str(name), **function}, **rest}:
                pass
            case _:
                return build.opaque(kind="tool_call", raw=call)
        call_id = rest.pop("id", None)
        if not isinstance(call_id, str) or not call_id:
            if call_id is not None:
                rest["id"] = call_id
            call_id = f"{self._id}-call-{position}"
            self._run.note(MADE_CALL_ID, f"call {position}")
            self._unnamed_calls.append(call_id)
        block = build.tool_use(id=call_id, name=name, input=parse_input(function.pop("arguments", None)))
        if rest.get("type") == "function":
            del rest["type"]
        if rest or function:
            block["source_fields"] = {**rest, **function}
        return block

    def _result(self, raw: JsonObject, content: list[JsonObject]) -> JsonObject:
        call_id = raw.get("tool_call_id")
        if not isinstance(call_id, str) or not call_id:
            call_id = self._unnamed_calls.popleft() if self._unnamed_calls else ""
        match content:
            case [{"type": "text", "text": str(only)}]:
                return build.tool_result(tool_use_id=call_id, content=only)
            case _:
                return build.tool_result(tool_use_id=call_id, content=content or "")

    def _conversation(self, messages: list[JsonObject], started_at: str) -> JsonObject:
        times = [message["timestamp"] for message in messages]
        unmapped = {
            name: value
            for name, value in self._session.items()
            if value is not None
            and name not in {"chatMessages", "timeline"}
            and not (name == "sessionId" and value == self._id)
            and not (name == "startTime" and started_at)
        }
        platform: JsonObject = {"name": PLATFORM, "metadata": {**unmapped, "kept_as": "history"}}
        return build.conversation(
            conversation_id=self._id,
            title=_title(messages),
            platform=platform,
            session={"session_id": self._id, "is_sidechain": False},
            created_at=min([*filter(None, [started_at]), *times]),
            updated_at=max(times),
            messages=messages,
        )


def _undated_message(number: int, role: Any, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
    return build.message(message_id=str(number), role=role, timestamp="", content=content, metadata=metadata)


def _parts(content: Any) -> list[JsonObject]:
    match content:
        case None | "":
            return []
        case str():
            return [build.text(content)]
        case list():
            return [_part(part) for part in content]
        case _:
            return [build.opaque(kind="content", raw=content)]


def _part(part: Any) -> JsonObject:
    match part:
        case {"type": "text", "text": str(text), **rest} if not rest:
            return build.text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}, **rest} if not rest:
            return build.image(build.source("url", url))
        case _:
            return build.opaque(kind="content", raw=part)


def _title(messages: list[JsonObject]) -> str | None:
    for message in messages:
        if message["metadata"].get("author_kind") == "human":
            for block in message["content"]:
                if block["type"] == "text" and (text := " ".join(block["text"][:1000].split())):
                    return text[:_TITLE_LENGTH]
    return None


class Timeline:
    """Timeline entries in order; each is used once, for a message or as a message of its own."""

    def __init__(self, value: Any) -> None:
        self._entries: list[Any] = value if isinstance(value, list) else [] if value is None else [value]
        self._next = 0
        self._by_call: dict[str, list[int]] = {}
        self._by_text: dict[tuple[str, str], deque[int]] = {}
        self._taken: set[int] = set()
        for index, entry in enumerate(self._entries):
            match entry:
                case {"callId": str(call_id)}:
                    self._by_call.setdefault(call_id, []).append(index)
                case _:
                    pass
            match entry:
                case {"type": str(kind), "text": str(text)} if kind in _ROLES:
                    self._by_text.setdefault((_ROLES[kind], text), deque()).append(index)
                case _:
                    pass

    def before(self, message: JsonObject) -> Iterator[JsonObject]:
        """Attach the matching entries to a message, and yield earlier entries without a message as messages."""
        found = sorted({*self._match_text(message), *self._match_calls(message)})
        if not found:
            return
        for index in found:
            self._taken.add(index)
        entries = [self._entries[index] for index in found]
        if time := next(filter(None, (_time(entry) for entry in entries)), ""):
            message["timestamp"] = time
        texts = [block.get("text") for block in message["content"] if block["type"] == "text"]
        message["metadata"]["timeline"] = [_without_text(entry, texts) for entry in entries]
        yield from self._unmatched(min(found))

    def rest(self) -> list[JsonObject]:
        return list(self._unmatched(len(self._entries)))

    def _unmatched(self, end: int) -> Iterator[JsonObject]:
        """Yield entries before `end` that match no message; entries of calls wait for their message until the end."""
        is_end = end == len(self._entries)
        for index in range(self._next, end):
            entry = self._entries[index]
            has_call = isinstance(entry, dict) and isinstance(entry.get("callId"), str)
            if index not in self._taken and (is_end or not has_call):
                self._taken.add(index)
                yield _standalone(entry, index)
        if is_end:
            for index in range(self._next):
                if index not in self._taken:
                    yield _standalone(self._entries[index], index)
        self._next = max(self._next, end)

    def _match_calls(self, message: JsonObject) -> list[int]:
        found: list[int] = []
        for block in message["content"]:
            match block:
                case {"type": "tool_use", "id": str(call_id)}:
                    indices = [at for at in self._by_call.get(call_id, ()) if not _is_completed(self._entries[at])]
                case {"type": "tool_result", "tool_use_id": str(call_id)}:
                    indices = [at for at in self._by_call.get(call_id, ()) if _is_completed(self._entries[at])]
                case _:
                    continue
            found += [at for at in indices if at not in self._taken]
        return found

    def _match_text(self, message: JsonObject) -> list[int]:
        found: list[int] = []
        for block in message["content"]:
            if block["type"] == "text" and (indices := self._by_text.get((message["role"], block["text"]))):
                while indices and (indices[0] < self._next or indices[0] in self._taken):
                    indices.popleft()
                found += [indices[0]] if indices and block["text"] else []
        return [min(found)] if found else []


def _is_completed(entry: JsonObject) -> bool:
    return entry.get("type") == "tool_call_completed"


def _without_text(entry: JsonObject, texts: list[Any]) -> JsonObject:
    """Return an entry without text that its message already holds."""
    return {name: value for name, value in entry.items() if name != "text" or value not in texts}


def _time(entry: JsonObject) -> str:
    return timestamp_or_empty(entry.get("timestamp"))


def _standalone(entry: Any, index: int) -> JsonObject:
    """Return an entry that matches no message as a system message."""
    metadata: JsonObject = {"author_kind": "harness", "event": "timeline"}
    match entry:
        case {"text": str(text), **rest} if text:
            content = [build.text(text)]
            metadata["timeline"] = [rest]
        case _:
            content = [build.opaque(kind="timeline", raw=entry)]
            metadata["hidden"] = True
    time = _time(entry) if isinstance(entry, dict) else ""
    return build.message(
        message_id=f"timeline-{index}", role="system", timestamp=time, content=content, metadata=metadata
    )
