"""`history.jsonl`: every prompt ever typed, one a row; it survives when the product deletes old sessions.

Prompts of a session whose file still exists are skipped, the others become conversations with the status `archived`.
Each has an id of its own, `<session>:history`, and the session as its parent: where the session was read before it was
deleted, its prompts are no part of it a second time. Old rows name no session: those of one project become one
conversation.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from palaver.importers.claude_code.document import PLATFORM
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.transcript import Transcript
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.ids import conversation_uuid, deterministic_uuid
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

PASTE_MISSING = finding_kind("paste-missing", "note", "A pasted text is known by its hash only.")


def read_history(source: Source, run: Run) -> Iterator[JsonObject]:
    existing = {PurePosixPath(session.name).stem for session in source.under("projects")}
    purged: dict[str, Transcript] = {}
    with source.open() as stream:
        rows = JsonLines(stream, run)
        for row in rows:
            if not isinstance(row, dict):
                run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where())
            elif isinstance((session_id := row.get("sessionId")), str) and session_id in existing:
                run.skipped("session-file-exists")
            else:
                _add_row(_transcript(purged, row, source, run), row, Reading(rows))
                run.mapped()
    for transcript in purged.values():
        if (document := transcript.finish()) is not None:
            yield document


def _transcript(purged: dict[str, Transcript], row: JsonObject, source: Source, run: Run) -> Transcript:
    session_id, project = row.get("sessionId"), row.get("project")
    known = session_id if isinstance(session_id, str) else None
    key = known or f"project:{project}"
    if key not in purged:
        conversation_id = f"{known}:history" if known else conversation_uuid(PLATFORM, "history", str(project))
        transcript = Transcript(
            conversation_id, run, session_id=known, fallback_time=source.written_at, parent_id=known
        )
        transcript.status = "archived"
        transcript.facts["recovered_from"] = source.file_name
        if isinstance(project, str):
            transcript.header.seen["cwd"].append(project)
        purged[key] = transcript
    return purged[key]


def _add_row(transcript: Transcript, row: JsonObject, reading: Reading) -> None:
    display = row.pop("display", "")
    content = [build.text(display if isinstance(display, str) else str(display))]
    pasted = row.pop("pastedContents", None)
    if isinstance(pasted, dict):
        for key, paste in pasted.items():
            text = paste.get("content") if isinstance(paste, dict) else None
            if isinstance(text, str):
                content.append(build.file(name=f"Pasted text #{key}", text=text))
            elif paste:
                transcript.run.note(PASTE_MISSING, reading.where())
                row.setdefault("pastedContents", {})[key] = paste
    metadata = {key: value for key, value in row.items() if key not in {"sessionId", "project", "timestamp"}}
    metadata["author_kind"] = "human"
    metadata["context_incomplete"] = True
    timestamp = row.get("timestamp")
    uuid = deterministic_uuid(f"{transcript.conversation_id}-{timestamp}-{display}")
    transcript.append((uuid, None, timestamp), "user", content, metadata, reading)
