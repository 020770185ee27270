"""Rows in a format that a policy defined: their bodies are found by the user's paths, or by their shape.

`-O fields=request=req.body,response=resp.body,id=trace` maps columns to paths of names (or of numbers, in a list). A
body that it does not name is found by its shape, as an object or as the text of one: a request has `messages`, `input`
or `contents`, an answer has `choices`, `output`, `candidates` or `content`.
"""

from collections.abc import Iterator
from string import whitespace
from typing import Any

from palaver.importers.azure_openai.bodies import decode_body
from palaver.importers.azure_openai.payload_formats import request_kind, response_kind
from palaver.importers.azure_openai.row import BODY_COLUMNS, KNOWN_COLUMNS, Row, Table, plain_name
from palaver.model.build import JsonObject

FieldMap = dict[str, tuple[str, ...]]
"""Known columns, and the paths to their values in a record."""

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
_REQUEST_COLUMNS, _RESPONSE_COLUMNS = ("requestbody", "backendrequestbody"), ("responsebody", "backendresponsebody")
_MAX_DEPTH = 3
_OPENINGS = ("{", "[", "data:", "event:", '"')
_FIRST_CHARACTERS = {*(opening[0] for opening in _OPENINGS), *whitespace}
_BODY_FIELDS = frozenset(
    {*("contents", "messages", "input", "previous_response_id", "prompt", "choices", "candidates", "output", "object")}
    | {"type", "role", "content", "prompt_filter_results"}
)
"""Every request and every answer has at least one of these fields."""
_ANSWER_FIELDS = ("choices", "output", "candidates", "content", "usage", "model", "object", "created")


def field_map(text: str) -> FieldMap:
    """Parse the value of `-O fields`.

    Raises:
        ValueError: It names an unknown column, or no path.
    """
    found: FieldMap = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, path = (part.strip() for part in pair.partition("="))
        if name not in _COLUMNS:
            raise ValueError(f"{name!r} is not a field: choose {', '.join(_COLUMNS)}")
        if not equals or not all(path.split(".")):
            raise ValueError(f"{pair!r} has no path: write {name}=some.path")
        found[_COLUMNS[name]] = tuple(path.split("."))
    return found


def with_known_columns(row: Row, fields: FieldMap) -> Row:
    """Return the row with mapped fields and detected bodies under the names of known columns."""
    columns = row.columns
    for column, path in fields.items():
        columns, value = _take(columns, path)
        if value is not None and value != "":
            others = {name: item for name, item in columns.items() if plain_name(name) != plain_name(column)}
            columns = {**others, column: value}
    if columns is not row.columns:
        row = Row(columns, row.where, _table_of(row), row.size_bytes)
    if row.has_messages or (row.has(_REQUEST_COLUMNS) and row.has(_RESPONSE_COLUMNS)):
        return row
    return _with_detected_bodies(row) if _may_hold_body(row.columns) else row


def _take(holder: Any, path: tuple[str, ...]) -> tuple[Any, Any]:
    """Return the holder without the value at a path, and the value; the holder and None if there is none."""
    if isinstance(holder, str) and (body := decode_body(holder)) is not None:
        holder = body.value
    first, *rest = path
    match holder:
        case dict():
            name = first
            if first not in holder:
                name = next((key for key in holder if plain_name(key) == plain_name(first)), None)
            if name is None:
                return holder, None
            left, value = _take(holder[name], tuple(rest)) if rest else (None, holder[name])
            others = {key: item for key, item in holder.items() if key != name}
            return others if not left else {**others, name: left}, value
        case list() if first.isdecimal() and int(first) < len(holder):
            index = int(first)
            left, value = _take(holder[index], tuple(rest)) if rest else (None, holder[index])
            return [*holder[:index], *([left] if left else []), *holder[index + 1 :]], value
        case _:
            return holder, None


def _may_hold_body(columns: JsonObject) -> bool:
    """Whether these columns can hold a body at all: most rows without one have only numbers and names."""
    if not _BODY_FIELDS.isdisjoint(columns):
        return True
    for value in columns.values():
        if isinstance(value, dict | list) or (isinstance(value, str) and value[:1] in _FIRST_CHARACTERS):
            return True
    return False


def _with_detected_bodies(row: Row) -> Row:
    """Return the row with the bodies that are recognized by their shape."""
    columns = row.columns
    detected: JsonObject = {}
    if not row.has(_REQUEST_COLUMNS) and request_kind(columns) is not None:
        detected["requestBody"] = {name: item for name, item in columns.items() if _is_request_field(name, item)}
    elif not row.has(_RESPONSE_COLUMNS) and _is_answer(columns):
        detected["responseBody"] = _as_chat_answer({name: columns[name] for name in _ANSWER_FIELDS if name in columns})
    used: JsonObject = detected.get("requestBody") or {
        name: None for name in _ANSWER_FIELDS if detected and name in columns
    }
    columns = {name: item for name, item in columns.items() if name not in used}
    for path, value in list(_nested_objects(columns)):
        is_wanted = "requestBody" not in detected and not row.has(_REQUEST_COLUMNS)
        if is_wanted and request_kind(value) is not None:
            detected["requestBody"] = value
        elif "responseBody" not in detected and not row.has(_RESPONSE_COLUMNS) and _is_answer(value):
            detected["responseBody"] = _as_chat_answer(value)
        else:
            continue
        columns, _ = _take(columns, path)
    for name, value in list(columns.items()) if not detected else ():
        if roles := _message_roles(value):
            detected["ResponseMessages" if roles == {"assistant"} else "RequestMessages"] = value
            columns = {key: item for key, item in columns.items() if key != name}
    if not detected:
        return row
    table = "llm" if detected.keys() <= {"RequestMessages", "ResponseMessages"} else _table_of(row)
    return Row({**columns, **detected}, row.where, table, row.size_bytes)


def _message_roles(value: Any) -> set[Any]:
    """Return the roles in a list of messages, or in the text of one; empty for anything else."""
    if isinstance(value, str) and value.startswith("[{") and (body := decode_body(value)) is not None:
        value = body.value
    if not isinstance(value, list) or not all(isinstance(message, dict) and "role" in message for message in value):
        return set()
    return {message["role"] for message in value if isinstance(message["role"], str)}


def _table_of(row: Row) -> Table:
    return "custom" if row.table == "other" else row.table


def _is_request_field(name: str, item: Any) -> bool:
    """Whether a field of a record that is itself a request belongs to the request, and not to the log."""
    if plain_name(name) in KNOWN_COLUMNS and plain_name(name) != "type":
        return False
    return not (isinstance(item, dict | str) and any(_is_answer(value) for _, value in _nested_objects({name: item})))


def _is_answer(value: Any) -> bool:
    match value:
        case {"type": "stream_completion", "content": str()}:
            return True
        case {"content": str(), "usage": dict()} | {"content": str(), "model": str()}:
            return True
        case _:
            return response_kind(value) is not None


def _as_chat_answer(value: JsonObject) -> JsonObject:
    """Convert the text that a proxy recorded at the end of a stream into a chat response."""
    if response_kind(value) is None and isinstance(text := value.get("content"), str):
        rest = {name: item for name, item in value.items() if name != "content"}
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], **rest}
    return value


def _nested_objects(holder: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """Yield the objects in a record, also those in texts, with their paths; outer objects first."""
    if len(path) >= _MAX_DEPTH:
        return
    inner: list[tuple[tuple[str, ...], JsonObject]] = []
    for name, item in holder.items():
        if isinstance(item, str):
            if not item.lstrip()[:6].startswith(_OPENINGS) or (not path and plain_name(name) in BODY_COLUMNS):
                continue
            body = decode_body(item)
            item = body.value if body is not None else None
        if isinstance(item, dict):
            yield (*path, name), item
            inner.append(((*path, name), item))
    for below, item in inner:
        yield from _nested_objects(item, below)
