"""Repair of invalid documents and usage records without loss: each invalid value moves elsewhere, with a finding.

Importers pass values through as they found them; a source may state a negative token count, or a number where text
belongs. Such a value moves to `invalid_fields` in the nearest metadata; an invalid block becomes an `opaque` one. A
usage record that cannot be repaired is quarantined.
"""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.damage import BIG_INTEGER, is_big_integer
from palaver.sources.run import Run
from palaver.validation.schema import SchemaError, all_valid, is_valid, schema_errors

INVALID_VALUE = finding_kind(
    "invalid-value", "warning", "A value of the wrong kind was moved to the metadata under `invalid_fields`."
)
INVALID_MESSAGE = finding_kind(
    "invalid-message", "warning", "A message could not be made valid; it is kept as an opaque block."
)
INVALID_DOCUMENT = finding_kind(
    "invalid-document", "error", "A conversation could not be made valid and was not written."
)
FLATTENED = finding_kind("flattened", "warning", "A value nested too deeply to be written is kept as JSON text.")
INVALID_USAGE = finding_kind(
    "invalid-usage-record", "error", "A usage record could not be made valid and was not kept."
)

Note = Callable[[FindingKind, str, str], None]

_MAX_ROUNDS = 8
_MAX_DEPTH = 100


def repair_document(document: JsonObject, note: Note) -> JsonObject | None:
    """Move invalid values out of the way, round by round; return None if the document stays invalid."""
    for _ in range(_MAX_ROUNDS):
        if is_valid(document):
            return document
        for error in list(schema_errors(document)):
            _move_invalid_value(document, error, note)
    for index, message in enumerate(document.get("messages") or ()):
        if not is_valid({**document, "messages": [message]}):
            document["messages"][index] = _opaque_message(message, document["created_at"])
            note(INVALID_MESSAGE, f"/messages/{index}", "")
    return document if is_valid(document) else None


def _move_invalid_value(document: JsonObject, error: SchemaError, note: Note) -> None:
    match error.path:
        case ("messages", int(index), "content", int(block), *_):
            content = document["messages"][index]["content"]
            raw = content[block]
            if isinstance(raw, dict) and raw.get("type") == "opaque":
                return
            kind = raw.get("type") if isinstance(raw, dict) else None
            content[block] = build.opaque(kind=kind if isinstance(kind, str) and kind else "block", raw=raw)
            note(INVALID_VALUE, error.pointer, error.message)
        case ("messages", int(index), *path) if path and isinstance(document["messages"][index], dict):
            message = document["messages"][index]
            if path[0] in {"tokens", "cost", "parent_message_id", "metadata"}:
                move_to_invalid_fields(message, error, message, note, len(error.path) - len(path))
        case (str(top), *_) if top not in {"schema_version", "conversation_id", "created_at", "messages"}:
            move_to_invalid_fields(document, error, document["platform"], note)
        case _:
            pass


def move_to_invalid_fields(
    holder: JsonObject, error: SchemaError, owner: JsonObject, note: Note, above: int = 0
) -> None:
    """Move an invalid value from `holder`, which is `above` steps down in the document, to the metadata of `owner`."""
    path = list(error.path[above:])
    own = ["metadata"] if owner is holder else ["platform", "metadata"]
    metadata = owner.get("metadata")
    if not isinstance(metadata, dict):
        owner["metadata"] = {} if metadata is None else {"invalid_fields": {"/".join(own): metadata}}
    if path == own or _move(holder, path, owner["metadata"]):
        note(INVALID_VALUE, error.pointer, error.message)


def _move(holder: JsonObject, path: list[str | int], metadata: JsonObject) -> bool:
    """Move the value at a path to `invalid_fields` of the metadata; return whether there was one."""
    node: Any = holder
    for part in path[:-1]:
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            return False  # already moved with another invalid value
    key: Any = path[-1]
    if (isinstance(node, list) and key < len(node)) or (isinstance(node, dict) and key in node):
        value = node.pop(key)
    elif len(path) > 1:
        return _move(holder, path[:-1], metadata)  # a required part is missing: move the whole
    else:
        return False
    moved = metadata.get("invalid_fields")
    if not isinstance(moved, dict):
        moved = metadata["invalid_fields"] = {} if moved is None else {"invalid_fields": moved}
    name = "/".join(str(part) for part in path)
    while name in moved:  # an earlier repair may have used the name
        name += "_"
    moved[name] = value
    return True


def _opaque_message(message: Any, created_at: str) -> JsonObject:
    message_id = message.get("message_id") if isinstance(message, dict) else None
    return build.message(
        message_id=message_id if isinstance(message_id, str) and message_id else "invalid",
        role="system",
        timestamp=created_at,
        content=[build.opaque(kind="message", raw=message)],
        metadata={"author_kind": "harness", "timestamp_inferred": True},
    )


def make_serializable(document: JsonObject, note: Note) -> None:
    """Replace what the writer refuses: values nested too deeply by JSON text, integers past 64 bits by their digits."""
    parts: list[tuple[str, Any, Any]] = [(f"/{key}", document, key) for key in document if key != "messages"]
    messages = document.get("messages", ())
    parts += [(f"/messages/{index}", messages, index) for index in range(len(messages))]
    for where, holder, key in parts:
        try:
            orjson.dumps(holder[key])
        except TypeError:
            wrapper = [holder[key]]
            flattened, spelled = _replace_unwritable(wrapper)
            holder[key] = wrapper[0]
            if flattened:
                note(FLATTENED, where, f"{flattened} values")
            if spelled:
                note(BIG_INTEGER, where, f"{spelled} integers")


def _replace_unwritable(root: Any) -> tuple[int, int]:
    flattened = spelled = 0
    stack: list[tuple[Any, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        pairs = list(node.items() if isinstance(node, dict) else enumerate(node))
        for key, value in pairs:
            if isinstance(value, dict | list):
                if depth > _MAX_DEPTH:
                    node[key] = _json_text(value)
                    flattened += 1
                else:
                    stack.append((value, depth + 1))
            elif is_big_integer(value):
                node[key] = str(value)
                spelled += 1
    return flattened, spelled


def _json_text(value: Any) -> str:
    """Encode a value as JSON without recursion: the standard encoders fail at this depth."""
    pieces: list[str] = []
    stack: list[Any] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, _Literal):
            pieces.append(node)
        elif isinstance(node, dict):
            items: list[Any] = [_Literal("{")]
            for position, (key, item) in enumerate(node.items()):
                items += [_Literal("," if position else ""), _Literal(orjson.dumps(key).decode() + ":"), item]
            stack.extend(reversed([*items, _Literal("}")]))
        elif isinstance(node, list):
            items = [_Literal("[")]
            for position, item in enumerate(node):
                items += [_Literal("," if position else ""), item]
            stack.extend(reversed([*items, _Literal("]")]))
        else:
            pieces.append(str(node) if is_big_integer(node) else orjson.dumps(node).decode())
    return "".join(pieces)


class _Literal(str):
    """Text that is JSON already."""

    __slots__ = ()


_REQUIRED = ("schema_version", "usage_id", "kind", "started_at")


def deliver_usage_records(records: Sequence[JsonObject], run: Run, take: Callable[[JsonObject], Any]) -> int:
    """Pass each valid or repaired record to `take`, which encodes and stores it; return their number.

    Records that cannot be repaired are quarantined.
    """
    delivered = 0
    are_all_valid = _all_records_valid(records)
    for record in records:
        try:
            if not are_all_valid and not is_valid(record, "usage"):
                raise ValueError  # noqa: TRY301 - one path for every invalid record
            take(record)
        except (TypeError, ValueError):  # it is invalid, or cannot be written
            if not _repair_or_quarantine(record, run):
                continue
            take(record)
        delivered += 1
    return delivered


def _all_records_valid(records: Sequence[JsonObject]) -> bool:
    try:
        return all_valid(records, "usage")
    except (TypeError, ValueError):  # one is nested too deeply, or not Unicode
        return False


def _repair_or_quarantine(record: JsonObject, run: Run) -> bool:
    """Make a record valid and serializable; return False if it had to be quarantined."""
    make_serializable(record, run.note)
    if _repair_usage_record(record, run.note):
        return True
    error = next(schema_errors(record, "usage"))
    problem = f"{error.pointer}: {error.message}"
    run.quarantine_bytes(INVALID_USAGE, orjson.dumps(record), "a usage record", problem)
    return False


def _repair_usage_record(record: JsonObject, note: Note) -> bool:
    """Move invalid values to the metadata, round by round; return whether the record is valid now."""
    for _ in range(_MAX_ROUNDS):
        if is_valid(record, "usage"):
            return True
        for error in list(schema_errors(record, "usage")):
            if error.path and error.path[0] not in _REQUIRED and error.path != ("platform", "name"):
                move_to_invalid_fields(record, error, record, note)
    return is_valid(record, "usage")
