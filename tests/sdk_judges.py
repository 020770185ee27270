"""The types of all three official SDKs as judges of written payloads, by the name of the format."""

import json

from anthropic.types import Message, MessageCreateParams
from google.genai import types
from pydantic import TypeAdapter

import openai_sdk

_ANTHROPIC_REQUEST = TypeAdapter(MessageCreateParams)


def accept_request(name, payload):
    """Fail unless the SDK of a format takes a request."""
    if name == "anthropic":
        _ANTHROPIC_REQUEST.validate_python({"stream": False, **payload})
    elif name == "gemini":
        types.GenerationConfig.model_validate_json(json.dumps(payload.get("generationConfig", {})))
        beside = {field: payload[field] for field in ("store", "serviceTier") if field in payload}
        types.GenerateContentConfig.model_validate_json(json.dumps(beside))
    else:
        openai_sdk.accept(name.replace("openai-", "") + " request", payload)


def accept_response(name, payload):
    """Fail unless the SDK of a format takes a response."""
    if name == "anthropic":
        Message.model_validate(payload, strict=True)
    elif name == "gemini":
        types.GenerateContentResponse.model_validate_json(json.dumps(payload))
    else:
        openai_sdk.accept(name.replace("openai-", "") + " response", payload)
