"""The files of an export: how to recognize them, and two that hold conversations in another format.

`chat.html`, the viewer page of an export, contains all conversations again, and a list of the files.
`model_comparisons.json` contains pairs of answers shown side by side, each read as a conversation with two branches.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from palaver.errors import PalaverError
from palaver.importers._shared.chat_exports import Service
from palaver.importers._shared.contract import Match
from palaver.model.build import JsonObject
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.source_head import parse_head

PAGE = "chat.html"
FEEDBACK = "message_feedback.json"
SHARED = "shared_conversations.json"
MANIFEST = "export_manifest.json"
ASSET_NAMES = "conversation_asset_file_names.json"
LIBRARY = "library_files.json"
COMPARISONS = "model_comparisons.json"
ACCOUNT = frozenset({"user.json", "user_settings.json"})
_OTHER_MEMBERS = frozenset({"group_chats.json", "shopping.json", "sora.json", "ads.json", "sites", "textdocs"})
_MEMBER_NAMES = frozenset(
    {FEEDBACK, SHARED, MANIFEST, ASSET_NAMES, LIBRARY, COMPARISONS, PAGE, *ACCOUNT, *_OTHER_MEMBERS}
)
_ASSET_NAME = re.compile(
    r"file[-_][A-Za-z0-9]+.*|dalle-generations|user-[A-Za-z0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)

_COMPARISON_MARKS = (b'"prompt_convo"', b'"feedback_step_2"')


def recognize(source: Source) -> Match:
    if source.is_folder:
        return SERVICE.recognizes(source)
    if is_page(source):
        return Match.yes("a page with `jsonData`", form="page")
    if any(mark in source.head() for mark in _COMPARISON_MARKS) and any(map(is_comparison, source.parsed_head() or ())):
        return Match.yes("answers that were compared side by side", form="comparisons")
    return SERVICE.recognizes(source)


def is_export_member(name: str) -> bool:
    """Return whether the name of a file or folder beside the conversations belongs to an export."""
    return name in _MEMBER_NAMES or _ASSET_NAME.fullmatch(name) is not None


def is_conversation(value: JsonObject) -> bool:
    """Return whether an object, perhaps cut off, is a conversation of ChatGPT, not of another product with trees."""
    mapping = value.get("mapping")
    if not isinstance(mapping, dict) or "inserted_at" in value:
        return False
    nodes = [node for node in mapping.values() if isinstance(node, dict)]
    if any(isinstance((message := node.get("message")), dict) and "fragments" in message for node in nodes):
        return False
    return "current_node" in value or any("message" in node and _is_linked(node) for node in nodes)


def _is_linked(node: JsonObject) -> bool:
    match node:
        case {"parent": str() | None} | {"children": list()} | {"message": {"author": dict()}}:
            return True
        case _:
            return False


SERVICE = Service(
    head_marker=b'"mapping"',
    is_conversation=is_conversation,
    reason="conversations with a `mapping` of nodes",
    is_member=is_export_member,
)


_CONVERSATIONS_START = b"var jsonData = "
_ASSETS_START = b"var assetsJson = "
_PIECE_BYTES = 1 << 20
_LARGEST_LIST_BYTES = 1 << 26


def is_page(source: Source) -> bool:
    return source.suffix in {".html", ".htm"} and _CONVERSATIONS_START + b"[" in source.head()


@contextmanager
def page_elements(source: Source, run: Run) -> Generator[JsonElements]:
    """Open the conversations in the page, one by one."""
    with source.open() as stream:
        rest = _StreamAfter(stream, _CONVERSATIONS_START)
        yield JsonElements(cast("BinaryIO", rest), run, accepts_truncated=True, is_embedded=True)


def listed_assets(source: Source) -> dict[str, str]:
    """Return the file name of each asset pointer that the page lists; {} if the page cannot be read."""
    raw = bytearray()
    try:
        with source.open() as stream:
            rest = _StreamAfter(stream, _ASSETS_START)
            while len(raw) < _LARGEST_LIST_BYTES and (piece := rest.read(_PIECE_BYTES)):
                raw += piece
    except (PalaverError, OSError):
        pass  # the list up to the damage is better than none
    listed = parse_head(bytes(raw))
    if not isinstance(listed, dict):
        return {}
    names = cast("dict[str, Any]", listed)
    return {pointer: name for pointer, name in names.items() if isinstance(name, str)}


class _StreamAfter:
    """The part of a stream after a marker; empty if the marker is missing."""

    def __init__(self, stream: BinaryIO, marker: bytes) -> None:
        self._stream = stream
        self._marker = marker
        self._is_past_marker = False

    def read(self, size: int) -> bytes:
        if self._is_past_marker:
            return self._stream.read(size)
        self._is_past_marker = True
        buffer = b""
        while piece := self._stream.read(_PIECE_BYTES):
            buffer += piece
            if (at := buffer.find(self._marker)) >= 0:
                return buffer[at + len(self._marker) :]
            buffer = buffer[1 - len(self._marker) :]
        return b""


_TURNS = ("original_turn", "new_turn")
_DROPPED_FIELDS = frozenset({
    *("id", "conversation_id", "create_time", "user_id", "workspace_id", "storage_protocol", "metadata"),
})  # fmt: skip
"""Ids, and data about the user's network."""
_MAPPED_FIELDS = frozenset({"content", "input", "output"})


def is_comparison(value: Any) -> bool:
    """Return whether a row compares answers; until 2023 its input and output were not in `content`."""
    match value:
        case {"content": {"input": {"prompt_convo": dict()}}} | {"input": {"prompt_convo": dict()}}:
            return True
        case {"input": dict(), "output": {"feedback_step_2": dict()}}:
            return True
        case _:
            return False


def comparison_conversation(row: Any) -> JsonObject | None:
    """Return a comparison in the shape of an export's conversation; None if the row holds nothing.

    A comparison of an unknown shape becomes a single message of unknown content, which is kept whole.
    """
    if not isinstance(row, dict):
        return None
    content = row["content"] if isinstance(row.get("content"), dict) else row
    asked, prompts, convo = _prompts(content)
    mapping: JsonObject = {}
    last: str | None = None
    for message in prompts:
        last = _add_node(mapping, message, last)
    output = content.get("output")
    result: JsonObject = output if isinstance(output, dict) else {"output": output}
    step = result.get("feedback_step_2")
    compared: JsonObject = step if isinstance(step, dict) else {}
    ends: dict[str, str | None] = {}
    for turn in _TURNS:
        ends[turn] = last
        answers = compared.get(turn)
        for message in answers if isinstance(answers, list) else ():
            ends[turn] = _add_node(mapping, message, ends[turn])
    fields = {name: value for name, value in row.items() if name not in _MAPPED_FIELDS}
    compared_id = row.get("conversation_id") or asked.get("conversation_id")
    conversation: JsonObject = {
        **{name: value for name, value in fields.items() if name not in _DROPPED_FIELDS},
        "create_time": row.get("create_time"),
        "compared_conversation_id": compared_id,
    }
    if isinstance((row_id := row.get("id")), str) and row_id:
        prefix = f"{compared_id}:" if isinstance(compared_id, str) else ""
        conversation["conversation_id"] = f"{prefix}comparison-{row_id}"
    if not mapping:
        kept = _kept_fields(content)
        if not any(kept.values()):
            return None
        unknown = {"author": {"role": "system"}, "content": {**kept, "content_type": "comparison"}}
        return {**conversation, "mapping": {"comparison": {"message": unknown, "parent": None}}}
    unmapped = {name: value for name, value in result.items() if name != "feedback_step_2" or value is not compared}
    unmapped |= {name: value for name, value in compared.items() if name not in _TURNS or not isinstance(value, list)}
    around = {} if content is row else {name: value for name, value in content.items() if name not in _MAPPED_FIELDS}
    for part in (convo, asked, around):
        unmapped |= _kept_fields(part)
    preferred = "new_turn" if compared.get("completion_comparison_rating") == "new" else "original_turn"
    return {**conversation, "mapping": mapping, "current_node": ends[preferred], "comparison": unmapped}


def _prompts(content: JsonObject) -> tuple[JsonObject, list[Any], JsonObject]:
    """Return the input of a comparison, its messages, and the other fields around the messages."""
    given = content.get("input")
    asked: JsonObject = dict(given) if isinstance(given, dict) else {"input": given}
    match asked.get("prompt_convo"):
        case {"messages": list(messages), **convo}:
            del asked["prompt_convo"]
            return asked, messages, convo
        case _:
            return asked, [], {}


def _kept_fields(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if name not in _DROPPED_FIELDS and value is not None}


def _add_node(mapping: JsonObject, message: Any, parent: str | None) -> str:
    """Add a message below another one, under its own id if that is free; return its key."""
    stated = message.get("id") if isinstance(message, dict) else None
    key = stated if isinstance(stated, str) and stated and stated not in mapping else f"message-{len(mapping)}"
    while key in mapping:
        key += "'"
    mapping[key] = {"message": message, "parent": parent}
    return key
