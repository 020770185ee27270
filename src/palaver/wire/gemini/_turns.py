"""Turns of a Gemini request: `contents`, read into messages and written from them.

A content is an object with a role and parts. SDKs also take a text or a single part for one; whatever else stands
there is kept whole.
"""

from typing import Any, Literal

from palaver.model.build import JsonObject
from palaver.wire.gemini._blocks import PartWriter
from palaver.wire.gemini._fields import Fields, Kept, drop_others, is_list, is_text
from palaver.wire.gemini._pairs import Paired
from palaver.wire.gemini._parts import blocks, kind_of

_ROLES = {"user": "user", "model": "assistant", "function": "tool", "assistant": "assistant", "tool": "tool"}
_WORDS = {"user": "user", "assistant": "model", "tool": "function"}


def parts_of(content: Any) -> list[Any]:
    match _shape(content):
        case "text":
            return [{"text": content}]
        case "part":
            return [{key: value for key, value in content.items() if key != "role"}]
        case "unknown":
            return [content]
        case None:
            return content["parts"] if is_list(content.get("parts")) else []


def read_turn(content: Any, turn: int, pairs: Paired) -> JsonObject:
    made: JsonObject = {"role": "user", "content": blocks(parts_of(content), turn, pairs)}
    shape = _shape(content)
    fields = Fields(_beside_parts(content, shape))
    if isinstance(content, dict):
        word = fields.expect("role", is_text)
        made["role"] = _role(word)
        if word not in {None, _WORDS[made["role"]]}:
            fields.remember("role", word)
    if shape is None:
        fields.expect("parts", is_list)
    else:
        fields.remember("shape", shape)
    return made | fields.beside()


def written_turn(message: JsonObject, pointer: str, writer: PartWriter) -> Any:
    drop_others(message, frozenset({"role", "content"}), pointer, writer.losses)
    kept = Kept(message)
    parts = writer.parts(message["content"], f"{pointer}/content")
    made: JsonObject = {}
    word = kept.original("role")
    if word is not None and _role(word) == message["role"]:
        made["role"] = word
    elif message["role"] != "user" or not kept.lacks("role"):
        made["role"] = _WORDS[message["role"]]
    match kept.original("shape"), parts:
        case "text", [{"text": text}] if parts == [{"text": text}]:
            return text
        case "unknown", [part]:
            return part
        case "part", [dict() as part]:
            return kept.complete(part | made)
        case _:
            if parts or not kept.lacks("parts"):
                made["parts"] = parts
            return kept.complete(made)


def _beside_parts(content: Any, shape: str | None) -> JsonObject:
    if shape is None:
        return content
    return {"role": content["role"]} if shape == "part" and "role" in content else {}


def _shape(content: Any) -> Literal["text", "part", "unknown"] | None:
    """What stands in place of a content; None for a content."""
    match content:
        case str():
            return "text"
        case dict():
            return "part" if "parts" not in content and kind_of(content) is not None else None
        case _:
            return "unknown"


def _role(word: Any) -> str:
    return _ROLES.get(word, "user") if isinstance(word, str) else "user"
