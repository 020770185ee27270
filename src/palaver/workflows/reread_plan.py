"""Plan which sources to read again beside those that were found, because palaver reads them better by now.

A scan reads every source again that an earlier revision of its importer read, wherever it is. What tells of the same
conversations is read again with it: a conversation can be replaced only once all of its sources have been read.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import orjson

from palaver.archive.connection import open_to_read
from palaver.archive.known_files import RELEASED, KnownSource
from palaver.workflows.plan import Plan, Planner, path_of_label


def add_rereads(plan: Plan, planner: Planner, *, everywhere: bool = False) -> None:
    """Add to a plan what must be read again with it; `everywhere` adds all outdated sources, if they are there."""
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
        elif source.key not in released:
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
