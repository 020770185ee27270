"""The answer of `palaver import`: what an import did, source by source, and in total."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.blocks import Count


class Records(Part):
    """What became of every record: read = mapped + folded + all skipped + all quarantined."""

    read: Count = Field(description="Records that the readers counted.")
    mapped: Count = Field(description="Became a message or a part of one.")
    folded: Count = Field(description="Went into another record's message, or enriched it.")
    skipped: dict[str, Count] = Field(description="Left out on purpose, by rule.")
    quarantined: dict[str, Count] = Field(description="Refused and set aside, by the code of the finding.")


class ImportedSource(Part):
    """What came out of one source."""

    source: str = Field(description="Path of the source; `ZIP!member` inside a ZIP, `-` for standard input.")
    platform: str = Field(description="The importer that read it.")
    bytes: Count = Field(description="Size of the source.")
    conversations: Count = Field(description="Conversations that came out of it.")
    messages: Count = Field(description="Messages in them.")
    usage_records: Count = Field(description="What it says was used without a conversation, in records.")
    records: Records = Field(description="What became of its records.")
    findings: dict[str, Count] = Field(description="What was noticed: how often, by code.")
    failure: str | None = Field(
        default=None, description="Why it could not be read to its end; missing when it could be."
    )
    traceback: str | None = Field(default=None, description="Only where the failure is a bug of palaver.")


class ArchiveChanges(Part):
    """What the import changed in the archive, in conversations."""

    added: Count = Field(description="New ones.")
    updated: Count = Field(description="Known ones that hold more now.")
    unchanged: Count = Field(description="Known ones without anything new.")
    forgotten: Count | None = Field(
        default=None, description="Left out, since the user had them forgotten; missing when that was not looked at."
    )


class Totals(Part):
    """Sums over everything that was read."""

    sources: Count = Field(description="Sources that were read.")
    bytes: Count = Field(description="Their size.")
    conversations: Count = Field(description="Conversations that came out of them.")
    messages: Count = Field(description="Messages in them.")
    usage_records: Count = Field(description="What they say was used without a conversation, in records.")
    records: Records = Field(description="What became of their records.")
    findings: dict[str, Count] = Field(description="What was noticed: how often, by code.")
    unchanged_sources: Count | None = Field(
        default=None, description="Sources that are as they were when they were read, and were not opened again."
    )
    archive: ArchiveChanges | None = Field(
        default=None, description="What changed in the archive; missing when the import went elsewhere."
    )


class ImportAnswer(Answer):
    """What an import did, source by source, and in total."""

    sources: list[ImportedSource] = Field(description="Every source that was read, in order.")
    unclaimed: list[str] = Field(description="Files inside folders that no importer reads.")
    refused: list[str] = Field(description="A sentence for each path that could not be read at all.")
    totals: Totals = Field(description="The sums over all sources.")


ANSWER = ImportAnswer
