"""Event logs (`dev_data`): model calls and tool uses to join with sessions, and records that belong to no session.

Tool uses whose sessions are gone become one conversation per day.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from palaver.errors import PalaverError
from palaver.importers.continue_dev.content import split_thinking
from palaver.importers.continue_dev.events import PLATFORM, Event, platform_of, standalone_record
from palaver.importers.continue_dev.fields import document_context, parse_user_agent, text_of, unmapped_fields
from palaver.importers.continue_dev.layout import EVENTS
from palaver.importers.continue_dev.prompts import call_hash, completion_text
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.damage import NOT_AN_OBJECT, repair
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.small_files import UNREADABLE_SIDE_FILE
from palaver.sources.source import Source
from palaver.wire.openai._tools import parse_arguments

_LARGEST_HELD_BYTES = 1 << 26
_CHATS = frozenset({"chatInteraction", "chatFeedback"})
_JOINED_CHAT_FIELDS = frozenset(
    {"timestamp", "userId", "userAgent", "eventName", "schema", "sessionId", "prompt", "completion", "feedback"}
    | {"modelTitle", "modelProvider", "selectedProfileId"}
)
_JOINED_TOOL_FIELDS = frozenset(
    {"timestamp", "userId", "userAgent", "eventName", "schema", "toolCallId", "functionName", "functionParams"}
    | {"toolCallArgs", "output", "selectedProfileId"}
)
"""Fields that the message of a call, or its session, already holds."""
_MAPPED_TOOL_FIELDS = frozenset(
    {"timestamp", "userAgent", "eventName", "userId", "toolCallId", "functionName", "toolCallArgs", "output"}
    | {"accepted", "succeeded"}
)


class LineRef(NamedTuple):
    """Location of a logged line, so that its prompt need not stay in memory."""

    source: Source
    offset: int
    size: int
    event_hash: int
    """Distinguishes the event from others on the same line."""
    held: JsonObject | None = None
    """The event itself, if it cannot be read again from the file."""

    def load(self) -> JsonObject:
        """Read the event again; empty if it cannot be found."""
        if self.held is not None:
            return self.held
        try:
            is_plain = self.source.is_plain_file()
            with self.source.open(self.offset if is_plain else 0) as stream:
                if not is_plain:
                    _skip_bytes(stream, self.offset)
                raw = stream.read(self.size)
        except (PalaverError, OSError):
            return {}
        rows = [unwrap_event(value)[1] for value in repair(raw).values if isinstance(value, dict)]
        return next((row for row in rows if _event_hash(row) == self.event_hash), {})


class Interaction(NamedTuple):
    """A logged model call of a session, or the user's feedback on one."""

    time: str
    call_hash: int
    """Identifies the prompt and completion."""
    user_agent: str
    model_title: str
    is_feedback: bool
    """Whether it was logged for the user's feedback, some time after the answer."""
    feedback: bool | None
    extra_fields: JsonObject
    ref: LineRef


class ToolUse(NamedTuple):
    """A logged tool call, of any session."""

    time: str
    user_agent: str
    extra_fields: JsonObject
    """Such as whether the call was allowed and whether it succeeded."""
    output_hash: int
    """Identifies the text of the result."""
    ref: LineRef


class DevData:
    """Logged events by session and by tool call."""

    def __init__(self) -> None:
        self.interactions: dict[str, list[Interaction]] = {}
        self.tool_uses: dict[str, list[ToolUse]] = {}

    def read(self, files: Iterable[Source], run: Run, *, joins_only: bool = False) -> Iterator[JsonObject]:
        """Collect the events of sessions; yield conversations, and record usage, for all others unless `joins_only`."""
        for file in files:
            label = "/".join(file.name.split("/")[-2:])
            try:
                hold_lines = _must_hold_lines(file)
                with file.open() as stream:
                    lines = JsonLines(stream, run, label=label)
                    for value in lines:
                        if not isinstance(value, dict):
                            run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
                            continue
                        name, row = event_name_and_row(value, file)
                        event = Event(name, row, file, lines, timestamp_or_empty(row.get("timestamp")))
                        if not self._join(event, hold_lines=hold_lines) and not joins_only:
                            yield from _standalone_documents(event, run)
            except (PalaverError, OSError) as error:
                run.note(UNREADABLE_SIDE_FILE, file.name, str(error), kept=False)

    def _join(self, event: Event, *, hold_lines: bool) -> bool:
        """Collect an event if it belongs to a session or a tool call; return whether it does."""
        name, row = event.name, event.row
        has_text = name in _CHATS and bool(text_of(row, "prompt") or text_of(row, "completion"))
        if has_text and (session_id := text_of(row, "sessionId")):
            ref = _line_ref(event, hold_lines=hold_lines)
            self.interactions.setdefault(session_id, []).append(_interaction(event, ref))
            return True
        if name == "toolUsage" and (call_id := text_of(row, "toolCallId")):
            use = ToolUse(
                event.time,
                text_of(row, "userAgent"),
                {
                    field: value
                    for field, value in row.items()
                    if field not in _JOINED_TOOL_FIELDS and value is not None
                },
                hash(output_text(row.get("output"))),
                _line_ref(event, hold_lines=hold_lines),
            )
            self.tool_uses.setdefault(call_id, []).append(use)
            return True
        return False


def _standalone_documents(event: Event, run: Run) -> Iterator[JsonObject]:
    document, usage = standalone_record(event, run)
    run.mapped()
    if usage is not None:
        run.used(usage)
    if document is not None:
        yield document


def answer_text(completion: str) -> str:
    """Return the answer in a completion, without thinking."""
    return split_thinking(completion_text(completion)).text.strip()


def output_text(output: Any) -> str | None:
    """Join the texts of a tool's output as its message does; return None if it is not a list of texts."""
    if not isinstance(output, list):
        return None
    texts: list[str] = []
    for part in output:
        match part:
            case {"content": str(text)}:
                texts.append(text)
            case _:
                return None
    return "\n\n".join(texts)


def event_name_and_row(value: JsonObject, file: Source) -> tuple[str, JsonObject]:
    """Return an event's name, taken from the file name if the event has none, and its fields."""
    name, row = unwrap_event(value)
    return name or EVENTS.get(file.stem, file.stem), row


def unwrap_event(value: JsonObject) -> tuple[str, JsonObject]:
    """Return an event's name and fields, also in the envelope in which Continue sends events to other programs."""
    match value:
        case {"name": str(name), "data": dict(data), "schema": _, **envelope}:
            return text_of(data, "eventName") or name, {**envelope, **data}
        case _:
            return text_of(value, "eventName"), value


def _interaction(event: Event, ref: LineRef) -> Interaction:
    row = event.row
    prompt, completion = text_of(row, "prompt"), text_of(row, "completion")
    feedback = row.get("feedback")
    return Interaction(
        event.time,
        call_hash(prompt, completion),
        text_of(row, "userAgent"),
        text_of(row, "modelTitle") or text_of(row, "modelName"),
        event.name == "chatFeedback",
        feedback if isinstance(feedback, bool) else None,
        {field: value for field, value in row.items() if field not in _JOINED_CHAT_FIELDS and value is not None},
        ref,
    )


def _must_hold_lines(file: Source) -> bool:
    """Return whether to keep lines in memory: the file cannot be read again, or only from its start and is small."""
    return not (file.is_reopenable and (file.is_plain_file() or file.size_bytes > _LARGEST_HELD_BYTES))


def _line_ref(event: Event, *, hold_lines: bool) -> LineRef:
    lines = event.lines
    raw = lines.raw
    is_whole = raw.startswith(b"{") and raw.endswith((b"}", b"}\r"))
    return LineRef(
        event.file, lines.offset, len(raw), _event_hash(event.row), None if is_whole and not hold_lines else event.row
    )


def _event_hash(row: JsonObject) -> int:
    return hash((call_hash(text_of(row, "prompt"), text_of(row, "completion")), text_of(row, "toolCallId")))


def _skip_bytes(stream: Any, size: int) -> None:
    while size > 0 and (chunk := stream.read(min(size, 1 << 20))):
        size -= len(chunk)


def orphan_conversations(calls: Iterable[tuple[str, list[ToolUse]]]) -> Iterator[JsonObject]:
    """Yield one conversation per day of tool calls and their results, and one of those without a time."""
    days: dict[str, list[tuple[str, list[ToolUse]]]] = {}
    for call_id, uses in calls:
        days.setdefault(uses[0].time[: len("2026-01-01")], []).append((call_id, uses))
    for day, found in sorted(days.items()):
        yield _orphan_conversation(day, sorted(found, key=lambda call: (_time(call[1][0]), call[0])))


def _orphan_conversation(day: str, calls: list[tuple[str, list[ToolUse]]]) -> JsonObject:
    messages: list[JsonObject] = []
    for call_id, uses in calls:
        chain: list[JsonObject] = []
        for use in uses:
            chain += _orphan_messages(call_id, use, chain[-1]["message_id"] if chain else None, len(chain))
        messages += chain
    agent = next((use.user_agent for _, uses in reversed(calls) for use in reversed(uses) if use.user_agent), "")
    platform = platform_of({"userAgent": agent} if agent else {})
    platform.setdefault("metadata", {}).update(recovered_from="dev_data", event="toolUsage")
    return build.conversation(
        conversation_id=conversation_uuid(PLATFORM, day, "toolUsage"),
        title="Tool calls of sessions that are gone",
        platform=platform,
        context=document_context(editor=parse_user_agent(agent).editor),
        created_at=min(message["timestamp"] for message in messages),
        status="archived",
        messages=messages,
    )


def _time(use: ToolUse) -> str:
    return use.time or use.ref.source.written_at()


def _orphan_messages(call_id: str, use: ToolUse, parent: str | None, number: int) -> list[JsonObject]:
    """Return the message with the call, and the one with the result if there is one."""
    row = use.ref.load()
    time = _time(use)
    flags: JsonObject = {"context_incomplete": True, **({} if use.time else {"timestamp_inferred": True})}
    arguments = row.get("toolCallArgs")
    is_given = isinstance(arguments, (str, dict))
    call = build.tool_use(
        id=call_id, name=text_of(row, "functionName"), input=parse_arguments(arguments) if is_given else {}
    )
    unmapped = unmapped_fields(row, _MAPPED_TOOL_FIELDS if is_given else _MAPPED_TOOL_FIELDS - {"toolCallArgs"})
    call_message = build.message(
        message_id=f"{call_id}:{number}",
        parent_message_id=parent,
        role="assistant",
        timestamp=time,
        content=[call],
        metadata={"author_kind": "model", **flags, **unmapped},
    )
    outcome = {field: row[field] for field in ("accepted", "succeeded") if field in row}
    output = row.get("output")
    if output is None:
        call_message["metadata"] |= {"tool_usage": outcome} if outcome else {}
        return [call_message]
    text = output_text(output)
    rest = [{key: value for key, value in part.items() if key != "content"} for part in output] if text else output
    state: JsonObject = {"call_state": {"output": rest}} if rest and (not text or any(rest)) else {}
    result = build.tool_result(
        tool_use_id=call_id,
        content=text or "",
        is_error=row.get("succeeded") is False,
        metadata={**state, **({"tool_usage": outcome} if outcome else {})} or None,
    )
    result_message = build.message(
        message_id=f"{call_id}:{number + 1}",
        parent_message_id=call_message["message_id"],
        role="tool",
        timestamp=time,
        content=[result],
        metadata={"author_kind": "tool", **flags},
    )
    return [call_message, result_message]
