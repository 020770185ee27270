"""What every importer offers, and what it answers when asked whether a source is its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.model.rules import Rule
    from palaver.sources.run import Run
    from palaver.sources.source import Source


def __getattr__(name: str) -> Any:
    # `palaver scan` asks every importer where its files are; only whoever reads them needs pydantic.
    if name == "Options":
        from palaver.importers._shared.options import Options

        return Options
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@property
def no_options(_: object) -> "type[Options]":
    """For an importer that has none."""
    from palaver.importers._shared.options import Options

    return Options


@dataclass(frozen=True, slots=True)
class Match:
    """Whether an importer reads a source, and why.

    `members` are the folders and files, named relative to the source's own folder, that belong to the same unit; of a
    source that is a folder, all that lies below it does unless some are named. `size_bytes` says how much of a folder
    is read, for whoever shows progress.
    `form` is the importer's own word for which of its forms it is; `read` finds it on the run, and need not look
    again. A `no` with a reason says: this file is known, and it is not a conversation.
    """

    verdict: Literal["no", "maybe", "yes"]
    reason: str = ""
    members: tuple[str, ...] = ()
    form: str = ""
    size_bytes: int = 0

    @classmethod
    def no(cls, reason: str = "") -> "Match":
        return cls("no", reason)

    @classmethod
    def maybe(cls, reason: str, members: tuple[str, ...] = (), form: str = "") -> "Match":
        return cls("maybe", reason, members, form)

    @classmethod
    def yes(cls, reason: str, members: tuple[str, ...] = (), form: str = "", size_bytes: int = 0) -> "Match":
        return cls("yes", reason, members, form, size_bytes)


class Importer(Protocol):
    @property
    def title(self) -> str:
        """The product's own name, such as "Claude Code"."""
        ...

    @property
    def platform(self) -> str:
        """The module's name, the fixture folder's, the command line's value."""
        ...

    @property
    def record(self) -> str:
        """The ledger's unit, in words: "line", "node with a message", "row"."""
        ...

    @property
    def options(self) -> "type[Options]": ...

    def locations(self) -> list[Path]:
        """Where this platform keeps its files on this machine, whether they exist or not."""
        ...

    def recognizes(self, source: "Source") -> Match:
        """Judge by the source's name and `head()` alone, a folder by its `listing()` and the heads of its files."""
        ...

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        """Yield documents; give every record that the readers count exactly one disposition on the run."""
        ...


@dataclass(frozen=True, slots=True)
class Retention:
    """A folder whose files the product itself deletes when they were not changed for some days."""

    folder: Path
    days: int
    suffix: str
    setting: str
    """Where the user can change that, in words."""


@runtime_checkable
class Deleting(Protocol):
    """An importer of a product that deletes its own files after a while."""

    def retentions(self) -> list[Retention]: ...


@dataclass(frozen=True, slots=True)
class Description:
    """What a report has to know to judge documents of one platform."""

    own_names: frozenset[str] = frozenset()
    """Names in metadata that the importer gives; all others are fields of the source that have no place elsewhere."""
    known_kinds: frozenset[str] = frozenset()
    """Kinds of `opaque` blocks that are kept whole on purpose; any other is news of the product."""
    rules: "tuple[Rule, ...]" = ()
    """What is asked of this platform's conversations only."""


@runtime_checkable
class Describing(Protocol):
    """An importer that has something to say about its documents."""

    def describes(self) -> Description: ...


@runtime_checkable
class Exchanging(Protocol):
    """An importer of API traffic: what it reads are requests with their responses."""

    def exchanges(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        """Yield exchange documents, one a call; give every record that the readers count a disposition, as `read`."""
        ...
