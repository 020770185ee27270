"""A document that breaks the schema, made fit for rules: what the schema refused is left out, so that it is told once.

Messages keep their places. What a rule could say of the part that is left out would be about the fault, not about the
conversation.
"""

from collections.abc import Iterable
from typing import Any

from palaver.model.rules import Path
from palaver.model.timestamps import is_canonical

Json = dict[str, Any]

_UNKNOWN_TIME = "2020-01-01T00:00:00.000Z"
_NEEDED = {"text": "text", "tool_use": "id", "tool_result": "tool_use_id"}
_NO_BLOCK: Json = {"type": "opaque", "kind": "invalid", "raw": None}


def tidied(document: Json, faulty: Iterable[Path]) -> Json:
    """A copy of what the schema did not refuse, with stand-ins that no rule speaks of."""
    odd_fields = {path[0] for path in faulty if path}
    odd_messages = {path[1] for path in faulty if len(path) > 1 and path[0] == "messages"}
    kept = {name: value for name, value in document.items() if name == "messages" or name not in odd_fields}
    platform: Any = document.get("platform")
    name = platform.get("name") if isinstance(platform, dict) else None
    created_at = _time(document.get("created_at"), _UNKNOWN_TIME)
    kept |= {"platform": {"name": name if isinstance(name, str) else ""}, "created_at": created_at}
    messages: Any = document.get("messages")
    kept["messages"] = tidy = list[Json]()
    time = created_at
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        tidy.append(_tidied(message, index, time) if index in odd_messages else message)
        time = tidy[-1]["timestamp"]
    if "fragment" in odd_fields:
        kept["fragment"] = {"sequence": 0, "final": True}  # links may lead anywhere
    return kept


def _tidied(message: Any, index: int, time: str) -> Json:
    stated: Json = message if isinstance(message, dict) else {}
    message_id, role, metadata = stated.get("message_id"), stated.get("role"), stated.get("metadata")
    parent, content = stated.get("parent_message_id"), stated.get("content")
    return {
        "message_id": message_id if isinstance(message_id, str) and message_id else f"\0{index}",
        "parent_message_id": parent if isinstance(parent, str) else None,
        "role": role if role in {"assistant", "system", "tool", "function"} else "user",
        "timestamp": _time(stated.get("timestamp"), time),
        "content": [_block(block) for block in content] if isinstance(content, list) and content else [_NO_BLOCK],
        "metadata": metadata if isinstance(metadata, dict) else {},
    }


def _block(block: Any) -> Json:
    match block:
        case {"type": str(kind)} if isinstance(block.get(_NEEDED.get(kind, "type")), str):
            return block if isinstance(block.get("metadata", {}), dict) else {**block, "metadata": None}
        case _:
            return _NO_BLOCK


def _time(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) and is_canonical(value) else otherwise
