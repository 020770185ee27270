"""Parts of a Gemini content, read into blocks.

A signature can sit on any part, also on an empty text: it stays beside the block, and every part stays a block of its
own. Parts that no block can express (code that ran, tools of the server) are kept whole, in place.
"""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.gemini._fields import NAME, Fields, camel, is_list, is_object, is_text
from palaver.wire.gemini._media import media_block
from palaver.wire.gemini._pairs import Paired
from palaver.wire.gemini._results import response_of, result_of

_REQUIRED = {
    "text": None,
    "functionCall": "name",
    "functionResponse": None,
    "inlineData": "data",
    "fileData": "fileUri",
}
"""Kinds of parts that a block can express, with the text that their object must hold."""
_WHOLE = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse", "audioTranscription", "mediaProcessing")
_BESIDE = frozenset(
    {"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata", "speechMetadata"}
)


def kind_of(part: Any) -> str | None:
    """The kind of part, where a block can express it."""
    if not isinstance(part, dict):
        return None
    fields = Fields(part)
    found = [kind for kind in (*_REQUIRED, *_WHOLE) if fields.holds(kind, lambda value: value is not None)]
    if len(found) > 1 and part.get("text") == "":
        found.remove("text")
    if len(found) != 1 or found[0] not in _REQUIRED:
        return None
    [kind] = found
    if kind == "text":
        return kind if fields.take(kind, is_text) is not None else None
    if (inner := fields.inner(kind)) is None:
        return None
    required = _REQUIRED[kind]
    return kind if required is None or inner.take(required, is_text) is not None else None


def blocks(parts: list[Any], turn: int, pairs: Paired) -> list[JsonObject]:
    return [_block(part, (turn, position), pairs) for position, part in enumerate(parts)]


def _block(part: Any, place: tuple[int, int], pairs: Paired) -> JsonObject:
    kind = kind_of(part)
    if kind is None:
        return _plain(part) if isinstance(part, str) else _opaque(part)
    fields = Fields(part)
    if kind == "text":
        made = _text(fields)
    elif kind == "functionCall":
        made = _tool_use(fields, pairs.ids[place])
    elif kind == "functionResponse":
        made = _tool_result(fields, pairs.ids[place], pairs.names)
    else:
        made = media_block(fields, kind)
    return made | fields.beside()


def _plain(text: str) -> JsonObject:
    """SDKs take a text for a part."""
    fields = Fields({})
    fields.remember("string", value=True)
    return build.text(text) | fields.beside()


def _opaque(part: Any) -> JsonObject:
    keys = [camel(key) for key in part if camel(key) not in _BESIDE] if isinstance(part, dict) else []
    return build.opaque(kind=next((key for key in keys if key), "part"), raw=part) | {"provider_data": {NAME: {}}}


def _text(fields: Fields) -> JsonObject:
    text = fields.take("text", is_text)
    return build.thinking(text) if fields.take("thought", lambda value: value is True) else build.text(text)


def _tool_use(fields: Fields, call_id: str) -> JsonObject:
    call = fields.inner("functionCall")
    assert call is not None
    call.expect("id", lambda value: value == call_id)
    return build.tool_use(id=call_id, name=call.take("name", is_text), input=call.expect("args", is_object) or {})


def _tool_result(fields: Fields, call_id: str, names: dict[str, str]) -> JsonObject:
    answer = fields.inner("functionResponse")
    assert answer is not None
    answer.expect("id", lambda value: value == call_id)
    answer.expect("name", lambda value: value == names.get(call_id, call_id))
    response = answer.expect("response", lambda value: value is not None)
    media = [_media(part) for part in answer.take("parts", lambda value: is_list(value) and bool(value)) or []]
    content, is_error = result_of(response, media)
    if response is not None:
        _remember_response(answer, response, content, media, is_error=is_error)
    return build.tool_result(tool_use_id=call_id, content=content, is_error=is_error)


def _remember_response(
    answer: Fields, response: Any, content: str | list[JsonObject], media: list[JsonObject], *, is_error: bool
) -> None:
    texts = content if isinstance(content, str) else content[: len(content) - len(media)]
    if response == response_of(texts, is_error=is_error):
        return
    if isinstance(content, str) and isinstance(response, dict) and list(response.values()) == [content]:
        answer.remember("key", next(iter(response)))
    else:
        answer.remember("response", response)


def _media(part: Any) -> JsonObject:
    kind = kind_of(part)
    if kind not in {"inlineData", "fileData"}:
        return _opaque(part)
    fields = Fields(part)
    return media_block(fields, kind) | fields.beside()
