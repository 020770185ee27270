"""The contract of importers: what each must offer, and the protocols that some implement in addition."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from palaver.sources.match import Match

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.model.rules import Rule
    from palaver.sources.run import Run
    from palaver.sources.source import Source
    from palaver.threads.call import Call

__all__ = [
    "Description",
    "HasCalls",
    "HasDescription",
    "HasExport",
    "HasFolderSetting",
    "HasMissingUsage",
    "HasReopening",
    "HasRetention",
    "Importer",
    "Match",
    "Options",
    "Retention",
    "no_options",
]


def __getattr__(name: str) -> Any:
    # `palaver scan` asks every importer for its locations; pydantic, slow to import, is needed only to read files.
    if name == "Options":
        from palaver.importers._shared.options import Options

        return Options
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@property
def no_options(_: object) -> "type[Options]":
    """Return the empty options, for an importer that takes none."""
    from palaver.importers._shared.options import Options

    return Options


class Importer(Protocol):
    @property
    def title(self) -> str:
        """The product's own name, such as "Claude Code"."""
        ...

    @property
    def platform(self) -> str:
        """The platform's id: the name of the module and of the fixture folder, and the value on the command line."""
        ...

    @property
    def revision(self) -> int:
        """The revision of what the importer makes of its sources; a higher one makes palaver read them again."""
        ...

    @property
    def record(self) -> str:
        """The unit that the ledger counts, in words: "line", "node with a message", "row"."""
        ...

    @property
    def options(self) -> "type[Options]": ...

    def locations(self) -> list[Path]:
        """Return where this platform stores its files on this machine, whether they exist or not."""
        ...

    def recognizes(self, source: "Source") -> Match:
        """Match a file by its name and `head()` alone, a folder by its `listing()` and the heads of its files."""
        ...

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        """Yield documents; record exactly one disposition on the run for every record that the readers count."""
        ...


@dataclass(frozen=True, slots=True)
class Retention:
    """A folder from which the product itself deletes files that have not changed for some days."""

    folder: Path
    days: int
    suffix: str
    setting: str
    """The product's setting for the number of days, in words."""


@runtime_checkable
class HasRetention(Protocol):
    """An importer of a product that deletes its own files after a while."""

    def retentions(self) -> list[Retention]: ...


@runtime_checkable
class HasExport(Protocol):
    """An importer of a service that keeps conversations on its servers, and lets people export them."""

    @property
    def export_menu(self) -> str:
        """The menu in which people ask for an export: "Settings > Data controls"."""
        ...


@runtime_checkable
class HasFolderSetting(Protocol):
    """An importer of a product whose folder an environment variable can move."""

    @property
    def folder_setting(self) -> str:
        """The name of the variable, such as CLAUDE_CONFIG_DIR."""
        ...


@dataclass(frozen=True, slots=True)
class Description:
    """What validation and reports must know to judge the documents of one platform."""

    own_names: frozenset[str] = frozenset()
    """Metadata names that the importer defines; all others are unmapped fields of the source."""
    known_kinds: frozenset[str] = frozenset()
    """Kinds of `opaque` blocks that are stored whole on purpose; any other kind is new in the product."""
    rules: "tuple[Rule, ...]" = ()
    """Rules for this platform's conversations only."""


@runtime_checkable
class HasDescription(Protocol):
    """An importer that describes its documents."""

    def describes(self) -> Description: ...


@runtime_checkable
class HasMissingUsage(Protocol):
    """An importer of a platform whose files hold no token counts."""

    @property
    def missing_usage(self) -> str:
        """The reason as a sentence, for people who look for the tokens in statistics."""
        ...


@runtime_checkable
class HasReopening(Protocol):
    """An importer of a product in which an archived conversation can be opened again."""

    def reopening(self, conversation_id: str, project: str | None, files: list[Path]) -> str | None:
        """Return the command that resumes a conversation, or its address on the web; None if it has neither.

        `files` are those that the conversation was imported from, some of which may be gone.
        """
        ...


@runtime_checkable
class HasCalls(Protocol):
    """An importer of API traffic, which consists of requests with their responses."""

    def calls(self, source: "Source", run: "Run") -> "Iterator[Call]":
        """Yield every call as it was logged; record dispositions as `read` does."""
        ...
