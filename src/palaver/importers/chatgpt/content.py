"""Message content by its `content_type`, made into blocks.

What a content says beside its words (an address, a title, a language) stays on the block under its own name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from palaver.importers.chatgpt.assets import Assets, file_id
from palaver.model import build
from palaver.model.build import JsonObject

Blocks = list[JsonObject]


class Setting(NamedTuple):
    """What stands around a content: the export's files, its message's attachments by their ids, its place."""

    assets: Assets
    attachments: dict[str | None, JsonObject]
    conversation: str
    node: str

    @property
    def where(self) -> str:
        return f"{self.conversation}, node {self.node}"


def blocks(content: Any, setting: Setting) -> Blocks:
    """The blocks of a content, at least one."""
    if not isinstance(content, dict):
        return _parts(content if isinstance(content, list) else [content], setting)
    kind = content.get("content_type")
    if kind is None and ("parts" in content or "text" in content):
        kind = "text"
    make = _MAKERS.get(kind) if isinstance(kind, str) else None
    return make(content, setting) if make else [build.opaque(kind=_kind(kind), raw=content)]


def _kind(kind: Any) -> str:
    return kind if isinstance(kind, str) and kind else "content"


def _text(content: JsonObject, setting: Setting) -> Blocks:
    parts = content.get("parts")
    if isinstance(parts, list):
        made, used = _parts(parts, setting), "parts"
    elif isinstance(content.get("text"), str):
        made, used = [build.text(content["text"])], "text"
    else:
        made, used = _parts([parts], setting), "parts"
    if len(content) > 2 or used not in content:
        _with_rest(made[0], content, used)
    return made


def _parts(parts: list[Any], setting: Setting) -> Blocks:
    made: Blocks = []
    for part in parts:
        if isinstance(part, str):
            made.append({"type": "text", "text": part})
        elif isinstance(part, dict):
            made += _part(part, setting)
        elif part is not None:
            made.append(build.opaque(kind="part", raw=part))
    return made or [build.text("")]


def _part(part: JsonObject, setting: Setting) -> Blocks:
    match part.get("content_type"):
        case "image_asset_pointer":
            return [_image(part, setting)]
        case "text" | None if isinstance(part.get("text"), str):
            return [_with_rest(build.text(part["text"]), part, "text")]
        case "audio_transcription" if isinstance(part.get("text"), str):
            return [_with_rest({**build.text(part["text"]), "is_spoken": True}, part, "text")]
        case "audio_asset_pointer":
            return [_clip(part, setting, f"audio/{part['format']}" if isinstance(part.get("format"), str) else None)]
        case "video_container_asset_pointer":
            return [_clip(part, setting, None)]
        case "real_time_user_audio_video_asset_pointer":
            return _live(part, setting)
        case kind:
            return [build.opaque(kind=_kind(kind), raw=part)]


def _image(part: JsonObject, setting: Setting) -> JsonObject:
    pointer = part.get("asset_pointer")
    if not isinstance(pointer, str):
        return build.opaque(kind="image_asset_pointer", raw=part)
    source = setting.assets.source(pointer, setting.attachments.get(file_id(pointer)), where=setting.where)
    alt_text: str | None = None
    match part.get("metadata"):
        case {"dalle": {"prompt": str(prompt)}} if prompt:
            alt_text = prompt
        case _:
            pass
    return _with_rest(build.image(source, alt_text=alt_text), part, "asset_pointer")


def _clip(part: JsonObject, setting: Setting, media_type: str | None) -> JsonObject:
    """A sound or a video; a bare pointer in the place of an object is one as well."""
    pointer = part.get("asset_pointer")
    if not isinstance(pointer, str):
        return build.opaque(kind=_kind(part.get("content_type")), raw=part)
    attachment = setting.attachments.get(file_id(pointer))
    source = setting.assets.source(pointer, attachment, where=setting.where)
    name = (attachment or {}).get("name")
    return _with_rest(
        build.file(
            source=source,
            name=name if isinstance(name, str) else None,
            media_type=media_type or source.get("media_type"),
        ),
        part,
        "asset_pointer",
    )


def _live(part: JsonObject, setting: Setting) -> Blocks:
    """A turn with the camera on: sound, video and single pictures."""
    made: Blocks = []
    used: list[str] = []
    for name in ("audio_asset_pointer", "video_container_asset_pointer"):
        inner = part.get(name)
        if isinstance(inner, str):
            inner = {"content_type": name, "asset_pointer": inner}
        if isinstance(inner, dict):
            used.append(name)
            made += _part({"content_type": name, **inner}, setting)
    frames = part.get("frames_asset_pointers")
    if isinstance(frames, list) and all(type(frame) in {str, dict} for frame in frames):
        used.append("frames_asset_pointers")
        for frame in frames:
            shown = {"asset_pointer": frame} if isinstance(frame, str) else frame
            made.append(_image({"content_type": "image_asset_pointer", **shown}, setting))
    if not made:
        return [build.opaque(kind="real_time_user_audio_video_asset_pointer", raw=part)]
    made[0]["content_type"] = part["content_type"]
    _with_rest(made[0], part, *used)
    return made


def _code(content: JsonObject, _: Setting) -> Blocks:
    text, language = content.get("text"), content.get("language")
    if not isinstance(text, str):
        return [build.opaque(kind="code", raw=content)]
    if not isinstance(language, str):
        return [_with_rest(build.code(text), content, "text")]
    known = None if language == "unknown" else language
    return [_with_rest(build.code(text, language=known), content, "text", "language")]


def _words(field: str) -> Callable[[JsonObject, Setting], Blocks]:
    """Contents whose words stand in one field, and all else is about them."""

    def make(content: JsonObject, _: Setting) -> Blocks:
        words = content.get(field)
        if words is not None and not isinstance(words, str):
            return [build.opaque(kind=content["content_type"], raw=content)]
        return [_with_rest(build.text(words or ""), content, field)]

    return make


def _thoughts(content: JsonObject, _: Setting) -> Blocks:
    thoughts = content.get("thoughts")
    if not isinstance(thoughts, list) or not all(isinstance(thought, dict) for thought in thoughts):
        return [build.opaque(kind="thoughts", raw=content)]
    made = [_thought(thought) for thought in thoughts] or [build.thinking("")]
    _with_rest(made[0], content, "thoughts")
    return made


def _thought(thought: JsonObject) -> JsonObject:
    words = thought.get("content")
    if not isinstance(words, str):
        return build.opaque(kind="thought", raw=thought)
    return _with_rest(build.thinking(words), thought, "content")


def _recap(content: JsonObject, _: Setting) -> Blocks:
    words = content.get("content")
    if not isinstance(words, str):
        return [build.opaque(kind="reasoning_recap", raw=content)]
    return [_with_rest({**build.thinking(words), "is_recap": True}, content, "content")]


def _context(*fields: str) -> Callable[[JsonObject, Setting], Blocks]:
    """What the service puts before a conversation: a text for each field that has one."""

    def make(content: JsonObject, _: Setting) -> Blocks:
        said = [field for field in fields if isinstance(content.get(field), str) and content[field]]
        made = [{**build.text(content[field]), "field": field} for field in said] or [build.text("")]
        _with_rest(made[0], content, *said)
        return made

    return make


def _screen(content: JsonObject, setting: Setting) -> Blocks:
    screenshot = content.get("screenshot")
    if not isinstance(screenshot, dict):
        return [build.opaque(kind="computer_output", raw=content)]
    image = _image(screenshot, setting)
    return [_with_rest(image, content, "screenshot")]


_MAKERS: dict[str, Callable[[JsonObject, Setting], Blocks]] = {
    "text": _text,
    "multimodal_text": _text,
    "code": _code,
    "execution_output": _words("text"),
    "tether_quote": _words("text"),
    "tether_browsing_display": _words("result"),
    "sonic_webpage": _words("text"),
    "system_error": _words("text"),
    "citable_code_output": _words("output_str"),
    "thoughts": _thoughts,
    "reasoning_recap": _recap,
    "user_editable_context": _context("user_profile", "user_instructions"),
    "model_editable_context": _context("model_set_context", "repository", "repo_summary"),
    "system_content": _context("model_identity_desc", "instructions"),
    "computer_output": _screen,
    "app_pairing_content": lambda content, _: [build.opaque(kind="app_pairing_content", raw=content)],
    "super_widget": lambda content, _: [build.opaque(kind="super_widget", raw=content)],
}
KNOWN = frozenset(_MAKERS)

_SAY_NOTHING = frozenset({type(None), str, list, dict})


def _with_rest(block: JsonObject, raw: JsonObject, *used: str) -> JsonObject:
    """The block with all other fields that say something; those that have the name of one of its own stand apart."""
    for name, value in raw.items():
        if name == "content_type" or name in used or (not value and value.__class__ in _SAY_NOTHING):
            continue
        if name in block:
            block.setdefault("source_fields", {})[name] = value
        else:
            block[name] = value
    return block
