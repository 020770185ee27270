"""The types of all three official SDKs as judges of payloads: every list is looked into, every field must be known."""

import json
from functools import cache
from typing import Any

from anthropic.types import Message, MessageCreateParams
from google.genai import types
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParams
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator


class _GeminiRequest(BaseModel):
    """The body of `generateContent`, which the SDK puts together of these types."""

    model_config = ConfigDict(extra="forbid")

    model: str = ""
    contents: list[types.Content]
    system_instruction: types.Content | None = Field(None, alias="systemInstruction")
    tools: list[types.Tool] | None = None
    tool_config: types.ToolConfig | None = Field(None, alias="toolConfig")
    generation_config: types.GenerationConfig | None = Field(None, alias="generationConfig")
    service_tier: types.ServiceTier | None = Field(None, alias="serviceTier")
    store: bool | None = None


_TYPES = {
    "openai-chat request": CompletionCreateParams,
    "openai-chat response": ChatCompletion,
    "openai-responses request": ResponseCreateParams,
    "openai-responses response": Response,
    "anthropic request": MessageCreateParams,
    "anthropic response": Message,
    "gemini request": _GeminiRequest,
    "gemini response": types.GenerateContentResponse,
}
_UNTYPED = ("temperature", "top_p", "top_k")
"""Settings that Anthropic takes, though not with its newest models, so that the types leave them out."""


def accept(kind: str, payload: Any, *, is_closed: bool = True) -> None:
    """Fail unless the SDK's type takes the payload; an open one may have further fields."""
    assert (refusal := refusal_of(kind, payload, is_closed=is_closed)) == "", f"{refusal}\nin this {kind}: {payload}"


def is_accepted(kind: str, payload: Any, *, is_closed: bool = True) -> bool:
    return not refusal_of(kind, payload, is_closed=is_closed)


def refusal_of(kind: str, payload: Any, *, is_closed: bool = True) -> str:
    """Say why the SDK's type refuses a payload; empty if it takes it."""
    if kind == "anthropic request":
        payload = {"stream": False, **{key: value for key, value in payload.items() if key not in _UNTYPED}}
    try:
        # Gemini's types take a time as a text only if they are not strict.
        _judge(kind, is_closed).validate_json(json.dumps(payload), strict=not kind.startswith("gemini"))
    except ValidationError as error:
        return str(error)
    return ""


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
