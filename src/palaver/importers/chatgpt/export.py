"""A whole export: its files with conversations, one after the other, and those beside them that enrich them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from palaver.importers._shared.exports import BAD_CONVERSATION, Copies, elements_of, files_in
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.comparisons import as_conversation
from palaver.importers.chatgpt.conversation import Surroundings, document
from palaver.importers.chatgpt.feedback import Feedback
from palaver.importers.chatgpt.page import PAGE, is_page, page_elements
from palaver.importers.chatgpt.recognize import (
    ACCOUNT,
    ASSET_NAMES,
    COMPARISONS,
    FEEDBACK,
    LIBRARY,
    MANIFEST,
    SERVICE,
    SHARED,
    belongs,
)
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import counted, json_document

MISSING_MEMBER = finding_kind(
    "missing-member", "error", "A file that the export's own list names is not in the export."
)


def _bare(raw: Any) -> JsonObject | None:
    """A conversation as it is, or taken out of what a tool that saved it put around it."""
    if isinstance(raw, dict) and isinstance(raw.get("mapping"), dict):
        return raw
    found = SERVICE.unwrapped(raw)
    if found is None:
        return None
    conversation, around = found
    return {**conversation, "wrapper": around}


class Export:
    """One reading of an export, or of a single file of one."""

    def __init__(self, source: Source, run: Run, assets_into: Path | None) -> None:
        self._source = source
        self._run = run
        self._rated = 0
        """Rows of feedback that wait for their message."""
        self._copies = Copies(run)
        self._members = self._list_members() if source.is_folder else []
        self._around = Surroundings(
            assets=Assets(source if source.is_folder else None, self._members, run, assets_into),
            feedback=Feedback(),
            shared={},
            fallback_time=source.written_at,
        )

    def read(self) -> Iterator[JsonObject]:
        if not self._source.is_folder:
            is_compared = self._run.form == "comparisons" or self._source.file_name == COMPARISONS
            shape = as_conversation if is_compared else _bare
            yield from self._conversations(self._elements(self._source, ""), shape)
            return
        files = files_in(self._source)
        names = {file.name for file in files}
        self._around.is_sharded = names != {"conversations.json"}
        self._read_sides(names)
        for file in files:
            yield from self._conversations(self._elements(file, file.name))
        if COMPARISONS in self._members:
            side = self._side(COMPARISONS)
            yield from self._conversations(elements_of(side, self._run, label=COMPARISONS), as_conversation)
        self._account_for_sides()

    # -- conversations ----------------------------------------------------------------------------------------------

    def _elements(self, source: Source, label: str) -> AbstractContextManager[JsonElements]:
        self._around.fallback_time = source.written_at
        if self._run.form == "page" or is_page(source):
            return page_elements(source, self._run)
        return elements_of(source, self._run, label=label)

    def _conversations(
        self, opened: AbstractContextManager[JsonElements], shape: Callable[[Any], JsonObject | None] = _bare
    ) -> Iterator[JsonObject]:
        with opened as elements:
            for raw in elements:
                conversation = shape(raw)
                if conversation is None:
                    self._run.quarantined(BAD_CONVERSATION, elements.raw, elements.where(), _name(raw))
                    continue
                try:
                    made = document(conversation, self._around, self._run, elements.where())
                except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other conversations
                    message = f"{type(error).__name__}: {error}"
                    self._run.quarantined(UNFORESEEN, elements.raw, elements.where(), message)
                    continue
                # What was read is freed while it is still in the processor's cache.
                del raw, conversation
                count = len(made["messages"])
                elements.holds(count)
                if self._copies.holds(made["conversation_id"], elements.checksum(), elements.where()):
                    self._run.skipped("copy", count)
                else:
                    self._run.mapped(count)
                    yield made

    # -- the files beside them --------------------------------------------------------------------------------------

    def _list_members(self) -> list[str]:
        files, folders = self._source.listing()
        below = [name for folder in folders if belongs(folder) for name in self._source.folder.names(folder)]
        return [*filter(belongs, files), *below]

    def _side(self, name: str) -> Source:
        return Source(self._source.folder, name)

    def _read_sides(self, conversations: set[str]) -> None:
        """Take in what enriches the conversations; count what does not."""
        for name in self._members:
            if name == FEEDBACK:
                self._read_feedback()
            elif name == SHARED:
                self._read_shared()
            elif name == ASSET_NAMES:
                for names in self._objects(name):
                    self._around.assets.name_files(names)
            elif name == MANIFEST:
                for manifest in self._objects(name):
                    self._compare(manifest, conversations)
            elif name == LIBRARY:
                self._read_library()
            elif name in ACCOUNT:
                counted(self._side(name), self._run)
                self._run.skipped("account")
            elif name == PAGE:
                counted(self._side(name), self._run)
                self._run.skipped("viewer-page")
            elif name != COMPARISONS and not self._around.assets.knows(name):
                counted(self._side(name), self._run)
                self._run.skipped("no-conversation")

    def _objects(self, name: str) -> Iterator[JsonObject]:
        """The one object of a side file."""
        for value in json_document(self._side(name), self._run):
            if isinstance(value, dict):
                self._run.folded("conversation")
                yield value
            else:
                self._run.quarantined(NOT_AN_OBJECT, self._side(name).head(), name)

    def _rows(self, name: str) -> Iterator[tuple[Any, JsonElements]]:
        with elements_of(self._side(name), self._run, label=name) as rows:
            for row in rows:
                yield row, rows

    def _read_feedback(self) -> None:
        for row, rows in self._rows(FEEDBACK):
            if self._around.feedback.add(row):
                self._rated += 1
            else:
                self._run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where(), "feedback without a message")

    def _read_shared(self) -> None:
        for row, rows in self._rows(SHARED):
            match row:
                case {"conversation_id": str(conversation_id), **about} if conversation_id:
                    self._around.shared.setdefault(conversation_id, []).append(about)
                case _:
                    self._run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where(), "a link to no conversation")

    def _read_library(self) -> None:
        for row, rows in self._rows(LIBRARY):
            if not isinstance(row, dict):
                self._run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where())
            elif self._around.assets.describe(row):
                self._run.folded("asset")
            else:
                self._run.skipped("not-exported")

    def _compare(self, manifest: JsonObject, conversations: set[str]) -> None:
        """Tell of files with conversations that the export's own list names and that are not there."""
        match manifest:
            case {"logical_files": {"conversations.json": {"files": list(listed)}}}:
                for name in listed:
                    if isinstance(name, str) and name not in conversations:
                        self._run.note(MISSING_MEMBER, MANIFEST, name, kept=False)
            case _:
                pass

    def _account_for_sides(self) -> None:
        """Say what became of the rows and files that waited for a conversation."""
        shared = self._around.shared
        linked = sum(len(links) for identifier, links in shared.items() if identifier in self._copies)
        rated = self._rated - self._around.feedback.unused
        if linked:
            self._run.folded("conversation", linked)
        if rated:
            self._run.folded("message", rated)
        if unused := self._around.feedback.unused + sum(map(len, shared.values())) - linked:
            self._run.skipped("not-exported", unused)
        if unseen := len(self._around.assets.unused()):
            self._run.read(unseen)
            self._run.skipped("unreferenced-asset", unseen)


def _name(raw: Any) -> str:
    """What a user knows a broken conversation by."""
    if not isinstance(raw, dict):
        return f"{_WORDS.get(type(raw), 'a number')} instead of a conversation"
    named = [str(raw[key]) for key in ("title", "conversation_id", "id") if isinstance(raw.get(key), str)]
    return f"no mapping of nodes in {' / '.join(named)!r:.200}" if named else "no mapping of nodes, no title, no id"


_WORDS = {type(None): "null", bool: "true or false", str: "a text", list: "a list"}
