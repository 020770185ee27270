"""The answer of `palaver search`: messages and titles with the words in them."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part


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


ANSWER = SearchAnswer
