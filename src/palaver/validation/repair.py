"""Making a document valid without losing anything: what breaks the schema is set aside inside it, with a finding.

Importers pass values through as they found them; a source may state a negative token count or a text that is a number.
Such a value moves to `invalid_fields` of the metadata next to it, an odd block is kept whole as an `opaque` one.
"""

from collections.abc import Callable
from typing import Any

import orjson

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.damage import BIG_INTEGER, is_big
from palaver.validation.schema import SchemaError, is_valid, schema_errors

INVALID_VALUE = finding_kind(
    "invalid-value", "warning", "A value of the wrong kind was moved to the metadata under `invalid_fields`."
)
INVALID_MESSAGE = finding_kind(
    "invalid-message", "warning", "A message could not be made valid; it is kept whole as an opaque block."
)
INVALID_DOCUMENT = finding_kind(
    "invalid-document", "error", "A conversation could not be made valid and was not written."
)
FLATTENED = finding_kind("flattened", "warning", "A value nested too deeply to be written is kept as JSON text.")

Note = Callable[[FindingKind, str, str], None]

_ROUNDS = 8
_DEEPEST = 100


def repaired(document: JsonObject, note: Note) -> JsonObject | None:
    """Set aside what is invalid, round by round; None when that does not help."""
    for _ in range(_ROUNDS):
        if is_valid(document):
            return document
        for error in list(schema_errors(document)):
            _set_aside(document, error, note)
    for index, message in enumerate(document.get("messages") or ()):
        if not is_valid({**document, "messages": [message]}):
            document["messages"][index] = _wrapped(message, document["created_at"])
            note(INVALID_MESSAGE, f"/messages/{index}", "")
    return document if is_valid(document) else None


def _set_aside(document: JsonObject, error: SchemaError, note: Note) -> None:
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
                moved(message, error, message, note, len(error.path) - len(path))
        case (str(top), *_) if top not in {"schema_version", "conversation_id", "created_at", "messages"}:
            moved(document, error, document["platform"], note)
        case _:
            pass


def moved(holder: JsonObject, error: SchemaError, keeper: JsonObject, note: Note, above: int = 0) -> None:
    """Move what is wrong somewhere in `holder`, which stands `above` steps down, to the metadata of `keeper`."""
    path = list(error.path[above:])
    own = ["metadata"] if keeper is holder else ["platform", "metadata"]
    odd = keeper.get("metadata")
    if not isinstance(odd, dict):
        keeper["metadata"] = {} if odd is None else {"invalid_fields": {"/".join(own): odd}}
    if path == own or _move(holder, path, keeper["metadata"]):
        note(INVALID_VALUE, error.pointer, error.message)


def _move(holder: JsonObject, path: list[str | int], metadata: JsonObject) -> bool:
    """Take the value at a path out of its place and keep it in the metadata."""
    node: Any = holder
    for part in path[:-1]:
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            return False  # it went with another value that was wrong
    place: Any = path[-1]
    if (isinstance(node, list) and place < len(node)) or (isinstance(node, dict) and place in node):
        value = node.pop(place)
    elif len(path) > 1:
        return _move(holder, path[:-1], metadata)  # a required part is missing: the whole moves
    else:
        return False
    moved = metadata.get("invalid_fields")
    if not isinstance(moved, dict):
        moved = metadata["invalid_fields"] = {} if moved is None else {"invalid_fields": moved}
    name = "/".join(str(part) for part in path)
    while name in moved:  # a document that was repaired before may hold another one
        name += "_"
    moved[name] = value
    return True


def _wrapped(message: Any, created_at: str) -> JsonObject:
    message_id = message.get("message_id") if isinstance(message, dict) else None
    return build.message(
        message_id=message_id if isinstance(message_id, str) and message_id else "invalid",
        role="system",
        timestamp=created_at,
        content=[build.opaque(kind="message", raw=message)],
        metadata={"author_kind": "harness", "timestamp_inferred": True},
    )


def made_writable(document: JsonObject, note: Note) -> None:
    """Change what the writer refuses: text for values nested too deeply, digits for integers past 64 bits."""
    parts: list[tuple[str, Any, Any]] = [(f"/{key}", document, key) for key in document if key != "messages"]
    messages = document.get("messages", ())
    parts += [(f"/messages/{index}", messages, index) for index in range(len(messages))]
    for where, holder, key in parts:
        try:
            orjson.dumps(holder[key])
        except TypeError:
            around = [holder[key]]
            flattened, spelled = _rewrite(around)
            holder[key] = around[0]
            if flattened:
                note(FLATTENED, where, f"{flattened} values")
            if spelled:
                note(BIG_INTEGER, where, f"{spelled} integers")


def _rewrite(root: Any) -> tuple[int, int]:
    flattened = spelled = 0
    stack: list[tuple[Any, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        pairs = list(node.items() if isinstance(node, dict) else enumerate(node))
        for key, value in pairs:
            if isinstance(value, dict | list):
                if depth > _DEEPEST:
                    node[key] = _as_text(value)
                    flattened += 1
                else:
                    stack.append((value, depth + 1))
            elif is_big(value):
                node[key] = str(value)
                spelled += 1
    return flattened, spelled


def _as_text(value: Any) -> str:
    """JSON text without recursion: the standard writer stops at the depth that brought us here."""
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
            pieces.append(str(node) if is_big(node) else orjson.dumps(node).decode())
    return "".join(pieces)


class _Literal(str):
    """Text that is already JSON."""

    __slots__ = ()
