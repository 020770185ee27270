"""DeepSeek: exports of chats, answers of the web service, trees of a browser extension.

Where the files are
    Where the user saved them. Settings, Data, Export data gives a ZIP with `conversations.json` and `user.json`; the
    ZIP, the unpacked folder, and the bare file can be read, as can a single chat and `{"conversations": [...]}`.
    Tools save responses of the web service (`{"code", "data": {"biz_data": {"chat_session", "chat_messages"}}}`), and
    the extension deepseek-exporter writes trees of `{id, type, content, thought, children}`. ChatGPT's and Claude's
    exports use the same file name: the shape decides. A tree with a chain of more than about 480 turns is nested too
    deeply to be read.

What comes out
    One conversation per chat; for the extension's trees, one per file, with an id derived from its first prompt. Every
    branch is kept: `metadata.branch_index`, `branch_count` and `fork_point` where a message has siblings,
    `on_active_path` up to `current_message_id`, or, as exports have none, to the newest leaf. Message ids are the
    source's numbers, which repeat in every chat. The types of its fragments determine a message's role: REQUEST and
    FILE mean the user; RESPONSE, TEMPLATE_RESPONSE, THINK, SEARCH, READ_LINK and TOOL_* the model. A message without
    fragments has the role it states, else `assistant` below a user's message and `user` elsewhere, marked
    `role_inferred`.
    Texts and thoughts are `text` and `thinking` blocks. A search or an opened page is a `tool_use` named after the
    fragment type and, if the source has its results, a `tool_result` with their titles, addresses and snippets, and the
    unchanged results in its `metadata.results`. `[citation:3]` stays in the text; `citations` give its position and the
    result it refers to. Attachments are `file` blocks with names and ids: no export holds their bytes. Other fields
    keep their names, on blocks as `source_fields`; those of the node around a message go to `metadata.node`.
    `accumulated_token_usage` is a running total, so it does not become a message's `tokens`.

What is left out, and counted under these rules
    `account` (`user.json`: a name, an address, a telephone number; it is not opened), `copy` (a chat that
    the export holds twice, byte for byte). Dropped: `children` of nodes, which repeat `parent`, and the envelope of a
    response as far as it only reports success.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class DeepSeek:
    title = "DeepSeek"
    platform = "deepseek"
    revision = 1
    record = "node with a message"
    missing_usage = "DeepSeek's export has no token counts."
    export_menu = "Settings > Data"
    options = no_options

    def locations(self) -> list[Path]:
        return []

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.deepseek.chats import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.deepseek.chats import read_chats

        yield from read_chats(source, run)

    def describes(self) -> Description:
        from palaver.importers.deepseek.chats import DESCRIPTION

        return DESCRIPTION


IMPORTER = DeepSeek()
