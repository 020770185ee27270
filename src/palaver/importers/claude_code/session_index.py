"""`sessions-index.json`: titles, first prompts and times of a project's sessions, also of those whose file is gone.

Rows of sessions that have their file, or that were imported before it went, are skipped, and, with a note, those that
name no session and say nothing: the index is a cache. The others become a conversation with the status `archived`, the
one that the prompts of `history.jsonl` belong to as well; the first prompt is a message of it, unless the history has
it.
"""

from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import Any

from palaver.importers._shared.findings import ODD_INDEX_ROW
from palaver.importers._shared.side_files import read_side_file
from palaver.importers.claude_code.commands import typed_content
from palaver.importers.claude_code.document import document
from palaver.importers.claude_code.files import is_session_id
from palaver.importers.claude_code.held_prompts import (
    archived_prompts,
    normalized,
    prompt_of_row,
)
from palaver.importers.claude_code.line_context import LineContext
from palaver.importers.claude_code.transcript import Transcript
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.ids import deterministic_uuid
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

INDEX_NAME = "sessions-index.json"
BAD_INDEX_ENTRY = finding_kind(
    "bad-index-entry", "error", "A prompt or title in the session index belongs to no session; it is quarantined."
)

_MAPPED = frozenset({"sessionId", "gitBranch", "projectPath"})
_NO_PROMPT = "No prompt"
"""What Claude Code writes for a session without any."""
_COMPARED_CHARACTERS = 64
"""Enough to tell the prompts of one session apart."""


def index_entry(index: Source, session_id: str | None) -> JsonObject:
    """Return a session's entry in `sessions-index.json`, a cache that may be stale or missing; {} without one."""
    return entries_by_session(index).get(session_id, {}) if session_id else {}


def entries_by_session(index: Source) -> dict[str, JsonObject]:
    return read_side_file(index, _by_session)


def _by_session(index: Any) -> dict[str, JsonObject]:
    match index:
        case {"entries": list(entries), **rest}:
            return {
                entry["sessionId"]: {"projectPath": rest.get("originalPath"), **entry}
                for entry in reversed(entries)
                if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str)
            }
        case _:
            return {}


def read_index(source: Source, run: Run) -> Iterator[JsonObject]:
    """Read the entries of sessions whose files are gone."""
    transcripts: dict[str, Transcript] = {}
    known_prompts: dict[str, set[str]] | None = None
    folder = source.parent_folder()
    files = set(folder.listing()[0]) if folder else set[str]()
    with source.open() as stream:
        entries = JsonElements(stream, run, ("entries",))
        for entry in entries:
            has_text = isinstance(entry, dict) and bool(_title(entry) or _first_prompt(entry))
            if not (session_id := _session_id(entry)):
                if has_text:
                    run.quarantined(BAD_INDEX_ENTRY, entries.raw, entries.where())
                else:
                    run.note(ODD_INDEX_ROW, entries.where(), kept=False)
                    run.skipped("odd-index-row")
            elif f"{session_id}.jsonl" in files:
                run.skipped("session-file-exists")
            elif not has_text:
                run.skipped("no-conversation")
            elif _is_archived(session_id, entry, run):
                run.skipped("session-in-archive")
            elif session_id in transcripts:
                run.folded("conversation")
                add_entry(transcripts[session_id], entry)
            else:
                if known_prompts is None:
                    known_prompts = _prompts_in_history(source)
                transcript = transcripts[session_id] = _new_transcript(session_id, source, run)
                add_entry(transcript, {"projectPath": entries.wrapper.get("originalPath"), **entry})
                if not _is_known(_first_prompt(entry), known_prompts.get(session_id, set())):
                    _add_first_prompt(transcript, entry, LineContext(entries))
                run.mapped()
    for transcript in transcripts.values():
        yield transcript.finish() or document(transcript, [], is_final=True)


def _is_archived(session_id: str, entry: JsonObject, run: Run) -> bool:
    """Return whether a session was imported before its file went, with the first prompt that an entry states."""
    return bool(archived_prompts(run.archived_prompts(session_id), {"": prompt_of_row(_first_prompt(entry), None)}))


def add_entry(transcript: Transcript, entry: JsonObject) -> None:
    """Add what the index knows of a session whose file is gone to its conversation."""
    if not entry:
        return
    if title := _title(entry):
        transcript.titles.setdefault("index", title)
    for name, key in (("projectPath", "cwd"), ("gitBranch", "gitBranch")):
        values = transcript.header.seen[key]
        if not values and isinstance((value := entry.get(name)), str) and value:
            values.append(value)
    for name in ("created", "modified"):
        transcript.include_time(entry.get(name))
    rest = {key: value for key, value in entry.items() if key not in _MAPPED and value is not None}
    transcript.platform_metadata.setdefault("index_entry", {}).update(rest)


def _new_transcript(session_id: str, source: Source, run: Run) -> Transcript:
    transcript = Transcript(
        f"{session_id}:history", run, session_id=session_id, fallback_time=source.written_at, parent_id=session_id
    )
    transcript.status = "archived"
    transcript.platform_metadata["recovered_from"] = source.file_name
    return transcript


def _session_id(entry: Any) -> str:
    """Return the id that an entry states, or else the one in the name of its file; empty without either."""
    match entry:
        case {"sessionId": str(session_id)} if session_id:
            return session_id
        case {"fullPath": str(path)} if is_session_id(stem := PureWindowsPath(path).stem):
            return stem
        case _:
            return ""


def _title(entry: JsonObject) -> str:
    titles = (entry.get(name) for name in ("customTitle", "summary"))
    return next((title for title in titles if isinstance(title, str) and title), "")


def _first_prompt(entry: JsonObject) -> str:
    prompt = entry.get("firstPrompt")
    return prompt if isinstance(prompt, str) and prompt != _NO_PROMPT else ""


def _add_first_prompt(transcript: Transcript, entry: JsonObject, context: LineContext) -> None:
    uuid = deterministic_uuid(f"{transcript.conversation_id}-first-prompt")
    # The session began at this time; when the prompt was typed is not known.
    metadata: JsonObject = {"author_kind": "human", "context_incomplete": True, "timestamp_inferred": True}
    prompt = _first_prompt(entry)
    content = [build.text(typed_content({}, prompt) or prompt)]
    transcript.append((uuid, None, transcript.created_at), "user", content, metadata, context)


def _is_known(prompt: str, known: set[str]) -> bool:
    """Return whether the history has a prompt, which the index may have cut, or there is none."""
    if prompt.endswith("…"):
        return any(text.startswith(_beginning(prompt.rstrip("…"))) for text in known)
    return not prompt or _beginning(prompt) in known


def _beginning(text: str) -> str:
    return normalized(text)[:_COMPARED_CHARACTERS]


def _prompts_in_history(index: Source) -> dict[str, set[str]]:
    """Return the beginnings of all prompts in `history.jsonl`, three folders up, by session id."""
    found: dict[str, set[str]] = {}
    folder: Source | None = index
    for _ in range(3):  # the project's folder, `projects`, and the folder that holds both
        folder = folder.parent_folder() if folder else None
    history = Source(folder.folder, "history.jsonl") if folder else None
    if history is None or not history.exists():
        return found
    with history.open() as stream:
        for row in JsonLines(stream, Run(history.label)):
            match row:
                case {"sessionId": str(session_id), "display": str(display)}:
                    found.setdefault(session_id, set()).add(_beginning(display))
                case _:
                    pass
    return found
