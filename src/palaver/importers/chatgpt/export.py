"""The reader of a whole export: its conversation files, one by one, and the other files that enrich them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.chat_exports import SeenConversations, conversation_files, open_elements
from palaver.importers._shared.findings import BAD_CONVERSATION, UNFORESEEN
from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.conversation import ExportContext, Feedback, document
from palaver.importers.chatgpt.formats import (
    ACCOUNT,
    ASSET_NAMES,
    COMPARISONS,
    FEEDBACK,
    LIBRARY,
    MANIFEST,
    PAGE,
    SERVICE,
    SHARED,
    comparison_conversation,
    is_export_member,
    is_page,
    page_elements,
)
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.small_files import count_file, json_document
from palaver.sources.source import Source

ODD_SIDE_ROW = finding_kind(
    "odd-side-row", "note", "A row of a file beside the conversations concerns none of them; it is left out."
)
NOT_EXPORTED = finding_kind(
    "not-exported", "note", "A file beside the conversations rates or shares chats that are not in the export."
)
MISSING_MEMBER = finding_kind(
    "missing-member", "error", "A file that the export's own list names is not in the export."
)

_READ_FILES = frozenset({FEEDBACK, SHARED, ASSET_NAMES, MANIFEST, LIBRARY, COMPARISONS})
"""The files beside the conversations that are not just counted."""
_LARGEST_EMPTY_BYTES = 8
"""Room for `null` and a line end."""


def _unwrapped(raw: Any) -> JsonObject | None:
    """Return a conversation, taken out of the wrapper of the tool that saved it; None if there is none."""
    if isinstance(raw, dict) and isinstance(raw.get("mapping"), dict):
        return raw
    found = SERVICE.unwrap(raw)
    if found is None:
        return None
    conversation, context = found
    return {**conversation, "wrapper": context}


class Export:
    """Reads an export, or a single file of one."""

    def __init__(self, source: Source, run: Run, assets_into: Path | None) -> None:
        self._source = source
        self._run = run
        self._feedback_rows = 0
        """How many rows of feedback name a message or a conversation."""
        self._copies = SeenConversations(run)
        self._members = self._export_members() if source.is_folder else []
        self._context = ExportContext(
            assets=Assets(source if source.is_folder else None, self._members, run, assets_into),
            feedback=Feedback(),
            shared={},
            fallback_time=source.written_at,
        )

    def read(self) -> Iterator[JsonObject]:
        if not self._source.is_folder:
            is_compared = self._run.form == "comparisons" or self._source.file_name == COMPARISONS
            convert = comparison_conversation if is_compared else _unwrapped
            yield from self._conversations(self._elements(self._source, ""), convert)
            return
        files = conversation_files(self._source)
        names = {file.name for file in files}
        self._context.is_sharded = names != {"conversations.json"}
        self._read_side_files(names)
        for file in files:
            yield from self._conversations(self._elements(file, file.name))
        if COMPARISONS in self._members and not self._is_empty(COMPARISONS):
            side = self._side_file(COMPARISONS)
            yield from self._conversations(open_elements(side, self._run, label=COMPARISONS), comparison_conversation)
        self._count_side_files()

    def _elements(self, source: Source, label: str) -> AbstractContextManager[JsonElements]:
        self._context.fallback_time = source.written_at
        if self._run.form == "page" or is_page(source):
            return page_elements(source, self._run)
        return open_elements(source, self._run, label=label)

    def _conversations(
        self, opened: AbstractContextManager[JsonElements], convert: Callable[[Any], JsonObject | None] = _unwrapped
    ) -> Iterator[JsonObject]:
        with opened as elements:
            for raw in elements:
                conversation = convert(raw)
                if conversation is None and convert is comparison_conversation:
                    self._skip_row(elements, "it compares no answers")
                    continue
                if conversation is None:
                    self._run.quarantined(BAD_CONVERSATION, elements.raw, elements.where(), _describe_broken(raw))
                    continue
                try:
                    converted = document(conversation, self._context, self._run, elements.where())
                except Exception as error:  # noqa: BLE001 - a bug must not lose the other conversations
                    message = f"{type(error).__name__}: {error}"
                    self._run.quarantined(UNFORESEEN, elements.raw, elements.where(), message)
                    continue
                # Free the parsed conversation while it is still in the processor's cache.
                del raw, conversation
                count = len(converted["messages"])
                elements.count_records(count)
                if self._copies.is_copy(converted["conversation_id"], elements.checksum(), elements.where()):
                    self._run.skipped("copy", count)
                else:
                    self._run.mapped(count)
                    yield converted

    def _export_members(self) -> list[str]:
        files, folders = self._source.listing()
        below = [name for folder in folders if is_export_member(folder) for name in self._source.folder.names(folder)]
        return [*filter(is_export_member, files), *below]

    def _side_file(self, name: str) -> Source:
        return Source(self._source.folder, name)

    def _is_empty(self, name: str) -> bool:
        side = self._side_file(name)
        try:
            return side.size_bytes <= _LARGEST_EMPTY_BYTES and side.head().strip() in {b"", b"null"}
        except (PalaverError, OSError):
            return False  # reading it tells what is wrong with it

    def _read_side_files(self, conversations: set[str]) -> None:
        """Read the files that enrich the conversations; count the others."""
        for name in self._members:
            if name in _READ_FILES and self._is_empty(name):
                count_file(self._side_file(name), self._run)
                self._run.note(ODD_SIDE_ROW, name, "the file is empty")
                self._run.skipped("odd-side-row")
            elif name == FEEDBACK:
                self._read_feedback()
            elif name == SHARED:
                self._read_shared()
            elif name == ASSET_NAMES:
                for names in self._objects(name):
                    self._context.assets.add_original_names(names)
            elif name == MANIFEST:
                for manifest in self._objects(name):
                    self._check_manifest(manifest, conversations)
            elif name == LIBRARY:
                self._read_library()
            elif name in ACCOUNT:
                count_file(self._side_file(name), self._run)
                self._run.skipped("account")
            elif name == PAGE:
                count_file(self._side_file(name), self._run)
                self._run.skipped("viewer-page")
            elif name != COMPARISONS and not self._context.assets.contains(name):
                count_file(self._side_file(name), self._run)
                self._run.skipped("no-conversation")

    def _objects(self, name: str) -> Iterator[JsonObject]:
        """Yield the one object of a side file."""
        for value in json_document(self._side_file(name), self._run):
            if isinstance(value, dict):
                self._run.folded("conversation")
                yield value
            else:
                self._run.note(ODD_SIDE_ROW, name, "it is not an object", kept=False)
                self._run.skipped("odd-side-row")

    def _rows(self, name: str) -> Iterator[tuple[Any, JsonElements]]:
        with open_elements(self._side_file(name), self._run, label=name) as rows:
            for row in rows:
                yield row, rows

    def _read_feedback(self) -> None:
        for row, rows in self._rows(FEEDBACK):
            if self._context.feedback.add(row):
                self._feedback_rows += 1
            else:
                self._skip_row(rows, "the feedback names neither a message nor a conversation")

    def _read_shared(self) -> None:
        for row, rows in self._rows(SHARED):
            match row:
                case {"conversation_id": str(conversation_id), **link} if conversation_id:
                    self._context.shared.setdefault(conversation_id, []).append(link)
                case _:
                    self._skip_row(rows, "the link names no conversation")

    def _read_library(self) -> None:
        for row, rows in self._rows(LIBRARY):
            if not isinstance(row, dict):
                self._skip_row(rows, "it is not an object")
            elif self._context.assets.add_library_row(row):
                self._run.folded("asset")
            else:
                self._run.skipped("not-exported")

    def _skip_row(self, rows: JsonElements, reason: str) -> None:
        self._run.note(ODD_SIDE_ROW, rows.where(), reason, kept=False)
        self._run.skipped("odd-side-row")

    def _check_manifest(self, manifest: JsonObject, conversations: set[str]) -> None:
        """Report conversation files that the export's own list names but that are missing."""
        match manifest:
            case {"logical_files": {"conversations.json": {"files": list(listed)}}}:
                for name in listed:
                    if isinstance(name, str) and name not in conversations:
                        self._run.note(MISSING_MEMBER, MANIFEST, name, kept=False)
            case _:
                pass

    def _count_side_files(self) -> None:
        """Count the rows and files that belong to a conversation, and those that do not."""
        shared = self._context.shared
        linked = sum(len(links) for identifier, links in shared.items() if identifier in self._copies)
        rated = self._feedback_rows - self._context.feedback.unused
        if linked:
            self._run.folded("conversation", linked)
        if rated:
            self._run.folded("message", rated)
        unlinked = sum(map(len, shared.values())) - linked
        self._skip_not_exported(FEEDBACK, self._context.feedback.unused, "rating")
        self._skip_not_exported(SHARED, unlinked, "shared link")
        if unseen := len(self._context.assets.unused()):
            self._run.read(unseen)
            self._run.skipped("unreferenced-asset", unseen)

    def _skip_not_exported(self, file: str, count: int, noun: str) -> None:
        if count:
            chats = f"{noun} belongs to a chat that is" if count == 1 else f"{noun}s belong to chats that are"
            self._run.note(NOT_EXPORTED, file, f"{count:,} {chats} not in the export", kept=False)
            self._run.skipped("not-exported", count)


def _describe_broken(raw: Any) -> str:
    """Return a description by which the user can find a broken conversation."""
    if not isinstance(raw, dict):
        return f"{_VALUE_NAMES.get(type(raw), 'a number')} instead of a conversation"
    named = [str(raw[key]) for key in ("title", "conversation_id", "id") if isinstance(raw.get(key), str)]
    return f"no mapping of nodes in {' / '.join(named)!r:.200}" if named else "no mapping of nodes, no title, no id"


_VALUE_NAMES = {type(None): "null", bool: "true or false", str: "a text", list: "a list"}
