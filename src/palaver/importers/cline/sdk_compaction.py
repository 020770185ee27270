"""Compacted views of a session: what a model is sent instead of all messages, as far as it is not the same.

A view repeats messages of the transcript, some of them shortened, and adds what the runtime wrote in place of others: a
summary (`compaction_summary`), or a notice behind a person's message. What it adds or changes becomes a summary.
"""

from typing import Any

import orjson

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp

_PRESERVED = {"compaction": "preserved"}
"""What a view writes on messages that it takes over."""
_NOT_COMPARED = frozenset({"id", "content", "ts"})
_OF_THE_MESSAGE = frozenset({"role", "modelInfo", "metrics", "agent", "sessionId"})
"""What says nothing new without anything else that is new."""


class Seen:
    """What the transcript holds: every block, and every other field by the message that it stands on."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def add(self, record: JsonObject) -> None:
        content = record.get("content")
        for block in content if isinstance(content, list) else (content,):
            self._known.add(_key("", block))
        name = _name_of(record)
        for field, value in record.items():
            if field not in _NOT_COMPARED:
                self._known.add(_key(f"{name}/{field}", value))

    def unknown_in(self, record: JsonObject) -> JsonObject:
        """What of a view's record the transcript does not hold: its `content`, and other fields."""
        name = _name_of(record)
        found: JsonObject = {}
        for field, value in record.items():
            if field in _NOT_COMPARED or value is None or (field == "metadata" and value == _PRESERVED):
                continue
            if _key(f"{name}/{field}", value) not in self._known:
                found[field] = value
        content = record.get("content")
        blocks = content if isinstance(content, list) else () if content is None else (content,)
        if new := [block for block in blocks if _key("", block) not in self._known]:
            found["content"] = new
        elif found.keys() <= _OF_THE_MESSAGE:
            return {}
        return found


def summary_of(record: JsonObject, unknown: JsonObject, view: str, number: int, timestamp: str) -> JsonObject:
    """The summary that a record of a view is, in which all that is new of it stands."""
    rest = dict(unknown)
    blocks: list[Any] = rest.pop("content", [])
    texts = [text for block in blocks if (text := _text_of(block)) is not None]
    others = [block for block in blocks if _text_of(block) is None]
    text = "\n\n".join(texts)
    metadata = rest.get("metadata")
    if isinstance(metadata, dict):
        stated = metadata.get("summary")
        if isinstance(stated, str) and (not text or stated in text):
            text = text or stated
            rest["metadata"] = {name: value for name, value in metadata.items() if name != "summary"}
        timestamp = readable_timestamp(metadata.get("generatedAt")) or timestamp
    name = record.get("id")
    made = build.summary(
        summary_id=f"{view}:{name if isinstance(name, str) and name else number}:{number}",
        type="automatic",
        text=text,
        timestamp=timestamp,
    )
    if others:
        made["content"] = others
    if rest:
        made["metadata"] = rest
    return made


def _text_of(block: Any) -> str | None:
    match block:
        case str():
            return block
        case {"type": "text", "text": str(text)} if len(block) == 2:
            return text
        case _:
            return None


def _name_of(record: JsonObject) -> str:
    """The message that a record is, by its id, where it has one."""
    name = record.get("id")
    return name if isinstance(name, str) else ""


def _key(place: str, value: Any) -> int:
    """A number for a value in a place; a text is the same with and without a block around it."""
    text = _text_of(value)
    return hash((place, _spelled(value) if text is None else text))


def _spelled(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError):
        return repr(value).encode("utf-8", "backslashreplace")
