"""Markdown: conversations to read, to keep with notes, and to paste.

A conversation is a first-level heading followed by a list of its properties, and a message is a second-level heading
that names its author: `Human` for what a person typed, `Harness` for what the program around the model inserted, `Tool`
for what a tool returned. Messages are in document order, with all branches; a message on an abandoned branch says so,
and one that does not follow the message above it names its predecessor. In a folder, every conversation is a file, and
`index.md` links them, the newest first.

Text remains Markdown. So that it cannot imitate the structure of the document, its headings move two levels down, parts
with HTML are shown in a fence, and an unclosed fence is closed. Thoughts, tool calls and results are folded
(`<details>`). Pictures and files are links.

Left out are messages that the platform hides and that hold no text, embedded data (only its type and size are shown),
ids of messages and tool calls, and metadata. Numbers of messages count those that are left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from urllib.parse import unquote

from palaver.exporters._blocks import block_markdown, link_target
from palaver.exporters._contract import IndexEntry, MessageCost, PlatformTitle
from palaver.exporters._message_fields import (
    OpenConversations,
    Progress,
    author_kind,
    computed_cost,
    is_last,
    message_model,
    metadata,
    plain_decimal,
    stated_cost,
)
from palaver.exporters._prose import code, inline, prose
from palaver.model.build import JsonObject

_AUTHORS = {"human": "Human", "model": "Model", "tool": "Tool", "harness": "Harness"}
_TOKENS = (
    ("input_tokens", "in"),
    ("output_tokens", "out"),
    ("cache_read_input_tokens", "read from cache"),
    ("cache_creation_input_tokens", "written to cache"),
    ("thinking_tokens", "thinking"),
)
_TOTALS = (("input", "in"), ("output", "out"), ("cache_read", "read from cache"))
_INDEX_MARK = "<!-- index of palaver export: the next export into this folder replaces it -->"
_INDEX_LINE = re.compile(r"- \d{4}-\d\d-\d\d \d\d:\d\d · \[.*\]\(<([^<>]+)>\)")


class Markdown:
    title = "text to read and to paste"
    suffix = ".md"
    other_suffixes = (".markdown",)
    index_name = "index.md"

    def write(
        self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None, platform_title: PlatformTitle = str
    ) -> Iterator[bytes]:
        conversations = OpenConversations()
        current: tuple[str, str] | None = None

        def text(document: JsonObject) -> bytes:
            nonlocal current
            progress = conversations.enter(document)
            key = document["platform"]["name"], document["conversation_id"]
            parts: list[str] = []
            if not progress.is_continued or key != current:
                parts = list(_header(document, platform_title, is_continued=progress.is_continued))
            current = key
            for message in document["messages"]:
                parts += _message(message, document, progress, cost)
            if progress.is_continued and is_last(document):
                parts += _totals(document)
            return ("\n\n".join(parts) + "\n\n").encode()

        yield from map(text, documents)

    def previous_entries(self, page: str) -> dict[str, str] | None:
        if not page.startswith(_INDEX_MARK):
            return None
        lines = page.splitlines()
        return {unquote(found[1]): line for line in lines if (found := _INDEX_LINE.match(line))}

    def index(self, entries: Sequence[IndexEntry], previous: dict[str, str]) -> bytes:
        lines = {**previous, **{entry.file_name: _index_line(entry) for entry in entries}}
        page = [_INDEX_MARK, "# Conversations"]
        newest_first = sorted(lines.values(), reverse=True)
        for month, group in groupby(newest_first, key=lambda line: line[2:9]):
            page += [f"## {month}", "\n".join(group)]
        return ("\n\n".join(page) + "\n").encode()


def _index_line(entry: IndexEntry) -> str:
    """Return the entry of a file in the index; entries sort by time."""
    when = f"{entry.created_at[:10]} {entry.created_at[11:16]}"
    amount = f"{entry.messages:,} message{'s' * (entry.messages != 1)}"
    link = f"[{inline(entry.title) or code(entry.file_name)}]({link_target(entry.file_name)})"
    return " · ".join([f"- {when}", link, inline(entry.platform_title), amount, *(["agent"] if entry.is_agent else [])])


def _header(document: JsonObject, platform_title: PlatformTitle, *, is_continued: bool) -> Iterator[str]:
    title = inline(document.get("title") or "") or code(document["conversation_id"])
    yield f"# {title}{' (continued)' if is_continued else ''}"
    if is_continued:
        return
    yield "\n".join(f"- {name}: {value}" for name, value in _header_fields(document, platform_title) if value)
    for summary in document.get("summaries") or ():
        yield f"**Summary** ({_time(summary['timestamp'])})"
        yield prose(summary["text"])


def _header_fields(document: JsonObject, platform_title: PlatformTitle) -> Iterator[tuple[str, str]]:
    platform = document["platform"]
    session = document.get("session") or {}
    workspace = (document.get("context") or {}).get("workspace") or {}
    branch = workspace.get("git_branch")
    version = code(platform["version"]) if platform.get("version") else ""
    yield "Platform", f"{inline(platform_title(platform['name']))} {version}".strip()
    yield "Conversation", code(document["conversation_id"])
    if parent := session.get("parent_conversation_id"):
        yield ("Agent of" if session.get("is_sidechain") else "Continues"), code(parent)
    if path := workspace.get("path"):
        yield "Project", code(path) + (f", branch {code(branch)}" if branch else "")
    yield "Started", _time(document["created_at"])
    yield "Updated", _time(document.get("updated_at") or "")
    models = dict.fromkeys(message_model(message, document) for message in document["messages"])
    yield "Models", ", ".join(code(name) for name in models if name)
    yield "Tags", ", ".join(inline(tag) for tag in document.get("tags") or ())
    if is_last(document):
        yield "Totals", _sums(document)


def _totals(document: JsonObject) -> Iterator[str]:
    if sums := _sums(document):
        yield f"*Total: {sums}*"


def _sums(document: JsonObject) -> str:
    metrics = document.get("metrics") or {}
    tokens = metrics.get("total_tokens") or {}
    messages = metrics.get("total_messages")
    sums = [] if messages is None else [f"{messages:,} message{'s' * (messages != 1)}"]
    sums += [f"{tokens[name]:,} tokens {label}" for name, label in _TOTALS if tokens.get(name)]
    amount, currency = stated_cost({"cost": metrics.get("total_cost")})
    return ", ".join([*sums, f"{amount} {inline(currency)}"] if amount else sums)


def _message(message: JsonObject, document: JsonObject, progress: Progress, cost: MessageCost | None) -> Iterator[str]:
    progress.messages += 1
    parts = [part for value in message["content"] for part in block_markdown(value, progress.calls)]
    notes = list(_notes(message, document, progress, cost))
    if metadata(message).get("hidden") and not parts and not list(_figures(message, document, cost)):
        progress.numbers[message["message_id"]] = progress.numbers.get(message.get("parent_message_id") or "", 0)
        return
    progress.numbers[message["message_id"]] = progress.last_shown = progress.messages
    author = _AUTHORS.get(author_kind(message)) or message["role"].capitalize()
    heading = [str(progress.messages), author, inline(message_model(message, document)), _time(message["timestamp"])]
    yield f"## {' · '.join(filter(None, heading))}"
    if notes:
        yield f"*{' · '.join(notes)}*"
    yield from parts


def _notes(message: JsonObject, document: JsonObject, progress: Progress, cost: MessageCost | None) -> Iterator[str]:
    flags = metadata(message)
    if flags.get("on_active_path") is False:
        yield "on an abandoned branch"
    if flags.get("hidden"):
        yield "hidden by the platform"
    if flags.get("timestamp_inferred"):
        yield "time inferred"
    parent = message.get("parent_message_id")
    number = progress.numbers.get(parent or "")
    if parent and number != progress.last_shown:
        # Only messages that are left out have the number 0: those before the first that is shown.
        place = code(parent) if number is None else str(number) if number else "the beginning"
        yield f"follows {place}"
    for conversation_id in flags.get("sidechain_conversation_ids") or ():
        yield f"started {code(conversation_id)}"
    yield from _figures(message, document, cost)


def _figures(message: JsonObject, document: JsonObject, cost: MessageCost | None) -> Iterator[str]:
    tokens = message.get("tokens") or {}
    counts = [f"{tokens[name]:,} {label}" for name, label in _TOKENS if tokens.get(name)]
    if counts:
        yield f"tokens: {', '.join(counts)}"
    amount, currency = stated_cost(message)
    if amount:
        yield f"cost: {amount} {inline(currency)}"
    if (computed := computed_cost(message, document, cost)) is not None:
        yield f"computed cost: {plain_decimal(computed)} USD"


def _time(timestamp: str) -> str:
    return f"{timestamp[:10]} {timestamp[11:19]} UTC" if timestamp else ""


EXPORTER = Markdown()
