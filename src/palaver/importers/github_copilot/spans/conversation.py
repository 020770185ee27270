"""Conversations of spans: which spans belong to one, and its messages as far as they were recorded.

A span belongs to the conversation it names, else to that of the spans enclosing it, else to that of its whole trace.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from palaver.importers._shared.call_errors import quarantine_on_error
from palaver.importers.github_copilot.replays.documents import merge_pieces
from palaver.importers.github_copilot.replays.tool_runs import ToolRun, add_run, attach_runs, standalone_messages
from palaver.importers.github_copilot.spans.document import conversation_document
from palaver.importers.github_copilot.spans.operations import (
    agent_messages,
    call_of,
    has_messages,
    missing_prompts,
    tool_run_of,
    typed_prompts,
)
from palaver.importers.github_copilot.spans.records import Record
from palaver.importers.github_copilot.spans.usage_records import DETAILS_EVENT, usage_record
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import deterministic_uuid
from palaver.sources.run import Run
from palaver.threads.call import Call
from palaver.threads.chain import canonical_json
from palaver.threads.conversations import UNTHREADED, Threads

PLATFORM = "github_copilot"
_CHAT, _TOOL, _AGENT = "chat", "execute_tool", "invoke_agent"


class AssignedRecord(NamedTuple):
    record: Record
    conversation: str
    """The conversation's id; empty if nothing names it."""
    parent: str
    """The conversation that started this one; empty if a person did."""


def assign_conversations(records: list[Record]) -> Iterator[AssignedRecord]:
    """Yield the records of one trace in order, each with its conversation."""
    spans = {record.span_id: record for record in records if record.span_id and not record.is_event}
    stated = {record.conversation for record in records if record.conversation}
    only = stated.pop() if len(stated) == 1 else ""
    known: dict[int, _Enclosing] = {}
    for record in records:
        enclosing = _enclosing(record, spans, known)
        named, parent = enclosing.conversation or only, enclosing.parent
        if enclosing.agent and enclosing.is_nested_agent:
            outer_conversation = enclosing.outer_conversation or only
            if outer_conversation == named and named:
                named, parent = f"{named}:agent-{enclosing.agent.span_id}", named
            else:
                parent = outer_conversation or parent
        yield AssignedRecord(record, named, parent if parent != named else "")


class _Enclosing(NamedTuple):
    """What a record, or else the nearest enclosing span that does, states about its conversation."""

    conversation: str = ""
    parent: str = ""
    agent: Record | None = None
    is_nested_agent: bool = False
    """Whether another agent started this one."""
    outer_conversation: str = ""
    """The conversation in which the agent was started."""


def _enclosing(record: Record, spans: dict[str, Record], known: dict[int, _Enclosing]) -> _Enclosing:
    path: list[Record] = []
    current: Record | None = record
    while current is not None and id(current) not in known:
        known[id(current)] = _Enclosing()  # ends cycles of spans that enclose each other
        path.append(current)
        current = spans.get(current.span_id if current.is_event else current.parent_id)
    enclosing = known[id(current)] if current is not None else _Enclosing()
    for inner in reversed(path):
        is_agent = inner.operation == _AGENT
        enclosing = known[id(inner)] = _Enclosing(
            inner.conversation or enclosing.conversation,
            inner.text("copilot_chat.parent_chat_session_id") or enclosing.parent,
            inner if is_agent else enclosing.agent,
            enclosing.agent is not None if is_agent else enclosing.is_nested_agent,
            enclosing.conversation if is_agent else enclosing.outer_conversation,
        )
    return enclosing


def conversation_documents(key: str, assigned: list[AssignedRecord], run: Run, time: str) -> Iterator[JsonObject]:
    """Yield the document of a conversation, if any content was recorded; calls without content are usage records."""
    assigned = sorted(assigned, key=lambda item: item.record.started_at or item.record.ended_at)
    named = next((item.conversation for item in assigned if item.conversation), "")
    parent = next((item.parent for item in assigned if item.parent), "")
    records = [item.record for item in assigned]
    chats, repeated_events = _chats(records)
    recorded_chats = [record for record in chats if has_messages(record)]
    tool_runs: dict[str, ToolRun] = {}
    runs_by_record: dict[int, ToolRun] = {}
    for record in records:
        if not record.is_event and record.operation == _TOOL:
            runs_by_record[id(record)] = add_run(tool_runs, tool_run_of(record))
    agents = [record for record in records if not record.is_event and record.operation == _AGENT]
    base = _joined_calls(recorded_chats, named or key, run, time)
    messages: list[JsonObject] = base["messages"] if base else agent_messages(agents, time)
    messages = attach_runs(messages, tool_runs)
    if base and (typed := missing_prompts(agents, messages, time)):
        messages = merge_pieces([_piece(messages, time), _piece(typed, time)])["messages"]
    remaining = [tool_run for tool_run in tool_runs.values() if not tool_run.is_emitted and tool_run.has_content]
    if remaining:
        messages = (
            merge_pieces([_piece(messages, time), _piece(standalone_messages(remaining, time), time)])["messages"]
            if messages
            else standalone_messages(remaining, time)
        )
    if not messages:
        for record in records:
            if id(record) not in repeated_events:
                run.used(usage_record(record, named, time))
        return
    used = set(map(id, recorded_chats)) | {name for name, tool_run in runs_by_record.items() if tool_run.is_emitted}
    usage_only = set(map(id, chats)) - used
    for record in records:
        if id(record) in usage_only:
            run.used(usage_record(record, named, time))
    others = [record for record in records if id(record) not in used | usage_only]
    conversation_id = named or deterministic_uuid(f"{PLATFORM}-trace-{key}")
    yield conversation_document(
        conversation_id=conversation_id,
        parent=parent,
        messages=messages,
        base=base or {},
        records=records,
        others=others,
        typed=typed_prompts(agents),
    )


def _chats(records: list[Record]) -> tuple[list[Record], set[int]]:
    """Return the model calls, and the ids of the events that repeat a call already recorded as a span."""
    chats = [record for record in records if not record.is_event and record.operation == _CHAT]
    known = {record.text("gen_ai.response.id") for record in chats} | {record.span_id for record in chats}
    repeated: set[int] = set()
    for record in records:
        if record.is_event and record.text("event.name") == DETAILS_EVENT:
            if {record.text("gen_ai.response.id"), record.span_id} & (known - {""}):
                repeated.add(id(record))
            else:
                chats.append(record)
    return chats, repeated


def _joined_calls(chats: list[Record], session: str, run: Run, time: str) -> JsonObject | None:
    """Return the calls of a conversation as one document, or None without calls."""
    if not chats:
        return None
    ids = Counter(record.text("gen_ai.response.id") for record in chats)
    calls: list[Call] = []
    for record in chats:
        stated = record.text("gen_ai.response.id")
        # Some writers put the id of the whole turn here, which does not identify an answer.
        calls.append(call_of(record, session, api_id=stated if ids[stated] == 1 else ""))

    def note(kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        if kind is not UNTHREADED:  # the spans name the conversation
            run.note(kind, where, message, kept=kept)

    with Threads(PLATFORM, note, time) as threads:
        for call in calls:
            with quarantine_on_error(call, run):
                threads.add(call)
        documents = list(threads.documents())
    return merge_pieces(_without_repeated_messages(documents, {call.call_id for call in calls})) if documents else None


def _piece(messages: list[JsonObject], time: str) -> JsonObject:
    return {"messages": messages, "created_at": time}


def _without_repeated_messages(documents: list[JsonObject], call_ids: set[str]) -> list[JsonObject]:
    """Drop messages of unjoined calls that repeat those of other documents; joined documents come first."""
    unjoined = [document for document in documents if _is_unjoined(document, call_ids)]
    result = [document for document in documents if not _is_unjoined(document, call_ids)]
    seen = {_content_key(message): message["message_id"] for document in result for message in document["messages"]}
    for document in unjoined:
        names: dict[str, str] = {}
        messages: list[JsonObject] = []
        for message in document["messages"]:
            known = seen.get(_content_key(message)) if message["role"] != "assistant" else None
            if known is not None and "error" not in (message.get("metadata") or {}):
                names[message["message_id"]] = known
                continue
            seen.setdefault(_content_key(message), message["message_id"])
            parent = message.get("parent_message_id")
            if parent in names:
                message = {**message, "parent_message_id": names[parent]}
            messages.append(message)
        if messages:
            result.append({**document, "messages": messages})
    return result


def _is_unjoined(document: JsonObject, call_ids: set[str]) -> bool:
    first = document["messages"][0]["message_id"]
    return first.rpartition("-")[0] in call_ids or (first.endswith("-response") and first[:-9] in call_ids)


def _content_key(message: JsonObject) -> bytes:
    return canonical_json([message["role"], message["content"]])
