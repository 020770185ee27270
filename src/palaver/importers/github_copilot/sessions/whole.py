"""A file that is one session, read whole; what is damaged, cut off, or several of them is read piece by piece."""

from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from palaver.errors import PalaverError
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import LARGEST_BYTES, counted, read_at_most


def whole_values(source: Source, run: Run, label: str) -> Iterator[tuple[Any, bytes, str]]:
    """The values of a file, each with its bytes and its place.

    With a label, the file is one of two: if it cannot be opened, the other one is read all the same.
    """
    try:
        stream = source.open()
    except (PalaverError, OSError) as error:
        if not label:
            raise
        run.note(CUT_OFF, label, str(error), kept=False)
        return
    with stream:
        raw = read_at_most(stream, LARGEST_BYTES)
        try:
            value = parse(raw)
        except NOT_JSON:
            value = None
        if isinstance(value, dict):
            counted(source, run)
            run.advance(len(raw))
            yield value, raw, label or "the session"
            return
        elements = JsonElements(cast("BinaryIO", _Rejoined(raw, stream)), run, label=label, takes_cut=True)
        for element in elements:
            yield element, elements.raw, elements.where()


class _Rejoined:
    """What was read of a stream, and then the rest."""

    def __init__(self, begin: bytes, stream: BinaryIO) -> None:
        self._begin = begin
        self._stream = stream
        self._at = 0

    def read(self, size: int) -> bytes:
        if self._at >= len(self._begin):
            return self._stream.read(size)
        piece = self._begin[self._at : self._at + size]
        self._at += size
        return piece
