"""A conversation in a terminal, message by message; every piece is made when it is printed."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.text import Text

from palaver.archive.conversation_totals import has_recorded_calls
from palaver.archive.messages import MessageSelection, StoredMessage, older_versions, select_messages
from palaver.archive.overview import Child, Copies, Copy, Overview, UnshownChildren, child_conversations
from palaver.archive.recorded_calls import recorded_call
from palaver.archive.short_ids import ShortIds
from palaver.archive.transcript import HiddenMessages, TranscriptEntry, UnplacedChildren, transcript_entries
from palaver.cli._terminal.blocks import INDENT, DisplayOptions, block_lines, measured
from palaver.cli._terminal.layout import cut, pointer
from palaver.cli._terminal.overview import other_branches
from palaver.cli._terminal.recorded_call import timing_note
from palaver.cli._terminal.words import counted, escaped_line, gist, local_time, short_number
from palaver.model.build import JsonObject
from palaver.prices import Prices

_WHO = {
    "human": "bold green",
    "model": "bold bright_blue",
    "tool": "bold cyan",
    "harness": "bold magenta",
    "user": "bold green",
    "assistant": "bold bright_blue",
    "system": "bold magenta",
    "function": "bold cyan",
}
_NOTE = "magenta"
_COPIED = {"usage": "counted in", "content": "copy of", "repeated": "repeats"}
_NESTED = 4


@dataclass(slots=True)
class _Previous:
    """What the last piece showed, and the next need not repeat."""

    who: str = ""
    time: str = ""
    day: str = ""
    model: str | None = None
    is_one_line: bool = False


class Transcript:
    def __init__(
        self,
        connection: sqlite3.Connection,
        options: DisplayOptions,
        short_ids: ShortIds,
        window_ms: int,
        prices: Prices | None = None,
    ) -> None:
        self._connection = connection
        self._options = options
        self._short_ids = short_ids
        self._window_ms = window_ms
        self._prices = prices
        self._has_recorded_calls = has_recorded_calls(connection)

    def pieces(self, overview: Overview, selection: MessageSelection) -> Iterator[Text]:
        """Yield the pieces of a conversation below its overview."""
        if selection.before:
            yield Text()
            yield Text(f"{counted(selection.before, 'message')} before", "dim")
        yield from self._conversation(
            _Context.of(self._connection, overview, self._window_ms), selection, self._options, (overview.key,)
        )
        if selection.after:
            yield Text()
            yield Text(f"{counted(selection.after, 'message')} more", "dim")

    def _conversation(
        self, context: "_Context", selection: MessageSelection, options: DisplayOptions, path: tuple[int, ...]
    ) -> Iterator[Text]:
        previous = _Previous()
        gutter = len(f"  :{len(selection.steps)}")
        options = options.narrower(gutter)
        for entry in transcript_entries(self._connection, selection, UnshownChildren(context.children)):
            match entry:
                case HiddenMessages():
                    yield Text()
                    yield Text(other_branches(entry.branches, entry.messages), f"dim {_NOTE}")
                    previous = _Previous(day=previous.day, model=previous.model)
                case UnplacedChildren():
                    yield Text()
                    yield Text("Also began in this conversation:", "dim")
                    for child in entry.children:
                        yield from self._child(child, options, path)
                case TranscriptEntry():
                    pieces = self._entry(entry, context, options, previous, path)
                    yield from _numbered(pieces, entry.number, options.width, gutter)

    def _entry(
        self,
        entry: TranscriptEntry,
        context: "_Context",
        options: DisplayOptions,
        previous: _Previous,
        path: tuple[int, ...],
    ) -> Iterator[Text]:
        message = entry.message
        if _is_folded(message) and not options.everything:
            if line := self._folded(entry, context, options, previous):
                if not previous.is_one_line:
                    yield Text()
                previous.is_one_line, previous.who = True, ""
                yield line
                for child in entry.children:
                    yield from self._child(child, options, path)
            return
        head = self._head(entry, context, options, previous)
        if head:
            yield Text()
            yield head
        previous.is_one_line = False
        if message.author_kind == "human":
            # People write Markdown rarely: `__init__` would lose its underscores.
            options = replace(options, markdown=False)
        children = list(entry.children)
        for block in entry.content:
            call = block.get("id") if block["type"] == "tool_use" else None
            lines = list(block_lines(block, options, context.project, entry.results.get(call) if call else None))
            if lines:
                yield Text("\n").join(lines)
            for child in [child for child in children if call and child.tool_use_id == call]:
                children.remove(child)
                yield from self._child(child, options, path)
        for child in children:
            yield from self._child(child, options, path)
        if options.revisions:
            yield from self._revisions(message, context, options)

    def _head(
        self, entry: TranscriptEntry, context: "_Context", options: DisplayOptions, previous: _Previous
    ) -> Text | None:
        """Return the line above a message; None where it would repeat the line above the last one."""
        message = entry.message
        who, style = _who(message)
        time = _time(message, previous)
        model = message.model if message.model != previous.model else None
        notes = [*self._notes(message, context, options)]
        is_target = _is_target(entry, options)
        if (who, time) == (previous.who, previous.time) and not (model or notes or is_target):
            return None
        previous.who, previous.time, previous.model = who, time, message.model or previous.model
        line = Text.assemble(_mark(is_target=is_target), (who, style), (f"  {time}", "dim"))
        if options.width is None:
            line.append(f"  :{entry.number}", "dim")
        return _with_notes(line, [Text(escaped_line(model), "dim"), *notes] if model else notes, options.width)

    def _notes(self, message: StoredMessage, context: "_Context", options: DisplayOptions) -> Iterator[Text]:
        metadata = message.metadata
        if message.is_off_path and options.ids:
            yield Text("other branch", _NOTE)
        if metadata.get("is_compact_summary") is True:
            yield Text("summary of the conversation so far", _NOTE)
        if metadata.get("subtype") == "compact_boundary":
            yield Text("context compacted here", _NOTE)
        if metadata.get("queued") is True:
            yield Text("queued", "dim")
        if copy := context.copies.copy_of(message):
            yield Text(self._copied(copy, context), _NOTE)
        if self._has_recorded_calls and message.author_kind == "model":
            call = recorded_call(self._connection, message)
            if call and (times := timing_note(call)):
                yield Text(times, "dim")
        if options.tokens and message.tokens:
            yield Text(_tokens(message.tokens, is_partial=bool(metadata.get("tokens_partial"))), "dim")
        if self._prices and message.tokens:
            model = message.model or context.model
            cost = self._prices.cost(model, message.tokens, message.timestamp, context.platform)
            yield Text(f"${cost.amount:.4f}" if cost else "no known price", "dim")
        if options.ids:
            yield Text(escaped_line(message.message_id), "dim")

    def _copied(self, copy: Copy, context: "_Context") -> str:
        first = copy.first
        if (first.platform, first.conversation_id) == (context.platform, context.conversation_id):
            first_copy = f"message {escaped_line(first.message_id)}"
        else:
            first_copy = escaped_line(self._short_ids.short_id(first.platform, first.conversation_id))
        return f"{_COPIED[copy.kind]} {first_copy}"

    def _folded(
        self, entry: TranscriptEntry, context: "_Context", options: DisplayOptions, previous: _Previous
    ) -> Text | None:
        """Return a message of the harness on one line; None if it is empty and was hidden."""
        message = entry.message
        text = "\n".join(block["text"] for block in entry.content if block["type"] == "text")
        kinds = [block["kind"] if block["type"] == "opaque" else block["type"] for block in entry.content]
        words = gist(text) or gist(", ".join(kind for kind in kinds if kind != "text"))
        is_target = _is_target(entry, options)
        if not words and message.metadata.get("hidden") and not is_target:
            return None
        who, style = _who(message)
        line = Text.assemble(_mark(is_target=is_target), (who, style), (f"  {_time(message, previous)}", "dim"))
        if options.width is None:
            line.append(f"  :{entry.number}", "dim")
        for note in self._notes(message, context, options):
            line.append("  ").append_text(note)
        size = f"  {measured(text)}" if text.strip() else ""
        width = 60 if options.width is None else options.width - line.cell_len - len(size) - 2
        return line.append(f"  {cut(words or '(empty)', max(width, 10))}{size}", "dim")

    def _child(self, child: Child, options: DisplayOptions, path: tuple[int, ...]) -> Iterator[Text]:
        name = escaped_line(self._short_ids.short_id(child.platform, child.conversation_id))
        kind = "agent" if child.is_sidechain else "goes on in"
        size = f"  {counted(child.messages, 'message')}"
        start = f"{' ' * 2 * INDENT}{kind} "
        width = 60 if options.width is None else options.width - len(start) - len(name) - len(size) - 2
        title = cut(gist(child.title), max(width, 10))
        yield Text.assemble((start, "dim"), (name, "cyan"), f"  {title}", (size, "dim"))
        if options.agents and child.is_sidechain and child.key not in path:
            context = _Context.of_child(self._connection, child, self._window_ms)
            selection = select_messages(self._connection, child.key)
            for piece in self._conversation(context, selection, options.narrower(_NESTED), (*path, child.key)):
                yield _nested(piece)

    def _revisions(self, message: StoredMessage, context: "_Context", options: DisplayOptions) -> Iterator[Text]:
        for revision in older_versions(self._connection, message):
            yield Text(f"{' ' * INDENT}another version, {_moment(revision['timestamp'])}", _NOTE)
            for block in revision["content"]:
                if lines := list(block_lines(block, options.narrower(INDENT), context.project)):
                    yield _nested(Text("\n").join(lines), INDENT)


@dataclass(frozen=True, slots=True)
class _Context:
    """The conversation's data that its messages need to be displayed."""

    platform: str
    conversation_id: str
    project: str | None
    model: str | None
    children: list[Child]
    copies: Copies

    @classmethod
    def of(cls, connection: sqlite3.Connection, overview: Overview, window_ms: int) -> "_Context":
        listed = overview.conversation
        copies = Copies(connection, overview.key, listed.platform, listed.conversation_id, window_ms)
        return cls(listed.platform, listed.conversation_id, listed.project, listed.model, overview.children, copies)

    @classmethod
    def of_child(cls, connection: sqlite3.Connection, child: Child, window_ms: int) -> "_Context":
        query = "select project, model from conversation where conversation_key = ?"
        project, model = connection.execute(query, (child.key,)).fetchone()
        children = child_conversations(connection, child.platform, child.conversation_id)
        copies = Copies(connection, child.key, child.platform, child.conversation_id, window_ms)
        return cls(child.platform, child.conversation_id, project, model, children, copies)


def _numbered(pieces: Iterator[Text], number: int, width: int | None, gutter: int) -> Iterator[Text]:
    """Add the number of a message to its first line, at the right edge of a terminal, where no other text is."""
    is_numbered = width is None
    for piece in pieces:
        if is_numbered or width is None or not piece.plain.strip():
            yield piece
            continue
        is_numbered = True
        first, *others = piece.split("\n")
        mark = f":{number}"
        padding = max(width - first.cell_len, 0) + gutter - len(mark)
        yield Text("\n").join([Text.assemble(first, (f"{'':{padding}}{mark}", "dim")), *others])


def _is_target(entry: TranscriptEntry, options: DisplayOptions) -> bool:
    return options.target is not None and options.target in {entry.message.key, *entry.answers}


def _mark(*, is_target: bool) -> tuple[str, str]:
    """Return what precedes the message that was asked for."""
    return (f"{pointer()} ", "bold") if is_target else ("", "")


def _with_notes(line: Text, notes: list[Text], width: int | None) -> Text:
    """Append notes to a line, on further lines where the width is exceeded."""
    length = line.cell_len
    for note in notes:
        length += note.cell_len + 2
        if width is not None and length > width:
            line.append("\n")
            length = INDENT + note.cell_len
        line.append("  ").append_text(note)
    return line


def _is_folded(message: StoredMessage) -> bool:
    return message.author_kind == "harness"


def _who(message: StoredMessage) -> tuple[str, str]:
    kind = message.author_kind or message.role
    word = "model as user" if kind == "model" and message.role == "user" else kind
    return word, _WHO.get(kind, "bold")


def _time(message: StoredMessage, previous: _Previous) -> str:
    """Return the time of day, with the date if it changed; `~` marks an inferred time."""
    moment = local_time(message.timestamp)
    if moment is None:
        return escaped_line(message.timestamp)
    day = f"{moment:%Y-%m-%d}"
    shown = f"{moment:%H:%M}" if day == previous.day else f"{moment:%Y-%m-%d %H:%M}"
    previous.day = day
    return f"~{shown}" if message.metadata.get("timestamp_inferred") is True else shown


def _moment(timestamp: str) -> str:
    moment = local_time(timestamp)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else escaped_line(timestamp)


def _tokens(tokens: JsonObject, *, is_partial: bool) -> str:
    names = {
        "input_tokens": "in",
        "output_tokens": "out",
        "cache_read_input_tokens": "cache read",
        "cache_creation_input_tokens": "cache write",
        "thinking_tokens": "thinking",
    }
    words = [f"{short_number(tokens[key])} {word}" for key, word in names.items() if isinstance(tokens.get(key), int)]
    return ", ".join(words) + " (before it was complete)" * is_partial


def _nested(piece: Text, indent: int = _NESTED) -> Text:
    mark = "  │ " if indent == _NESTED else " " * indent
    lines = [Text.assemble((mark, "dim"), line) for line in piece.split("\n")]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)
