"""Parts of a Gemini content, read into blocks and written from them.

A thought signature can be on any part, even on an empty text: it stays in the block's `provider_data`, and every part
remains a block of its own. Parts without a counterpart (executed code, server tools) become opaque blocks, in order.

A function returns an object in Gemini, and a text or blocks in an exchange. `{"content": …}` is a result and
`{"error": …}` an error, each with a text or a list of text blocks. `result` and `output` are read in the same way, with
a text only. Any other object is read as its JSON.
"""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._call_ids import CallPairs
from palaver.wire.gemini._media import media_from_wire, media_to_wire
from palaver.wire.gemini._provider_data import (
    NAME,
    FieldReader,
    ProviderData,
    camel,
    is_list,
    is_object,
    is_text,
    report_unwritten,
)

_REQUIRED_TEXT = {
    "text": None,
    "functionCall": "name",
    "functionResponse": None,
    "inlineData": "data",
    "fileData": "fileUri",
}
"""The kinds of parts that have a block, each with the text field that its object must have."""
_OPAQUE_KINDS = (
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "audioTranscription",
    "mediaProcessing",
)
_METADATA_FIELDS = frozenset(
    {"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata", "speechMetadata"}
)
_BLOCK_FIELDS = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
    "image": frozenset({"type", "source"}),
    "file": frozenset({"type", "source", "name", "media_type"}),
}


def part_kind(part: Any) -> str | None:
    """Return the kind of a part; None if no block can express it."""
    if not isinstance(part, dict):
        return None
    fields = FieldReader(part)
    found = [kind for kind in (*_REQUIRED_TEXT, *_OPAQUE_KINDS) if fields.has(kind, lambda value: value is not None)]
    if len(found) > 1 and part.get("text") == "":
        found.remove("text")
    if len(found) != 1 or found[0] not in _REQUIRED_TEXT:
        return None
    [kind] = found
    if kind == "text":
        return kind if fields.take(kind, is_text) is not None else None
    if (inner := fields.inner(kind)) is None:
        return None
    required = _REQUIRED_TEXT[kind]
    return kind if required is None or inner.take(required, is_text) is not None else None


def blocks_from_wire(parts: list[Any], turn: int, pairs: CallPairs) -> list[JsonObject]:
    return [_block_from_wire(part, (turn, position), pairs) for position, part in enumerate(parts)]


def _block_from_wire(part: Any, position: tuple[int, int], pairs: CallPairs) -> JsonObject:
    kind = part_kind(part)
    if kind is None:
        return _string_part(part) if isinstance(part, str) else _opaque_block(part)
    fields = FieldReader(part)
    if kind == "text":
        made = _text_from_wire(fields)
    elif kind == "functionCall":
        made = _tool_use_from_wire(fields, pairs.ids[position])
    elif kind == "functionResponse":
        made = _tool_result_from_wire(fields, pairs.ids[position], pairs.names)
    else:
        made = media_from_wire(fields, kind)
    return made | fields.provider_data()


def _string_part(text: str) -> JsonObject:
    """Return the block of a string, which SDKs accept as a part."""
    fields = FieldReader({})
    fields.remember("string", value=True)
    return build.text(text) | fields.provider_data()


def _opaque_block(part: Any) -> JsonObject:
    keys = [camel(key) for key in part if camel(key) not in _METADATA_FIELDS] if isinstance(part, dict) else []
    return build.opaque(kind=next((key for key in keys if key), "part"), raw=part) | {"provider_data": {NAME: {}}}


def _text_from_wire(fields: FieldReader) -> JsonObject:
    text = fields.take("text", is_text)
    return build.thinking(text) if fields.take("thought", lambda value: value is True) else build.text(text)


def _tool_use_from_wire(fields: FieldReader, call_id: str) -> JsonObject:
    call = fields.inner("functionCall")
    assert call is not None
    call.expect("id", lambda value: value == call_id)
    return build.tool_use(id=call_id, name=call.take("name", is_text), input=call.expect("args", is_object) or {})


def _tool_result_from_wire(fields: FieldReader, call_id: str, names: dict[str, str]) -> JsonObject:
    answer = fields.inner("functionResponse")
    assert answer is not None
    answer.expect("id", lambda value: value == call_id)
    answer.expect("name", lambda value: value == names.get(call_id, call_id))
    response = answer.expect("response", lambda value: value is not None)
    media = [
        _media_from_wire(part) for part in answer.take("parts", lambda value: is_list(value) and bool(value)) or []
    ]
    content, is_error = _parse_result(response, media)
    if response is not None:
        _remember_response(answer, response, content, media, is_error=is_error)
    return build.tool_result(tool_use_id=call_id, content=content, is_error=is_error)


def _remember_response(
    answer: FieldReader, response: Any, content: str | list[JsonObject], media: list[JsonObject], *, is_error: bool
) -> None:
    texts = content if isinstance(content, str) else content[: len(content) - len(media)]
    if response == _response_object(texts, is_error=is_error):
        return
    if isinstance(content, str) and isinstance(response, dict) and list(response.values()) == [content]:
        answer.remember("key", next(iter(response)))
    else:
        answer.remember("response", response)


def _media_from_wire(part: Any) -> JsonObject:
    kind = part_kind(part)
    if kind not in {"inlineData", "fileData"}:
        return _opaque_block(part)
    fields = FieldReader(part)
    return media_from_wire(fields, kind) | fields.provider_data()


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes the blocks of one payload."""

    names: dict[str, str]
    """The name of the called function by call id: a function response repeats it."""
    losses: Losses

    def parts(self, blocks: list[JsonObject], pointer: str) -> list[Any]:
        written = (self._part(block, f"{pointer}/{position}") for position, block in enumerate(blocks))
        return [part for found in written for part in found]

    def _part(self, block: JsonObject, pointer: str) -> list[Any]:
        """Return a list of one part, or an empty list if Gemini has no part for the block."""
        kind = block["type"]
        if kind == "opaque" and _is_native(block):
            return [block["raw"]]
        if (text := _replacement_text(block)) is not None:
            self.losses.change(pointer, f"Gemini has no part for it; written as the text of the {kind}")
            return [{"text": text}]
        if kind not in _BLOCK_FIELDS or _is_unreadable(block):
            self.losses.drop(pointer, _drop_reason(block))
            return []
        report_unwritten(block, _BLOCK_FIELDS[kind], pointer, self.losses)
        saved = ProviderData(block)
        if kind == "text" and saved.original("string"):
            return [block["text"]]
        return [saved.complete(self._build_part(block, pointer, saved))]

    def _build_part(self, block: JsonObject, pointer: str, saved: ProviderData) -> JsonObject:
        match block["type"]:
            case "text":
                return {"text": block["text"]}
            case "thinking":
                return {"text": block["thinking"], "thought": True}
            case "tool_use":
                call: JsonObject = {} if saved.lacks("id") else {"id": block["id"]}
                call["name"] = block["name"]
                if block["input"] or not saved.lacks("args"):
                    call["args"] = block["input"]
                return saved.spell({"functionCall": call})
            case "tool_result":
                return saved.spell({"functionResponse": self._function_response(block, pointer, saved)})
            case _:
                return media_to_wire(block, pointer, saved, self.losses) or {}

    def _function_response(self, block: JsonObject, pointer: str, saved: ProviderData) -> JsonObject:
        call_id, content, is_error = block["tool_use_id"], block["content"], bool(block.get("is_error"))
        answer: JsonObject = {} if saved.lacks("id") else {"id": call_id}
        if not saved.lacks("name"):
            answer["name"] = self.names.get(call_id, call_id)
        if isinstance(content, str):
            texts, media, parts = content, [], []
        else:
            texts, media, parts = self._split_result(content, f"{pointer}/content")
        if parts:
            answer["parts"] = parts
        original = saved.original("response")
        if original is not None and _parse_result(original, media) == (content, is_error):
            answer["response"] = original
        elif (key := saved.original("key")) is not None and isinstance(content, str) and not is_error:
            answer["response"] = {key: content}
        elif texts or is_error or not saved.lacks("response"):
            answer["response"] = _response_object(texts, is_error=is_error)
        return answer

    def _split_result(
        self, content: list[JsonObject], pointer: str
    ) -> tuple[list[JsonObject], list[JsonObject], list[Any]]:
        """Return a result's texts for the response object, its other blocks, and the parts written for these."""
        texts: list[JsonObject] = []
        media: list[JsonObject] = []
        parts: list[Any] = []
        for position, block in enumerate(content):
            block_pointer = f"{pointer}/{position}"
            if (block["type"] in {"image", "file"} and _replacement_text(block) is None) or _is_native(block):
                parts += self._part(block, block_pointer)
                media.append(block)
                continue
            if media:
                self.losses.change(pointer, "Gemini keeps the text of a result separate from its images and files")
            if block["type"] == "text":
                report_unwritten(block, _BLOCK_FIELDS["text"], block_pointer, self.losses)
                texts.append(build.text(block["text"]))
            elif (text := _replacement_text(block)) is not None:
                self.losses.change(
                    block_pointer, f"Gemini has no part for it; written as the text of the {block['type']}"
                )
                texts.append(build.text(text))
            else:
                self.losses.drop(block_pointer, _drop_reason(block))
        return texts, media, parts


def _is_native(block: JsonObject) -> bool:
    """Return whether this is an opaque block of this format."""
    return block["type"] == "opaque" and NAME in (block.get("provider_data") or {})


def _replacement_text(block: JsonObject) -> str | None:
    """Return the text to write for a block that Gemini has no part for; None if it is not needed."""
    match block:
        case {"type": "code", "code": code}:
            return f"```{block.get('language') or ''}\n{code}\n```"
        case {"type": "file", "text": str(text)} if block.get("source") is None:
            return text
        case _:
            return None


def _is_unreadable(block: JsonObject) -> bool:
    """Return whether only its provider can read a block, or there is nothing to read."""
    match block["type"]:
        case "thinking":
            return not block["thinking"] and block.get("redacted_data") is not None
        case "image" | "file":
            return block.get("source") is None
        case _:
            return False


def _drop_reason(block: JsonObject) -> str:
    match block["type"]:
        case "thinking":
            return "only its own provider can read redacted reasoning"
        case "file":
            return "it has a name but no bytes"
        case "opaque":
            note = "; its text is lost too" if '"text": "' in json.dumps(block["raw"]) else ""
            return f"Gemini has no part for {block['kind']}{note}"
        case kind:
            return f"Gemini has no part for {kind}"


class _Result(NamedTuple):
    content: str | list[JsonObject]
    is_error: bool


def _parse_result(response: Any, media: list[JsonObject]) -> _Result:
    """Return the result that a response object expresses, with its images and files appended."""
    result = _parse_response(response)
    if not media:
        return result
    texts = [build.text(result.content)] if isinstance(result.content, str) else result.content
    return _Result([*([] if response is None else texts), *media], result.is_error)


def _response_object(texts: str | list[JsonObject], *, is_error: bool) -> JsonObject:
    return {"error" if is_error else "content": texts}


def _parse_response(response: Any) -> _Result:
    if response is None:
        return _Result("", is_error=False)
    if isinstance(response, dict) and len(response) == 1:
        [(key, value)] = response.items()
        is_error = key == "error" and value not in (None, False)
        if isinstance(value, str) and key in {"content", "result", "output", "error"}:
            return _Result(value, is_error)
        if isinstance(value, list) and key in {"content", "error"} and all(map(_is_text_block, value)):
            return _Result(value, is_error)
        return _Result(_dump_json(response), is_error)
    return _Result(_dump_json(response), is_error=False)


def _is_text_block(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"type", "text"} and value == build.text(str(value["text"]))


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
