"""One conversation of an export: its tree of nodes with all branches, its metadata, and the feedback on it.

An export stores thumbs up and down in a separate file; they are attached to their messages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.message import MessageReader
from palaver.importers.chatgpt.nodes import Nodes
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run

_UP, _DOWN = 5, 1
_DROPPED_FEEDBACK_FIELDS = frozenset(
    {"id", "conversation_id", "user_id", "content", "workspace_id", "storage_protocol"}
)


class Feedback:
    """The rows of `message_feedback.json`, by message and by conversation."""

    def __init__(self) -> None:
        self.rows: dict[str, JsonObject] = {}
        self._without_message: dict[str, list[JsonObject]] = {}
        """Rows that name a conversation only."""
        self._unused_without_message = 0
        self._conversations: dict[str, list[str]] = {}
        self._used: set[str] = set()

    def add(self, row: Any) -> bool:
        """Add a row; return False if it names neither a message nor a conversation."""
        match row:
            case {"id": str(message_id), **rest} if message_id:
                feedback = _readable_row(rest)
                if message_id in self.rows:
                    feedback["earlier"] = self.rows[message_id]
                elif isinstance((conversation_id := rest.get("conversation_id")), str):
                    self._conversations.setdefault(conversation_id, []).append(message_id)
                self.rows[message_id] = feedback
                return True
            case {"conversation_id": str(conversation_id), **rest} if conversation_id:
                self._without_message.setdefault(conversation_id, []).append(_readable_row(rest))
                self._unused_without_message += 1
                return True
            case _:
                return False

    def attach(self, conversation_id: str, messages: list[JsonObject]) -> None:
        """Attach the feedback on a conversation's messages to their metadata."""
        rated = self._conversations.get(conversation_id)
        if not rated:
            return
        named = {str(message["metadata"].get("id")): message for message in messages}
        named.update({message["message_id"]: message for message in messages})
        for message_id in rated:
            if message_id in named:
                named[message_id]["metadata"]["feedback"] = self.rows[message_id]
                self._used.add(message_id)

    def take_unmatched(self, conversation_id: str) -> list[JsonObject]:
        """Return the feedback on a conversation that is not on a message of the export, and count it as used."""
        left = [
            message_id for message_id in self._conversations.get(conversation_id, ()) if message_id not in self._used
        ]
        self._used.update(left)
        whole = self._without_message.pop(conversation_id, [])
        self._unused_without_message -= len(whole)
        return [*({"message_id": message_id, **self.rows[message_id]} for message_id in left), *whole]

    def rating(self, conversation_id: str) -> JsonObject | None:
        """Return one rating for a conversation: the mean score, all texts, the time of the last; None without any."""
        rows = [self.rows[message_id] for message_id in self._conversations.get(conversation_id, ())]
        rows += self._without_message.get(conversation_id, ())
        scores = [_UP if "up" in row["rating"].lower() else _DOWN for row in rows if isinstance(row.get("rating"), str)]
        if not scores:
            return None
        rating: JsonObject = {"score": round(sum(scores) / len(scores), 2)}
        if words := [row["text"] for row in rows if isinstance(row.get("text"), str) and row["text"]]:
            rating["feedback"] = "\n".join(words)
        if times := [
            time for row in rows if (time := timestamp_or_empty(row.get("update_time") or row.get("create_time")))
        ]:
            rating["rated_at"] = max(times)
        return rating

    @property
    def unused(self) -> int:
        return len(self.rows) - len(self._used) + self._unused_without_message


def _readable_row(row: JsonObject) -> JsonObject:
    """Return a row without ids, with the fields of its `content`, which is JSON in a string."""
    plain = {name: value for name, value in row.items() if name not in _DROPPED_FEEDBACK_FIELDS and value is not None}
    content = row.get("content")
    try:
        content_fields = parse(content) if isinstance(content, str) else content
    except NOT_JSON:
        content_fields = content
    if isinstance(content_fields, dict):
        plain = {**content_fields, **plain}
    elif content_fields is not None:
        plain["content"] = content_fields
    return plain


PLATFORM = "chatgpt"

_MAPPED_FIELDS = frozenset({"mapping", "compared_conversation_id"})
_NUMBERS = (int, float)


@dataclass(slots=True)
class ExportContext:
    """What the other files of an export contain about its conversations."""

    assets: Assets
    feedback: Feedback
    shared: dict[str, list[JsonObject]]
    """The links under which a conversation was shared, by conversation id."""
    fallback_time: Callable[[], str]
    is_sharded: bool = False


def conversation_id_of(raw: JsonObject) -> str:
    """Return the service's id of a conversation, or one derived from its content."""
    for name in ("conversation_id", "id"):
        if isinstance((found := raw.get(name)), str) and found:
            return found
    return conversation_uuid(PLATFORM, raw.get("create_time"), "-".join([str(raw.get("title")), *raw["mapping"]]))


def document(raw: JsonObject, context: ExportContext, run: Run, where: str) -> JsonObject:
    """Build the document of a conversation; every node with a message becomes one message."""
    nodes = Nodes(raw["mapping"], run, where)
    conversation_id = conversation_id_of(raw)
    created_at = timestamp_or_empty(raw.get("create_time")) or nodes.earliest() or context.fallback_time()
    nodes.resolve(raw.get("current_node"), created_at)
    reader = MessageReader(run, context.assets, where)
    messages = reader.messages(nodes)
    context.feedback.attach(conversation_id, messages)
    rating = context.feedback.rating(conversation_id)
    return build.conversation(
        conversation_id=conversation_id,
        title=title if isinstance((title := raw.get("title")), str) else None,
        platform={
            "name": PLATFORM,
            **_model(raw, reader.models),
            "metadata": _platform_metadata(raw, nodes, context, conversation_id),
        },
        session=_session(raw, reader.fork_point),
        created_at=created_at,
        updated_at=timestamp_or_empty(raw.get("update_time")) or None,
        status="archived" if raw.get("is_archived") is True else None,
        messages=messages,
        rating=rating,
    )


def _platform_metadata(raw: JsonObject, nodes: Nodes, context: ExportContext, conversation_id: str) -> JsonObject:
    """Return the conversation's fields that are not mapped, or whose value could not be mapped."""
    metadata: JsonObject = {"export_generation": _generation(nodes, context)}
    for name, value in raw.items():
        # Null, false and empty values carry no information; zero does.
        if (value or value.__class__ in _NUMBERS) and name not in _MAPPED_FIELDS:
            metadata[name] = value
    for name in ("id", "conversation_id"):
        if metadata.get(name) == conversation_id:
            del metadata[name]
    for name in ("create_time", "update_time"):
        if timestamp_or_empty(metadata.get(name)):
            del metadata[name]
        elif name in metadata:
            nodes.note_bad_time(name, metadata[name])
    if isinstance(metadata.get("title"), str):
        del metadata["title"]
    gizmo = raw.get("gizmo_id")
    if isinstance(gizmo, str) and gizmo:
        metadata["project_id" if gizmo.startswith("g-p-") else "custom_gpt_id"] = metadata.pop("gizmo_id")
    if nodes.unmapped_fields:
        metadata["nodes"] = nodes.unmapped_fields
    if shared := context.shared.get(conversation_id):
        metadata["shared"] = shared
    if elsewhere := context.feedback.take_unmatched(conversation_id):
        metadata["feedback"] = elsewhere
    return metadata


def _model(raw: JsonObject, answered: dict[str, int]) -> JsonObject:
    """Return the model that answered most; `auto` is a choice, not a model."""
    answered.pop(_AUTO_MODEL, None)
    if answered:
        return {"model": max(answered, key=lambda model: answered[model])}
    default = raw.get("default_model_slug")
    return {"model": default} if isinstance(default, str) and default not in {"", _AUTO_MODEL} else {}


_AUTO_MODEL = "auto"


def _generation(nodes: Nodes, context: ExportContext) -> str:
    for message in nodes.messages.values():
        if "weight" not in message and "status" not in message:
            return "lean"
        break
    return "sharded" if context.is_sharded else "classic"


def _session(raw: JsonObject, fork_point: str | None) -> JsonObject | None:
    """Return the link to the conversation that this one was compared with or branched off from."""
    compared = raw.get("compared_conversation_id")
    if isinstance(compared, str) and compared:
        return {"parent_conversation_id": compared}
    return {"fork_point": fork_point} if fork_point else None
