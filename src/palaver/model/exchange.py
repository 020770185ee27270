"""The exchange: one request to a model's API with its response, in a form that fits every provider.

These models are the only definition of the format; the files in `schema/exchange/` are generated from them. What a rule
in `palaver.validation.rules.exchange` checks is not constrained here, so that it is reported once, and in a sentence.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from palaver.model import EXCHANGE_SCHEMA_VERSION
from palaver.model.blocks import Amount, Block, Count, OpenMap, OpenModel, WholeNumber
from palaver.model.conversation import Identifier, Timestamp, Version

ThinkingLevel = Literal["none", "low", "med", "high"]
FinishReason = Literal["stop", "length", "tool_use", "content_filter", "error", "unknown"]
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]

_PROVIDER_DATA = "What only this provider knows, kept as it is: signatures, its own words for things, further settings."


class ThinkingConfig(OpenModel):
    """How much the model is asked to reason."""

    level: ThinkingLevel = Field(
        description="Share of the greatest budget: none or the least, a third, two thirds, all."
    )
    include_summary: bool = Field(
        default=False, description="The response is to hold a summary of the reasoning; false when absent."
    )


class ToolDefinition(OpenModel):
    """A tool that the model may call."""

    name: Identifier = Field(description="What a tool_use block names.")
    description: str | None = Field(default=None, description="What it is for, in words for the model.")
    parameters: OpenMap = Field(description="JSON Schema of its input.")
    strict: bool = Field(
        default=True, description="The model's input must follow `parameters` exactly; true when absent."
    )


class SpecificTool(OpenModel):
    """The model must call one tool."""

    type: Literal["specific"] = Field(description="Tells the choices apart.")
    name: Identifier = Field(description="The tool's name.")


class GeneralChoice(OpenModel):
    """The model decides, calls no tool, or calls at least one."""

    type: Literal["auto", "none", "required"] = Field(description="Tells the choices apart.")


class OutputFormat(OpenModel):
    """What the text of the answer must look like."""

    type: Literal["text", "json", "json_schema"] = Field(
        description="Free text, any JSON object, or JSON that follows `json_schema`."
    )
    name: str | None = Field(default=None, description="What the schema is called.")
    description: str | None = Field(default=None, description="What the schema is for, in words for the model.")
    json_schema: OpenMap | None = Field(default=None, description="JSON Schema of the answer.")
    strict: bool | None = Field(default=None, description="The answer must follow the schema exactly.")


class Sampling(OpenModel):
    """How the next token is chosen; the provider's defaults where absent."""

    temperature: Amount | None = Field(default=None, description="0 for the likeliest, larger for more variety.")
    top_p: Amount | None = Field(default=None, description="Only tokens up to this share of probability.")
    top_k: Count | None = Field(default=None, description="Only this many of the likeliest tokens.")
    stop_sequences: list[str] | None = Field(default=None, description="Texts at which the answer ends.")
    seed: WholeNumber | None = Field(default=None, description="For answers that can be repeated.")
    presence_penalty: Number | None = Field(
        default=None, description="Above 0, tokens that occurred before become less likely."
    )
    frequency_penalty: Number | None = Field(
        default=None, description="Above 0, tokens become less likely the more often they occurred before."
    )


class ExchangeMessage(OpenModel):
    """One turn of the history that was sent."""

    role: Literal["user", "assistant", "tool"] = Field(
        description="Results of tools come from `tool` or, with some providers, from `user`."
    )
    content: list[Block] = Field(description="What was said and done, in order.")
    provider: str | None = Field(default=None, description="The provider whose model wrote it.")
    model: str | None = Field(default=None, description="The model that wrote it.")
    thinking: ThinkingLevel | None = Field(default=None, description="How much that model was asked to reason.")
    provider_data: OpenMap | None = Field(default=None, description=_PROVIDER_DATA)


class ExchangeRequest(OpenModel):
    """What was sent to the provider."""

    system: list[Block] | None = Field(default=None, description="The system prompt, apart from the messages.")
    messages: list[ExchangeMessage] = Field(description="The history, the newest last; at least one, the user's first.")
    model: Identifier = Field(description="The model that was asked for, by the provider's own id.")
    thinking: ThinkingConfig | None = Field(default=None, description="How much the model is asked to reason.")
    tools: list[ToolDefinition] | None = Field(default=None, description="Tools that the model may call.")
    tool_choice: SpecificTool | GeneralChoice | None = Field(
        default=None, description="Which of the tools; the model decides when absent."
    )
    max_output_tokens: WholeNumber | None = Field(
        default=None, description="Where the answer is cut off, above 0; the provider's default when absent or -1."
    )
    sampling: Sampling | None = Field(default=None, description="How the next token is chosen.")
    output_format: OutputFormat | None = Field(default=None, description="What the answer must look like.")
    parallel_tool_calls: bool | None = Field(
        default=None, description="Whether the model may call several tools in one answer."
    )
    answer_count: Count | None = Field(default=None, description="How many answers are asked for; 1 when absent.")
    logprobs: bool | None = Field(default=None, description="Whether the probability of each token is asked for.")
    top_logprobs: Count | None = Field(
        default=None, description="For how many of the likeliest tokens the probability is asked for."
    )
    user: str | None = Field(default=None, description="The end user on whose behalf the request was made.")
    metadata: OpenMap | None = Field(default=None, description="Labels that the caller attached to the request.")
    store: bool | None = Field(default=None, description="Whether the provider is asked to keep the exchange.")
    service_tier: str | None = Field(default=None, description="The processing tier that was asked for.")
    stream: bool | None = Field(default=None, description="Whether the answer was asked for as a stream.")
    provider_data: OpenMap | None = Field(default=None, description=_PROVIDER_DATA)


class ExchangeUsage(OpenModel):
    """Token usage of the call; null where the provider does not say."""

    input_tokens: Count | None = Field(
        default=None,
        description="Tokens of the request, those read from the cache and written to it included; before 1.1.0 this "
        "depended on the provider.",
    )
    output_tokens: Count | None = Field(
        default=None, description="Tokens of the answer, without thinking where the provider reports that apart."
    )
    thinking_tokens: Count | None = Field(default=None, description="Tokens spent on reasoning, if reported apart.")
    cached_tokens: Count | None = Field(default=None, description="Of the input, tokens read from the cache.")
    cache_write_tokens: Count | None = Field(default=None, description="Of the input, tokens written to the cache.")
    total_tokens: Count | None = Field(default=None, description="The provider's own total.")
    provider_data: OpenMap | None = Field(default=None, description=_PROVIDER_DATA)


class AlternativeAnswer(OpenModel):
    """A further answer to the same request."""

    index: Count = Field(description="The provider's number of the answer; the first one has 0.")
    content: list[Block] = Field(description="The answer, in order.")
    finish_reason: FinishReason = Field(description="Why the model stopped.")
    provider_data: OpenMap | None = Field(default=None, description=_PROVIDER_DATA)


class ExchangeResponse(OpenModel):
    """What the provider sent back."""

    content: list[Block] = Field(description="The answer, in order; at least one block, unless an error ended it.")
    finish_reason: FinishReason = Field(
        description="Why the model stopped; the provider's own word is kept in `provider_data`."
    )
    alternatives: list[AlternativeAnswer] | None = Field(
        default=None, description="Further answers, if several were asked for, by `index`."
    )
    response_id: str | None = Field(default=None, description="The provider's id of the answer.")
    created_at: Timestamp | None = Field(default=None, description="When the provider made the answer, UTC.")
    service_tier: str | None = Field(default=None, description="The processing tier that answered.")
    usage: ExchangeUsage | None = Field(default=None, description="Token usage of the call.")
    model: str | None = Field(default=None, description="The model that answered; may differ from the one asked for.")
    provider_data: OpenMap | None = Field(default=None, description=_PROVIDER_DATA)


class ExchangeError(OpenModel):
    """Why there is no answer, or only a part of one."""

    category: Identifier = Field(
        description="Kind of error, the same word for every provider: auth, rate_limit, invalid_arg, not_found, "
        "server, timeout, content_filter, network or unknown; further ones are allowed."
    )
    message: str = Field(description="The provider's own words.")
    status: WholeNumber | None = Field(default=None, description="HTTP status, where there was one.")
    retry_after_ms: Amount | None = Field(default=None, description="How long the provider asks to wait.")
    provider_data: OpenMap | None = Field(default=None, description=_PROVIDER_DATA)


class Exchange(OpenModel):
    """One request to a model's API with its response, whatever the provider."""

    SCHEMA_VERSION: ClassVar[str] = EXCHANGE_SCHEMA_VERSION

    schema_version: Version = Field(description="Version of this schema that the document follows.")
    exchange_id: Identifier = Field(description="Unique within the source; the provider's request id where known.")
    provider: str | None = Field(
        default=None,
        description="Who was asked, such as openai, anthropic, google or azure; in 1.0.0 decides how usage adds up.",
    )
    started_at: Timestamp | None = Field(default=None, description="When the request was sent, UTC.")
    duration_ms: Amount | None = Field(default=None, description="From the request to the end of the response.")
    request: ExchangeRequest = Field(description="What was sent.")
    response: ExchangeResponse | None = Field(description="What came back; null when nothing did.")
    error: ExchangeError | None = Field(default=None, description="What went wrong, if anything did.")
