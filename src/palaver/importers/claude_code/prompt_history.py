"""`history.jsonl`: every prompt ever typed, one per row; it survives when Claude Code deletes old sessions.

Prompts that the session's file holds are skipped. The others become a conversation `<session>:history` whose parent is
the session: those that a session never held, such as questions behind `/btw`, and all of a session whose file is gone,
then with the status `archived`. It is a conversation of its own so that a session that was imported before it was
deleted does not contain its prompts twice. Old rows name no session: those of one project become one conversation.

The history changes with every prompt. So a cursor remembers which rows were compared with their session, and only
sessions with new rows are opened. Claude Code writes a prompt to the history before the session: one that was typed
just now and that the session lacks is left to the next change of the history.
"""

import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import PurePosixPath

from palaver.importers.claude_code.document import PLATFORM
from palaver.importers.claude_code.held_prompts import Prompt, held_prompts, prompt_of_row
from palaver.importers.claude_code.line_context import LineContext
from palaver.importers.claude_code.session_index import INDEX_NAME, add_entry, entries_by_session
from palaver.importers.claude_code.transcript import Transcript
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.ids import conversation_uuid, deterministic_uuid
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Cursor, Run
from palaver.sources.source import Source

_JUST_TYPED_MS = 60_000
PASTE_MISSING = finding_kind("paste-missing", "note", "A pasted text is known by its hash only.")


def read_history(source: Source, run: Run) -> Iterator[JsonObject]:
    """Read the prompts that no session file holds."""
    reader = _HistoryReader(source, run)
    with source.open() as stream:
        rows = JsonLines(stream, run)
        for row in rows:
            if not isinstance(row, dict):
                run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where())
            elif reader.is_held(row):
                run.skipped("session-file-exists")
            elif reader.is_undecided(row):
                run.skipped("just-typed")
            else:
                _add_row(reader.transcript_for(row), row, LineContext(rows))
                run.mapped()
    for transcript in reader.transcripts.values():
        if (document := transcript.finish()) is not None:
            yield document
    reader.save_cursor()


class _HistoryReader:
    """The conversations of one history, and the comparison of its rows with the session files beside it."""

    def __init__(self, source: Source, run: Run) -> None:
        self.transcripts: dict[str, Transcript] = {}
        self._source = source
        self._run = run
        self._sessions: dict[str, list[Source]] = {}
        """Session files by session id."""
        self._indexes: list[Source] = []
        self._index_entries: dict[str, JsonObject] | None = None
        for file in source.files_below("projects"):
            path = PurePosixPath(file.name)
            if path.name == INDEX_NAME:
                self._indexes.append(file)
            else:
                self._sessions.setdefault(path.stem, []).append(file)
        self._undecided: set[str] = set()
        self._held, self._lacking = self._compare()

    def is_held(self, row: JsonObject) -> bool:
        """Return whether the session's file holds the prompt of a row."""
        return _row_key(row) in self._held

    def is_undecided(self, row: JsonObject) -> bool:
        """Return whether a prompt was typed just now: its session, which lacks it, may still get it."""
        return _row_key(row) in self._undecided

    def transcript_for(self, row: JsonObject) -> Transcript:
        """Return the conversation that a row belongs to, creating it at first use."""
        stated_id, project = row.get("sessionId"), row.get("project")
        session_id = stated_id if isinstance(stated_id, str) else None
        key = session_id or f"project:{project}"
        if key not in self.transcripts:
            conversation_id = (
                f"{session_id}:history" if session_id else conversation_uuid(PLATFORM, "history", str(project))
            )
            transcript = Transcript(
                conversation_id,
                self._run,
                session_id=session_id,
                fallback_time=self._source.written_at,
                parent_id=session_id,
            )
            transcript.platform_metadata["recovered_from"] = self._source.file_name
            if isinstance(project, str):
                transcript.header.seen["cwd"].append(project)
            if session_id not in self._sessions:
                transcript.status = "archived"
                add_entry(transcript, self._index_entry(session_id))
            self.transcripts[key] = transcript
        return self.transcripts[key]

    def save_cursor(self) -> None:
        if self._run.keeps_cursors:
            state = {"held": sorted(self._held), "lacking": sorted(self._lacking)}
            self._run.next_cursors[self._source.name] = Cursor(0, "", state)

    def _compare(self) -> tuple[set[str], set[str]]:
        """Return the keys of rows that the session's file holds, and of those that it lacks.

        Once a row was compared, the answer stays: a session file only grows, and what was imported remains.
        """
        held: set[str] = set()
        lacking: set[str] = set()
        if not self._sessions:
            return held, lacking
        cursor = self._run.cursors.get(self._source.name)
        state = cursor.state if cursor else {}
        known_held, known_lacking = set(state.get("held", ())), set(state.get("lacking", ()))
        wanted: dict[str, dict[str, Prompt]] = {}
        just_typed: set[str] = set()
        with self._source.open() as stream:
            for row in JsonLines(stream, Run(self._source.label)):  # a run of its own: these rows are counted later
                session_id = row.get("sessionId") if isinstance(row, dict) else None
                if not isinstance(session_id, str) or session_id not in self._sessions:
                    continue
                key = _row_key(row)
                if key in known_held:
                    held.add(key)
                elif key in known_lacking:
                    lacking.add(key)
                else:
                    wanted.setdefault(session_id, {})[key] = prompt_of_row(_display(row), row.get("pastedContents"))
                    if _is_just_typed(row):
                        just_typed.add(key)
        for session_id, prompts in wanted.items():
            found = held_prompts(self._sessions[session_id], prompts)
            held |= found
            lacking |= prompts.keys() - found
        self._undecided = lacking & just_typed
        return held, lacking - just_typed

    def _index_entry(self, session_id: str | None) -> JsonObject:
        if self._index_entries is None:
            self._index_entries = {}
            for index in self._indexes:
                self._index_entries |= entries_by_session(index)
        return self._index_entries.get(session_id or "", {})


def _display(row: JsonObject) -> str:
    display = row.get("display")
    return "" if display is None else str(display)


def _is_just_typed(row: JsonObject) -> bool:
    typed_ms = row.get("timestamp")
    return isinstance(typed_ms, int | float) and 0 <= time.time() * 1000 - typed_ms < _JUST_TYPED_MS


def _row_key(row: JsonObject) -> str:
    """Return a short key of a row: of its session, time and prompt."""
    text = f"{row.get('sessionId')}\0{row.get('timestamp')}\0{_display(row)}"
    return blake2b(text.encode(errors="surrogatepass"), digest_size=9).hexdigest()


def _add_row(transcript: Transcript, row: JsonObject, context: LineContext) -> None:
    display = _display(row)
    content = [build.text(display)]
    pasted = row.pop("pastedContents", None)
    if isinstance(pasted, dict):
        for key, paste in pasted.items():
            text = paste.get("content") if isinstance(paste, dict) else None
            if isinstance(text, str):
                content.append(build.file(name=f"Pasted text #{key}", text=text))
            elif paste:
                transcript.run.note(PASTE_MISSING, context.where())
                row.setdefault("pastedContents", {})[key] = paste
    metadata = {key: value for key, value in row.items() if key not in {"display", "sessionId", "project", "timestamp"}}
    metadata["author_kind"] = "human"
    metadata["context_incomplete"] = True
    timestamp = row.get("timestamp")
    uuid = deterministic_uuid(f"{transcript.conversation_id}-{timestamp}-{display}")
    transcript.append((uuid, None, timestamp), "user", content, metadata, context)
