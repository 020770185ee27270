"""What makes a cooked message or tool itself, whatever its id: 16 hexadecimal digits over its canonical JSON."""

import hashlib
import json
from typing import Any

Json = dict[str, Any]

MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_use_id", "is_error")
TOOL_FIELDS = ("name", "description", "parameters")


def message_hash(message: Json) -> str:
    return _hash({name: message[name] for name in MESSAGE_FIELDS})


def tool_hash(tool: Json) -> str:
    return _hash({name: tool[name] for name in TOOL_FIELDS})


def _hash(facts: Json) -> str:
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
