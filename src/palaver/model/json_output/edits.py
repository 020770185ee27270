"""Output of `tag`, `rate` and `forget`."""

from pydantic import Field

from palaver.model.blocks import Count
from palaver.model.conversation import Score, Timestamp
from palaver.model.json_output.answer import Answer, Part


class TaggedConversation(Part):
    """A conversation with the tags it has now."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id.")
    title: str | None = Field(description="Its title.")
    tags: list[str] = Field(description="Its tags, its source's and the user's, sorted; with `--dry-run` those to be.")
    is_changed: bool = Field(description="Whether that is a change.")


class UsedTag(Part):
    """A tag that is in use."""

    tag: str = Field(description="The tag.")
    conversations: Count = Field(description="How many conversations have it.")


class TagAnswer(Answer):
    """The tags of conversations, or those in use."""

    conversations: list[TaggedConversation] = Field(description="The conversations that were meant.")
    tags: list[UsedTag] = Field(description="Tags in use, the most frequent first; empty when tags were given.")
    is_dry_run: bool = Field(description="True when nothing was changed, only told.")


class GivenRating(Part):
    """What the user said."""

    score: Score | None = Field(description="From 0 to 5.")
    feedback: str | None = Field(description="Why, in the user's words.")
    rated_at: Timestamp = Field(description="When, UTC.")


class RateAnswer(Answer):
    """How a conversation is rated now."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id.")
    title: str | None = Field(description="Its title.")
    rating: GivenRating | None = Field(description="The rating that was given by hand, if any.")


class ForgottenConversation(Part):
    """A conversation that is gone, or would go."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id.")
    title: str | None = Field(description="Its title.")
    messages: Count = Field(description="How many messages it had.")
    sources: list[str] = Field(description="The sources it came from, which are not touched.")
    agents_kept: list[str] = Field(description="Ids of its agents' conversations that stay.")
    shared_messages: Count = Field(description="How many of its messages stand in other conversations as well.")
    shared_with: list[str] = Field(description="Ids of some of these, where they stay.")
    set_aside_kept: Count = Field(
        description="Entries of the quarantine from its sources that stay, since they may belong to others."
    )


class Tombstone(Part):
    """What is left of a conversation."""

    platform: str = Field(description="Its platform.")
    conversation_id: str = Field(description="Its id.")
    forgotten_at: Timestamp = Field(description="When it was forgotten, UTC.")
    reason: str | None = Field(description="Why, in the user's words.")


class UndoneTombstone(Tombstone):
    """A conversation that may come in again."""

    sources: list[str] = Field(description="Sources that are known to hold it; they are read again.")


class ForgetAnswer(Answer):
    """What was forgotten, and what stays."""

    conversations: list[ForgottenConversation] = Field(description="What was forgotten, or would be.")
    tombstones: list[Tombstone] = Field(description="With `--list`, everything that was forgotten, the latest first.")
    undone: UndoneTombstone | None = Field(description="With `--undo`, what may come in again.")
    is_dry_run: bool = Field(description="True when nothing was changed, only told.")
