"""Readers of each form of source: Continue's whole folder, a session, an event log, the index, a transcript."""

from collections.abc import Iterator

from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.continue_dev import layout
from palaver.importers.continue_dev.dev_data import ToolUse, orphan_conversations
from palaver.importers.continue_dev.events import PLATFORM
from palaver.importers.continue_dev.layout import (
    CONFIGS,
    DEV_DATA,
    INDEX,
    INPUT_HISTORY,
    MISSING_SESSION_FILE,
    OTHER_CONFIG,
    SECRETS,
    SESSIONS,
    IndexRow,
)
from palaver.importers.continue_dev.recognize import form_of
from palaver.importers.continue_dev.session import Conversation, read_session
from palaver.importers.continue_dev.share import read_share
from palaver.importers.continue_dev.side_files import (
    SideFiles,
    active_config,
    dev_data_files,
    empty_side_files,
    read_models,
    read_side_files,
)
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.small_files import LARGEST_BYTES, UNREADABLE_SETTINGS, count_file, read_at_most
from palaver.sources.source import Source


def read_source(source: Source, run: Run) -> Iterator[JsonObject]:
    match run.form or form_of(source):
        case "root":
            yield from read_folder(source, run)
        case "share":
            yield from read_share(source, run)
        case "dev_data":
            yield from _read_event_log(source, run)
        case "index":
            _read_index_alone(source, run)
        case _:
            yield from read_session(source, run, read_side_files(source))


def read_folder(root: Source, run: Run) -> Iterator[JsonObject]:
    """Read sessions together with the files around them, then everything that no session holds."""
    reader = _FolderReader(root, run)
    yield from reader.events()
    yield from reader.sessions()
    yield from reader.sessions_without_file()
    yield from reader.remaining()


class _FolderReader:
    def __init__(self, root: Source, run: Run) -> None:
        self._root = root
        self._run = run
        self._side_files: SideFiles = empty_side_files()
        self._rows: list[IndexRow] = []
        self._read: set[str] = set()
        """Ids of sessions that produced a conversation."""
        self._with_file: set[str] = set()
        self._recovered: set[str] = set()
        """Ids of sessions recovered from the event log alone."""
        self._session_calls: set[str] = set()
        self._session_prompts: set[str] = set()
        files, folders = root.listing()
        self._names = files
        self._sessions = root.subfolder(SESSIONS) if SESSIONS in folders else None
        self._read_settings()

    def _read_settings(self) -> None:
        config = active_config(self._root)
        for name in (*CONFIGS, OTHER_CONFIG):
            if name not in self._names:
                continue
            source = count_file(Source(self._root.folder, name), self._run)
            models = read_models(source) if config is not None and name == config.name else None
            if models is not None:
                self._side_files.models.update(models)
                self._run.folded("conversation")
            elif config is not None and name == config.name:
                self._run.note(UNREADABLE_SETTINGS, name, "the config cannot be read", kept=False)
                self._run.skipped("unreadable-settings")
            else:
                self._run.skipped("other-config")
        for name in SECRETS:
            if name in self._names:
                count_file(Source(self._root.folder, name), self._run)
                self._run.skipped("secret")
        if INPUT_HISTORY in self._names:
            self._side_files.input_history.read(Source(self._root.folder, INPUT_HISTORY), self._run)
        if self._sessions is not None and INDEX in self._sessions.listing()[0]:
            self._rows = list(layout.read_index(Source(self._sessions.folder, INDEX), self._run))
            self._side_files.rows.update((row.session_id, row) for row in self._rows)

    def events(self) -> Iterator[JsonObject]:
        files = dev_data_files(self._root)
        yield from self._side_files.dev_data.read(files, self._run)
        known = {file.name for file in files}
        if DEV_DATA in self._root.listing()[1]:
            for file in self._root.files_below(DEV_DATA):
                if file.name not in known:
                    count_file(file, self._run)
                    self._run.skipped("other-file")

    def sessions(self) -> Iterator[JsonObject]:
        if self._sessions is None:
            return
        listed, folders = self._sessions.listing()
        for name in listed:
            source = Source(self._sessions.folder, name)
            if name == INDEX:
                continue
            if source.suffix != ".json":
                count_file(source, self._run)
                self._run.skipped("other-file")
                continue
            self._with_file.add(source.stem)
            for document in self._session(source):
                self._record(document)
                yield document
        for folder in folders:
            for file in self._sessions.files_below(folder):
                count_file(file, self._run)
                self._run.skipped("other-file")

    def _session(self, source: Source) -> Iterator[JsonObject]:
        """Yield the documents of a session; a bug in reading it must not cost the other sessions."""
        ledger = self._run.ledger
        before = ledger.read - ledger.accounted
        try:
            yield from read_session(source, self._run, self._side_files, label=source.file_name)
        except Exception as error:  # noqa: BLE001 - the session is quarantined whatever went wrong
            with source.open() as stream:
                raw = read_at_most(stream, LARGEST_BYTES)
            ledger.quarantined[UNFORESEEN.code] += ledger.read - ledger.accounted - before
            self._run.quarantine_bytes(UNFORESEEN, raw, source.file_name, f"{type(error).__name__}: {error}")

    def sessions_without_file(self) -> Iterator[JsonObject]:
        """Yield the sessions that only the event log holds."""
        for session_id, logged in self._side_files.dev_data.interactions.items():
            if session_id in self._recovered:
                self._run.mapped(len(logged))
                continue
            if session_id in self._read:
                self._run.folded("message", len(logged))
                continue
            source = logged[0].ref.source
            conversation = Conversation(session_id, source, self._run, self._side_files)
            for document in conversation.finish({}):
                self._record(document)
                yield document
            self._run.mapped(len(logged))

    def remaining(self) -> Iterator[JsonObject]:
        """Yield tool calls and typed prompts without a session, and account for the rows of the index."""
        orphans: list[tuple[str, list[ToolUse]]] = []
        for call_id, uses in self._side_files.dev_data.tool_uses.items():
            if call_id in self._session_calls:
                self._run.folded("message", len(uses))
            else:
                orphans.append((call_id, uses))
                self._run.mapped(len(uses))
        yield from orphan_conversations(orphans)
        for row in self._rows:
            if row.session_id in self._read:
                self._run.folded("conversation")
            elif row.session_id in self._with_file:
                self._run.skipped("empty-session")
            elif row.is_old:
                self._run.skipped("old-index-row")
            else:
                message = f"there is no file of the session {row.title[:80]!r}"
                self._run.note(MISSING_SESSION_FILE, f"{INDEX}: {row.session_id}", message, kept=False)
                self._run.skipped("missing-session-file")
        if self._side_files.input_history.prompts:
            source = Source(self._root.folder, INPUT_HISTORY)
            documents, count = self._side_files.input_history.documents_without_session(
                self._session_prompts, PLATFORM, source
            )
            self._run.folded("message", len(self._side_files.input_history.prompts) - count)
            self._run.mapped(count)
            yield from documents

    def _record(self, document: JsonObject) -> None:
        """Remember which session, calls and prompts a document covers."""
        self._read.add(document["conversation_id"])
        if document.get("status") == "archived":
            self._recovered.add(document["conversation_id"])
        has_input_history = bool(self._side_files.input_history.prompts)
        for message in document["messages"]:
            self._session_calls.update(message["metadata"].get("call_states", ()))
            for block in message["content"]:
                if block["type"] == "tool_use":
                    self._session_calls.add(block["id"])
                elif block["type"] == "tool_result":
                    self._session_calls.add(block["tool_use_id"])
                elif has_input_history and message["role"] == "user" and block["type"] == "text":
                    self._session_prompts.add(block["text"].strip())


def _read_event_log(source: Source, run: Run) -> Iterator[JsonObject]:
    """Read one event log by itself, skipping events of sessions that have a file."""
    side_files = empty_side_files()
    yield from side_files.dev_data.read([source], run)
    existing = _session_files(source)
    for session_id, logged in side_files.dev_data.interactions.items():
        if session_id in existing:
            run.skipped("session-file-exists", len(logged))
            continue
        yield from Conversation(session_id, source, run, side_files).finish({})
        run.mapped(len(logged))
    tool_uses = side_files.dev_data.tool_uses
    run.mapped(sum(map(len, tool_uses.values())))
    yield from orphan_conversations(tool_uses.items())


def _session_files(source: Source) -> set[str]:
    """Return the ids of the sessions beside an event log, which may be in a folder for its version."""
    folder = source.parent_folder()
    for _ in range(2):
        folder = folder.parent_folder() if folder is not None else None
        if folder is not None and SESSIONS in folder.listing()[1]:
            names = folder.subfolder(SESSIONS).listing()[0]
            return {name.removesuffix(".json") for name in names if name != INDEX}
    return set()


def _read_index_alone(source: Source, run: Run) -> None:
    """Account for the rows of the index, which holds no conversation by itself."""
    folder = source.parent_folder()
    names = set(folder.listing()[0]) if folder is not None else set[str]()
    for row in layout.read_index(source, run):
        if f"{row.session_id}.json" in names:
            run.skipped("session-file-exists")
        elif row.is_old:
            run.skipped("old-index-row")
        else:
            run.note(MISSING_SESSION_FILE, row.session_id, f"no file of the session {row.title[:80]!r}", kept=False)
            run.skipped("missing-session-file")
