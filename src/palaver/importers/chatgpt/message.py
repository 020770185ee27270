"""The messages of nodes: who says each, when, in which blocks, and all else that the service noted about it."""

import re
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, cast

from palaver.importers.chatgpt import citations
from palaver.importers.chatgpt.assets import Assets, file_id
from palaver.importers.chatgpt.calls import Call, answered_by, call_of, calls, failed
from palaver.importers.chatgpt.content import KNOWN, Blocks, Setting, blocks
from palaver.importers.chatgpt.nodes import Nodes
from palaver.importers.chatgpt.notes import (
    ATTACHES,
    CITES,
    SAYS_MORE,
    TRAITS,
    heed,
    keep_author,
    keep_unmapped,
    rename,
)
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import from_seconds, readable_timestamp
from palaver.sources.run import Run

UNKNOWN_CONTENT = finding_kind("unknown-content", "note", "A content of an unknown type is kept whole.")
UNKNOWN_ROLE = finding_kind("unknown-role", "warning", "Who wrote a message is not known; its role became system.")
ORPHAN_TOOL_RESULT = finding_kind(
    "orphan-tool-result", "note", "A tool's result hangs on no call: exports leave out hidden messages."
)


_KINDS = {"user": "human", "assistant": "model", "tool": "tool", "system": "harness", "function": "tool"}
_CONTEXTS = frozenset({"user_editable_context", "model_editable_context", "app_pairing_content"})
_UNSEEN = frozenset({*_CONTEXTS, "system_content", "thoughts", "reasoning_recap", "tether_browsing_display"})
_DONE = "finished_successfully"
_NAMELESS = "(no key)"

_SAID = ("author", "content", "metadata", "id", "create_time")
"""What every message has; since 2026 it has nothing else."""
_ABOUT = ("recipient", "status", "weight", "end_turn", "channel", "update_time")
_LEAN, _CLASSIC = len(_SAID), len(_SAID) + len(_ABOUT)
_NOTHING = (None,) * len(_ABOUT)
_MAPPED = frozenset({*_SAID, *_ABOUT})
_said, _about = itemgetter(*_SAID), itemgetter(*_ABOUT)

_State = tuple[str | None, str, Call | None]
"""The nearest message at or above a node, its time, and the nearest call of a tool in the same turn."""


@dataclass(slots=True)
class Reader:
    """What the messages of one conversation are read with."""

    run: Run
    assets: Assets
    where: str
    models: dict[str, int] = field(default_factory=dict[str, int])
    """How many messages each model wrote."""
    fork_point: str | None = None
    """The first message of a conversation's own, if it was branched off from another one."""

    def messages(self, nodes: Nodes) -> list[JsonObject]:
        """Every node's message, in the order of the tree."""
        made: list[JsonObject] = []
        tree, active, beside, raws, is_chain = nodes.tree, nodes.active, nodes.beside, nodes.messages, nodes.is_chain
        state: _State = None, nodes.created_at, None
        above, time_above, call = state
        states: dict[str | None, _State] = {None: state}
        """Of a tree with branches: what stands above each node. A chain needs only the last."""
        for key in tree.order:
            if not is_chain:
                above, time_above, call = states[key] = states[tree.parents[key]]
            if key not in raws:
                continue
            raw = raws[key]
            size = len(raw)
            notes: Any
            created: Any
            try:
                author, content, notes, own_id, created = _said(raw)
                about = _about(raw) if size == _CLASSIC else _NOTHING if size == _LEAN else map(raw.get, _ABOUT)
            except KeyError:
                author, content, notes, own_id, created = map(raw.get, _SAID)
                about = map(raw.get, _ABOUT)
                size = 0
            recipient, status, weight, end_turn, channel, updated = about
            metadata: JsonObject = notes if isinstance(notes, dict) else {}
            traits = TRAITS[tuple(metadata)]
            if traits:
                rename(metadata, traits, self.models)
            if status is not None and status != _DONE:
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
                keep_unmapped(raw, _MAPPED, metadata)
            message_id = key or _NAMELESS
            text = _plain_text(content) if recipient is None or recipient == "all" else None
            role = None if text is None or traits & ATTACHES else _plain_role(author)
            if role is None or text is None or (call is not None and _SANDBOX in text):
                role, said = self._unusual(message_id, (author, content, recipient), metadata, call)
                if said[0]["type"] == "tool_use":
                    call = Call(message_id, said[0]["name"], call)
            else:
                block: JsonObject = {"type": "text", "text": text}
                said = [block]
                metadata["author_kind"] = _KINDS[role]
                if role == "assistant" and (traits & CITES or not text.isascii()):
                    citations.add(block, metadata)
                if role == "system" or not text:
                    metadata["hidden"] = True
            if role == "user":
                call = None
            if traits & SAYS_MORE and heed(metadata, traits, role) and self.fork_point is None:
                self.fork_point = message_id
            try:
                timestamp = from_seconds(created) if isinstance(created, float) else readable_timestamp(created)
            except ValueError:
                timestamp = ""
            if not timestamp:
                timestamp = time_above
                nodes.note_time(key, created, metadata)
            if active is not None:
                metadata["on_active_path"] = key in active
            if not is_chain:
                nodes.note_place(key, above, metadata)
                states[key] = message_id, timestamp, call
            if own_id != key and "id" in raw:
                metadata["id"] = own_id
            if beside and key in beside:
                metadata["node"] = beside.pop(key)
            if metadata is not notes and notes is not None:
                metadata.setdefault("source_fields", {})["metadata"] = notes
            made.append(
                {
                    "message_id": message_id,
                    "role": role,
                    "timestamp": timestamp,
                    "content": said,
                    "metadata": metadata,
                }
                if above is None
                else {
                    "message_id": message_id,
                    "parent_message_id": above,
                    "role": role,
                    "timestamp": timestamp,
                    "content": said,
                    "metadata": metadata,
                }
            )
            above, time_above = message_id, timestamp
        return made

    def _unusual(
        self, key: str, said: tuple[Any, Any, Any], metadata: JsonObject, call: "Call | None"
    ) -> tuple[build.Role, Blocks]:
        """Who says what, for messages that are more than a text from somebody to everybody."""
        author, content, recipient = said
        kind: Any = cast("JsonObject", content).get("content_type") if isinstance(content, dict) else "text"
        if kind != "text" and kind is not None:
            metadata["content_type"] = kind
        role = self._role(key, author, kind, metadata)
        made = self._blocks(key, content, metadata, is_answer=role == "assistant", is_after_call=call is not None)
        is_hidden = role == "system" or (isinstance(kind, str) and kind in _UNSEEN)
        if recipient != "all" and recipient is not None:
            if role == "assistant" and calls(recipient):
                made = [call_of(key, recipient, made)]
                is_hidden = True
            else:
                metadata["recipient"] = recipient
        if role == "tool":
            made = [self._result(key, made, metadata, kind, call)]
        if is_hidden or (len(made) == 1 and made[0].get("text") == ""):
            metadata["hidden"] = True
        return role, made

    def _role(self, key: str, author: Any, kind: Any, metadata: JsonObject) -> build.Role:
        stated: Any = None
        if isinstance(author, dict):
            stated = author.get("role")
            if author.get("name") is not None:
                metadata["author_name"] = author["name"]
            if author.get("metadata") or len(author) > 3:
                keep_author(author, metadata)
        elif author is not None:
            metadata["author"] = author
        is_context = isinstance(kind, str) and kind in _CONTEXTS
        if isinstance(stated, str) and stated in _KINDS and not is_context:
            metadata["author_kind"] = _KINDS[stated]
            return cast("build.Role", stated)
        metadata["author_kind"] = "harness"
        if stated != "system":
            if stated is not None:
                metadata["source_role"] = stated
            if not is_context:
                self.run.note(UNKNOWN_ROLE, f"{self.where}, node {key}", f"role {stated!r}")
        return "system"

    def _blocks(self, key: str, content: Any, metadata: JsonObject, *, is_answer: bool, is_after_call: bool) -> Blocks:
        attachments = _attachments(metadata) if "attachments" in metadata else _NONE_ATTACHED
        made = blocks(content, Setting(self.assets, attachments, self.where, key))
        for block in made:
            kind = block["type"]
            if kind == "text":
                if is_answer:
                    citations.add(block, metadata)
            elif kind == "opaque" and block["kind"] not in KNOWN:
                self.run.note(UNKNOWN_CONTENT, f"{self.where}, node {key}", f"content {block['kind']!r}")
        if attachments:
            made += self._attached(attachments, made, f"{self.where}, node {key}")
        # Only what was made by a tool in the same turn can be offered for download.
        return [*made, *_left_behind(made)] if is_after_call and is_answer else made

    def _attached(self, attachments: dict[str | None, JsonObject], made: Blocks, where: str) -> Blocks:
        """A block for each file that was attached and is not shown in the text itself."""
        shown = {
            file_id(block["source"].get("asset_pointer") or block["source"]["data"])
            for block in made
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

    def _result(self, key: str, made: Blocks, metadata: JsonObject, kind: Any, call: "Call | None") -> JsonObject:
        answered = answered_by(metadata.get("author_name"), call)
        if answered is None:
            self.run.note(ORPHAN_TOOL_RESULT, f"{self.where}, node {key}")
            metadata["context_incomplete"] = True
        ran: Any = metadata.get("aggregate_result")
        about: JsonObject = {}
        is_error = kind == "system_error"
        if isinstance(ran, dict):
            made += self._pictures(ran, f"{self.where}, node {key}")
            is_error = is_error or failed(ran)
            start, end = ran.get("start_time"), ran.get("end_time")
            if isinstance(start, float) and isinstance(end, float) and end >= start:
                about["duration_ms"] = round((end - start) * 1000)
        only = made[0]
        content = only["text"] if len(made) == 1 and only["type"] == "text" and len(only) == 2 else made
        return build.tool_result(
            tool_use_id=answered.message_id if answered else key,
            content=content,
            is_error=is_error,
            metadata=about or None,
        )

    def _pictures(self, ran: JsonObject, where: str) -> Blocks:
        """The pictures that a run of code drew."""
        drawn = ran.get("messages")
        if not isinstance(drawn, list):
            return []
        return [
            build.image(self.assets.source(message["image_url"], where=where))
            for message in drawn
            if isinstance(message, dict) and isinstance(message.get("image_url"), str) and message["image_url"]
        ]


def _plain_text(content: Any) -> str | None:
    """The text of a content that is nothing but one text."""
    if isinstance(content, dict) and len(content) == 2 and content.get("content_type") == "text":
        parts = content.get("parts")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], str):
            return parts[0]
    return None


def _plain_role(author: Any) -> build.Role | None:
    """The role of an author of whom nothing else is said, but for tools."""
    if isinstance(author, dict) and len(author) <= 3 and author.get("name") is None and not author.get("metadata"):
        role = author.get("role")
        if isinstance(role, str) and role in _KINDS and role != "tool":
            return cast("build.Role", role)
    return None


def _attachments(metadata: JsonObject) -> dict[str | None, JsonObject]:
    """The files of a message by their ids."""
    attached = metadata.get("attachments")
    if not isinstance(attached, list):
        return {}
    return {
        identifier: attachment
        for attachment in attached
        if isinstance(attachment, dict) and isinstance((identifier := attachment.get("id")), str) and identifier
    }


def _left_behind(made: Blocks) -> Blocks:
    """Files that a text offers from the machine its tools ran on: no export holds them."""
    texts = [block["text"] for block in made if block["type"] == "text" and _SANDBOX in block["text"]]
    addresses = [address for text in texts for address in _IN_SANDBOX.findall(text)]
    return [
        build.file(source={**build.source("url", address), "available": False}, name=address.rpartition("/")[2])
        for address in dict.fromkeys(addresses)
    ]


_NONE_ATTACHED: dict[str | None, JsonObject] = {}
_SANDBOX = "sandbox:/"
_IN_SANDBOX = re.compile(r"sandbox:/[^\s()<>\[\]\"'`]+")
