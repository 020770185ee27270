"""Blocks, written as parts of a Gemini content."""

import json
from dataclasses import dataclass
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._fields import NAME, Kept, drop_others
from palaver.wire.gemini._media import media_part
from palaver.wire.gemini._results import response_of, result_of

_KNOWN = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
    "image": frozenset({"type", "source"}),
    "file": frozenset({"type", "source", "name", "media_type"}),
}


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes the blocks of one payload."""

    names: dict[str, str]
    """What was called, by id: a function response states it again."""
    losses: Losses

    def parts(self, blocks: list[JsonObject], pointer: str) -> list[Any]:
        written = (self._part(block, f"{pointer}/{position}") for position, block in enumerate(blocks))
        return [part for found in written for part in found]

    def _part(self, block: JsonObject, pointer: str) -> list[Any]:
        """One part; none where there is no place for the block."""
        kind = block["type"]
        if kind == "opaque" and is_own(block):
            return [block["raw"]]
        if (text := stand_in(block)) is not None:
            self.losses.change(pointer, f"Gemini has no part for it: its text stands for the {kind}")
            return [{"text": text}]
        if kind not in _KNOWN or _is_sealed(block):
            self.losses.drop(pointer, _why_dropped(block))
            return []
        drop_others(block, _KNOWN[kind], pointer, self.losses)
        kept = Kept(block)
        if kind == "text" and kept.original("string"):
            return [block["text"]]
        return [kept.complete(self._written(block, pointer, kept))]

    def _written(self, block: JsonObject, pointer: str, kept: Kept) -> JsonObject:
        match block["type"]:
            case "text":
                return {"text": block["text"]}
            case "thinking":
                return {"text": block["thinking"], "thought": True}
            case "tool_use":
                call: JsonObject = {} if kept.lacks("id") else {"id": block["id"]}
                call["name"] = block["name"]
                if block["input"] or not kept.lacks("args"):
                    call["args"] = block["input"]
                return kept.spell({"functionCall": call})
            case "tool_result":
                return kept.spell({"functionResponse": self._answer(block, pointer, kept)})
            case _:
                return media_part(block, pointer, kept, self.losses) or {}

    def _answer(self, block: JsonObject, pointer: str, kept: Kept) -> JsonObject:
        call_id, content, is_error = block["tool_use_id"], block["content"], bool(block.get("is_error"))
        answer: JsonObject = {} if kept.lacks("id") else {"id": call_id}
        if not kept.lacks("name"):
            answer["name"] = self.names.get(call_id, call_id)
        if isinstance(content, str):
            texts, media, parts = content, [], []
        else:
            texts, media, parts = self._texts_and_media(content, f"{pointer}/content")
        if parts:
            answer["parts"] = parts
        original = kept.original("response")
        if original is not None and result_of(original, media) == (content, is_error):
            answer["response"] = original
        elif (key := kept.original("key")) is not None and isinstance(content, str) and not is_error:
            answer["response"] = {key: content}
        elif texts or is_error or not kept.lacks("response"):
            answer["response"] = response_of(texts, is_error=is_error)
        return answer

    def _texts_and_media(
        self, content: list[JsonObject], pointer: str
    ) -> tuple[list[JsonObject], list[JsonObject], list[Any]]:
        """The blocks of a result: texts go into the object, pictures and files beside it, after them."""
        texts: list[JsonObject] = []
        media: list[JsonObject] = []
        parts: list[Any] = []
        for position, block in enumerate(content):
            place = f"{pointer}/{position}"
            if (block["type"] in {"image", "file"} and stand_in(block) is None) or is_own(block):
                parts += self._part(block, place)
                media.append(block)
                continue
            if media:
                self.losses.change(pointer, "Gemini holds the texts of a result apart from its pictures and files")
            if block["type"] == "text":
                drop_others(block, _KNOWN["text"], place, self.losses)
                texts.append(build.text(block["text"]))
            elif (text := stand_in(block)) is not None:
                self.losses.change(place, f"Gemini has no part for it: its text stands for the {block['type']}")
                texts.append(build.text(text))
            else:
                self.losses.drop(place, _why_dropped(block))
        return texts, media, parts


def is_own(block: JsonObject) -> bool:
    """Whether an opaque block came from this format."""
    return block["type"] == "opaque" and NAME in (block.get("provider_data") or {})


def stand_in(block: JsonObject) -> str | None:
    """The text to write in place of a block that Gemini has no part for."""
    match block:
        case {"type": "code", "code": code}:
            return f"```{block.get('language') or ''}\n{code}\n```"
        case {"type": "file", "text": str(text)} if block.get("source") is None:
            return text
        case _:
            return None


def _is_sealed(block: JsonObject) -> bool:
    """Whether nothing of it can be read outside its provider, or nothing is there."""
    match block["type"]:
        case "thinking":
            return not block["thinking"] and block.get("redacted_data") is not None
        case "image" | "file":
            return block.get("source") is None
        case _:
            return False


def _why_dropped(block: JsonObject) -> str:
    match block["type"]:
        case "thinking":
            return "only its provider can read redacted reasoning"
        case "file":
            return "there is only a name, and no bytes"
        case "opaque":
            told = "; the text in it is gone too" if '"text": "' in json.dumps(block["raw"]) else ""
            return f"Gemini has no part for {block['kind']}{told}"
        case kind:
            return f"Gemini has no part for {kind}"
