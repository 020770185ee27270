"""Sessions of a debug log, with answers linked to their requests and tool runs to their calls.

An entry is an object `{ts, dur, sid, type, name, spanId, parentSpanId, status, attrs}`.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from palaver.importers.github_copilot.replays.tool_runs import (
    ToolRun,
    parse_arguments,
    result_message,
    standalone_messages,
)
from palaver.importers.github_copilot.spans.attributes import mask_attribute, token_counts
from palaver.importers.github_copilot.spans.message_attributes import attribute_values, chat_messages
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.run import Run
from palaver.threads.chain import canonical_json
from palaver.wire import wire_format

_FIELDS = frozenset({"ts", "dur", "sid", "type", "name", "spanId", "parentSpanId", "status", "attrs"})
_CONTENT = frozenset({"content", "response", "args", "result"})


@dataclass(slots=True)
class DebugEntry:
    where: str
    session: str
    kind: str
    name: str
    span_id: str
    parent_id: str
    time: str
    ended_at: str
    duration_ms: float | None
    is_error: bool
    attributes: JsonObject
    extra_fields: JsonObject = field(default_factory=dict[str, Any])
    """Other fields of the line, and those that could not be read."""

    def text(self, name: str) -> str:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else ""

    def unmapped_fields(self, *mapped_attributes: str) -> JsonObject:
        """Return the entry without these attributes, which are mapped to other fields."""
        fields: JsonObject = {
            "type": self.kind,
            "name": self.name,
            "span_id": self.span_id,
            "parent_span_id": self.parent_id,
        }
        attributes = {key: value for key, value in self.attributes.items() if key not in mapped_attributes}
        fields |= {"attributes": attributes, **self.extra_fields}
        return {key: value for key, value in fields.items() if value not in ("", {}, None)}


def entry_of(line: JsonObject, where: str) -> DebugEntry | None:
    """Return the entry of a line, or None if the line is not an entry."""
    session, kind = line.get("sid"), line.get("type")
    if not isinstance(session, str) or not session or not isinstance(kind, str):
        return None
    attributes = line.get("attrs")
    extra_fields = {key: mask_attribute(key, value) for key, value in line.items() if key not in _FIELDS}
    if not isinstance(attributes, dict | None):
        extra_fields["attrs"] = mask_attribute("attrs", attributes)
    stated, took = line.get("ts"), line.get("dur")
    began = _number(stated)
    time = timestamp_or_empty(began)
    duration = _number(took)
    ended = timestamp_or_empty(began + duration) if began is not None and duration is not None else ""
    extra_fields |= {
        name: value for name, value in (("ts", stated), ("dur", took)) if _number(value) is None and value is not None
    }
    for name in ("name", "spanId", "parentSpanId", "status"):
        if not isinstance(line.get(name), str | None):
            extra_fields[name] = mask_attribute(name, line[name])
    return DebugEntry(
        where,
        session,
        kind,
        _text_or_empty(line.get("name")),
        _text_or_empty(line.get("spanId")),
        _text_or_empty(line.get("parentSpanId")),
        time,
        ended,
        duration,
        line.get("status") == "error",
        {
            key: value if key in _CONTENT else mask_attribute(key, value)
            for key, value in (attributes if isinstance(attributes, dict) else {}).items()
        },
        extra_fields,
    )


def _number(value: Any) -> float | None:
    return value if type(value) in (int, float) and value >= 0 else None


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


PLATFORM = "github_copilot"
_ANSWER_PREFIX = "agent-msg-"
_MAX_TITLE_LENGTH = 200


class DebugSession:
    """The entries of one session."""

    def __init__(self, name: str, parent: str) -> None:
        self._name = name
        self._parent = parent
        self._entries: list[DebugEntry] = []

    def add(self, entry: DebugEntry) -> None:
        self._entries.append(entry)

    def documents(self, run: Run, time: str) -> Iterator[JsonObject]:
        """Yield the conversation, if it has messages; calls without an answer in the log are usage records."""
        requests = {entry.span_id: entry for entry in self._entries if entry.kind == "llm_request" and entry.span_id}
        builder = _MessageBuilder(requests, time)
        events: list[JsonObject] = []
        for entry in self._entries:
            if entry.kind not in ("user_message", "agent_response", "tool_call", "llm_request"):
                events.append({**entry.unmapped_fields(), **({"time": entry.time} if entry.time else {})})
            elif entry.kind != "llm_request":
                builder.add(entry)
        answered = builder.answered
        for entry in self._entries:
            if entry.kind == "llm_request" and entry.span_id not in answered:
                run.used(self._request_usage(entry, time))
        if builder.messages:
            yield self._document(builder.messages, events, time)
        elif events:
            for number, event in enumerate(events):
                run.used(self._event_usage(event, number, time))

    def _document(self, messages: list[JsonObject], events: list[JsonObject], time: str) -> JsonObject:
        stated = [message["timestamp"] for message in messages if "timestamp_inferred" not in message["metadata"]]
        models = [
            message["metadata"]["model_override"] for message in messages if "model_override" in message["metadata"]
        ]
        session: JsonObject = {"session_id": self._name}
        if self._parent:
            session |= {"parent_conversation_id": self._parent, "is_sidechain": True}
        prompt = next((message["content"][0]["text"] for message in messages if message["role"] == "user"), "")
        return build.conversation(
            conversation_id=self._name,
            title=" ".join(prompt.split())[:_MAX_TITLE_LENGTH] or None,
            platform={"name": PLATFORM, **({"model": models[-1]} if models else {}), "metadata": {"log": "debug"}},
            session=session,
            context={"custom": {"events": events}} if events else None,
            created_at=min(stated, default=time),
            updated_at=max(stated, default=None),
            messages=messages,
        )

    def _request_usage(self, entry: DebugEntry, time: str) -> JsonObject:
        metadata: JsonObject = {"span": entry.unmapped_fields()}
        if not entry.time:
            metadata["timestamp_inferred"] = True
        return build.usage(
            usage_id=f"{self._name}:{entry.span_id or entry.where}",
            platform={"name": PLATFORM},
            kind="request",
            started_at=entry.time or time,
            ended_at=entry.ended_at or None,
            subject=build.subject("conversation", self._name),
            model=entry.text("model") or None,
            request_id=entry.span_id or None,
            tokens=token_counts(entry.attributes) or None,
            duration_ms=entry.duration_ms,
            metadata=metadata,
        )

    def _event_usage(self, event: JsonObject, number: int, time: str) -> JsonObject:
        return build.usage(
            usage_id=deterministic_uuid(f"{PLATFORM}-{self._name}-{number}-{event}"),
            platform={"name": PLATFORM},
            kind="period",
            started_at=event.get("time") or time,
            subject=build.subject("conversation", self._name),
            metadata={"events": [event], **({} if event.get("time") else {"timestamp_inferred": True})},
        )


class _MessageBuilder:
    """Builds messages from entries in order."""

    def __init__(self, requests: dict[str, DebugEntry], time: str) -> None:
        self.messages: list[JsonObject] = []
        self.answered: set[str] = set()
        """Span ids of the requests whose answer is among the messages."""
        self._requests = requests
        self._time = time
        self._message_ids: set[str] = set()
        self._open_calls: dict[str, dict[int, tuple[JsonObject, str]]] = {}
        """Calls without a result by tool name and number, each with the id of its message."""
        self._open_by_arguments: dict[tuple[str, bytes], deque[int]] = {}
        """Numbers of these calls by tool name and arguments."""
        self._call_numbers = count()

    def add(self, entry: DebugEntry) -> None:
        match entry.kind:
            case "user_message":
                self._add_prompt(entry)
            case "agent_response":
                self._add_answer(entry)
            case _:
                self._add_tool(entry)

    def _add_prompt(self, entry: DebugEntry) -> None:
        prompt = entry.attributes.get("content")
        if isinstance(prompt, str):
            content, span = [build.text(prompt)], entry.unmapped_fields("content")
        else:
            content, span = [build.text("")], entry.unmapped_fields()
        self._add(entry, "user", content, {"author_kind": "human", "span": span})

    def _add_answer(self, entry: DebugEntry) -> None:
        values, is_cut = attribute_values(entry.attributes.get("response"))
        metadata: JsonObject = {"author_kind": "model", "span": entry.unmapped_fields("response")}
        if is_cut:
            metadata["answer_cut"] = True
        request = self._requests.get(entry.span_id.removeprefix(_ANSWER_PREFIX))
        tokens: JsonObject | None = None
        if request is not None and request.span_id not in self.answered:
            self.answered.add(request.span_id)
            tokens = token_counts(request.attributes) or None
            metadata |= {"request_id": request.span_id, "request": request.unmapped_fields()}
            if request.text("model"):
                metadata["model_override"] = request.text("model")
            if request.duration_ms is not None:
                metadata["duration_ms"] = request.duration_ms
        wire = wire_format("openai-chat")
        content: list[JsonObject] = []
        for message in chat_messages(values, role="assistant"):
            content += wire.response_from_wire({"choices": [{"message": message}]})["content"]
        for block in content:
            block.pop("provider_data", None)
        self._add(entry, "assistant", content or [build.text("")], metadata, tokens)
        for block in content:
            if block["type"] == "tool_use":
                number = next(self._call_numbers)
                self._open_calls.setdefault(block["name"], {})[number] = (block, self.messages[-1]["message_id"])
                self._open_by_arguments.setdefault((block["name"], canonical_json(block["input"])), deque()).append(
                    number
                )

    def _add_tool(self, entry: DebugEntry) -> None:
        """Add the result of a tool run after the answer that called it, or a call with its result if none did."""
        call = self._matching_call(entry)
        metadata: JsonObject = {
            "span": entry.unmapped_fields("args", "result" if "result" in entry.attributes else "error")
        }
        if entry.duration_ms is not None:
            metadata["duration_ms"] = entry.duration_ms
        tool_run = ToolRun(
            call_id=call[0]["id"] if call else entry.span_id or entry.where,
            name=entry.name or "unknown",
            arguments=entry.attributes.get("args"),
            result=entry.attributes.get("result", entry.attributes.get("error")),
            is_error=entry.is_error,
            started_at=entry.time,
            ended_at=entry.ended_at,
            metadata=metadata,
        )
        if call is None:
            added = standalone_messages([tool_run], self._time)
            if self.messages:
                added[0]["parent_message_id"] = self.messages[-1]["message_id"]
        else:
            added = [result_message(tool_run, call[1], entry.time or self._time)]
        for message in added:
            self._append(message)

    def _matching_call(self, entry: DebugEntry) -> tuple[JsonObject, str] | None:
        """Take the oldest open call of this tool, preferring one with the same arguments."""
        arguments = parse_arguments(entry.attributes.get("args"))
        calls = self._open_calls.get(entry.name, {})
        same_arguments = self._open_by_arguments.get((entry.name, canonical_json(arguments)), deque())
        while same_arguments:
            if (number := same_arguments.popleft()) in calls:
                return calls.pop(number)
        if not calls:
            return None
        found = calls.pop(next(iter(calls)))
        found[0]["input"] = {**arguments, **found[0]["input"]}
        return found

    def _add(
        self,
        entry: DebugEntry,
        role: Any,
        content: list[JsonObject],
        metadata: JsonObject,
        tokens: JsonObject | None = None,
    ) -> None:
        time = entry.time
        if not time:
            metadata["timestamp_inferred"] = True
        self._append(
            build.message(
                message_id=f"{entry.kind}-{entry.span_id or deterministic_uuid(entry.where)}",
                parent_message_id=self.messages[-1]["message_id"] if self.messages else None,
                role=role,
                timestamp=time or self._time,
                content=content,
                tokens=tokens,
                metadata=metadata,
            )
        )

    def _append(self, message: JsonObject) -> None:
        name = message["message_id"]
        while message["message_id"] in self._message_ids:
            message["message_id"] = deterministic_uuid(f"{name}-{len(self._message_ids)}")
            name = message["message_id"]
        self._message_ids.add(message["message_id"])
        self.messages.append(message)
