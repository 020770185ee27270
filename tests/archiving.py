"""What the tests of the archive share: a folder kept in an archive, and what the archive holds as bytes."""

from contextlib import closing
from pathlib import Path

import orjson

from palaver import keeping
from palaver.archive.connection import open_to_read
from palaver.archive.reading import documents
from palaver.model.report import Report
from palaver.planning import Planner


def keep_folder(root: Path, archive: Path, platform: str | None = None, *, is_again: bool = False) -> Report:
    """Import what is new below a folder into an archive, in this process."""
    return keep_paths([root], archive, platform, is_again=is_again)


def keep_paths(paths: list[Path], archive: Path, platform: str | None = None, *, is_again: bool = False) -> Report:
    plan = Planner(archive, {}, is_again=is_again).plan(paths, platform)
    keeping.keep(plan.tasks, plan.report, archive, unclaimed=plan.unclaimed)
    return plan.report


def exported(archive: Path) -> list[bytes]:
    """Every document of an archive, as `palaver export --format jsonl` writes them."""
    with closing(open_to_read(archive)) as connection:
        return [orjson.dumps(document) for document in documents(connection)]
