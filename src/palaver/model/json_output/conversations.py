"""Output of `list`, `show` and `search`."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from palaver.model.blocks import Amount, Count
from palaver.model.conversation import Conversation, Message, Score
from palaver.model.json_output.answer import Answer, Part


class CountedTokens(Part):
    """Token counts, in which an answer stored more than once is counted once."""

    input: Count = Field(description="Input tokens.")
    output: Count = Field(description="Output tokens.")
    cache_read: Count = Field(description="Tokens read from the cache.")
    cache_write: Count = Field(description="Tokens written to the cache.")
    thinking: Count = Field(description="Tokens spent on reasoning, where the source states them separately.")


class GivenRating(Part):
    """The user's rating of a conversation."""

    score: Score | None = Field(description="From 0 to 5.")
    feedback: str | None = Field(description="The comment given with the rating.")
    rated_at: str = Field(description="When, UTC.")


class ListedConversation(Part):
    """A conversation at a glance."""

    conversation_id: str = Field(description="Its id on its platform.")
    short_id: str = Field(description="The id to pass to `palaver show`: at most ten characters.")
    platform: str = Field(description="Id of the platform.")
    title: str = Field(description="Its title, or else its first words, or `(empty)`. Never an empty string.")
    has_title: bool = Field(description="Whether the source states a title.")
    project: str | None = Field(description="The folder it is about.")
    model: str | None = Field(description="The model that answered.")
    created_at: str = Field(description="When it began, UTC.")
    updated_at: str | None = Field(description="When it last changed, UTC.")
    is_undated: bool = Field(description="Whether no message states a time, so that its times are guesses.")
    status: str | None = Field(description="Its status, where the platform has one.")
    messages: Count = Field(description="Number of messages, branches included.")
    human_messages: Count = Field(description="Number of messages that a person wrote.")
    tokens: CountedTokens | None = Field(description="Token counts; null where the source states none.")
    tags: list[str] = Field(description="Tags from the source and tags added by the user.")
    rating: GivenRating | None = Field(description="The user's rating.")
    is_sidechain: bool = Field(
        description="Whether it is an agent's conversation, or belongs to another conversation in another way."
    )
    parent: str | None = Field(description="Id of the conversation that it was forked, resumed or started from.")
    agents: Count = Field(description="Number of agents it started.")
    sources: list[str] = Field(description="The files it was imported from.")


class ListAnswer(Answer):
    """Conversations of the archive, in order."""

    SCHEMA_VERSION: ClassVar[str] = "1.2.0"

    conversations: list[ListedConversation] = Field(description="The conversations shown.")
    total: Count = Field(description="Number of conversations that match.")
    shown: Count = Field(description="Number of conversations shown.")
    hidden_agents: Count = Field(
        description="Number of agents that match too and are shown with `--agents`; not in the total."
    )
    hidden_recordings: Count = Field(
        description="Number of recorded conversations that match too and are shown with `--recorded`; not in the total."
    )


class MessagePlace(Part):
    """A message of the archive."""

    platform: str = Field(description="The platform of its conversation.")
    conversation_id: str = Field(description="Id of its conversation.")
    message_id: str = Field(description="Its id in the conversation.")


class MessageCopy(Part):
    """A message of which there is an earlier copy."""

    message_id: str = Field(description="Id of the message in this conversation.")
    kind: Literal["usage", "content", "repeated"] = Field(
        description="`usage` for another record of the same answer, whose usage is counted there; `content` for the "
        "same role and content at the same time in another conversation; `repeated` for the same role and content "
        "again in this conversation, shortly after the first."
    )
    first: MessagePlace = Field(description="The first copy.")


class CountedElsewhere(Part):
    """Another conversation, in which usage of copied messages is counted."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id.")
    messages: Count = Field(description="Number of messages here whose usage is counted there.")


class ChildConversation(Part):
    """A conversation that began in this one."""

    conversation_id: str = Field(description="Its id, on the same platform.")
    short_id: str = Field(description="The id to pass to `palaver show`: at most ten characters.")
    title: str = Field(description="Its title, or else its first words, or `(empty)`. Never an empty string.")
    is_sidechain: bool = Field(description="True for an agent, false for one that was forked or resumed.")
    fork_point: str | None = Field(description="Id of the message at which it begins, where the source states it.")
    tool_use_id: str | None = Field(description="Id of the tool call that started it, where the source states it.")
    messages: Count = Field(description="Number of messages.")


class ComputedCost(Part):
    """Cost of the usage by public prices."""

    amount: Amount = Field(description="Sum over the answers with a known price.")
    currency: str = Field(description="ISO 4217 code.")
    unpriced: Count = Field(description="Number of answers with usage but without a known price.")


class FailedCall(Part):
    """A call that failed before the same request was answered."""

    sent_at: str = Field(description="When it was sent, UTC.")
    request_id: str | None = Field(description="The id of the request.")
    status_code: int | None = Field(description="The status of the response.")
    category: str | None = Field(description="The kind of error, as in an exchange: `rate_limit`, `overloaded`, …")
    message: str = Field(description="The words of the error.")
    duration_ms: float | None = Field(description="How long it took.")


class RecordedCall(Part):
    """The recorded call of an answer; what the recording does not state is null."""

    message_id: str = Field(description="Id of the answer in this conversation.")
    recorded_as: MessagePlace = Field(description="The answer in the recorded conversation.")
    url: str | None = Field(description="The address, with secrets masked.")
    sent_at: str | None = Field(description="When the request was sent, UTC.")
    status_code: int | None = Field(description="The status of the response.")
    request_id: str | None = Field(description="The id of the request.")
    duration_ms: float | None = Field(description="From the request to the end of the answer.")
    time_to_first_token_ms: float | None = Field(description="From the request to the first event with content.")
    time_to_first_chunk_ms: float | None = Field(description="From the request to the first chunk of a stream.")
    stream_ms: float | None = Field(description="From the first chunk of a stream to the last one.")
    retries: list[FailedCall] = Field(description="Calls that failed with the same request, in order.")
    system_prompt: list[dict[str, Any]] | None = Field(description="Its blocks; only with `--wire`.")
    tools: list[Any] | None = Field(description="The definitions of the tools sent; only with `--wire`.")
    settings: dict[str, Any] | None = Field(description="The other fields of the request; only with `--wire`.")


class ShowAnswer(Answer):
    """A conversation, and what the archive knows about it."""

    SCHEMA_VERSION: ClassVar[str] = "1.2.0"

    conversation: Conversation = Field(description="The document, with all branches.")
    short_id: str = Field(description="The id to pass to `palaver show`: at most ten characters.")
    title: str = Field(description="Its title, or else its first words, or `(empty)`. Never an empty string.")
    has_title: bool = Field(description="Whether the source states a title.")
    models: list[str] = Field(description="Models that answered, the most frequent first.")
    messages: Count = Field(description="Number of messages, branches included.")
    human_messages: Count = Field(description="Number of messages that a person wrote.")
    tool_calls: Count = Field(description="Number of tool calls.")
    failed_tool_calls: Count = Field(description="Number of tool results that are errors.")
    tokens: CountedTokens | None = Field(description="Token counts; null where the source states none.")
    cost: ComputedCost | None = Field(description="Only with `--cost`.")
    branches: Count = Field(description="Number of abandoned branches.")
    messages_off_path: Count = Field(description="Number of messages on abandoned branches.")
    children: list[ChildConversation] = Field(description="Conversations that began in this one.")
    is_parent_archived: bool | None = Field(
        description="Whether the parent conversation is in the archive; null if there is no parent."
    )
    copies: list[MessageCopy] = Field(description="Messages of which there are earlier copies.")
    counted_elsewhere: list[CountedElsewhere] = Field(description="Where usage of copied messages is counted.")
    revisions: list[Message] = Field(description="Older versions of messages.")
    recorded_calls: list[RecordedCall] = Field(description="The calls of its answers that were recorded.")
    sources: list[str] = Field(description="The files it was imported from.")
    reopen: str | None = Field(
        description="The command that resumes it, or its address on the web; null where neither is known."
    )


class FoundConversation(Part):
    """The conversation of a hit."""

    platform: str = Field(description="Id of the platform.")
    conversation_id: str = Field(description="Its id in the conversation.")
    short_id: str = Field(description="What `palaver show` takes for it as well.")
    title: str = Field(description="Its title, or else its first words, or `(empty)`.")
    has_title: bool = Field(description="Whether the source states a title.")
    project: str | None = Field(description="The folder it is about.")
    created_at: str = Field(description="When it began, UTC.")
    updated_at: str | None = Field(description="When it last changed, UTC.")


class TextRange(Part):
    """A part of a text; characters are Unicode code points, counted from 0."""

    start: int = Field(ge=0, description="Index of the first character.")
    end: int = Field(ge=0, description="Index after the last character.")


class Passage(Part):
    """The passage of a message with the most matches close together."""

    text: str = Field(description="The passage as stored.")
    ranges: list[TextRange] = Field(description="The matches in it; empty if the message is too long to find them.")
    is_cut_before: bool = Field(description="Whether text precedes it.")
    is_cut_after: bool = Field(description="Whether text follows it.")
    column: Literal["text", "thinking", "tool"] = Field(
        description="Where it is: in message text, in thinking, or in the input or output of a tool."
    )
    block: str = Field(description="The type of its block: `text`, `tool_result` and so on.")
    tool: str | None = Field(description="Name of the tool, for a call and for a result whose call is known.")


class SameMessage(Part):
    """Another message with the same content."""

    platform: str = Field(description="Id of its platform.")
    conversation_id: str = Field(description="Id of its conversation.")
    message_id: str = Field(description="Its id.")
    timestamp: str = Field(description="Its time, UTC.")


class NeighbourMessage(Part):
    """A message near a hit."""

    message_id: str = Field(description="Its id.")
    number: int = Field(ge=1, description="Its position in the conversation, counted from 1.")
    role: str = Field(description="Its role.")
    author_kind: str | None = Field(description="Who wrote it: `human`, `model`, `tool`, `harness`.")
    timestamp: str = Field(description="Its time, UTC.")
    text: str = Field(description="How it begins, on one line.")


class FoundMessage(Part):
    """A hit. Identical messages are one hit, given by the first of them that passes the filters."""

    conversation: FoundConversation = Field(description="Its conversation.")
    message_id: str = Field(description="Its id.")
    number: int = Field(
        ge=1, description="Its position in the conversation, counted from 1: `palaver show ID:NUMBER` shows it."
    )
    role: str = Field(description="Its role.")
    author_kind: str | None = Field(description="Who wrote it: `human`, `model`, `tool`, `harness`.")
    model: str | None = Field(description="The model that wrote it, where the message names one.")
    timestamp: str = Field(description="Its time, UTC.")
    passage: Passage | None = Field(description="The passage that matches.")
    score: float | None = Field(description="With `--ranked`: how well it matches; lower is better.")
    others: list[SameMessage] = Field(description="Identical messages, in order of time; at most 100.")
    others_total: int = Field(ge=0, description="Number of identical messages.")
    before: list[NeighbourMessage] = Field(description="With `--context N`, the N messages before it.")
    after: list[NeighbourMessage] = Field(description="With `--context N`, the N messages after it.")


class FoundTitle(Part):
    """A conversation whose title matches."""

    conversation: FoundConversation = Field(description="The conversation.")
    ranges: list[TextRange] = Field(description="The matches in its title.")


class SearchAnswer(Answer):
    """One page of search results."""

    SCHEMA_VERSION: ClassVar[str] = "1.1.0"

    query: str = Field(description="The query as typed.")
    order: Literal["newest", "ranked"] = Field(description="The order of the messages.")
    offset: int = Field(ge=0, description="Number of messages skipped.")
    limit: int = Field(ge=1, description="Largest number of messages on a page.")
    messages: list[FoundMessage] = Field(description="The hits, in order.")
    total: int = Field(ge=0, description="Number of hits; with `--ranked`, the number of hits that were ranked.")
    is_total_exact: bool = Field(description="Whether all were counted; if not, there may be more.")
    titles: list[FoundTitle] = Field(
        description="Conversations whose title matches, newest first: a few on the first page, all with `--in title`."
    )
    titles_total: int = Field(ge=0, description="Number of conversations whose title matches.")
    is_titles_total_exact: bool = Field(description="Whether all were counted; if not, there may be more.")
