"""Continue's folder as one source: sessions with all that lies around them, and what no session holds."""

from collections.abc import Iterator

from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.continue_dev import index
from palaver.importers.continue_dev.config import models_in
from palaver.importers.continue_dev.conversation import Conversation
from palaver.importers.continue_dev.dev_data import ToolUse
from palaver.importers.continue_dev.events import PLATFORM
from palaver.importers.continue_dev.index import MISSING_SESSION_FILE, Row
from palaver.importers.continue_dev.layout import (
    CONFIGS,
    DEV_DATA,
    INDEX,
    OTHER_CONFIG,
    SECRETS,
    SESSIONS,
    TYPED,
)
from palaver.importers.continue_dev.session import read_session
from palaver.importers.continue_dev.surroundings import Surroundings, config_of, dev_data_files, nothing_around
from palaver.importers.continue_dev.tool_uses import lone_uses
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import LARGEST_BYTES, UNREADABLE_SIDE_FILE, counted, read_at_most


def read_root(root: Source, run: Run) -> Iterator[JsonObject]:
    reader = _Reader(root, run)
    yield from reader.events()
    yield from reader.sessions()
    yield from reader.without_file()
    yield from reader.rest()


class _Reader:
    def __init__(self, root: Source, run: Run) -> None:
        self._root = root
        self._run = run
        self._around: Surroundings = nothing_around()
        self._rows: list[Row] = []
        self._read: set[str] = set()
        """Sessions that a conversation came of."""
        self._files: set[str] = set()
        self._recovered: set[str] = set()
        """Those of which the log of events holds all that is left."""
        self._calls: set[str] = set()
        self._typed: set[str] = set()
        files, folders = root.listing()
        self._names = files
        self._sessions = root.within(SESSIONS) if SESSIONS in folders else None
        self._read_settings()

    def _read_settings(self) -> None:
        config = config_of(self._root)
        for name in (*CONFIGS, OTHER_CONFIG):
            if name not in self._names:
                continue
            source = counted(Source(self._root.folder, name), self._run)
            models = models_in(source) if config is not None and name == config.name else None
            if models is not None:
                self._around.models.update(models)
                self._run.folded("conversation")
            elif config is not None and name == config.name:
                self._run.note(UNREADABLE_SIDE_FILE, name, "the config cannot be read", kept=False)
                self._run.skipped("unreadable-side-file")
            else:
                self._run.skipped("other-config")
        for name in SECRETS:
            if name in self._names:
                counted(Source(self._root.folder, name), self._run)
                self._run.skipped("secret")
        if TYPED in self._names:
            self._around.typed.read(Source(self._root.folder, TYPED), self._run)
        if self._sessions is not None and INDEX in self._sessions.listing()[0]:
            self._rows = list(index.read_rows(Source(self._sessions.folder, INDEX), self._run))
            self._around.rows.update((row.session_id, row) for row in self._rows)

    def events(self) -> Iterator[JsonObject]:
        files = dev_data_files(self._root)
        yield from self._around.dev_data.read(files, self._run)
        known = {file.name for file in files}
        if DEV_DATA in self._root.listing()[1]:
            for file in self._root.under(DEV_DATA):
                if file.name not in known:
                    counted(file, self._run)
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
                counted(source, self._run)
                self._run.skipped("other-file")
                continue
            self._files.add(source.stem)
            for document in self._session(source):
                self._meet(document)
                yield document
        for folder in folders:
            for file in self._sessions.under(folder):
                counted(file, self._run)
                self._run.skipped("other-file")

    def _session(self, source: Source) -> Iterator[JsonObject]:
        """The documents of a session; a bug of ours in it must not cost the others."""
        ledger = self._run.ledger
        before = ledger.read - ledger.accounted
        try:
            yield from read_session(source, self._run, self._around, label=source.file_name)
        except Exception as error:  # noqa: BLE001 - whatever it is
            with source.open() as stream:
                raw = read_at_most(stream, LARGEST_BYTES)
            ledger.quarantined[UNFORESEEN.code] += ledger.read - ledger.accounted - before
            self._run.set_aside(UNFORESEEN, raw, source.file_name, f"{type(error).__name__}: {error}")

    def without_file(self) -> Iterator[JsonObject]:
        """Sessions that only the log of events holds."""
        for session_id, logged in self._around.dev_data.interactions.items():
            if session_id in self._recovered:
                self._run.mapped(len(logged))
                continue
            if session_id in self._read:
                self._run.folded("message", len(logged))
                continue
            source = logged[0].ref.source
            conversation = Conversation(session_id, source, self._run, self._around)
            for document in conversation.finish({}):
                self._meet(document)
                yield document
            self._run.mapped(len(logged))

    def rest(self) -> Iterator[JsonObject]:
        lone: list[tuple[str, list[ToolUse]]] = []
        for call_id, uses in self._around.dev_data.tool_uses.items():
            if call_id in self._calls:
                self._run.folded("message", len(uses))
            else:
                lone.append((call_id, uses))
                self._run.mapped(len(uses))
        yield from lone_uses(lone)
        for row in self._rows:
            if row.session_id in self._read:
                self._run.folded("conversation")
            elif row.session_id in self._files:
                self._run.skipped("empty-session")
            elif row.is_old:
                self._run.skipped("old-index-row")
            else:
                words = f"there is no file of the session {row.title[:80]!r}"
                self._run.note(MISSING_SESSION_FILE, f"{INDEX}: {row.session_id}", words, kept=False)
                self._run.skipped("missing-session-file")
        if self._around.typed.prompts:
            source = Source(self._root.folder, TYPED)
            documents, count = self._around.typed.left(self._typed, PLATFORM, source)
            self._run.folded("message", len(self._around.typed.prompts) - count)
            self._run.mapped(count)
            yield from documents

    def _meet(self, document: JsonObject) -> None:
        """Remember what a conversation holds."""
        self._read.add(document["conversation_id"])
        if document.get("status") == "archived":
            self._recovered.add(document["conversation_id"])
        has_typed = bool(self._around.typed.prompts)
        for message in document["messages"]:
            self._calls.update(message["metadata"].get("call_states", ()))
            for block in message["content"]:
                if block["type"] == "tool_use":
                    self._calls.add(block["id"])
                elif block["type"] == "tool_result":
                    self._calls.add(block["tool_use_id"])
                elif has_typed and message["role"] == "user" and block["type"] == "text":
                    self._typed.add(block["text"].strip())
