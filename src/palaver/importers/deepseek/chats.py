"""The chats in files of any of the three shapes: which shape a file has, and its chats as documents."""

import json
from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers._shared.exports import BAD_CONVERSATION, Copies, Service, elements_of, files_in
from palaver.importers._shared.findings import MISSING_PARENT, PARENT_CYCLE
from palaver.importers._shared.tree import grow
from palaver.importers.deepseek.conversation import PLATFORM, Note, Place, Writer, conversation_id
from palaver.importers.deepseek.shapes import (
    Chat,
    add_tree,
    chat_in,
    is_answer,
    is_export,
    is_tree,
    link,
    resembles_tree,
)
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import conversation_uuid
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import counted

_ACCOUNT = "user.json"

EXPORT = Service(b'"mapping"', is_export, "chats of DeepSeek's export", lambda name: name == _ACCOUNT)
ANSWER = Service(b'"chat_session"', is_answer, "an answer of DeepSeek's web service")


def recognize(source: Source) -> Match:
    found = EXPORT.recognizes(source)
    if found.verdict == "yes":
        return Match.yes(found.reason, found.members, "export", found.size_bytes)
    if source.is_folder:
        return Match.no()
    if ANSWER.owns(source):
        return Match.yes(ANSWER.reason, form="answer")
    if _holds_trees(source):
        return Match.maybe("prompts with answers below them, as deepseek-exporter writes them", form="tree")
    return Match.no()


def read_chats(source: Source, run: Run) -> Iterator[JsonObject]:
    reader = _Reader(run)
    if source.is_folder:
        for file in files_in(source):
            yield from reader.chats(file, label=file.name)
        if _ACCOUNT in source.listing()[0]:
            counted(Source(source.folder, _ACCOUNT), run)
            run.skipped("account")
    else:
        yield from reader.chats(source)


def _holds_trees(source: Source) -> bool:
    if b'"thought"' not in source.head():
        return False
    match source.glimpse():
        case list() as values:
            return any(is_tree(value) for value in values)
        case value:
            return is_tree(value)


class _Reader:
    """Reads the files of one source."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._copies = Copies(run)

    def chats(self, source: Source, *, label: str = "") -> Iterator[JsonObject]:
        trees = Chat()
        with elements_of(source, self._run, label=label) as elements:
            for value in elements:
                if (chat := chat_in(value)) is not None:
                    elements.holds(chat.records)
                    name = conversation_id(chat.facts)
                    if self._copies.holds(name, elements.checksum(), elements.where()):
                        self._run.skipped("copy", chat.records)
                    else:
                        yield self._document(chat, name, source, elements)
                elif self._run.form != "export" and resembles_tree(value):
                    elements.holds(add_tree(trees, value))
                else:
                    self._run.quarantined(BAD_CONVERSATION, elements.raw, elements.where(), _words_for(value))
            if trees.turns:
                yield self._document(trees, _name_of_trees(trees), source, elements)

    def _document(self, chat: Chat, name: str, source: Source, elements: JsonElements) -> JsonObject:
        where = elements.where()
        for place, value in chat.broken:
            raw = _bytes(value, elements.raw)
            self._run.quarantined(NOT_AN_OBJECT, raw, f"{where}, {place}")

        def note(kind: FindingKind, place: str, words: str) -> None:
            self._run.note(kind, f"{where}, {place}" if place else where, words)

        writer = Writer(chat, source.written_at, note)
        document = writer.document(name, _places(chat, writer.times, note))
        self._run.mapped(len(chat.turns))
        return document


def _places(chat: Chat, times: dict[str, str], note: Note) -> list[Place]:
    """The turns in the order of the tree, with what can be said about where they stand."""

    def age(name: str) -> str:
        # A prompt and its answers share one time; the numbers of later messages are greater.
        return f"{times[name]} {name:0>12}" if name.isdecimal() else times[name]

    tree = grow({name: chat.parent_of(name) for name in chat.turns}, age)
    current = link(chat.facts.get("current_message_id"))
    if current in chat.turns:
        del chat.facts["current_message_id"]
    else:
        current = tree.newest_leaf(age)
    active = tree.path_to(current)
    lost = dict.fromkeys(tree.dangling, MISSING_PARENT) | dict.fromkeys(tree.circular, PARENT_CYCLE)
    places: list[Place] = []
    for name in tree.order:
        parent = tree.parents[name]
        place = Place(name, parent, {"on_active_path": name in active})
        place.marks |= tree.fork(name, parent)
        if name in chat.adopted:
            place.marks["parent_inferred"] = True
        if name in lost:
            place.marks["missing_parent"] = chat.turns[name].parent
            note(lost[name], place.words, "")
        places.append(place)
    return places


def _name_of_trees(trees: Chat) -> str:
    first = next(iter(trees.turns.values())).message.get("content")
    return conversation_uuid(PLATFORM, "", first if isinstance(first, str) else "")


def _words_for(value: Any) -> str:
    """Words by which its owner may know a conversation that cannot be read; empty where there are none."""
    if isinstance(value, dict):
        for key in ("id", "title"):
            if isinstance(stated := value.get(key), str) and stated:
                return f"no messages in the chat with the {key} {stated!r:.200}"
    return ""


def _bytes(value: Any, around: bytes) -> bytes:
    try:
        return json.dumps(value).encode()
    except (RecursionError, ValueError):
        return around
