"""Measures how many messages a second are judged, and how much memory a report takes; prints two tables.

    python benchmarks/validate.py [--megabytes 60] [--single-megabytes 1000] [--runs 3]

Judging is measured in this process, on documents that were read beforehand: by the schema alone, by the schema and all
rules of the level `standard`, and with everything that a report adds up. The stages take turns; the best run counts. A
report is measured as the command itself, in one process.
"""

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from datasets import DATA, PREPARE
from palaver.model.report import SourceReport
from palaver.pipeline import begin, find, read
from palaver.validate.schema import is_valid
from palaver.validate.tally import SourceTally
from palaver.validating import Question, described

LIMITS = {"schema": 300_000, "schema and rules": 100_000}
PEAK_LIMIT_MB, PEAK_LIMIT_RECORDS = 150, 4
JUDGED = ("claude_code-ascii", "claude_code-unicode", "chatgpt-ascii", "chatgpt-unicode")
REPORTED = ("claude_code-ascii", "claude_code-single", "chatgpt-ascii", "chatgpt-large")

Documents = list[dict[str, Any]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure validation.")
    parser.add_argument("--megabytes", type=float, default=60)
    parser.add_argument("--single-megabytes", type=float, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    console = Console(width=110)
    # First, while this process is small: on Linux a child's peak memory starts at its parent's.
    command = "palaver validate PATH --jobs 1 --report FILE"
    reports = _table(command, "what", "MB", "wall s", "MB/s", "peak MB", "limit MB", "holds")
    for name in REPORTED:
        reports.add_row(name, *_reported(name, asked))
    judging = _table("messages judged a second", "what", "messages", *LIMITS, "with all that a report adds up", "holds")
    for name in JUDGED:
        judging.add_row(name, *_judged(name, asked))
    judging.add_row("limit", "", *(f"{limit:,}" for limit in LIMITS.values()), "", "")
    console.print(judging, reports)
    return 0


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column == "what" else "right")
    return table


def _judged(name: str, asked: argparse.Namespace) -> list[str]:
    documents = _documents(PREPARE[name](name, asked).source)
    messages = sum(len(document["messages"]) for document in documents)
    stages: dict[str, Callable[[Documents], None]] = {"schema": _by_schema, "schema and rules": _by_rules, "all": _all}
    best = dict.fromkeys(stages, float("inf"))
    gc.collect()
    gc.disable()
    for _ in range(asked.runs):
        for stage, judge in stages.items():
            began = time.perf_counter()
            judge(documents)
            best[stage] = min(best[stage], time.perf_counter() - began)
    gc.enable()
    rates = {stage: messages / seconds for stage, seconds in best.items()}
    holds = all(rates[stage] >= limit for stage, limit in LIMITS.items())
    return [f"{messages:,}", *(f"{rate:,.0f}" for rate in rates.values()), _word(holds)]


def _documents(path: Path) -> Documents:
    units, _ = find([path])
    documents: Documents = []
    for unit in units:
        report = SourceReport(unit.source.label, unit.platform)
        documents += read(unit, begin(unit, report, {}), report, lambda document: document)
    return documents


def _by_schema(documents: Documents) -> None:
    for document in documents:
        is_valid(document)


def _by_rules(documents: Documents) -> None:
    judge = Question().judge()
    for document in documents:
        judge.judge(document)
    judge.close()


def _all(documents: Documents) -> None:
    judge = Question().judge()
    tally = SourceTally("", "")
    for document in documents:
        tally.add_verdicts(document, judge.judge(document))
        tally.cover(document, described)
    judge.close()
    tally.close()


def _reported(name: str, asked: argparse.Namespace) -> list[str]:
    data_set = PREPARE[name](name, asked)
    with tempfile.TemporaryDirectory(dir=DATA, prefix="validate-") as folder:
        file = Path(folder) / "report.json"
        words = [
            sys.executable,
            "-m",
            "palaver",
            "validate",
            str(data_set.source),
            "--jobs",
            "1",
            "--report",
            str(file),
        ]
        began = time.perf_counter()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if hasattr(os, "wait4"):
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            peak_mb = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        else:
            process.wait()
            peak_mb = float("nan")
        seconds = time.perf_counter() - began
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    limit_mb = PEAK_LIMIT_MB + PEAK_LIMIT_RECORDS * data_set.largest_record_mb
    figures = data_set.size_mb, seconds, data_set.size_mb / seconds, peak_mb, limit_mb
    told = [f"{figure:,.{digits}f}" for figure, digits in zip(figures, (0, 1, 0, 0, 0), strict=True)]
    return [*told, _word(peak_mb <= limit_mb)]


def _word(holds: bool) -> str:  # noqa: FBT001 - a verdict
    return "yes" if holds else "no"


if __name__ == "__main__":
    sys.exit(main())
