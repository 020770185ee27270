"""Sessions of the command line before it wrote logs: messages of OpenAI's chat without times, and a timeline with them.

The timeline tells once more, with a time, what the messages say: an entry with the id of a call, or with the words of a
message, belongs to it. What no message says stands behind the message of the entry before.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers._shared.findings import INFERRED_TIMESTAMP, MADE_CALL_ID, UNKNOWN_BLOCK
from palaver.importers.github_copilot.events.document import PLATFORM
from palaver.importers.github_copilot.events.timeline import Timeline
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import json_document

_AUTHORS = {"user": "human", "assistant": "model", "system": "harness", "tool": "tool", "function": "tool"}
_MAPPED = {"role", "content", "tool_calls", "tool_call_id"}
_TITLE_LENGTH = 200


def read_history(source: Source, run: Run) -> Iterator[JsonObject]:
    for value in json_document(source, run):
        if not isinstance(value, dict) or not (value.get("chatMessages") or value.get("timeline")):
            with source.open() as stream:
                run.quarantined(BAD_CONVERSATION, stream.read(), source.name)
            return
        yield _Writer(value, source, run).document()
        run.mapped()


class _Writer:
    def __init__(self, session: JsonObject, source: Source, run: Run) -> None:
        self._session = session
        self._source = source
        self._run = run
        self._calls: deque[str] = deque()
        """Calls with made ids, which no result has named so far."""
        stated = session.get("sessionId")
        self._id = stated if isinstance(stated, str) and stated else self._made_id()

    def _made_id(self) -> str:
        return conversation_uuid(PLATFORM, self._session.get("startTime"), self._source.stem)

    def document(self) -> JsonObject:
        session = self._session
        began = readable_timestamp(session.get("startTime"))
        timeline = Timeline(session.get("timeline"))
        messages: list[JsonObject] = []
        raw = session.get("chatMessages")
        for number, message in enumerate(raw if isinstance(raw, list) else [] if raw is None else [raw]):
            made = self._message(message, number)
            messages += timeline.before(made)
            messages.append(made)
        messages += timeline.rest()
        self._date(messages, began)
        return self._around(messages, began)

    def _date(self, messages: list[JsonObject], began: str) -> None:
        """Give every message a time, an id of this session, and the one before it."""
        latest = began
        before: str | None = None
        for number, message in enumerate(messages):
            if not message["timestamp"]:
                message["timestamp"] = latest or self._source.written_at()
                message["metadata"]["timestamp_inferred"] = True
                self._run.note(INFERRED_TIMESTAMP, f"message {number}")
            latest = message["timestamp"]
            message["message_id"] = f"{self._id}-{message['message_id']}"
            if before is not None:
                message["parent_message_id"] = before
            before = message["message_id"]

    def _message(self, raw: Any, number: int) -> JsonObject:
        if not isinstance(raw, dict):
            self._run.note(UNKNOWN_BLOCK, f"message {number}")
            content = [build.opaque(kind="message", raw=raw)]
            return _bare(number, "system", content, {"author_kind": "harness"})
        stated = raw.get("role")
        role: Any = stated if isinstance(stated, str) and stated in _AUTHORS else "system"
        metadata: JsonObject = {"author_kind": _AUTHORS[role]}
        if role != stated and stated is not None:
            metadata["role"] = stated
        for name, value in raw.items():
            if name not in _MAPPED and value is not None:
                metadata[name if name not in build.METADATA else f"source_{name}"] = value
        content = _parts(raw.get("content"))
        if role == "tool":
            content = [self._result(raw, content)]
        if (call_id := raw.get("tool_call_id")) is not None and (role != "tool" or not isinstance(call_id, str)):
            metadata["tool_call_id"] = call_id
        content += self._tool_uses(raw.get("tool_calls"), number)
        return _bare(number, role, content or [build.text("")], metadata)

    def _tool_uses(self, calls: Any, number: int) -> list[JsonObject]:
        if calls is None:
            return []
        if not isinstance(calls, list):
            return [build.opaque(kind="tool_calls", raw=calls)]
        return [self._tool_use(call, f"{number}-{index}") for index, call in enumerate(calls)]

    def _tool_use(self, call: Any, place: str) -> JsonObject:
        from palaver.importers.github_copilot.events.calls import given_input

        match call:
            case {"function": {"name": str(name), **function}, **rest}:
                pass
            case _:
                return build.opaque(kind="tool_call", raw=call)
        call_id = rest.pop("id", None)
        if not isinstance(call_id, str) or not call_id:
            if call_id is not None:
                rest["id"] = call_id
            call_id = f"{self._id}-call-{place}"
            self._run.note(MADE_CALL_ID, f"call {place}")
            self._calls.append(call_id)
        block = build.tool_use(id=call_id, name=name, input=given_input(function.pop("arguments", None)))
        if rest.get("type") == "function":
            del rest["type"]
        if rest or function:
            block["source_fields"] = {**rest, **function}
        return block

    def _result(self, raw: JsonObject, content: list[JsonObject]) -> JsonObject:
        call_id = raw.get("tool_call_id")
        if not isinstance(call_id, str) or not call_id:
            call_id = self._calls.popleft() if self._calls else ""
        match content:
            case [{"type": "text", "text": str(only)}]:
                return build.tool_result(tool_use_id=call_id, content=only)
            case _:
                return build.tool_result(tool_use_id=call_id, content=content or "")

    def _around(self, messages: list[JsonObject], began: str) -> JsonObject:
        times = [message["timestamp"] for message in messages]
        facts = {
            name: value
            for name, value in self._session.items()
            if value is not None
            and name not in {"chatMessages", "timeline"}
            and not (name == "sessionId" and value == self._id)
            and not (name == "startTime" and began)
        }
        platform: JsonObject = {"name": PLATFORM, "metadata": {**facts, "kept_as": "history"}}
        return build.conversation(
            conversation_id=self._id,
            title=_title(messages),
            platform=platform,
            session={"session_id": self._id, "is_sidechain": False},
            created_at=min([*filter(None, [began]), *times]),
            updated_at=max(times),
            messages=messages,
        )


def _bare(number: int, role: Any, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
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
                if block["type"] == "text" and (said := " ".join(block["text"][:1000].split())):
                    return said[:_TITLE_LENGTH]
    return None
