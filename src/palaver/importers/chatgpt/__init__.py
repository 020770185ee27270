"""ChatGPT: data exports of every generation, as a ZIP, an unpacked folder or a bare file.

Where the files are
    Wherever the browser put them: the ZIP that OpenAI sends by mail, its unpacked folder, `conversations.json` or
    `conversations-000.json`, …, a single conversation, or `chat.html` if nothing else is left.

What comes out
    One document per conversation, with all its branches: `metadata.on_active_path` marks the messages that were shown
    last; `branch_index`, `branch_count` and `fork_point` are set where branches diverge. The message id is the node's
    key. Messages that the service does not show are `hidden`. A model's message to a tool is a `tool_use`, the tool's
    message a `tool_result`. Citation markers stay in the text; `citations` give their positions and their sources.
    Images, sounds and files name their member of the export, or with `-O assets=DIR` the file they were copied to,
    which is named after its content. Thumbs up and down are attached to their messages, and summed up as the `rating`.
    Two answers that were shown side by side (`model_comparisons.json`) are a conversation with two branches; a
    comparison of an unknown shape is a conversation of one message, which holds it whole. Ids of projects and custom
    GPTs, links under which a conversation was shared, and unmapped fields are in `platform.metadata`;
    `export_generation` there names the format of the export, one of three.

What is left out, and counted under these rules
    `account` (`user.json` and `user_settings.json` are never opened), `viewer-page` (`chat.html` repeats the
    conversations), `no-conversation` (files about advertisements, purchases, videos and the like), `copy` (a
    conversation that the export holds twice, byte by byte), `not-exported` (ratings, links and rows of the file
    library for what the export does not hold; a note counts the ratings and links), `odd-side-row` (rows of these files
    that name nothing, with a note), `unreferenced-asset` (files that no message shows). Dropped: fields without
    information (null, false, empty, the status of a complete message, its weight of 1, the recipient `all`),
    the `children` of nodes, which follow from their parents, the ids of users and workspaces in feedback, and data
    about the user's network in comparisons.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class ChatGPT:
    title = "ChatGPT"
    platform = "chatgpt"
    revision = 3
    record = "node with a message"
    missing_usage = "ChatGPT's export has no token counts."
    export_menu = "Settings > Data controls"

    @property
    def options(self) -> "type[Options]":
        from palaver.importers.chatgpt.description import ChatGPTOptions

        return ChatGPTOptions

    def locations(self) -> list[Path]:
        return []

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.chatgpt.formats import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.chatgpt.export import Export

        yield from Export(source, run, run.options.assets if run.options else None).read()

    def reopening(self, conversation_id: str, project: str | None, files: list[Path]) -> str | None:  # noqa: ARG002 - the protocol's parameters
        """Return the address of a conversation whose id is the service's own."""
        from palaver.model.ids import is_platform_uuid

        return f"https://chatgpt.com/c/{conversation_id}" if is_platform_uuid(conversation_id) else None

    def describes(self) -> Description:
        from palaver.importers.chatgpt.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = ChatGPT()
