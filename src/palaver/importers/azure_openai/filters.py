"""What a content filter objected to, the same in all forms in which Azure tells it.

The results themselves stay where the payload has them. Chat has them for the prompt and beside each choice, Responses
in one list, and a request that was refused inside its error.
"""

from collections.abc import Iterator
from typing import Any

from palaver.model.build import JsonObject
from palaver.threads.call import Call

_TELLING = frozenset({"prompt_filter_results", "prompt_annotations", "content_filters"})
_RESULTS = ("content_filter_results", "content_filter_result")


def filters_of(call: Call) -> JsonObject:
    """By `prompt` and `completion`, the categories that were found or filtered; nothing where all was safe."""
    found: JsonObject = {}
    if call.error is None and not _is_filtered(call.response or {}):
        return found
    for side, results in (*_of_answer(call.response or {}), *_of_error(call.error or {})):
        for category, result in results.items():
            if _is_objection(result):
                found.setdefault(side, {}).setdefault(category, result)
    return found


def _is_filtered(response: JsonObject) -> bool:
    """Whether an answer tells of a filter at all: most do not."""
    choices = response.get("choices")
    return not _TELLING.isdisjoint(response) or (
        isinstance(choices, list)
        and any(not isinstance(choice, dict) or any(name in choice for name in _RESULTS) for choice in choices)
    )


def _of_answer(response: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for name in ("prompt_filter_results", "prompt_annotations"):
        for one in _objects(response.get(name)):
            yield from _results("prompt", one)
    for choice in _objects(response.get("choices")):
        yield from _results("completion", choice)
    for one in _objects(response.get("content_filters")):
        side = one.get("source_type")
        yield from _results(side if isinstance(side, str) else "completion", one)


def _of_error(error: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for data in _objects(list((error.get("provider_data") or {}).values())):
        inner = data.get("innererror")
        if isinstance(inner, dict):
            yield from _results("prompt", inner)


def _results(side: str, holder: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for name in _RESULTS:
        if isinstance(found := holder.get(name), dict):
            yield side, found


def _objects(value: Any) -> Iterator[JsonObject]:
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _is_objection(result: Any) -> bool:
    match result:
        case {"filtered": True} | {"detected": True}:
            return True
        case {"severity": str(severity)}:
            return severity != "safe"
        case list():
            return any(map(_is_objection, result))
        case _:
            return False
