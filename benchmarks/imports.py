"""Imports against merely parsing the same bytes: to JSON Lines in one process, into the archive on all cores.

Both are net: the same commands on next to nothing are measured in turns with them, and taken off.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from datasets import Asked, DataSet, prepared, start_up
from processes import HERE, Measurement, environment, in_turns, measured, palaver, python
from rows import PEAK_STRETCH_MB, Peak, Row, peak_limit, ratio_of

LARGE = {"claude_code-single", "chatgpt-large"}
"""Twice as many runs would tell nothing more of these: it is their memory that counts."""


@dataclass(frozen=True)
class Target:
    """Where an import goes, and what it may cost."""

    work: str
    clock: str
    limits: dict[str, tuple[float, float]]
    words: tuple[str, ...] = ()
    """What the command is told besides platform and path."""


JSON_LINES = Target(
    "JSON Lines", "cpu_s", {"claude_code": (2.5, 2.0), "chatgpt": (4.5, 3.0)}, ("--jobs", "1", "--output", "OUTPUT")
)
ARCHIVE = Target("archive, all cores", "wall_s", {"claude_code": (7.0, 4.5), "chatgpt": (13.0, 8.0)})


@dataclass
class Cost:
    """Of one import, net."""

    ours_s: float = 0.0
    yardstick_s: float = 0.0
    peak: Peak = field(default_factory=Peak)
    gross: dict[str, float] = field(default_factory=dict)
    problem: str = ""


def to_json_lines(name: str, asked: Asked) -> list[Row]:
    return _rows(name, name, JSON_LINES, asked)


def to_archive(name: str, asked: Asked) -> list[Row]:
    return _rows(name, name.removeprefix("archive-"), ARCHIVE, asked)


def _rows(name: str, data_name: str, target: Target, asked: Asked) -> list[Row]:
    data_set = prepared(data_name, asked)
    work = f"{data_name} → {target.work}"
    if data_set is None:
        return [Row(name=name, work=work, note="no recorded samples beside the checkout or in $PALAVER_SAMPLES")]
    [cost] = costs_of([data_set], target, min(asked.runs, 2) if data_name in LARGE else asked.runs, asked.data)
    # Importers without limits of their own are held to that of exports: they too have to get at documents first.
    limit, stretch = target.limits.get(data_set.platform) or (target.limits["chatgpt"][0], None)
    return [
        Row(
            name=name,
            work=work,
            size=f"{data_set.size_mb:,.0f} MB",
            ours=cost.ours_s,
            yardstick=cost.yardstick_s,
            unit=unit_of(target),
            ratio=(ratio := ratio_of(cost.ours_s, cost.yardstick_s)),
            limit=limit if ratio else None,
            stretch=stretch if ratio else None,
            peak=cost.peak,
            peak_limit=peak_limit(data_set.largest_record_mb),
            peak_stretch_mb=PEAK_STRETCH_MB if data_name in LARGE else None,
            problem=cost.problem,
            details={"megabytes": data_set.size_mb, **cost.gross},
        )
    ]


def unit_of(target: Target) -> str:
    return "s CPU" if target.clock == "cpu_s" else "s"


def costs_of(data_sets: list[DataSet], target: Target, runs: int, data: Path) -> list[Cost]:
    """Of data sets of one platform."""
    with tempfile.TemporaryDirectory(dir=data, prefix="run-") as name:
        return Contest(Path(name), target).held(start_up(data_sets[0].platform, data), data_sets, runs)


class Contest:
    def __init__(self, workspace: Path, target: Target) -> None:
        self.workspace = workspace
        self.target = target
        self.output = workspace / "output" / "documents.jsonl"
        self.home = workspace / "home"
        self.problems: dict[Path, str] = {}

    def held(self, tiny: DataSet, data_sets: list[DataSet], runs: int) -> list[Cost]:
        commands: list[Callable[[], Measurement]] = []
        for data_set in (tiny, *data_sets):
            commands += [partial(self._parsed, data_set), partial(self._imported, data_set)]
        best = in_turns(runs, *commands)
        start, *pairs = zip(best[::2], best[1::2], strict=True)
        return [self._cost(data_set, start, pair) for data_set, pair in zip(data_sets, pairs, strict=True)]

    def _cost(self, data_set: DataSet, start: Sequence[Measurement], best: Sequence[Measurement]) -> Cost:
        names = ("yardstick's start", "start", "yardstick", "import")
        for what, measurement in zip(names, (*start, *best), strict=True):
            if measurement.exit_code:
                return Cost(problem=f"{what}: exit code {measurement.exit_code}\n{measurement.complaint}")
        yardstick_start, ours_start, yardstick, ours = (getattr(one, self.target.clock) for one in (*start, *best))
        if data_set.elements:  # there is no start in it
            yardstick_start = 0.0
        gross = {"ours_s": ours, "start_s": ours_start, "yardstick_s": yardstick, "yardstick_start_s": yardstick_start}
        gross |= {"wall_s": best[1].wall_s, "cpu_s": best[1].cpu_s}
        problem = self.problems[data_set.source]
        return Cost(ours - ours_start, yardstick - yardstick_start, best[1].peak, gross, problem)

    def _parsed(self, data_set: DataSet) -> Measurement:
        done = measured(
            python(HERE / "yardstick.py", data_set.elements or data_set.source, *data_set.yardstick_options), self.home
        )
        if data_set.elements and not done.exit_code:  # it tells what parsing alone took
            done.cpu_s = done.wall_s = float(done.answer)
        return done

    def _imported(self, data_set: DataSet) -> Measurement:
        for made in (self.output.parent, self.home):
            shutil.rmtree(made, ignore_errors=True)
        self.output.parent.mkdir()
        words = [str(self.output) if word == "OUTPUT" else word for word in self.target.words]
        done = measured(palaver("import", data_set.platform, data_set.source, *words, "--json"), self.home)
        # Recorded samples may hold records that are rightly refused; a crash exits with 1 as well, but reports nothing.
        if data_set.truth is None and done.exit_code == 1 and done.answer.startswith(b"{"):
            done.exit_code = 0
        if not done.exit_code and data_set.source not in self.problems:
            self.problems[data_set.source] = self._problem(data_set, done.answer)
        return done

    def _problem(self, data_set: DataSet, answer: bytes) -> str:
        """What differs from the truth, if it is known."""
        if data_set.truth is None:
            return ""
        report = self.workspace / "report.json"
        report.write_bytes(answer)
        if not self.target.words:
            added = json.loads(answer)["totals"]["archive"]["added"]
            expected = json.loads(data_set.truth.read_bytes())["conversations"]
            return "" if added == expected else f"conversations: expected {expected:,}, found {added:,}"
        command = python(HERE / "verify.py", self.output, data_set.truth, report)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(self.home))
        return f"{done.stdout}{done.stderr[-2_000:]}" if done.returncode else ""
