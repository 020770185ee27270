"""Claude.ai: data exports, as a ZIP, a folder or single files, and conversations saved from the site's own API.

Where the files are
    Wherever the export was downloaded to (Settings, Privacy, Export data): a ZIP or folder with `conversations.json` or
    `conversations/<uuid>.json`, beside them `projects.json` or `projects/<uuid>.json`, `memories.json`, `users.json`.
    Each file can also be read by itself, as can a single conversation, a list of conversations, or
    `{"conversations": [...]}`. Files are recognized by their shape, not by their names.

What comes out
    One conversation for each, with its id from the service. Messages that name their parents (2026) are in tree order
    with all branches, `on_active_path`, and `branch_index`, `branch_count` and `fork_point` where there are several;
    older lists are one chain. Blocks come from `content`; `text`, which repeats it, is kept in the metadata if no
    single block contains it. Attachments are `file` blocks with the extracted text; files have only names and ids. Tool
    calls without ids get generated ones, and results are paired with them by name and order. An automatic summary goes
    to `summaries`.
    A project is a conversation `project:<uuid>` with one system message: description, instructions, and a `file` block
    for each document. Memory is a conversation `memory:<account uuid>`, with a system message for the whole and one for
    each project. The ledger counts each project and each memory as one record.

What is left out, and counted under these rules
    `account` (`users.json`, which is not opened), `copy` (what the export holds twice, byte for byte).
    Dropped from conversations and projects: `account` and `creator`, which identify their owner.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class ClaudeAi:
    title = "Claude.ai"
    platform = "claude_ai"
    revision = 1
    record = "message"
    missing_usage = "Claude.ai's export has no token counts."
    export_menu = "Settings > Privacy"
    options = no_options

    def locations(self) -> list[Path]:
        return []

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.claude_ai.export import Export, contents_of

        if not source.is_folder:
            return Match.yes(reason) if (reason := contents_of(source)) else Match.no()
        export = Export.detect(source)
        if export is None:
            return Match.no()
        members = tuple(file.name for file in export.files())
        size_bytes = sum(file.size_bytes for file in (*export.conversations, *export.projects, *export.memories))
        return Match.yes("a folder of conversations with `chat_messages`", members, size_bytes=size_bytes)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.claude_ai.conversation import read_files

        yield from read_files(source, run)

    def reopening(self, conversation_id: str, project: str | None, files: list[Path]) -> str | None:  # noqa: ARG002 - the protocol's parameters
        """Return the address of a conversation whose id is the service's own."""
        from palaver.model.ids import is_platform_uuid

        return f"https://claude.ai/chat/{conversation_id}" if is_platform_uuid(conversation_id) else None

    def describes(self) -> Description:
        from palaver.importers.claude_ai.conversation import DESCRIPTION

        return DESCRIPTION


IMPORTER = ClaudeAi()
