"""The web version's export: one JSON object whose `loglines` are the lines of a session."""

from collections.abc import Iterator
from typing import Any

from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.session import SessionReader
from palaver.sources.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.source import Source


def read_web_export(source: Source, run: Run, *, keep_original_files: bool) -> Iterator[dict[str, Any]]:
    reader = SessionReader(source, run, keep_original_files=keep_original_files)
    routes = reader.routes()
    with source.open() as stream:
        records = JsonElements(stream, run, ("loglines",))
        tally = yield from reader.read_records(routes, Reading(records, keep_original_files))
        routes.main.facts.update(records.wrapper)
    yield from reader.finish(routes, tally)
    routes.close()
