"""Imports against merely parsing the same bytes: to JSON Lines in one process, into the archive on all cores.

Both are net: the same commands on next to nothing are measured in turns with them, and taken off.
"""

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
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
    cost = cost_of(data_set, target, min(asked.runs, 2) if data_name in LARGE else asked.runs, asked.data)
    # Importers without limits of their own are held to those of the first.
    limit, stretch = target.limits.get(data_set.platform) or (target.limits["claude_code"][0], None)
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


def cost_of(data_set: DataSet, target: Target, runs: int, data: Path) -> Cost:
    with tempfile.TemporaryDirectory(dir=data, prefix="run-") as name:
        contest = Contest(Path(name), target, may_refuse=data_set.truth is None)
        return contest.held(data_set, runs)


class Contest:
    def __init__(self, workspace: Path, target: Target, *, may_refuse: bool) -> None:
        self.workspace = workspace
        self.target = target
        # Recorded samples may hold records that are rightly refused; generated ones do not.
        self.may_refuse = may_refuse
        self.output = workspace / "output" / "documents.jsonl"
        self.home = workspace / "home"

    def held(self, data_set: DataSet, runs: int) -> Cost:
        tiny = start_up(data_set.platform, self.workspace)
        best = in_turns(
            runs,
            lambda: self._parsed(tiny),
            lambda: self._imported(tiny),
            lambda: self._parsed(data_set),
            lambda: self._imported(data_set),
        )
        for what, measurement in zip(("yardstick's start", "start", "yardstick", "import"), best, strict=True):
            if measurement.exit_code:
                return Cost(problem=f"{what}: exit code {measurement.exit_code}\n{measurement.complaint}")
        yardstick_start, start, yardstick, ours = (getattr(one, self.target.clock) for one in best)
        if data_set.elements:  # what the yardstick tells is the parsing alone
            yardstick_start, yardstick = 0.0, float(best[2].answer)
        gross = {"ours_s": ours, "start_s": start, "yardstick_s": yardstick, "yardstick_start_s": yardstick_start}
        gross |= {"wall_s": best[3].wall_s, "cpu_s": best[3].cpu_s}
        problem = self._problem(data_set, best[3].answer)
        return Cost(ours - start, yardstick - yardstick_start, best[3].peak, gross, problem)

    def _parsed(self, data_set: DataSet) -> Measurement:
        return measured(python(HERE / "yardstick.py", data_set.elements or data_set.source), self.home)

    def _imported(self, data_set: DataSet) -> Measurement:
        for made in (self.output.parent, self.home):
            shutil.rmtree(made, ignore_errors=True)
        self.output.parent.mkdir()
        words = [str(self.output) if word == "OUTPUT" else word for word in self.target.words]
        done = measured(palaver("import", data_set.platform, data_set.source, *words, "--json"), self.home)
        # A crash exits with 1 as well, but leaves no report.
        if self.may_refuse and done.exit_code == 1 and done.answer.startswith(b"{"):
            done.exit_code = 0
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
