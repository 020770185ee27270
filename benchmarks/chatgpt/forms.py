"""The two forms of an export: which nodes and fields are in it, how they are spelled, and what is true of them."""

import codecs
import json
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from chatgpt.messages import ROOT, Record

LEAN_CONVERSATION = {
    "conversation_id",
    "conversation_template_id",
    "create_time",
    "current_node",
    "default_model_slug",
    "id",
    "is_archived",
    "is_do_not_remember",
    "is_read_only",
    "is_starred",
    "is_study_mode",
    "mapping",
    "memory_scope",
    "pinned_time",
    "plugin_ids",
    "title",
    "update_time",
    "voice",
}
LEAN_METADATA = {"attachments", "content_references", "model_slug", "parent_id", "serialization_metadata"}
PLACES = {"matched_text", "start_idx", "end_idx", "safe_urls", "refs", "status", "error", "style"}


@dataclass
class Truth:
    """What a correct import finds: nodes with a message, and among them those by which the assistant calls a tool."""

    conversations: int = 0
    messages: int = 0
    tool_calls: int = 0
    largest_conversation: int = 0

    def count(self, record: Record, size_bytes: int) -> None:
        self.conversations += 1
        self.largest_conversation = max(self.largest_conversation, size_bytes)
        for node in record["mapping"].values():
            if message := node["message"]:
                self.messages += 1
                if message["author"]["role"] == "assistant" and message.get("recipient", "all") != "all":
                    self.tool_calls += 1


@dataclass(frozen=True)
class Form:
    record: Callable[[Record], Record]
    spell: Callable[[Record], bytes]
    opening: bytes
    separator: bytes
    closing: bytes


def _spell_classic(record: Record) -> bytes:
    return _ENCODER.encode(record).encode()


_ENCODER = json.JSONEncoder(check_circular=False)


def _spell_lean(record: Record) -> bytes:
    # The standard library indents ten times as slowly; here only what it would escape is left to do.
    spelled = orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    return spelled.replace(b"\n", b"\n  ").decode().encode("ascii", "json-escape")


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("json-escape", _escape)


def _pruned(record: Record) -> Record:
    """What the lean form leaves out: nodes that nobody sees, with their children given to the nearest one kept."""
    nearest: dict[str | None, str | None] = {None: None}
    nodes: Record = {}
    for node_id, node in record["mapping"].items():
        parent, message = nearest[node["parent"]], node["message"]
        is_kept = message is None or _is_seen(message)
        nearest[node_id] = node_id if is_kept else parent
        if is_kept:
            nodes[node_id] = {"id": node_id, "message": message and _lean_message(message), "parent": parent}
    lean = {name: value for name, value in record.items() if name in LEAN_CONVERSATION}
    return lean | {"mapping": nodes, "current_node": nearest[record["current_node"]] or ROOT}


def _is_seen(message: Record) -> bool:
    is_spoken = message["author"]["role"] in {"user", "assistant"} and message["recipient"] == "all"
    return is_spoken and "is_visually_hidden_from_conversation" not in message["metadata"]


def _lean_message(message: Record) -> Record:
    lean = {name: message[name] for name in ("id", "create_time", "content")}
    lean["author"] = {name: message["author"][name] for name in ("name", "role")}
    content = message["content"]
    if content["content_type"] == "thoughts":
        thoughts = [thought | {"content": "", "chunks": []} for thought in content["thoughts"]]
        lean["content"] = content | {"thoughts": thoughts}
    metadata = {name: value for name, value in message["metadata"].items() if name in LEAN_METADATA}
    if references := metadata.get("content_references"):
        metadata["content_references"] = [
            {name: value for name, value in reference.items() if name not in PLACES} | {"prefix": None}
            for reference in references
        ]
    return lean | ({"metadata": metadata} if metadata else {})


CLASSIC = Form(lambda record: record, _spell_classic, b"[", b", ", b"]")
LEAN = Form(_pruned, _spell_lean, b"[\n  ", b",\n  ", b"\n]")
