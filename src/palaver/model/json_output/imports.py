"""Output of `import`, `scan`, `sources`, `identify`, and of `palaver` without a command."""

from typing import ClassVar, Literal

from pydantic import Field

from palaver.model.blocks import Count
from palaver.model.json_output.answer import Answer, Part


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
    removed: Count = Field(
        description="Known ones that left, since a higher revision of the importer no longer yields them."
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
    reread: Count | None = Field(
        default=None,
        description="Of the sources, those that an earlier revision of their importer read before; missing when the "
        "import did not look at the archive.",
    )
    unchanged_sources: Count | None = Field(
        default=None, description="Sources that are as they were when they were read, and were not opened again."
    )
    archive: ArchiveChanges | None = Field(
        default=None, description="What changed in the archive; missing when the import went elsewhere."
    )


class ImportAnswer(Answer):
    """What an import did, source by source, and in total."""

    SCHEMA_VERSION: ClassVar[str] = "1.1.0"

    sources: list[ImportedSource] = Field(description="Every source that was read, in order.")
    unclaimed: list[str] = Field(description="Files inside folders that no importer reads.")
    refused: list[str] = Field(description="A sentence for each path that could not be read at all.")
    released: list[str] = Field(
        description="Sources that their importer no longer claims: what was misread of them leaves the archive."
    )
    totals: Totals = Field(description="The sums over all sources.")


class ScanAnswer(ImportAnswer):
    """What a scan found on this machine and imported, source by source, and in total."""


class Location(Part):
    """A place where a platform keeps its files."""

    path: str = Field(description="The place on this machine.")
    exists: bool = Field(description="Whether there is anything.")


class ImporterOption(Part):
    """An option of an importer: `-O NAME=VALUE`."""

    name: str = Field(description="Its name.")
    type: Literal["bool", "int", "float", "path", "text"] = Field(description="What its value is.")
    default: bool | int | float | str | None = Field(description="Its value when it is not given.")
    description: str = Field(description="What it does.")


class KnownSource(Part):
    """One platform that can be imported."""

    platform: str = Field(description="Its name on the command line and in documents.")
    title: str = Field(description="Its name for people.")
    record: str = Field(description="What the ledger counts: a line, a row, a node with a message.")
    locations: list[Location] = Field(
        description="Where `palaver scan` looks; empty for what people save where they like."
    )
    options: list[ImporterOption] = Field(description="Options of its importer.")


class SourcesAnswer(Answer):
    """Everything that can be imported."""

    sources: list[KnownSource] = Field(description="Every platform, by name.")


class IdentifiedFile(Part):
    """The verdict on one file, or on one source of several files."""

    path: str = Field(description="The path; `ZIP!member` inside a ZIP, `-` for standard input.")
    platform: str | None = Field(description="The importer that reads it, if any does.")
    verdict: Literal["yes", "maybe", "no", "conflict", "problem"] = Field(
        description="How sure that importer is; `no` when there is none, `conflict` when several claim the file, "
        "`problem` when it cannot be read."
    )
    reason: str = Field(description="What the importer recognized, or what is wrong; may be empty.")
    kind: str | None = Field(
        description="What a file is that no importer reads, such as `Codex CLI session`; null for any other."
    )
    members: list[str] = Field(description="Files and folders beside it that belong to it.")
    claimed_by: list[str] = Field(description="The importers of a conflict; otherwise empty.")


class IdentifyAnswer(Answer):
    """Which importer reads each file, and why."""

    SCHEMA_VERSION: ClassVar[str] = "1.1.0"

    files: list[IdentifiedFile] = Field(description="Every file at or below the paths.")
    refused: list[str] = Field(description="A sentence for each path that could not be looked at.")


class PlatformHoldings(Part):
    """What the archive holds of one platform."""

    platform: str = Field(description="Its name on the command line and in documents.")
    conversations: Count = Field(description="Conversations, those of agents included.")
    agents: Count = Field(description="How many of them are those of agents.")
    messages: Count = Field(description="Messages in them.")
    newest: str = Field(description="When the newest of them last changed.")


class HomeAnswer(Answer):
    """What is in the archive, what is new since the last import, and what to do next."""

    archive: str = Field(description="Path of the archive, which need not exist yet.")
    conversations: Count = Field(description="All conversations in the archive.")
    messages: Count = Field(description="All messages in them.")
    platforms: list[PlatformHoldings] = Field(description="By platform, the most conversations first.")
    last_import: str | None = Field(description="When a source was last read; null if none was.")
    new_files: dict[str, Count] = Field(
        description="Files on this machine that are new or have changed since they were last read, by platform."
    )
    outdated_sources: dict[str, Count] = Field(
        description="Unchanged sources that this version reads better than the one that imported them, by platform."
    )
    is_complete: bool = Field(description="Whether all places could be looked at in about a second.")
    next: list[str] = Field(description="Commands that fit now.")
