"""Validation: how many messages a second are judged, and how much memory a report takes.

Judging is measured in this process, on documents that were read beforehand: by the schema alone, by the schema and all
rules of the level `standard`, and with everything that a report adds up. The stages take turns; the best run counts.
A report is measured as the command itself, in one process.
"""

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datasets import Asked, prepared
from processes import measured, palaver
from rows import PEAK_STRETCH_MB, Row, peak_limit

# Rows and their limits, stretch goals beside them.
STAGES: dict[str, tuple[float | None, float | None]] = {
    "schema": (300_000, 450_000),
    "schema and rules": (100_000, 200_000),
    "all that a report adds up": (None, None),
}
Documents = list[dict[str, Any]]


def judging(name: str, asked: Asked) -> list[Row]:
    data_set = prepared(name.removeprefix("validate-"), asked)
    assert data_set
    documents = _documents(data_set.source)
    messages = sum(len(document["messages"]) for document in documents)
    judges: tuple[Callable[[Documents], None], ...] = (_by_schema, _by_rules, _all)
    best = dict.fromkeys(judges, float("inf"))
    gc.collect()
    gc.disable()
    for _ in range(asked.runs):
        for judge in judges:
            began = time.process_time()
            judge(documents)
            best[judge] = min(best[judge], time.process_time() - began)
    return [
        Row(
            name=f"{name}-{stage.replace(' ', '-')}",
            work=f"validate {data_set.name}: {stage}",
            size=f"{messages:,} messages",
            ours=messages / best[judge],
            unit="/s",
            limit=limit,
            stretch=stretch,
            is_floor=True,
        )
        for judge, (stage, (limit, stretch)) in zip(judges, STAGES.items(), strict=True)
    ]


def report(name: str, asked: Asked) -> list[Row]:
    data_set = prepared(name.removeprefix("report-"), asked)
    assert data_set
    with tempfile.TemporaryDirectory(dir=asked.data, prefix="validate-") as folder:
        words = ("--jobs", "1", "--report", Path(folder) / "report.json")
        done = measured(palaver("validate", data_set.source, *words), Path(folder), is_answer_wanted=False)
    return [
        Row(
            name=name,
            work=f"validate --jobs 1 --report, {data_set.name}",
            size=f"{data_set.size_mb:,.0f} MB",
            ours=done.cpu_s,
            unit="s CPU",
            peak=done.peak,
            peak_limit=peak_limit(data_set.largest_record_mb),
            peak_stretch_mb=PEAK_STRETCH_MB,
            problem=f"exit code {done.exit_code}\n{done.complaint}" if done.exit_code else "",
        )
    ]


def _documents(path: Path) -> Documents:
    from palaver.model.report import SourceReport
    from palaver.workflows.find_units import find_units
    from palaver.workflows.read_unit import read_unit, start_run

    units, _ = find_units([path])
    documents: Documents = []
    for unit in units:
        report = SourceReport(unit.source.label, unit.platform)
        documents += read_unit(unit, start_run(unit, report, {}), report, lambda document: (document,))
    return documents


def _by_schema(documents: Documents) -> None:
    from palaver.validation.schema import is_valid

    for document in documents:
        is_valid(document)


def _by_rules(documents: Documents) -> None:
    from palaver.workflows.validate import ValidationSettings

    judge = ValidationSettings().new_judge()
    for document in documents:
        judge.judge(document)
    judge.close()


def _all(documents: Documents) -> None:
    from palaver.validation.tally import SourceTally
    from palaver.workflows.validate import ValidationSettings, own_names_and_kinds

    judge = ValidationSettings().new_judge()
    tally = SourceTally("", "")
    for document in documents:
        tally.add_verdicts(document, judge.judge(document))
        tally.cover(document, own_names_and_kinds)
    judge.close()
    tally.close()
