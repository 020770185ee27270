"""Where the time goes: each step alone with all before it, in one process; what a step adds is its share.

    python benchmarks/shares.py [--megabytes 100] [--runs 3] [--data DIR]

Prints Markdown. CPU time, the best of the runs, in turns. The writer of the archive is given frames that were read
beforehand; what its statements take is counted statement by statement, whatever is left is Python's.
"""

import argparse
import pickle
import re
import sqlite3
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yardstick
from datasets import DataSet, prepared
from palaver.archive import connection
from palaver.importers import importer
from palaver.model.report import SourceReport
from palaver.sources.arrays.splitter import ArrayElements
from palaver.sources.discovery import Unit
from palaver.sources.zip.folder import ZipFolder
from palaver.workflows import archive_import, read_unit
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines
from palaver.workflows.parallel import collect_rarely
from palaver.workflows.plan import Planner
from processes import HERE

Step = Callable[[], None]
CHECKED = "totals, schema"
STATEMENTS = {"search": "words into the index", "body": "bodies", "message": "messages", "commit": "commits"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Tell where the time goes.")
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    asked = parser.parse_args()
    asked.data.mkdir(parents=True, exist_ok=True)
    collect_rarely()
    with tempfile.TemporaryDirectory(dir=asked.data, prefix="shares-") as name:
        for platform, steps in (("claude_code", _of_sessions), ("chatgpt", _of_exports)):
            data_set = prepared(f"{platform}-ascii", asked)
            assert data_set
            _tell(f"{platform} → JSON Lines", _shares(steps(data_set, Path(name)), asked.runs))
        for platform in ("claude_code", "chatgpt"):
            data_set = prepared(f"{platform}-ascii", asked)
            assert data_set
            _tell(f"{platform} → archive", _of_archive(data_set, Path(name), asked.runs))


def _tell(title: str, shares: dict[str, float]) -> None:
    whole = sum(shares.values())
    print(f"\n| {title} | s CPU | share |\n|---|--:|--:|")
    for step, seconds in shares.items():
        print(f"| {step} | {seconds:.2f} | {100 * seconds / whole:.0f} % |")


def _shares(steps: dict[str, Step], runs: int) -> dict[str, float]:
    """Each step does all that the one before it does, and something more."""
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(runs):
        for step, work in steps.items():
            best[step] = min(best[step], _cpu_s(work))
    before = [0.0, *best.values()]
    return {step: seconds - before[number] for number, (step, seconds) in enumerate(best.items())}


def _of_sessions(data_set: DataSet, folder: Path) -> dict[str, Step]:
    files = sorted(data_set.source.rglob("*.jsonl"))
    first = {
        "read, split into lines": lambda: _drain(_lines(files)),
        "parse (orjson)": lambda: yardstick.parse_all(str(data_set.source)),
    }
    return first | _conversion(data_set, folder)


def _lines(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb", buffering=0) as file:
            pending = b""
            while piece := file.read(yardstick.PIECE):
                lines = (pending + piece).split(b"\n")
                pending = lines.pop()
                yield from lines


def _of_exports(data_set: DataSet, folder: Path) -> dict[str, Step]:
    with zipfile.ZipFile(data_set.source) as archive:
        names = [name for name in archive.namelist() if name.startswith("conversations")]

    def inflated() -> None:
        for name in names:
            with ZipFolder(data_set.source).open(name) as stream:
                while stream.read(1 << 18):
                    pass

    def cut() -> None:
        for name in names:
            with ZipFolder(data_set.source).open(name) as stream:
                _drain(ArrayElements(stream, keeps_raw=False))

    return {"inflate, checksum": inflated, "cut, parse (orjson)": cut} | _conversion(data_set, folder)


def _conversion(data_set: DataSet, folder: Path) -> dict[str, Step]:
    units, _ = find_units([data_set.source], data_set.platform)

    def mapped() -> None:
        for unit in units:
            run = read_unit.start_run(unit, _report(unit), {})
            _drain(importer(unit.platform).read(unit.source, run))

    def checked() -> None:
        for unit in units:
            report = _report(unit)
            _drain(read_unit.read_unit(unit, read_unit.start_run(unit, report, {}), report, lambda _: ()))

    def written() -> None:
        with (folder / "documents.jsonl").open("wb") as output:
            for unit in units:
                output.writelines(document_lines(unit, _report(unit), {}))

    return {"map to documents, count records": mapped, CHECKED: checked, "serialise (orjson), write": written}


def _report(unit: Unit) -> SourceReport:
    return SourceReport(unit.source.label, unit.platform)


def _cpu_s(work: Step) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _drain(values: Iterable[object]) -> None:
    for _ in values:
        pass


def _of_archive(data_set: DataSet, folder: Path, runs: int) -> dict[str, float]:
    """The reader's side, which runs beside the writer's in other processes, and the writer's, taken apart."""
    plan = Planner(folder / "none.db", {}).plan([data_set.source], data_set.platform)
    frames = folder / "frames"

    def packed() -> None:
        with frames.open("wb") as file:
            for frame in archive_import.read_frames(iter(enumerate(plan.tasks)), lambda _: None):
                pickle.dump(frame, file, pickle.HIGHEST_PROTOCOL)

    checked = _conversion(data_set, folder)[CHECKED]
    reading = {"readers: read, map, check": checked, "readers: rows, hashes, words, packed": packed}
    shares = _shares(reading, runs)
    writing = [_written(frames, folder, plan.tasks) for _ in range(runs)]
    return shares | min(writing, key=lambda telling: sum(telling.values()))


def _written(frames: Path, folder: Path, tasks: list[Any]) -> dict[str, float]:
    spent: Counter[str] = Counter()
    archive = folder / "archive.db"
    for left in folder.glob("archive.db*"):
        left.unlink()
    connect = connection._connect  # noqa: SLF001 - where the writer's connection is made
    connection._connect = lambda path: _timed(path, spent)  # noqa: SLF001 - the same
    try:
        keeper = archive_import.ArchiveWriter(archive, tasks)
        spent.clear()
        with frames.open("rb") as file:
            unpacked_s, began, all_began = 0.0, time.thread_time(), time.process_time()
            while file.peek(1):
                before = time.thread_time()
                frame = pickle.load(file)  # noqa: S301 - written above
                unpacked_s += time.thread_time() - before
                keeper.take(frame)
            keeper.flush()
            whole_s, all_s = time.thread_time() - began, time.process_time() - all_began
        keeper.close()
    finally:
        connection._connect = connect  # noqa: SLF001 - the same
    named = {f"writer: {name}": spent.pop(table, 0.0) for table, name in STATEMENTS.items()}
    named["writer: other statements"] = sum(spent.values())
    named["writer: frames unpacked"] = unpacked_s
    named["writer: rows unpacked, chosen and arranged in Python"] = whole_s - sum(named.values())
    return named | {"beside the writer: checkpoints": all_s - whole_s}


def _timed(path: Path, spent: "Counter[str]") -> sqlite3.Connection:
    class Timed(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            return self._time(super().execute, sql, *values)

        def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
            return self._time(super().executemany, sql, *values)

        def _time(self, run: Callable[..., sqlite3.Cursor], sql: str, *values: Any) -> sqlite3.Cursor:
            began = time.thread_time()
            try:
                return run(sql, *values)
            finally:
                spent[_table(sql)] += time.thread_time() - began

    return sqlite3.connect(path, isolation_level=None, cached_statements=256, factory=Timed)


def _table(sql: str) -> str:
    found = re.match(r"insert into (\w+)|(commit)", sql)
    return (found[1] or found[2]) if found else "other"


if __name__ == "__main__":
    main()
