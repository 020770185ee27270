"""Telling the files of an export, each by its shape, and finding all of them in its folder."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.exports import Service, files_in
from palaver.model.build import JsonObject
from palaver.sources.source import Source

_IN_FOLDER = re.compile(r"[^/]+/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json")


def is_conversation(value: JsonObject) -> bool:
    match value:
        case {"chat_messages": list(messages)}:
            return isinstance(value.get("uuid"), str) or any(_is_message(message) for message in messages)
        case _:
            return False


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and ("sender" in value or "uuid" in value)


def _is_project(value: JsonObject) -> bool:
    is_described = "prompt_template" in value and not value.keys().isdisjoint(_OF_PROJECTS)
    return is_described and isinstance(value.get("uuid"), str)


_OF_PROJECTS = {"docs", "is_private", "is_starter_project"}


def _is_memory(value: JsonObject) -> bool:
    return "conversations_memory" in value


CONVERSATIONS = Service(b'"chat_messages"', is_conversation, "conversations with `chat_messages`")
_PARTS = {
    "conversation": CONVERSATIONS,
    "project": Service(b'"prompt_template"', _is_project, "projects of Claude.ai"),
    "memory": Service(b'"conversations_memory"', _is_memory, "Claude.ai's memory"),
}


def owns(source: Source) -> str:
    """What a file holds, in words; empty for files of others."""
    return next((service.reason for service in _PARTS.values() if service.owns(source)), "")


def part_of(source: Source) -> str:
    """Which part of an export a file is; conversations, if nothing says otherwise."""
    return next((part for part, service in _PARTS.items() if service.owns(source)), "conversation")


@dataclass(frozen=True, slots=True)
class Export:
    """The files of an export that lie in one folder."""

    conversations: list[Source]
    projects: list[Source]
    memories: list[Source]
    accounts: list[Source]

    @classmethod
    def found(cls, folder: Source) -> "Export | None":
        """The export in a folder, if there is one: its conversations tell."""
        if any(map(CONVERSATIONS.owns, (*files_in(folder), *_in(folder, "conversations")))):
            return cls.at(folder)
        return None

    @classmethod
    def at(cls, folder: Source) -> "Export":
        """The same, whatever became of the conversations."""
        return cls(
            [*files_in(folder), *_in(folder, "conversations")],
            [*_named(folder, "projects.json"), *_in(folder, "projects")],
            _named(folder, "memories.json"),
            _named(folder, "users.json"),
        )

    def files(self) -> Iterator[Source]:
        yield from (*self.conversations, *self.projects, *self.memories, *self.accounts)


def _named(folder: Source, name: str) -> list[Source]:
    return [Source(folder.folder, name)] if name in folder.listing()[0] else []


def _in(folder: Source, name: str) -> list[Source]:
    """The files of a folder in the folder that are named by ids, as only an export names them."""
    if name not in folder.listing()[1]:
        return []
    return [file for file in folder.under(name) if _IN_FOLDER.fullmatch(file.name)]
