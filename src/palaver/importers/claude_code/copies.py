"""Lines that came before, and lines whose message is no message: nothing of them is lost."""

from typing import Any

from palaver.importers.claude_code.content import blocks
from palaver.importers.claude_code.disposition import A_COPY, MAPPED, Disposition
from palaver.importers.claude_code.flushed import signature
from palaver.importers.claude_code.header import Shapes
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.transcript import Transcript, place_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind

CONFLICTING_COPY = finding_kind(
    "conflicting-copy", "warning", "A line came twice with different content; the second is kept as a revision."
)
ODD_MESSAGE = finding_kind("odd-message", "warning", "A line's message is not an object; it is kept whole.")


_SHAPES = Shapes("message")


def copied(transcript: Transcript, record: JsonObject, content: Any, reading: Reading) -> Disposition | None:
    """The disposition of a line whose uuid came before; None for a new one.

    After a dropped connection a session is replayed at the end of its file; compaction writes preserved lines again.
    """
    uuid = record.get("uuid")
    if not isinstance(uuid, str):
        return None
    earlier = transcript.links.get(uuid)
    if earlier is None:
        if not transcript.sequence:
            return None
        left = transcript.handed_out(uuid)
        return A_COPY if left and left[1] == signature(blocks(content)) else None
    if earlier.get("message_id") != uuid:
        return None  # the uuid of a line that was no message
    made = blocks(content)
    if bare(made) != bare(earlier["content"]):
        transcript.run.note(CONFLICTING_COPY, reading.where())
        revision = {"timestamp": record.get("timestamp"), "content": made}
        earlier["metadata"].setdefault("revisions", []).append(revision)
    return A_COPY


def bare(content: list[JsonObject]) -> list[JsonObject]:
    """Blocks without what the importer added to them."""
    return [{key: value for key, value in block.items() if key != "metadata"} for block in content]


def odd_message(transcript: Transcript, record: JsonObject, role: str, reading: Reading) -> Disposition:
    transcript.run.note(ODD_MESSAGE, reading.where())
    metadata = transcript.header.metadata(record, _SHAPES[tuple(record)])
    metadata["author_kind"] = "harness"
    message = record.get("message")
    made = [build.text(message)] if isinstance(message, str) else [build.opaque(kind="message", raw=message)]
    transcript.append(place_of(record), role, made, metadata, reading)
    return MAPPED
