"""The answer of `palaver stats`: what the archive holds and what it cost, in total and by group."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part


class TokenCounts(Part):
    """Tokens as their sources count them; some count cached tokens inside input, or thinking inside output."""

    input: int = Field(description="Sent.")
    output: int = Field(description="Answered.")
    cache_read: int = Field(description="Read from the provider's cache.")
    cache_write: int = Field(description="Written to the provider's cache.")
    thinking: int = Field(description="Thought, where a source tells it apart.")


class Amount(Part):
    """Money."""

    amount: float = Field(description="How much.")
    currency: str = Field(description="Of what.")


class Counted(Part):
    """What was counted: of everything, or of one group."""

    conversations: int = Field(description="Conversations with a message among those that are counted.")
    messages: dict[str, int] = Field(
        description="Messages as they are stored, copies included, by who wrote them: human, model, tool, harness."
    )
    tool_calls: int = Field(description="Calls of tools, each counted once.")
    answers: int = Field(description="Answers with token counts, each counted once.")
    usage_records: int = Field(
        description="How many of these only a usage record tells of; with --usage, all usage records."
    )
    counts: dict[str, float] = Field(
        description="With --usage, what else the records count, by name: requests, suggestions, lines, …"
    )
    tokens: TokenCounts = Field(description="What these answers used.")
    cost: Amount | None = Field(
        description="What these answers cost by known prices, those of unknown ones left out; null when there are none."
    )
    stated_costs: list[Amount] = Field(
        description="What sources themselves say it cost, by currency; it is in no other number."
    )


class Totals(Counted):
    """Everything that the filters let through."""

    agents: int = Field(description="How many of the conversations are those of agents.")


class Group(Counted):
    """One day, one project, one model or the like."""

    group: str | None = Field(
        description="The day, the Monday of the week, the month, the folder, the model, the platform, the tool, the "
        "conversation as platform:id, or the subject as kind:id; null for what has none."
    )
    title: str | None = Field(description="The title, where groups are conversations.")


class LeftOut(Part):
    """Copies: answers that were written again into a resumed, forked or branched session."""

    copies: int = Field(description="Messages among those that are looked at whose usage is counted at another one.")
    answers: int = Field(description="How many answers they are copies of.")
    naive_tokens: TokenCounts = Field(description="What would come out if every message counted.")


class Unpriced(Part):
    """A model without a known price."""

    model: str | None = Field(description="Its name; null where the source names none.")
    answers: int = Field(description="How many of the counted answers are its.")


class Place(Part):
    """Where a message is."""

    platform: str = Field(description="The platform.")
    conversation_id: str = Field(description="The conversation's id there.")
    message_id: str = Field(description="The message's id in it.")


class ExplainedUsage(Place):
    """One message with token counts, and whether it counts."""

    timestamp: str = Field(description="When it was said, in UTC.")
    day: str = Field(description="The day at which it is counted.")
    project: str | None = Field(description="The folder of its conversation.")
    model: str | None = Field(description="The model that answered.")
    api_message_id: str | None = Field(description="The provider's id of the answer; copies have the same.")
    is_counted: bool = Field(description="Whether it is in the totals.")
    counted_at: Place | None = Field(description="For one that is not: the copy of it that is.")
    own_tokens: TokenCounts = Field(description="What the message itself says.")
    tokens: TokenCounts | None = Field(
        description="What is counted: the greatest figures of all copies; null for one that is not counted."
    )
    cost: Amount | None = Field(description="What it cost; null for one that is not counted or has no known price.")
    price_source: str | None = Field(description="Where its price comes from: genai-prices or config.toml.")
    price_model: str | None = Field(description="What that source calls the model, with its provider.")


class StatsAnswer(Answer):
    """Totals, the same by group, and what they leave out."""

    of: Literal["messages", "usage_records"] = Field(
        description="What is counted: messages, with calls that only a usage record tells of; or, with --usage, those."
    )
    since: str | None = Field(description="Messages before this time are not counted.")
    until: str | None = Field(description="Neither are those at this time or after it.")
    by: Literal["day", "week", "month", "project", "model", "platform", "tool", "conversation", "subject"] = Field(
        description="What the groups are."
    )
    time_zone: Literal["local", "UTC"] = Field(description="Whose days they are.")
    totals: Totals = Field(description="Everything.")
    groups: list[Group] = Field(description="The groups; days and the like in order, others with the greatest first.")
    left_out: LeftOut = Field(description="What was not counted, since it was counted elsewhere.")
    unpriced: list[Unpriced] = Field(description="Models without a known price; their answers have no cost.")
    partial_answers: int = Field(
        description="Counted answers whose source did not record their end: their output may have been more."
    )
    periods: int = Field(
        description="With --usage, how many records are sums over a time, which may hold calls that others tell of."
    )
    usages: list[ExplainedUsage] | None = Field(
        description="With --explain, every message with usage: those that are counted, each followed by its copies."
    )


ANSWER = StatsAnswer
