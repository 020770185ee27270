"""The `contents` of a Gemini request, read into messages and written from them.

A content is an object with a role and parts. SDKs also accept a string or a single part; anything else is kept whole.
"""

from typing import Any, Literal

from palaver.model.build import JsonObject
from palaver.wire.gemini._call_ids import CallPairs
from palaver.wire.gemini._parts import PartWriter, blocks_from_wire, part_kind
from palaver.wire.gemini._provider_data import FieldReader, ProviderData, is_list, is_text, report_unwritten

_ROLES = {"user": "user", "model": "assistant", "function": "tool", "assistant": "assistant", "tool": "tool"}
_WIRE_ROLES = {"user": "user", "assistant": "model", "tool": "function"}


def content_parts(content: Any) -> list[Any]:
    match _content_shape(content):
        case "text":
            return [{"text": content}]
        case "part":
            return [{key: value for key, value in content.items() if key != "role"}]
        case "unknown":
            return [content]
        case None:
            return content["parts"] if is_list(content.get("parts")) else []


def content_from_wire(content: Any, turn: int, pairs: CallPairs) -> JsonObject:
    made: JsonObject = {"role": "user", "content": blocks_from_wire(content_parts(content), turn, pairs)}
    shape = _content_shape(content)
    fields = FieldReader(_fields_beside_parts(content, shape))
    if isinstance(content, dict):
        wire_role = fields.expect("role", is_text)
        made["role"] = _role(wire_role)
        if wire_role not in {None, _WIRE_ROLES[made["role"]]}:
            fields.remember("role", wire_role)
    if shape is None:
        fields.expect("parts", is_list)
    else:
        fields.remember("shape", shape)
    return made | fields.provider_data()


def content_to_wire(message: JsonObject, pointer: str, writer: PartWriter) -> Any:
    report_unwritten(message, frozenset({"role", "content"}), pointer, writer.losses)
    saved = ProviderData(message)
    parts = writer.parts(message["content"], f"{pointer}/content")
    made: JsonObject = {}
    wire_role = saved.original("role")
    if wire_role is not None and _role(wire_role) == message["role"]:
        made["role"] = wire_role
    elif message["role"] != "user" or not saved.lacks("role"):
        made["role"] = _WIRE_ROLES[message["role"]]
    match saved.original("shape"), parts:
        case "text", [{"text": text}] if parts == [{"text": text}]:
            return text
        case "unknown", [part]:
            return part
        case "part", [dict() as part]:
            return saved.complete(part | made)
        case _:
            if parts or not saved.lacks("parts"):
                made["parts"] = parts
            return saved.complete(made)


def _fields_beside_parts(content: Any, shape: str | None) -> JsonObject:
    if shape is None:
        return content
    return {"role": content["role"]} if shape == "part" and "role" in content else {}


def _content_shape(content: Any) -> Literal["text", "part", "unknown"] | None:
    """Return what was given instead of a content object; None for a content object."""
    match content:
        case str():
            return "text"
        case dict():
            return "part" if "parts" not in content and part_kind(content) is not None else None
        case _:
            return "unknown"


def _role(wire_role: Any) -> str:
    return _ROLES.get(wire_role, "user") if isinstance(wire_role, str) else "user"
