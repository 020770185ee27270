"""What every line handler receives and returns: the context of the current line, and the line's disposition."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from palaver.sources.source import Source

Disposition = tuple[str, str]
"""What became of a line: a word of the ledger, and its reason."""

MAPPED: Disposition = ("mapped", "")
INTO_MESSAGE: Disposition = ("folded", "message")
INTO_CONVERSATION: Disposition = ("folded", "conversation")
PROGRESS: Disposition = ("skipped", "progress")
COPY: Disposition = ("folded", "copy")


def skipped(rule: str) -> Disposition:
    return ("skipped", rule)


class Records(Protocol):
    """An iterator over records that knows its position in the source."""

    @property
    def bytes_read(self) -> int:
        """A lower bound of the bytes read so far."""
        ...

    @property
    def number(self) -> int: ...
    @property
    def raw(self) -> bytes: ...
    def where(self) -> str: ...
    def __iter__(self) -> Iterator[Any]: ...


@dataclass(slots=True)
class LineContext:
    """Position, options and side files that the lines of one file share."""

    records: Records
    keep_original_files: bool = False
    outputs: dict[str, Source] = field(default_factory=dict[str, Source])
    """Full tool outputs in the session's folder, by file name."""
    used_outputs: set[str] = field(default_factory=set[str])
    agents: frozenset[str] = frozenset()
    """Ids of agents that have their own file."""
    handle_agent_progress: Callable[..., Disposition] = lambda *_: PROGRESS
    """Handles an agent's progress line, which may contain a message of the agent."""

    @property
    def number(self) -> int:
        return self.records.number

    def where(self) -> str:
        return self.records.where()
