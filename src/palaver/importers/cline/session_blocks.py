"""Content blocks of SDK messages: Anthropic's shapes, plus files, images and media in shapes of the SDK.

A tool result is a text, a list of blocks, or a list of arbitrary values, mostly `{query, result, success}`: of these,
`result` becomes a text block and the rest goes to its `source_fields`.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from palaver.importers._shared.findings import MADE_CALL_ID, UNKNOWN_BLOCK
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind

NoteFinding = Callable[[FindingKind, str], None]
"""Records a finding, with an optional message."""

TOOL_OUTPUT = "tool_output"
"""Kind of the opaque block for tool output of an arbitrary shape, kept whole on purpose."""


class Content:
    """Builds the blocks of one session's messages and tracks calls without a result."""

    def __init__(self) -> None:
        self._pending: OrderedDict[str, None] = OrderedDict()

    def blocks(self, content: Any, message_id: str, note: NoteFinding) -> list[JsonObject]:
        """Return the blocks of a message's content, at least one."""
        if isinstance(content, list):
            return [self._block(raw, message_id, number, note) for number, raw in enumerate(content)] or [
                build.text("")
            ]
        if isinstance(content, str):
            return [build.text(content)]
        if content is None:
            return [build.text("")]
        note(UNKNOWN_BLOCK, "the content is not a list")
        return [build.opaque(kind="content", raw=content)]

    def activities(self, listed: Any, message_id: str) -> list[JsonObject]:
        """Return the blocks of calls that the provider executed itself, each with its result."""
        activities: list[Any] = listed if isinstance(listed, list) else [listed]
        return [
            block
            for number, activity in enumerate(activities)
            for block in _activity(activity, f"{message_id}:activity-{number}")
        ]

    def _block(self, raw: Any, message_id: str, number: int, note: NoteFinding) -> JsonObject:
        if not isinstance(raw, dict):
            return build.text(raw) if isinstance(raw, str) else _unknown(raw, "block", note)
        kind = raw.get("type")
        if kind == "text":
            if len(raw) == 2 and isinstance(raw.get("text"), str):
                return raw
        elif kind == "tool_use":
            if isinstance(raw.get("name"), str):
                return self._call(raw, f"{message_id}:call-{number}", note)
        elif kind == "tool_result":
            return self._result(raw, f"{message_id}:call-{number}", note)
        return plain_block(raw) or _unknown(raw, kind, note)

    def _call(self, raw: JsonObject, made_id: str, note: NoteFinding) -> JsonObject:
        call_id, given = raw.get("id"), raw.get("input")
        if not isinstance(call_id, str):
            note(MADE_CALL_ID, "")
            call_id = made_id
        self._pending[call_id] = None
        made = build.tool_use(id=call_id, name=raw["name"], input=_input(given))
        if len(raw) == 4 and call_id is not made_id and given is not None:
            return made
        return _with_source_fields(made, _unmapped(raw, "name", "input", *_names_of_texts(raw, "id")))

    def _result(self, raw: JsonObject, made_id: str, note: NoteFinding) -> JsonObject:
        call_id, name, is_error = raw.get("tool_use_id"), raw.get("name"), raw.get("is_error")
        if not isinstance(call_id, str):
            call_id = next(iter(self._pending), made_id)
            note(MADE_CALL_ID, "a result that names no call belongs to the first that has none")
        self._pending.pop(call_id, None)
        made = build.tool_result(
            tool_use_id=call_id,
            content=_output(raw.get("content")),
            is_error=is_error is True,
            metadata={"name": name} if isinstance(name, str) else None,
        )
        if (
            raw.keys() <= _RESULT_FIELDS
            and (is_error is None or isinstance(is_error, bool))
            and call_id is raw.get("tool_use_id")
        ):
            return made if isinstance(name, str) or name is None else _with_source_fields(made, {"name": name})
        mapped = [*_names_of_texts(raw, "tool_use_id"), *_names_of_texts(raw, "name"), "content"]
        mapped += ["is_error"] if isinstance(is_error, bool) else []
        return _with_source_fields(made, _unmapped(raw, *mapped))


def _activity(activity: Any, made_id: str) -> list[JsonObject]:
    """Return the call and, if present, the result of an activity."""
    match activity:
        case {"toolName": str(name)}:
            call_id = activity["toolCallId"] if isinstance(activity.get("toolCallId"), str) else made_id
        case _:
            return [build.opaque(kind=TOOL_OUTPUT, raw=activity)]
    rest = {key: value for key, value in activity.items() if key not in _ACTIVITY_FIELDS}
    blocks = [_with_source_fields(build.tool_use(id=call_id, name=name, input=_input(activity.get("input"))), rest)]
    if "output" in activity or "isError" in activity:
        output, is_error = _output(activity.get("output")), activity.get("isError") is True
        blocks.append(build.tool_result(tool_use_id=call_id, content=output, is_error=is_error))
    return blocks


def plain_block(raw: JsonObject) -> JsonObject | None:
    """Return the block for anything but a call or result, or None for another shape."""
    match raw:
        case {"type": "text", "text": str(text)}:
            return _with_source_fields(build.text(text), _unmapped(raw, "text"))
        case {"type": "thinking", "thinking": str(thinking)}:
            signature = raw["signature"] if isinstance(raw.get("signature"), str) else None
            made = build.thinking(thinking, signature=signature)
            return _with_source_fields(made, _unmapped(raw, "thinking", *_names_of_texts(raw, "signature")))
        case {"type": "redacted_thinking", "data": str(data)}:
            return _with_source_fields(build.thinking("", redacted_data=data), _unmapped(raw, "data"))
        case {"type": "file", "content": str(text)}:
            path = raw["path"] if isinstance(raw.get("path"), str) else None
            return _with_source_fields(
                build.file(name=path, text=text), _unmapped(raw, "content", *_names_of_texts(raw, "path"))
            )
        case {"type": "image", "data": str(data)}:
            media_type = raw["mediaType"] if isinstance(raw.get("mediaType"), str) else None
            return _with_source_fields(
                build.image(_image_source(data, media_type)), _unmapped(raw, "data", *_names_of_texts(raw, "mediaType"))
            )
        case {"type": "image", "source": {"type": "base64", "data": str(data), "media_type": str(media_type), **more}}:
            rest = _unmapped(raw, "source") | ({"source": more} if more else {})
            return _with_source_fields(build.image(_image_source(data, media_type)), rest)
        case {"type": "media", "media": {"source": dict(), "mediaType": str()}}:
            return _media(raw)
        case _:
            return None


def _media(raw: JsonObject) -> JsonObject | None:
    """Return the block for media generated by a model: an image, or audio, video or another file."""
    media: JsonObject = raw["media"]
    media_type: str = media["mediaType"]
    match media["source"]:
        case {"type": "base64", "data": str(data), **more}:
            source = build.source("base64", data, media_type=media_type)
        case {"type": "url", "url": str(url), **more}:
            source = build.source("url", url, media_type=media_type)
        case {"type": "artifact", "artifactId": str(name), **more}:
            source = build.source("file", name, media_type=media_type)
        case _:
            return None
    if media_type.startswith("image/"):
        made, known = build.image(source), ("source", "mediaType")
    else:
        name = media["name"] if isinstance(media.get("name"), str) else None
        made = build.file(source=source, name=name, media_type=media_type)
        known = ("source", "mediaType", *_names_of_texts(media, "name"))
    rest = _unmapped(media, *known, has_type=False) | ({"source": more} if more else {})
    if others := _unmapped(raw, "media"):
        rest["block"] = others
    return _with_source_fields(made, rest)


def _image_source(data: str, media_type: str | None) -> JsonObject:
    if data.startswith("data:") and ";base64," in data[:200]:
        stated, _, data = data[5:].partition(";base64,")
        return build.source("base64", data, media_type=media_type or stated)
    kind = "url" if data.startswith(("http://", "https://")) else "base64"
    return build.source(kind, data, media_type=media_type)


def _output(content: Any) -> str | list[JsonObject]:
    """Return the content of a tool result."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return [_output_block(item) for item in content]
    return "" if content is None else [build.opaque(kind=TOOL_OUTPUT, raw=content)]


def _output_block(item: Any) -> JsonObject:
    match item:
        case {"query": str(), "result": str(result), **rest} if "type" not in item:
            return {"type": "text", "text": result, "source_fields": {"query": item["query"], **rest}}
        case str():
            return build.text(item)
        case {"type": str()}:
            return plain_block(item) or build.opaque(kind=TOOL_OUTPUT, raw=item)
        case _:
            return build.opaque(kind=TOOL_OUTPUT, raw=item)


def _unknown(raw: Any, kind: Any, note: NoteFinding) -> JsonObject:
    named = kind if isinstance(kind, str) and kind else "block"
    note(UNKNOWN_BLOCK, f"block {named!r:.60}")
    return build.opaque(kind=named, raw=raw)


def _input(value: Any) -> JsonObject:
    if isinstance(value, dict):
        return value
    return {} if value is None else {"input": value}


def _names_of_texts(raw: JsonObject, name: str) -> tuple[str, ...]:
    """Return the name of a field if its value is a text, which means that it is mapped."""
    return (name,) if isinstance(raw.get(name), str) else ()


def _unmapped(raw: JsonObject, *mapped: str, has_type: bool = True) -> JsonObject:
    return {
        key: value
        for key, value in raw.items()
        if value is not None and key not in mapped and not (has_type and key == "type")
    }


def _with_source_fields(block: JsonObject, rest: JsonObject) -> JsonObject:
    if rest:
        block["source_fields"] = rest
    return block


_RESULT_FIELDS = frozenset({"type", "tool_use_id", "name", "content", "is_error"})
_ACTIVITY_FIELDS = frozenset({"toolCallId", "toolName", "input", "output", "isError"})
