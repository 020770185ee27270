"""A conversation in a terminal, message after message; each piece is made when it is printed."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from palaver.archive.children import Child, Children, children_of
from palaver.archive.copies import Copies, Copy
from palaver.archive.entries import Entry, LeftOut, Unplaced, entries
from palaver.archive.naming import Names
from palaver.archive.overview import Overview
from palaver.archive.viewing import Selection, Viewed, revisions_of, select
from palaver.cli._terminal.blocks import INDENT, Look, lines_of, measured
from palaver.cli._terminal.overview import other_branches
from palaver.cli._terminal.words import amount, counted, gist, local, plain
from palaver.cli._terminal.wrapping import cut
from palaver.model.build import JsonObject
from palaver.prices import Prices

_WHO = {
    "human": "bold green",
    "model": "bold blue",
    "tool": "bold yellow",
    "harness": "bold magenta",
    "user": "bold green",
    "assistant": "bold blue",
    "system": "bold magenta",
    "function": "bold yellow",
}
_COPIED = {"usage": "counted in", "content": "copy of", "repeated": "repeats"}
_NESTED = 4


@dataclass(slots=True)
class _Before:
    """What the last piece has told already, so that it need not be told again."""

    who: str = ""
    time: str = ""
    day: str = ""
    model: str | None = None
    is_one_line: bool = False


class Transcript:
    def __init__(
        self, connection: sqlite3.Connection, look: Look, names: Names, window_ms: int, prices: Prices | None = None
    ) -> None:
        self._connection = connection
        self._look = look
        self._names = names
        self._window_ms = window_ms
        self._prices = prices

    def pieces(self, about: Overview, selection: Selection) -> Iterator[Text]:
        """What is shown of a conversation behind its head."""
        if selection.before:
            yield Text(f"{counted(selection.before, 'message')} before", "dim")
        yield from self._conversation(
            _Shown.of(self._connection, about, self._window_ms), selection, self._look, (about.key,)
        )
        if selection.after:
            yield Text()
            yield Text(f"{counted(selection.after, 'message')} more", "dim")

    def _conversation(self, shown: "_Shown", selection: Selection, look: Look, path: tuple[int, ...]) -> Iterator[Text]:
        before = _Before()
        for entry in entries(self._connection, selection, Children(shown.children)):
            match entry:
                case LeftOut():
                    yield Text()
                    yield Text(other_branches(entry.branches, entry.messages), "dim yellow")
                    before = _Before(day=before.day, model=before.model)
                case Unplaced():
                    yield Text()
                    yield Text("Began in this conversation, too:", "dim")
                    for child in entry.children:
                        yield from self._child(child, look, path)
                case Entry():
                    yield from self._entry(entry, shown, look, before, path)

    def _entry(
        self, entry: Entry, shown: "_Shown", look: Look, before: _Before, path: tuple[int, ...]
    ) -> Iterator[Text]:
        message = entry.message
        if _is_folded(message) and not look.everything:
            if line := self._folded(entry, shown, look, before):
                if not before.is_one_line:
                    yield Text()
                before.is_one_line, before.who = True, ""
                yield line
                for child in entry.children:
                    yield from self._child(child, look, path)
            return
        head = self._head(message, shown, look, before)
        if head:
            yield Text()
            yield head
        before.is_one_line = False
        children = list(entry.children)
        for block in entry.content:
            call = block.get("id") if block["type"] == "tool_use" else None
            lines = list(lines_of(block, look, shown.project, entry.results.get(call) if call else None))
            if lines:
                yield Text("\n").join(lines)
            for child in [child for child in children if call and child.tool_use_id == call]:
                children.remove(child)
                yield from self._child(child, look, path)
        for child in children:
            yield from self._child(child, look, path)
        if look.revisions:
            yield from self._revisions(message, shown, look)

    # -- who said it, and when ----------------------------------------------------------------------------------------

    def _head(self, message: Viewed, shown: "_Shown", look: Look, before: _Before) -> Text | None:
        """Nothing where it would say the same as the head above."""
        who, style = _who(message)
        time = _time(message, before)
        model = message.model if message.model != before.model else None
        notes = [*self._notes(message, shown, look)]
        if (who, time) == (before.who, before.time) and not (model or notes):
            return None
        before.who, before.time, before.model = who, time, message.model or before.model
        line = Text.assemble((who, style), (f"  {time}", "dim"))
        return _lengthened(line, [Text(plain(model), "dim"), *notes] if model else notes, look.width)

    def _notes(self, message: Viewed, shown: "_Shown", look: Look) -> Iterator[Text]:
        metadata = message.metadata
        if message.is_off_path and look.ids:
            yield Text("other branch", "yellow")
        if metadata.get("is_compact_summary") is True:
            yield Text("summary of what was said before", "yellow")
        if metadata.get("subtype") == "compact_boundary":
            yield Text("the context was compacted here", "yellow")
        if metadata.get("queued") is True:
            yield Text("queued", "dim")
        if copy := shown.copies.copy_of(message):
            yield Text(self._copied(copy, shown), "yellow")
        if look.tokens and message.tokens:
            yield Text(_tokens(message.tokens, is_partial=bool(metadata.get("tokens_partial"))), "dim")
        if self._prices and message.tokens:
            model = message.model or shown.model
            cost = self._prices.cost(model, message.tokens, message.timestamp, shown.platform)
            yield Text(f"${cost.amount:.4f}" if cost else "no known price", "dim")
        if look.ids:
            yield Text(plain(message.message_id), "dim")

    def _copied(self, copy: Copy, shown: "_Shown") -> str:
        first = copy.first
        if (first.platform, first.conversation_id) == (shown.platform, shown.conversation_id):
            place = f"message {plain(first.message_id)}"
        else:
            place = plain(self._names.short(first.platform, first.conversation_id))
        return f"{_COPIED[copy.kind]} {place}"

    # -- what belongs to it -------------------------------------------------------------------------------------------

    def _folded(self, entry: Entry, shown: "_Shown", look: Look, before: _Before) -> Text | None:
        """What the program around the model said, on one line; nothing if it said nothing and nobody saw it."""
        message = entry.message
        said = "\n".join(block["text"] for block in entry.content if block["type"] == "text")
        kinds = [block["kind"] if block["type"] == "opaque" else block["type"] for block in entry.content]
        words = gist(said) or gist(", ".join(kind for kind in kinds if kind != "text"))
        if not words and message.metadata.get("hidden"):
            return None
        who, style = _who(message)
        line = Text.assemble((who, style), (f"  {_time(message, before)}", "dim"))
        for note in self._notes(message, shown, look):
            line.append("  ").append_text(note)
        size = f"  {measured(said)}" if said.strip() else ""
        room = 60 if look.width is None else look.width - line.cell_len - len(size) - 2
        return line.append(f"  {cut(words or '(empty)', max(room, 10))}{size}", "dim")

    def _child(self, child: Child, look: Look, path: tuple[int, ...]) -> Iterator[Text]:
        name = plain(self._names.short(child.platform, child.conversation_id))
        kind = "agent" if child.is_sidechain else "goes on in"
        size = f"  {counted(child.messages, 'message')}"
        start = f"{' ' * 2 * INDENT}{kind} "
        room = 60 if look.width is None else look.width - len(start) - len(name) - len(size) - 2
        title = cut(gist(child.title), max(room, 10))
        yield Text.assemble((start, "dim"), (name, "cyan"), f"  {title}", (size, "dim"))
        if look.sidechains and child.is_sidechain and child.key not in path:
            shown = _Shown.of_child(self._connection, child, self._window_ms)
            selection = select(self._connection, child.key)
            for piece in self._conversation(shown, selection, look.narrower(_NESTED), (*path, child.key)):
                yield _nested(piece)

    def _revisions(self, message: Viewed, shown: "_Shown", look: Look) -> Iterator[Text]:
        for revision in revisions_of(self._connection, message):
            yield Text(f"{' ' * INDENT}another version, {_moment(revision['timestamp'])}", "yellow")
            for block in revision["content"]:
                if lines := list(lines_of(block, look.narrower(INDENT), shown.project)):
                    yield _nested(Text("\n").join(lines), INDENT)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What of a conversation its messages need to be shown."""

    platform: str
    conversation_id: str
    project: str | None
    model: str | None
    children: list[Child]
    copies: Copies

    @classmethod
    def of(cls, connection: sqlite3.Connection, about: Overview, window_ms: int) -> "_Shown":
        listed = about.listed
        copies = Copies(connection, about.key, listed.platform, listed.conversation_id, window_ms)
        return cls(listed.platform, listed.conversation_id, listed.project, listed.model, about.children, copies)

    @classmethod
    def of_child(cls, connection: sqlite3.Connection, child: Child, window_ms: int) -> "_Shown":
        query = "select project, model from conversation where conversation_key = ?"
        project, model = connection.execute(query, (child.key,)).fetchone()
        children = children_of(connection, child.platform, child.conversation_id)
        copies = Copies(connection, child.key, child.platform, child.conversation_id, window_ms)
        return cls(child.platform, child.conversation_id, project, model, children, copies)


def _lengthened(line: Text, notes: list[Text], width: int | None) -> Text:
    """A line with notes behind it, and below where there is no room."""
    room = line.cell_len
    for note in notes:
        room += note.cell_len + 2
        if width is not None and room > width:
            line.append("\n")
            room = INDENT + note.cell_len
        line.append("  ").append_text(note)
    return line


def _is_folded(message: Viewed) -> bool:
    return message.author_kind == "harness"


def _who(message: Viewed) -> tuple[str, str]:
    kind = message.author_kind or message.role
    word = "model as user" if kind == "model" and message.role == "user" else kind
    return word, _WHO.get(kind, "bold")


def _time(message: Viewed, before: _Before) -> str:
    """The time of day, with the day where it is another one; a time that was inferred says so."""
    moment = local(message.timestamp)
    if moment is None:
        return plain(message.timestamp)
    day = f"{moment:%Y-%m-%d}"
    shown = f"{moment:%H:%M}" if day == before.day else f"{moment:%Y-%m-%d %H:%M}"
    before.day = day
    return f"~{shown}" if message.metadata.get("timestamp_inferred") is True else shown


def _moment(timestamp: str) -> str:
    moment = local(timestamp)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else plain(timestamp)


def _tokens(tokens: JsonObject, *, is_partial: bool) -> str:
    names = {
        "input_tokens": "in",
        "output_tokens": "out",
        "cache_read_input_tokens": "cache read",
        "cache_creation_input_tokens": "cache write",
        "thinking_tokens": "thinking",
    }
    words = [f"{amount(tokens[key])} {word}" for key, word in names.items() if isinstance(tokens.get(key), int)]
    return ", ".join(words) + " (before it was complete)" * is_partial


def _nested(piece: Text, indent: int = _NESTED) -> Text:
    mark = "  │ " if indent == _NESTED else " " * indent
    lines = [Text.assemble((mark, "dim"), line) for line in piece.split("\n")]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)
