"""A process that lives long: takes in folder after folder as they are named to it, on all cores.

    python benchmarks/keep.py ARCHIVE

Each line of standard input is a folder; once it is in the archive, a line of JSON says what came of it.
"""

import json
import sys
from pathlib import Path

from palaver.workflows.archive_import import import_into_archive
from palaver.workflows.parallel import available_cores, collect_rarely
from palaver.workflows.plan import Planner


def main() -> None:
    archive = Path(sys.argv[1])
    collect_rarely()
    for line in sys.stdin:
        plan = Planner(archive, {}).plan([Path(line.rstrip("\n"))])
        import_into_archive(plan.tasks, plan.report, archive, unclaimed=plan.unclaimed, jobs=available_cores())
        print(json.dumps(plan.report.totals()), flush=True)


if __name__ == "__main__":
    main()
