"""Measures everything that has a limit, and prints one table.

    python benchmarks/run.py [--only PATTERN] [--runs 3] [--megabytes 200] [--scale 1000] [--json FILE] [--tiny]

Each line is measured by a process of its own. What fails says why, and the others go on. The exit code is 1 if anything
failed or gave a wrong result; a limit that does not hold is only told, since machines are noisy.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from datasets import Asked
from lines import NAMES, Line, chosen
from processes import HERE
from rows import Row

TINY = {
    "megabytes": 0.3,
    "single_megabytes": 0.5,
    "log_megabytes": 0.3,
    "tree_megabytes": 0.3,
    "growth_megabytes": 0.05,
    "scale": 0.3,
    "runs": 1,
    "files": 20,
    "lines": 200,
    "messages": 320,
    "requests": [16, 32],
    "request_messages": 10,
    "events": 1_000,
    "stream_megabytes": 0.1,
    "longest_megabytes": 0.2,
    "chunks": 2_000,
    "streams": 8,
    "paced_streams": 2,
    "stream_events": 10,
    "active_megabytes": 0.05,
    "fast_megabytes": 0.05,
}


def main() -> int:
    asked = _arguments()
    asked.data.mkdir(parents=True, exist_ok=True)
    lines = chosen(asked.only)
    if not lines:
        print(f"no such line; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    # Whoever is started compiles its modules only once, whatever this machine says.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    told: list[dict[str, object]] = []
    for line in lines:
        began = time.perf_counter()
        told += [{"section": line.section, **row.to_json()} for row in _measured(line, asked)]
        print(f"{line.name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    # Not before everything is measured: on Linux a child's peak memory starts at its parent's.
    import tables
    from machine import machine

    results = {"machine": machine(), "date": time.strftime("%Y-%m-%d", time.gmtime()), "asked": _told(asked)}
    results["rows"] = told
    asked.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    tables.show(results)
    return 1 if any(row["problem"] for row in told) else 0


def _arguments() -> Asked:
    parser = argparse.ArgumentParser(description="Measure palaver against yardsticks.")
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="PATTERN", help=", ".join(NAMES))
    add("--runs", type=int, default=3, help="runs of each command; the best counts, for memory the worst")
    add("--megabytes", type=float, default=200, help="size of each generated tree or export")
    add("--single-megabytes", type=float, default=1_000, help="size of the single session file and the large export")
    add("--log-megabytes", type=float, default=500, help="size of each log of API traffic")
    add("--tree-megabytes", type=float, default=100, help="size of each tree of files read whole")
    add("--growth-megabytes", type=float, default=50, help="the smallest of the three sizes that show growth")
    add("--scale", type=float, default=1_000, metavar="MB", help="where the curve of memory ends; 10000 is 10 GB")
    add("--files", type=int, default=10_000, help="files of the rescan")
    add("--lines", type=int, default=20_000, help="lines of the session that gets one more")
    add("--messages", type=int, default=1_000_000, help="messages of the archive that is searched")
    add("--data", type=Path, default=HERE / "data", metavar="DIR", help="where generated data is kept")
    add("--json", type=Path, metavar="FILE", help="the machine-readable copy; default: results.json in the data")
    add("--tiny", action="store_true", help="next to no data: shows that everything runs, and no more")
    asked = parser.parse_args()
    asked.requests, asked.request_messages = [2_000, 10_000], 200
    asked.events, asked.chunks, asked.stream_megabytes, asked.longest_megabytes = 60_000, 100_000, 8, 100
    asked.streams, asked.paced_streams, asked.stream_events = 200, 20, 200
    asked.active_megabytes, asked.fast_megabytes = 0.5, 4
    if asked.tiny:
        vars(asked).update(TINY)
    asked.json = asked.json or asked.data / "results.json"
    return asked


def _measured(line: Line, asked: Asked) -> list[Row]:
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return pool.submit(line.measure, asked).result()
    except Exception:  # noqa: BLE001 - it is told in the table, and the rest is measured
        return [Row(name=line.name, work=line.name, problem=traceback.format_exc())]


def _told(asked: Asked) -> dict[str, object]:
    return {name: value for name, value in vars(asked).items() if name not in {"data", "json"}}


if __name__ == "__main__":
    sys.exit(main())
