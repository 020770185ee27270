"""Thumbs up and down, which an export keeps in a file of their own, brought back to the messages they are about."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp
from palaver.sources.parse import NOT_JSON, parse

_UP, _DOWN = 5, 1
_LEFT_OUT = frozenset({"id", "conversation_id", "user_id", "content", "workspace_id", "storage_protocol"})


class Feedback:
    """The rows of `message_feedback.json`, by message and by conversation."""

    def __init__(self) -> None:
        self.rows: dict[str, JsonObject] = {}
        self._conversations: dict[str, list[str]] = {}
        self._used: set[str] = set()

    def add(self, row: Any) -> bool:
        """Take a row in; False for one that names no message."""
        match row:
            case {"id": str(message_id), **rest} if message_id:
                said = _plain(rest)
                if message_id in self.rows:
                    said["earlier"] = self.rows[message_id]
                elif isinstance((conversation_id := rest.get("conversation_id")), str):
                    self._conversations.setdefault(conversation_id, []).append(message_id)
                self.rows[message_id] = said
                return True
            case _:
                return False

    def give(self, conversation_id: str, messages: list[JsonObject]) -> None:
        """Put what was said of a conversation's messages into their metadata."""
        rated = self._conversations.get(conversation_id)
        if not rated:
            return
        named = {str(message["metadata"].get("id")): message for message in messages}
        named.update({message["message_id"]: message for message in messages})
        for message_id in rated:
            if message_id in named:
                named[message_id]["metadata"]["feedback"] = self.rows[message_id]
                self._used.add(message_id)

    def left_of(self, conversation_id: str) -> list[JsonObject]:
        """What was said in a conversation of messages that the export does not hold."""
        left = [
            message_id for message_id in self._conversations.get(conversation_id, ()) if message_id not in self._used
        ]
        self._used.update(left)
        return [{"message_id": message_id, **self.rows[message_id]} for message_id in left]

    def rating(self, conversation_id: str) -> JsonObject | None:
        """One rating for a conversation: the mean of all, the words of all, the time of the last."""
        rows = [self.rows[message_id] for message_id in self._conversations.get(conversation_id, ())]
        scores = [_UP if "up" in row["rating"].lower() else _DOWN for row in rows if isinstance(row.get("rating"), str)]
        if not scores:
            return None
        rating: JsonObject = {"score": round(sum(scores) / len(scores), 2)}
        if words := [row["text"] for row in rows if isinstance(row.get("text"), str) and row["text"]]:
            rating["feedback"] = "\n".join(words)
        if times := [
            time for row in rows if (time := readable_timestamp(row.get("update_time") or row.get("create_time")))
        ]:
            rating["rated_at"] = max(times)
        return rating

    @property
    def unused(self) -> int:
        return len(self.rows) - len(self._used)


def _plain(row: JsonObject) -> JsonObject:
    """A row without ids, with the words that stand as JSON in a text."""
    plain = {name: value for name, value in row.items() if name not in _LEFT_OUT and value is not None}
    content = row.get("content")
    try:
        said = parse(content) if isinstance(content, str) else content
    except NOT_JSON:
        said = content
    if isinstance(said, dict):
        plain = {**said, **plain}
    elif said is not None:
        plain["content"] = said
    return plain
