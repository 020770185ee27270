"""Attributes of spans: their names, plain values from every encoding, masks for secrets, and token counts."""

import re
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.redact.policy import MASK, harmless_headers
from palaver.redact.text import mask_addresses, mask_pairs

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
SYSTEM, TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
REASONING, USER_REQUEST = "copilot_chat.reasoning_content", "copilot_chat.user_request"
CONTENT = frozenset({INPUT, OUTPUT, SYSTEM, TOOLS, ARGUMENTS, RESULT, REASONING, USER_REQUEST})
"""Attributes with the content of conversations, which is never masked."""
OPERATION, CONVERSATION = "gen_ai.operation.name", "gen_ai.conversation.id"


_SECRET_NAME = re.compile(
    r"(?:^|[._-])(?:(?:proxy[._-]?)?authorization|(?:set[._-]?)?cookies?|(?:api|access|private|client)[._-]?(?:key|secret)|"
    r"(?:access|auth|bearer|id|refresh|session|github|copilot)[._-]?token|token|secret|passw(?:or)?d|credentials?)$",
    re.IGNORECASE,
)
_SECRET_ENDING = re.compile(r"(?:authorization|cookie|api[_-]?key|secret|password|token|credential)s?$", re.IGNORECASE)
_MAX_MASKED_DEPTH = 8


def mask_attributes(attributes: JsonObject) -> JsonObject:
    """Mask secrets in attributes; the content of conversations is left alone."""
    return {name: value if name in CONTENT else mask_attribute(name, value) for name, value in attributes.items()}


def mask_attribute(name: str, value: Any, depth: int = 0) -> Any:
    match value:
        case str() if _is_secret(name):
            return MASK
        case str():
            text = mask_addresses(value)
            return text if not text or harmless_headers({"user-agent": text}) else MASK
        case list() | dict() if depth > _MAX_MASKED_DEPTH:
            return MASK
        case list():
            return [mask_attribute(name, item, depth + 1) for item in cast("list[Any]", value)]
        case dict():
            return {key: mask_attribute(key, item, depth + 1) for key, item in cast("JsonObject", value).items()}
        case _:
            return value


def mask_record(text: str) -> str:
    """Mask secret attributes, and credentials in addresses, in the text of a possibly damaged record."""
    return mask_addresses(mask_pairs(text, _ends_like_secret))


def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _ends_like_secret(name: str) -> bool:
    """Return whether to mask a name of a damaged record, which need not be an attribute: any word that ends so."""
    return _SECRET_ENDING.search(name) is not None or _is_secret(name)


_MAX_DEPTH = 32


def parse_attributes(listed: Any) -> tuple[JsonObject, list[Any]]:
    """Return OTLP's list of keys and values as an object, and the entries that could not be read."""
    if isinstance(listed, dict):
        return cast("JsonObject", listed), []
    if not isinstance(listed, list):
        return {}, [] if listed is None else [listed]
    found: JsonObject = {}
    unread: list[Any] = []
    for entry in cast("list[Any]", listed):
        match entry:
            case {"key": str(key), "value": dict(value)} if key not in found:
                found[key] = plain_value(value)
            case _:
                unread.append(entry)
    return found, unread


def plain_value(value: JsonObject, depth: int = 0) -> Any:
    """Return the value wrapped in an OTLP value; any other object is returned unchanged."""
    if len(value) != 1 or depth > _MAX_DEPTH:
        return value
    match value:
        case {"stringValue": str() as plain} | {"boolValue": bool() as plain} | {"doubleValue": float() as plain}:
            return plain
        case {"intValue": int() as plain}:
            return plain
        case {"intValue": str(digits)} if digits.removeprefix("-").isascii() and digits.removeprefix("-").isdigit():
            return int(digits) if len(digits) < 19 else digits
        case {"arrayValue": {"values": list(values)}}:
            return [plain_value(item, depth + 1) if isinstance(item, dict) else item for item in values]
        case {"kvlistValue": {"values": list(values)}}:
            if all(isinstance(item, dict) and isinstance(item.get("key"), str) for item in values):
                return {
                    item["key"]: plain_value(held, depth + 1) if isinstance(held := item.get("value"), dict) else held
                    for item in values
                }
            return value
        case _:
            return value


def plain_attributes(attributes: JsonObject) -> JsonObject:
    """Unwrap the values of attributes that are an object already, which some writers wrap all the same."""
    return {name: plain_value(value) if isinstance(value, dict) else value for name, value in attributes.items()}


def resource_attributes(resource: Any) -> JsonObject:
    """Return the masked attributes of a resource; JavaScript objects hold them under other names, as pairs."""
    if not isinstance(resource, dict):
        return {}
    for name in ("attributes", "_attributes", "_memoizedAttributes", "_rawAttributes"):
        match resource.get(name):
            case [{"key": _}, *_] as listed:
                return mask_attributes(parse_attributes(listed)[0])
            case [[_, _], *_] as pairs:
                return mask_attributes({pair[0]: pair[1] for pair in pairs if _is_pair(pair)})
            case {**held} if held:
                return mask_attributes(held)
            case _:
                pass
    return {}


def _is_pair(pair: Any) -> bool:
    match pair:
        case [str(), str() | int() | float() | bool() | list()]:
            return True
        case _:
            return False


_TOKEN_NAMES = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cache_read_input_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_creation_input_tokens",
    "gen_ai.usage.cache_write.input_tokens": "cache_creation_input_tokens",
    "gen_ai.usage.reasoning_tokens": "thinking_tokens",
    "gen_ai.usage.reasoning.output_tokens": "thinking_tokens",
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cachedTokens": "cache_read_input_tokens",
}


def token_counts(attributes: JsonObject) -> JsonObject:
    """Return token counts under the names of a message's `tokens`."""
    found: JsonObject = {}
    for theirs, ours in _TOKEN_NAMES.items():
        count = attributes.get(theirs)
        if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 19:
            count = int(count)
        if isinstance(count, float) and count.is_integer() and count < 1 << 53:
            count = int(count)
        if type(count) is int and 0 <= count < 1 << 63:
            found.setdefault(ours, count)
    return found


def is_token_count(name: str) -> bool:
    return name in _TOKEN_NAMES
