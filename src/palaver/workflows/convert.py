"""Convert payloads between the formats of providers, by way of the exchange, and to and from conversation documents.

A value is a request, a response, or a pair `{"request": …, "response": …}`; a recorded stream counts as its response.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from palaver.errors import ContentError, OptionError
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.model.upgrade import upgrade
from palaver.streams import assemble
from palaver.validation.schema import is_valid, schema_errors
from palaver.wire import formats, wire_format
from palaver.wire._contract import Loss, Written

UCS = "ucs"
DIALECTS = ("api", "seed")
_RESPONSE_KEYS = {
    "openai-chat": ("choices",),
    "openai-responses": ("output",),
    "anthropic": ("stop_reason",),
    "gemini": ("candidates", "promptFeedback", "prompt_feedback"),
}
_REQUEST_KEYS = {
    "openai-chat": ("messages",),
    "openai-responses": ("input", "instructions", "prompt", "previous_response_id"),
    "anthropic": ("messages",),
    "gemini": ("contents",),
}


class Converted(NamedTuple):
    payload: JsonObject
    losses: list[Loss]


def format_names() -> list[str]:
    """Return the names of all formats that can be converted from and to."""
    return [*formats(), UCS]


def stream_payload(body: bytes, source: str) -> tuple[JsonObject, list[str]]:
    """Assemble a recorded stream into a response, and return it with the issues found."""
    if source == UCS:
        raise ContentError("a stream of events is no conversation document")
    made = assemble(source.replace("-", "_"), body)
    return made.payload, [f"{issue.type}: {issue.detail}" for issue in made.issues]


def convert(value: Any, source: str, target: str, *, dialect: str = "api", time: str = "") -> Converted:
    """Convert a value to another format, and list what is lost; a conversation's messages get the given `time`."""
    if not isinstance(value, dict):
        raise ContentError(f"a payload is an object, not {type(value).__name__}")
    parts = _read(value, source)
    losses = list(parts.losses)
    if target == UCS:
        return Converted(_conversation_document(parts, time), losses + _request_losses(parts))
    made: JsonObject = {}
    for name, part in (("request", parts.request), ("response", parts.response)):
        if part is not None:
            payload, lost = _write_part(part, name, target, dialect)
            made[name] = payload
            prefix = f"/{name}" if parts.is_pair else ""
            losses += [loss._replace(pointer=prefix + loss.pointer) for loss in lost]
    return Converted(made if parts.is_pair else next(iter(made.values())), losses)


class _Parts(NamedTuple):
    request: JsonObject | None
    response: JsonObject | None
    provider: str
    losses: Iterable[Loss] = ()

    @property
    def is_pair(self) -> bool:
        return self.request is not None and self.response is not None


def _read(value: JsonObject, source: str) -> _Parts:
    if source == UCS:
        request, losses = _request_from_document(value)
        return _Parts(request, None, "", losses)
    wire = wire_format(source)
    keys = value.keys()
    if not keys.isdisjoint(_RESPONSE_KEYS[source]):
        return _Parts(None, wire.response_from_wire(value), wire.provider)
    if not keys.isdisjoint(_REQUEST_KEYS[source]):
        return _Parts(wire.request_from_wire(value), None, wire.provider)
    match value:
        case {"request": dict() as request, **rest}:
            response = rest.get("response")
            read_response = wire.response_from_wire(response) if isinstance(response, dict) else None
            return _Parts(wire.request_from_wire(request), read_response, wire.provider)
        case _:
            pass
    if (error := wire.error_from_wire(value)) is not None:
        raise ContentError(f"this is an error of the provider ({error['category']}): {error['message']}")
    raise ContentError(f"this is neither a request nor a response of {source}")


def _write_part(part: JsonObject, name: str, target: str, dialect: str) -> Written:
    wire = wire_format(target)
    write: Callable[..., Written] = wire.request_to_wire if name == "request" else wire.response_to_wire
    if dialect == DIALECTS[0] or (target, name) == ("openai-chat", "request"):
        return write(part)
    if target not in {"openai-chat", "openai-responses"}:
        raise OptionError(f"--dialect {dialect} is one of OpenAI's formats, not of {target}")
    return write(part, dialect=dialect)


_CARRIED_FIELDS = {"message_id", "role", "content"}
_HEADER_FIELDS = ("title", "session", "context", "summaries", "metrics", "tags", "rating", "created_at", "updated_at")


def _request_from_document(document: JsonObject) -> tuple[JsonObject, list[Loss]]:
    """Convert a conversation's active path to the request that would continue it, as far as APIs can express it."""
    document = upgrade(document)
    if not is_valid(document):
        error = next(schema_errors(document))
        raise ContentError(f"no conversation document: {error.pointer or '/'}: {error.message}")
    losses: list[Loss] = []
    request: JsonObject = {"model": document["platform"].get("model") or "unknown", "messages": []}
    for index, message in enumerate(document["messages"]):
        where = f"/messages/{index}"
        if (message.get("metadata") or {}).get("on_active_path") is False:
            losses.append(Loss(where, "it is on a branch that was left behind"))
            continue
        content = [
            _code_as_text(block, f"{where}/content/{number}", losses) for number, block in enumerate(message["content"])
        ]
        role = message["role"]
        if role == "system" and not request["messages"]:
            request.setdefault("system", []).extend(content)
        elif role == "system":
            losses.append(Loss(f"{where}/role", "a request has its system prompt in front", "changed"))
            request["messages"].append({"role": "user", "content": content})
        else:
            request_role = "tool" if role == "function" else role
            if request_role != role:
                losses.append(Loss(f"{where}/role", f"{role} became {request_role}", "changed"))
            request["messages"].append({"role": request_role, "content": content})
    return request, [*losses, *_document_losses(document)]


def _code_as_text(block: JsonObject, where: str, losses: list[Loss]) -> JsonObject:
    if block["type"] != "code":
        return block
    losses.append(Loss(where, "code became text between fences", "changed"))
    return build.text(f"```{block.get('language') or ''}\n{block['code']}\n```")


def _document_losses(document: JsonObject) -> list[Loss]:
    """List the fields that no API can carry, each once, at its first occurrence."""
    losses = [
        Loss(f"/{name}", "a request has no place for it") for name in _HEADER_FIELDS if document.get(name) is not None
    ]
    first: dict[str, tuple[int, int]] = {}
    for index, message in enumerate(document["messages"]):
        for name, value in message.items():
            if name not in _CARRIED_FIELDS and value is not None:
                where, count = first.get(name, (index, 0))
                first[name] = where, count + 1
    for name, (index, count) in first.items():
        others = f" (here and in {count - 1:,} other messages)" if count > 1 else ""
        losses.append(Loss(f"/messages/{index}/{name}", f"a request has no place for it{others}"))
    return losses


def _conversation_document(parts: _Parts, time: str) -> JsonObject:
    """Convert a request with its response to a conversation; neither has times, so every message gets the given one."""
    request = parts.request or {"messages": [], "model": None}
    turns: list[tuple[str, list[JsonObject], JsonObject]] = []
    if system := request.get("system"):
        turns.append(("system", system, {"author_kind": "harness"}))
    turns += [(message["role"], message["content"], _message_metadata(message)) for message in request["messages"]]
    if parts.response is not None:
        answer = {"role": "assistant", **parts.response}
        turns.append(("assistant", parts.response["content"], _message_metadata(answer)))
    model = (parts.response or {}).get("model") or request["model"]
    name = _PLATFORMS.get(parts.provider, parts.provider or "other")
    identity = deterministic_uuid(f"{name}-{turns!r}")
    messages: list[JsonObject] = []
    for number, (role, content, metadata) in enumerate(turns):
        made = build.message(
            message_id=f"{identity}-{number}",
            role=_ROLES[role],
            timestamp=time,
            content=content or [build.text("")],
            metadata={**metadata, "timestamp_inferred": True},
        )
        messages.append(made)
    if parts.response is not None and (tokens := _tokens(parts.response.get("usage"))):
        messages[-1]["tokens"] = tokens
    platform: JsonObject = {"name": name}
    if model:
        platform["model"] = model
    return build.conversation(conversation_id=identity, platform=platform, created_at=time, messages=messages)


_PLATFORMS = {"openai": "openai_api", "anthropic": "anthropic_api", "google": "gemini_api"}
_ROLES: dict[str, build.Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def _message_metadata(message: JsonObject) -> JsonObject:
    kinds = {"user": "human", "assistant": "model", "tool": "tool"}
    is_result = any(block["type"] == "tool_result" for block in message["content"])
    metadata: JsonObject = {"author_kind": "tool" if is_result else kinds[message["role"]]}
    for name, target in (
        ("provider_data", "provider_data"),
        ("finish_reason", "stop_reason"),
        ("model", "model_override"),
    ):
        if message.get(name) is not None:
            metadata[target] = message[name]
    return metadata


def _tokens(usage: JsonObject | None) -> JsonObject:
    """Return the token counts under the names of conversation documents."""
    names = {
        "input_tokens": "input_tokens",
        "output_tokens": "output_tokens",
        "thinking_tokens": "thinking_tokens",
        "cached_tokens": "cache_read_input_tokens",
        "total_tokens": "total_tokens",
    }
    return {names[name]: value for name, value in (usage or {}).items() if name in names and value is not None}


def _request_losses(parts: _Parts) -> list[Loss]:
    """List the settings of a request, which a conversation document cannot carry."""
    request = parts.request or {}
    prefix = "/request" if parts.is_pair else ""
    return [
        Loss(f"{prefix}/{name}", "a conversation document has no place for it")
        for name in ("thinking", "tools", "tool_choice", "max_output_tokens", "sampling", "provider_data")
        if name in request
    ]
