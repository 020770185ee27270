"""Output of `validate` (also written by `--report`), `findings`, `doctor` and `quarantine list|show|retry`."""

from typing import Literal

from pydantic import Field

from palaver.model.blocks import Amount, Count, LineNumber
from palaver.model.conversation import Timestamp
from palaver.model.json_output.answer import Answer, Part
from palaver.model.json_output.imports import Records

SeverityWord = Literal["error", "warning", "note"]


class Severities(Part):
    """How many findings there are of each severity."""

    error: Count = Field(description="What breaks meaning: these make the whole invalid.")
    warning: Count = Field(description="What looks wrong; at the level `strict` it makes the whole invalid.")
    note: Count = Field(description="What is worth knowing.")


class ReportTotals(Part):
    """Sums over everything that was checked."""

    sources: Count = Field(description="Sources that were checked.")
    bytes: Count = Field(description="Their size.")
    documents: Count = Field(description="Documents that were judged; a long conversation comes as several.")
    invalid_documents: Count = Field(description="Documents with an error.")
    conversations: Count = Field(description="Conversations in them.")
    messages: Count = Field(description="Messages in them.")
    records: Records = Field(description="What became of every record that was read.")
    severities: Severities = Field(description="All findings, by severity.")


class ReportedSource(Part):
    """What was found out about one source."""

    source: str = Field(description="The path; `ZIP!member` inside a ZIP, `-` for standard input.")
    read_as: str = Field(
        description="The platform whose importer read it; `ucs`, `exchange`, `cooked` and `usage` are files of "
        "documents of palaver's own, judged as they stand."
    )
    valid: bool = Field(description="True when nothing in it fails at the level of the report.")
    bytes: Count = Field(description="Its size.")
    documents: Count = Field(description="Documents that were judged.")
    conversations: Count = Field(description="Conversations in them.")
    messages: Count = Field(description="Messages in them.")
    records: Records = Field(description="What became of its records.")
    severities: Severities = Field(description="Its findings, by severity.")
    findings: dict[str, Count] = Field(description="Its findings: how often, by code.")
    failure: str | None = Field(description="Why it could not be read to its end; null when it could be.")


class Example(Part):
    """One finding, and where it is."""

    source: str = Field(description="The source; empty for what was found in the archive itself.")
    line: LineNumber | None = Field(description="The line of the file, where there are lines.")
    where: str = Field(description="The place in words; empty when nothing more is known.")
    conversation_id: str | None = Field(description="The conversation, where it is known.")
    pointer: str | None = Field(description="JSON pointer into the document, where it is about one.")
    message: str = Field(description="What was found there.")
    excerpt: str | None = Field(description="The beginning of what stands there.")


class FindingGroup(Part):
    """All findings of one code that were made at one stage."""

    code: str = Field(description="What was found, in a word.")
    stage: Literal["reading", "schema", "rule"] = Field(
        description="Noticed while the source was read, or by the published schema, or by a rule."
    )
    severity: SeverityWord = Field(description="The gravest of them.")
    meaning: str = Field(description="What such a finding means.")
    count: Count = Field(description="How often.")
    sources: Count = Field(description="In how many sources.")
    examples: list[Example] = Field(description="The first of them, as many as `--max-errors` allows.")


class FieldCoverage(Part):
    """How often a field of the schema is filled."""

    field: str = Field(description="The field, such as `context.workspace.path` or `messages[].tokens.input_tokens`.")
    conversations: Count = Field(description="Conversations in which it is filled at least once.")
    share: Amount = Field(description="That in parts of all conversations of the platform, from 0 to 1.")


class UnmappedField(Part):
    """A field of the source that has no place in the schema, and was kept under its own name."""

    field: str = Field(description="Where it is kept, such as `messages[].metadata.requestId`.")
    conversations: Count = Field(description="Conversations with it.")
    share: Amount = Field(description="That in parts of all conversations of the platform, from 0 to 1.")
    count: Count = Field(description="How often it was kept.")


class Coverage(Part):
    """What the conversations of one platform are made of."""

    platform: str = Field(description="The platform that the documents name.")
    title: str = Field(description="The product's own name, where palaver knows it.")
    conversations: Count = Field(description="Its conversations.")
    messages: Count = Field(description="Its messages.")
    roles: dict[str, Count] = Field(description="Messages by role.")
    blocks: dict[str, Count] = Field(description="Blocks of content by type.")
    versions: dict[str, Count] = Field(description="Conversations by version of the product, where it is stated.")
    fields: list[FieldCoverage] = Field(description="Every field of the schema, in its order.")
    unmapped: list[UnmappedField] = Field(description="Source fields without a place in the schema, frequent first.")
    unmapped_more: Count = Field(description="How many more of these there are.")


class Drift(Part):
    """A kind of record that the importer does not know: the product may have changed."""

    platform: str = Field(description="The platform.")
    kind: str = Field(description="What the source calls it.")
    version: str | None = Field(description="The version of the product that wrote it, where it is stated.")
    count: Count = Field(description="How often it was met.")
    source: str = Field(description="Where it was met first.")
    conversation_id: str = Field(description="The conversation it was met in first.")


class Report(Answer):
    """What was found out about sources, documents or the archive."""

    schema_version: str = Field(description="Version of this shape.")
    palaver_version: str = Field(description="The palaver that wrote it.")
    generated_at: str = Field(description="When, UTC.")
    subject: Literal["paths", "archive"] = Field(description="Whether paths were checked, or the archive.")
    level: Literal["strict", "standard", "lenient"] = Field(description="What counts as invalid.")
    rules: list[str] = Field(description="The rules that were asked, by name.")
    valid: bool = Field(description="True when everything could be checked, and nothing failed.")
    refused: list[str] = Field(description="A sentence for each path or file that could not be checked.")
    unclaimed: list[str] = Field(description="Files inside folders that no importer reads.")
    totals: ReportTotals = Field(description="The sums over all sources.")
    sources: list[ReportedSource] = Field(description="Every source, in order.")
    findings: list[FindingGroup] = Field(description="What was found, the gravest and then the most frequent first.")
    coverage: list[Coverage] = Field(description="What the conversations are made of, by platform.")
    drift: list[Drift] = Field(description="Kinds of records that no importer knows, the most frequent first.")


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


class SetAside(Part):
    """Bytes that could not be read."""

    number: Count = Field(description="Its number, for `palaver quarantine show`.")
    source: str = Field(description="Path of the source; `ZIP!member` inside a ZIP.")
    platform: str = Field(description="The importer that read it.")
    where: str = Field(description="The place in the source.")
    code: str = Field(description="The code of the finding.")
    message: str = Field(description="Why it was refused.")
    set_aside_at: Timestamp = Field(description="When that was, UTC.")
    size_bytes: Count = Field(description="How many bytes there are.")


class QuarantineListAnswer(Answer):
    """What was set aside since it could not be read."""

    entries: list[SetAside] = Field(description="Everything that is set aside, source by source.")


class QuarantineShowAnswer(SetAside, Answer):
    """Bytes that were set aside, with where they come from."""

    text: str | None = Field(description="The bytes, where they are UTF-8.")
    base64: str | None = Field(description="The bytes in base64, where they are not.")


class RetriedEntry(SetAside):
    """What became of one entry."""

    outcome: Literal["read", "refused", "kept"] = Field(
        description="`read`: it is no longer set aside; `refused`: again; `kept`: its source could not be read again."
    )
    reason: str = Field(description="Why it is kept; else empty.")


class QuarantineRetryAnswer(Answer):
    """What became of everything that was set aside."""

    entries: list[RetriedEntry] = Field(description="Everything that was set aside from the sources that were tried.")
    new: list[SetAside] = Field(description="What these sources refused now and did not before.")
