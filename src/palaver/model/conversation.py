"""The Unified Conversation Schema: a conversation, its messages and their context.

These models are the only definition of the format; the files in `schema/conversation/` are generated from them.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from palaver.model import SCHEMA_VERSION
from palaver.model.blocks import Amount, Block, Count, OpenMap, OpenModel
from palaver.model.timestamps import TIMESTAMP_PATTERN

__all__ = [
    "SCHEMA_VERSION",
    "CacheCreation",
    "Context",
    "Conversation",
    "Cost",
    "Environment",
    "Fragment",
    "Message",
    "MessageMetadata",
    "Metrics",
    "Platform",
    "Rating",
    "Session",
    "Summary",
    "Tokens",
    "TotalTokens",
    "Workspace",
]

# Python's `$` also matches before a final newline, unlike other engines': this, or a maximum length, makes them agree.
_NO_NEWLINE: dict[str, Any] = {"not": {"pattern": "\\n"}}

Timestamp = Annotated[str, Field(pattern=TIMESTAMP_PATTERN, max_length=24)]
Version = Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$", max_length=32, json_schema_extra=_NO_NEWLINE)]
PlatformName = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$", json_schema_extra=_NO_NEWLINE)]
Identifier = Annotated[str, Field(min_length=1)]
Score = Annotated[
    Annotated[int, Field(ge=0, le=5)] | Annotated[float, Field(ge=0, le=5)],
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 5}),
]


class Platform(OpenModel):
    """The program or service that held the conversation."""

    name: PlatformName = Field(description="Name in snake case, such as claude_code; the importer's name.")
    version: str | None = Field(default=None, description="Version of the program, or of the API that was called.")
    model: str | None = Field(
        default=None, description="The model that answered; where it changed, messages say so themselves."
    )
    metadata: OpenMap | None = Field(default=None, description="Fields of the platform that have no place elsewhere.")


class Session(OpenModel):
    """How the conversation hangs together with others."""

    session_id: str | None = Field(default=None, description="The platform's own id of the session.")
    parent_conversation_id: str | None = Field(
        default=None, description="The conversation this one was forked, resumed or started from."
    )
    fork_point: str | None = Field(default=None, description="The message of the parent at which this one begins.")
    is_sidechain: bool | None = Field(
        default=None, description="True for a conversation between a model and its agent."
    )


class Workspace(OpenModel):
    """The folder the conversation was about."""

    path: str | None = Field(default=None, description="Working folder, in the spelling of the machine it was on.")
    git_branch: str | None = Field(default=None, description="Branch at the start.")
    git_commit: str | None = Field(default=None, description="Commit at the start.")


class Environment(OpenModel):
    """The machine and tools around the conversation."""

    os: str | None = Field(default=None, description="Operating system.")
    shell: str | None = Field(default=None, description="Command shell.")
    editor: str | None = Field(default=None, description="Editor or IDE.")
    language: str | None = Field(default=None, description="Programming language in use.")


class Context(OpenModel):
    """Where the conversation took place."""

    workspace: Workspace | None = Field(default=None, description="The folder it was about.")
    environment: Environment | None = Field(default=None, description="The machine and tools around it.")
    custom: OpenMap | None = Field(default=None, description="Context that only this platform knows.")


class CacheCreation(OpenModel):
    """Cache writes by how long they are kept."""

    ephemeral_5m_input_tokens: Count | None = Field(default=None, description="Written for five minutes.")
    ephemeral_1h_input_tokens: Count | None = Field(default=None, description="Written for one hour.")


class Tokens(OpenModel):
    """Token usage of one API call, in the provider's own numbers; null where the source says null."""

    input_tokens: Count | None = Field(
        default=None, description="Whether this includes cached tokens depends on the provider."
    )
    output_tokens: Count | None = Field(
        default=None, description="Whether this includes thinking depends on the provider."
    )
    cache_creation_input_tokens: Count | None = Field(default=None, description="Input tokens written to the cache.")
    cache_read_input_tokens: Count | None = Field(default=None, description="Input tokens read from the cache.")
    cache_creation: CacheCreation | None = Field(default=None, description="The cache writes, by lifetime.")
    thinking_tokens: Count | None = Field(default=None, description="Output tokens spent on reasoning.")
    service_tier: str | None = Field(default=None, description="Service tier that was billed, in the provider's word.")


class Cost(OpenModel):
    """Money, as the source itself stated it."""

    amount: Amount = Field(description="Amount in whole units of the currency, not cents.")
    currency: str | None = Field(default=None, description="ISO 4217 code; USD when absent.")


class MessageMetadata(OpenModel):
    """What is known about a message beside its content: the keys below, and every unmapped field of the source."""

    author_kind: Literal["human", "model", "tool", "harness"] | None = Field(
        default=None,
        description="Who really wrote it: most messages of role user were typed by no person. "
        "`harness` is the program around the model: reminders, command output, injected context.",
    )
    user_type: str | None = Field(default=None, description="The platform's word for the kind of user.")
    model_override: str | None = Field(
        default=None, description="The model of this message; may differ from the platform's."
    )
    request_id: str | None = Field(default=None, description="The provider's id of the API request.")
    api_message_id: str | None = Field(
        default=None, description="The provider's id of the answer; equal in every copy, so usage is counted once."
    )
    source_ids: list[str] | None = Field(
        default=None, description="Ids of all source records that were joined into this message."
    )
    stop_reason: str | None = Field(default=None, description="Why the model stopped, in the provider's word.")
    hidden: bool | None = Field(default=None, description="The platform does not show this message to its user.")
    on_active_path: bool | None = Field(
        default=None, description="False on branches left behind by an edit or a second try."
    )
    timestamp_inferred: bool | None = Field(
        default=None, description="The source has no time here: it is the nearest known one."
    )
    parent_inferred: bool | None = Field(
        default=None, description="The source's parent link was missing or led nowhere."
    )
    known_from: Literal["request", "history"] | None = Field(
        default=None,
        description="How a message of an API log is known, where not at first hand: it stood as new in a `request`, or "
        "only in the `history` that a later request carried. Of two accounts of a message, the first hand counts most.",
    )
    context_incomplete: bool | None = Field(
        default=None, description="Earlier messages were pruned or compacted, so references may lead nowhere."
    )
    tokens_partial: bool | None = Field(default=None, description="Usage was recorded before the answer was complete.")
    estimated_tokens: Count | OpenMap | None = Field(
        default=None, description="Tokens as guessed by the platform; never counted as usage."
    )
    accepted: bool | None = Field(default=None, description="The user took the suggested completion.")
    completion_index: Count | None = Field(default=None, description="Which of several suggestions this is, from 0.")
    duration_ms: Amount | None = Field(default=None, description="How long the answer took.")
    edit_count: Count | None = Field(default=None, description="How often the user edited the message.")
    queued: bool | None = Field(default=None, description="Typed while the model was still working.")
    is_compact_summary: bool | None = Field(
        default=None, description="A summary that replaced earlier messages in the model's context."
    )
    agent_id: str | None = Field(default=None, description="The agent that wrote the message.")
    sidechain_conversation_ids: list[str] | None = Field(
        default=None, description="Conversations of the agents that this message started."
    )


class Message(OpenModel):
    """One turn, in one role."""

    message_id: Identifier = Field(
        description="Unique within the conversation; the platform's own id where it has one."
    )
    parent_message_id: str | None = Field(
        default=None, description="The message this one follows; siblings are branches of the conversation."
    )
    role: Literal["user", "assistant", "system", "tool", "function"] = Field(
        description="The source's own role; `metadata.author_kind` tells who really wrote it."
    )
    timestamp: Timestamp = Field(
        description="UTC with milliseconds; not necessarily in order, see `metadata.timestamp_inferred`."
    )
    content: list[Block] = Field(min_length=1, description="What was said and done, in order.")
    tokens: Tokens | None = Field(default=None, description="Usage of the API call that made this message.")
    cost: Cost | None = Field(default=None, description="Cost as stated by the source; never computed.")
    metadata: MessageMetadata | None = Field(default=None, description="Everything else known about the message.")


class Summary(OpenModel):
    """A summary of the conversation or of a part of it."""

    summary_id: Identifier = Field(description="Unique within the conversation.")
    type: Literal["automatic", "user_generated", "system"] = Field(description="Who wrote it.")
    text: str = Field(description="The summary itself.")
    timestamp: Timestamp = Field(description="When it was written, UTC.")
    covers_messages: list[str] | None = Field(default=None, description="Ids of the messages it stands for.")


class TotalTokens(OpenModel):
    """Sums over all messages."""

    input: Count | None = Field(default=None, description="Input tokens.")
    output: Count | None = Field(default=None, description="Output tokens.")
    cache_read: Count | None = Field(default=None, description="Tokens read from the cache.")
    cache_write: Count | None = Field(default=None, description="Tokens written to the cache.")
    thinking: Count | None = Field(default=None, description="Tokens spent on reasoning.")


class Metrics(OpenModel):
    """Figures computed from the messages, in the same way for every platform."""

    total_messages: Count | None = Field(default=None, description="Number of messages, branches included.")
    total_tokens: TotalTokens | None = Field(default=None, description="Sums of the messages' tokens.")
    total_cost: Cost | None = Field(default=None, description="Sum of the costs that the source stated.")
    tool_calls: Count | None = Field(default=None, description="Number of tool_use blocks.")
    duration_ms: Count | None = Field(default=None, description="From the earliest message to the latest.")


class Rating(OpenModel):
    """What the user thought of it."""

    score: Score | None = Field(default=None, description="From 0 to 5.")
    feedback: str | None = Field(default=None, description="The user's words.")
    rated_at: Timestamp | None = Field(default=None, description="When, UTC.")


class Fragment(OpenModel):
    """The place of this document among the pieces of one conversation."""

    sequence: Count = Field(description="Position among the pieces, from 0.")
    final: bool = Field(description="True on the last piece, which carries the metrics of the whole.")
    start: Count | None = Field(
        default=None, description="Position of its first message in the whole conversation, from 0."
    )


class Conversation(OpenModel):
    """A conversation with an AI assistant, whatever the platform it was held on."""

    schema_version: Version = Field(description="Version of this schema that the document follows.")
    conversation_id: Identifier = Field(
        description="The platform's own id where it has one, else a version 5 UUID; unique within the platform."
    )
    title: str | None = Field(default=None, description="As shown to the user.")
    platform: Platform = Field(description="Where the conversation was held.")
    session: Session | None = Field(default=None, description="How it hangs together with others.")
    context: Context | None = Field(default=None, description="Where it took place.")
    created_at: Timestamp = Field(description="When it began, UTC.")
    updated_at: Timestamp | None = Field(default=None, description="When it last changed, UTC.")
    status: Literal["active", "completed", "archived", "error"] | None = Field(
        default=None, description="Its state, where the platform knows one."
    )
    messages: list[Message] = Field(description="In the order of the source, branches included.")
    summaries: list[Summary] | None = Field(default=None, description="Summaries written along the way.")
    metrics: Metrics | None = Field(default=None, description="Figures computed from the messages.")
    tags: list[str] | None = Field(default=None, description="Labels given by the user or the platform.")
    rating: Rating | None = Field(default=None, description="What the user thought of it.")
    fragment: Fragment | None = Field(
        default=None, description="Present only when the conversation comes as several documents with one id."
    )

    def __repr__(self) -> str:
        title = "" if self.title is None else f" {self.title!r}"
        amount = f"{len(self.messages):,} message{'s' * (len(self.messages) != 1)}"
        return f"<Conversation {self.platform.name} {self.conversation_id}{title}: {amount}>"
