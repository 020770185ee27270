"""Markdown: conversations to read, to keep beside notes, and to paste.

A conversation is a heading of the first level with a list of facts below it, a message one of the second level that
says who wrote it: `Human` is what a person typed, `Harness` what the program around the model put in, `Tool` what a
tool gave back. Messages stand in the order of the document, with all branches; one that was left behind says so, and
one that does not follow the message above it names the one that it follows.

Texts stay the Markdown that they are. So that they cannot pass for parts of the document, their headings go two levels
down, parts with HTML are shown in a fence, and a fence that is never closed is closed. Thoughts, calls and results are
folded (`<details>`). Pictures and files are links; bytes that a document holds itself are only named, with their size.
"""

from collections.abc import Iterable, Iterator

from palaver.exporters._blocks import block
from palaver.exporters._contract import MessageCost
from palaver.exporters._facts import (
    OpenConversations,
    Progress,
    author_kind,
    computed_cost,
    is_last,
    metadata,
    model,
    plain,
    stated_cost,
)
from palaver.exporters._prose import code, inline, prose
from palaver.model.build import JsonObject

_WHO = {"human": "Human", "model": "Model", "tool": "Tool", "harness": "Harness"}
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
    yield "\n".join(f"- {name}: {told}" for name, told in _facts(document) if told)
    for summary in document.get("summaries") or ():
        yield f"**Summary** ({_time(summary['timestamp'])})"
        yield prose(summary["text"])


def _facts(document: JsonObject) -> Iterator[tuple[str, str]]:
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
    models = dict.fromkeys(model(message, document) for message in document["messages"])
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
    told = [] if messages is None else [f"{messages:,} message{'s' * (messages != 1)}"]
    told += [f"{tokens[name]:,} tokens {words}" for name, words in _TOTALS if tokens.get(name)]
    amount, currency = stated_cost({"cost": metrics.get("total_cost")})
    return ", ".join([*told, f"{amount} {inline(currency)}"] if amount else told)


def _message(message: JsonObject, document: JsonObject, progress: Progress, cost: MessageCost | None) -> Iterator[str]:
    progress.written += 1
    progress.numbers[message["message_id"]] = progress.written
    who = _WHO.get(author_kind(message)) or message["role"].capitalize()
    heading = [str(progress.written), who, inline(model(message, document)), _time(message["timestamp"])]
    yield f"## {' · '.join(filter(None, heading))}"
    if notes := list(_notes(message, document, progress, cost)):
        yield f"*{' · '.join(notes)}*"
    for value in message["content"]:
        yield from block(value, progress.calls)


def _notes(message: JsonObject, document: JsonObject, progress: Progress, cost: MessageCost | None) -> Iterator[str]:
    marks = metadata(message)
    if marks.get("on_active_path") is False:
        yield "left behind: off the active path"
    if marks.get("hidden"):
        yield "not shown by the platform"
    if marks.get("timestamp_inferred"):
        yield "time inferred"
    parent = message.get("parent_message_id")
    if parent and progress.numbers.get(parent) != progress.written - 1:
        number = progress.numbers.get(parent)
        yield f"follows {number}" if number else f"follows {code(parent)}"
    for conversation_id in marks.get("sidechain_conversation_ids") or ():
        yield f"started {code(conversation_id)}"
    tokens = message.get("tokens") or {}
    counts = [f"{tokens[name]:,} {words}" for name, words in _TOKENS if tokens.get(name)]
    if counts:
        yield f"tokens: {', '.join(counts)}"
    amount, currency = stated_cost(message)
    if amount:
        yield f"cost: {amount} {inline(currency)}"
    if (computed := computed_cost(message, document, cost)) is not None:
        yield f"computed cost: {plain(computed)} USD"


def _time(timestamp: str) -> str:
    return f"{timestamp[:10]} {timestamp[11:19]} UTC" if timestamp else ""


EXPORTER = Markdown()
