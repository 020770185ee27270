"""Recognition and reading of files in any of DeepSeek's three shapes, and chats as documents."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.chat_exports import SeenConversations, Service, conversation_files, open_elements
from palaver.importers._shared.contract import Description, Match
from palaver.importers._shared.findings import (
    BAD_CONVERSATION,
    BAD_TIMESTAMP,
    INFERRED_TIMESTAMP,
    MISSING_PARENT,
    PARENT_CYCLE,
)
from palaver.importers._shared.message_tree import build_tree
from palaver.importers.deepseek.fragments import Content, role_of, stated_role
from palaver.importers.deepseek.shapes import (
    Chat,
    Turn,
    add_tree,
    find_chat,
    is_export,
    is_tree,
    is_web_response,
    node_id,
    resembles_tree,
)
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.run import Run
from palaver.sources.small_files import count_file
from palaver.sources.source import Source

Note = Callable[[FindingKind, str, str], None]
"""Callback that records a finding: its kind, its location in the conversation, and a message or an empty string."""
PLATFORM = "deepseek"
OWN_NAMES = frozenset(
    {*build.METADATA, "branch_index", "branch_count", "fork_point", "role_inferred"}
    | {"missing_parent", "node", "source_fields"}
)
"""Metadata names that the importer sets itself; a source field of the same name goes to `source_fields`."""
_AUTHORS = {"user": "human", "assistant": "model", "system": "harness", "tool": "tool"}
_ACCOUNT = "user.json"
EXPORT = Service(b'"mapping"', is_export, "chats of DeepSeek's export", lambda name: name == _ACCOUNT)
WEB_RESPONSE = Service(b'"chat_session"', is_web_response, "an answer of DeepSeek's web service")
DESCRIPTION = Description(own_names=OWN_NAMES)


@dataclass(slots=True)
class TreePosition:
    """Position of a turn in the tree."""

    message_id: str
    parent_id: str | None
    metadata: JsonObject
    """Metadata of the message about its position."""

    @property
    def label(self) -> str:
        return f"message {self.message_id}"


def recognize(source: Source) -> Match:
    found = EXPORT.recognizes(source)
    if found.verdict == "yes":
        return Match.yes(found.reason, found.members, "export", found.size_bytes)
    if source.is_folder:
        return Match.no()
    if WEB_RESPONSE.recognizes_file(source):
        return Match.yes(WEB_RESPONSE.reason, form="answer")
    if _holds_trees(source):
        return Match.maybe("prompts with answers below them, as deepseek-exporter writes them", form="tree")
    return Match.no()


def read_chats(source: Source, run: Run) -> Iterator[JsonObject]:
    reader = _Reader(run)
    if source.is_folder:
        for file in conversation_files(source):
            yield from reader.chats(file, label=file.name)
        if _ACCOUNT in source.listing()[0]:
            count_file(Source(source.folder, _ACCOUNT), run)
            run.skipped("account")
    else:
        yield from reader.chats(source)


def _holds_trees(source: Source) -> bool:
    if b'"thought"' not in source.head():
        return False
    match source.parsed_head():
        case list() as values:
            return any(is_tree(value) for value in values)
        case value:
            return is_tree(value)


class _Reader:
    """Reader of the files of one source."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._copies = SeenConversations(run)

    def chats(self, source: Source, *, label: str = "") -> Iterator[JsonObject]:
        tree_chat = Chat()
        with open_elements(source, self._run, label=label) as elements:
            for value in elements:
                if (chat := find_chat(value)) is not None:
                    elements.count_records(chat.records)
                    name = conversation_id(chat.fields)
                    if self._copies.is_copy(name, elements.checksum(), elements.where()):
                        self._run.skipped("copy", chat.records)
                    else:
                        yield self._document(chat, name, source, elements)
                elif self._run.form != "export" and resembles_tree(value):
                    elements.count_records(add_tree(tree_chat, value))
                else:
                    self._run.quarantined(BAD_CONVERSATION, elements.raw, elements.where(), _describe_unreadable(value))
            if tree_chat.turns:
                yield self._document(tree_chat, _tree_conversation_id(tree_chat), source, elements)

    def _document(self, chat: Chat, name: str, source: Source, elements: JsonElements) -> JsonObject:
        where = elements.where()
        for label, value in chat.malformed:
            raw = _to_bytes(value, elements.raw)
            self._run.quarantined(NOT_AN_OBJECT, raw, f"{where}, {label}")

        def note(kind: FindingKind, label: str, message: str) -> None:
            self._run.note(kind, f"{where}, {label}" if label else where, message)

        writer = DocumentWriter(chat, source.written_at, note)
        document = writer.document(name, _tree_positions(chat, writer.times, note))
        self._run.mapped(len(chat.turns))
        return document


def _tree_positions(chat: Chat, times: dict[str, str], note: Note) -> list[TreePosition]:
    """Return the positions of the turns in tree order, and note missing parents and cycles."""

    def age(name: str) -> str:
        # A prompt and its answers share one timestamp; later messages have greater numbers.
        return f"{times[name]} {name:0>12}" if name.isdecimal() else times[name]

    tree = build_tree({name: chat.parent_of(name) for name in chat.turns}, age)
    current = node_id(chat.fields.get("current_message_id"))
    if current in chat.turns:
        del chat.fields["current_message_id"]
    else:
        current = tree.newest_leaf(age)
    active = tree.path_to(current)
    lost = dict.fromkeys(tree.dangling, MISSING_PARENT) | dict.fromkeys(tree.circular, PARENT_CYCLE)
    positions: list[TreePosition] = []
    for name in tree.order:
        parent = tree.parents[name]
        position = TreePosition(name, parent, {"on_active_path": name in active})
        position.metadata |= tree.branch_metadata(name, parent)
        if name in chat.inferred_parents:
            position.metadata["parent_inferred"] = True
        if name in lost:
            position.metadata["missing_parent"] = chat.turns[name].parent
            note(lost[name], position.label, "")
        positions.append(position)
    return positions


def _tree_conversation_id(tree_chat: Chat) -> str:
    first = next(iter(tree_chat.turns.values())).message.get("content")
    return conversation_uuid(PLATFORM, "", first if isinstance(first, str) else "")


def conversation_id(fields: JsonObject) -> str:
    match fields.get("id"):
        case str(stated) if stated:
            return stated
        case _:
            title = fields.get("title")
            return conversation_uuid(
                PLATFORM, timestamp_or_empty(fields.get("inserted_at")), title if isinstance(title, str) else ""
            )


def _describe_unreadable(value: Any) -> str:
    """Describe an unreadable conversation by its id or title, or return an empty string."""
    if isinstance(value, dict):
        for key in ("id", "title"):
            if isinstance(stated := value.get(key), str) and stated:
                return f"no messages in the chat with the {key} {stated!r:.200}"
    return ""


def _to_bytes(value: Any, fallback: bytes) -> bytes:
    try:
        return json.dumps(value).encode()
    except (RecursionError, ValueError):
        return fallback


class DocumentWriter:
    """Builder of the document of one chat."""

    def __init__(self, chat: Chat, file_time: Callable[[], str], note: Note) -> None:
        self._chat = chat
        self._file_time = file_time
        self._note = note
        self.times = {name: timestamp_or_empty(turn.message.get("inserted_at")) for name, turn in chat.turns.items()}

    def document(self, conversation_id: str, positions: list[TreePosition]) -> JsonObject:
        fields = dict(self._chat.fields)
        if fields.get("id") == conversation_id:
            del fields["id"]
        title = fields.pop("title") if isinstance(fields.get("title"), str) else None
        created_at = self._take_time(fields, "inserted_at")
        updated_at = self._take_time(fields, "updated_at")
        if not created_at:
            created_at = min(filter(None, self.times.values()), default="") or self._file_time()
            self._note(INFERRED_TIMESTAMP, "", "the conversation has no time of its own")
        messages = self._messages(positions, created_at)
        platform: JsonObject = {"name": PLATFORM}
        if model := self._model(messages):
            platform["model"] = model
        if metadata := {name: value for name, value in fields.items() if value is not None}:
            platform["metadata"] = metadata
        return build.conversation(
            conversation_id=conversation_id,
            title=title,
            platform=platform,
            created_at=created_at,
            updated_at=updated_at or None,
            messages=messages,
        )

    def _take_time(self, fields: JsonObject, name: str) -> str:
        """Take a time out of the fields; one that cannot be read stays there."""
        time = timestamp_or_empty(fields.get(name))
        if time:
            del fields[name]
        elif fields.get(name) is not None:
            self._note(BAD_TIMESTAMP, "", f"{name} {fields[name]!r:.60}")
        return time

    def _model(self, messages: list[JsonObject]) -> str | None:
        """Return the model that answered most often; without an answer, the one that was asked most often."""
        answers = [message["message_id"] for message in messages if message["role"] == "assistant"]
        for names in (answers, self._chat.turns):
            stated = [self._chat.turns[name].message.get("model") for name in names]
            models = Counter(model for model in stated if isinstance(model, str) and model)
            if models:
                return models.most_common(1)[0][0]
        return None

    def _messages(self, positions: list[TreePosition], created_at: str) -> list[JsonObject]:
        messages: dict[str, JsonObject] = {}
        for position in positions:
            parent = messages[position.parent_id] if position.parent_id is not None else None
            messages[position.message_id] = self._message(position, parent, created_at)
        return list(messages.values())

    def _message(self, position: TreePosition, parent: JsonObject | None, created_at: str) -> JsonObject:
        turn = self._chat.turns[position.message_id]
        message = turn.message
        role = role_of(message)
        metadata: JsonObject = {}
        if role is None:
            role = "assistant" if parent is not None and parent["role"] == "user" else "user"
            metadata["role_inferred"] = True
        metadata["author_kind"] = _AUTHORS[role]
        content = Content(position.message_id, lambda kind, text: self._note(kind, position.label, text))
        content.add(message)
        mapped = {*content.mapped, *(("role",) if stated_role(message) == role else ())}
        if role == "assistant" and isinstance(model := message.get("model"), str):
            mapped.add("model")
            if model:
                metadata["model_override"] = model
        if timestamp := self.times[position.message_id]:
            mapped.add("inserted_at")
        else:
            timestamp = parent["timestamp"] if parent is not None else created_at
            metadata["timestamp_inferred"] = True
            if (stated := message.get("inserted_at")) is None:
                self._note(INFERRED_TIMESTAMP, position.label, "")
            else:
                self._note(BAD_TIMESTAMP, position.label, f"inserted_at {stated!r:.60}")
        metadata |= position.metadata
        _keep_unmapped(turn, mapped, metadata)
        return build.message(
            message_id=position.message_id,
            parent_message_id=position.parent_id,
            role=role,
            timestamp=timestamp,
            content=content.blocks,
            metadata=metadata,
        )


def _keep_unmapped(turn: Turn, mapped: set[str], metadata: JsonObject) -> None:
    if turn.node_fields:
        metadata["node"] = turn.node_fields
    for name, value in turn.message.items():
        if name in mapped or value is None or value == "":
            continue
        if name in OWN_NAMES:
            metadata.setdefault("source_fields", {})[name] = value
        else:
            metadata[name] = value
