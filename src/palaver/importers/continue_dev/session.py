"""A session's file, item by item, into one conversation, or into several fragments of a large one."""

from collections.abc import Iterator
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers.continue_dev.conversation import Conversation
from palaver.importers.continue_dev.surroundings import Surroundings
from palaver.model.build import JsonObject
from palaver.sources.elements import JsonElements, WholeElements, elements_of
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import read_at_most

FRAGMENT_BYTES = 1 << 25
LATER_FRAGMENT_BYTES = 1 << 22
_LARGEST_BYTES = 1 << 28


def read_session(source: Source, run: Run, around: Surroundings, *, label: str = "") -> Iterator[JsonObject]:
    """The conversation of a session's file; nothing where it has no items, which is for whoever knows more of it."""
    conversation: Conversation | None = None
    try:
        with elements_of(source, run, "history", label=label) as elements:
            limit = FRAGMENT_BYTES
            items: list[tuple[int, Any]] = []
            for item in elements:
                if conversation is None:
                    conversation = Conversation(_session_id(source, elements.wrapper), source, run, around)
                if items and elements.taken > limit and _begins_turn(item):
                    limit = elements.taken + LATER_FRAGMENT_BYTES
                    conversation.add(items)
                    items = []
                    yield conversation.fragment(elements.wrapper)
                items.append((elements.number - 1, item))
    except (PalaverError, OSError) as error:
        if not label:
            raise
        run.note(CUT_OFF, label, str(error), kept=False)
        return
    if conversation is None:
        if not _has_history(source, elements):
            _set_aside(source, run)
            return
        conversation = Conversation(_session_id(source, elements.wrapper), source, run, around)
    conversation.add(items)
    yield from conversation.finish(elements.wrapper)


def _session_id(source: Source, wrapper: JsonObject) -> str:
    """The file's name, which is what the product goes by; what the file says where it has none."""
    stated = wrapper.get("sessionId")
    if not source.can_move and isinstance(stated, str) and stated:
        return stated
    return source.stem


def _begins_turn(item: Any) -> bool:
    match item:
        case {"message": {"role": "user"}}:
            return True
        case _:
            return False


def _has_history(source: Source, elements: JsonElements | WholeElements) -> bool:
    """Whether the list of items was found, though nothing stands in it."""
    if elements.number or not source.head().strip(b"\0 \t\r\n"):
        return True
    match source.glimpse():
        case {"history": list()}:
            return True
        case _:
            return False


def _set_aside(source: Source, run: Run) -> None:
    """A file without a history is no session, but what is in it is kept."""
    run.read()
    try:
        with source.open() as stream:
            raw = read_at_most(stream, _LARGEST_BYTES)
    except (PalaverError, OSError):  # standard input cannot be read again
        raw = source.head()
    run.quarantined(BAD_CONVERSATION, raw, source.file_name, "there is no history in it")
