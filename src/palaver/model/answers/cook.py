"""The answer of `palaver cook`: what went into the kitchen, and what came out."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.answers.import_ import Records
from palaver.model.blocks import Count


class Ingredient(Part):
    """What became of one source."""

    source: str = Field(description="The path; `ZIP!member` inside a ZIP, `-` for standard input.")
    read_as: str = Field(description="`trace`, `exchange`, or the platform whose importer read it.")
    records: Records = Field(description="What became of its records.")
    findings: dict[str, Count] = Field(description="What was noticed: how often, by code.")
    failure: str | None = Field(description="Why it could not be read to its end; null when it could be.")


class CookAnswer(Answer):
    """What was cooked."""

    output: str | None = Field(description="The file that was written; null in a dry run.")
    requests: Count = Field(description="Requests.")
    messages: Count = Field(description="Messages that stand once each.")
    tools: Count = Field(description="Tools that stand once each.")
    sources: list[Ingredient] = Field(description="Every source that was read; empty for the archive.")
    unclaimed: list[str] = Field(description="Files inside folders that nobody reads.")
    refused: list[str] = Field(description="A sentence for each path that could not be read at all.")


ANSWER = CookAnswer
