"""The answer of `palaver export`: what was written, and where."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.blocks import Count


class ExportedFile(Part):
    """One file that was written."""

    path: str = Field(description="Where it is.")
    bytes: Count = Field(description="Its size.")
    conversations: Count = Field(description="How many conversations are in it.")


class ExportAnswer(Answer):
    """What an export wrote, and where; of a dry run, what it would write."""

    format: str = Field(description="The format that was written.")
    output: str | None = Field(description="The file or folder that was asked for; null for a dry run.")
    conversations: Count = Field(description="Conversations that were written.")
    messages: Count = Field(description="Messages in them.")
    bytes: Count = Field(description="How much was written.")
    files: list[ExportedFile] = Field(description="Every file; none for a dry run, or when no conversation fits.")


ANSWER = ExportAnswer
