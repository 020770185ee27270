"""Output of `cook`, `merge` and `export`."""

from typing import ClassVar, Literal

from pydantic import Field

from palaver.model.blocks import Count
from palaver.model.json_output.answer import Answer, Part
from palaver.model.json_output.imports import Records


class CookFinding(Part):
    """One thing that was odd, and where."""

    code: str = Field(description="The kind of the finding; `docs/findings.md` lists all.")
    severity: Literal["error", "warning", "note"] = Field(description="How much it matters.")
    where: str = Field(description="The place in the source.")
    message: str = Field(description="What was found there, in words.")


class Ingredient(Part):
    """What became of one source."""

    source: str = Field(description="The path; `ZIP!member` inside a ZIP, `-` for standard input, or `archive`.")
    read_as: str = Field(
        description="`exchange`, `archive`, or the platform whose importer read it; `api_trace` for traces."
    )
    records: Records = Field(description="What became of its records.")
    findings: dict[str, Count] = Field(description="What was noticed: how often, by code.")
    first_findings: list[CookFinding] = Field(description="The first findings of each code, at most 20, in order.")
    failure: str | None = Field(description="Why it could not be read to its end; null when it could be.")


class CookAnswer(Answer):
    """What was cooked."""

    SCHEMA_VERSION: ClassVar[str] = "1.1.0"

    output: str | None = Field(description="The file that was written; null in a dry run.")
    requests: Count = Field(description="Requests.")
    messages: Count = Field(description="Messages that stand once each.")
    tools: Count = Field(description="Tools that stand once each.")
    sources: list[Ingredient] = Field(description="Every source that was read; the archive is one, without records.")
    unclaimed: list[str] = Field(description="Files inside folders that nobody reads.")
    refused: list[str] = Field(description="A sentence for each path that could not be read at all.")


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
