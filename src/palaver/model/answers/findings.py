"""The answer of `palaver findings`: what was noticed when sources were read."""

from typing import Literal

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.blocks import Count


class FindingPlace(Part):
    """One finding."""

    where: str = Field(description="The place in the source; empty when it is the whole of it.")
    message: str = Field(description="What was noticed there.")
    kept: bool = Field(description="Whether what it is about is in a document.")


class SourceFindings(Part):
    """Findings of one code in one source."""

    source: str = Field(description="Path of the source; `ZIP!member` inside a ZIP.")
    platform: str = Field(description="The importer that read it.")
    findings: Count = Field(description="How many there are.")
    places: list[FindingPlace] = Field(description="The first of them.")


class CodeFindings(Part):
    """All findings of one code."""

    code: str = Field(description="The code; `docs/findings.md` lists them all.")
    severity: Literal["error", "warning", "note"] = Field(description="The gravest that occurred.")
    meaning: str = Field(description="What such a finding means.")
    findings: Count = Field(description="How many there are.")
    sources: list[SourceFindings] = Field(description="Where they are.")


class FindingsAnswer(Answer):
    """What was noticed when sources were read."""

    findings: list[CodeFindings] = Field(description="By code, the gravest first.")


ANSWER = FindingsAnswer
