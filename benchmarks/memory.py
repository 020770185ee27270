"""How memory grows with the amount of data: a curve up to as many megabytes as are asked for, 10 GB by `--scale 10000`.

To JSON Lines, all files are there at once, and one command reads them: links to one generated tree under other names,
so that they take up no room. That is fair there, since nothing but the files themselves tells one from another.

The archive would find that all links say the same, and keep little. So it is filled with batches, each generated with
a seed of its own, taken in by one process that lives as long as all of them, and removed again.
"""

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from datasets import Asked, DataSet, of_size, tree
from processes import HERE, Watch, environment, measured, palaver, python
from rows import PEAK_STRETCH_MB, Peak, Row, peak_limit

POINTS_MB = (100, 200, 500, 1_000, 2_000, 5_000, 10_000)
BATCH_MB = 500
FLAT_FROM_MB, FLAT_LIMIT = 1_000, 1.1


def points(asked: Asked) -> list[float]:
    """Sizes in megabytes; the largest is the one that was asked for."""
    return [*(point for point in POINTS_MB if point < asked.scale), asked.scale]


def to_json_lines(name: str, asked: Asked) -> list[Row]:
    base = of_size("claude_code", min(points(asked)[0], POINTS_MB[0]), asked)
    curve = Curve(name, "session files → JSON Lines, all cores", base)
    with tempfile.TemporaryDirectory(dir=asked.data, prefix="curve-") as folder:
        made = 0
        for point in points(asked):
            while made * base.size_mb < point * 0.99:
                shutil.copytree(base.source, Path(folder) / f"copy-{made}", copy_function=os.link)
                made += 1
            command = palaver("import", "claude_code", folder, "--output", "-")
            done = measured(command, asked.data / "home", is_answer_wanted=False)
            problem = f"exit code {done.exit_code}\n{done.complaint}" if done.exit_code else ""
            curve.add(made * base.size_mb, done.wall_s, done.peak, problem)
    return curve.rows


def to_archive(name: str, asked: Asked) -> list[Row]:
    with tempfile.TemporaryDirectory(dir=asked.data, prefix="curve-") as folder:
        workspace = Path(folder)
        command = python(HERE / "keep.py", workspace / "archive.db")
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(workspace)
        )
        try:
            with Watch(process.pid) as watch:
                return _curve(name, asked, workspace, process, watch)
        finally:
            process.communicate()


def _curve(name: str, asked: Asked, workspace: Path, process: "subprocess.Popen[str]", watch: Watch) -> list[Row]:
    assert process.stdin
    assert process.stdout
    curve = Curve(name, "session files → archive, all cores, one process")
    done_mb = wall_s = 0.0
    for number, (size_mb, is_point) in enumerate(_batches(points(asked)), 1):
        batch = tree("claude_code", workspace / f"batch-{number}", size_mb, "--seed", str(number))
        curve.largest_record_mb = max(curve.largest_record_mb, batch.largest_record_mb)
        began = time.perf_counter()
        print(batch.source, file=process.stdin, flush=True)
        told = process.stdout.readline()
        wall_s += time.perf_counter() - began
        assert batch.truth
        expected = json.loads(batch.truth.read_bytes())["conversations"]
        shutil.rmtree(batch.source)
        added = json.loads(told)["archive"]["added"] if told else 0
        problem = "" if added == expected else f"batch {number}: expected {expected:,} conversations, found {added:,}"
        done_mb += batch.size_mb
        if is_point or problem:
            curve.add(done_mb, wall_s, Peak(**vars(watch.peak)), problem)
        if problem:
            break
    return curve.rows


def _batches(sizes_mb: list[float]) -> Iterator[tuple[float, bool]]:
    """Sizes that add up to each point, and whether one is reached."""
    for before, point in itertools.pairwise([0.0, *sizes_mb]):
        left = point - before
        while left > BATCH_MB:
            yield BATCH_MB, False
            left -= BATCH_MB
        yield left, True


class Curve:
    def __init__(self, name: str, work: str, data_set: DataSet | None = None) -> None:
        self.rows: list[Row] = []
        self.largest_record_mb = data_set.largest_record_mb if data_set else 0.0
        self._name, self._work = name, work
        self._flat_mb: float | None = None

    def add(self, size_mb: float, wall_s: float, peak: Peak, problem: str) -> None:
        """One point; from the first of a gigabyte on, memory is compared with what it was there."""
        row = Row(
            name=f"{self._name}-{size_mb:.0f}",
            work=self._work,
            size=f"{size_mb:,.0f} MB",
            ours=wall_s,
            unit="s",
            peak=peak,
            peak_limit=peak_limit(self.largest_record_mb),
            peak_stretch_mb=PEAK_STRETCH_MB,
            problem=problem,
            details={"megabytes": size_mb},
        )
        if self._flat_mb and peak.own_mb:
            row.work += f", own peak over that of {FLAT_FROM_MB:,} MB"
            row.ratio, row.limit = peak.own_mb / self._flat_mb, FLAT_LIMIT
        elif size_mb > FLAT_FROM_MB * 0.95:
            self._flat_mb = peak.own_mb
        self.rows.append(row)
