"""The answer of `palaver identify`: which importer reads each file, and why."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part


class IdentifiedFile(Part):
    """The verdict on one file, or on one source of several files."""

    path: str = Field(description="The path; `ZIP!member` inside a ZIP, `-` for standard input.")
    platform: str | None = Field(description="The importer that reads it, if any does.")
    verdict: Literal["yes", "maybe", "no", "conflict", "problem"] = Field(
        description="How sure that importer is; `no` when there is none, `conflict` when several claim the file, "
        "`problem` when it cannot be read."
    )
    reason: str = Field(description="What tells it; empty when nobody knows the file.")
    members: list[str] = Field(description="Files and folders beside it that belong to it.")
    claimed_by: list[str] = Field(description="The importers of a conflict; otherwise empty.")


class IdentifyAnswer(Answer):
    """Which importer reads each file, and why."""

    files: list[IdentifiedFile] = Field(description="Every file at or below the paths.")
    refused: list[str] = Field(description="A sentence for each path that could not be looked at.")


ANSWER = IdentifyAnswer
