"""Where Gemini has the parts of an exchange, and what it calls their fields."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._answers import answer_order
from palaver.wire._places import Places, Pointers
from palaver.wire.gemini._provider_data import NAME, is_list, snake
from palaver.wire.gemini._settings import CONFIG_FIELDS
from palaver.wire.gemini._tools import group_key, has_functions
from palaver.wire.gemini._usage import COUNTS

_THINKING = "generationConfig/thinkingConfig"
_FIELDS = {
    **{ours: (f"generationConfig/{theirs}",) for ours, theirs in CONFIG_FIELDS.items()},
    "thinking": (_THINKING, "text"),
    "thinking/level": (f"{_THINKING}/thinkingLevel", f"{_THINKING}/thinkingBudget"),
    "thinking/include_summary": (f"{_THINKING}/includeThoughts",),
    "output_format": ("generationConfig/responseMimeType",),
    "output_format/json_schema": ("generationConfig/responseJsonSchema", "generationConfig/responseSchema"),
    "service_tier": ("serviceTier",),
    "tool_choice": ("toolConfig/functionCallingConfig",),
    "tool_choice/name": ("toolConfig/functionCallingConfig/allowedFunctionNames",),
    "model": ("modelVersion",),
    "response_id": ("responseId",),
    "created_at": ("createTime",),
    "usage": ("usageMetadata",),
    **{f"usage/{ours}": (f"usageMetadata/{theirs}",) for ours, theirs in COUNTS.items()},
    "parameters": ("parametersJsonSchema",),
    "id": ("functionCall/id",),
    "name": ("functionCall/name", "functionResponse/name", "inlineData/displayName", "fileData/displayName"),
    "input": ("functionCall/args",),
    "tool_use_id": ("functionResponse/id",),
    "content": ("functionResponse/response",),
    "is_error": ("functionResponse/response/error",),
    "source": ("inlineData", "fileData"),
    "source/data": ("inlineData/data", "fileData/fileUri"),
    "source/media_type": ("inlineData/mimeType", "fileData/mimeType"),
    "media_type": ("inlineData/mimeType", "fileData/mimeType"),
    "finish_reason": ("finishReason",),
    "raw": ("",),
}


def payload_places(payload: JsonObject, part: JsonObject) -> Places:
    """Return where a request or response stands in the payload that it was read from."""
    pointers = _turn_pointers(payload, part) if "messages" in part else _answer_pointers(payload)
    return Places(payload, NAME, _FIELDS, pointers, other_spelling=snake)


def _turn_pointers(payload: JsonObject, request: JsonObject) -> Pointers:
    pointers: Pointers = {"/system": ("/systemInstruction/parts",)}
    for number in range(len(request["messages"])):
        content = f"/contents/{number}"
        pointers[f"/messages/{number}"] = (content,)
        pointers[f"/messages/{number}/content"] = (f"{content}/parts", content, "/contents/parts")
    entries = payload.get("tools")
    if isinstance(entries, list) and has_functions(entries):
        pointers |= _tool_pointers(entries)
    return pointers


def _tool_pointers(entries: list[JsonObject]) -> Pointers:
    """Return the pointers of declared functions, and of the entries that hold other tools."""
    functions: list[str] = []
    others: list[str] = []
    for index, entry in enumerate(entries):
        key = group_key(entry)
        functions += [f"/tools/{index}/{key}/{number}" for number in range(len(entry[key]))] if key else []
        others += [f"/tools/{index}"] if entry.keys() - {key} else []
    return {f"/tools/{number}": (pointer,) for number, pointer in enumerate(functions)} | {
        f"/provider_data/{NAME}/tools/{number}": (pointer,) for number, pointer in enumerate(others)
    }


def _answer_pointers(payload: JsonObject) -> Pointers:
    candidates: list[Any] = payload["candidates"] if is_list(payload.get("candidates")) else []
    order = answer_order(candidates, "index")
    if not order:
        return {}
    first, *others = (f"/candidates/{position}" for position in order)
    pointers: Pointers = {
        "/content": (f"{first}/content/parts",),
        "/finish_reason": (f"{first}/finishReason",),
        f"/provider_data/{NAME}/candidates/0": (first,),
    }
    for number, start in enumerate(others):
        pointers[f"/alternatives/{number}"] = (start,)
        pointers[f"/alternatives/{number}/content"] = (f"{start}/content/parts", start)
    return pointers
