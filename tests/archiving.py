"""What the tests of the archive share: a folder kept in an archive, and what the archive holds as bytes."""

from contextlib import closing
from pathlib import Path

import orjson

from palaver import keeping, pipeline
from palaver.archive.connection import open_to_read
from palaver.archive.reading import documents
from palaver.archive.sources import SourceFacts
from palaver.model.report import Report


def keep_folder(root: Path, archive: Path, platform: str | None = None) -> Report:
    """Import everything below a folder into an archive, in this process."""
    units, report = pipeline.find([root], platform)
    tasks = [keeping.Task(unit, SourceFacts(unit.platform, unit.source.label)) for unit in units]
    keeping.keep(tasks, report, archive)
    return report


def exported(archive: Path) -> list[bytes]:
    """Every document of an archive, as `palaver export --format jsonl` writes them."""
    with closing(open_to_read(archive)) as connection:
        return [orjson.dumps(document) for document in documents(connection)]
