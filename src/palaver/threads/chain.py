"""Chain hashes: what tells a message from all others, from its words and from all that was said before it.

Two tellings of one message have the same words, and differ in much else: a text alone or as a part, marks for the
cache, reasoning that is left out later, reminders that the client adds and takes away again. So only what was said
counts: texts, calls, results, images, files.
"""

import json
import re
from hashlib import blake2b
from typing import Any

import orjson

from palaver.model.build import JsonObject

Chain = bytes

BEGINNING: Chain = b""
_DIGEST_BYTES = 16
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_BILLING = "x-anthropic-billing-header"
"""How a block of a system prompt begins that is another one in every request."""


def following(before: Chain, role: str, content: list[JsonObject]) -> Chain:
    """The chain up to and including a message."""
    said = dumped([role, _said(content)])
    return blake2b(before + said, digest_size=_DIGEST_BYTES).digest()


def dumped(value: Any) -> bytes:
    """Canonical JSON of whatever a damaged source may hold."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half of a surrogate pair, or an integer past 64 bits
        return json.dumps(value, sort_keys=True).encode()


def without_reminders(text: str) -> str:
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def _said(content: list[JsonObject]) -> list[Any]:
    """What was said and done, in order; texts that follow each other are one."""
    if len(content) == 1 and content[0]["type"] == "text":
        words = _words(content[0]["text"]).strip()
        return [words] if words else []
    said: list[Any] = []
    texts: list[str] = []

    def end_text() -> None:
        if text := "".join(texts).strip():
            said.append(text)
        texts.clear()

    for block in content:
        kind = block["type"]
        if kind == "text":
            texts.append(_words(block["text"]))
        elif kind != "thinking":
            end_text()
            said.append(_done(kind, block))
    end_text()
    return said


def _words(text: str) -> str:
    return "" if text.startswith(_BILLING) else without_reminders(text)


def _done(kind: str, block: JsonObject) -> list[Any]:
    match kind:
        case "tool_use":
            return [kind, block["id"], block["name"], block["input"]]
        case "tool_result":
            told = block["content"]
            return [kind, block["tool_use_id"], [told.strip()] if isinstance(told, str) else _said(told)]
        case "image" | "file":
            source = block.get("source") or {}
            return [kind, source.get("data"), block.get("name"), block.get("text")]
        case "code":
            return [kind, block["code"]]
        case _:
            return [kind, block.get("raw")]
