"""An importer's verdict on whether it reads a source, and the winning claim.

Every importer imports this module, even in a scan that opens no file, so it imports nothing of palaver.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Match:
    """Whether an importer reads a source, and why; `no` with a reason means that the file holds no conversation."""

    verdict: Literal["no", "maybe", "yes"]
    reason: str = ""
    members: tuple[str, ...] = ()
    """Files and folders of the same unit, relative to the source's folder; empty means all that a folder contains."""
    form: str = ""
    """The importer's name for the form of the source; `read` gets it as `run.form` and need not look again."""
    size_bytes: int = 0
    """How many bytes of a folder are read, for progress; 0 means the size of the source."""

    @classmethod
    def no(cls, reason: str = "") -> "Match":
        return cls("no", reason)

    @classmethod
    def maybe(cls, reason: str, members: tuple[str, ...] = (), form: str = "") -> "Match":
        return cls("maybe", reason, members, form)

    @classmethod
    def yes(cls, reason: str, members: tuple[str, ...] = (), form: str = "", size_bytes: int = 0) -> "Match":
        return cls("yes", reason, members, form, size_bytes)


NAMED = Match.yes("named on the command line")
"""The match of a source that the user gave to an importer which does not recognize it."""

UNCHANGED = "unchanged"
"""The reason of a file that an earlier run read, and that has not changed since."""
UNREAD_FORMAT = "unread:"
"""Starts the reason of a file whose format is known but has no importer yet; the name of the format follows."""


class Claim(NamedTuple):
    """The platform that reads a source, with its match."""

    platform: str
    match: Match
