"""`toolUseResult`, the structured twin of a tool result: kept without the text that stands elsewhere already."""

import re
from functools import lru_cache
from typing import Any

from palaver.errors import SourceError
from palaver.importers.claude_code.reading import Reading
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.source import Source

PERSISTED_MISSING = finding_kind(
    "persisted-output-missing", "note", "The full text of a large tool output is gone; its preview is kept."
)


_SAVED_TO = re.compile(r"saved to: (?P<path>[^\n]+)")
PERSISTED = "<persisted-output>"


def attach_twin(result: JsonObject, text: str, twin: Any, call_input: Any, keep_original_files: bool) -> None:  # noqa: FBT001
    """Put into the block's metadata what the twin tells beyond the result's text and the call's input."""
    content = result["content"]
    duration: Any = None
    if isinstance(twin, dict):
        known = call_input.values() if isinstance(call_input, dict) else ()
        wordy, others = _sorted(tuple(twin))
        for key in wordy:
            value = twin[key]
            kind = value.__class__
            if kind is str:
                length = len(value)
                if length >= _WORTH_COMPARING and (
                    value == text or value in known or (length < len(text) and value in text)
                ):
                    del twin[key]
            elif kind is list:
                if value and (value in known or (isinstance(content, list) and all(part in content for part in value))):
                    del twin[key]
            elif kind is dict and key == "file":
                twin[key] = _without_content(value, text, content)
        for key in others:
            if key != "originalFile":
                duration = twin[key]
            elif not keep_original_files:
                twin.pop(key, None)
    elif isinstance(twin, str):
        twin = None if twin.removeprefix("Error: ") in text else twin
    elif twin == content:
        twin = None
    if twin:
        metadata: Any = result.get("metadata")
        if not isinstance(metadata, dict):
            metadata = result["metadata"] = {}
        metadata["tool_use_result"] = twin
        if duration.__class__ is int and duration >= 0:
            metadata["duration_ms"] = duration


_WORTH_COMPARING = 16
_WORDLESS = frozenset(
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
def _sorted(keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys whose values may repeat the result's text, and those that are looked at for another reason."""
    others = [key for key in ("originalFile", "totalDurationMs", "durationMs") if key in keys]
    return tuple(key for key in keys if key not in _WORDLESS), tuple(others)


def _without_content(file: JsonObject, text: str, content: Any) -> JsonObject:
    """A file that was read, without what the result shows of it."""
    plain, base64 = file.get("content"), file.get("base64")
    if isinstance(plain, str) and _is_numbered(plain, text):
        return {key: value for key, value in file.items() if key != "content"}
    if isinstance(base64, str) and _shows(content, base64):
        return {key: value for key, value in file.items() if key != "base64"}
    return file


def _is_numbered(plain: str, text: str) -> bool:
    """Whether `text` is `plain` with line numbers, as the Read tool gives it; only both ends are compared."""
    if text[6:7] not in {"→", "\t"}:
        return False
    size = len(plain) - plain.endswith("\n")
    first_end, last_start = plain.find("\n", 0, size), plain.rfind("\n", 0, size) + 1
    if not text.startswith(plain[:size] if first_end < 0 else plain[:first_end], 7):
        return False
    last = plain[last_start:size]
    # Nothing follows, mostly: then the lengths tell how many lines there are, and the last number confirms it.
    lines, rest = divmod(len(text) - size, 7)
    if (
        not rest
        and text.endswith(last)
        and _number(text[:6]) + lines - 1 == _number(text[-len(last) - 7 : -len(last) - 1])
    ):
        return True
    end = size + 7 * (plain.count("\n", 0, size) + 1)
    return len(text) >= end and text.endswith(last, 0, end)


def _number(digits: str) -> int:
    """A line's number, or one that no other has."""
    return int(digits) if digits.strip().isdecimal() else -(1 << 40)


def _shows(content: Any, base64: str) -> bool:
    return isinstance(content, list) and any(
        isinstance(item, dict) and isinstance((source := item.get("source")), dict) and source.get("data") == base64
        for item in content
    )


def restore_persisted(result: JsonObject, preview: str, reading: Reading) -> bool:
    """Replace a preview by the full text from the session's own folder; False when that file is not there.

    Only the name behind the last slash of the recorded path counts: the path is of another machine, and must not lead
    out of the folder.
    """
    saved = _SAVED_TO.search(preview)
    name = re.split(r"[\\/]", saved["path"].strip())[-1] if saved else ""
    source = reading.outputs.get(name)
    metadata = result.setdefault("metadata", {})
    full = _full_text(source) if source else None
    if full is None:
        metadata["truncated"] = True
        return False
    result["content"] = full
    reading.used_outputs.add(name)
    metadata["persisted_output"] = name
    return True


def _full_text(source: Source) -> str | None:
    try:
        with source.open() as stream:
            return stream.read().decode(errors="replace")
    except (SourceError, OSError):
        return None
