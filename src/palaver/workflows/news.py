"""Count the files that are new or have changed since the archive last read them, without opening any."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from palaver.archive.connection import open_to_read
from palaver.archive.known_files import KnownFiles, load_known_files
from palaver.importers import revision
from palaver.sources.inventory import distinct_paths, inventory, storable_text


@dataclass(slots=True)
class News:
    """What the next scan would look at."""

    files: Counter[str] = field(default_factory=Counter[str])
    """The numbers of new and changed files, by platform."""
    outdated: Counter[str] = field(default_factory=Counter[str])
    """The numbers of unchanged sources that this version reads better than the one that imported them, by platform."""
    is_complete: bool = True
    """Whether all places were looked at in time."""


def find_news(archive: Path, paths_by_platform: Mapping[str, Sequence[Path]], *, seconds: float) -> News:
    """Compare the files at some places with what the archive knows; stop after about so many seconds."""
    until = monotonic() + seconds
    known = KnownFiles()
    if archive.exists():
        with closing(open_to_read(archive)) as connection:
            known = load_known_files(connection)
    news = News()
    for platform, paths in paths_by_platform.items():
        sources: set[int] = set()
        for path in distinct_paths([Path(os.path.realpath(path)) for path in paths]):
            for name, stamp in inventory(path, until=until).items():
                text = storable_text(name)
                if known.is_file_unchanged(name, stamp):
                    sources.update(known.source_keys(text))
                elif (unclaimed := known.unclaimed.get(text)) is None or unclaimed.stamp != stamp:
                    news.files[platform] += 1
        current = revision(platform)
        readings = (known.source(key) for key in sources)
        if outdated := sum(bool(reading and 0 <= reading.revision < current) for reading in readings):
            news.outdated[platform] = outdated
    news.is_complete = monotonic() < until
    return news
