"""The official SDK's types as judges of payloads: every list is looked into, and every field must be a known one."""

from functools import cache
from typing import Any

from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParams
from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

_TYPES = {
    "chat request": CompletionCreateParams,
    "chat response": ChatCompletion,
    "responses request": ResponseCreateParams,
    "responses response": Response,
}


def accept(kind: str, payload: Any, *, is_closed: bool = True) -> None:
    """Fail unless the SDK's type takes the payload; an open one may have further fields."""
    assert is_accepted(kind, payload, is_closed=is_closed), f"the SDK refuses this {kind}: {payload}"


def is_accepted(kind: str, payload: Any, *, is_closed: bool = True) -> bool:
    return _judge(kind, is_closed).isinstance_python(payload)


@cache
def _judge(kind: str, is_closed: bool) -> SchemaValidator:
    judge = TypeAdapter(_TYPES[kind])
    judge.rebuild(force=True)
    return SchemaValidator(_exact(judge.core_schema, is_closed))


def _exact(schema: Any, is_closed: bool) -> Any:
    """The schema with lists for iterables, which are judged only as they are walked; if closed, without extras."""
    match schema:
        case {"type": "generator", **rest}:
            return {"type": "list", **_exact(rest, is_closed)}
        case {"type": "typed-dict" | "model-fields", **rest} if is_closed:
            rest.pop("extras_schema", None)
            config = {**rest.pop("config", {}), "extra_fields_behavior": "forbid"}
            closed = {"extra_behavior": "forbid", **({"config": config} if schema["type"] == "typed-dict" else {})}
            return {**_exact(rest, is_closed), "type": schema["type"], **closed}
        case {"type": "model", "config": config, **rest} if is_closed:
            closed = {**config, "extra_fields_behavior": "forbid"}
            return {**_exact(rest, is_closed), "type": "model", "config": closed}
        case dict():
            return {key: _exact(value, is_closed) for key, value in schema.items()}
        case list():
            return [_exact(value, is_closed) for value in schema]
        case tuple():
            return tuple(_exact(value, is_closed) for value in schema)
        case _:
            return schema
