"""Everything that goes into a report, added up: counts and first examples, so that a million messages fit.

Each source is added up on its own, by whichever process reads it; merging puts them together in the order of the
sources.
"""

from collections import Counter
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
from palaver.validation.judge import Verdict
from palaver.validation.levels import Level
from palaver.validation.schema import pointer

Stage = Literal["reading", "schema", "rule"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_EXCERPT = 160
_DRIFT_KEPT = 1_000
"""Kinds that are told apart; a hostile source could make up any number."""


class Found(NamedTuple):
    """One finding, wherever it comes from."""

    code: str
    severity: Severity
    stage: Stage
    message: str
    where: str = ""
    line: int | None = None
    conversation_id: str | None = None
    pointer: str | None = None
    excerpt: str | None = None


@dataclass(slots=True)
class Group:
    """All findings of one code and stage."""

    counts: Counter[Severity] = field(default_factory=Counter["Severity"])
    sources: int = 0
    examples: list[tuple[str, Found]] = field(default_factory=list[tuple[str, Found]])
    """The first ones, each with its source."""

    @property
    def count(self) -> int:
        return self.counts.total()

    @property
    def severity(self) -> Severity:
        """The gravest."""
        for severity in SEVERITIES:
            if self.counts[severity]:
                return severity
        return "note"


@dataclass(slots=True)
class Met:
    """A kind that no importer knows: how often, and where it was met first."""

    count: int
    source: str
    conversation_id: str
    number: int = 0
    """Which source that is, in their order."""


@dataclass(slots=True)
class SourceTally:
    """What was found out about one source."""

    source: str
    read_as: str
    size_bytes: int = 0
    documents: int = 0
    invalid_documents: int = 0
    conversations: int = 0
    messages: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    failure: str = ""
    most_examples: int = 20
    groups: dict[tuple[Stage, str], Group] = field(default_factory=dict[tuple[Stage, str], Group])
    coverage: dict[str, CoverageTally] = field(default_factory=dict[str, CoverageTally])
    drift: dict[tuple[str, str, str], Met] = field(default_factory=dict[tuple[str, str, str], Met])

    def add(self, found: Found, count: int = 1) -> None:
        key = found.stage, found.code
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(sources=1)
        group.counts[found.severity] += count
        if count and len(group.examples) < self.most_examples:
            group.examples.append((self.source, found))

    def add_verdicts(self, document: JsonObject, verdicts: Iterable[Verdict], line: int | None = None) -> None:
        """Count what a judge said of a document, with an excerpt for those that are shown."""
        is_invalid = False
        conversation_id = document.get("conversation_id")
        for verdict in verdicts:
            is_invalid |= verdict.severity == "error"
            group = self.groups.get((verdict.stage, verdict.code))
            if group is not None and len(group.examples) >= self.most_examples:
                group.counts[verdict.severity] += 1
                continue
            is_here = verdict.place is None
            self.add(
                Found(
                    verdict.code,
                    verdict.severity,
                    verdict.stage,
                    verdict.message,
                    "" if is_here else verdict.place or "",
                    line if is_here else None,
                    conversation_id if isinstance(conversation_id, str) else None,
                    pointer(verdict.path) or "/",
                    excerpt(document, verdict.path) if is_here else None,
                )
            )
        self.invalid_documents += is_invalid

    def cover(self, document: JsonObject, describe: Callable[[str], tuple[frozenset[str], frozenset[str]]]) -> None:
        """Add a document that meets the schema to the coverage of its platform."""
        platform = document["platform"]["name"]
        own_names, known_kinds = describe(platform)
        coverage = self.coverage.get(platform)
        if coverage is None:
            coverage = self.coverage[platform] = CoverageTally(own_names)
        if coverage.add(document):
            self._meet_unknown(document, platform, known_kinds)

    def _meet_unknown(self, document: JsonObject, platform: str, known_kinds: frozenset[str]) -> None:
        version = document["platform"].get("version") or ""
        for message in document["messages"]:
            for block in message["content"]:
                if block["type"] == "opaque" and block["kind"] not in known_kinds:
                    stated = (message.get("metadata") or {}).get("version")
                    key = platform, block["kind"], stated if isinstance(stated, str) else version
                    self.meet(key, Met(1, self.source, document["conversation_id"]))

    def meet(self, key: tuple[str, str, str], met: Met) -> None:
        """Count a kind that no importer knows, by platform, kind and version."""
        if known := self.drift.get(key):
            first = min(known, met, key=lambda one: one.number)
            self.drift[key] = replace(first, count=known.count + met.count)
        elif len(self.drift) < _DRIFT_KEPT:
            self.drift[key] = met

    def close(self) -> None:
        for coverage in self.coverage.values():
            coverage.close()

    def severities(self) -> dict[Severity, int]:
        counts = dict.fromkeys(SEVERITIES, 0)
        for group in self.groups.values():
            for severity, count in group.counts.items():
                counts[severity] += count
        return counts

    def fails(self, level: Level) -> bool:
        return (
            bool(self.failure)
            or not self.ledger.adds_up
            or any(level.fails(group.severity) for group in self.groups.values())
        )


class ReportTally:
    """Sources put together in their order."""

    def __init__(self, most_examples: int) -> None:
        self.total = SourceTally("", "", most_examples=most_examples)
        self.sources: list[JsonObject] = []
        self._numbers: list[int] = []
        self._examples: dict[tuple[Stage, str], list[tuple[int, tuple[str, Found]]]] = {}

    def merge(self, number: int, tally: SourceTally, told: JsonObject) -> None:
        """Take in a source that was checked; `told` is what is said of it."""
        total = self.total
        self.sources.append(told)
        self._numbers.append(number)
        total.size_bytes += tally.size_bytes
        total.documents += tally.documents
        total.invalid_documents += tally.invalid_documents
        total.conversations += tally.conversations
        total.messages += tally.messages
        total.ledger.add(tally.ledger)
        for key, group in tally.groups.items():
            known = total.groups.setdefault(key, Group())
            known.counts.update(group.counts)
            known.sources += group.sources
            examples = self._examples.setdefault(key, [])
            examples += [(number, example) for example in group.examples]
            examples.sort(key=lambda numbered: numbered[0])
            del examples[total.most_examples :]
        for platform, coverage in tally.coverage.items():
            total.coverage.setdefault(platform, CoverageTally()).merge(coverage)
        for key, met in tally.drift.items():
            total.meet(key, replace(met, number=number))

    def close(self) -> None:
        """Put sources and examples in order."""
        order = sorted(range(len(self._numbers)), key=self._numbers.__getitem__)
        self.sources = [self.sources[index] for index in order]
        for key, examples in self._examples.items():
            self.total.groups[key].examples = [example for _, example in examples]


def excerpt(document: Any, path: Path) -> str | None:
    """The beginning of what stands at a path, on one line; nothing where nothing stands, or everything."""
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
        except TypeError:  # nested too deeply, no Unicode, or an integer past 64 bits
            with suppress(RecursionError):
                text = repr(document)
    text = " ".join(text[: 4 * _EXCERPT].split())
    return (text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…") or None
