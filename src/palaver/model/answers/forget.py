"""The answer of `palaver forget`: what was forgotten, and what stays."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.blocks import Count
from palaver.model.conversation import Timestamp


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


ANSWER = ForgetAnswer
