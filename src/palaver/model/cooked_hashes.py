"""Hashes of cooked messages and tools: 16 hexadecimal digits over the canonical JSON of everything but the id."""

import hashlib
import json

from palaver.model.build import JsonObject

MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_use_id", "is_error")
TOOL_FIELDS = ("name", "description", "parameters")


def message_hash(message: JsonObject) -> str:
    return _hash({name: message[name] for name in MESSAGE_FIELDS})


def tool_hash(tool: JsonObject) -> str:
    return _hash({name: tool[name] for name in TOOL_FIELDS})


def _hash(fields: JsonObject) -> str:
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
