"""Tool results: texts, images, and the text of rendered prompts.

A rendered prompt is a tree: nodes of type 1 have children, those of type 2 are texts that may start a new line.
"""

from collections.abc import Container, Iterator
from typing import Any

from palaver.importers.github_copilot.sessions.unmapped_fields import is_blank, unmapped_fields
from palaver.importers.github_copilot.sessions.vscode_values import base64_of, path_of
from palaver.model import build
from palaver.model.build import JsonObject

Content = str | list[JsonObject]

_BREAK_UNLESS_AFTER_TEXT = 2
"""Value of `lineBreakBefore`: a new line, unless another text precedes directly."""
_TEXT_FIELDS = frozenset({"value"})
_CONTENT = frozenset({"content"})


def recorded_result(value: Any) -> tuple[Content, JsonObject]:
    """Return the content of a result that the extension recorded, and its other fields."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, dict) or not isinstance((parts := value.get("content")), list):
        return [build.opaque(kind="toolCallResult", raw=value)], {}
    if len(value) == 2 and type(value.get("$mid")) is int:
        return _content(parts), {}
    rest = unmapped_fields(value, _CONTENT)
    return _content(parts), {name: item for name, item in rest.items() if not _is_type_tag(name, item)}


def displayed_output(output: Any) -> Content | None:
    """Return the content of a result as the editor shows it, or None."""
    match output:
        case {"type": "data", "mimeType": str(media_type), "base64Data": str(data)}:
            return [_media_block(media_type, data)]
        case list() if output:
            return _content(output)
        case str() if output:
            return output
        case _:
            return None


def _content(parts: list[Any]) -> Content:
    blocks: list[JsonObject] = []
    for part in parts:
        if isinstance(part, dict) and len(part) == 2 and type(part.get("$mid")) is int:  # as newer versions write them
            value = part.get("value")
            if isinstance(value, str):
                blocks.append(build.text(value))
                continue
            if isinstance(value, dict) and isinstance((node := value.get("node")), dict):
                blocks += _rendered_text(node)
                continue
        match part:
            case str():
                blocks.append(build.text(part))
            case {"value": {"node": dict(node)}}:
                blocks += _with_extra_fields(_rendered_text(node), part, {"value"})
            case {"mimeType": str(media_type), "data": data} if (encoded := _encoded(data)) is not None:
                blocks += _with_extra_fields([_media_block(media_type, encoded)], part, {"mimeType", "data"})
            case {"mimeType": str(media_type), "value": str(data), "isText": False}:
                blocks += _with_extra_fields(
                    [_media_block(media_type, data)], part, {"mimeType", "value", "isText", "type"}
                )
            case {"type": "ref", "uri": uri} if path := path_of(uri):
                blocks += _with_extra_fields([build.file(source=build.source("url", path))], part, {"type"})
            case {"value": str(text)}:
                blocks += _with_extra_fields([build.text(text)], part, _TEXT_FIELDS)
            case None:
                pass
            case _:
                blocks.append(build.opaque(kind="toolResultPart", raw=part))
    if not all(map(_is_plain_text, blocks)):
        return blocks
    return blocks[0]["text"] if len(blocks) == 1 else "\n".join([block["text"] for block in blocks])


def _with_extra_fields(blocks: list[JsonObject], part: JsonObject, mapped: Container[str]) -> list[JsonObject]:
    """Add a part's other fields to the first of its blocks."""
    for name, value in part.items():
        if name not in mapped and not _is_type_tag(name, value) and not is_blank(value):
            blocks[0].setdefault("source_fields", {})[name] = value
    return blocks


def _is_type_tag(name: str, value: Any) -> bool:
    """Return whether a field only states the class of the editor's object, or that a text is a text."""
    return (name == "$mid" and type(value) is int) or (name, value) in (("type", "embed"), ("isText", True))


def _is_plain_text(block: JsonObject) -> bool:
    return block["type"] == "text" and len(block) == 2


def _encoded(data: Any) -> str | None:
    return data if isinstance(data, str) else base64_of(data)


def _media_block(media_type: str, data: str) -> JsonObject:
    source = build.source("base64", data, media_type=media_type)
    return build.image(source) if media_type.startswith("image/") else build.file(source=source, media_type=media_type)


def _rendered_text(root: JsonObject) -> list[JsonObject]:
    """Return the text of a rendered prompt as one block, followed by its images and unknown nodes."""
    pieces: list[str] = []
    others: list[JsonObject] = []
    stack: list[Iterator[Any]] = [iter((root,))]
    while stack:
        follows_text = False
        for node in stack[-1]:
            kind = node.get("type") if isinstance(node, dict) else None
            if kind == 2 and isinstance((text := node.get("text")), str):
                if (
                    (breaks := node.get("lineBreakBefore"))
                    and pieces
                    and not (follows_text and breaks == _BREAK_UNLESS_AFTER_TEXT)
                ):
                    pieces.append("\n")
                pieces.append(text)
                follows_text = True
            elif kind == 1 and isinstance((children := node.get("children")), list):
                if (props := node.get("props")) and (image := _image(props)):
                    others.append(image)
                stack.append(iter(children))
                break
            elif node is not None:
                others.append(build.opaque(kind="promptNode", raw=node))
        else:
            stack.pop()
    return [build.text("".join(pieces)), *others] if pieces or not others else others


def _image(props: Any) -> JsonObject | None:
    match props:
        case {"src": str(address)} if address:
            if not address.startswith("data:"):
                return build.image(build.source("url", address))
            begin, _, data = address.partition(",")
            return build.image(build.source("base64", data, media_type=begin[len("data:") :].partition(";")[0] or None))
        case _:
            return None
