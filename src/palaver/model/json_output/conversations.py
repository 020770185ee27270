"""Output of `list`, `show` and `search`."""

from typing import Literal

from pydantic import Field

from palaver.model.blocks import Amount, Count
from palaver.model.conversation import Conversation, Message, Score
from palaver.model.json_output.answer import Answer, Part


class CountedTokens(Part):
    """Usage, where an answer that stands in the conversation more than once is counted once."""

    input: Count = Field(description="Input tokens.")
    output: Count = Field(description="Output tokens.")
    cache_read: Count = Field(description="Tokens read from the cache.")
    cache_write: Count = Field(description="Tokens written to the cache.")
    thinking: Count = Field(description="Tokens spent on reasoning, where they are stated apart.")


class GivenRating(Part):
    """What the user thought of a conversation."""

    score: Score | None = Field(description="From 0 to 5.")
    feedback: str | None = Field(description="The user's words.")
    rated_at: str = Field(description="When, UTC.")


class ListedConversation(Part):
    """A conversation at a glance."""

    conversation_id: str = Field(description="Its id on its platform.")
    short_id: str = Field(description="The shortest name that `palaver show` understands.")
    platform: str = Field(description="The platform that held it.")
    title: str = Field(description="Its title; without one, how it begins. Never empty.")
    has_title: bool = Field(description="Whether the source has a title for it.")
    project: str | None = Field(description="The folder it was about.")
    model: str | None = Field(description="The model that answered.")
    created_at: str = Field(description="When it began, UTC.")
    updated_at: str | None = Field(description="When it last changed, UTC.")
    status: str | None = Field(description="Its state, where the platform knows one.")
    messages: Count = Field(description="Messages in it, branches included.")
    human_messages: Count = Field(description="Those that a person wrote.")
    tokens: CountedTokens | None = Field(description="Usage; null where the source states none.")
    tags: list[str] = Field(description="Tags of the source and those given by hand.")
    rating: GivenRating | None = Field(description="The rating given by hand.")
    is_sidechain: bool = Field(description="Whether it is the conversation of an agent.")
    parent: str | None = Field(description="The id of the conversation it was forked, resumed or started from.")
    agents: Count = Field(description="How many conversations of agents it started.")
    sources: list[str] = Field(description="Where it was imported from.")


class ListAnswer(Answer):
    """Conversations of the archive, in order."""

    conversations: list[ListedConversation] = Field(description="Those that are shown.")
    total: Count = Field(description="How many there are to show.")
    shown: Count = Field(description="How many are shown.")
    hidden_agents: Count = Field(
        description="Conversations of agents that would be shown with `--agents`; not in the total."
    )


class MessagePlace(Part):
    """A message of the archive."""

    platform: str = Field(description="The platform of its conversation.")
    conversation_id: str = Field(description="Its conversation.")
    message_id: str = Field(description="Its id there.")


class MessageCopy(Part):
    """A message that stands elsewhere as well, and earlier."""

    message_id: str = Field(description="The message of this conversation.")
    kind: Literal["usage", "content", "repeated"] = Field(
        description="`usage` for another record of the same answer, whose usage is counted there; `content` for the "
        "same role and content at the same time in another conversation; `repeated` for the same role and content "
        "again in this conversation, shortly after the first."
    )
    first: MessagePlace = Field(description="The first of them.")


class CountedElsewhere(Part):
    """A conversation in which usage is counted that stands here as well."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id.")
    messages: Count = Field(description="How many messages of this conversation that are.")


class ChildConversation(Part):
    """A conversation that began in this one."""

    conversation_id: str = Field(description="Its id, on the same platform.")
    short_id: str = Field(description="The shortest name that `palaver show` understands.")
    title: str = Field(description="Its title; without one, how it begins. Never empty.")
    is_sidechain: bool = Field(description="True for an agent, false for one that was forked or resumed.")
    fork_point: str | None = Field(description="The message at which it begins, where the source tells.")
    tool_use_id: str | None = Field(description="The call that started it, where the source tells.")
    messages: Count = Field(description="Messages in it.")


class ComputedCost(Part):
    """What the usage would have cost by public prices."""

    amount: Amount = Field(description="The sum, of those answers that have a known price.")
    currency: str = Field(description="ISO 4217 code.")
    unpriced: Count = Field(description="Answers with usage that have no known price.")


class ShowAnswer(Answer):
    """A conversation, and what the archive knows about it."""

    conversation: Conversation = Field(description="The document, with all branches.")
    short_id: str = Field(description="The shortest name that `palaver show` understands.")
    title: str = Field(description="Its title; without one, how it begins. Never empty.")
    has_title: bool = Field(description="Whether the source has a title for it.")
    models: list[str] = Field(description="Models that answered, the most frequent first.")
    messages: Count = Field(description="Messages in it, branches included.")
    human_messages: Count = Field(description="Those that a person wrote.")
    tool_calls: Count = Field(description="Calls of tools.")
    failed_tool_calls: Count = Field(description="Results that are errors.")
    tokens: CountedTokens | None = Field(description="Usage; null where the source states none.")
    cost: ComputedCost | None = Field(description="Only with `--cost`.")
    branches: Count = Field(description="Branches that were left.")
    messages_off_path: Count = Field(description="Messages on them.")
    children: list[ChildConversation] = Field(description="Conversations that began in this one.")
    is_parent_archived: bool | None = Field(
        description="Whether the conversation that this one began in is in the archive; null if it began in none."
    )
    copies: list[MessageCopy] = Field(description="Its messages that stand elsewhere as well, and earlier.")
    counted_elsewhere: list[CountedElsewhere] = Field(description="Where usage is counted that stands here as well.")
    revisions: list[Message] = Field(description="Other versions of its messages that are kept.")
    sources: list[str] = Field(description="Where it was imported from.")


class FoundConversation(Part):
    """The conversation in which something was found."""

    platform: str = Field(description="Where it was had.")
    conversation_id: str = Field(description="Its id there.")
    short_id: str = Field(description="What `palaver show` takes for it as well.")
    title: str = Field(description="Its title, or its first words if it has none.")
    has_title: bool = Field(description="Whether it has one.")
    project: str | None = Field(description="The folder it was about.")
    created_at: str = Field(description="When it began.")
    updated_at: str | None = Field(description="When it was last changed.")


class TextRange(Part):
    """A part of a text; characters are Unicode code points, counted from 0."""

    start: int = Field(ge=0, description="The first character.")
    end: int = Field(ge=0, description="The first character after it.")


class Passage(Part):
    """The part of a message where most of the words stand close together."""

    text: str = Field(description="The passage as it was written.")
    ranges: list[TextRange] = Field(description="The words in it; empty if the message is too long to find them.")
    is_cut_before: bool = Field(description="Whether there is more before it.")
    is_cut_after: bool = Field(description="Whether there is more after it.")
    column: Literal["text", "thinking", "tool"] = Field(
        description="What it is part of: what was said, thought, or given to a tool and given back."
    )
    block: str = Field(description="The type of its block: `text`, `tool_result` and so on.")
    tool: str | None = Field(description="The tool, for a call and for a result whose call is known.")


class SameMessage(Part):
    """Another message that says the same."""

    platform: str = Field(description="Where its conversation was had.")
    conversation_id: str = Field(description="The conversation's id there.")
    message_id: str = Field(description="The message's id.")
    timestamp: str = Field(description="When it was said.")


class FoundMessage(Part):
    """What was found; told once, by the first message that says it and passes the filters."""

    conversation: FoundConversation = Field(description="Where the message stands.")
    message_id: str = Field(description="The message's id.")
    role: str = Field(description="Its role.")
    author_kind: str | None = Field(description="Who wrote it: `human`, `model`, `tool`, `harness`.")
    model: str | None = Field(description="The model that wrote it, where the message names one.")
    timestamp: str = Field(description="When it was said.")
    passage: Passage | None = Field(description="Why it was found.")
    score: float | None = Field(description="With `--ranked`: how well it fits, the less the better.")
    others: list[SameMessage] = Field(description="Messages that say the same, in order of time; at most 100.")
    others_total: int = Field(ge=0, description="How many there are.")


class FoundTitle(Part):
    """A conversation whose title holds the words."""

    conversation: FoundConversation = Field(description="The conversation.")
    ranges: list[TextRange] = Field(description="The words in its title.")


class SearchAnswer(Answer):
    """One page of what was found."""

    query: str = Field(description="What was searched for, as it was typed.")
    order: Literal["newest", "ranked"] = Field(description="The order of the messages.")
    offset: int = Field(ge=0, description="How many messages were passed over.")
    limit: int = Field(ge=1, description="How many messages are told at most.")
    messages: list[FoundMessage] = Field(description="What was found, in order.")
    total: int = Field(ge=0, description="How many there are; with `--ranked`, how many the best were chosen from.")
    is_total_exact: bool = Field(description="False if not all were looked at: there may be more.")
    titles: list[FoundTitle] = Field(
        description="Conversations by their title, newest first: a few on the first page, all with `--in title`."
    )
    titles_total: int = Field(ge=0, description="How many there are.")
    is_titles_total_exact: bool = Field(description="False if not all were looked at: there may be more.")
