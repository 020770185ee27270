"""The answer of `palaver doctor`: the health of everything."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part


class HealthCheck(Part):
    """One question and its answer."""

    name: str = Field(description="What was looked at.")
    verdict: Literal["ok", "warning", "problem"] = Field(description="How it is.")
    told: str = Field(description="The same in words.")
    advice: str = Field(description="What to do about it; empty when there is nothing to do.")
    details: list[str] = Field(description="Some of the things that are meant, by name.")


class DoctorAnswer(Answer):
    """The health of everything."""

    archive: str = Field(description="Path of the archive, whether it is there or not.")
    is_well: bool = Field(description="True when no check found a problem.")
    checks: list[HealthCheck] = Field(description="Every check, in order.")
    repaired: list[str] = Field(description="What was repaired before, in sentences.")


ANSWER = DoctorAnswer
