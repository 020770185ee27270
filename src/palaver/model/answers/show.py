"""The answer of `palaver show`: a conversation, and what the archive knows about it."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.answers.list_ import CountedTokens
from palaver.model.blocks import Amount, Count
from palaver.model.conversation import Conversation, Message


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


ANSWER = ShowAnswer
