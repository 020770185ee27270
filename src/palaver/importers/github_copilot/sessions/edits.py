"""Edits that an answer makes: the new text of each as code, with its file and its lines."""

from typing import Any

from palaver.importers.github_copilot.sessions.kept import rest_of
from palaver.importers.github_copilot.sessions.uris import is_plain, lines_of, path_of
from palaver.model import build
from palaver.model.build import JsonObject


def edit_blocks(part: JsonObject) -> list[JsonObject]:
    """The edits of a group, in their order; nothing where there are none, or where one is no edit of a text."""
    path = path_of(part.get("uri"))
    groups = part.get("edits")
    if not path or not isinstance(groups, list):
        return []
    blocks: list[JsonObject] = []
    for group in groups:
        for edit in group if isinstance(group, list) else [group]:
            block = _block(edit, path)
            if block is None:
                return []
            blocks.append(block)
    if blocks:
        mapped = {"edits", "uri"} if is_plain(part["uri"]) else {"edits"}
        blocks[0].setdefault("source_fields", {}).update(rest_of(part, mapped))
    return blocks


def _block(edit: Any, path: str) -> JsonObject | None:
    match edit:
        case {"text": str(text), "range": dict(spanned)}:
            block = build.code(text, file_path=path, line_range=lines_of(spanned))
            block["source_fields"] = rest_of(edit, {"text"})
            return block
        case _:
            return None
