"""Conversion of the messages of nodes: role, time, blocks and metadata."""

import re
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, cast

from palaver.importers.chatgpt import citations
from palaver.importers.chatgpt.assets import Assets, file_id
from palaver.importers.chatgpt.content import (
    KNOWN_CONTENT_TYPES,
    Blocks,
    Call,
    MessageContext,
    answered_call,
    has_failed,
    is_tool_call,
    to_blocks,
    tool_call,
)
from palaver.importers.chatgpt.message_metadata import (
    AFFECTS_MESSAGE,
    ATTACHES,
    CITES,
    TRAITS,
    apply_visibility,
    keep_author_fields,
    keep_unmapped,
    rename_fields,
)
from palaver.importers.chatgpt.nodes import Nodes
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import from_seconds, timestamp_or_empty
from palaver.sources.run import Run

UNKNOWN_CONTENT = finding_kind("unknown-content", "note", "A content of an unknown type is kept whole.")
UNKNOWN_ROLE = finding_kind("unknown-role", "warning", "Who wrote a message is not known; its role became system.")
ORPHAN_TOOL_RESULT = finding_kind(
    "orphan-tool-result", "note", "A tool's result hangs on no call: exports leave out hidden messages."
)


_AUTHOR_KINDS = {"user": "human", "assistant": "model", "tool": "tool", "system": "harness", "function": "tool"}
_CONTEXT_CONTENT = frozenset({"user_editable_context", "model_editable_context", "app_pairing_content"})
_HIDDEN_CONTENT = frozenset(
    {*_CONTEXT_CONTENT, "system_content", "thoughts", "reasoning_recap", "tether_browsing_display"}
)
_FINISHED = "finished_successfully"
_EMPTY_KEY_ID = "(no key)"

_BASE_FIELDS = ("author", "content", "metadata", "id", "create_time")
"""Fields that every message has; since 2026 it has no others."""
_STATE_FIELDS = ("recipient", "status", "weight", "end_turn", "channel", "update_time")
_LEAN, _CLASSIC = len(_BASE_FIELDS), len(_BASE_FIELDS) + len(_STATE_FIELDS)
_NO_STATE = (None,) * len(_STATE_FIELDS)
_MAPPED_FIELDS = frozenset({*_BASE_FIELDS, *_STATE_FIELDS})
_base_fields, _state_fields = itemgetter(*_BASE_FIELDS), itemgetter(*_STATE_FIELDS)

_PathState = tuple[str | None, str, Call | None]
"""The nearest message at or above a node, its time, and the nearest tool call in the same turn."""


@dataclass(slots=True)
class MessageReader:
    """Converts the messages of one conversation."""

    run: Run
    assets: Assets
    where: str
    models: dict[str, int] = field(default_factory=dict[str, int])
    """How many messages each model wrote."""
    fork_point: str | None = None
    """The first message that is the conversation's own, if it was branched off from another one."""

    def messages(self, nodes: Nodes) -> list[JsonObject]:
        """Return every node's message, in tree order."""
        messages: list[JsonObject] = []
        tree, active, raws, is_chain = nodes.tree, nodes.active, nodes.messages, nodes.is_chain
        unmapped_fields = nodes.unmapped_fields
        state: _PathState = None, nodes.created_at, None
        above, time_above, call = state
        states: dict[str | None, _PathState] = {None: state}
        """The state above each node of a tree with branches; a chain needs only the last."""
        for key in tree.order:
            if not is_chain:
                above, time_above, call = states[key] = states[tree.parents[key]]
            if key not in raws:
                continue
            raw = raws[key]
            size = len(raw)
            source_metadata: Any
            created: Any
            try:
                author, content, source_metadata, own_id, created = _base_fields(raw)
                state_values = (
                    _state_fields(raw)
                    if size == _CLASSIC
                    else _NO_STATE
                    if size == _LEAN
                    else map(raw.get, _STATE_FIELDS)
                )
            except KeyError:
                author, content, source_metadata, own_id, created = map(raw.get, _BASE_FIELDS)
                state_values = map(raw.get, _STATE_FIELDS)
                size = 0
            recipient, status, weight, end_turn, channel, updated = state_values
            metadata: JsonObject = source_metadata if isinstance(source_metadata, dict) else {}
            traits = TRAITS[tuple(metadata)]
            if traits:
                rename_fields(metadata, traits, self.models)
            if status is not None and status != _FINISHED:
                metadata["status"] = status
            if weight is not None and weight != 1:
                metadata["weight"] = weight
            if end_turn is not None:
                metadata["end_turn"] = end_turn
            if channel is not None:
                metadata["channel"] = channel
            if updated is not None:
                metadata["update_time"] = updated
            if size != _CLASSIC and size != _LEAN:  # noqa: PLR1714 - a set lookup is slower here
                keep_unmapped(raw, _MAPPED_FIELDS, metadata)
            message_id = key or _EMPTY_KEY_ID
            text = _plain_text(content) if recipient is None or recipient == "all" else None
            role = None if text is None or traits & ATTACHES else _plain_role(author)
            if role is None or text is None or (call is not None and _SANDBOX_PREFIX in text):
                role, blocks = self._convert_unusual(message_id, (author, content, recipient), metadata, call)
                if blocks[0]["type"] == "tool_use":
                    call = Call(message_id, blocks[0]["name"], call)
            else:
                block: JsonObject = {"type": "text", "text": text}
                blocks = [block]
                metadata["author_kind"] = _AUTHOR_KINDS[role]
                if role == "assistant" and (traits & CITES or not text.isascii()):
                    citations.attach(block, metadata)
                if role == "system" or not text:
                    metadata["hidden"] = True
            if role == "user":
                call = None
            if traits & AFFECTS_MESSAGE and apply_visibility(metadata, traits, role) and self.fork_point is None:
                self.fork_point = message_id
            try:
                timestamp = from_seconds(created) if isinstance(created, float) else timestamp_or_empty(created)
            except ValueError:
                timestamp = ""
            if not timestamp:
                timestamp = time_above
                nodes.note_inferred_time(key, created, metadata)
            if active is not None:
                metadata["on_active_path"] = key in active
            if not is_chain:
                nodes.note_branch(key, above, metadata)
                states[key] = message_id, timestamp, call
            if own_id != key and "id" in raw:
                metadata["id"] = own_id
            if unmapped_fields and key in unmapped_fields:
                metadata["node"] = unmapped_fields.pop(key)
            if metadata is not source_metadata and source_metadata is not None:
                metadata.setdefault("source_fields", {})["metadata"] = source_metadata
            messages.append(
                {
                    "message_id": message_id,
                    "role": role,
                    "timestamp": timestamp,
                    "content": blocks,
                    "metadata": metadata,
                }
                if above is None
                else {
                    "message_id": message_id,
                    "parent_message_id": above,
                    "role": role,
                    "timestamp": timestamp,
                    "content": blocks,
                    "metadata": metadata,
                }
            )
            above, time_above = message_id, timestamp
        return messages

    def _convert_unusual(
        self, key: str, fields: tuple[Any, Any, Any], metadata: JsonObject, call: "Call | None"
    ) -> tuple[build.Role, Blocks]:
        """Return role and blocks of a message that is more than a plain text to everyone."""
        author, content, recipient = fields
        kind: Any = cast("JsonObject", content).get("content_type") if isinstance(content, dict) else "text"
        if kind != "text" and kind is not None:
            metadata["content_type"] = kind
        role = self._role(key, author, kind, metadata)
        blocks = self._content_blocks(
            key, content, metadata, is_answer=role == "assistant", is_after_call=call is not None
        )
        is_hidden = role == "system" or (isinstance(kind, str) and kind in _HIDDEN_CONTENT)
        if recipient != "all" and recipient is not None:
            if role == "assistant" and is_tool_call(recipient):
                blocks = [tool_call(key, recipient, blocks)]
                is_hidden = True
            else:
                metadata["recipient"] = recipient
        if role == "tool":
            blocks = [self._tool_result(key, blocks, metadata, kind, call)]
        if is_hidden or (len(blocks) == 1 and blocks[0].get("text") == ""):
            metadata["hidden"] = True
        return role, blocks

    def _role(self, key: str, author: Any, kind: Any, metadata: JsonObject) -> build.Role:
        stated: Any = None
        if isinstance(author, dict):
            stated = author.get("role")
            if author.get("name") is not None:
                metadata["author_name"] = author["name"]
            if author.get("metadata") or len(author) > 3:
                keep_author_fields(author, metadata)
        elif author is not None:
            metadata["author"] = author
        is_context = isinstance(kind, str) and kind in _CONTEXT_CONTENT
        if isinstance(stated, str) and stated in _AUTHOR_KINDS and not is_context:
            metadata["author_kind"] = _AUTHOR_KINDS[stated]
            return cast("build.Role", stated)
        metadata["author_kind"] = "harness"
        if stated != "system":
            if stated is not None:
                metadata["source_role"] = stated
            if not is_context:
                self.run.note(UNKNOWN_ROLE, f"{self.where}, node {key}", f"role {stated!r}")
        return "system"

    def _content_blocks(
        self, key: str, content: Any, metadata: JsonObject, *, is_answer: bool, is_after_call: bool
    ) -> Blocks:
        attachments = _attachments(metadata) if "attachments" in metadata else _NO_ATTACHMENTS
        blocks = to_blocks(content, MessageContext(self.assets, attachments, self.where, key))
        for block in blocks:
            kind = block["type"]
            if kind == "text":
                if is_answer:
                    citations.attach(block, metadata)
            elif kind == "opaque" and block["kind"] not in KNOWN_CONTENT_TYPES:
                self.run.note(UNKNOWN_CONTENT, f"{self.where}, node {key}", f"content {block['kind']!r}")
        if attachments:
            blocks += self._attachment_blocks(attachments, blocks, f"{self.where}, node {key}")
        # Only what a tool made in the same turn can be offered for download.
        return [*blocks, *_sandbox_files(blocks)] if is_after_call and is_answer else blocks

    def _attachment_blocks(self, attachments: dict[str | None, JsonObject], blocks: Blocks, where: str) -> Blocks:
        """Return a block for each attached file that no other block shows."""
        shown = {
            file_id(block["source"].get("asset_pointer") or block["source"]["data"])
            for block in blocks
            if "source" in block
        }
        return [
            build.file(
                source=self.assets.source(identifier, attachment, where=where),
                name=name if isinstance((name := attachment.get("name")), str) else None,
                media_type=media_type
                if isinstance((media_type := attachment.get("mime_type") or attachment.get("mimeType")), str)
                else None,
            )
            for identifier, attachment in attachments.items()
            if identifier not in shown
        ]

    def _tool_result(
        self, key: str, blocks: Blocks, metadata: JsonObject, kind: Any, call: "Call | None"
    ) -> JsonObject:
        answered = answered_call(metadata.get("author_name"), call)
        if answered is None:
            self.run.note(ORPHAN_TOOL_RESULT, f"{self.where}, node {key}")
            metadata["context_incomplete"] = True
        execution: Any = metadata.get("aggregate_result")
        result_metadata: JsonObject = {}
        is_error = kind == "system_error"
        if isinstance(execution, dict):
            blocks += self._drawn_images(execution, f"{self.where}, node {key}")
            is_error = is_error or has_failed(execution)
            start, end = execution.get("start_time"), execution.get("end_time")
            if isinstance(start, float) and isinstance(end, float) and end >= start:
                result_metadata["duration_ms"] = round((end - start) * 1000)
        only = blocks[0]
        content = only["text"] if len(blocks) == 1 and only["type"] == "text" and len(only) == 2 else blocks
        return build.tool_result(
            tool_use_id=answered.message_id if answered else key,
            content=content,
            is_error=is_error,
            metadata=result_metadata or None,
        )

    def _drawn_images(self, execution: JsonObject, where: str) -> Blocks:
        """Return the images that a code execution produced."""
        drawn = execution.get("messages")
        if not isinstance(drawn, list):
            return []
        return [
            build.image(self.assets.source(message["image_url"], where=where))
            for message in drawn
            if isinstance(message, dict) and isinstance(message.get("image_url"), str) and message["image_url"]
        ]


def _plain_text(content: Any) -> str | None:
    """Return the text of a content that is just one text, or None."""
    if isinstance(content, dict) and len(content) == 2 and content.get("content_type") == "text":
        parts = content.get("parts")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], str):
            return parts[0]
    return None


def _plain_role(author: Any) -> build.Role | None:
    """Return the role of an author without other fields, or None; always None for a tool."""
    if isinstance(author, dict) and len(author) <= 3 and author.get("name") is None and not author.get("metadata"):
        role = author.get("role")
        if isinstance(role, str) and role in _AUTHOR_KINDS and role != "tool":
            return cast("build.Role", role)
    return None


def _attachments(metadata: JsonObject) -> dict[str | None, JsonObject]:
    """Return the files attached to a message, by id."""
    attached = metadata.get("attachments")
    if not isinstance(attached, list):
        return {}
    return {
        identifier: attachment
        for attachment in attached
        if isinstance(attachment, dict) and isinstance((identifier := attachment.get("id")), str) and identifier
    }


def _sandbox_files(blocks: Blocks) -> Blocks:
    """Return the files that a text offers from the sandbox its tools ran in; no export holds them."""
    texts = [block["text"] for block in blocks if block["type"] == "text" and _SANDBOX_PREFIX in block["text"]]
    addresses = [address for text in texts for address in _SANDBOX_ADDRESS.findall(text)]
    return [
        build.file(source={**build.source("url", address), "available": False}, name=address.rpartition("/")[2])
        for address in dict.fromkeys(addresses)
    ]


_NO_ATTACHMENTS: dict[str | None, JsonObject] = {}
_SANDBOX_PREFIX = "sandbox:/"
_SANDBOX_ADDRESS = re.compile(r"sandbox:/[^\s()<>\[\]\"'`]+")
