"""One node's message: who says it, when, in which blocks, and all else that the service noted about it."""

import re
from dataclasses import dataclass
from typing import Any

from palaver.importers.chatgpt import citations
from palaver.importers.chatgpt.assets import Assets, file_id
from palaver.importers.chatgpt.content import KNOWN, Blocks, Setting, blocks
from palaver.model import build
from palaver.model.finding import finding_kind
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run

UNKNOWN_CONTENT = finding_kind("unknown-content", "note", "A content of an unknown type is kept whole.")
UNKNOWN_ROLE = finding_kind("unknown-role", "warning", "Who wrote a message is not known; its role became system.")
ORPHAN_TOOL_RESULT = finding_kind(
    "orphan-tool-result", "note", "A tool's result hangs on no call: exports leave out hidden messages."
)

Json = dict[str, Any]

_KINDS = {"user": "human", "assistant": "model", "tool": "tool", "system": "harness", "function": "tool"}
_CONTEXTS = frozenset({"user_editable_context", "model_editable_context", "app_pairing_content"})
_UNSEEN = frozenset({*_CONTEXTS, "system_content", "thoughts", "reasoning_recap", "tether_browsing_display"})
_TO_NOBODY = (None, "all", "assistant", "user")
_MAPPED = frozenset({
    *("id", "author", "create_time", "update_time", "content", "status", "end_turn", "weight"),
    *("metadata", "recipient", "channel"),
})  # fmt: skip
_OURS = frozenset({
    *("author_kind", "hidden", "on_active_path", "branch_index", "branch_count", "fork_point", "model_override"),
    *("stop_reason", "timestamp_inferred", "context_incomplete", "author_name", "author", "content_type", "feedback"),
    *("source_role", "source_fields", "id", "create_time", "content", "metadata", "user_type", "api_message_id"),
    *("source_ids", "invalid_fields", "accepted", "completion_index", "tool_name", "parent", "children"),
    *("update_time", "status", "end_turn", "weight", "recipient", "channel"),
})  # fmt: skip
"""Names under which this importer puts things: a note of the service by one of these names stands apart."""


@dataclass(slots=True)
class Call:
    """A call of a tool, with the one before it in the same turn."""

    message_id: str
    name: str
    before: "Call | None"
    is_answered: bool = False


@dataclass(slots=True)
class Reader:
    """What the messages of one conversation are read with."""

    run: Run
    assets: Assets
    where: str

    def message(self, key: str, raw: Json, parent: str | None, timestamp: str, call: "Call | None") -> Json:
        """The message of a node; `call` is the nearest call above it, whose result it may be."""
        metadata = _notes(raw)
        content: Any = raw.get("content")
        kind: Any = content.get("content_type") if content.__class__ is dict else None
        role = self._role(key, raw, kind, metadata)
        made = self._blocks(key, raw, metadata)
        recipient: Any = raw.get("recipient")
        is_unseen = kind in _UNSEEN if kind.__class__ is str else False
        if role == "assistant" and calls(raw):
            made = [_call(key, recipient, made)]
            is_unseen = True
        else:
            if recipient not in (None, "all"):
                metadata["recipient"] = recipient
            if role == "tool":
                made = [self._result(key, made, metadata, kind, call)]
        if kind is not None and kind != "text":
            metadata["content_type"] = kind
        if (
            is_unseen
            or metadata.get("is_visually_hidden_from_conversation") is True
            or (role == "system" and metadata.get("is_user_system_message") is not True)
            or (len(made) == 1 and made[0].get("text") == "")
        ):
            metadata["hidden"] = True
        return build.message(
            message_id=key,
            parent_message_id=parent,
            role=role,
            timestamp=timestamp,
            content=made,
            metadata=metadata,
        )

    def _role(self, key: str, raw: Json, kind: Any, metadata: Json) -> build.Role:
        author: Any = raw.get("author")
        stated: Any = author.get("role") if author.__class__ is dict else None
        if stated.__class__ is str and stated in _KINDS and not (kind.__class__ is str and kind in _CONTEXTS):
            metadata["author_kind"] = _KINDS[stated]
            return stated
        metadata["author_kind"] = "harness"
        if stated != "system":
            if stated is not None:
                metadata["source_role"] = stated
            if not (kind.__class__ is str and kind in _CONTEXTS):
                self.run.note(UNKNOWN_ROLE, f"{self.where}, node {key}", f"role {stated!r}")
        return "system"

    def _blocks(self, key: str, raw: Json, metadata: Json) -> Blocks:
        content: Any = raw.get("content")
        if content.__class__ is dict and content.get("content_type") == "text" and len(content) == 2:
            parts: Any = content.get("parts")
            if parts.__class__ is list and len(parts) == 1 and parts[0].__class__ is str:
                text: str = parts[0]
                made: Blocks = [{"type": "text", "text": text}]
                if "attachments" not in metadata and _SANDBOX not in text:
                    if "\ue200" in text or "【" in text or "content_references" in metadata or "citations" in metadata:
                        _cite(made, metadata)
                    return made
        where = f"{self.where}, node {key}"
        attachments = _attachments(metadata)
        made = blocks(content, Setting(self.assets, attachments, where))
        for block in made:
            if block["type"] == "opaque" and block["kind"] not in KNOWN:
                self.run.note(UNKNOWN_CONTENT, where, f"content {block['kind']!r}")
        _cite(made, metadata)
        return [*made, *self._attached(attachments, made, where), *_left_behind(made)]

    def _attached(self, attachments: dict[str | None, Json], made: Blocks, where: str) -> Blocks:
        """A block for each file that was attached and is not shown in the text itself."""
        shown = {
            file_id(block["source"].get("asset_pointer") or block["source"]["data"])
            for block in made
            if "source" in block
        }
        return [
            build.file(
                source=self.assets.source(identifier, attachment, where=where),
                name=name if type(name := attachment.get("name")) is str else None,
                media_type=media_type
                if type(media_type := attachment.get("mime_type") or attachment.get("mimeType")) is str
                else None,
            )
            for identifier, attachment in attachments.items()
            if identifier not in shown
        ]

    def _result(self, key: str, made: Blocks, metadata: Json, kind: Any, call: "Call | None") -> Json:
        answered = _answered_by(metadata.get("author_name"), call)
        if answered is None:
            self.run.note(ORPHAN_TOOL_RESULT, f"{self.where}, node {key}")
            metadata["context_incomplete"] = True
        ran: Any = metadata.get("aggregate_result")
        about: Json = {}
        is_error = kind == "system_error"
        if ran.__class__ is dict:
            made += self._pictures(ran, f"{self.where}, node {key}")
            is_error = is_error or _failed(ran)
            start, end = ran.get("start_time"), ran.get("end_time")
            if type(start) is float and type(end) is float and end >= start:
                about["duration_ms"] = round((end - start) * 1000)
        only = made[0]
        content = only["text"] if len(made) == 1 and only["type"] == "text" and len(only) == 2 else made
        return build.tool_result(
            tool_use_id=answered.message_id if answered else key,
            content=content,
            is_error=is_error,
            metadata=about or None,
        )

    def _pictures(self, ran: Json, where: str) -> Blocks:
        """The pictures that a run of code drew."""
        drawn = ran.get("messages")
        if type(drawn) is not list:
            return []
        return [
            build.image(self.assets.source(message["image_url"], where=where))
            for message in drawn
            if type(message) is dict and type(message.get("image_url")) is str and message["image_url"]
        ]


def _answered_by(name: Any, nearest: Call | None) -> Call | None:
    """The call that a tool's message answers: one to the same tool, else the nearest if nothing has answered it."""
    service = name.partition(".")[0] if name.__class__ is str else None
    call = nearest
    while call is not None:
        if call.name.partition(".")[0] == service:
            call.is_answered = True
            return call
        call = call.before
    if nearest is None or nearest.is_answered:
        return None
    nearest.is_answered = True
    return nearest


def calls(raw: Json) -> bool:
    """Whether a message speaks to a tool."""
    recipient: Any = raw.get("recipient")
    return recipient.__class__ is str and recipient not in _TO_NOBODY and bool(recipient)


def _notes(raw: Json) -> Json:
    """The message's metadata with its other fields that say something, each under its own name."""
    metadata: Any = raw.get("metadata")
    if metadata.__class__ is dict:
        if not _OURS.isdisjoint(metadata):
            metadata["source_fields"] = {name: metadata.pop(name) for name in list(metadata) if name in _OURS}
    else:
        metadata = {} if metadata is None else {"source_fields": {"metadata": metadata}}
    if raw.get("status", _DONE) != _DONE:
        metadata["status"] = raw["status"]
    if raw.get("weight", 1) != 1:
        metadata["weight"] = raw["weight"]
    for name in ("end_turn", "channel", "update_time"):
        if raw.get(name) is not None:
            metadata[name] = raw[name]
    if not raw.keys() <= _MAPPED:
        for name in raw.keys() - _MAPPED:
            if name in metadata or name in _OURS:
                metadata.setdefault("source_fields", {})[name] = raw[name]
            else:
                metadata[name] = raw[name]
    model = metadata.get("model_slug")
    if model.__class__ is str:
        metadata["model_override"] = metadata.pop("model_slug")
    finish: Any = metadata.get("finish_details")
    if finish.__class__ is dict and type(finish.get("type")) is str:
        metadata["stop_reason"] = finish["type"]
    seconds = metadata.get("finished_duration_sec")
    if type(seconds) is int and seconds >= 0 and "duration_ms" not in metadata:
        metadata["duration_ms"] = seconds * 1000
    _note_author(raw, metadata)
    return metadata


_DONE = "finished_successfully"


def _note_author(raw: Json, metadata: Json) -> None:
    author: Any = raw.get("author")
    if author.__class__ is not dict:
        if author is not None:
            metadata["author"] = author
        return
    if (name := author.get("name")) is not None:
        metadata["author_name"] = name
    if author.get("metadata") or len(author) > 3:
        rest = {
            name: value for name, value in author.items() if name not in {"role", "name"} and value not in ({}, None)
        }
        if rest:
            metadata["author"] = rest


def _call(key: str, name: str, made: Blocks) -> Json:
    """A call of a tool, with its arguments where they are JSON, else with what was said to it."""
    first = made[0]
    words = first.get("code") if first["type"] == "code" else first.get("text")
    if len(made) > 1 or type(words) is not str:
        return build.tool_use(id=key, name=name, input={"content": made})
    arguments = _object(words)
    field = first["type"]
    rest = {name: value for name, value in first.items() if name not in {"type", field}}
    if arguments is None:
        return build.tool_use(id=key, name=name, input={field: words, **rest})
    call = build.tool_use(id=key, name=name, input=arguments)
    return {**rest, **call} if rest else call


def _object(words: str) -> Json | None:
    if not words.lstrip().startswith("{"):
        return None
    try:
        value = parse(words)
    except NOT_JSON:
        return None
    return value if type(value) is dict else None


def _failed(ran: Json) -> bool:
    status = ran.get("status")
    return bool(ran.get("in_kernel_exception") or ran.get("system_exception")) or (
        type(status) is str and status.startswith("failed")
    )


def _attachments(metadata: Json) -> dict[str | None, Json]:
    """The files of a message by their ids."""
    attached = metadata.get("attachments")
    if type(attached) is not list:
        return {}
    return {
        identifier: attachment
        for attachment in attached
        if type(attachment) is dict and type(identifier := attachment.get("id")) is str and identifier
    }


def _left_behind(made: Blocks) -> Blocks:
    """Files that a text offers from the machine its tools ran on: no export holds them."""
    addresses = [address for block in made if block["type"] == "text" for address in _IN_SANDBOX.findall(block["text"])]
    return [
        build.file(source={**build.source("url", address), "available": False}, name=address.rpartition("/")[2])
        for address in dict.fromkeys(addresses)
    ]


_SANDBOX = "sandbox:/"
_IN_SANDBOX = re.compile(r"sandbox:/[^\s()<>\[\]\"'`]+")


def _cite(made: Blocks, metadata: Json) -> None:
    """Give the text its citations; offsets count from the beginning of the first text."""
    for block in made:
        if block["type"] == "text" and (found := citations.take(metadata, block["text"])):
            block["citations"] = found
