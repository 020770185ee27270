"""A file whose beginning is damaged, read from its first object on."""

from typing import Any, BinaryIO

from palaver.model.finding import finding_kind
from palaver.sources.damage import BOM, SPACE
from palaver.sources.run import Run
from palaver.sources.source import Source

DAMAGED_BEGINNING = finding_kind(
    "damaged-beginning", "error", "The file does not begin as JSON; it was read from its first object on."
)


def undamaged(source: Source, run: Run) -> Source:
    """The same file, or the part of it that can be read."""
    head = source.head().lstrip(BOM + SPACE + b"\0")
    is_array_or_object = head.startswith(b"[") or (head.startswith(b"{") and source.glimpse() is not None)
    if is_array_or_object or b"{" not in head:
        return source
    run.note(DAMAGED_BEGINNING, source.name, kept=False)
    return _FromFirstObject(source, source.head().index(b"{"))


class _FromFirstObject(Source):
    __slots__ = ("_skipped_bytes",)

    def __init__(self, source: Source, skipped_bytes: int) -> None:
        super().__init__(source.folder, source.name)
        self._skipped_bytes = skipped_bytes

    def glimpse(self) -> Any:
        return {}  # whatever stood around the objects is lost

    def open(self, start: int = 0) -> BinaryIO:
        stream = super().open(start)
        stream.read(self._skipped_bytes)
        return stream
