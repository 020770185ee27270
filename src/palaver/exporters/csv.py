"""CSV: one row a message, for spreadsheets and data frames.

RFC 4180: commas, double quotes, CR LF, a header; UTF-8 without a byte order mark. `text` is what was said, `thinking`
what the model thought, `tool_text` what tools were given and gave back, each without markup; bytes in base64 are left
out. `position` counts the messages of a conversation from 1, branches included. Token counts are the provider's own.
`cost` is what the source stated, `computed_cost` (US dollars) what palaver's prices say of messages that state none.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return as a formula, whoever wrote
it: such a cell gets an apostrophe in front, which whoever reads the file otherwise takes off again.
"""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO

from palaver.exporters._contract import MessageCost
from palaver.exporters._facts import (
    OpenConversations,
    author_kind,
    computed_cost,
    model,
    plain,
    project,
    stated_cost,
)
from palaver.model.build import JsonObject
from palaver.model.text import block_texts

_CACHE_TOKENS = ("cache_creation_input_tokens", "cache_read_input_tokens")
_TOKENS = ("input_tokens", "output_tokens", *_CACHE_TOKENS, "thinking_tokens")
COLUMNS = (
    *("conversation_id", "platform", "title", "project", "message_id", "parent_message_id", "position", "timestamp"),
    *("role", "author_kind", "model", "text", "thinking", "tool_names", "tool_text", *_TOKENS),
    *("cost", "currency", "computed_cost"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Csv:
    title = "one row a message"
    suffix = ".csv"

    def write(self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None) -> Iterator[bytes]:
        conversations = OpenConversations()

        def rows(document: JsonObject) -> bytes:
            progress = conversations.enter(document)
            first = progress.written + 1
            progress.written += len(document["messages"])
            numbered = enumerate(document["messages"], first)
            return _rows(_row(message, document, number, cost) for number, message in numbered)

        yield _rows([COLUMNS])
        yield from filter(None, map(rows, documents))


def guarded(cell: str) -> str:
    """The cell as text, where a spreadsheet would take it for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _rows(rows: Iterable[Iterable[str]]) -> bytes:
    written = StringIO(newline="")
    csv.writer(written, lineterminator="\r\n").writerows(rows)
    return written.getvalue().encode()


def _row(message: JsonObject, document: JsonObject, position: int, cost: MessageCost | None) -> list[str]:
    texts: dict[str, list[str]] = {"text": [], "thinking": [], "tool": []}
    tools: list[str] = []
    for block in message["content"]:
        if block["type"] == "tool_use":
            tools.append(block["name"])
        for kind, words in block_texts(block):
            texts[kind].append(words)
    said, thought, used = ("\n".join(words) for words in texts.values())
    tokens = message.get("tokens") or {}
    computed = computed_cost(message, document, cost)
    cells = [
        *(document["conversation_id"], document["platform"]["name"], document.get("title") or "", project(document)),
        *(message["message_id"], message.get("parent_message_id") or "", str(position), message["timestamp"]),
        *(message["role"], author_kind(message), model(message, document)),
        *(said, thought, ", ".join(tools), used),
        *("" if tokens.get(name) is None else str(tokens[name]) for name in _TOKENS),
        *stated_cost(message),
        "" if computed is None else plain(computed),
    ]
    return [guarded(cell) for cell in cells]


EXPORTER = Csv()
