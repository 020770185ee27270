"""What a run keeps of every source until it ends."""

import tracemalloc

from palaver.model.finding import Finding
from palaver.model.report import Report, SourceReport

MANY = 3_000


def source_report(number):
    report = SourceReport(f"/home/dev/.claude/projects/-home-{number}/session.jsonl", "claude_code", 70_000 + number)
    report.messages = 1_000 + number
    report.ledger.read = report.ledger.mapped = 900
    report.ledger.folded["message"] += 300 + number
    report.ledger.skipped["progress"] += 400
    report.findings.add(Finding("unfinished-tail", "note", report.source, f"line {number}", "not finished", kept=True))
    return report


def add(report, count):
    for number in range(count):
        report.sources.append(source_report(number))


def test_reports_of_many_sources_are_as_they_were_and_in_order():
    report = Report()
    add(report, MANY)
    assert len(report.sources) == MANY
    assert list(report.sources) == [source_report(number) for number in range(MANY)]
    last = list(report.sources)[-1]
    last.ledger.skipped["a rule that was not there"] += 1
    assert last.ledger.skipped == {"progress": 400, "a rule that was not there": 1}
    assert source_report(MANY - 1) in report.sources
    assert source_report(MANY) not in report.sources


def test_what_is_told_counts_those_that_are_packed():
    report = Report()
    add(report, MANY)
    assert report.totals()["messages"] == sum(1_000 + number for number in range(MANY))
    assert report.totals()["findings"] == {"unfinished-tail": MANY}
    assert len(report.to_json()["sources"]) == MANY
    assert report.exit_code == 1  # read is not what became of the records
    assert not Report().sources


def test_a_report_of_many_takes_little_room():
    report = Report()
    add(report, 1_000)
    tracemalloc.start()
    add(report, 2_000)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 2_000 < 700
