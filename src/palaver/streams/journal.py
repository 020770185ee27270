"""A journal: bytes written one after the other, in memory up to a limit, beyond it in a file without a name."""

import tempfile
from collections.abc import Iterator
from typing import Any

_BLOCK_BYTES = 1 << 16


class Budget:
    """How much several journals may hold in memory together."""

    __slots__ = ("left_bytes",)

    def __init__(self, size_bytes: int) -> None:
        self.left_bytes = size_bytes


class Journal:
    """What was in memory when the budget was used up stays there: moving it would take its time all at once."""

    __slots__ = ("_blocks", "_budget", "_file", "_open", "size_bytes")

    def __init__(self, budget: Budget) -> None:
        self.size_bytes = 0
        self._budget = budget
        self._blocks: list[bytes] = []
        self._open = bytearray()
        self._file: Any = None

    @property
    def is_spilled(self) -> bool:
        return self._file is not None

    def write(self, piece: bytes) -> None:
        self.size_bytes += len(piece)
        if self._file is not None:
            self._file.write(piece)
            return
        self._budget.left_bytes -= len(piece)
        if self._budget.left_bytes < 0:
            self._file = tempfile.TemporaryFile(prefix="palaver-", buffering=_BLOCK_BYTES)  # noqa: SIM115 - see `close`
            self._file.write(piece)
            return
        self._open += piece
        if len(self._open) >= _BLOCK_BYTES:
            self._blocks.append(bytes(self._open))
            self._open.clear()

    def pieces(self) -> Iterator[bytes]:
        """Everything, from the beginning, in pieces of a moderate size."""
        yield from self._blocks
        if self._open:
            yield bytes(self._open)
        if self._file is not None:
            self._file.flush()
            self._file.seek(0)
            while piece := self._file.read(_BLOCK_BYTES):
                yield piece

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self._blocks = []
        self._open = bytearray()
        if self._file is not None:
            self._file.close()
