"""What was already handed out of a session too large for memory: looked up rarely, kept on disk.

A session past the fragment size leaves in pieces. A later line may still point back (a parent link, a replayed line,
a late block of an answer), so ids must stay known; a temporary database keeps memory flat however long the file is.
A Bloom filter answers nearly every question without asking it, and the index is made only when it is asked.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any

import orjson

_BITS = 26
_MASK = (1 << _BITS) - 1
_PROBES = 4


class Flushed:
    def __init__(self) -> None:
        self._bits = bytearray(1 << (_BITS - 3))
        self._database = sqlite3.connect("")  # an empty name is SQLite's temporary file, deleted on close
        self._database.execute("create table line (key integer, message_id text, signature integer)")
        self._database.execute("create table answer (key integer, message_id text, usage blob)")
        self._is_indexed = False

    def add(
        self,
        lines: Iterable[tuple[str, str | None, int]],
        answers: Iterable[tuple[str, str, dict[str, Any] | None]],
    ) -> None:
        """Remember lines as (uuid, message id, content signature) and answers as (API id, message id, usage)."""
        self._database.executemany(
            "insert into line values (?, ?, ?)",
            [(self._mark(uuid), message_id, signature) for uuid, message_id, signature in lines],
        )
        self._database.executemany(
            "insert into answer values (?, ?, ?)",
            [(self._mark(api_id), message_id, orjson.dumps(usage)) for api_id, message_id, usage in answers],
        )

    def line(self, uuid: str) -> tuple[str | None, int] | None:
        row = self._find("select message_id, signature from line where key = ?", uuid)
        return None if row is None else (row[0], row[1])

    def answer(self, api_id: str) -> tuple[str, dict[str, Any]] | None:
        row = self._find("select message_id, usage from answer where key = ?", api_id)
        return None if row is None else (row[0], orjson.loads(row[1]) or {})

    def close(self) -> None:
        self._database.close()

    def _mark(self, text: str) -> int:
        key = hash(text)
        bit, step = key & _MASK, key >> _BITS
        for _ in range(_PROBES):
            self._bits[bit >> 3] |= 1 << (bit & 7)
            bit = (bit + step) & _MASK
        return key

    def _find(self, query: str, text: str) -> Any:
        key = hash(text)
        bit, step = key & _MASK, key >> _BITS
        for _ in range(_PROBES):
            if not self._bits[bit >> 3] & (1 << (bit & 7)):
                return None
            bit = (bit + step) & _MASK
        if not self._is_indexed:
            self._database.execute("create index line_key on line (key)")
            self._database.execute("create index answer_key on answer (key)")
            self._is_indexed = True
        return self._database.execute(query, (key,)).fetchone()
