"""Markdown: conversations to read, to store with notes, and to paste.

A conversation is a first-level heading followed by a list of its properties, and a message is a second-level heading
that names its author: `Human` for what a person typed, `Harness` for what the program around the model inserted, `Tool`
for what a tool returned. Messages are in document order, with all branches; a message off the active path is labelled,
and one that does not follow the message above it names its predecessor.

Text remains Markdown. So that it cannot imitate the structure of the document, its headings move two levels down, parts
with HTML are shown in a fence, and an unclosed fence is closed. Thoughts, calls and results are folded (`<details>`).
Pictures and files are links; for data embedded in a document, only the type and size are shown.
"""

from collections.abc import Iterable, Iterator

from palaver.exporters._blocks import block_markdown
from palaver.exporters._contract import MessageCost
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
    ("cache_read_input_tokens", "read from the cache"),
    ("cache_creation_input_tokens", "written to the cache"),
    ("thinking_tokens", "thinking"),
)
_TOTALS = (("input", "in"), ("output", "out"), ("cache_read", "read from the cache"))


class Markdown:
    title = "text to read and to paste"
    suffix = ".md"

    def write(self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None) -> Iterator[bytes]:
        conversations = OpenConversations()
        current: tuple[str, str] | None = None

        def text(document: JsonObject) -> bytes:
            nonlocal current
            progress = conversations.enter(document)
            key = document["platform"]["name"], document["conversation_id"]
            parts: list[str] = []
            if not progress.is_continued or key != current:
                parts = list(_header(document, is_continued=progress.is_continued))
            current = key
            for message in document["messages"]:
                parts += _message(message, document, progress, cost)
            if progress.is_continued and is_last(document):
                parts += _totals(document)
            return ("\n\n".join(parts) + "\n\n").encode()

        yield from map(text, documents)


def _header(document: JsonObject, *, is_continued: bool) -> Iterator[str]:
    title = inline(document.get("title") or "") or code(document["conversation_id"])
    yield f"# {title}{' (continued)' if is_continued else ''}"
    if is_continued:
        return
    yield "\n".join(f"- {name}: {value}" for name, value in _header_fields(document) if value)
    for summary in document.get("summaries") or ():
        yield f"**Summary** ({_time(summary['timestamp'])})"
        yield prose(summary["text"])


def _header_fields(document: JsonObject) -> Iterator[tuple[str, str]]:
    platform = document["platform"]
    session = document.get("session") or {}
    workspace = (document.get("context") or {}).get("workspace") or {}
    branch = workspace.get("git_branch")
    yield "Platform", " ".join(code(platform[name]) for name in ("name", "version") if platform.get(name))
    yield "Conversation", code(document["conversation_id"])
    if parent := session.get("parent_conversation_id"):
        yield ("Agent of" if session.get("is_sidechain") else "Continues"), code(parent)
    if path := workspace.get("path"):
        yield "Project", code(path) + (f", branch {code(branch)}" if branch else "")
    yield "Began", _time(document["created_at"])
    yield "Last changed", _time(document.get("updated_at") or "")
    models = dict.fromkeys(message_model(message, document) for message in document["messages"])
    yield "Models", ", ".join(code(name) for name in models if name)
    yield "Tags", ", ".join(inline(tag) for tag in document.get("tags") or ())
    if is_last(document):
        yield "Totals", _sums(document)


def _totals(document: JsonObject) -> Iterator[str]:
    if sums := _sums(document):
        yield f"*Altogether: {sums}*"


def _sums(document: JsonObject) -> str:
    metrics = document.get("metrics") or {}
    tokens = metrics.get("total_tokens") or {}
    messages = metrics.get("total_messages")
    sums = [] if messages is None else [f"{messages:,} message{'s' * (messages != 1)}"]
    sums += [f"{tokens[name]:,} tokens {label}" for name, label in _TOTALS if tokens.get(name)]
    amount, currency = stated_cost({"cost": metrics.get("total_cost")})
    return ", ".join([*sums, f"{amount} {inline(currency)}"] if amount else sums)


def _message(message: JsonObject, document: JsonObject, progress: Progress, cost: MessageCost | None) -> Iterator[str]:
    progress.written += 1
    progress.numbers[message["message_id"]] = progress.written
    author = _AUTHORS.get(author_kind(message)) or message["role"].capitalize()
    heading = [str(progress.written), author, inline(message_model(message, document)), _time(message["timestamp"])]
    yield f"## {' · '.join(filter(None, heading))}"
    if notes := list(_notes(message, document, progress, cost)):
        yield f"*{' · '.join(notes)}*"
    for value in message["content"]:
        yield from block_markdown(value, progress.calls)


def _notes(message: JsonObject, document: JsonObject, progress: Progress, cost: MessageCost | None) -> Iterator[str]:
    flags = metadata(message)
    if flags.get("on_active_path") is False:
        yield "left behind: off the active path"
    if flags.get("hidden"):
        yield "not shown by the platform"
    if flags.get("timestamp_inferred"):
        yield "time inferred"
    parent = message.get("parent_message_id")
    if parent and progress.numbers.get(parent) != progress.written - 1:
        number = progress.numbers.get(parent)
        yield f"follows {number}" if number else f"follows {code(parent)}"
    for conversation_id in flags.get("sidechain_conversation_ids") or ():
        yield f"started {code(conversation_id)}"
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
