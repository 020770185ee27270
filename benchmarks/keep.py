"""One import into a fresh archive, in as many processes as there are cores; prints what it took as JSON.

python benchmarks/keep.py ARCHIVE SOURCE [--jobs N]
"""

import argparse
import json
import sys
import time
from pathlib import Path

from palaver.keeping import keep
from palaver.planning import Planner
from palaver.workers import available_cores, collect_rarely


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("archive", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("--jobs", type=int, default=available_cores())
    asked = parser.parse_args()
    began = time.perf_counter()
    collect_rarely()
    plan = Planner(asked.archive, {}).plan([asked.source])
    keep(plan.tasks, plan.report, asked.archive, unclaimed=plan.unclaimed, jobs=asked.jobs)
    wall_s = time.perf_counter() - began
    own, worker = _peaks()
    totals = plan.report.totals()
    archive_mb = asked.archive.stat().st_size / 1_000_000
    told = {"wall_s": wall_s, "own_mb": own, "worker_mb": worker, "archive_mb": archive_mb}
    print(json.dumps(told | {"messages": totals["messages"], "archive": totals["archive"]}))


def _peaks() -> tuple[float | None, float | None]:
    """The largest resident memory of this process, and of the largest of its workers."""
    try:
        import resource
    except ImportError:  # Windows does not tell
        return None, None
    unit = 1 if sys.platform == "darwin" else 1_024
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own, worker = (usage.ru_maxrss * unit / 1_000_000 for usage in usages)
    return own, worker


if __name__ == "__main__":
    main()
