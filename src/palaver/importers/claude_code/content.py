"""Conversion of content blocks: from the Messages API, as Claude Code writes them, to UCS blocks.

A block that already has the right shape passes through untouched, others are converted, and unknown ones are kept
whole. `toolUseResult`, the structured form of a tool result, is kept without the text that is stored elsewhere.
"""

import re
from functools import lru_cache
from typing import Any

from palaver.errors import SourceError
from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.claude_code.line_context import LineContext
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.run import Run
from palaver.sources.source import Source

PERSISTED_MISSING = finding_kind(
    "persisted-output-missing", "note", "The full text of a large tool output no longer exists; its preview is kept."
)
PERSISTED_PREFIX = "<persisted-output>"

_SAVED_TO = re.compile(r"saved to: (?P<path>[^\n]+)")


def to_block(raw: Any) -> JsonObject:
    """Convert one block; the caller adds missing ids of tool calls and results."""
    if not isinstance(raw, dict):
        return build.text(raw) if isinstance(raw, str) else build.opaque(kind="block", raw=raw)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return build.opaque(kind="block", raw=raw)
    if kind in _PASSED_THROUGH:
        return raw
    convert = _CONVERTERS.get(kind)
    return convert(raw) if convert else build.opaque(kind=kind or "block", raw=raw)


def note_unknown_block(block: JsonObject, run: Run, context: LineContext) -> None:
    if block["type"] == "opaque":
        run.note(UNKNOWN_BLOCK, context.where(), f"block {block['kind']!r}")


def to_blocks(content: Any) -> list[JsonObject]:
    """Convert a message's content, a string, a list or damaged, to blocks, at least one; a list is changed in place."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        for index, raw in enumerate(content):
            if isinstance(raw, dict) and raw.get("type") == "tool_result":
                _complete_tool_result(raw)
            else:
                content[index] = to_block(raw)
        return content or [build.text("")]
    if content is None:
        return [build.text("")]
    return [build.opaque(kind="content", raw=content)]


def _complete_tool_result(raw: JsonObject) -> JsonObject:
    content = raw.get("content")
    if isinstance(content, str):
        if "is_error" not in raw or raw["is_error"] is None:
            raw["is_error"] = False
        return raw
    if isinstance(content, list):
        for index, item in enumerate(content):
            if not isinstance(item, dict) or item.get("type") != "text":
                content[index] = to_block(item)
        if not content:
            raw["content"] = ""
    else:
        raw["content"] = "" if content is None else [build.opaque(kind="content", raw=content)]
    if raw.get("is_error") is None:
        raw["is_error"] = False
    return raw


def result_text(result: JsonObject) -> str:
    """Return the text of a tool result as one string."""
    content = result.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(item["text"] for item in content if isinstance(item.get("text"), str))
    return ""


def plain_text(content: list[JsonObject]) -> str:
    """Return the text blocks of a message as one string."""
    if len(content) == 1 and isinstance((text := content[0].get("text")), str):
        return text
    return "\n".join(
        block["text"] for block in content if block.get("type") == "text" and isinstance(block.get("text"), str)
    )


def _redacted(raw: JsonObject) -> JsonObject:
    rest = {key: value for key, value in raw.items() if key not in {"type", "data"}}
    return {**rest, **build.thinking("", redacted_data=raw.get("data"))}


def _image(raw: JsonObject) -> JsonObject:
    match raw.get("source"):
        case {"type": "base64"}:
            return raw
        case {"type": "url", "url": str(url), **rest}:
            return {**raw, "source": {**rest, "type": "url", "data": url}}
        case {"type": "file", "file_id": str(file_id), **rest}:
            return {**raw, "source": {**rest, "type": "file", "data": file_id}}
        case _:
            return build.opaque(kind="image", raw=raw)


def _document(raw: JsonObject) -> JsonObject:
    rest = {key: value for key, value in raw.items() if key not in {"type", "source", "title"}}
    match raw.get("source"):
        case {"type": "text", "data": str(text), **source}:
            file = build.file(name=raw.get("title"), media_type=source.get("media_type"), text=text)
        case {"type": "base64", "data": str(data), **source}:
            media_type = source.get("media_type")
            file = build.file(
                source={"type": "base64", "media_type": media_type, "data": data},
                name=raw.get("title"),
                media_type=media_type,
            )
        case {"type": "url", "url": str(url), **source}:
            file = build.file(source={**source, "type": "url", "data": url}, name=raw.get("title"))
        case {"type": "file", "file_id": str(file_id), **source}:
            file = build.file(source={**source, "type": "file", "data": file_id}, name=raw.get("title"))
        case _:
            return build.opaque(kind="document", raw=raw)
    return {**rest, **file}


_PASSED_THROUGH = frozenset({"text", "tool_use", "thinking"})
_CONVERTERS = {
    "tool_result": _complete_tool_result,
    "redacted_thinking": _redacted,
    "image": _image,
    "document": _document,
}


def attach_structured_result(
    result: JsonObject,
    text: str,
    structured: Any,
    call_input: Any,
    keep_original_files: bool,  # noqa: FBT001
) -> None:
    """Add to the block's metadata what `toolUseResult` contains beyond the result's text and the call's input."""
    content = result["content"]
    duration: Any = None
    if isinstance(structured, dict):
        known = call_input.values() if isinstance(call_input, dict) else ()
        comparable, others = _keys_to_check(tuple(structured))
        for key in comparable:
            value = structured[key]
            if isinstance(value, str):
                length = len(value)
                if length >= _MIN_COMPARED_LENGTH and (
                    value == text or value in known or (length < len(text) and value in text)
                ):
                    del structured[key]
            elif isinstance(value, list):
                if value and (value in known or (isinstance(content, list) and all(part in content for part in value))):
                    del structured[key]
            elif isinstance(value, dict) and key == "file":
                structured[key] = _without_shown_content(value, text, content)
        for key in others:
            if key != "originalFile":
                duration = structured[key]
            elif not keep_original_files:
                structured.pop(key, None)
    elif isinstance(structured, str):
        structured = None if structured.removeprefix("Error: ") in text else structured
    elif structured == content:
        structured = None
    if structured:
        metadata: Any = result.get("metadata")
        if not isinstance(metadata, dict):
            metadata = result["metadata"] = {}
        metadata["tool_use_result"] = structured
        if type(duration) is int and duration >= 0:
            metadata["duration_ms"] = duration


_MIN_COMPARED_LENGTH = 16
_NEVER_REPEATED = frozenset(
    {
        *("interrupted", "isImage", "noOutputExpected", "type", "numLines", "numFiles", "truncated", "durationMs"),
        *(
            "durationSeconds",
            "code",
            "codeText",
            "bytes",
            "replaceAll",
            "userModified",
            "appliedLimit",
            "mode",
            "status",
        ),
        *("totalDurationMs", "totalTokens", "totalToolUseCount", "usage", "structuredPatch", "stderr", "agentId"),
    }
)
"""Fields of known tools that never repeat the result's text."""


@lru_cache(maxsize=4096)
def _keys_to_check(keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys whose values may repeat the result's text, and those handled separately."""
    others = [key for key in ("originalFile", "totalDurationMs", "durationMs") if key in keys]
    return tuple(key for key in keys if key not in _NEVER_REPEATED), tuple(others)


def _without_shown_content(file: JsonObject, text: str, content: Any) -> JsonObject:
    """Return a `file` entry without the content that the result shows."""
    plain, base64 = file.get("content"), file.get("base64")
    if isinstance(plain, str) and _is_numbered_copy(plain, text):
        return {key: value for key, value in file.items() if key != "content"}
    if isinstance(base64, str) and _contains_image(content, base64):
        return {key: value for key, value in file.items() if key != "base64"}
    return file


def _is_numbered_copy(plain: str, text: str) -> bool:
    """Return whether `text` is `plain` with line numbers, as the Read tool shows it; only both ends are compared."""
    if text[6:7] not in {"→", "\t"}:
        return False
    size = len(plain) - plain.endswith("\n")
    first_end, last_start = plain.find("\n", 0, size), plain.rfind("\n", 0, size) + 1
    if not text.startswith(plain[:size] if first_end < 0 else plain[:first_end], 7):
        return False
    last = plain[last_start:size]
    # Usually nothing follows: then the lengths give the number of lines, and the last line number confirms it.
    lines, rest = divmod(len(text) - size, 7)
    if (
        not rest
        and text.endswith(last)
        and _line_number(text[:6]) + lines - 1 == _line_number(text[-len(last) - 7 : -len(last) - 1])
    ):
        return True
    end = size + 7 * (plain.count("\n", 0, size) + 1)
    return len(text) >= end and text.endswith(last, 0, end)


def _line_number(digits: str) -> int:
    """Return a line's number, or a number that equals no other if there is none."""
    return int(digits) if digits.strip().isdecimal() else -(1 << 40)


def _contains_image(content: Any, base64: str) -> bool:
    return isinstance(content, list) and any(
        isinstance(item, dict) and isinstance((source := item.get("source")), dict) and source.get("data") == base64
        for item in content
    )


def restore_persisted(result: JsonObject, preview: str, context: LineContext) -> bool:
    """Replace a preview by the full text from the session's folder; return False if that file is missing.

    Only the last component of the recorded path is used: the path may be from another machine, and must not lead out
    of the folder.
    """
    saved = _SAVED_TO.search(preview)
    name = re.split(r"[\\/]", saved["path"].strip())[-1] if saved else ""
    source = context.outputs.get(name)
    metadata = result.setdefault("metadata", {})
    full = _full_text(source) if source else None
    if full is None:
        metadata["truncated"] = True
        return False
    result["content"] = full
    context.used_outputs.add(name)
    metadata["persisted_output"] = name
    return True


def _full_text(source: Source) -> str | None:
    try:
        with source.open() as stream:
            return stream.read().decode(errors="replace")
    except (SourceError, OSError):
        return None
