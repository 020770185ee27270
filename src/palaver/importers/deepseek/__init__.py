"""DeepSeek: exports of chats, answers of the web service, trees of a browser extension.

Where the files are
    Where the user saved them. Settings, Data, Export data gives a ZIP with `conversations.json` and `user.json`; the
    ZIP, the folder it was unpacked to, and the bare file are read, also one chat alone and `{"conversations": [...]}`.
    Tools save what the web service answers (`{"code", "data": {"biz_data": {"chat_session", "chat_messages"}}}`), and
    the extension deepseek-exporter writes trees of `{id, type, content, thought, children}`. ChatGPT's and Claude's
    exports use the same file name: the shape decides. A tree of more than some 480 turns one below the other is nested
    too deeply to be read.

What comes out
    One conversation a chat; of the extension's trees, one a file, with an id made of its first prompt. Every branch is
    kept: `metadata.branch_index`, `branch_count` and `fork_point` where a message has siblings, `on_active_path` up to
    `current_message_id`, or, as exports have none, to the newest leaf. Message ids are the source's numbers, which
    repeat in every chat. The kinds of its fragments tell who speaks: REQUEST and FILE a person; RESPONSE,
    TEMPLATE_RESPONSE, THINK, SEARCH, READ_LINK and TOOL_* the model. A message without any has the role that it
    states, else `assistant` below a person's message and `user` elsewhere, marked `role_inferred`.
    Texts and thoughts are `text` and `thinking` blocks. A search or an opened page is a `tool_use` with the kind's name
    and, where its results were kept, a `tool_result` with their titles, addresses and snippets, and all of them as they
    were in its `metadata.results`. `[citation:3]` stays in the text; `citations` tell where it stands and which result
    it means. Attachments are `file` blocks with names and ids: no export holds their bytes. Other fields keep their
    names, on blocks as `source_fields`; those of the node around a message stand in `metadata.node`.
    `accumulated_token_usage` is a running total, so it is no message's `tokens`.

What is left out, and counted under these rules
    `account` (`user.json`: a name, an address, a telephone number; it is not opened), `copy` (a chat that
    the export holds twice, byte by byte). Not kept: `children` of nodes, which say what `parent` says, and the
    envelope of an answer as far as it says that nothing went wrong.
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
    record = "node with a message"
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
        from palaver.importers.deepseek.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = DeepSeek()
