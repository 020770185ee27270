"""CSV: one row per message, for spreadsheets and data frames.

RFC 4180: commas, double quotes, CR LF, a header; UTF-8 without a byte order mark. `text` is the text of the message,
`thinking` the thoughts of the model, `tool_text` the input and output of tools, each without markup. `position` counts
the messages of a conversation from 1, branches included. Token counts are the provider's own. `cost` is the cost that
the source states, `computed_cost` (US dollars) that of palaver's prices for messages that state none.

Left out are the structure of the content (blocks, citations, tool call ids), data in base64, summaries, tags, ratings
and other metadata.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return as a formula. Such a cell gets
an apostrophe in front; programs other than spreadsheets should remove it.
"""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO

from palaver.exporters._contract import MessageCost, PlatformTitle
from palaver.exporters._message_fields import (
    OpenConversations,
    author_kind,
    computed_cost,
    message_model,
    plain_decimal,
    project_path,
    stated_cost,
)
from palaver.model.block_text import block_texts
from palaver.model.build import JsonObject

_CACHE_COLUMNS = ("cache_creation_input_tokens", "cache_read_input_tokens")
_TOKEN_COLUMNS = ("input_tokens", "output_tokens", *_CACHE_COLUMNS, "thinking_tokens")
COLUMNS = (
    *("conversation_id", "platform", "title", "project", "message_id", "parent_message_id", "position", "timestamp"),
    *("role", "author_kind", "model", "text", "thinking", "tool_names", "tool_text", *_TOKEN_COLUMNS),
    *("cost", "currency", "computed_cost"),
)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Csv:
    title = "one row per message"
    suffix = ".csv"
    other_suffixes = ()

    def write(
        self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None, platform_title: PlatformTitle = str
    ) -> Iterator[bytes]:
        _ = platform_title  # programs compare ids
        conversations = OpenConversations()

        def rows(document: JsonObject) -> bytes:
            progress = conversations.enter(document)
            first = progress.messages + 1
            progress.messages += len(document["messages"])
            numbered = enumerate(document["messages"], first)
            return _rows(_row(message, document, number, cost) for number, message in numbered)

        yield _rows([COLUMNS])
        yield from filter(None, map(rows, documents))


def guard_formula(cell: str) -> str:
    """Return a cell that a spreadsheet shows as text even if it looks like a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


def _rows(rows: Iterable[Iterable[str]]) -> bytes:
    output = StringIO(newline="")
    csv.writer(output, lineterminator="\r\n").writerows(rows)
    return output.getvalue().encode()


def _row(message: JsonObject, document: JsonObject, position: int, cost: MessageCost | None) -> list[str]:
    texts: dict[str, list[str]] = {"text": [], "thinking": [], "tool": []}
    tools: list[str] = []
    for block in message["content"]:
        if block["type"] == "tool_use":
            tools.append(block["name"])
        for kind, text in block_texts(block):
            texts[kind].append(text)
    text, thinking, tool_text = ("\n".join(parts) for parts in texts.values())
    tokens = message.get("tokens") or {}
    computed = computed_cost(message, document, cost)
    cells = [
        *(
            document["conversation_id"],
            document["platform"]["name"],
            document.get("title") or "",
            project_path(document),
        ),
        *(message["message_id"], message.get("parent_message_id") or "", str(position), message["timestamp"]),
        *(message["role"], author_kind(message), message_model(message, document)),
        *(text, thinking, ", ".join(tools), tool_text),
        *("" if tokens.get(name) is None else str(tokens[name]) for name in _TOKEN_COLUMNS),
        *stated_cost(message),
        "" if computed is None else plain_decimal(computed),
    ]
    return [guard_formula(cell) for cell in cells]


EXPORTER = Csv()
