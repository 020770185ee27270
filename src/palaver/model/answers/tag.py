"""The answer of `palaver tag`: the tags of conversations, or those in use."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.blocks import Count


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


ANSWER = TagAnswer
