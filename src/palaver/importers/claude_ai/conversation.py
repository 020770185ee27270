"""Reader of an export's files, and conversations with their message trees."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from palaver.importers._shared.chat_exports import AROUND_CONVERSATIONS, checksum, open_elements
from palaver.importers._shared.contract import Description
from palaver.importers._shared.findings import (
    BAD_CONVERSATION,
    INFERRED_TIMESTAMP,
    MADE_MESSAGE_ID,
    MISSING_PARENT,
    PARENT_CYCLE,
)
from palaver.importers._shared.message_tree import Tree, build_tree
from palaver.importers.claude_ai.content import OPAQUE_KINDS, message_blocks, pair_tool_calls
from palaver.importers.claude_ai.export import (
    CONVERSATIONS,
    PLATFORM,
    Export,
    ReadContext,
    add_fields,
    part_of,
    take_text,
    to_bytes,
)
from palaver.importers.claude_ai.knowledge import read_memory, read_project
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.model.ids import conversation_uuid, deterministic_uuid
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.small_files import count_file
from palaver.sources.source import Source

UNKNOWN_SENDER = finding_kind(
    "unknown-sender", "warning", "The sender of a message is missing or unknown; its role is `system`."
)
ROOT = "00000000-0000-4000-8000-000000000000"
"""Parent id of a first message."""
_INVALID_PARENT = "\0"
"""Substitute for a parent that is not an id; no message has this id."""
_SENDERS: Mapping[Any, tuple[build.Role, str]] = {"human": ("user", "human"), "assistant": ("assistant", "model")}
OWN_NAMES = frozenset(
    {
        *("author_kind", "model_override", "timestamp_inferred", "missing_parent", "on_active_path"),
        *("branch_index", "branch_count", "fork_point", "source_fields", "invalid_fields"),
    }
)
BAD_MESSAGE = finding_kind("bad-message", "error", "A message is not a JSON object; it is quarantined.")
DESCRIPTION = Description(own_names=OWN_NAMES, known_kinds=OPAQUE_KINDS)


def read_files(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    context = ReadContext(run)
    if not source.is_folder:
        yield from _read_file(source, part_of(source), context)
        return
    export = Export.of_folder(source)
    for part, files in (
        ("conversation", export.conversations),
        ("project", export.projects),
        ("memory", export.memories),
    ):
        for file in files:
            yield from _read_file(file, part, context, label=file.name)
    for account in export.accounts:
        count_file(account, run)
        run.skipped("account")


def _read_file(source: Source, part: str, context: ReadContext, *, label: str = "") -> Iterator[dict[str, Any]]:
    read = _READERS[part]
    context.source = source
    with open_elements(source, context.run, label=label) as elements:
        for element in elements:
            yield from read(element, elements, context)


class MessageDrafts:
    """Messages of one conversation, drafted one by one, then ordered by parent and dated."""

    def __init__(self, conversation_id: str, context: ReadContext, where: str) -> None:
        self._conversation_id = conversation_id
        self._context = context
        self._where = where
        self._drafts: dict[str, JsonObject] = {}
        self._parents: dict[str, Any] = {}
        """Stated parent by message id; empty if no message states one."""

    def add(self, fields: JsonObject) -> None:
        """Draft a message; `ordered` sets its parent and a missing timestamp."""
        message_id = self._message_id(fields)
        where = f"{self._where}, message {message_id}"

        def note(kind: FindingKind, message: str) -> None:
            self._context.run.note(kind, where, message)

        if (parent := fields.pop("parent_message_uuid", None)) is not None:
            self._parents[message_id] = parent
        timestamp = self._context.time(fields, "created_at", where)
        metadata: JsonObject = {}
        role: build.Role = "system"
        if isinstance(sender := fields.get("sender"), str) and sender in _SENDERS:
            role, metadata["author_kind"] = _SENDERS[fields.pop("sender")]
        else:
            note(UNKNOWN_SENDER, f"sender {sender!r}")
        if (model := take_text(fields, "model")) is not None:
            metadata["model_override"] = model
        blocks = message_blocks(fields, note)
        self._drafts[message_id] = build.message(
            message_id=message_id,
            role=role,
            timestamp=timestamp or "",
            content=blocks,
            metadata=add_fields(metadata, fields, OWN_NAMES),
        )

    def times(self) -> list[str]:
        """Return the timestamps that messages state themselves."""
        return [draft["timestamp"] for draft in self._drafts.values() if draft["timestamp"]]

    def ordered(self, leaf: Any, created_at: str) -> list[JsonObject]:
        """Return all messages, each after its parent; `leaf` is the stated end of the conversation, if any."""
        if self._parents:
            tree = self._build_tree()
            self._mark_branches(tree, leaf)
            order = tree.order
        else:
            order = list(self._drafts)
            for parent, message_id in pairwise(order):
                self._drafts[message_id]["parent_message_id"] = parent
        for message_id in order:
            self._infer_timestamp(self._drafts[message_id], created_at)
        return [self._drafts[message_id] for message_id in order]

    def _message_id(self, fields: JsonObject) -> str:
        uuid = fields.get("uuid")
        if isinstance(uuid, str) and uuid and uuid not in self._drafts:
            return fields.pop("uuid")
        generated = deterministic_uuid(f"{self._conversation_id}-{len(self._drafts)}")
        while generated in self._drafts:
            generated = deterministic_uuid(f"{generated}+")
        self._context.run.note(MADE_MESSAGE_ID, f"{self._where}, message {generated}", f"uuid {uuid!r}")
        return generated

    def _build_tree(self) -> Tree:
        links: dict[str, str | None] = dict.fromkeys(self._drafts)
        for message_id, parent in self._parents.items():
            if parent != ROOT:
                links[message_id] = parent if isinstance(parent, str) else _INVALID_PARENT
        tree = build_tree(links, lambda message_id: self._drafts[message_id]["timestamp"])
        for kind, nodes in ((MISSING_PARENT, tree.dangling), (PARENT_CYCLE, tree.circular)):
            for message_id in nodes:
                self._note_parent(kind, message_id)
        for message_id, parent in tree.parents.items():
            if parent is not None:
                self._drafts[message_id]["parent_message_id"] = parent
        return tree

    def _note_parent(self, kind: FindingKind, message_id: str) -> None:
        self._drafts[message_id]["metadata"]["missing_parent"] = self._parents[message_id]
        self._context.run.note(kind, f"{self._where}, message {message_id}")

    def _mark_branches(self, tree: Tree, leaf: Any) -> None:
        if not (isinstance(leaf, str) and leaf in self._drafts):
            leaf = tree.newest_leaf(lambda message_id: self._drafts[message_id]["timestamp"])
        path = tree.path_to(leaf)
        for message_id in tree.order:
            metadata = self._drafts[message_id]["metadata"]
            metadata["on_active_path"] = message_id in path
            metadata.update(tree.branch_metadata(message_id, tree.parents[message_id]))

    def _infer_timestamp(self, draft: JsonObject, created_at: str) -> None:
        if draft["timestamp"]:
            return
        parent = self._drafts.get(draft.get("parent_message_id", ""))
        draft["timestamp"] = parent["timestamp"] if parent else created_at
        draft["metadata"]["timestamp_inferred"] = True
        if "created_at" not in draft["metadata"]:
            self._context.run.note(INFERRED_TIMESTAMP, f"{self._where}, message {draft['message_id']}")


def read_conversations(element: Any, elements: JsonElements, context: ReadContext) -> Iterator[JsonObject]:
    """Yield the conversation in an element, or several if damage to the list around them left them nested."""
    nested = _nested_conversations(element)
    if nested is None:
        yield from _read_conversation(element, elements.raw, elements, context)
        return
    if isinstance(element, dict) and len(element) > 1:
        dropped = [name for name, value in element.items() if value is not nested]
        context.run.note(AROUND_CONVERSATIONS, elements.where(), ", ".join(dropped), kept=False)
    elements.count_records(len(nested))
    for conversation in nested:
        yield from _read_conversation(conversation, to_bytes(conversation, elements), elements, context)


def _read_conversation(element: Any, raw: bytes, elements: JsonElements, context: ReadContext) -> Iterator[JsonObject]:
    run = context.run
    fields, envelope = CONVERSATIONS.unwrap(element) or (element, {})
    messages_field = _messages_field(fields)
    if messages_field is None and _has_sender(fields):  # damage may leave a lone message
        fields, messages_field = {"chat_messages": [fields]}, "chat_messages"
    if messages_field is None:
        run.quarantined(BAD_CONVERSATION, raw, elements.where(), _describe_unreadable(element))
        return
    messages = fields.pop(messages_field)
    elements.count_records(len(messages))
    conversation_id = fields.get("uuid")
    if not (isinstance(conversation_id, str) and conversation_id):
        seed = _first_id(messages) or fields.get("name")
        conversation_id = conversation_uuid(PLATFORM, fields.get("created_at"), seed)
    if context.copies.is_copy(conversation_id, checksum(raw), elements.where()):
        run.skipped("copy", len(messages))
        return
    where = f"{elements.where()}, conversation {conversation_id}"
    drafts = MessageDrafts(conversation_id, context, where)
    for message in messages:
        if isinstance(message, dict):
            drafts.add(message)
            run.mapped()
        else:
            run.quarantined(BAD_MESSAGE, to_bytes(message, elements), where)
    if fields.get("uuid") == conversation_id:
        del fields["uuid"]
    fields.pop("account", None)
    add_fields(fields, envelope, frozenset({*fields, "source_fields"}))
    yield _document(conversation_id, fields, drafts, context, where)


def _document(
    conversation_id: str, fields: JsonObject, messages: MessageDrafts, context: ReadContext, where: str
) -> JsonObject:
    span = context.span(fields, messages.times(), where)
    ordered = messages.ordered(fields.get("current_leaf_message_uuid"), span.created_at)

    def note(kind: FindingKind, message: str) -> None:
        context.run.note(kind, where, message)

    pair_tool_calls(ordered, note)
    title = take_text(fields, "name")
    if title is None:
        title = take_text(fields, "title")
    summary = take_text(fields, "summary")
    platform: JsonObject = {"name": PLATFORM}
    if (model := take_text(fields, "model")) is not None:
        platform["model"] = model
    if fields:
        platform["metadata"] = fields
    return build.conversation(
        conversation_id=conversation_id,
        title=title,
        platform=platform,
        created_at=span.created_at,
        updated_at=span.updated_at,
        messages=ordered,
        summaries=[_summary(conversation_id, summary, span.updated_at)] if summary else None,
    )


def _summary(conversation_id: str, text: str, timestamp: str) -> JsonObject:
    return build.summary(
        summary_id=deterministic_uuid(f"{conversation_id}-summary-{text}"),
        type="automatic",
        text=text,
        timestamp=timestamp,
    )


def _nested_conversations(element: Any) -> list[Any] | None:
    """Return the conversations of a list, bare or inside an object, or None if there are none."""
    lists = [element] if isinstance(element, list) else []
    if isinstance(element, dict) and _messages_field(element) is None:
        lists = [value for value in element.values() if isinstance(value, list)]
    return next((items for items in lists if any(_messages_field(item) for item in items)), None)


def _messages_field(fields: Any) -> str | None:
    """Return the field that holds the messages, recognized by their shape: damage may have changed its name."""
    if not isinstance(fields, dict):
        return None
    if isinstance(fields.get("chat_messages"), list):
        return "chat_messages"
    return next(
        (name for name, value in fields.items() if isinstance(value, list) and any(map(_has_sender, value))), None
    )


def _has_sender(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("sender"), str)


def _first_id(raws: list[Any]) -> Any:
    return next((raw["uuid"] for raw in raws if isinstance(raw, dict) and raw.get("uuid")), None)


def _describe_unreadable(element: Any) -> str:
    if not isinstance(element, dict):
        return f"a value of type {type(element).__name__} is not a conversation"
    names = [name for key in ("uuid", "name") if isinstance(name := element.get(key), str) and name]
    return f"conversation {names[0] if names else 'without a name'}: no list of messages"


_READERS = {"conversation": read_conversations, "project": read_project, "memory": read_memory}
