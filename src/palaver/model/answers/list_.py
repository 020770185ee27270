"""The answer of `palaver list`: conversations of the archive, in order."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.blocks import Count
from palaver.model.conversation import Score


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


ANSWER = ListAnswer
