"""What the lines of one unit share while they are read: the place of the current one, options, side files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from palaver.importers.claude_code.disposition import PROGRESS, Disposition
from palaver.sources.source import Source


class Records(Protocol):
    """A reader of records that tells where it stands."""

    @property
    def taken(self) -> int:
        """Bytes taken in so far, at least."""
        ...

    @property
    def number(self) -> int: ...
    @property
    def raw(self) -> bytes: ...
    def where(self) -> str: ...
    def __iter__(self) -> Iterator[Any]: ...


@dataclass(slots=True)
class Reading:
    records: Records
    keep_original_files: bool = False
    outputs: dict[str, Source] = field(default_factory=dict[str, Source])
    """Full tool outputs in the session's own folder, by file name."""
    used_outputs: set[str] = field(default_factory=set[str])
    agents: frozenset[str] = frozenset()
    """Agents that have a file of their own."""
    agent_progress: Callable[..., Disposition] = lambda *_: PROGRESS
    """Takes a progress line of an agent, in which there may be messages of it."""

    @property
    def number(self) -> int:
        return self.records.number

    def where(self) -> str:
        return self.records.where()
