"""Chain hashes, which identify a message by its content and by all messages before it.

Two copies of a message have the same words and differ in much else: text as a string or as a part, cache markers,
reasoning that later requests omit, reminders that the client adds and removes. So only texts, tool calls, results,
images and files are hashed.
"""

import json
import re
from hashlib import blake2b
from typing import Any

import orjson

from palaver.model.build import JsonObject

Chain = bytes

EMPTY_CHAIN: Chain = b""
_DIGEST_BYTES = 16
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_BILLING = "x-anthropic-billing-header"
"""The start of a system prompt block whose text changes with every request."""


def chain_after(before: Chain, role: str, content: list[JsonObject]) -> Chain:
    """Return the chain up to and including a message."""
    message = canonical_json([role, _hashed_content(content)])
    return blake2b(before + message, digest_size=_DIGEST_BYTES).digest()


def canonical_json(value: Any) -> bytes:
    """Return canonical JSON, also of the odd values that a damaged source may hold."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half of a surrogate pair, or an integer past 64 bits
        return json.dumps(value, sort_keys=True).encode()


def without_reminders(text: str) -> str:
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def _hashed_content(content: list[JsonObject]) -> list[Any]:
    """Return what counts for the hash, in order; adjacent texts are joined."""
    if len(content) == 1 and content[0]["type"] == "text":
        text = _hashed_text(content[0]["text"]).strip()
        return [text] if text else []
    parts: list[Any] = []
    texts: list[str] = []

    def end_text() -> None:
        if text := "".join(texts).strip():
            parts.append(text)
        texts.clear()

    for block in content:
        kind = block["type"]
        if kind == "text":
            texts.append(_hashed_text(block["text"]))
        elif kind != "thinking":
            end_text()
            parts.append(_hashed_block(kind, block))
    end_text()
    return parts


def _hashed_text(text: str) -> str:
    return "" if text.startswith(_BILLING) else without_reminders(text)


def _hashed_block(kind: str, block: JsonObject) -> list[Any]:
    match kind:
        case "tool_use":
            return [kind, block["id"], block["name"], block["input"]]
        case "tool_result":
            result = block["content"]
            return [
                kind,
                block["tool_use_id"],
                [result.strip()] if isinstance(result, str) else _hashed_content(result),
            ]
        case "image" | "file":
            source = block.get("source") or {}
            return [kind, source.get("data"), block.get("name"), block.get("text")]
        case "code":
            return [kind, block["code"]]
        case _:
            return [kind, block.get("raw")]
