"""The files of one export, or a single one, each read as what it is."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.exports import elements_of
from palaver.importers.claude_ai.conversation import read_conversations
from palaver.importers.claude_ai.export import Export, part_of
from palaver.importers.claude_ai.knowledge import read_memory, read_project
from palaver.importers.claude_ai.reading import Reading
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import counted

_READERS = {"conversation": read_conversations, "project": read_project, "memory": read_memory}


def read_files(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    reading = Reading(run)
    if not source.is_folder:
        yield from _read_file(source, part_of(source), reading)
        return
    export = Export.at(source)
    for part, files in (
        ("conversation", export.conversations),
        ("project", export.projects),
        ("memory", export.memories),
    ):
        for file in files:
            yield from _read_file(file, part, reading, label=file.name)
    for account in export.accounts:
        counted(account, run)
        run.skipped("account")


def _read_file(source: Source, part: str, reading: Reading, *, label: str = "") -> Iterator[dict[str, Any]]:
    read = _READERS[part]
    reading.source = source
    with elements_of(source, reading.run, label=label) as elements:
        for element in elements:
            yield from read(element, elements, reading)
