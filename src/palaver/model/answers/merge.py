"""The answer of `palaver merge`: what became of a log's entries, and of the chunks beside it."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.answers.import_ import Records
from palaver.model.blocks import Count


class MergedFile(Part):
    """What became of one file."""

    source: str = Field(description="The path; `-` for standard input.")
    read_as: Literal["log", "chunks"] = Field(description="What it was read as.")
    records: Records = Field(description="What became of its records; chunks are folded into streams.")
    findings: dict[str, Count] = Field(description="What was noticed: how often, by code.")
    failure: str | None = Field(description="Why it could not be read to its end; null when it could be.")


class MergeAnswer(Answer):
    """What was merged."""

    output: str | None = Field(description="The file that was written; null in a dry run.")
    entries: Count = Field(description="Entries of the log that were written.")
    merged: Count = Field(description="Entries whose stream was put together from chunks.")
    rebuilt: Count = Field(description="Entries whose details come from their recorded body.")
    issues: dict[str, Count] = Field(description="What is odd about streams: how often, by type.")
    errors: dict[str, Count] = Field(description="Lines for chunks that found no entry or could not be read, by type.")
    sources: list[MergedFile] = Field(description="Every file that was read, the log first.")


ANSWER = MergeAnswer
