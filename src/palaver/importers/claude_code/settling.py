"""What has to wait for later lines: times in the schema's spelling, and parents that stand further down."""

from operator import itemgetter
from typing import TYPE_CHECKING

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MISSING_PARENT, PARENT_CYCLE
from palaver.model.build import JsonObject
from palaver.model.timestamps import are_canonical

if TYPE_CHECKING:
    from palaver.importers.claude_code.transcript import Transcript


_timestamp = itemgetter("timestamp")


def settle(transcript: "Transcript") -> None:
    """Resolve the parents and times of the messages that a transcript holds, before they are handed out."""
    if transcript.orphans:
        position = {message["message_id"]: index for index, message in enumerate(transcript.messages)}
        for message, parent in transcript.orphans:
            _adopt(transcript, message, parent, position)
        transcript.orphans = []
    times = list(map(_timestamp, transcript.messages))
    if not are_canonical(times):
        times = _dated(transcript)
    if transcript.completed:
        times += _completed(transcript)
    if times:
        transcript.widen(times)


def _adopt(transcript: "Transcript", message: JsonObject, parent: str, position: dict[str, int]) -> None:
    known = transcript.resolve(parent)
    message_id = message["message_id"]
    if known and known != message_id:
        message["parent_message_id"] = known
        if _is_cycle(transcript.links, message):
            del message["parent_message_id"]
            transcript.run.note(PARENT_CYCLE, f"message {message_id}")
    elif known == message_id:
        transcript.run.note(PARENT_CYCLE, f"message {message_id}")
    elif known is None and transcript.outer and (point := transcript.outer.resolve(parent)) is not None:
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


def _dated(transcript: "Transcript") -> list[str]:
    """Bring every time into the schema's spelling; a message without one gets the nearest that is known."""
    undated: list[JsonObject] = []
    for message in transcript.messages:
        time = message["timestamp"]
        if (known := transcript.note_time(time)) is None:
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


def _completed(transcript: "Transcript") -> list[str]:
    """Bring the times at which answers were complete into the schema's spelling."""
    completed, transcript.completed = transcript.completed, []
    times = [metadata["completed_at"] for metadata in completed]
    if are_canonical(times):
        return times
    for metadata in completed:
        time = metadata.pop("completed_at", None)
        if (known := transcript.note_time(time)) is not None:
            metadata["completed_at"] = known
        elif time is not None:
            metadata.setdefault("source_fields", {})["timestamp"] = time
            transcript.run.note(BAD_TIMESTAMP, f"answer {metadata.get('api_message_id')}")
    return []
