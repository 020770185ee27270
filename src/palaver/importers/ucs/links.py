"""Ids and links of a document's messages: every id its own, every link to a message, none in a circle."""

from typing import Any

from palaver.importers._shared.findings import MADE_MESSAGE_ID, MISSING_PARENT, PARENT_CYCLE, UNKNOWN_BLOCK
from palaver.importers._shared.tree import grow
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.run import Run


def sound(document: JsonObject, run: Run, where: str) -> None:
    """Correct a document in place; nothing is touched in one that is as it should be."""
    if document.get("fragment", document) is None:
        del document["fragment"]
    is_whole = not _is_fragment(document.get("fragment"))
    messages = document["messages"]
    if _is_sound(messages, is_whole=is_whole):
        return
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            run.note(UNKNOWN_BLOCK, f"{where}, message {index + 1}", "something that is no message is kept whole")
            messages[index] = build.message(
                message_id="",
                role="system",
                timestamp=document["created_at"],
                content=[build.opaque(kind="message", raw=message)],
                metadata={"author_kind": "harness", "timestamp_inferred": True},
            )
    _name(messages, run, where)
    _link(messages, run, where, is_whole=is_whole)


def _is_fragment(value: Any) -> bool:
    """Whether this says that there is more of the conversation; what only looks like it is moved aside later."""
    match value:
        case {"sequence": int() | float() as sequence, "final": bool()}:
            return sequence is not True and sequence is not False and sequence >= 0 and sequence == int(sequence)
        case _:
            return False


def _is_sound(messages: list[Any], *, is_whole: bool) -> bool:
    """Whether every message has an id of its own and none stands before its parent, which rules a circle out."""
    try:
        names = {message["message_id"] for message in messages}
    except (TypeError, KeyError):
        return False
    if len(names) < len(messages) or "" in names or not all(isinstance(name, str) for name in names):
        return False
    known: set[str] = set()
    for message in messages:
        match message.get("parent_message_id"):
            case None:
                pass
            case str(parent) if parent in known or not (is_whole or parent in names):
                pass
            case _:
                return False
        known.add(message["message_id"])
    return True


def _name(messages: list[JsonObject], run: Run, where: str) -> None:
    taken = {name for message in messages if isinstance(name := message.get("message_id"), str)} | {""}
    named: set[str] = set()
    for index, message in enumerate(messages, 1):
        stated = message.get("message_id")
        if isinstance(stated, str) and stated and stated not in named:
            named.add(stated)
            continue
        wanted = stated if isinstance(stated, str) and stated else "message"
        number = index
        while (made := f"{wanted}-{number}") in taken:
            number += 1
        if "message_id" in message and stated != "":
            _keep(message, "message_id", stated)
        message["message_id"] = made
        taken.add(made)
        named.add(made)
        run.note(MADE_MESSAGE_ID, f"{where}, message {index}", f"{stated!r:.80} became {made!r:.80}")


def _link(messages: list[JsonObject], run: Run, where: str, *, is_whole: bool) -> None:
    by_id = {message["message_id"]: message for message in messages}
    links: dict[str, str | None] = {}
    for name, message in by_id.items():
        parent = message.get("parent_message_id")
        # What is no text at all is moved aside with all else that breaks the schema.
        is_link = isinstance(parent, str) and (is_whole or parent in by_id)
        links[name] = parent if is_link else None
    tree = grow(links, _no_age)
    for kind, names in ((MISSING_PARENT, tree.dangling), (PARENT_CYCLE, tree.circular)):
        for name in names:
            message = by_id[name]
            _keep(message, "missing_parent", message.pop("parent_message_id"))
            run.note(kind, f"{where}, message {name!r:.80}")


def _no_age(_name: str) -> str:
    return ""


def _keep(message: JsonObject, name: str, value: Any) -> None:
    """Put a value into a message's metadata, under a name that is free."""
    match message.get("metadata"):
        case dict() as metadata:
            pass
        case None:
            metadata = message["metadata"] = {}
        case odd:
            metadata = message["metadata"] = {"invalid_fields": {"metadata": odd}}
    while name in metadata:
        name += "_"
    metadata[name] = value
