"""The answer of `palaver sources`: what can be imported, and where it is looked for."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part


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


ANSWER = SourcesAnswer
