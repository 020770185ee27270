"""Measures imports against merely parsing the same bytes, and prints one table.

    python benchmarks/run.py [--only NAME] [--megabytes 200] [--single-megabytes 1000] [--runs 3] [--profile]

Everything measured is a process of its own. Generating, cutting and verifying are as well, because on Linux a child's
peak memory starts at its parent's: this process has to stay small.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from datasets import DATA, HERE, PREPARE, DataSet, start_up

PEAK_LIMIT_MB, PEAK_LIMIT_RECORDS = 150, 4
HELP_LIMIT_S = 0.2
HELP_RUNS = 5
TABLE_WIDTH = 150
COLUMNS = {
    "size": "MB",
    "yardstick_cpu": "yardstick\nCPU s",
    "yardstick_wall": "yardstick\nwall s",
    "yardstick_rate": "yardstick\nMB/s",
    "import_cpu": "import\nCPU s",
    "import_wall": "import\nwall s",
    "import_rate": "import\nMB/s",
    "ratio": "ratio",
    "gross": "with\nstart-up",
    "limit": "limit",
    "peak": "peak\nMB",
    "peak_limit": "limit\nMB",
    "holds": "holds",
}
CAPTION = """\
Yardstick: read the files, split them on newlines, orjson.loads of each line, or of a whole .json; the whole process.
Of chatgpt instead: orjson.loads of the conversations, cut out and read beforehand; only the time in these calls.
CPU: user + system of the whole process, best of the interleaved runs; peak: the worst of them.
ratio, which the limit is about: CPU of the import less its own start-up over CPU of the yardstick less its own.
start-up: the same commands on next to nothing; that of the second yardstick is none. with start-up: nothing subtracted.
MB: 1,000,000 bytes; of a ZIP, the JSON inside."""


@dataclass
class Measurement:
    cpu_s: float
    wall_s: float
    peak_mb: float | None
    exit_code: int
    complaint: str


def main() -> int:
    arguments = _arguments()
    DATA.mkdir(exist_ok=True)
    names = arguments.only or [*PREPARE, "help"]
    prepared = [PREPARE[name](name, arguments) for name in names if name in PREPARE]
    data_sets = [data_set for data_set in prepared if data_set is not None]
    with tempfile.TemporaryDirectory(dir=DATA, prefix="run-") as name:
        bench = Bench(Path(name), arguments.runs)
        if arguments.profile:
            for data_set in data_sets:
                bench.profile(data_set)
            return 0
        for platform in dict.fromkeys(data_set.platform for data_set in data_sets):
            bench.measure_start_up(platform)
        for data_set in data_sets:
            bench.measure(data_set)
        if "help" in names:
            bench.measure_help()
    console = Console()
    if console.width < TABLE_WIDTH:
        console = Console(width=TABLE_WIDTH)
    console.print(bench.table)
    for problem in bench.problems:
        console.print(problem, style="red", markup=False)
    return 1 if bench.problems else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure palaver against a yardstick.")
    parser.add_argument(
        "--only", action="append", choices=[*PREPARE, "help"], metavar="NAME", help=", ".join([*PREPARE, "help"])
    )
    parser.add_argument("--megabytes", type=float, default=200, help="size of each generated tree or export")
    parser.add_argument(
        "--single-megabytes", type=float, default=1_000, help="size of the single session file and of the large export"
    )
    parser.add_argument("--log-megabytes", type=float, default=500, help="size of each log of API traffic")
    parser.add_argument("--tree-megabytes", type=float, default=100, help="size of each tree of files read whole")
    parser.add_argument("--runs", type=int, default=3, help="runs of each command; the best counts")
    parser.add_argument("--profile", action="store_true", help="profile the import in this process instead")
    return parser.parse_args()


class Bench:
    def __init__(self, workspace: Path, runs: int) -> None:
        self.workspace = workspace
        self.runs = runs
        self.output = workspace / "output" / "documents.jsonl"
        self.report = workspace / "report.json"
        self.problems: list[str] = []
        self.start_up: dict[str, tuple[float, float]] = {}
        self.table = Table(title="palaver import --jobs 1", caption=CAPTION, caption_justify="left")
        self.table.add_column("data set", no_wrap=True)
        for heading in COLUMNS.values():
            self.table.add_column(heading, justify="right", no_wrap=True)

    def measure_start_up(self, platform: str) -> None:
        data_set = start_up(platform, self.workspace)
        yardstick, imported = self._race(data_set)
        self.start_up[platform] = (0.0 if data_set.elements else yardstick.cpu_s, imported.cpu_s if imported else 0.0)
        cells = {} if data_set.elements else {"yardstick_cpu": yardstick.cpu_s, "yardstick_wall": yardstick.wall_s}
        if imported:
            cells |= {"import_cpu": imported.cpu_s, "import_wall": imported.wall_s}
        self._row(
            data_set.name,
            peak=_number(imported.peak_mb) if imported else "",
            **{name: f"{seconds:.3f}" for name, seconds in cells.items()},
        )

    def measure(self, data_set: DataSet) -> None:
        # Recorded samples may hold records that are rightly refused; generated ones do not.
        is_recorded = data_set.truth is None
        yardstick, imported = self._race(data_set, may_refuse=is_recorded)
        cells = {
            "size": f"{data_set.size_mb:,.0f}",
            "yardstick_cpu": f"{yardstick.cpu_s:.2f}",
            "yardstick_wall": "" if data_set.elements else f"{yardstick.wall_s:.2f}",
            "yardstick_rate": f"{data_set.size_mb / yardstick.cpu_s:.0f}",
        }
        if imported:
            yardstick_net, import_net = (
                measurement.cpu_s - start_up
                for measurement, start_up in zip((yardstick, imported), self.start_up[data_set.platform], strict=True)
            )
            ratio = import_net / yardstick_net if yardstick_net > 0 else float("inf")
            peak_limit_mb = PEAK_LIMIT_MB + PEAK_LIMIT_RECORDS * data_set.largest_record_mb
            holds = ratio <= data_set.ratio_limit and (imported.peak_mb is None or imported.peak_mb <= peak_limit_mb)
            cells |= {
                "import_cpu": f"{imported.cpu_s:.2f}",
                "import_wall": f"{imported.wall_s:.2f}",
                "import_rate": f"{data_set.size_mb / imported.cpu_s:.0f}",
                "ratio": f"{ratio:.2f}",
                "gross": f"{imported.cpu_s / yardstick.cpu_s:.2f}",
                "limit": f"{data_set.ratio_limit:.2f}",
                "peak": _number(imported.peak_mb),
                "peak_limit": f"{peak_limit_mb:.0f}",
                "holds": _yes_or_no(holds=holds),
            }
            if data_set.truth:
                self._verify(data_set.name, data_set.truth)
        self._row(data_set.name, **cells)

    def measure_help(self) -> None:
        command = [sys.executable, "-m", "palaver", "--help"]
        measurements = [_measured(command, self.report) for _ in range(HELP_RUNS)]
        if self._failed("palaver --help", measurements[-1], may_refuse=False):
            return
        wall_s = min(measurement.wall_s for measurement in measurements)
        self._row(
            "palaver --help",
            import_cpu=f"{min(measurement.cpu_s for measurement in measurements):.3f}",
            import_wall=f"{wall_s:.3f}",
            limit=f"{HELP_LIMIT_S:.2f} s",
            holds=_yes_or_no(holds=wall_s < HELP_LIMIT_S),
        )

    def profile(self, data_set: DataSet) -> None:
        import contextlib
        import cProfile
        import pstats
        import runpy

        self._clear_output()
        sys.argv = ["palaver", *self._import_arguments(data_set)]
        os.environ["PALAVER_HOME"] = str(self.workspace / "home")
        profiler = cProfile.Profile()
        with (
            self.report.open("w") as answers,
            contextlib.redirect_stdout(answers),
            contextlib.suppress(SystemExit),
            profiler,
        ):
            runpy.run_module("palaver", run_name="__main__", alter_sys=True)
        print(data_set.name)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)

    def _race(self, data_set: DataSet, *, may_refuse: bool = False) -> tuple[Measurement, Measurement | None]:
        """The yardstick and the import in turns, so that a slow moment of the machine meets both."""
        yardstick, imported = [], []
        for _ in range(self.runs):
            yardstick.append(self._parsed(data_set))
            self._clear_output()
            command = [sys.executable, "-m", "palaver", *self._import_arguments(data_set)]
            imported.append(_measured(command, self.report))
            if self._failed(f"import of {data_set.name}", imported[-1], may_refuse=may_refuse):
                return _best(yardstick), None
        return _best(yardstick), _best(imported)

    def _parsed(self, data_set: DataSet) -> Measurement:
        path = data_set.elements or data_set.source
        measurement = _measured([sys.executable, str(HERE / "yardstick.py"), str(path)], self.report)
        if measurement.exit_code:
            sys.exit(f"the yardstick failed on {path}: {measurement.complaint}")
        if data_set.elements:
            measurement.cpu_s = float(self.report.read_text())
        return measurement

    def _import_arguments(self, data_set: DataSet) -> list[str]:
        what = [data_set.platform, str(data_set.source)]
        return ["import", *what, "--jobs", "1", "--output", str(self.output), "--json"]

    def _clear_output(self) -> None:
        shutil.rmtree(self.output.parent, ignore_errors=True)
        self.output.parent.mkdir()

    def _failed(self, what: str, measurement: Measurement, *, may_refuse: bool) -> bool:
        # A crash exits with 1 as well, but leaves no report.
        is_done = measurement.exit_code == 1 and self.report.read_bytes().startswith(b"{")
        if measurement.exit_code == 0 or (may_refuse and is_done):
            return False
        self.problems.append(f"{what}: exit code {measurement.exit_code}\n{measurement.complaint}")
        return True

    def _verify(self, name: str, truth: Path) -> None:
        command = [sys.executable, str(HERE / "verify.py"), str(self.output), str(truth), str(self.report)]
        verified = subprocess.run(command, capture_output=True, text=True, check=False)
        if verified.returncode:
            self.problems.append(
                f"{name}: the output differs from the truth\n{verified.stdout}{verified.stderr[-2_000:]}"
            )

    def _row(self, name: str, **cells: str) -> None:
        self.table.add_row(name, *(cells.get(column, "") for column in COLUMNS))


def _measured(command: list[str], stdout: Path) -> Measurement:
    # An archive or a configuration of the user's must neither be touched nor be measured.
    environment = os.environ | {"PALAVER_HOME": str(stdout.parent / "home")}
    with stdout.open("wb") as answers, tempfile.TemporaryFile() as complaints:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=answers, stderr=complaints, env=environment)
        if hasattr(os, "wait4"):
            _, status, usage = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu_s = usage.ru_utime + usage.ru_stime
            peak_mb = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1_024) / 1_000_000
        else:
            process.wait()
            cpu_s = wall_s = time.perf_counter() - started
            peak_mb = None
        complaints.seek(0)
        complaint = complaints.read().decode(errors="replace").strip()
    return Measurement(cpu_s, wall_s, peak_mb, process.returncode, complaint[-2_000:])


def _best(measurements: list[Measurement]) -> Measurement:
    peaks = [measurement.peak_mb for measurement in measurements if measurement.peak_mb is not None]
    return Measurement(
        cpu_s=min(measurement.cpu_s for measurement in measurements),
        wall_s=min(measurement.wall_s for measurement in measurements),
        peak_mb=max(peaks, default=None),
        exit_code=measurements[-1].exit_code,
        complaint=measurements[-1].complaint,
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _yes_or_no(*, holds: bool) -> str:
    return "[green]yes[/]" if holds else "[red]NO[/]"


if __name__ == "__main__":
    sys.exit(main())
