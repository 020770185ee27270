"""The conversation of a debug log: its entries in their order, answers with their tokens, tools with their calls."""

from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Any

from palaver.importers.github_copilot.replays.tools import Executed, alone, arguments, result_message
from palaver.importers.github_copilot.spans.debug_entries import Entry
from palaver.importers.github_copilot.spans.spoken import chat_messages, listed
from palaver.importers.github_copilot.spans.tokens import tokens_in
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.sources.run import Run
from palaver.threads.chain import dumped
from palaver.wire import wire_format

PLATFORM = "github_copilot"
_ANSWER = "agent-msg-"
_TITLE_LETTERS = 200


class Session:
    def __init__(self, name: str, parent: str) -> None:
        self._name = name
        self._parent = parent
        self._entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)

    def told(self, run: Run, time: str) -> Iterator[JsonObject]:
        """The conversation, where something was said; usage of calls whose answer is not in the log."""
        requests = {entry.span_id: entry for entry in self._entries if entry.kind == "llm_request" and entry.span_id}
        telling = _Telling(requests, time)
        events: list[JsonObject] = []
        for entry in self._entries:
            if entry.kind not in ("user_message", "agent_response", "tool_call", "llm_request"):
                events.append({**entry.about(), **({"time": entry.time} if entry.time else {})})
            elif entry.kind != "llm_request":
                telling.add(entry)
        answered = telling.answered
        for entry in self._entries:
            if entry.kind == "llm_request" and entry.span_id not in answered:
                run.used(self._usage(entry, time))
        if telling.messages:
            yield self._document(telling.messages, events, time)
        elif events:
            for number, event in enumerate(events):
                run.used(self._period(event, number, time))

    def _document(self, messages: list[JsonObject], events: list[JsonObject], time: str) -> JsonObject:
        stated = [one["timestamp"] for one in messages if "timestamp_inferred" not in one["metadata"]]
        models = [one["metadata"]["model_override"] for one in messages if "model_override" in one["metadata"]]
        session: JsonObject = {"session_id": self._name}
        if self._parent:
            session |= {"parent_conversation_id": self._parent, "is_sidechain": True}
        typed = next((one["content"][0]["text"] for one in messages if one["role"] == "user"), "")
        return build.conversation(
            conversation_id=self._name,
            title=" ".join(typed.split())[:_TITLE_LETTERS] or None,
            platform={"name": PLATFORM, **({"model": models[-1]} if models else {}), "metadata": {"log": "debug"}},
            session=session,
            context={"custom": {"events": events}} if events else None,
            created_at=min(stated, default=time),
            updated_at=max(stated, default=None),
            messages=messages,
        )

    def _usage(self, entry: Entry, time: str) -> JsonObject:
        metadata: JsonObject = {"span": entry.about()}
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
            tokens=tokens_in(entry.attributes) or None,
            duration_ms=entry.duration_ms,
            metadata=metadata,
        )

    def _period(self, event: JsonObject, number: int, time: str) -> JsonObject:
        return build.usage(
            usage_id=deterministic_uuid(f"{PLATFORM}-{self._name}-{number}-{event}"),
            platform={"name": PLATFORM},
            kind="period",
            started_at=event.get("time") or time,
            subject=build.subject("conversation", self._name),
            metadata={"events": [event], **({} if event.get("time") else {"timestamp_inferred": True})},
        )


class _Telling:
    """Entries made messages, one after the other."""

    def __init__(self, requests: dict[str, Entry], time: str) -> None:
        self.messages: list[JsonObject] = []
        self.answered: set[str] = set()
        """Requests whose answer was told."""
        self._requests = requests
        self._time = time
        self._names: set[str] = set()
        self._open: dict[str, dict[int, tuple[JsonObject, str]]] = {}
        """Calls without a result by the tool and in their order, each with the message that it stands in."""
        self._open_with: dict[tuple[str, bytes], deque[int]] = {}
        """Their numbers by the tool and the arguments."""
        self._calls = count()

    def add(self, entry: Entry) -> None:
        match entry.kind:
            case "user_message":
                self._add_prompt(entry)
            case "agent_response":
                self._add_answer(entry)
            case _:
                self._add_tool(entry)

    def _add_prompt(self, entry: Entry) -> None:
        said = entry.attributes.get("content")
        is_text = isinstance(said, str)
        content = [build.text(said)] if isinstance(said, str) else [build.text("")]
        about = entry.about("content") if is_text else entry.about()
        self._add(entry, "user", content, {"author_kind": "human", "span": about})

    def _add_answer(self, entry: Entry) -> None:
        values, is_cut = listed(entry.attributes.get("response"))
        metadata: JsonObject = {"author_kind": "model", "span": entry.about("response")}
        if is_cut:
            metadata["answer_cut"] = True
        request = self._requests.get(entry.span_id.removeprefix(_ANSWER))
        tokens: JsonObject | None = None
        if request is not None and request.span_id not in self.answered:
            self.answered.add(request.span_id)
            tokens = tokens_in(request.attributes) or None
            metadata |= {"request_id": request.span_id, "request": request.about()}
            if request.text("model"):
                metadata["model_override"] = request.text("model")
            if request.duration_ms is not None:
                metadata["duration_ms"] = request.duration_ms
        wire = wire_format("openai-chat")
        content: list[JsonObject] = []
        for one in chat_messages(values, role="assistant"):
            content += wire.response_from_wire({"choices": [{"message": one}]})["content"]
        for block in content:
            block.pop("provider_data", None)
        self._add(entry, "assistant", content or [build.text("")], metadata, tokens)
        for block in content:
            if block["type"] == "tool_use":
                number = next(self._calls)
                self._open.setdefault(block["name"], {})[number] = (block, self.messages[-1]["message_id"])
                self._open_with.setdefault((block["name"], dumped(block["input"])), deque()).append(number)

    def _add_tool(self, entry: Entry) -> None:
        """A tool that was run: its result, behind the answer that called it, where that is known."""
        call = self._called(entry)
        about: JsonObject = {"span": entry.about("args", "result" if "result" in entry.attributes else "error")}
        if entry.duration_ms is not None:
            about["duration_ms"] = entry.duration_ms
        executed = Executed(
            call_id=call[0]["id"] if call else entry.span_id or entry.where,
            name=entry.name or "unknown",
            given=entry.attributes.get("args"),
            result=entry.attributes.get("result", entry.attributes.get("error")),
            is_error=entry.is_error,
            started_at=entry.time,
            ended_at=entry.ended_at,
            about=about,
        )
        if call is None:
            made = alone([executed], self._time)
            if self.messages:
                made[0]["parent_message_id"] = self.messages[-1]["message_id"]
        else:
            made = [result_message(executed, call[1], entry.time or self._time)]
        for message in made:
            self._keep(message)

    def _called(self, entry: Entry) -> tuple[JsonObject, str] | None:
        """The oldest open call of this tool, one with the same arguments before any other."""
        given = arguments(entry.attributes.get("args"))
        calls = self._open.get(entry.name, {})
        alike = self._open_with.get((entry.name, dumped(given)), deque())
        while alike:
            if (number := alike.popleft()) in calls:
                return calls.pop(number)
        if not calls:
            return None
        found = calls.pop(next(iter(calls)))
        found[0]["input"] = {**given, **found[0]["input"]}
        return found

    def _add(
        self, entry: Entry, role: Any, content: list[JsonObject], metadata: JsonObject, tokens: JsonObject | None = None
    ) -> None:
        time = entry.time
        if not time:
            metadata["timestamp_inferred"] = True
        self._keep(
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

    def _keep(self, message: JsonObject) -> None:
        name = message["message_id"]
        while message["message_id"] in self._names:
            message["message_id"] = deterministic_uuid(f"{name}-{len(self._names)}")
            name = message["message_id"]
        self._names.add(message["message_id"])
        self.messages.append(message)
