"""What a function gave back: an object in Gemini, a text or blocks in an exchange.

`{"content": …}` stands for a result and `{"error": …}` for one that is an error, each with a text or a list of texts.
`result` and `output` are read in the same way. Any other object is told as its JSON.
"""

import json
from typing import Any, NamedTuple

from palaver.model import build
from palaver.model.build import JsonObject


class Result(NamedTuple):
    content: str | list[JsonObject]
    is_error: bool


def result_of(response: Any, media: list[JsonObject]) -> Result:
    """The content that a response object tells; pictures and files stand beside it."""
    told = _told(response)
    if not media:
        return told
    texts = [build.text(told.content)] if isinstance(told.content, str) else told.content
    return Result([*([] if response is None else texts), *media], told.is_error)


def response_of(texts: str | list[JsonObject], *, is_error: bool) -> JsonObject:
    return {"error" if is_error else "content": texts}


def _told(response: Any) -> Result:
    if response is None:
        return Result("", is_error=False)
    if isinstance(response, dict) and len(response) == 1:
        [(key, value)] = response.items()
        is_error = key == "error" and value not in (None, False)
        if isinstance(value, str) and key in {"content", "result", "output", "error"}:
            return Result(value, is_error)
        if isinstance(value, list) and key in {"content", "error"} and all(map(_is_text_block, value)):
            return Result(value, is_error)
        return Result(_json(response), is_error)
    return Result(_json(response), is_error=False)


def _is_text_block(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"type", "text"} and value == build.text(str(value["text"]))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
