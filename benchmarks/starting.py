"""How long a command takes that does nothing: `palaver --help`."""

from datasets import Asked
from processes import measured, palaver
from rows import Row

LIMIT_S, GOAL_S = 0.2, 0.12
RUNS = 7


def measure(name: str, asked: Asked) -> list[Row]:
    home = asked.data / "home"
    runs = [measured(palaver("--help"), home) for _ in range(RUNS + 1)][1:]  # the first compiles, if need be
    best = min(runs, key=lambda run: run.wall_s)
    problem = f"exit code {best.exit_code}\n{best.complaint}" if best.exit_code else ""
    row = Row(name=name, work="palaver --help", ours=best.wall_s, unit="s", limit=LIMIT_S, stretch=GOAL_S)
    row.peak, row.problem = best.peak, problem
    return [row]
