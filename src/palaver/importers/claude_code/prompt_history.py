"""`history.jsonl`: every prompt ever typed, one per row; it survives when Claude Code deletes old sessions.

Prompts that the session's file holds are skipped, and so are those of a session that was imported before Claude Code
deleted it. The others become a conversation `<session>:history` whose parent is the session: those that a session never
held, such as questions behind `/btw`, and all of a session that is gone, then with the status `archived`. Old rows name
no session: those of one project become one conversation.

The history changes with every prompt. So a cursor remembers which rows were compared with their session, and only
sessions with new rows are opened. Claude Code writes a prompt to the history before the session: one that was typed
just now and that the session lacks is left to the next change of the history.
"""

import time
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import PurePosixPath

from palaver.importers.claude_code.document import PLATFORM
from palaver.importers.claude_code.held_prompts import (
    Prompt,
    archived_prompts,
    held_prompts,
    prompt_of_row,
    texts_of_file,
)
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
PASTE_MISSING = finding_kind("paste-missing", "note", "Only the hash of a pasted text is known.")


def read_history(source: Source, run: Run) -> Iterator[JsonObject]:
    """Read the prompts that no session holds."""
    reader = _HistoryReader(source, run)
    with source.open() as stream:
        rows = JsonLines(stream, run)
        for row in rows:
            if not isinstance(row, dict):
                run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where())
            elif rule := reader.skip_rule(row):
                run.skipped(rule)
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
        self._held: set[str] = set()
        self._archived: set[str] = set()
        """Keys of rows whose session is gone, and holds the prompt in the archive."""
        self._archived_sessions: dict[str, bool] = {}
        self._lacking: set[str] = set()
        self._undecided: set[str] = set()
        """Keys of rows that were typed just now: the session, which lacks the prompt, may still get it."""
        self._compare()

    def skip_rule(self, row: JsonObject) -> str:
        """Return the rule by which a row is skipped; empty if it is not."""
        key = _row_key(row)
        if key in self._held:
            return "session-file-exists"
        if key in self._archived:
            return "session-in-archive"
        return "just-typed" if key in self._undecided else ""

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
            answers = {"held": self._held, "archived": self._archived, "lacking": self._lacking}
            state = {name: sorted(keys) for name, keys in answers.items()}
            self._run.next_cursors[self._source.name] = Cursor(0, "", state)

    def _compare(self) -> None:
        """Compare every row with its session, unless the cursor remembers the answer.

        Once a row was compared, the answer stays: a session file only grows, and what was imported remains. Only of a
        session that is gone and lacks the prompt, another file may come.
        """
        cursor = self._run.cursors.get(self._source.name)
        known = {name: set[str](keys) for name, keys in cursor.state.items()} if cursor else {}
        known_held, known_lacking, known_archived = (known.get(name, set()) for name in ("held", "lacking", "archived"))
        wanted: dict[str, dict[str, Prompt]] = {}
        just_typed: set[str] = set()
        with self._source.open() as stream:
            for row in JsonLines(stream, Run(self._source.label)):  # a run of its own: these rows are counted later
                session_id = row.get("sessionId") if isinstance(row, dict) else None
                if not isinstance(session_id, str):
                    continue
                key = _row_key(row)
                has_file = session_id in self._sessions
                if key in known_held and has_file:
                    self._held.add(key)
                elif key in known_lacking and has_file:
                    self._lacking.add(key)
                elif key in known_archived and not has_file:
                    self._archived.add(key)
                else:
                    if _is_just_typed(row):
                        just_typed.add(key)
                    if has_file or self._is_archived(session_id):
                        prompt = prompt_of_row(_display(row), row.get("pastedContents"))
                        wanted.setdefault(session_id, {})[key] = prompt
        for session_id, prompts in wanted.items():
            if session_id in self._sessions:
                typed = chain.from_iterable(map(texts_of_file, self._sessions[session_id]))
                self._held |= (found := held_prompts(typed, prompts))
                self._lacking |= prompts.keys() - found - just_typed
            else:
                self._archived |= archived_prompts(self._run.archived_prompts(session_id), prompts)
        self._undecided = just_typed - self._held - self._archived

    def _is_archived(self, session_id: str) -> bool:
        """Return whether the archive has a session; most that are gone were never imported."""
        if session_id not in self._archived_sessions:
            has_prompts = next(self._run.archived_prompts(session_id), None) is not None
            self._archived_sessions[session_id] = has_prompts
        return self._archived_sessions[session_id]

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
