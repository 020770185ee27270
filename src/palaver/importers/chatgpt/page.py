"""`chat.html`: the viewer page of an export, which holds all conversations once more, and the list of its files."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from palaver.errors import PalaverError
from palaver.sources.elements import JsonElements
from palaver.sources.glimpse import glimpse
from palaver.sources.run import Run
from palaver.sources.source import Source

PAGE = "chat.html"

_CONVERSATIONS = b"var jsonData = "
_ASSETS = b"var assetsJson = "
_PIECE_BYTES = 1 << 20
_LARGEST_LIST_BYTES = 1 << 26


def is_page(source: Source) -> bool:
    return source.suffix in {".html", ".htm"} and _CONVERSATIONS + b"[" in source.head()


@contextmanager
def page_elements(source: Source, run: Run) -> Generator[JsonElements]:
    """The conversations in the page, one by one."""
    with source.open() as stream:
        rest = _Behind(stream, _CONVERSATIONS)
        yield JsonElements(cast("BinaryIO", rest), run, takes_cut=True, is_embedded=True)


def assets_in(source: Source) -> dict[str, str]:
    """Pointers and the names of their files, as the page lists them; a page that cannot be read lists none."""
    raw = bytearray()
    try:
        with source.open() as stream:
            rest = _Behind(stream, _ASSETS)
            while len(raw) < _LARGEST_LIST_BYTES and (piece := rest.read(_PIECE_BYTES)):
                raw += piece
    except (PalaverError, OSError):
        pass  # the list up to the damage is better than none
    listed = glimpse(bytes(raw))
    if not isinstance(listed, dict):
        return {}
    names = cast("dict[str, Any]", listed)
    return {pointer: name for pointer, name in names.items() if isinstance(name, str)}


class _Behind:
    """What follows a mark in a stream; nothing if the mark is not there."""

    def __init__(self, stream: BinaryIO, mark: bytes) -> None:
        self._stream = stream
        self._mark = mark
        self._is_behind = False

    def read(self, size: int) -> bytes:
        if self._is_behind:
            return self._stream.read(size)
        self._is_behind = True
        held = b""
        while piece := self._stream.read(_PIECE_BYTES):
            held += piece
            if (at := held.find(self._mark)) >= 0:
                return held[at + len(self._mark) :]
            held = held[1 - len(self._mark) :]
        return b""
