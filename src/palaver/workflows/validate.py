"""From what the user pointed at, or from the archive, to a report: everything is read, judged and added up.

    paths ──find──▶ units ──read──▶ documents ──judge──▶ tallies ──merge──▶ report

Raw files of a platform are imported in memory, and what an import would make of them is judged. A file of palaver's own
documents has to be right by itself, since other programs read it too: damage that an import would repair is an error.
"""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from palaver.archive import reading, retold
from palaver.archive.connection import open_to_read, told
from palaver.errors import PalaverError
from palaver.importers import description, importer, judge, load_whole, platforms, winner
from palaver.model.build import JsonObject
from palaver.model.finding import Finding, FindingTally
from palaver.model.report import SourceReport
from palaver.model.rules import Rule
from palaver.sources import discovery
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.discovery import Claim, Unit
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import UNFINISHED_TAIL, JsonLines
from palaver.sources.run import Quarantined, Run
from palaver.sources.source import Source
from palaver.sources.whole import json_document
from palaver.validation.judge import COERCED, Asked, Judge, Verdict
from palaver.validation.levels import Level
from palaver.validation.recognition import own_form
from palaver.validation.report import report, told_source
from palaver.validation.rules import RULES
from palaver.validation.rules import cooked as cooked_rules
from palaver.validation.rules import exchange as exchange_rules
from palaver.validation.tally import Found, ReportTally, SourceTally
from palaver.workflows.read_unit import read_unit, start_run

Advance = Callable[[int], None]

_LINE = re.compile(r"(?:.*: )?line (\d+)")
_EXCERPT_BYTES = 160
_WORTH_A_PROCESS = 1 << 25
"""Below this many bytes, starting a process takes longer than it saves."""


@dataclass(frozen=True, slots=True)
class Question:
    """How things are to be judged."""

    level: Level = Level.STANDARD
    asked: Asked = field(default_factory=Asked)
    most_examples: int = 20

    def judge(self) -> Judge:
        return Judge(self.level, self.asked, platform_rules)


@cache
def platform_rules(platform: str) -> tuple[Rule, ...]:
    return description(platform).rules


def all_rules() -> list[Rule]:
    """Every rule there is, those of the platforms included."""
    own = [*RULES, *exchange_rules.RULES, *cooked_rules.RULES, COERCED]
    return own + [rule for platform in platforms() for rule in platform_rules(platform)]


@cache
def described(platform: str) -> tuple[frozenset[str], frozenset[str]]:
    known = description(platform)
    return known.own_names, known.known_kinds


# -- paths ----------------------------------------------------------------------------------------------------------


def look_up(paths: list[Path]) -> discovery.Found:
    """The units at some paths; a path without any is refused, with a sentence."""
    return discovery.look_up(paths, _claim, "neither documents of palaver nor anything that an importer reads")


def _claim(source: Source) -> Claim | str | None:
    if not source.is_folder and (own := own_form(source)):
        return Claim(own.kind, own.reason, form=own.form)
    judgements = judge(source, platforms())
    won = winner(judgements, source.label)
    if won is None:
        return next((match.reason for match in judgements.values() if match.reason), None)
    return Claim(won[0], won[1].reason, won[1].members, won[1].form, won[1].size_bytes)


@dataclass(frozen=True, slots=True)
class _Task:
    unit: Unit
    question: Question


def report_on_paths(
    found: discovery.Found, question: Question, *, jobs: int = 1, advance: Advance = lambda _: None
) -> JsonObject:
    """Judge everything that was found, whatever the number of processes."""
    tally = ReportTally(question.most_examples)
    tasks = [_Task(unit, question) for unit in found.units]
    total_bytes = sum(unit.size_bytes for unit in found.units)
    if (
        jobs > 1
        and len(tasks) > 1
        and total_bytes > _WORTH_A_PROCESS
        and all(unit.source.can_move for unit in found.units)
    ):
        from palaver.workflows.parallel import run_as_completed

        outcomes = run_as_completed(_outcomes, tasks, jobs=min(jobs, len(tasks)), advance=advance)
    else:
        outcomes = _outcomes(iter(enumerate(tasks)), advance)
    with closing(outcomes):
        for number, checked in outcomes:
            tally.merge(number, checked, told_source(checked, question.level))
    return _reported(tally, question, "paths", found.refused, found.unclaimed)


def _outcomes(tasks: Iterator[tuple[int, _Task]], advance: Advance) -> Generator[tuple[int, SourceTally]]:
    for number, task in tasks:
        yield number, _checked(task.unit, task.question, advance)


def _checked(unit: Unit, question: Question, advance: Advance) -> SourceTally:
    tally = SourceTally(unit.source.label, unit.platform, unit.size_bytes, most_examples=question.most_examples)
    check = _OWN_FORMS.get(unit.form if unit.platform in _OWN_KINDS else "", _check_import)
    try:
        check(unit, tally, question.judge(), advance)
    except Exception as error:  # noqa: BLE001 - a bug of ours must not end the run
        tally.failure = f"{type(error).__name__}: {error} (this is a bug of palaver)"
    tally.close()
    return tally


def _check_import(unit: Unit, tally: SourceTally, judging: Judge, advance: Advance) -> None:
    done = SourceReport(unit.source.label, unit.platform)
    excerpts: dict[tuple[str, str], str] = {}

    def set_aside(quarantined: Quarantined) -> None:
        if len(excerpts) < tally.most_examples:
            raw = quarantined.raw[:_EXCERPT_BYTES].decode(errors="replace")
            excerpts[quarantined.code, quarantined.where] = raw

    run = start_run(unit, done, {}, set_aside, advance)
    for document in read_unit(unit, run, done, lambda document: (document,)):
        tally.documents += 1
        tally.add_verdicts(document, judging.judge(document, is_sound=True))
        tally.cover(document, described)
    _settle(judging, tally)
    tally.conversations, tally.messages, tally.size_bytes = done.conversations, done.messages, done.size_bytes
    tally.failure = done.failure
    tally.ledger = done.ledger
    _add_findings(tally, done.findings, excerpts)


def _check_lines(unit: Unit, tally: SourceTally, judging: Judge, advance: Advance) -> None:
    run = Run(unit.source.label, advance=advance)
    try:
        with unit.source.open() as stream:
            is_array = unit.form == "array"
            records = JsonElements(stream, run, takes_cut=True) if is_array else JsonLines(stream, run)
            for record in records:
                line = records.number if isinstance(records, JsonLines) else None
                if not isinstance(record, dict):
                    run.quarantined(NOT_AN_OBJECT, records.raw, records.where(), "a document is an object")
                    continue
                run.mapped()
                _judge_one(record, unit.platform, tally, judging, where=records.where(), line=line)
    except (PalaverError, OSError) as error:
        tally.failure = str(error)
    _settle_own(unit, tally, judging, run)


def _check_whole(unit: Unit, tally: SourceTally, judging: Judge, advance: Advance) -> None:
    run = Run(unit.source.label, advance=advance)
    try:
        for document in json_document(unit.source, run):
            run.mapped()
            _judge_one(document, unit.platform, tally, judging)
    except (PalaverError, OSError) as error:
        tally.failure = str(error)
    _settle_own(unit, tally, judging, run)


def _judge_one(
    document: JsonObject, kind: str, tally: SourceTally, judging: Judge, *, where: str = "", line: int | None = None
) -> None:
    tally.documents += 1
    if kind == "exchange" or kind == "cooked" or kind == "usage":  # noqa: PLR1714 - so that the type is known
        tally.add_verdicts(document, judging.judge_other(document, kind), line)
        return
    messages = document.get("messages")
    tally.messages += len(messages) if isinstance(messages, list) else 0
    fragment = document.get("fragment")
    tally.conversations += not isinstance(fragment, dict) or fragment.get("final") is not False
    verdicts = judging.judge(document, where)
    tally.add_verdicts(document, verdicts, line)
    if not any(verdict.stage == "schema" and verdict.severity == "error" for verdict in verdicts):
        tally.cover(judging.as_judged, described)


def _settle_own(unit: Unit, tally: SourceTally, judging: Judge, run: Run) -> None:
    """Damage in a file of documents is an error, also where an import would repair it."""
    _settle(judging, tally)
    tally.size_bytes = unit.size_bytes
    tally.ledger = run.ledger
    noticed = FindingTally(run.findings.counts)
    for finding in run.findings.first:
        is_damage = finding.severity != "note" or finding.code == UNFINISHED_TAIL.code
        severity = "error" if is_damage else "note"
        noticed.first.append(
            Finding(finding.code, severity, finding.source, finding.where, finding.message, finding.kept)
        )
    _add_findings(tally, noticed, {})


_OWN_KINDS = {"ucs", "exchange", "cooked", "usage"}
_OWN_FORMS = {"lines": _check_lines, "array": _check_lines, "whole": _check_whole}


def _settle(judging: Judge, tally: SourceTally) -> None:
    open_ones: dict[str, list[Verdict]] = {}
    for conversation_id, verdict in judging.close():
        open_ones.setdefault(conversation_id, []).append(verdict)
    for conversation_id, verdicts in open_ones.items():
        tally.add_verdicts({"conversation_id": conversation_id}, verdicts)


def _add_findings(tally: SourceTally, findings: FindingTally, excerpts: dict[tuple[str, str], str]) -> None:
    """What was noticed while reading; a rule that found the same in the documents does not say it again."""
    uncounted = dict(findings.counts)
    for finding in findings.first:
        line = _LINE.match(finding.where)
        found = Found(
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
        group = tally.groups["reading", code]
        group.counts[group.severity] += count  # of frequent ones only the first places are known
    for code, count in findings.counts.items():
        again = tally.groups.get(("rule", code))
        if again is not None and again.count <= count:
            del tally.groups["rule", code]


# -- the archive ----------------------------------------------------------------------------------------------------


def report_on_archive(path: Path, question: Question, *, advance: Advance = lambda _: None) -> JsonObject:
    """Judge every conversation in the archive; what was noticed when it was read is told with it."""
    tally = ReportTally(question.most_examples)
    with closing(open_to_read(path)) as connection, told(path):
        (conversations,) = connection.execute("select count(*) from conversation").fetchone()
        step_bytes = path.stat().st_size // max(1, conversations)
        for number, (stored, keys) in enumerate(retold.sources(connection)):
            checked = SourceTally(
                stored.source, stored.platform, stored.size_bytes, most_examples=question.most_examples
            )
            checked.ledger, checked.failure = stored.ledger, stored.failure
            judging = question.judge()
            for key in keys:
                for document in reading.document(connection, key):
                    checked.documents += 1
                    checked.messages += len(document["messages"])
                    checked.add_verdicts(document, judging.judge(document))
                    checked.cover(document, described)
                checked.conversations += 1
                advance(step_bytes)
            _settle(judging, checked)
            _add_findings(checked, stored.findings, {})
            checked.close()
            tally.merge(number, checked, told_source(checked, question.level))
    return _reported(tally, question, "archive", [], [])


def _reported(
    tally: ReportTally, question: Question, subject: str, refused: list[str], unclaimed: list[str]
) -> JsonObject:
    for platform in {source["read_as"] for source in tally.sources} & set(platforms()):
        load_whole(platform)  # what was noticed in other processes has its meaning there
    asked = [rule for rule in all_rules() if _is_asked(rule, question)]
    return report(
        tally,
        subject=subject,
        level=question.level,
        rules=asked,
        refused=refused,
        unclaimed=unclaimed,
        title=lambda platform: importer(platform).title if platform in platforms() else platform,
    )


def _is_asked(rule: Rule, question: Question) -> bool:
    if rule.name == "unknown-key":
        return question.level is Level.STRICT
    if rule.name == "coerced":
        return question.level is Level.LENIENT
    if rule.scope == "schema":
        return True
    return question.level is not Level.LENIENT and rule.name in question.asked
