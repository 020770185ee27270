"""The formats of Copilot's files, each a package that offers `recognize`, `read`, `OWN_NAMES` and `KNOWN_KINDS`.

The form of a source is the format's name, and after a colon what the format itself adds.
"""

import importlib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol, cast

from palaver.importers._shared.contract import Description, Match
from palaver.sources.run import Run
from palaver.sources.source import Source


class Format(Protocol):
    OWN_NAMES: frozenset[str]
    KNOWN_KINDS: frozenset[str]

    def recognize(self, source: Source) -> Match:
        """Judge by name, head and listing alone; the form of the match starts with the format's name."""
        ...

    def read(self, source: Source, run: Run) -> Iterator[dict[str, Any]]: ...


NAMES = ("sessions", "events", "completions", "replays", "spans", "metrics")
"""In the order in which they are tried: the first that recognizes a source reads it."""


def recognize(source: Source) -> Match:
    reason = ""
    for name in NAMES:
        match = _format(name).recognize(source)
        if match.verdict != "no":
            return match
        reason = reason or match.reason
    return Match.no(reason)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    form = run.form or recognize(source).form
    if form:
        yield from _format(form.partition(":")[0]).read(source, run)
    else:
        _quarantine_all(source, run)


@cache
def description() -> Description:
    formats = [_format(name) for name in NAMES]
    return Description(
        own_names=frozenset().union(*(known.OWN_NAMES for known in formats)),
        known_kinds=frozenset().union(*(known.KNOWN_KINDS for known in formats)),
    )


def _quarantine_all(source: Source, run: Run) -> None:
    """Quarantine everything in a file that was named as Copilot's and is in none of its formats."""
    from palaver.importers._shared.findings import BAD_CONVERSATION
    from palaver.sources.jsonl import JsonLines
    from palaver.sources.small_files import json_document

    message = "it is in none of the formats that are known"
    if source.suffix == ".jsonl":
        with source.open() as stream:
            lines = JsonLines(stream, run)
            for _ in lines:
                run.quarantined(BAD_CONVERSATION, lines.raw, lines.where(), message)
    else:
        for value in json_document(source, run):
            run.quarantined(BAD_CONVERSATION, json.dumps(value).encode(), source.name, message)


def _format(name: str) -> Format:
    return cast("Format", importlib.import_module(f"palaver.importers.github_copilot.{name}"))
