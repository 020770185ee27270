"""Resolution of what depends on later lines: parents that come after their children, times, and rewinds.

After a rewind, where a person went back and wrote something else, the abandoned branch is kept and marked.
"""

from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MISSING_PARENT, PARENT_CYCLE
from palaver.model.build import JsonObject
from palaver.model.timestamps import are_canonical

if TYPE_CHECKING:
    from palaver.importers.claude_code.transcript import Transcript


_timestamp = itemgetter("timestamp")


def resolve_parents_and_times(transcript: "Transcript") -> None:
    """Resolve the parents and times of a transcript's messages, before they are emitted."""
    if transcript.orphans:
        position = {message["message_id"]: index for index, message in enumerate(transcript.messages)}
        for message, parent in transcript.orphans:
            _resolve_parent(transcript, message, parent, position)
        transcript.orphans = []
    times = list(map(_timestamp, transcript.messages))
    if not are_canonical(times):
        times = _normalize_times(transcript)
    if transcript.late_completions:
        times += _normalize_completion_times(transcript)
    if times:
        transcript.widen_span(times)


def _resolve_parent(transcript: "Transcript", message: JsonObject, parent: str, position: dict[str, int]) -> None:
    known = transcript.resolve_line(parent)
    message_id = message["message_id"]
    if known and known != message_id:
        message["parent_message_id"] = known
        if _is_cycle(transcript.links, message):
            del message["parent_message_id"]
            transcript.run.note(PARENT_CYCLE, f"message {message_id}")
    elif known == message_id:
        transcript.run.note(PARENT_CYCLE, f"message {message_id}")
    elif known is None and transcript.caller and (point := transcript.caller.resolve_line(parent)) is not None:
        transcript.fork_point = transcript.fork_point or point or None
    elif known is None:
        message["metadata"]["missing_parent"] = parent
        index = position.get(message_id, 0)
        if index and not transcript.is_sidechain:
            message["parent_message_id"] = transcript.messages[index - 1]["message_id"]
            if _is_cycle(transcript.links, message):
                del message["parent_message_id"]
            else:
                message["metadata"]["parent_inferred"] = True
        transcript.run.note(MISSING_PARENT, f"message {message_id}")


def _is_cycle(links: dict[str, JsonObject], message: JsonObject) -> bool:
    seen = {message["message_id"]}
    parent = message.get("parent_message_id")
    while parent is not None:
        if parent in seen:
            return True
        seen.add(parent)
        above = links.get(parent)
        parent = above.get("parent_message_id") if above else None
    return False


def _normalize_times(transcript: "Transcript") -> list[str]:
    """Write every time in the schema's spelling; a message without one gets the nearest known time."""
    undated: list[JsonObject] = []
    for message in transcript.messages:
        time = message["timestamp"]
        if (known := transcript.include_time(time)) is None:
            undated.append(message)
            if time is not None:
                message["metadata"]["timestamp"] = time
            message["timestamp"] = None
        else:
            message["timestamp"] = known
    for message in undated:
        parent = transcript.links.get(message.get("parent_message_id", ""))
        nearest = parent.get("timestamp") if parent else None
        metadata = message["metadata"]
        kind = BAD_TIMESTAMP if "timestamp" in metadata else INFERRED_TIMESTAMP
        transcript.run.note(kind, f"message {message['message_id']}")
        message["timestamp"] = nearest or transcript.created_at
        metadata["timestamp_inferred"] = True
    return [message["timestamp"] for message in transcript.messages]


def _normalize_completion_times(transcript: "Transcript") -> list[str]:
    """Write the times at which answers were complete in the schema's spelling; return those not yet in the span."""
    late_answers, transcript.late_completions = transcript.late_completions, []
    times = [metadata["completed_at"] for metadata in late_answers]
    if are_canonical(times):
        return times
    for metadata in late_answers:
        time = metadata.pop("completed_at", None)
        if (known := transcript.include_time(time)) is not None:
            metadata["completed_at"] = known
        elif time is not None:
            metadata.setdefault("source_fields", {})["timestamp"] = time
            transcript.run.note(BAD_TIMESTAMP, f"answer {metadata.get('api_message_id')}")
    return []


def mark_abandoned_branches(messages: list[JsonObject]) -> list[str]:
    """Set `on_active_path` to false on branches that a later prompt replaced; return the ids of all prompts' parents.

    Most forks in the parent links are not rewinds but tools that ran in parallel, or progress lines. Only prompts of a
    person with the same parent count, and only if they were written at different times (otherwise it is a replay).
    Commands do not count: many run beside the conversation, and the next prompt follows what preceded them.
    """
    prompts: dict[str, list[JsonObject]] = defaultdict(list)
    for message in messages:
        metadata = message["metadata"]
        if message["role"] == "user" and metadata.get("author_kind") == "human" and "command_name" not in metadata:
            prompts[message.get("parent_message_id", "")].append(message)
    forks = [
        rivals
        for parent, rivals in prompts.items()
        if parent and len(rivals) > 1 and len({rival["timestamp"] for rival in rivals}) > 1
    ]
    prompt_parents = [parent for parent in prompts if parent]
    if not forks:
        return prompt_parents
    by_id = {message["message_id"]: message for message in messages}
    active: set[str] = set()
    step: JsonObject | None = messages[-1]
    while step is not None and step["message_id"] not in active:
        active.add(step["message_id"])
        step = by_id.get(step.get("parent_message_id", ""))
    children: dict[str, list[JsonObject]] = defaultdict(list)
    for message in messages:
        children[message.get("parent_message_id", "")].append(message)
    for rivals in forks:
        stack = [rival for rival in rivals if rival["message_id"] not in active]
        if len(stack) == len(rivals):
            continue  # no branch leads to the end, so it is unknown which were abandoned
        while stack:
            message = stack.pop()
            if message["metadata"].get("on_active_path") is not False:
                message["metadata"]["on_active_path"] = False
                stack.extend(children[message["message_id"]])
    return prompt_parents
