"""The spans of one conversation told as messages, as far as what was said was recorded."""

from collections import Counter
from collections.abc import Iterator

from palaver.importers._shared.calls import kept_apart
from palaver.importers.github_copilot.replays.merging import one_of
from palaver.importers.github_copilot.replays.tools import Executed, alone, complete, keep
from palaver.importers.github_copilot.spans.agents import agent_messages, typed_in, unsaid_prompts
from palaver.importers.github_copilot.spans.calls import call_of, executed_of, is_spoken
from palaver.importers.github_copilot.spans.places import AGENT, Placed
from palaver.importers.github_copilot.spans.records import Record
from palaver.importers.github_copilot.spans.repeated import without_repeated
from palaver.importers.github_copilot.spans.telling import document_of
from palaver.importers.github_copilot.spans.usage import DETAILS, usage_of
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import deterministic_uuid
from palaver.sources.run import Run
from palaver.threads.call import Call
from palaver.threads.conversations import UNTHREADED, Threads

PLATFORM = "github_copilot"
_CHAT, _TOOL = "chat", "execute_tool"


def told(key: str, placed: list[Placed], run: Run, time: str) -> Iterator[JsonObject]:
    """The document of one conversation; usage records where nothing of it was said, or not by all of its spans."""
    held = sorted(placed, key=lambda one: one.record.started_at or one.record.ended_at)
    named = next((one.conversation for one in held if one.conversation), "")
    parent = next((one.parent for one in held if one.parent), "")
    records = [one.record for one in held]
    chats, details = _chats(records)
    spoken = [record for record in chats if is_spoken(record)]
    executed: dict[str, Executed] = {}
    runs: dict[int, Executed] = {}
    for record in records:
        if not record.is_event and record.operation == _TOOL:
            runs[id(record)] = keep(executed, executed_of(record))
    agents = [record for record in records if not record.is_event and record.operation == AGENT]
    base = _threaded(spoken, named or key, run, time)
    messages: list[JsonObject] = base["messages"] if base else agent_messages(agents, time)
    messages = complete(messages, executed)
    if base and (typed := unsaid_prompts(agents, messages, time)):
        messages = one_of([_bare(messages, time), _bare(typed, time)])["messages"]
    left = [one for one in executed.values() if not one.is_told and one.has_content]
    if left:
        messages = (
            one_of([_bare(messages, time), _bare(alone(left, time), time)])["messages"]
            if messages
            else alone(left, time)
        )
    if not messages:
        for record in records:
            if id(record) not in details:
                run.used(usage_of(record, named, time))
        return
    said = set(map(id, spoken)) | {name for name, one in runs.items() if one.is_told}
    unsaid = set(map(id, chats)) - said
    for record in records:
        if id(record) in unsaid:
            run.used(usage_of(record, named, time))
    others = [record for record in records if id(record) not in said | unsaid]
    conversation_id = named or deterministic_uuid(f"{PLATFORM}-trace-{key}")
    yield document_of(
        conversation_id=conversation_id,
        parent=parent,
        messages=messages,
        base=base or {},
        records=records,
        others=others,
        typed=typed_in(agents),
    )


def _chats(records: list[Record]) -> tuple[list[Record], set[int]]:
    """Calls of models, each once: an event may tell of the same call as a span. And the events that do."""
    chats = [record for record in records if not record.is_event and record.operation == _CHAT]
    known = {record.text("gen_ai.response.id") for record in chats} | {record.span_id for record in chats}
    repeated: set[int] = set()
    for record in records:
        if record.is_event and record.text("event.name") == DETAILS:
            if {record.text("gen_ai.response.id"), record.span_id} & (known - {""}):
                repeated.add(id(record))
            else:
                chats.append(record)
    return chats, repeated


def _threaded(spoken: list[Record], session: str, run: Run, time: str) -> JsonObject | None:
    """The calls of a conversation as one document."""
    if not spoken:
        return None
    ids = Counter(record.text("gen_ai.response.id") for record in spoken)
    calls: list[Call] = []
    for record in spoken:
        stated = record.text("gen_ai.response.id")
        # Some writers put the id of the whole turn here: it names no answer then.
        calls.append(call_of(record, session, api_id=stated if ids[stated] == 1 else ""))

    def note(kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        if kind is not UNTHREADED:  # the spans say which conversation it is
            run.note(kind, where, message, kept=kept)

    with Threads(PLATFORM, note, time) as threads:
        for call in calls:
            with kept_apart(call, run):
                threads.add(call)
        documents = list(threads.documents())
    return one_of(without_repeated(documents, {call.call_id for call in calls})) if documents else None


def _bare(messages: list[JsonObject], time: str) -> JsonObject:
    return {"messages": messages, "created_at": time}
