"""Output of `stats` and `duplicates`."""

from typing import ClassVar, Literal

from pydantic import Field

from palaver.model.json_output.answer import Answer, Part


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
    estimated_tokens: int = Field(
        description="With --usage, tokens that the tools themselves estimate, where the provider's count is unknown."
    )
    cost: Amount | None = Field(
        description="What these answers cost by known prices, those of unknown ones left out; null when there are none."
    )
    stated_costs: list[Amount] = Field(
        description="Costs reported by the tools themselves, by currency; not included in `cost`."
    )


class Totals(Counted):
    """Everything that the filters let through."""

    agents: int = Field(description="How many of the conversations are those of agents.")
    recordings: int = Field(
        description="How many of the conversations are recorded traffic that an assistant's own record has as well."
    )


class UsageBlock(Part):
    """A five-hour block, named by the full hour of its first answer."""

    end: str = Field(description="When it ends, five hours after it began.")
    last_answer: str = Field(description="The time of its last answer.")
    is_active: bool = Field(description="Whether it has not ended, and had an answer in the last five hours.")
    seconds_left: int = Field(description="How long it still lasts; 0 if it is not active.")


class Group(Counted):
    """One day, one project, one model or the like."""

    group: str | None = Field(
        description="The day, the Monday of the week, the month, the start of the block, the folder, the model, the "
        "platform, the tool, the conversation as platform:id, or the subject as kind:id; null for what has none."
    )
    title: str | None = Field(description="The title, where groups are conversations.")
    models: list[str] | None = Field(description="Where groups are models, how their sources spell the name.")
    block: UsageBlock | None = Field(description="Where groups are blocks, the block.")


class LeftOut(Part):
    """Copies: answers that were written again into a resumed, forked or branched session."""

    copies: int = Field(description="Messages among those that are looked at whose usage is counted at another one.")
    answers: int = Field(description="How many answers they are copies of.")
    naive_tokens: TokenCounts = Field(description="What would come out if every message counted.")


class Unpriced(Part):
    """A model without a known price."""

    model: str | None = Field(description="Its name; null where the source names none.")
    answers: int = Field(description="How many of the counted answers are its.")


class WithoutTokens(Part):
    """A platform none of whose answers has token counts."""

    platform: str = Field(description="The platform.")
    answers: int = Field(description="The number of its answers.")
    reason: str = Field(description="Why, as a sentence.")


class AllTime(Part):
    """Everything that the filters match, whenever it was."""

    conversations: int = Field(description="The number of conversations.")
    cost: Amount | None = Field(description="Their cost; null if it is unknown or would take long to compute.")


class Budget(Part):
    """The cost of the range, compared with a budget in USD."""

    amount: float = Field(description="The budget.")
    spent: float = Field(description="The cost of the range.")
    left: float = Field(description="What is left of the budget; 0 if it is exceeded.")
    is_over: bool = Field(description="Whether it is exceeded.")
    ends_at: str | None = Field(description="When its period ends, UTC; null if it has no end.")
    projected: float | None = Field(
        description="What will be spent by the end of the period at the pace so far; null if that cannot be said."
    )


class Place(Part):
    """Where a message is."""

    platform: str = Field(description="The platform.")
    conversation_id: str = Field(description="The conversation's id there.")
    message_id: str = Field(description="The message's id in it.")


class ExplainedUsage(Place):
    """One message with token counts, and whether it counts."""

    timestamp: str = Field(description="When it was said, in UTC.")
    day: str | None = Field(description="The day at which it is counted; null for a record without a date.")
    project: str | None = Field(description="The folder of its conversation.")
    model: str | None = Field(description="The model that answered.")
    api_message_id: str | None = Field(
        description="The provider's id of the answer, or `request` and that of its request; copies have the same."
    )
    is_counted: bool = Field(description="Whether it is in the totals.")
    counted_at: Place | None = Field(description="For one that is not: the copy of it that is.")
    own_tokens: TokenCounts = Field(description="What the message itself says.")
    tokens: TokenCounts | None = Field(
        description="What is counted: the greatest figures of all copies; null for one that is not counted."
    )
    cost: Amount | None = Field(description="What it cost; null for one that is not counted or has no known price.")
    price_source: str | None = Field(description="Where its price comes from: genai-prices or config.toml.")
    price_model: str | None = Field(description="What that source calls the model, with its provider.")


class KindsOfTokens(Part):
    """Tokens of one period and model, or a difference of them."""

    input: int = Field(description="Sent.")
    output: int = Field(description="Answered.")
    cache_write: int = Field(description="Written to the provider's cache.")
    cache_read: int = Field(description="Read from the provider's cache.")


class ComparedFigures(Part):
    """What one side counts."""

    tokens: KindsOfTokens = Field(description="Its tokens.")
    cost: Amount = Field(description="Its cost.")


class DifferenceReason(Part):
    """A way to count the archive that accounts for a difference, or for a part of it."""

    reason: Literal[
        "copies",
        "other_copy",
        "agents",
        "deleted_files",
        "other_folders",
        "undated",
        "records",
        "later",
        "early_lines",
    ] = Field(description="The way.")
    sentence: str = Field(description="The way, in words.")
    answers: int = Field(description="For how many answers it makes a difference; 0 where this cannot be counted.")
    tokens: KindsOfTokens = Field(description="What it adds to palaver's tokens.")


class ComparedRow(Part):
    """One period and model, on both sides."""

    name: str = Field(description="The day, the beginning of the week, the month, the session, or the block's start.")
    model: str | None = Field(description="The model; null where the report does not tell models apart.")
    theirs: ComparedFigures = Field(description="What ccusage counts.")
    ours: ComparedFigures = Field(description="What palaver counts.")
    reasons: list[DifferenceReason] = Field(
        description="Why the tokens differ; together they add up to the difference."
    )
    unexplained: KindsOfTokens = Field(description="The difference, if nothing explains it; else zeros.")
    cost_reason: Literal["tokens", "prices", "our_price", "their_price"] | None = Field(
        description="Why the costs differ: the tokens do, the prices do, or palaver or ccusage has no price; else null."
    )


class ReportComparison(Part):
    """A report of ccusage beside the archive."""

    period: Literal["day", "week", "month", "session", "block"] = Field(description="What the rows are.")
    time_zone: Literal["local", "UTC"] = Field(description="Whose days they are.")
    is_explained: bool = Field(description="Whether no difference of tokens is left unexplained.")
    rows: list[ComparedRow] = Field(description="Every period and model that one of the sides has.")


class StatsAnswer(Answer):
    """Totals, the same by group, and what they leave out."""

    SCHEMA_VERSION: ClassVar[str] = "2.1.0"

    of: Literal["messages", "usage_records"] = Field(
        description="What is counted: messages, with calls that only a usage record tells of; or, with --usage, those."
    )
    range: Literal["last_days", "latest_days", "given", "all_time"] = Field(
        description="Which time totals and groups are about: the last 30 days, the latest 30 days with anything if the "
        "last ones have nothing, the dates that were given, or all time."
    )
    since: str | None = Field(description="Messages before this time are not counted; null for all time.")
    until: str | None = Field(description="Neither are those at this time or after it.")
    by: Literal["day", "week", "month", "block", "project", "model", "platform", "tool", "conversation", "subject"] = (
        Field(description="What the groups are.")
    )
    time_zone: Literal["local", "UTC"] = Field(description="Whose days they are.")
    are_models_folded: bool = Field(description="Whether spellings of one model are one group; not with --exact.")
    totals: Totals = Field(description="Everything in the range.")
    all_time: AllTime | None = Field(description="Everything, where the range was not chosen by an option.")
    budget: Budget | None = Field(description="With --budget, the comparison.")
    groups: list[Group] = Field(description="The groups; days and the like in order, others with the greatest first.")
    left_out: LeftOut = Field(description="What was not counted, since it was counted elsewhere.")
    unpriced: list[Unpriced] = Field(description="Models without a known price; their answers have no cost.")
    without_tokens: list[WithoutTokens] = Field(description="Platforms without token counts.")
    partial_answers: int = Field(
        description="Counted answers that were logged before they finished: their output is a lower bound."
    )
    periods: int = Field(
        description="With --usage, how many records are sums over a time, which may hold calls that others tell of."
    )
    undated_records: int = Field(
        description="Usage records without a date of their own, which a range of time leaves out."
    )
    comparison: ReportComparison | None = Field(description="With --against, the comparison.")
    usages: list[ExplainedUsage] | None = Field(
        description="With --explain, every message with usage: those that are counted, each followed by its copies."
    )


class ConversationName(Part):
    """A conversation."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id there.")
    title: str | None = Field(description="Its title.")


class EqualFile(Part):
    """A file that is equal to another one."""

    path: str = Field(description="The file.")
    equal_to: str = Field(description="The one that was read first.")
    bytes: int = Field(description="The size of each.")


class MergedConversation(ConversationName):
    """One conversation from several sources."""

    sources: list[str] = Field(description="Where it came from.")


class LinkedPair(Part):
    """Two conversations that share messages."""

    first: ConversationName = Field(description="The one that holds more of the shared messages first.")
    other: ConversationName = Field(description="The one that holds them again.")
    shared_messages: int = Field(
        description="How many different messages they share that no other conversation held before."
    )
    share: float = Field(description="How much of the other conversation that is, from 0 to 1.")
    reason: str = Field(description="Why, as far as their sources say.")


class MarkedMessage(Part):
    """A message that came again within the window."""

    conversation: ConversationName = Field(description="Its conversation.")
    message_id: str = Field(description="The message.")
    first_message_id: str = Field(description="The first with its role and content.")
    apart_ms: int = Field(description="How much later it came.")


class Unchanged(Part):
    """Level 1: what is not opened again."""

    sources: int = Field(description="Sources that were read.")
    files: int = Field(description="Their files, known by size and time: one that has not changed is not opened again.")
    bytes: int = Field(description="The size of these files.")
    equal_files: int = Field(description="Files that are equal to another one.")


class Merged(Part):
    """Level 2: one conversation from several sources."""

    conversations: int = Field(description="Conversations that several sources hold.")


class Linked(Part):
    """Level 3: the same content in different conversations."""

    pairs: int = Field(description="Pairs of conversations that share messages.")
    shared_messages: int = Field(description="How many messages they share, pair by pair.")


class Marked(Part):
    """Level 4: the same role and content within a window of time."""

    messages: int = Field(description="Messages that came again.")
    conversations: int = Field(description="The conversations they are in.")
    window_ms: int = Field(description="How far apart from the first they may be.")


class DuplicatesAnswer(Answer):
    """All levels in numbers; the details of the level that was asked for."""

    unchanged: Unchanged = Field(description="Level 1: unchanged sources.")
    merged: Merged = Field(description="Level 2: one conversation from several sources.")
    linked: Linked = Field(description="Level 3: same content elsewhere.")
    marked: Marked = Field(description="Level 4: the same again within the window.")
    equal_files: list[EqualFile] | None = Field(description="With --level 1: equal files.")
    merged_conversations: list[MergedConversation] | None = Field(description="With --level 2: merged conversations.")
    linked_pairs: list[LinkedPair] | None = Field(description="With --level 3: pairs, the greatest share first.")
    marked_messages: list[MarkedMessage] | None = Field(description="With --level 4: messages that came again.")
