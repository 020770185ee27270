"""The formats of Copilot's files, each a room of its own that offers `recognize` and `read`.

The form of a source is the format's name, and behind a colon what that format itself has to say.
"""

import importlib
from collections.abc import Iterator
from typing import Any, Protocol, cast

from palaver.importers._shared.contract import Match
from palaver.sources.run import Run
from palaver.sources.source import Source


class Format(Protocol):
    def recognize(self, source: Source) -> Match:
        """Judge by name, head and listing alone; the form of the match begins with the format's own name."""
        ...

    def read(self, source: Source, run: Run) -> Iterator[dict[str, Any]]: ...


NAMES = ("sessions", "events", "completions", "replays", "spans", "metrics")
"""In the order in which they are asked: the first that claims a source gets it."""


def recognize(source: Source) -> Match:
    reason = ""
    for name in NAMES:
        match = _format(name).recognize(source)
        if match.verdict != "no":
            return match
        reason = reason or match.reason
    return Match.no(reason)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    form = run.form or recognize(source).form or "unknown"
    yield from _format(form.partition(":")[0]).read(source, run)


def _format(name: str) -> Format:
    return cast("Format", importlib.import_module(f"palaver.importers.github_copilot.{name}"))
