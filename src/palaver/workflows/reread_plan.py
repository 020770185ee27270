"""Plan which sources to read again beside those that were found, because palaver reads them better by now.

A scan reads every source again that an earlier revision of its importer read, wherever it is, and every file that no
importer could read when it was imported, and one can by now. What tells of the same conversations is read again with a
source: a conversation can be replaced only once all of its sources have been read.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.known_files import RELEASED, KnownSource
from palaver.importers import platforms
from palaver.workflows.plan import Plan, Planner, asked_importers, path_of_label


def add_rereads(plan: Plan, planner: Planner, *, everywhere: bool = False) -> None:
    """Add to a plan what must be read again with it.

    `everywhere` adds all outdated sources, and the files that importers have learned to read, if they are there.
    """
    if everywhere:
        _add_unclaimed(plan, planner)
    _add_released_before(plan, planner)
    if everywhere:
        _add_sources(planner.outdated.values(), plan, planner)
    asked: set[int] = set()
    while keys := _outdated_keys(plan) - asked:
        from palaver.archive.replacement import related_sources

        with closing(open_to_read(planner.archive)) as connection:
            related = related_sources(connection, keys) - keys
        asked |= keys
        _add_sources(filter(None, map(planner.known_files.source, sorted(related))), plan, planner)


def _outdated_keys(plan: Plan) -> set[int]:
    keys = {task.known.key for task in plan.tasks if task.known and task.is_outdated}
    return keys | {source.key for source in plan.released}


def _add_unclaimed(plan: Plan, planner: Planner) -> None:
    """Add the sources among those files that no importer claimed, and that other or better ones can be asked about.

    Such a file may be part of a folder that is a source, so its folder is looked at if all of it was imported. Other
    files in it that the archive was never given are left alone.
    """
    unclaimed = _unclaimed_files(plan, planner)
    known = _folders_of([*planner.known_files.files, *planner.known_files.unclaimed]) if unclaimed else set[Path]()
    for platform, paths in unclaimed.items():
        whole = {folder for folder in {Path(path).parent for path in paths} if _was_imported_whole(folder, known)}
        asked = {Path(path).parent if Path(path).parent in whole else Path(path) for path in paths}
        found = planner.plan(asked, platform)
        plan.tasks += [
            task for task in found.tasks if not paths.isdisjoint(file.path for file in task.description.files)
        ]
        plan.unclaimed |= {path: file for path, file in found.unclaimed.items() if path in paths}


def _folders_of(paths: Iterable[str]) -> set[Path]:
    """Return the folders of some files, and the folders that these are in."""
    folders: set[Path] = set()
    for path in paths:
        folder = Path(path).parent
        while folder not in folders:
            folders.add(folder)
            folder = folder.parent
    return folders


def _was_imported_whole(folder: Path, known: set[Path]) -> bool:
    """Return whether the archive knows files in every folder of a folder: then this was given, not single files."""
    try:
        return all(entry in known for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return False


def _unclaimed_files(plan: Plan, planner: Planner) -> dict[str | None, set[str]]:
    """Return the files to ask about again, by the only importer that was asked, or under None if all were asked."""
    known = planner.known_files
    settled = {file.path for task in plan.tasks for file in task.description.files} | plan.unclaimed.keys()
    outdated = {asked for asked in {file.asked for file in known.unclaimed.values()} if _can_ask_again(asked)}
    found: dict[str | None, set[str]] = {}
    for path, file in known.unclaimed.items():
        if file.asked in outdated and path not in settled and not known.source_keys(path) and Path(path).exists():
            found.setdefault(_only_importer(file.asked), set()).add(path)
    return found


def _can_ask_again(asked: str) -> bool:
    platform = _only_importer(asked)
    return (platform is None or platform in platforms()) and asked != asked_importers(platform)


def _only_importer(asked: str) -> str | None:
    first, *others = asked.split()
    return None if others else first.partition("@")[0]


def _add_released_before(plan: Plan, planner: Planner) -> None:
    """Add the sources that no importer claimed for a while, and of which one takes over the file now."""
    waiting = {source.label: source for source in planner.known_files.sources() if source.revision == RELEASED}
    if waiting:
        labels = {task.description.label for task in plan.tasks}
        plan.released += [source for label, source in waiting.items() if label in labels]


def _add_sources(sources: Iterable[KnownSource], plan: Plan, planner: Planner) -> None:
    """Add sources that were read before, from their beginning, each with the options of that time."""
    numbers = {(task.description.platform, task.description.label): n for n, task in enumerate(plan.tasks)}
    released = {source.key for source in plan.released}
    missing: dict[tuple[str, str], list[KnownSource]] = {}
    for source in sources:
        number = numbers.get((source.platform, source.label))
        if number is not None:
            plan.tasks[number] = replace(plan.tasks[number], cursors=(), shares_conversations=True)
        elif source.key not in released and source.imported_at:  # else its options are not known
            missing.setdefault((source.platform, source.options), []).append(source)
    for (platform, options), group in missing.items():
        again = planner.to_read_again({platform: orjson.loads(options)})
        found = _sources_at(_paths(group), group, again, None)
        plan.add(found)
        reached = {task.known.key for task in found.tasks if task.known} | {source.key for source in found.released}
        left = [source for source in group if source.key not in reached]
        # Two importers may claim a file for which only one was asked at the time.
        plan.add(_sources_at(_paths(left), left, again, platform))


def _paths(sources: list[KnownSource]) -> list[Path]:
    return [path for source in sources if (path := path_of_label(source.label))]


def _sources_at(paths: list[Path], wanted: list[KnownSource], planner: Planner, platform: str | None) -> Plan:
    """Return a plan for these sources, and for what else at their paths is new or outdated."""
    found = planner.plan(paths, platform) if paths else Plan()
    keys = {source.key for source in wanted}
    tasks = [
        replace(task, shares_conversations=task.known is not None and task.known.key in keys)
        for task in found.tasks
        if task.known is None or task.known.key in keys
    ]
    released = [source for source in found.released if source.key in keys]
    return Plan(tasks, unclaimed=found.unclaimed, released=released)
