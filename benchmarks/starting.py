"""How much time commands take to start: `palaver --help`, and reading commands on a large archive, piped.

The yardstick of the reading commands is `python -c 'import typer'`, which every command pays; that of the entry for
status lines is `python -c 'import sqlite3'`. Both are measured in turns with the commands, in CPU time.
"""

import os
import random
from pathlib import Path

import search_archive
from datasets import Asked
from processes import Measurement, in_turns, measured, palaver, python
from rows import Row
from search import SEED, archive_of

LIMIT_S, GOAL_S = 0.2, 0.12
RUNS = 7
READING_GOAL = 2.0
STATUS_GOAL = 4.0
_FREQUENT = 20
"""The rank of the word that is searched for: it occurs in many messages."""


def measure(name: str, asked: Asked) -> list[Row]:
    home = asked.data / "home"
    runs = [measured(palaver("--help"), home) for _ in range(RUNS + 1)][1:]  # the first compiles, if need be
    best = min(runs, key=lambda run: run.wall_s)
    row = Row(name=name, work="palaver --help", ours=best.wall_s, unit="s", limit=LIMIT_S, stretch=GOAL_S)
    row.peak, row.problem = best.peak, _problem(best)
    return [row]


def reading(name: str, asked: Asked) -> list[Row]:
    """One row for each reading command on an archive of a million messages, and one for the status line."""
    home = _home_with(archive_of(asked.messages, asked))
    word = search_archive.vocabulary(random.Random(SEED))[_FREQUENT]
    commands = [["list"], ["show", "latest"], ["search", word], ["stats"], ["stats", "--all"], []]
    rows = [
        _reading_row(name, words, home, runs=asked.runs, yardstick="import typer", goal=READING_GOAL)
        for words in commands
    ]
    rows.append(_reading_row(name, ["statusline"], home, runs=asked.runs, yardstick="import sqlite3", goal=STATUS_GOAL))
    for row in rows:
        row.size = f"{asked.messages:,} messages"
    return rows


def _reading_row(name: str, words: list[str], home: Path, *, runs: int, yardstick: str, goal: float) -> Row:
    ours, theirs = in_turns(
        runs,
        lambda: measured(palaver(*words), home),
        lambda: measured(python("-c", yardstick), home),
    )
    return Row(
        name=f"{name}-{'-'.join(words) or 'home'}",
        work=f"{' '.join(['palaver', *words])}, piped; yardstick: python -c '{yardstick}'",
        ours=ours.cpu_s,
        yardstick=theirs.cpu_s,
        ratio=ours.cpu_s / theirs.cpu_s,
        unit="s CPU",
        stretch=goal,
        peak=ours.peak,
        problem=_problem(ours),
    )


def _home_with(archive: Path) -> Path:
    """Return a folder in which the archive has the name that commands look for."""
    home = archive.with_suffix(".home")
    home.mkdir(exist_ok=True)
    link = home / "archive.db"
    if not link.exists():
        os.link(archive, link)
    return home


def _problem(run: Measurement) -> str:
    return f"exit code {run.exit_code}\n{run.complaint}" if run.exit_code else ""
