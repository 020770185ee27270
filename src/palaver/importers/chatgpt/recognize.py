"""Telling ChatGPT's conversations, and the files of an export around them, from those of others."""

import re

from palaver.importers._shared.contract import Match
from palaver.importers._shared.exports import Service
from palaver.importers.chatgpt.comparisons import is_comparison
from palaver.importers.chatgpt.page import PAGE, is_page
from palaver.model.build import JsonObject
from palaver.sources.source import Source

FEEDBACK = "message_feedback.json"
SHARED = "shared_conversations.json"
MANIFEST = "export_manifest.json"
ASSET_NAMES = "conversation_asset_file_names.json"
LIBRARY = "library_files.json"
COMPARISONS = "model_comparisons.json"
ACCOUNT = frozenset({"user.json", "user_settings.json"})
_OTHERS = frozenset({"group_chats.json", "shopping.json", "sora.json", "ads.json", "sites", "textdocs"})
_KNOWN = frozenset({FEEDBACK, SHARED, MANIFEST, ASSET_NAMES, LIBRARY, COMPARISONS, PAGE, *ACCOUNT, *_OTHERS})
_ASSETS = re.compile(
    r"file[-_][A-Za-z0-9]+.*|dalle-generations|user-[A-Za-z0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


def belongs(name: str) -> bool:
    """Whether a file or folder beside the conversations is part of an export, by its name."""
    return name in _KNOWN or _ASSETS.fullmatch(name) is not None


def is_conversation(value: JsonObject) -> bool:
    """Whether an object, perhaps without its end, is a conversation of ChatGPT and not of another tree-keeper."""
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
    hallmark=b'"mapping"',
    is_conversation=is_conversation,
    reason="conversations with a `mapping` of nodes",
    belongs=belongs,
)


def recognize(source: Source) -> Match:
    if source.is_folder:
        return SERVICE.recognizes(source)
    if is_page(source):
        return Match.yes("a page with `jsonData`", form="page")
    if b'"prompt_convo"' in source.head() and any(map(is_comparison, source.glimpse() or ())):
        return Match.yes("answers that were compared side by side", form="comparisons")
    return SERVICE.recognizes(source)
