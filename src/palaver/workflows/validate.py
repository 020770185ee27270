"""Validate the files that the user named, or the archive: read everything, judge every document, build a report.

    paths ──find──▶ units ──read──▶ documents ──judge──▶ tallies ──merge──▶ report

A platform's files are imported in memory, and the documents that an import would produce are judged. A file of
palaver's own documents must be correct as it is, since other programs read it too: damage that an import would repair
is an error.
"""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from palaver.archive import documents
from palaver.archive.connection import archive_errors, open_to_read
from palaver.archive.findings import reports_by_source
from palaver.errors import PalaverError
from palaver.importers import description, importer, load_all_modules, match_importers, platforms, winner
from palaver.model.build import JsonObject
from palaver.model.finding import Finding, FindingTally
from palaver.model.report import SourceReport
from palaver.model.rules import Rule
from palaver.sources import discovery
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.discovery import Unit
from palaver.sources.jsonl import UNFINISHED_TAIL, JsonLines
from palaver.sources.match import Claim, Match
from palaver.sources.run import Quarantined, Run
from palaver.sources.small_files import json_document
from palaver.sources.source import Source
from palaver.validation.judge import COERCED, Judge, Level, RuleSelection, Verdict
from palaver.validation.palaver_files import identify_palaver_file
from palaver.validation.report import build_report, source_entry
from palaver.validation.rules import RULES
from palaver.validation.rules import cooked as cooked_rules
from palaver.validation.rules import exchange as exchange_rules
from palaver.validation.tally import ReportedFinding, ReportTally, SourceTally
from palaver.workflows.read_unit import read_unit, start_run

Advance = Callable[[int], None]

_LINE = re.compile(r"(?:.*: )?line (\d+)")
_EXCERPT_BYTES = 160
_PARALLEL_THRESHOLD_BYTES = 1 << 25
"""Below this many bytes, starting a process takes longer than it saves."""


@dataclass(frozen=True, slots=True)
class ValidationSettings:
    """The level and rules to judge by, and the number of examples to report."""

    level: Level = Level.STANDARD
    selection: RuleSelection = field(default_factory=RuleSelection)
    max_examples: int = 20

    def new_judge(self) -> Judge:
        return Judge(self.level, self.selection, platform_rules)


@cache
def platform_rules(platform: str) -> tuple[Rule, ...]:
    return description(platform).rules


def all_rules() -> list[Rule]:
    """Return all rules, including those of the platforms."""
    own = [*RULES, *exchange_rules.RULES, *cooked_rules.RULES, COERCED]
    return own + [rule for platform in platforms() for rule in platform_rules(platform)]


@cache
def own_names_and_kinds(platform: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the metadata names and the kinds of opaque blocks that a platform's importer defines."""
    known = description(platform)
    return known.own_names, known.known_kinds


def find_sources(paths: list[Path]) -> discovery.UnitsFound:
    """Find the units at or below some paths; a path without any is refused."""
    return discovery.units_at(paths, _claim, "no palaver documents, and no importer reads it")


def report_on_paths(
    found: discovery.UnitsFound, settings: ValidationSettings, *, jobs: int = 1, advance: Advance = lambda _: None
) -> JsonObject:
    """Judge all units that were found; the report does not depend on the number of processes."""
    tally = ReportTally(settings.max_examples)
    tasks = [_Task(unit, settings) for unit in found.units]
    total_bytes = sum(unit.size_bytes for unit in found.units)
    if (
        jobs > 1
        and len(tasks) > 1
        and total_bytes > _PARALLEL_THRESHOLD_BYTES
        and all(unit.source.is_reopenable for unit in found.units)
    ):
        from palaver.workflows.parallel import run_as_completed

        outcomes = run_as_completed(_outcomes, tasks, jobs=min(jobs, len(tasks)), advance=advance)
    else:
        outcomes = _outcomes(iter(enumerate(tasks)), advance)
    with closing(outcomes):
        for number, source_tally in outcomes:
            tally.merge(number, source_tally, source_entry(source_tally, settings.level))
    return _finish_report(tally, settings, "paths", found.refused, found.unclaimed)


def report_on_archive(path: Path, settings: ValidationSettings, *, advance: Advance = lambda _: None) -> JsonObject:
    """Judge every conversation in the archive, and include the findings of the imports."""
    tally = ReportTally(settings.max_examples)
    with closing(open_to_read(path)) as connection, archive_errors(path):
        (conversations,) = connection.execute("select count(*) from conversation").fetchone()
        step_bytes = path.stat().st_size // max(1, conversations)
        for number, (stored, keys) in enumerate(reports_by_source(connection)):
            source_tally = SourceTally(
                stored.source, stored.platform, stored.size_bytes, max_examples=settings.max_examples
            )
            source_tally.ledger, source_tally.failure = stored.ledger, stored.failure
            judge = settings.new_judge()
            for key in keys:
                for document in documents.conversation_documents(connection, key):
                    source_tally.documents += 1
                    source_tally.messages += len(document["messages"])
                    source_tally.add_verdicts(document, judge.judge(document))
                    source_tally.cover(document, own_names_and_kinds)
                source_tally.conversations += 1
                advance(step_bytes)
            _close_judge(judge, source_tally)
            _add_findings(source_tally, stored.findings, {})
            source_tally.close()
            tally.merge(number, source_tally, source_entry(source_tally, settings.level))
    return _finish_report(tally, settings, "archive", [], [])


def _claim(source: Source) -> Claim | str | None:
    if not source.is_folder and (own := identify_palaver_file(source)):
        return Claim(own.kind, Match.yes(own.reason, form=own.form))
    judgements = match_importers(source, platforms())
    if claim := winner(judgements, source.label):
        return claim
    return next((match.reason for match in judgements.values() if match.reason), None)


@dataclass(frozen=True, slots=True)
class _Task:
    unit: Unit
    settings: ValidationSettings


def _outcomes(tasks: Iterator[tuple[int, _Task]], advance: Advance) -> Generator[tuple[int, SourceTally]]:
    for number, task in tasks:
        yield number, _check_unit(task.unit, task.settings, advance)


def _check_unit(unit: Unit, settings: ValidationSettings, advance: Advance) -> SourceTally:
    tally = SourceTally(unit.source.label, unit.platform, unit.size_bytes, max_examples=settings.max_examples)
    check = _OWN_FILE_CHECKS.get(unit.match.form if unit.platform in _OWN_KINDS else "", _check_import)
    try:
        check(unit, tally, settings.new_judge(), advance)
    except Exception as error:  # noqa: BLE001 - a bug of ours must not end the run
        tally.failure = f"{type(error).__name__}: {error} (this is a bug in palaver)"
    tally.close()
    return tally


def _check_import(unit: Unit, tally: SourceTally, judge: Judge, advance: Advance) -> None:
    report = SourceReport(unit.source.label, unit.platform)
    excerpts: dict[tuple[str, str], str] = {}

    def keep_excerpt(quarantined: Quarantined) -> None:
        if len(excerpts) < tally.max_examples:
            raw = quarantined.raw[:_EXCERPT_BYTES].decode(errors="replace")
            excerpts[quarantined.code, quarantined.where] = raw

    run = start_run(unit, report, {}, keep_excerpt, advance)
    for document in read_unit(unit, run, report, lambda document: (document,)):
        tally.documents += 1
        tally.add_verdicts(document, judge.judge(document, is_sound=True))
        tally.cover(document, own_names_and_kinds)
    _close_judge(judge, tally)
    tally.conversations, tally.messages, tally.size_bytes = report.conversations, report.messages, report.size_bytes
    tally.failure = report.failure
    tally.ledger = report.ledger
    _add_findings(tally, report.findings, excerpts)


def _check_lines(unit: Unit, tally: SourceTally, judge: Judge, advance: Advance) -> None:
    run = Run(unit.source.label, advance=advance)
    try:
        with unit.source.open() as stream:
            is_array = unit.match.form == "array"
            records = JsonElements(stream, run, accepts_truncated=True) if is_array else JsonLines(stream, run)
            for record in records:
                line = records.number if isinstance(records, JsonLines) else None
                if not isinstance(record, dict):
                    run.quarantined(NOT_AN_OBJECT, records.raw, records.where(), "a document must be a JSON object")
                    continue
                run.mapped()
                _judge_document(record, unit.platform, tally, judge, where=records.where(), line=line)
    except (PalaverError, OSError) as error:
        tally.failure = str(error)
    _finish_own_file(unit, tally, judge, run)


def _check_whole(unit: Unit, tally: SourceTally, judge: Judge, advance: Advance) -> None:
    run = Run(unit.source.label, advance=advance)
    try:
        for document in json_document(unit.source, run):
            run.mapped()
            _judge_document(document, unit.platform, tally, judge)
    except (PalaverError, OSError) as error:
        tally.failure = str(error)
    _finish_own_file(unit, tally, judge, run)


def _judge_document(
    document: JsonObject, kind: str, tally: SourceTally, judge: Judge, *, where: str = "", line: int | None = None
) -> None:
    tally.documents += 1
    if kind == "exchange" or kind == "cooked" or kind == "usage":  # noqa: PLR1714 - so that the type is known
        tally.add_verdicts(document, judge.judge_by_kind(document, kind), line)
        return
    messages = document.get("messages")
    tally.messages += len(messages) if isinstance(messages, list) else 0
    fragment = document.get("fragment")
    tally.conversations += not isinstance(fragment, dict) or fragment.get("final") is not False
    verdicts = judge.judge(document, where)
    tally.add_verdicts(document, verdicts, line)
    if not any(verdict.stage == "schema" and verdict.severity == "error" for verdict in verdicts):
        tally.cover(judge.judged_document, own_names_and_kinds)


def _finish_own_file(unit: Unit, tally: SourceTally, judge: Judge, run: Run) -> None:
    """Add the findings of reading one of palaver's own files; damage is an error even if an import would repair it."""
    _close_judge(judge, tally)
    tally.size_bytes = unit.size_bytes
    tally.ledger = run.ledger
    findings = FindingTally(run.findings.counts)
    for finding in run.findings.first:
        is_damage = finding.severity != "note" or finding.code == UNFINISHED_TAIL.code
        severity = "error" if is_damage else "note"
        findings.first.append(
            Finding(finding.code, severity, finding.source, finding.where, finding.message, finding.kept)
        )
    _add_findings(tally, findings, {})


_OWN_KINDS = {"ucs", "exchange", "cooked", "usage"}
_OWN_FILE_CHECKS = {"lines": _check_lines, "array": _check_lines, "whole": _check_whole}


def _close_judge(judge: Judge, tally: SourceTally) -> None:
    verdicts_by_id: dict[str, list[Verdict]] = {}
    for conversation_id, verdict in judge.close():
        verdicts_by_id.setdefault(conversation_id, []).append(verdict)
    for conversation_id, verdicts in verdicts_by_id.items():
        tally.add_verdicts({"conversation_id": conversation_id}, verdicts)


def _add_findings(tally: SourceTally, findings: FindingTally, excerpts: dict[tuple[str, str], str]) -> None:
    """Add the findings of reading; a rule that found the same in the documents is not reported again."""
    uncounted = dict(findings.counts)
    for finding in findings.first:
        line = _LINE.match(finding.where)
        found = ReportedFinding(
            finding.code,
            finding.severity,
            "reading",
            finding.message,
            finding.where,
            int(line[1]) if line else None,
            excerpt=excerpts.get((finding.code, finding.where)),
        )
        tally.add(found)
        uncounted[finding.code] -= 1
    for code, count in uncounted.items():
        group = next(group for key, group in tally.groups.items() if key[:2] == ("reading", code))
        group.count += count  # only the first locations of a frequent finding are known
    for code, count in findings.counts.items():
        by_rule = {key: group.count for key, group in tally.groups.items() if key[:2] == ("rule", code)}
        if sum(by_rule.values()) <= count:
            for key in by_rule:
                del tally.groups[key]


def _finish_report(
    tally: ReportTally, settings: ValidationSettings, subject: str, refused: list[str], unclaimed: list[str]
) -> JsonObject:
    for platform in {source["read_as"] for source in tally.sources} & set(platforms()):
        load_all_modules(platform)  # registers the meanings of findings made in other processes
    selected_rules = [rule for rule in all_rules() if _is_selected(rule, settings)]
    return build_report(
        tally,
        subject=subject,
        level=settings.level,
        rules=selected_rules,
        refused=refused,
        unclaimed=unclaimed,
        title=lambda platform: importer(platform).title if platform in platforms() else platform,
    )


def _is_selected(rule: Rule, settings: ValidationSettings) -> bool:
    if rule.name == "unknown-key":
        return settings.level is Level.STRICT
    if rule.name == "coerced":
        return settings.level is Level.LENIENT
    if rule.scope == "schema":
        return True
    return settings.level is not Level.LENIENT and rule.name in settings.selection
