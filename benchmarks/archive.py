"""Measures the archive: filling it, finding that nothing changed, taking in one more line; prints one table.

    python benchmarks/archive.py [--megabytes 200] [--files 10000] [--runs 3] [--only NAME]

Wall time, since all cores are used. Every measured command is a process of its own, in turns with its yardstick.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from datasets import DATA, HERE, PREPARE

OWN_LIMIT_MB, OWN_LIMIT_RECORDS, WORKER_LIMIT_MB = 150, 4, 100
RATIO_LIMITS = {"claude_code": 7.0, "chatgpt": 13.0}
RESCAN_RATIO, RESCAN_EXTRA_S = 2.0, 0.3
APPEND_LIMIT_BYTES = 64 << 10
FILLED = ("claude_code-ascii", "claude_code-unicode", "claude_code-single", "chatgpt-ascii", "chatgpt-unicode")


def main() -> int:
    asked = _arguments()
    DATA.mkdir(exist_ok=True)
    table = Table(title="palaver import, palaver scan: the archive")
    for column in ("what", "yardstick s", "palaver s", "ratio", "limit", "own MB", "worker MB", "holds"):
        table.add_column(column, justify="left" if column == "what" else "right", no_wrap=True)
    with tempfile.TemporaryDirectory(dir=DATA, prefix="archive-") as name:
        for what in asked.only or [*FILLED, "rescan", "append"]:
            measure: Callable[[Path, argparse.Namespace], list[str]]
            measure = {"rescan": rescan, "append": append}.get(what) or _filling(what)
            table.add_row(what, *measure(Path(name), asked))
    Console(width=110).print(table)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the archive against yardsticks.")
    parser.add_argument("--only", action="append", choices=[*FILLED, "rescan", "append"], metavar="NAME")
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--single-megabytes", type=float, default=1_000)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    return parser.parse_args()


def _filling(name: str) -> Callable[[Path, argparse.Namespace], list[str]]:
    def fill(workspace: Path, asked: argparse.Namespace) -> list[str]:
        data_set = PREPARE[name](name, asked)
        assert data_set is not None
        yardsticks, kept = [], []
        for _ in range(asked.runs):
            yardsticks.append(_yardstick(data_set.elements or data_set.source))
            archive = workspace / "home" / "archive.db"
            shutil.rmtree(archive.parent, ignore_errors=True)
            kept.append(_answer([str(HERE / "keep.py"), str(archive), str(data_set.source)]))
        yardstick, wall = min(yardsticks), min(run["wall_s"] for run in kept)
        own, worker = (max(run[key] or 0 for run in kept) for key in ("own_mb", "worker_mb"))
        limit = RATIO_LIMITS[data_set.platform]
        own_limit = OWN_LIMIT_MB + OWN_LIMIT_RECORDS * data_set.largest_record_mb
        holds = wall / yardstick <= limit and own <= own_limit and worker <= WORKER_LIMIT_MB
        return [
            *(f"{yardstick:.2f}", f"{wall:.2f}", f"{wall / yardstick:.2f}", f"{limit:.0f}"),
            *(f"{own:.0f} / {own_limit:.0f}", f"{worker:.0f} / {WORKER_LIMIT_MB}", _word(holds=holds)),
        ]

    return fill


def rescan(workspace: Path, asked: argparse.Namespace) -> list[str]:
    """All files are as they were: the whole command against looking at every file once."""
    home = workspace / "many"
    projects = home / ".claude" / "projects"
    for number in range(asked.files):
        session = str(uuid.UUID(int=number, version=4))
        folder = projects / f"-home-dev-{number % 100}"
        folder.mkdir(parents=True, exist_ok=True)
        line = {"type": "user", "uuid": session, "sessionId": session, "timestamp": "2026-01-01T00:00:00.000Z"}
        line |= {"parentUuid": None, "cwd": "/home/dev", "message": {"role": "user", "content": f"prompt {number}"}}
        (folder / f"{session}.jsonl").write_text(json.dumps(line) + "\n")
    settings = {"HOME": str(home), "USERPROFILE": str(home), "PALAVER_HOME": str(workspace / "many-kept")}
    environment = {**os.environ, **settings}
    _scan(environment)
    yardsticks, scans = [], []
    for _ in range(asked.runs * 3):
        began = time.perf_counter()
        _look(projects)
        yardsticks.append(time.perf_counter() - began)
        began = time.perf_counter()
        told = _scan(environment)
        scans.append(time.perf_counter() - began)
        assert told["totals"]["unchanged_sources"] == asked.files, told["totals"]
    yardstick, wall = min(yardsticks), min(scans)
    limit = RESCAN_RATIO * yardstick + RESCAN_EXTRA_S
    ratio = f"{(wall - RESCAN_EXTRA_S) / yardstick:.2f}"
    return [f"{yardstick:.3f}", f"{wall:.3f}", ratio, f"{limit:.3f} s", "", "", _word(holds=wall <= limit)]


def append(workspace: Path, asked: argparse.Namespace) -> list[str]:
    """One line more in a long session: how many bytes of it are read."""
    from palaver.keeping import keep
    from palaver.planning import Planner
    from palaver.sources.folders import DiskFolder

    session = workspace / "growing" / "00000000-0000-4000-8000-000000000000.jsonl"
    session.parent.mkdir()
    archive = workspace / "growing.db"
    parent = None
    with session.open("w") as stream:
        for number in range(20_000):
            parent = _write(stream, session.stem, number, parent)

    def take_in() -> int:
        read = 0
        opened = DiskFolder.open

        def counting(folder: DiskFolder, name: str) -> object:
            stream = opened(folder, name)
            before = stream.read

            def count(*size: int) -> bytes:
                nonlocal read
                piece = before(*size)
                read += len(piece)
                return piece

            stream.read = count
            return stream

        DiskFolder.open = counting
        try:
            plan = Planner(archive, {}).plan([session.parent])
            keep(plan.tasks, plan.report, archive)
        finally:
            DiskFolder.open = opened
        return read

    take_in()
    size = session.stat().st_size
    with session.open("a") as stream:
        _write(stream, session.stem, 20_000, parent)
    added = session.stat().st_size - size
    began = time.perf_counter()
    read = take_in()
    wall = time.perf_counter() - began
    _ = asked
    limit = APPEND_LIMIT_BYTES + added
    return [f"{added} B", f"{wall:.3f}", f"{read} B", f"{limit} B", "", "", _word(holds=read <= limit)]


def _write(stream: object, session: str, number: int, parent: str | None) -> str:
    name = str(uuid.UUID(int=number + 1, version=4))
    role = "user" if number % 2 == 0 else "assistant"
    content = f"message {number} of a long session " * 20
    line = {"type": role, "uuid": name, "parentUuid": parent, "sessionId": session, "cwd": "/home/dev"}
    line |= {"timestamp": f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"}
    stream.write(json.dumps(line | {"message": {"role": role, "content": content}}) + "\n")
    return name


def _look(folder: Path) -> None:
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    entry.stat()


def _scan(environment: dict[str, str]) -> dict:
    command = [sys.executable, "-m", "palaver", "scan", "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment).stdout)


def _yardstick(path: Path) -> float:
    began = time.perf_counter()
    done = subprocess.run([sys.executable, str(HERE / "yardstick.py"), str(path)], stdout=subprocess.PIPE, check=True)
    return float(done.stdout) if done.stdout.strip() else time.perf_counter() - began


def _answer(words: list[str]) -> dict:
    return json.loads(subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, check=True).stdout)


def _word(*, holds: bool) -> str:
    return "[green]yes[/]" if holds else "[red]NO[/]"


if __name__ == "__main__":
    sys.exit(main())
