"""Conversion of message content to blocks, by its `content_type`; tool calls and their results.

Fields of a content other than its text (an address, a title, a language) stay on the block under their own names. A
message from the assistant to a tool is a tool call, and the tool's next message is its result.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from palaver.importers.chatgpt.assets import Assets, file_id
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.parse import NOT_JSON, parse

Blocks = list[JsonObject]


class MessageContext(NamedTuple):
    """What a content needs to know: the export's files, its message's attachments by id, its position."""

    assets: Assets
    attachments: dict[str | None, JsonObject]
    conversation: str
    node: str

    @property
    def where(self) -> str:
        return f"{self.conversation}, node {self.node}"


def to_blocks(content: Any, context: MessageContext) -> Blocks:
    """Convert a content to blocks, at least one."""
    if not isinstance(content, dict):
        return _parts(content if isinstance(content, list) else [content], context)
    kind = content.get("content_type")
    if kind is None and ("parts" in content or "text" in content):
        kind = "text"
    convert = _CONVERTERS.get(kind) if isinstance(kind, str) else None
    return convert(content, context) if convert else [build.opaque(kind=_kind(kind), raw=content)]


def _kind(kind: Any) -> str:
    return kind if isinstance(kind, str) and kind else "content"


def _text(content: JsonObject, context: MessageContext) -> Blocks:
    parts = content.get("parts")
    if isinstance(parts, list):
        blocks, used = _parts(parts, context), "parts"
    elif isinstance(content.get("text"), str):
        blocks, used = [build.text(content["text"])], "text"
    else:
        blocks, used = _parts([parts], context), "parts"
    if len(content) > 2 or used not in content:
        _with_unmapped(blocks[0], content, used)
    return blocks


def _parts(parts: list[Any], context: MessageContext) -> Blocks:
    blocks: Blocks = []
    for part in parts:
        if isinstance(part, str):
            blocks.append({"type": "text", "text": part})
        elif isinstance(part, dict):
            blocks += _part(part, context)
        elif part is not None:
            blocks.append(build.opaque(kind="part", raw=part))
    return blocks or [build.text("")]


def _part(part: JsonObject, context: MessageContext) -> Blocks:
    match part.get("content_type"):
        case "image_asset_pointer":
            return [_image(part, context)]
        case "text" | None if isinstance(part.get("text"), str):
            return [_with_unmapped(build.text(part["text"]), part, "text")]
        case "audio_transcription" if isinstance(part.get("text"), str):
            return [_with_unmapped({**build.text(part["text"]), "is_spoken": True}, part, "text")]
        case "audio_asset_pointer":
            return [_clip(part, context, f"audio/{part['format']}" if isinstance(part.get("format"), str) else None)]
        case "video_container_asset_pointer":
            return [_clip(part, context, None)]
        case "real_time_user_audio_video_asset_pointer":
            return _live_media(part, context)
        case kind:
            return [build.opaque(kind=_kind(kind), raw=part)]


def _image(part: JsonObject, context: MessageContext) -> JsonObject:
    pointer = part.get("asset_pointer")
    if not isinstance(pointer, str):
        return build.opaque(kind="image_asset_pointer", raw=part)
    source = context.assets.source(pointer, context.attachments.get(file_id(pointer)), where=context.where)
    alt_text: str | None = None
    match part.get("metadata"):
        case {"dalle": {"prompt": str(prompt)}} if prompt:
            alt_text = prompt
        case _:
            pass
    return _with_unmapped(build.image(source, alt_text=alt_text), part, "asset_pointer")


def _clip(part: JsonObject, context: MessageContext, media_type: str | None) -> JsonObject:
    """Convert a sound or a video to a file block."""
    pointer = part.get("asset_pointer")
    if not isinstance(pointer, str):
        return build.opaque(kind=_kind(part.get("content_type")), raw=part)
    attachment = context.attachments.get(file_id(pointer))
    source = context.assets.source(pointer, attachment, where=context.where)
    name = (attachment or {}).get("name")
    return _with_unmapped(
        build.file(
            source=source,
            name=name if isinstance(name, str) else None,
            media_type=media_type or source.get("media_type"),
        ),
        part,
        "asset_pointer",
    )


def _live_media(part: JsonObject, context: MessageContext) -> Blocks:
    """Convert a turn with the camera on: sound, video and single frames, each of which may be a bare pointer."""
    blocks: Blocks = []
    used: list[str] = []
    for name in ("audio_asset_pointer", "video_container_asset_pointer"):
        inner = part.get(name)
        if isinstance(inner, str):
            inner = {"content_type": name, "asset_pointer": inner}
        if isinstance(inner, dict):
            used.append(name)
            blocks += _part({"content_type": name, **inner}, context)
    frames = part.get("frames_asset_pointers")
    if isinstance(frames, list) and all(type(frame) in {str, dict} for frame in frames):
        used.append("frames_asset_pointers")
        for frame in frames:
            shown = {"asset_pointer": frame} if isinstance(frame, str) else frame
            blocks.append(_image({"content_type": "image_asset_pointer", **shown}, context))
    if not blocks:
        return [build.opaque(kind="real_time_user_audio_video_asset_pointer", raw=part)]
    blocks[0]["content_type"] = part["content_type"]
    _with_unmapped(blocks[0], part, *used)
    return blocks


def _code(content: JsonObject, _: MessageContext) -> Blocks:
    text, language = content.get("text"), content.get("language")
    if not isinstance(text, str):
        return [build.opaque(kind="code", raw=content)]
    if not isinstance(language, str):
        return [_with_unmapped(build.code(text), content, "text")]
    known = None if language == "unknown" else language
    return [_with_unmapped(build.code(text, language=known), content, "text", "language")]


def _text_in_field(field: str) -> Callable[[JsonObject, MessageContext], Blocks]:
    """Return a converter for contents whose text is in one field."""

    def convert(content: JsonObject, _: MessageContext) -> Blocks:
        text = content.get(field)
        if text is not None and not isinstance(text, str):
            return [build.opaque(kind=content["content_type"], raw=content)]
        return [_with_unmapped(build.text(text or ""), content, field)]

    return convert


def _thoughts(content: JsonObject, _: MessageContext) -> Blocks:
    thoughts = content.get("thoughts")
    if not isinstance(thoughts, list) or not all(isinstance(thought, dict) for thought in thoughts):
        return [build.opaque(kind="thoughts", raw=content)]
    blocks = [_thought(thought) for thought in thoughts] or [build.thinking("")]
    _with_unmapped(blocks[0], content, "thoughts")
    return blocks


def _thought(thought: JsonObject) -> JsonObject:
    text = thought.get("content")
    if not isinstance(text, str):
        return build.opaque(kind="thought", raw=thought)
    return _with_unmapped(build.thinking(text), thought, "content")


def _recap(content: JsonObject, _: MessageContext) -> Blocks:
    text = content.get("content")
    if not isinstance(text, str):
        return [build.opaque(kind="reasoning_recap", raw=content)]
    return [_with_unmapped({**build.thinking(text), "is_recap": True}, content, "content")]


def _texts_in_fields(*fields: str) -> Callable[[JsonObject, MessageContext], Blocks]:
    """Return a converter for what the service puts before a conversation: a text for each field that has one."""

    def convert(content: JsonObject, _: MessageContext) -> Blocks:
        present = [field for field in fields if isinstance(content.get(field), str) and content[field]]
        blocks = [{**build.text(content[field]), "field": field} for field in present] or [build.text("")]
        _with_unmapped(blocks[0], content, *present)
        return blocks

    return convert


def _screenshot(content: JsonObject, context: MessageContext) -> Blocks:
    screenshot = content.get("screenshot")
    if not isinstance(screenshot, dict):
        return [build.opaque(kind="computer_output", raw=content)]
    image = _image(screenshot, context)
    return [_with_unmapped(image, content, "screenshot")]


_CONVERTERS: dict[str, Callable[[JsonObject, MessageContext], Blocks]] = {
    "text": _text,
    "multimodal_text": _text,
    "code": _code,
    "execution_output": _text_in_field("text"),
    "tether_quote": _text_in_field("text"),
    "tether_browsing_display": _text_in_field("result"),
    "sonic_webpage": _text_in_field("text"),
    "system_error": _text_in_field("text"),
    "citable_code_output": _text_in_field("output_str"),
    "thoughts": _thoughts,
    "reasoning_recap": _recap,
    "user_editable_context": _texts_in_fields("user_profile", "user_instructions"),
    "model_editable_context": _texts_in_fields("model_set_context", "repository", "repo_summary"),
    "system_content": _texts_in_fields("model_identity_desc", "instructions"),
    "computer_output": _screenshot,
    "app_pairing_content": lambda content, _: [build.opaque(kind="app_pairing_content", raw=content)],
    "super_widget": lambda content, _: [build.opaque(kind="super_widget", raw=content)],
}
KNOWN_CONTENT_TYPES = frozenset(_CONVERTERS)

_EMPTY_VALUES: tuple[Any, ...] = ("", [], {})


def _with_unmapped(block: JsonObject, raw: JsonObject, *used: str) -> JsonObject:
    """Add all other non-empty fields to the block; those that clash with its own go to `source_fields`."""
    for name, value in raw.items():
        if name == "content_type" or name in used or value is None or value in _EMPTY_VALUES:
            continue
        if name in block:
            block.setdefault("source_fields", {})[name] = value
        else:
            block[name] = value
    return block


_NOT_TOOLS = (None, "all", "assistant", "user")


@dataclass(slots=True)
class Call:
    """A tool call, with the one before it in the same turn."""

    message_id: str
    name: str
    before: "Call | None"
    is_answered: bool = False


def is_tool_call(recipient: Any) -> bool:
    """Return whether a message to this recipient is a tool call."""
    return isinstance(recipient, str) and recipient not in _NOT_TOOLS and bool(recipient)


def answered_call(name: Any, nearest: Call | None) -> Call | None:
    """Return the call that a tool's message answers: one to the same tool, else the nearest if it has no answer yet."""
    service = name.partition(".")[0] if isinstance(name, str) else None
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


def tool_call(key: str, name: str, blocks: Blocks) -> JsonObject:
    """Return the block of a tool call; its input is the JSON that the tool was sent, else the text."""
    first = blocks[0]
    text = first.get("code") if first["type"] == "code" else first.get("text")
    if len(blocks) > 1 or not isinstance(text, str):
        return build.tool_use(id=key, name=name, input={"content": blocks})
    arguments = _json_object(text)
    field = first["type"]
    rest = {name: value for name, value in first.items() if name not in {"type", field}}
    if arguments is None:
        return build.tool_use(id=key, name=name, input={field: text, **rest})
    made_call = build.tool_use(id=key, name=name, input=arguments)
    return {**rest, **made_call} if rest else made_call


def _json_object(text: str) -> JsonObject | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = parse(text)
    except NOT_JSON:
        return None
    return value if isinstance(value, dict) else None


def has_failed(ran: JsonObject) -> bool:
    status = ran.get("status")
    return bool(ran.get("in_kernel_exception") or ran.get("system_exception")) or (
        isinstance(status, str) and status.startswith("failed")
    )
