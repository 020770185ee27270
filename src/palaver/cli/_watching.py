"""Following changes: the system tells of them, so that waiting costs nothing."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from palaver.cli import _importing
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, place

if TYPE_CHECKING:
    from pathlib import Path

    from palaver.workflows.plan import Plan

_NEW_PLACES_MS = 5_000
"""How often to look whether a place has come to be that was not there before: a handful of questions to the system."""


def follow(plan: "Callable[[], Plan]", places: "Callable[[], list[Path]]", *, jobs: int | None, as_json: bool) -> None:
    """Take in what changes, until interrupted; what changed before the watch began is found as well."""
    from watchfiles import watch

    while True:
        watched = places()
        output.tell(f"Watching {counted(len(watched), 'place')}; Ctrl-C ends it.")
        is_first = True
        for changes in watch(*watched, rust_timeout=_NEW_PLACES_MS, yield_on_timeout=True, raise_interrupt=True):
            if changes or is_first:  # something may have changed between the last look and the beginning of this watch
                _take_in(plan(), jobs=jobs, as_json=as_json)
                is_first = False
            if places() != watched:
                break


def _take_in(plan: "Plan", *, jobs: int | None, as_json: bool) -> None:
    report = plan.report
    for refusal in report.refused:
        output.complain(refusal)
    if not plan.tasks:
        return
    _importing.keep_all(plan, jobs=jobs, began=time.perf_counter())
    if as_json:
        output.answer_json_line(report.to_json())
        return
    totals = report.totals()
    sources = [place(source.source) for source in report.sources]
    named = sources[0] if len(sources) == 1 else counted(len(sources), "source")
    messages = counted(totals["messages"], "message")
    output.tell(f"{time.strftime('%H:%M:%S')}  {messages} from {named}")
    for source in report.sources:
        if source.failure:
            output.complain(f"{source.source}: {source.failure}")
