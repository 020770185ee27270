"""The cooked file: exchanges split into messages and tools stored once each, and requests that refer to them.

These models are the only definition of the format; the files in `schema/cooked/` are generated from them. They are
closed, because viewers of cooked files rely on every key. References are plain strings: the rules in
`palaver.validation.rules.cooked` report dangling ones.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from palaver.model.blocks import Count, OpenMap

# Python's `$` also matches before a final newline, unlike other engines'.
_NO_NEWLINE: dict[str, Any] = {"not": {"pattern": "\\n"}}

MessageId = Annotated[str, Field(pattern="^m[0-9]+$", json_schema_extra=_NO_NEWLINE)]
ToolId = Annotated[str, Field(pattern="^t[0-9]+$", json_schema_extra=_NO_NEWLINE)]


class ClosedModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CookedCall(ClosedModel):
    """A model's call of a tool."""

    name: str = Field(description="The tool's name, as the model called it.")
    arguments: OpenMap = Field(description="Arguments by name, parsed.")
    id: str | None = Field(default=None, description="What the matching tool_result names.")


class CookedMessage(ClosedModel):
    """One piece of a conversation, in one role; the same piece of several requests stands once."""

    id: MessageId = Field(description="m0, m1 and so on, in the order of first appearance.")
    role: Literal["system", "user", "assistant", "tool_use", "tool_result", "thinking"] = Field(
        description="Who speaks, and how: calls of tools, their results and reasoning have roles of their own."
    )
    content: str = Field(description="The text; empty for calls of tools without words, `[image]` for a picture.")
    tool_calls: list[CookedCall] | None = Field(description="The calls of a tool_use, null for every other role.")
    tool_use_id: str | None = Field(description="The id of the call that a tool_result answers, null for other roles.")
    is_error: bool | None = Field(description="Whether the tool of a tool_result failed, null for other roles.")


class CookedTool(ClosedModel):
    """A tool that requests offered to the model; the same definition stands once."""

    id: ToolId = Field(description="t0, t1 and so on, in the order of first appearance.")
    name: str = Field(description="What a call names.")
    description: str = Field(description="What it is for, in words for the model.")
    parameters: OpenMap = Field(description="JSON Schema of its arguments.")


class CookedRequest(ClosedModel):
    """One request with its response, told by references."""

    id: str = Field(min_length=1, description="The id of the exchange.")
    parent_id: str | None = Field(description="The request that this one continues; null where a conversation begins.")
    timestamp: Count = Field(description="When it was sent, in milliseconds since 1970; 0 when unknown.")
    request_messages: list[str] = Field(description="Ids of the messages that were sent, in order.")
    response_messages: list[str] = Field(description="Ids of the messages that came back, in order.")
    model: str = Field(description="The model that was asked for.")
    tools: list[str] = Field(description="Ids of the tools that were offered.")
    duration_ms: Count = Field(description="From the request to the end of the response.")


class Cooked(ClosedModel):
    """Requests to models as a tree, over messages and tools that stand once each."""

    SCHEMA_VERSION: ClassVar[str] = "1.0.0"

    messages: list[CookedMessage] = Field(description="Every distinct message.")
    tools: list[CookedTool] = Field(description="Every distinct tool.")
    requests: list[CookedRequest] = Field(description="Every request, in the order of the source.")
