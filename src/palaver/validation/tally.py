"""The running totals of a report: counts and first examples, so that a million messages fit in memory.

Each source is tallied on its own, in the process that reads it; `ReportTally.merge` combines them in the order of the
sources.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import orjson

from palaver.model.build import JsonObject
from palaver.model.finding import Severity
from palaver.model.ledger import Ledger
from palaver.model.rules import Path
from palaver.validation.coverage import CoverageTally
from palaver.validation.judge import Level, Verdict
from palaver.validation.schema import json_pointer

Stage = Literal["reading", "schema", "rule"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_MAX_EXCERPT = 160
_MAX_UNKNOWN_KINDS = 1_000
"""Limit on distinct kinds; a hostile source could make up any number."""


class ReportedFinding(NamedTuple):
    """A finding of the reader, the schema or a rule."""

    code: str
    severity: Severity
    stage: Stage
    message: str
    where: str = ""
    line: int | None = None
    conversation_id: str | None = None
    pointer: str | None = None
    excerpt: str | None = None


class GroupKey(NamedTuple):
    """What the findings of a group have in common; one rule may find errors and warnings."""

    stage: Stage
    code: str
    severity: Severity


@dataclass(slots=True)
class FindingGroup:
    """The findings of one stage, code and severity."""

    count: int = 0
    sources: int = 0
    examples: list[tuple[str, ReportedFinding]] = field(default_factory=list[tuple[str, ReportedFinding]])
    """The first findings, each with its source."""


@dataclass(slots=True)
class UnknownKind:
    """A kind of record that no importer knows: its count and first occurrence."""

    count: int
    source: str
    conversation_id: str
    number: int = 0
    """The number of that source."""


@dataclass(slots=True)
class SourceTally:
    """The totals of one source."""

    source: str
    read_as: str
    size_bytes: int = 0
    documents: int = 0
    invalid_documents: int = 0
    conversations: int = 0
    messages: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    failure: str = ""
    max_examples: int = 20
    groups: dict[GroupKey, FindingGroup] = field(default_factory=dict[GroupKey, FindingGroup])
    coverage: dict[str, CoverageTally] = field(default_factory=dict[str, CoverageTally])
    drift: dict[tuple[str, str, str], UnknownKind] = field(default_factory=dict[tuple[str, str, str], UnknownKind])
    _invalid_ids: set[str | None] = field(default_factory=set[str | None])

    def add(self, finding: ReportedFinding, count: int = 1) -> None:
        key = GroupKey(finding.stage, finding.code, finding.severity)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = FindingGroup(sources=1)
        group.count += count
        if count and len(group.examples) < self.max_examples:
            group.examples.append((self.source, finding))

    def add_verdicts(self, document: JsonObject, verdicts: Iterable[Verdict], line: int | None = None) -> None:
        """Count the verdicts on a document, with an excerpt for each example.

        A conversation with an error counts as one invalid document, also when its document is judged in two steps.
        """
        is_invalid = False
        stated_id = document.get("conversation_id")
        conversation_id = stated_id if isinstance(stated_id, str) else None
        for verdict in verdicts:
            is_invalid |= verdict.severity == "error"
            group = self.groups.get(GroupKey(verdict.stage, verdict.code, verdict.severity))
            if group is not None and len(group.examples) >= self.max_examples:
                group.count += 1
                continue
            is_here = verdict.location is None
            self.add(
                ReportedFinding(
                    verdict.code,
                    verdict.severity,
                    verdict.stage,
                    verdict.message,
                    "" if is_here else verdict.location or "",
                    line if is_here else None,
                    conversation_id,
                    json_pointer(verdict.path) or "/",
                    excerpt(document, verdict.path) if is_here else None,
                )
            )
        if is_invalid and (conversation_id is None or conversation_id not in self._invalid_ids):
            self.invalid_documents += 1
            self._invalid_ids.add(conversation_id)

    def cover(self, document: JsonObject, describe: Callable[[str], tuple[frozenset[str], frozenset[str]]]) -> None:
        """Add a valid document to the coverage of its platform."""
        platform = document["platform"]["name"]
        own_names, known_kinds = describe(platform)
        coverage = self.coverage.get(platform)
        if coverage is None:
            coverage = self.coverage[platform] = CoverageTally(own_names)
        if coverage.add(document):
            self._add_unknown_kinds(document, platform, known_kinds)

    def _add_unknown_kinds(self, document: JsonObject, platform: str, known_kinds: frozenset[str]) -> None:
        version = document["platform"].get("version") or ""
        for message in document["messages"]:
            for block in message["content"]:
                if block["type"] == "opaque" and block["kind"] not in known_kinds:
                    stated = (message.get("metadata") or {}).get("version")
                    key = platform, block["kind"], stated if isinstance(stated, str) else version
                    self.add_unknown_kind(key, UnknownKind(1, self.source, document["conversation_id"]))

    def add_unknown_kind(self, key: tuple[str, str, str], unknown: UnknownKind) -> None:
        """Count a kind of record that no importer knows, by platform, kind and version."""
        if known := self.drift.get(key):
            first = min(known, unknown, key=lambda occurrence: occurrence.number)
            self.drift[key] = replace(first, count=known.count + unknown.count)
        elif len(self.drift) < _MAX_UNKNOWN_KINDS:
            self.drift[key] = unknown

    def close(self) -> None:
        self._invalid_ids.clear()
        for coverage in self.coverage.values():
            coverage.close()

    def severities(self) -> dict[Severity, int]:
        counts = dict.fromkeys(SEVERITIES, 0)
        for key, group in self.groups.items():
            counts[key.severity] += group.count
        return counts

    def fails(self, level: Level) -> bool:
        return bool(self.failure) or not self.ledger.adds_up or any(level.fails(key.severity) for key in self.groups)


class ReportTally:
    """The totals over all sources."""

    def __init__(self, max_examples: int) -> None:
        self.total = SourceTally("", "", max_examples=max_examples)
        self.sources: list[JsonObject] = []
        self._numbers: list[int] = []
        self._examples: dict[GroupKey, list[tuple[int, tuple[str, ReportedFinding]]]] = {}

    def merge(self, number: int, tally: SourceTally, entry: JsonObject) -> None:
        """Add a checked source; `entry` is its entry in the report."""
        total = self.total
        self.sources.append(entry)
        self._numbers.append(number)
        total.size_bytes += tally.size_bytes
        total.documents += tally.documents
        total.invalid_documents += tally.invalid_documents
        total.conversations += tally.conversations
        total.messages += tally.messages
        total.ledger.add(tally.ledger)
        for key, group in tally.groups.items():
            known = total.groups.setdefault(key, FindingGroup())
            known.count += group.count
            known.sources += group.sources
            examples = self._examples.setdefault(key, [])
            examples += [(number, example) for example in group.examples]
            examples.sort(key=lambda numbered: numbered[0])
            del examples[total.max_examples :]
        for platform, coverage in tally.coverage.items():
            total.coverage.setdefault(platform, CoverageTally()).merge(coverage)
        for key, unknown in tally.drift.items():
            total.add_unknown_kind(key, replace(unknown, number=number))

    def close(self) -> None:
        """Put sources and examples in order."""
        order = sorted(range(len(self._numbers)), key=self._numbers.__getitem__)
        self.sources = [self.sources[index] for index in order]
        for key, examples in self._examples.items():
            self.total.groups[key].examples = [example for _, example in examples]


def excerpt(document: Any, path: Path) -> str | None:
    """Return the beginning of the value at a path, on one line; None if there is no value, or if it is all messages."""
    if path in {(), ("messages",)}:
        return None
    for part in path:
        match document:
            case dict() if part in document:
                document = document[part]
            case list() if isinstance(part, int) and 0 <= part < len(document):
                document = document[part]
            case _:
                return None
    text = ""
    if isinstance(document, str):
        text = document
    else:
        try:
            text = orjson.dumps(document).decode()
        except TypeError:  # nested too deeply, not Unicode, or an integer past 64 bits
            with suppress(RecursionError):
                text = repr(document)
    text = " ".join(text[: 4 * _MAX_EXCERPT].split())
    return (text if len(text) <= _MAX_EXCERPT else f"{text[:_MAX_EXCERPT]}…") or None
