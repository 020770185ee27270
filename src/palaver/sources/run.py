"""One run of an importer over one source: its options, where to continue, and the disposition of every record.

A cursor says where to continue in a file that only grew.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from palaver.model.finding import Finding, FindingKind, FindingTally
from palaver.model.ledger import Ledger

TAIL_BYTES = 24 << 10
HEAD_BYTES = 4 << 10
"""A file that grew is read at both ends twice, to check the old cursor and to make the new one: 56 KB in total."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where reading of one file ended; only the importer understands `state`."""

    offset: int
    tail_hash: str
    state: dict[str, Any] = field(default_factory=dict[str, Any])

    def is_valid_for(self, stream: BinaryIO) -> bool:
        """Return whether the file is unchanged before the offset."""
        return bool(self.tail_hash) and tail_hash(stream, self.offset) == self.tail_hash


def tail_hash(stream: BinaryIO, offset: int) -> str:
    """Hash the head and the last 24 KB before the offset; return "" if the file is shorter than the offset."""
    if stream.seek(0, os.SEEK_END) < offset:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    stream.seek(0)
    digest.update(stream.read(min(HEAD_BYTES, offset)))
    start = max(0, offset - TAIL_BYTES)
    stream.seek(start)
    digest.update(stream.read(offset - start))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Bytes in quarantine, with the reason."""

    source: str
    where: str
    code: str
    message: str
    raw: bytes


class Run:
    """The run that an importer's `read` gets: each record that the readers count needs exactly one disposition."""

    def __init__(
        self,
        source: str,
        options: Any = None,
        *,
        form: str = "",
        cursors: Mapping[str, Cursor] | None = None,
        keeps_cursors: bool = False,
        quarantine: Callable[[Quarantined], None] | None = None,
        advance: Callable[[int], None] | None = None,
        used: Callable[[Sequence[dict[str, Any]]], None] | None = None,
        archived_prompts: Callable[[str], Iterator[list[dict[str, Any]]]] | None = None,
    ) -> None:
        self.source = source
        self.options = options
        self.form = form
        """The form that the importer's match named; empty if the importer was not asked."""
        self.cursors: Mapping[str, Cursor] = cursors or {}
        self.keeps_cursors = keeps_cursors
        """Whether a later run continues from here. Making a cursor costs a read at the end of the file."""
        self.next_cursors: dict[str, Cursor] = {}
        self.is_continued = False
        """Set by an importer that continued from its cursors instead of reading the source again."""
        self.ledger = Ledger()
        self.findings = FindingTally()
        self.advance = advance or (lambda _: None)
        """Called by the readers with the number of bytes read, to show progress."""
        self._quarantine = quarantine
        self._used = used
        self._archived_prompts = archived_prompts

    def archived_prompts(self, conversation_id: str) -> Iterator[list[dict[str, Any]]]:
        """Yield the contents of messages that the archive has of a conversation, but for answers and tool results.

        Nothing comes if the results go to a file, or if the archive does not have the conversation.
        """
        return iter(()) if self._archived_prompts is None else self._archived_prompts(conversation_id)

    @property
    def joins_earlier_results(self) -> bool:
        """Return whether the results are joined with those of earlier runs, so that older versions matter too."""
        return self.keeps_cursors

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        self.findings.add(Finding(kind.code, kind.severity, self.source, where, message or kind.meaning, kept))

    def read(self, count: int = 1) -> None:
        """Count records; only the readers in `sources` call this, never an importer."""
        self.ledger.read += count

    def mapped(self, count: int = 1) -> None:
        self.ledger.mapped += count

    def folded(self, into: str, count: int = 1) -> None:
        self.ledger.folded[into] += count

    def skipped(self, rule: str, count: int = 1) -> None:
        self.ledger.skipped[rule] += count

    def used(self, *records: dict[str, Any]) -> None:
        """Emit usage outside a conversation, as records made by `build.usage`; count its source records as `mapped`.

        Pass many records at once: validating them together is faster.
        """
        if self._used is not None:
            self._used(records)

    def quarantined(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        self.ledger.quarantined[kind.code] += 1
        self.quarantine_bytes(kind, raw, where, message)

    def quarantine_bytes(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        """Quarantine bytes that are not a source record, such as a document that could not be written."""
        self.note(kind, where, message, kept=False)
        if self._quarantine is not None:
            self._quarantine(Quarantined(self.source, where, kind.code, message or kind.meaning, raw))


class MaskedRun(Run):
    """A run that masks secrets in everything it records: messages of findings, and quarantined bytes."""

    def __init__(
        self, run: Run, mask_text: Callable[[str], str], mask_bytes: Callable[[bytes], bytes] | None = None
    ) -> None:
        vars(self).update(vars(run))
        self._mask_text = mask_text
        self._mask_bytes = mask_bytes or self._mask_as_text

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        super().note(kind, where, self._mask_text(message), kept=kept)

    def quarantine_bytes(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        super().quarantine_bytes(kind, self._mask_bytes(raw), where, self._mask_text(message))

    def _mask_as_text(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        masked = self._mask_text(text)
        return raw if masked == text else masked.encode("utf-8", "surrogateescape")


def line_position(number: int, offset: int, label: str = "") -> str:
    """Describe the position of a record in a file."""
    text = f"line {number}, byte {offset}"
    return f"{label}: {text}" if label else text
