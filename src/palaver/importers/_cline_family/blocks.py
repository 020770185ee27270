"""Content blocks of the API history as UCS blocks; what a block has no place for stands on it as `source_fields`."""

from typing import Any

from palaver.importers._cline_family.vocabulary import ANSWERS, mcp_of
from palaver.model import build
from palaver.model.build import JsonObject


def with_rest(block: JsonObject, raw: JsonObject, *mapped: str) -> JsonObject:
    """The block with the fields that it has no place for; empty ones say nothing."""
    rest = {name: value for name, value in raw.items() if name not in mapped and value not in _EMPTY}
    if rest:
        block["source_fields"] = rest
    return block


_EMPTY: tuple[Any, ...] = (None, "", [], {})


def block_of(raw: Any) -> JsonObject:
    """One block that is neither a call nor a result; opaque where its shape is not known."""
    if isinstance(raw, dict) and raw.get("type") == "text" and isinstance((text := raw.get("text")), str):
        return raw if len(raw) == 2 else with_rest(build.text(text), raw, "type", "text")
    match raw:
        case str():
            return build.text(raw)
        case {"type": "reasoning"}:
            return reasoning(raw) or build.opaque(kind="reasoning", raw=raw)
        case {"type": "thinking", "thinking": str(text)}:
            return _thought(text, raw)
        case {"type": "redacted_thinking", "data": str(data)}:
            return with_rest(build.thinking("", redacted_data=data), raw, "type", "data")
        case {"type": "image", "source": dict(source)}:
            return _image(raw, source)
        case {"type": "document", "source": dict(source)}:
            return _document(raw, source)
        case {"type": str(kind)} if kind:
            return build.opaque(kind=kind, raw=raw)
        case _:
            return build.opaque(kind="block", raw=raw)


def reasoning(raw: JsonObject) -> JsonObject | None:
    """Reasoning of OpenAI's manner: in words, as a summary, or sealed; None where it holds none of these."""
    text, summary, sealed = raw.get("text"), raw.get("summary"), raw.get("encrypted_content")
    words = [text] if isinstance(text, str) and text else _summary(summary)
    if words is None:
        return None
    taken = ["type", *(("text",) if isinstance(text, str) else ("summary",))]
    if isinstance(sealed, str):
        taken.append("encrypted_content")
    made = build.thinking("\n\n".join(words), redacted_data=sealed if isinstance(sealed, str) and sealed else None)
    return with_rest(made, raw, *taken)


def _summary(summary: Any) -> list[str] | None:
    """The paragraphs of a summary; None where something else stands in its place."""
    if summary is None:
        return []
    if isinstance(summary, str):
        return [summary]
    if not isinstance(summary, list):
        return None
    words: list[str] = []
    for piece in summary:
        match piece:
            case {"text": str(text), **rest} if rest.keys() <= {"type"}:
                words.append(text)
            case str():
                words.append(piece)
            case _:
                return None
    return words


def _thought(text: str, raw: JsonObject) -> JsonObject:
    signature = raw.get("signature")
    if not isinstance(signature, str):
        return with_rest(build.thinking(text), raw, "type", "thinking")
    return with_rest(build.thinking(text, signature=signature or None), raw, "type", "thinking", "signature")


def _image(raw: JsonObject, source: JsonObject) -> JsonObject:
    made = _source(source)
    return with_rest(build.image(made), raw, "type", "source") if made else build.opaque(kind="image", raw=raw)


def _document(raw: JsonObject, source: JsonObject) -> JsonObject:
    title = raw.get("title")
    name = title if isinstance(title, str) else None
    taken = ("type", "source", "title") if name else ("type", "source")
    match source:
        case {"type": "text", "data": str(text), **rest} if rest.keys() <= {"media_type"}:
            media_type = rest.get("media_type")
            made = build.file(name=name, media_type=media_type if isinstance(media_type, str) else None, text=text)
            return with_rest(made, raw, *taken)
        case _:
            held = _source(source)
            if held is None:
                return build.opaque(kind="document", raw=raw)
            return with_rest(build.file(source=held, name=name), raw, *taken)


def _source(source: JsonObject) -> JsonObject | None:
    """Where the bytes are; None for a shape that is not known."""
    match source:
        case {"type": "base64", "data": str(data)} if type(source.get("media_type")) in {str, type(None)}:
            rest = {name: value for name, value in source.items() if name not in {"type", "data", "media_type"}}
            return {**rest, **build.source("base64", data, media_type=source.get("media_type"))}
        case {"type": "url", "url": str(url)}:
            rest = {name: value for name, value in source.items() if name not in {"type", "url", "data"}}
            if type(rest.get("media_type")) not in {str, type(None)} or "data" in source:
                return None
            return {**rest, **build.source("url", url)}
        case _:
            return None


def image_of_address(address: str) -> JsonObject:
    """An image that is written as a `data:` address, as the interface's rows have them."""
    head, comma, data = address.partition(";base64,")
    if comma and head.startswith("data:"):
        return build.image(build.source("base64", data, media_type=head.removeprefix("data:")))
    return build.image(build.source("url", address))


_CALL = ("type", "id", "name", "input")
"""The fields of a call, which is passed on as it is where it has no others."""


def call_blocks(*, call_id: str, name: str, arguments: JsonObject, raw: JsonObject | None = None) -> list[JsonObject]:
    """A call; the words that a model says to the user by calling a tool stand before it as text."""
    is_whole = raw is not None and tuple(raw) == _CALL and raw["id"] is call_id and raw["input"] is arguments
    if raw is not None and is_whole and raw["name"] is name and name not in ANSWERS and not mcp_of(name):
        return [raw]
    made: list[JsonObject] = []
    spoken = ANSWERS.get(name)
    if spoken and isinstance((words := arguments.get(spoken)), str):
        arguments = {key: value for key, value in arguments.items() if key != spoken}
        if words:
            made.append(build.text(words))
    block = build.tool_use(id=call_id, name=name, input=arguments)
    if server := mcp_of(name):
        block["metadata"] = server
    if raw:
        taken = ["type", "input", *(key for key in ("id", "name") if isinstance(raw.get(key), str))]
        if len(raw) > len(taken):
            block = with_rest(block, raw, *taken)
    made.append(block)
    return made


def result_content(raw: Any) -> tuple[str | list[JsonObject], str]:
    """The content of a result, and its text as far as it is one."""
    if isinstance(raw, str):
        return raw, raw
    match raw:
        case None:
            return "", ""
        case list():
            made = [block_of(piece) for piece in raw]
            texts = [block["text"] for block in made if block["type"] == "text"]
            return made or "", "\n".join(texts)
        case _:
            return [build.opaque(kind="content", raw=raw)], ""
