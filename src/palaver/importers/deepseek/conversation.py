"""A chat as a document: its messages with their roles, times and places, and what belongs to the whole."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.importers.deepseek.fragments import Content, role_of, stated_role
from palaver.importers.deepseek.shapes import Chat, Turn
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp

Note = Callable[[FindingKind, str, str], None]
"""Told of a finding, with the place in the conversation, and words where its meaning does not suffice."""

PLATFORM = "deepseek"

OURS = frozenset(
    {*build.METADATA, "branch_index", "branch_count", "fork_point", "role_inferred"}
    | {"missing_parent", "node", "source_fields"}
)
"""Names that the importer itself gives; a source's field of the same name goes to `source_fields`."""
_AUTHORS = {"user": "human", "assistant": "model", "system": "harness", "tool": "tool"}


@dataclass(slots=True)
class Place:
    """Where a turn stands among the others."""

    name: str
    parent: str | None
    marks: JsonObject
    """What its message's metadata say about that."""

    @property
    def words(self) -> str:
        return f"message {self.name}"


def conversation_id(facts: JsonObject) -> str:
    match facts.get("id"):
        case str(stated) if stated:
            return stated
        case _:
            title = facts.get("title")
            return conversation_uuid(
                PLATFORM, readable_timestamp(facts.get("inserted_at")), title if isinstance(title, str) else ""
            )


class Writer:
    """Writes the document of one chat."""

    def __init__(self, chat: Chat, file_time: Callable[[], str], note: Note) -> None:
        self._chat = chat
        self._file_time = file_time
        self._note = note
        self.times = {name: readable_timestamp(turn.message.get("inserted_at")) for name, turn in chat.turns.items()}

    def document(self, conversation_id: str, places: list[Place]) -> JsonObject:
        facts = dict(self._chat.facts)
        if facts.get("id") == conversation_id:
            del facts["id"]
        title = facts.pop("title") if isinstance(facts.get("title"), str) else None
        created_at = self._taken(facts, "inserted_at")
        updated_at = self._taken(facts, "updated_at")
        if not created_at:
            created_at = min(filter(None, self.times.values()), default="") or self._file_time()
            self._note(INFERRED_TIMESTAMP, "", "the conversation has no time of its own")
        messages = self._messages(places, created_at)
        platform: JsonObject = {"name": PLATFORM}
        if model := self._model(messages):
            platform["model"] = model
        if metadata := {name: value for name, value in facts.items() if value is not None}:
            platform["metadata"] = metadata
        return build.conversation(
            conversation_id=conversation_id,
            title=title,
            platform=platform,
            created_at=created_at,
            updated_at=updated_at or None,
            messages=messages,
        )

    def _taken(self, facts: JsonObject, name: str) -> str:
        """A time out of the facts, where one that cannot be read remains."""
        time = readable_timestamp(facts.get(name))
        if time:
            del facts[name]
        elif facts.get(name) is not None:
            self._note(BAD_TIMESTAMP, "", f"{name} {facts[name]!r:.60}")
        return time

    def _model(self, messages: list[JsonObject]) -> str | None:
        """The model that answered most often; without an answer, the one that was asked most often."""
        answers = [message["message_id"] for message in messages if message["role"] == "assistant"]
        for names in (answers, self._chat.turns):
            stated = [self._chat.turns[name].message.get("model") for name in names]
            models = Counter(model for model in stated if isinstance(model, str) and model)
            if models:
                return models.most_common(1)[0][0]
        return None

    def _messages(self, places: list[Place], created_at: str) -> list[JsonObject]:
        messages: dict[str, JsonObject] = {}
        for place in places:
            parent = messages[place.parent] if place.parent is not None else None
            messages[place.name] = self._message(place, parent, created_at)
        return list(messages.values())

    def _message(self, place: Place, parent: JsonObject | None, created_at: str) -> JsonObject:
        turn = self._chat.turns[place.name]
        message = turn.message
        role = role_of(message)
        metadata: JsonObject = {}
        if role is None:
            role = "assistant" if parent is not None and parent["role"] == "user" else "user"
            metadata["role_inferred"] = True
        metadata["author_kind"] = _AUTHORS[role]
        content = Content(place.name, lambda kind, words: self._note(kind, place.words, words))
        content.add(message)
        mapped = {*content.mapped, *(("role",) if stated_role(message) == role else ())}
        if role == "assistant" and isinstance(model := message.get("model"), str):
            mapped.add("model")
            if model:
                metadata["model_override"] = model
        if timestamp := self.times[place.name]:
            mapped.add("inserted_at")
        else:
            timestamp = parent["timestamp"] if parent is not None else created_at
            metadata["timestamp_inferred"] = True
            if (stated := message.get("inserted_at")) is None:
                self._note(INFERRED_TIMESTAMP, place.words, "")
            else:
                self._note(BAD_TIMESTAMP, place.words, f"inserted_at {stated!r:.60}")
        metadata |= place.marks
        _keep_unmapped(turn, mapped, metadata)
        return build.message(
            message_id=place.name,
            parent_message_id=place.parent,
            role=role,
            timestamp=timestamp,
            content=content.blocks,
            metadata=metadata,
        )


def _keep_unmapped(turn: Turn, mapped: set[str], metadata: JsonObject) -> None:
    if turn.beside:
        metadata["node"] = turn.beside
    for name, value in turn.message.items():
        if name in mapped or value is None or value == "":
            continue
        if name in OURS:
            metadata.setdefault("source_fields", {})[name] = value
        else:
            metadata[name] = value
