"""Exchanges as a format of their own: read with a check against the published schema, and written whole.

A request, alone or with its response, is written as an exchange document. A response without its request is written as
the `response` of one. Bare messages are written as the `messages` of one. All four are read.
"""

from functools import lru_cache, partial
from typing import Any

from palaver.errors import ContentError, VersionError
from palaver.model import EXCHANGE_SCHEMA_VERSION, compose
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.model.schemas import published_schema
from palaver.model.upgrade import upgrade_exchange
from palaver.threads.chain import canonical_json
from palaver.validation.schema import is_valid, schema_errors
from palaver.wire import Loss
from palaver.workflows.convert.parts import UNKNOWN_MODEL, Converted, Parts

_MINIMAL_REQUEST: JsonObject = {"model": UNKNOWN_MODEL, "messages": []}
_FRAME = ("exchange_id", "started_at", "duration_ms", "error")


def read_exchange(value: JsonObject) -> Parts:
    """Read an exchange document, or the request or the response of one."""
    if "request" in value or "schema_version" in value:
        _refuse_unknown_version(value.get("schema_version"))
        _check(value, "")
        value = upgrade_exchange(value)
        frame = {name: value[name] for name in _FRAME if value.get(name) is not None}
        provider = value.get("provider") or ""
        if frame["exchange_id"] == _exchange_id(value["request"], value["response"], provider):
            del frame["exchange_id"]  # made by an earlier conversion
        pointers = {"request": "/request", "response": "/response"}
        request = _without_default(value["request"])
        return Parts(request, value["response"], provider=provider, frame=frame, pointers=pointers)
    if "finish_reason" in value:
        _check(_document(_MINIMAL_REQUEST, value), "/response")
        return Parts(response=value)
    if "messages" in value:
        _check(_document(value), "/request")
        return Parts(_without_default(value))
    raise ContentError("not an exchange, request, response or message")


def _refuse_unknown_version(version: Any) -> None:
    if not isinstance(version, str):
        raise VersionError("the exchange has no schema_version; `palaver schema exchange` prints the schema")
    _published(version)


_published = lru_cache(partial(published_schema, "exchange"))


def check_messages(messages: list[Any]) -> None:
    _check(_document({"model": UNKNOWN_MODEL, "messages": messages}), "/request/messages")


def write_exchange(parts: Parts) -> Converted:
    if parts.shape != "whole":
        messages = (parts.request or {})["messages"]
        check_messages(messages)
        return Converted(messages if parts.shape == "messages" else messages[0], [])
    if parts.request is None:
        response = parts.response or {}
        _check(_document(_MINIMAL_REQUEST, response), "/response")
        return Converted(response, [])
    losses: list[Loss] = []
    request, response = parts.request, parts.response
    if "model" not in request:
        request = {**request, "model": UNKNOWN_MODEL}
        made_up = Loss("/model", "an exchange requires a model, but the payload has none", "changed")
        losses += parts.located("request", [made_up])
    exchange_id = _exchange_id(request, response, parts.provider)
    exchange = compose.exchange(exchange_id, request, response, provider=parts.provider or None) | parts.frame
    _check(exchange, "")
    return Converted(exchange, losses)


def _document(request: JsonObject, response: JsonObject | None = None) -> JsonObject:
    return compose.exchange("-", request, response)


def _exchange_id(request: JsonObject, response: JsonObject | None, provider: str) -> str:
    return deterministic_uuid(f"exchange-{canonical_json([provider, request, response]).decode()}")


def _without_default(request: JsonObject) -> JsonObject:
    if request.get("max_output_tokens") != compose.PROVIDER_DEFAULT:
        return request
    return {key: value for key, value in request.items() if key != "max_output_tokens"}


def _check(document: JsonObject, part: str) -> None:
    """Raise if a document is not valid; `part` is the pointer to what was given, of which the rest was made up."""
    try:
        if is_valid(document, "exchange"):
            return
    except ValueError:
        pass  # nested too deeply: the error below says so
    error = next(schema_errors(document, "exchange"))
    where = error.pointer.removeprefix(part) or "/"
    raise ContentError(f"not an exchange of version {EXCHANGE_SCHEMA_VERSION}: {where}: {error.message}")
