"""The answer of `palaver quarantine retry`: what became of everything that was set aside."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer
from palaver.model.answers._set_aside import SetAside


class RetriedEntry(SetAside):
    """What became of one entry."""

    outcome: Literal["read", "refused", "kept"] = Field(
        description="`read`: it is no longer set aside; `refused`: again; `kept`: its source could not be read again."
    )
    reason: str = Field(description="Why it is kept; else empty.")


class QuarantineRetryAnswer(Answer):
    """What became of everything that was set aside."""

    entries: list[RetriedEntry] = Field(description="Everything that was set aside from the sources that were tried.")
    new: list[SetAside] = Field(description="What these sources refused now and did not before.")


ANSWER = QuarantineRetryAnswer
