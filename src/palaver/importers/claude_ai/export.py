"""Files of an export, recognized by shape and collected from a folder, and helpers shared by their readers."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from palaver.importers._shared.chat_exports import SeenConversations, Service, conversation_files
from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.model.build import JsonObject
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.source import Source

_NAMED_BY_ID = re.compile(r"[^/]+/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json")
_PROJECT_FIELDS = {"docs", "is_private", "is_starter_project"}
PLATFORM = "claude_ai"


def is_conversation(value: JsonObject) -> bool:
    match value:
        case {"chat_messages": list(messages)}:
            return isinstance(value.get("uuid"), str) or any(_is_message(message) for message in messages)
        case _:
            return False


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and ("sender" in value or "uuid" in value)


def _is_project(value: JsonObject) -> bool:
    is_described = "prompt_template" in value and not value.keys().isdisjoint(_PROJECT_FIELDS)
    return is_described and isinstance(value.get("uuid"), str)


def _is_memory(value: JsonObject) -> bool:
    return "conversations_memory" in value


CONVERSATIONS = Service(b'"chat_messages"', is_conversation, "conversations with `chat_messages`")


_PARTS = {
    "conversation": CONVERSATIONS,
    "project": Service(b'"prompt_template"', _is_project, "projects of Claude.ai"),
    "memory": Service(b'"conversations_memory"', _is_memory, "Claude.ai's memory"),
}


def contents_of(source: Source) -> str:
    """Describe what a file holds; empty if it is not from Claude.ai."""
    return next((service.reason for service in _PARTS.values() if service.recognizes_file(source)), "")


def part_of(source: Source) -> str:
    """Return which part of an export a file is; `conversation` if unknown."""
    return next((part for part, service in _PARTS.items() if service.recognizes_file(source)), "conversation")


@dataclass(frozen=True, slots=True)
class Export:
    """Files of an export in one folder."""

    conversations: list[Source]
    projects: list[Source]
    memories: list[Source]
    accounts: list[Source]

    @classmethod
    def detect(cls, folder: Source) -> "Export | None":
        """Return the export in a folder, or None if it has no file with conversations."""
        if any(
            map(
                CONVERSATIONS.recognizes_file,
                (*conversation_files(folder), *_files_named_by_id(folder, "conversations")),
            )
        ):
            return cls.of_folder(folder)
        return None

    @classmethod
    def of_folder(cls, folder: Source) -> "Export":
        """Return the files of an export in a folder, whether or not their content is recognized."""
        return cls(
            [*conversation_files(folder), *_files_named_by_id(folder, "conversations")],
            [*_file_named(folder, "projects.json"), *_files_named_by_id(folder, "projects")],
            _file_named(folder, "memories.json"),
            _file_named(folder, "users.json"),
        )

    def files(self) -> Iterator[Source]:
        yield from (*self.conversations, *self.projects, *self.memories, *self.accounts)


def _file_named(folder: Source, name: str) -> list[Source]:
    return [Source(folder.folder, name)] if name in folder.listing()[0] else []


def _files_named_by_id(folder: Source, name: str) -> list[Source]:
    """Return the files in a subfolder that are named by ids, as only exports name them."""
    if name not in folder.listing()[1]:
        return []
    return [file for file in folder.files_below(name) if _NAMED_BY_ID.fullmatch(file.name)]


class TimeSpan(NamedTuple):
    created_at: str
    updated_at: str
    is_inferred: bool
    """Whether the source does not state the creation time."""


class ReadContext:
    """State shared while reading a file or a folder: the run, the current source, and copies seen so far."""

    source: Source

    def __init__(self, run: Run) -> None:
        self.run = run
        self.copies = SeenConversations(run)

    def span(self, fields: JsonObject, times: Iterable[str], where: str) -> TimeSpan:
        """Take the times of a conversation out of its fields, and infer missing ones from the times of its messages."""
        created_at = self.time(fields, "created_at", where)
        updated_at = self.time(fields, "updated_at", where)
        known = sorted(times)
        if is_inferred := created_at is None:
            created_at = known[0] if known else updated_at or self.source.written_at()
            if "created_at" not in fields:
                self.run.note(INFERRED_TIMESTAMP, where)
        return TimeSpan(created_at, updated_at or max([created_at, *known]), is_inferred)

    def time(self, fields: JsonObject, name: str, where: str) -> str | None:
        """Take a time out of the fields; one that cannot be read stays there."""
        value = fields.pop(name, None)
        if value is None:
            return None
        try:
            return normalize_timestamp(value)
        except ValueError as error:
            fields[name] = value
            self.run.note(BAD_TIMESTAMP, where, f"{name}: {error}")
            return None


def take_text(fields: JsonObject, name: str) -> str | None:
    """Take a text out of the fields; any value but a text or null stays there."""
    value = fields.pop(name, None)
    if value is None or isinstance(value, str):
        return value
    fields[name] = value
    return None


def take_list(fields: JsonObject, name: str) -> list[Any]:
    """Take a list out of the fields; any value but a list or null stays there."""
    value = fields.pop(name, None)
    if value is None or isinstance(value, list):
        return value or []
    fields[name] = value
    return []


def add_fields(target: JsonObject, fields: JsonObject, own_names: frozenset[str]) -> JsonObject:
    """Add source fields to an object under their own names, or to `source_fields` if the name is in `own_names`."""
    for name, value in fields.items():
        if name in own_names:
            target.setdefault("source_fields", {})[name] = value
        else:
            target[name] = value
    return target


def to_bytes(value: Any, elements: JsonElements) -> bytes:
    """Return a part of the current element as bytes, for quarantine."""
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return elements.raw
