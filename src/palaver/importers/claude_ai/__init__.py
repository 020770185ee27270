"""Claude.ai: data exports, as a ZIP, a folder or single files, and conversations saved from the site's own API.

Where the files are
    Wherever the export was downloaded to (Settings, Privacy, Export data): a ZIP or folder with `conversations.json` or
    `conversations/<uuid>.json`, beside them `projects.json` or `projects/<uuid>.json`, `memories.json`, `users.json`.
    Each of them is read by itself as well, and so is one conversation, a list of some, or `{"conversations": [...]}`.
    Files are known by their shape, not by their names.

What comes out
    One conversation for each, with the id that the service gave it. Messages that name their parents (2026) stand in
    the order of their tree with all branches, `on_active_path`, and `branch_index`, `branch_count` and `fork_point`
    where there are several; older lists are one chain. The content is that of `content`; `text`, which repeats it, is
    kept in the metadata where it is not found within one block. Attachments are `file` blocks with the text that was
    extracted, files are known by their names and ids. Tool calls without ids get some, and results are paired with them
    by name and order. An automatic summary stands in `summaries`.
    A project is a conversation `project:<uuid>` with one system message: description, instructions, and a `file` block
    for each document. Memory is a conversation `memory:<account uuid>`, with a system message for the whole and one for
    each project. The ledger counts a project, and a memory, as one.

What is left out, and counted under these rules
    `account` (`users.json`, which is not opened), `copy` (what the export holds twice, byte by byte).
    Not kept from the conversations and projects: `account` and `creator`, which say whose they are.
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
    record = "message"
    options = no_options

    def locations(self) -> list[Path]:
        return []

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.claude_ai.export import Export, owns

        if not source.is_folder:
            return Match.yes(reason) if (reason := owns(source)) else Match.no()
        export = Export.found(source)
        if export is None:
            return Match.no()
        members = tuple(file.name for file in export.files())
        size_bytes = sum(file.size_bytes for file in (*export.conversations, *export.projects, *export.memories))
        return Match.yes("a folder of conversations with `chat_messages`", members, size_bytes=size_bytes)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.claude_ai.files import read_files

        yield from read_files(source, run)

    def describes(self) -> Description:
        from palaver.importers.claude_ai.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = ClaudeAi()
