"""Rows of a policy's own making: where a payload has its bodies, told by the user or by what they look like.

`-O fields=request=req.body,response=resp.body,id=trace` names the places, each a path of names (or numbers, in a list)
into the record. Without it, or for what it does not name: the request is an object with `messages`, `input` or
`contents`, the answer one with `choices`, `output`, `candidates` or `content`, as an object or as its text.
"""

from collections.abc import Iterator
from string import whitespace
from typing import Any

from palaver.importers.azure_openai.bodies import decoded
from palaver.importers.azure_openai.formats import request_kind, response_kind
from palaver.importers.azure_openai.row import BODIES, KNOWN, Row, Table, plain
from palaver.model.build import JsonObject

FieldMap = dict[str, tuple[str, ...]]
"""Our columns, and the paths that lead to them."""

_COLUMNS = {
    "request": "requestBody",
    "response": "responseBody",
    "id": "correlationId",
    "time": "TimeGenerated",
    "caller": "apimSubscriptionId",
    "model": "modelName",
    "input_tokens": "promptTokens",
    "output_tokens": "completionTokens",
    "deployment": "deploymentName",
    "version": "apiVersion",
    "url": "url",
    "status": "responseCode",
    "duration": "durationMs",
    "region": "region",
}
_REQUEST, _RESPONSE = ("requestbody", "backendrequestbody"), ("responsebody", "backendresponsebody")
_DEEPEST = 3
_OPENINGS = ("{", "[", "data:", "event:", '"')
_BEGINNINGS = {*(one[0] for one in _OPENINGS), *whitespace}
_SPEAKING = frozenset(
    {*("contents", "messages", "input", "previous_response_id", "prompt", "choices", "candidates", "output", "object")}
    | {"type", "role", "content", "prompt_filter_results"}
)
"""Names of which every request and every answer has one."""
_SAID = ("choices", "output", "candidates", "content", "usage", "model", "object", "created")


def field_map(words: str) -> FieldMap:
    """The option's words as a map.

    Raises:
        ValueError: They name no column of ours, or no path.
    """
    found: FieldMap = {}
    for pair in filter(None, (part.strip() for part in words.split(","))):
        name, equals, path = (part.strip() for part in pair.partition("="))
        if name not in _COLUMNS:
            raise ValueError(f"{name!r} is none of {', '.join(_COLUMNS)}")
        if not equals or not all(path.split(".")):
            raise ValueError(f"{pair!r} names no path: write {name}=some.path")
        found[_COLUMNS[name]] = tuple(path.split("."))
    return found


def told(row: Row, fields: FieldMap) -> Row:
    """The row, with what it says under other names under those that we know."""
    columns = row.columns
    for column, path in fields.items():
        columns, value = _taken(columns, path)
        if value is not None and value != "":
            columns = {name: item for name, item in columns.items() if plain(name) != plain(column)} | {column: value}
    if columns is not row.columns:
        row = Row(columns, row.where, _table(row), row.size_bytes)
    if row.has_messages or (row.has(_REQUEST) and row.has(_RESPONSE)):
        return row
    return _found(row) if _may_speak(row.columns) else row


def _taken(holder: Any, path: tuple[str, ...]) -> tuple[Any, Any]:
    """The holder without what the path leads to, and that; the same, and None, where it leads nowhere."""
    if isinstance(holder, str) and (body := decoded(holder)) is not None:
        holder = body.value
    first, *rest = path
    match holder:
        case dict():
            name = first if first in holder else next((one for one in holder if plain(one) == plain(first)), None)
            if name is None:
                return holder, None
            left, value = _taken(holder[name], tuple(rest)) if rest else (None, holder[name])
            others = {one: item for one, item in holder.items() if one != name}
            return others if not left else {**others, name: left}, value
        case list() if first.isdecimal() and int(first) < len(holder):
            at = int(first)
            left, value = _taken(holder[at], tuple(rest)) if rest else (None, holder[at])
            return [*holder[:at], *([left] if left else []), *holder[at + 1 :]], value
        case _:
            return holder, None


def _may_speak(columns: JsonObject) -> bool:
    """Whether a body can be in these columns at all: most rows without one hold numbers and names."""
    if not _SPEAKING.isdisjoint(columns):
        return True
    for value in columns.values():
        if isinstance(value, dict | list) or (isinstance(value, str) and value[:1] in _BEGINNINGS):
            return True
    return False


def _found(row: Row) -> Row:
    """The row, with bodies that are known by their shape alone."""
    columns = row.columns
    made: JsonObject = {}
    if not row.has(_REQUEST) and request_kind(columns) is not None:
        made["requestBody"] = {name: item for name, item in columns.items() if _is_of_request(name, item)}
    elif not row.has(_RESPONSE) and _is_answer(columns):
        made["responseBody"] = _answer({name: columns[name] for name in _SAID if name in columns})
    of_itself: JsonObject = made.get("requestBody") or {name: None for name in _SAID if made and name in columns}
    columns = {name: item for name, item in columns.items() if name not in of_itself}
    for path, value in list(_candidates(columns)):
        is_wanted = "requestBody" not in made and not row.has(_REQUEST)
        if is_wanted and request_kind(value) is not None:
            made["requestBody"] = value
        elif "responseBody" not in made and not row.has(_RESPONSE) and _is_answer(value):
            made["responseBody"] = _answer(value)
        else:
            continue
        columns, _ = _taken(columns, path)
    for name, value in list(columns.items()) if not made else ():
        if speakers := _speakers(value):
            made["ResponseMessages" if speakers == {"assistant"} else "RequestMessages"] = value
            columns = {one: item for one, item in columns.items() if one != name}
    if not made:
        return row
    table = "llm" if made.keys() <= {"RequestMessages", "ResponseMessages"} else _table(row)
    return Row({**columns, **made}, row.where, table, row.size_bytes)


def _speakers(value: Any) -> set[Any]:
    """Who speaks in a list of messages, or the text of one; nobody where it is none."""
    if isinstance(value, str) and value.startswith("[{") and (body := decoded(value)) is not None:
        value = body.value
    if not isinstance(value, list) or not all(isinstance(one, dict) and "role" in one for one in value):
        return set()
    return {one["role"] for one in value if isinstance(one["role"], str)}


def _table(row: Row) -> Table:
    return "custom" if row.table == "other" else row.table


def _is_of_request(name: str, item: Any) -> bool:
    """Whether a field of a record that is itself a request belongs to that, and not to the log."""
    if plain(name) in KNOWN and plain(name) != "type":
        return False
    return not (isinstance(item, dict | str) and any(_is_answer(value) for _, value in _candidates({name: item})))


def _is_answer(value: Any) -> bool:
    match value:
        case {"type": "stream_completion", "content": str()}:
            return True
        case {"content": str(), "usage": dict()} | {"content": str(), "model": str()}:
            return True
        case _:
            return response_kind(value) is not None


def _answer(value: JsonObject) -> JsonObject:
    """A text that a proxy wrote down when its stream had ended, as the answer that it was."""
    if response_kind(value) is None and isinstance(text := value.get("content"), str):
        rest = {name: item for name, item in value.items() if name != "content"}
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], **rest}
    return value


def _candidates(holder: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """Objects in a record, and texts of objects, the outer ones first; with the paths to them."""
    if len(path) >= _DEEPEST:
        return
    inner: list[tuple[tuple[str, ...], JsonObject]] = []
    for name, item in holder.items():
        if isinstance(item, str):
            if not item.lstrip()[:6].startswith(_OPENINGS) or (not path and plain(name) in BODIES):
                continue
            body = decoded(item)
            item = body.value if body is not None else None
        if isinstance(item, dict):
            yield (*path, name), item
            inner.append(((*path, name), item))
    for below, item in inner:
        yield from _candidates(item, below)
