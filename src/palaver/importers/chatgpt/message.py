"""One node's message: who says it, when, in which blocks, and all else that the service noted about it."""

import re
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, cast

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
_OURS = frozenset({
    *("author_kind", "hidden", "on_active_path", "branch_index", "branch_count", "fork_point", "model_override"),
    *("stop_reason", "timestamp_inferred", "context_incomplete", "author_name", "author", "content_type", "feedback"),
    *("source_role", "source_fields", "id", "create_time", "content", "metadata", "user_type", "api_message_id"),
    *("source_ids", "invalid_fields", "accepted", "completion_index", "tool_name", "parent", "children", "node"),
    *("update_time", "status", "end_turn", "weight", "recipient", "channel"),
})  # fmt: skip
"""Names under which this importer puts things: a note of the service by one of these names stands apart."""
_DONE = "finished_successfully"

_FIELDS = (
    *("author", "content", "metadata", "recipient", "status", "weight", "end_turn", "channel", "update_time"),
    *("id", "create_time"),
)  # fmt: skip
_MAPPED = frozenset(_FIELDS)
_all_fields = itemgetter(*_FIELDS)

_COLLIDES, _HAS_MODEL, _HAS_FINISH, _HAS_DURATION, _CITES, _ATTACHES, _HIDES, _SHOWS = (1 << bit for bit in range(8))
_TELLING = {
    **dict.fromkeys(_OURS, _COLLIDES),
    "model_slug": _HAS_MODEL,
    "finish_details": _HAS_FINISH,
    "finished_duration_sec": _HAS_DURATION,
    "content_references": _CITES,
    "citations": _CITES,
    "attachments": _ATTACHES,
    "is_visually_hidden_from_conversation": _HIDES,
    "is_user_system_message": _SHOWS,
}


class _Traits(dict[tuple[str, ...], int]):
    """What the names in a message's metadata tell about it; there are few different sets of them."""

    def __missing__(self, names: tuple[str, ...]) -> int:
        if len(self) > 10_000:
            self.clear()
        traits = 0
        for name in names:
            traits |= _TELLING.get(name, 0)
        self[names] = traits
        return traits


_TRAITS = _Traits()


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
        fields: tuple[Any, ...]
        is_classic = len(raw) == len(_FIELDS)
        try:
            fields = _all_fields(raw) if is_classic else tuple(map(raw.get, _FIELDS))
        except KeyError:
            is_classic, fields = False, tuple(map(raw.get, _FIELDS))
        author, content, notes, recipient, status, weight, end_turn, channel, updated, _, _ = fields
        if notes.__class__ is dict:
            metadata: Json = notes
        else:
            metadata = {} if notes is None else {"source_fields": {"metadata": notes}}
        traits = _TRAITS[tuple(metadata)]
        if traits:
            _rename(metadata, traits)
        if status != _DONE and status is not None:
            metadata["status"] = status
        if weight != 1 and weight is not None:
            metadata["weight"] = weight
        if end_turn is not None:
            metadata["end_turn"] = end_turn
        if channel is not None:
            metadata["channel"] = channel
        if updated is not None:
            metadata["update_time"] = updated
        if not (is_classic or raw.keys() <= _MAPPED):
            _keep_unmapped(raw, metadata)
        text = _plain_text(content) if recipient == "all" or recipient is None else None
        role: build.Role | None = _plain_role(author) if text is not None else None
        if role is None or text is None or traits & _ATTACHES or (call is not None and _SANDBOX in text):
            role, made = self._unusual(key, (author, content, recipient), metadata, call)
        else:
            metadata["author_kind"] = _KINDS[role]
            block: Json = {"type": "text", "text": text}
            made = [block]
            if role == "assistant" and (traits & _CITES or not text.isascii()):
                citations.add(block, metadata)
            if role == "system" or not text:
                metadata["hidden"] = True
        if traits & _HIDES and metadata["is_visually_hidden_from_conversation"] is True:
            metadata["hidden"] = True
        elif traits & _SHOWS and role == "system" and metadata["is_user_system_message"] is True:
            metadata.pop("hidden", None)
        if parent is None:
            return {
                "message_id": key,
                "role": role,
                "timestamp": timestamp,
                "content": made,
                "metadata": metadata,
            }
        return {
            "message_id": key,
            "parent_message_id": parent,
            "role": role,
            "timestamp": timestamp,
            "content": made,
            "metadata": metadata,
        }

    def _unusual(
        self, key: str, said: tuple[Any, Any, Any], metadata: Json, call: "Call | None"
    ) -> tuple[build.Role, Blocks]:
        """Who says what, for messages that are more than a text from somebody to everybody."""
        author, content, recipient = said
        kind: Any = cast("Json", content).get("content_type") if content.__class__ is dict else "text"
        if kind != "text" and kind is not None:
            metadata["content_type"] = kind
        role = self._role(key, author, kind, metadata)
        made = self._blocks(key, content, metadata, is_answer=role == "assistant", is_after_call=call is not None)
        is_hidden = role == "system" or (kind.__class__ is str and kind in _UNSEEN)
        if recipient != "all" and recipient is not None:
            if role == "assistant" and calls(recipient):
                made = [_call(key, recipient, made)]
                is_hidden = True
            else:
                metadata["recipient"] = recipient
        if role == "tool":
            made = [self._result(key, made, metadata, kind, call)]
        if is_hidden or (len(made) == 1 and made[0].get("text") == ""):
            metadata["hidden"] = True
        return role, made

    def _role(self, key: str, author: Any, kind: Any, metadata: Json) -> build.Role:
        stated: Any = None
        if author.__class__ is dict:
            stated = author.get("role")
            if author.get("name") is not None:
                metadata["author_name"] = author["name"]
            if author.get("metadata") or len(author) > 3:
                _note_author(author, metadata)
        elif author is not None:
            metadata["author"] = author
        is_context = kind.__class__ is str and kind in _CONTEXTS
        if stated.__class__ is str and stated in _KINDS and not is_context:
            metadata["author_kind"] = _KINDS[stated]
            return stated
        metadata["author_kind"] = "harness"
        if stated != "system":
            if stated is not None:
                metadata["source_role"] = stated
            if not is_context:
                self.run.note(UNKNOWN_ROLE, f"{self.where}, node {key}", f"role {stated!r}")
        return "system"

    def _blocks(self, key: str, content: Any, metadata: Json, *, is_answer: bool, is_after_call: bool) -> Blocks:
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


def calls(recipient: Any) -> bool:
    """Whether what is said to a recipient is a call of a tool."""
    return recipient.__class__ is str and recipient not in _TO_NOBODY and bool(recipient)


def _plain_text(content: Any) -> str | None:
    """The text of a content that is nothing but one text."""
    if content.__class__ is dict and len(content) == 2 and content.get("content_type") == "text":
        parts = content.get("parts")
        if parts.__class__ is list and len(parts) == 1 and parts[0].__class__ is str:
            return parts[0]
    return None


def _plain_role(author: Any) -> build.Role | None:
    """The role of an author of whom nothing else is said, but for tools."""
    if author.__class__ is dict and len(author) <= 3 and author.get("name") is None and not author.get("metadata"):
        role = author.get("role")
        if role.__class__ is str and role in _KINDS and role != "tool":
            return role
    return None


def _rename(metadata: Json, traits: int) -> None:
    """Give the service's notes the names of the schema, and make room for ours."""
    if traits & _COLLIDES:
        metadata["source_fields"] = {name: metadata.pop(name) for name in list(metadata) if name in _OURS}
    if traits & _HAS_MODEL and metadata["model_slug"].__class__ is str:
        metadata["model_override"] = metadata.pop("model_slug")
    if traits & _HAS_FINISH:
        finish = metadata["finish_details"]
        if finish.__class__ is dict and finish.get("type").__class__ is str:
            metadata["stop_reason"] = finish["type"]
    if traits & _HAS_DURATION:
        seconds = metadata["finished_duration_sec"]
        if type(seconds) is int and seconds >= 0 and "duration_ms" not in metadata:
            metadata["duration_ms"] = seconds * 1000


def _keep_unmapped(raw: Json, metadata: Json) -> None:
    for name in sorted(raw.keys() - _MAPPED):
        place, free = metadata, name
        if name in metadata or name in _OURS:
            place = metadata.setdefault("source_fields", {})
            while free in place:
                free += "'"
        place[free] = raw[name]


def _note_author(author: Json, metadata: Json) -> None:
    rest = {name: value for name, value in author.items() if name not in {"role", "name"} and value not in ({}, None)}
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
    texts = [block["text"] for block in made if block["type"] == "text" and _SANDBOX in block["text"]]
    addresses = [address for text in texts for address in _IN_SANDBOX.findall(text)]
    return [
        build.file(source={**build.source("url", address), "available": False}, name=address.rpartition("/")[2])
        for address in dict.fromkeys(addresses)
    ]


_NONE_ATTACHED: dict[str | None, Json] = {}
_SANDBOX = "sandbox:/"
_IN_SANDBOX = re.compile(r"sandbox:/[^\s()<>\[\]\"'`]+")
