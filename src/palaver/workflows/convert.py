"""Payloads of one provider as those of another, through the exchange; and conversations as requests, and back.

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


def names() -> list[str]:
    """Everything that can be converted from and to."""
    return [*formats(), UCS]


def stream_payload(body: bytes, source: str) -> tuple[JsonObject, list[str]]:
    """The response that a recorded stream adds up to, and what was odd about it."""
    if source == UCS:
        raise ContentError("a stream of events is no conversation document")
    made = assemble(source.replace("-", "_"), body)
    return made.payload, [f"{issue.type}: {issue.detail}" for issue in made.issues]


def convert(value: Any, source: str, target: str, *, dialect: str = "api", time: str = "") -> Converted:
    """A value in another format, with everything that is lost; `time` stands where a conversation needs one."""
    if not isinstance(value, dict):
        raise ContentError(f"a payload is an object, not {type(value).__name__}")
    parts = _read(value, source)
    losses = list(parts.losses)
    if target == UCS:
        return Converted(_conversation(parts, time), losses + _unkept(parts))
    made: JsonObject = {}
    for name, part in (("request", parts.request), ("response", parts.response)):
        if part is not None:
            payload, lost = _written(part, name, target, dialect)
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
        request, losses = _request_of(value)
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
            answered = wire.response_from_wire(response) if isinstance(response, dict) else None
            return _Parts(wire.request_from_wire(request), answered, wire.provider)
        case _:
            pass
    if (error := wire.error_from_wire(value)) is not None:
        raise ContentError(f"this is an error of the provider ({error['category']}): {error['message']}")
    raise ContentError(f"this is neither a request nor a response of {source}")


def _written(part: JsonObject, name: str, target: str, dialect: str) -> Written:
    wire = wire_format(target)
    write: Callable[..., Written] = wire.request_to_wire if name == "request" else wire.response_to_wire
    if dialect == DIALECTS[0] or (target, name) == ("openai-chat", "request"):
        return write(part)
    if target not in {"openai-chat", "openai-responses"}:
        raise OptionError(f"--dialect {dialect} is one of OpenAI's formats, not of {target}")
    return write(part, dialect=dialect)


# -- conversations --------------------------------------------------------------------------------------------------

_CARRIED = {"message_id", "role", "content"}
_HEADER = ("title", "session", "context", "summaries", "metrics", "tags", "rating", "created_at", "updated_at")


def _request_of(document: JsonObject) -> tuple[JsonObject, list[Loss]]:
    """A conversation as the request that would continue it: what was shown last, as far as APIs have a place for it."""
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
            _plain(block, f"{where}/content/{number}", losses) for number, block in enumerate(message["content"])
        ]
        role = message["role"]
        if role == "system" and not request["messages"]:
            request.setdefault("system", []).extend(content)
        elif role == "system":
            losses.append(Loss(f"{where}/role", "a request has its system prompt in front", "changed"))
            request["messages"].append({"role": "user", "content": content})
        else:
            told = "tool" if role == "function" else role
            if told != role:
                losses.append(Loss(f"{where}/role", f"{role} became {told}", "changed"))
            request["messages"].append({"role": told, "content": content})
    return request, [*losses, *_left_out(document)]


def _plain(block: JsonObject, where: str, losses: list[Loss]) -> JsonObject:
    if block["type"] != "code":
        return block
    losses.append(Loss(where, "code became text between fences", "changed"))
    return build.text(f"```{block.get('language') or ''}\n{block['code']}\n```")


def _left_out(document: JsonObject) -> list[Loss]:
    """What no API has a place for, each kind told once, where it stands first."""
    losses = [Loss(f"/{name}", "a request has no place for it") for name in _HEADER if document.get(name) is not None]
    first: dict[str, tuple[int, int]] = {}
    for index, message in enumerate(document["messages"]):
        for name, value in message.items():
            if name not in _CARRIED and value is not None:
                where, count = first.get(name, (index, 0))
                first[name] = where, count + 1
    for name, (index, count) in first.items():
        others = f" (here and in {count - 1:,} other messages)" if count > 1 else ""
        losses.append(Loss(f"/messages/{index}/{name}", f"a request has no place for it{others}"))
    return losses


def _conversation(parts: _Parts, time: str) -> JsonObject:
    """A request with its answer as a conversation; it has no times of its own, so all have the given one."""
    request = parts.request or {"messages": [], "model": None}
    said: list[tuple[str, list[JsonObject], JsonObject]] = []
    if system := request.get("system"):
        said.append(("system", system, {"author_kind": "harness"}))
    said += [(one["role"], one["content"], _about(one)) for one in request["messages"]]
    if parts.response is not None:
        answer = {"role": "assistant", **parts.response}
        said.append(("assistant", parts.response["content"], _about(answer)))
    model = (parts.response or {}).get("model") or request["model"]
    name = _PLATFORMS.get(parts.provider, parts.provider or "other")
    identity = deterministic_uuid(f"{name}-{said!r}")
    messages: list[JsonObject] = []
    for number, (role, content, metadata) in enumerate(said):
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


def _about(message: JsonObject) -> JsonObject:
    kinds = {"user": "human", "assistant": "model", "tool": "tool"}
    is_result = any(block["type"] == "tool_result" for block in message["content"])
    about: JsonObject = {"author_kind": "tool" if is_result else kinds[message["role"]]}
    for name, kept in (
        ("provider_data", "provider_data"),
        ("finish_reason", "stop_reason"),
        ("model", "model_override"),
    ):
        if message.get(name) is not None:
            about[kept] = message[name]
    return about


def _tokens(usage: JsonObject | None) -> JsonObject:
    """Counts in the conversation's words."""
    names = {
        "input_tokens": "input_tokens",
        "output_tokens": "output_tokens",
        "thinking_tokens": "thinking_tokens",
        "cached_tokens": "cache_read_input_tokens",
        "total_tokens": "total_tokens",
    }
    return {names[name]: value for name, value in (usage or {}).items() if name in names and value is not None}


def _unkept(parts: _Parts) -> list[Loss]:
    """What a conversation does not say of a request: its settings."""
    request = parts.request or {}
    prefix = "/request" if parts.is_pair else ""
    return [
        Loss(f"{prefix}/{name}", "a conversation document has no place for it")
        for name in ("thinking", "tools", "tool_choice", "max_output_tokens", "sampling", "provider_data")
        if name in request
    ]
