"""The answer of `palaver rate`: how a conversation is rated now."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.conversation import Score, Timestamp


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


ANSWER = RateAnswer
