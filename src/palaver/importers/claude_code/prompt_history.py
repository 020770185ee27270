"""`history.jsonl`: every prompt ever typed, one per row; it survives when Claude Code deletes old sessions.

Prompts of a session whose file still exists are skipped, the others become conversations with the status `archived`.
Each gets the id `<session>:history`, and the session as its parent, so that a session that was imported before it was
deleted does not contain its prompts twice. Old rows name no session: those of one project become one conversation.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from palaver.importers.claude_code.document import PLATFORM
from palaver.importers.claude_code.line_context import LineContext
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
    """Read the prompts of sessions whose files are gone."""
    existing = {PurePosixPath(session.name).stem for session in source.files_below("projects")}
    transcripts: dict[str, Transcript] = {}
    with source.open() as stream:
        rows = JsonLines(stream, run)
        for row in rows:
            if not isinstance(row, dict):
                run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where())
            elif isinstance((session_id := row.get("sessionId")), str) and session_id in existing:
                run.skipped("session-file-exists")
            else:
                _add_row(_transcript_for(transcripts, row, source, run), row, LineContext(rows))
                run.mapped()
    for transcript in transcripts.values():
        if (document := transcript.finish()) is not None:
            yield document


def _transcript_for(transcripts: dict[str, Transcript], row: JsonObject, source: Source, run: Run) -> Transcript:
    stated_id, project = row.get("sessionId"), row.get("project")
    session_id = stated_id if isinstance(stated_id, str) else None
    key = session_id or f"project:{project}"
    if key not in transcripts:
        conversation_id = (
            f"{session_id}:history" if session_id else conversation_uuid(PLATFORM, "history", str(project))
        )
        transcript = Transcript(
            conversation_id, run, session_id=session_id, fallback_time=source.written_at, parent_id=session_id
        )
        transcript.status = "archived"
        transcript.platform_metadata["recovered_from"] = source.file_name
        if isinstance(project, str):
            transcript.header.seen["cwd"].append(project)
        transcripts[key] = transcript
    return transcripts[key]


def _add_row(transcript: Transcript, row: JsonObject, context: LineContext) -> None:
    display = row.pop("display", "")
    content = [build.text(display if isinstance(display, str) else str(display))]
    pasted = row.pop("pastedContents", None)
    if isinstance(pasted, dict):
        for key, paste in pasted.items():
            text = paste.get("content") if isinstance(paste, dict) else None
            if isinstance(text, str):
                content.append(build.file(name=f"Pasted text #{key}", text=text))
            elif paste:
                transcript.run.note(PASTE_MISSING, context.where())
                row.setdefault("pastedContents", {})[key] = paste
    metadata = {key: value for key, value in row.items() if key not in {"sessionId", "project", "timestamp"}}
    metadata["author_kind"] = "human"
    metadata["context_incomplete"] = True
    timestamp = row.get("timestamp")
    uuid = deterministic_uuid(f"{transcript.conversation_id}-{timestamp}-{display}")
    transcript.append((uuid, None, timestamp), "user", content, metadata, context)
