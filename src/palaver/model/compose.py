"""Builders for API requests and exchanges, as plain documents.

    request = compose.request("claude-sonnet-4-5", max_output_tokens=4096)
    compose.set_system(request, "You are helpful")
    compose.add_message(request, "user", "Hello")
    compose.add_message_blocks(request, "assistant", [build.thinking("Let me think…"), build.text("Hello!")])
    compose.set_thinking(request, "high", include_summary=True)
    compose.add_tool(request, "read_file", "Read file contents", parameters)

Like `build`, these functions do not check values: the published schema validates the finished document.
"""

from typing import Any, Literal

from palaver.model import EXCHANGE_SCHEMA_VERSION, build
from palaver.model.build import JsonObject

Role = Literal["user", "assistant", "tool"]
Level = Literal["none", "low", "med", "high"]

PROVIDER_DEFAULT = -1
"""As `max_output_tokens`, the default of the provider; a request says so by leaving the field out."""


def request(model: str, *, max_output_tokens: int = PROVIDER_DEFAULT) -> JsonObject:
    """Build a request without messages."""
    request: JsonObject = {"model": model, "messages": []}
    set_max_output_tokens(request, max_output_tokens)
    return request


def set_max_output_tokens(request: JsonObject, max_output_tokens: int = PROVIDER_DEFAULT) -> None:
    """Limit the answer to a number of tokens; -1 removes the limit."""
    if max_output_tokens == PROVIDER_DEFAULT:
        request.pop("max_output_tokens", None)
    else:
        request["max_output_tokens"] = max_output_tokens


def set_system(request: JsonObject, system: str | list[JsonObject]) -> None:
    """Set the system prompt: a text, or a list of blocks."""
    request["system"] = [build.text(system)] if isinstance(system, str) else system


def add_message(request: JsonObject, role: Role, text: str) -> None:
    """Add a message that is one text."""
    add_message_blocks(request, role, [build.text(text)])


def add_message_blocks(request: JsonObject, role: Role, blocks: list[JsonObject]) -> None:
    """Add a message of several blocks."""
    _list_of(request, "messages").append({"role": role, "content": blocks})


def set_thinking(request: JsonObject, level: Level, *, include_summary: bool = False) -> None:
    """Ask the model to reason, and whether the answer is to hold a summary of it."""
    request["thinking"] = {"level": level, "include_summary": include_summary}


def add_tool(request: JsonObject, name: str, description: str, parameters: JsonObject, *, strict: bool = True) -> None:
    """Add a tool; `parameters` is the JSON Schema of its input."""
    tool = {"name": name, "description": description, "parameters": parameters, "strict": strict}
    _list_of(request, "tools").append(tool)


def _list_of(request: JsonObject, name: str) -> list[JsonObject]:
    given: Any = request
    if not isinstance(given, dict):
        raise TypeError(f"a request is an object, not a value of type {type(given).__name__}")
    return request.setdefault(name, [])


def exchange(
    exchange_id: str,
    request: JsonObject,
    response: JsonObject | None = None,
    *,
    provider: str | None = None,
    error: JsonObject | None = None,
    started_at: str | None = None,
    duration_ms: float | None = None,
) -> JsonObject:
    """Build an exchange; unknown fields are left out."""
    document: JsonObject = {"schema_version": EXCHANGE_SCHEMA_VERSION, "exchange_id": exchange_id}
    for name, value in (("provider", provider), ("started_at", started_at), ("duration_ms", duration_ms)):
        if value is not None:
            document[name] = value
    document |= {"request": request, "response": response}
    if error is not None:
        document["error"] = error
    return document
