"""Conversations by the words in their titles."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from palaver.archive.hits import Hits, Wanted
from palaver.archive.query import Query
from palaver.archive.scratch import Scratch


class Titles:
    def __init__(self, connection: sqlite3.Connection, wanted: Wanted, hits: Hits, scratch: Scratch) -> None:
        self._connection = connection
        self._wanted = wanted
        self._hits = hits
        self._scratch = scratch
        self.are_all = True
        """False once reading ended before the last of them."""

    def newest(self, most: int | None = None) -> Iterator[tuple[int, str]]:
        """Keys and titles; with filters that take long to ask, so many titles are read at most."""
        filters = self._wanted.filters
        quick = replace(self._wanted.quick(), since=filters.since, until=filters.until)
        is_slow = quick != filters
        condition, values = quick.where()
        if (few := self._hits.few_conversations) is not None:
            condition = f"{condition} and c.conversation_key in (select value from json_each(?))"  # noqa: S608 - ours
            values.append(few)
        likely, words = _likely(self._wanted.query)
        query = (
            f"select c.conversation_key, c.title from conversation c where c.title is not null and {likely} "  # noqa: S608 - conditions of ours
            f"and {condition} order by coalesce(c.updated_at, c.created_at) desc, c.conversation_id, c.platform"
        )
        read = 0
        for key, title in self._connection.execute(query, (*words, *values)):
            if self._wanted.query.holds([title], self._scratch):
                if is_slow and read == most:
                    self.are_all = False
                    return
                read += 1
                if not is_slow or self._hits.is_allowed(key):
                    yield key, title


def _likely(query: Query) -> tuple[str, list[Any]]:
    """Titles worth reading: those with the letters somewhere, and those whose letters SQLite cannot fold."""
    conditions: list[str] = []
    values: list[str] = []
    for group in query.required:
        tokens = [term.tokens for term in group]
        if all(tokens) and all(token.isascii() for term in tokens for token in term):
            alternatives = [" and ".join(["c.title like ?"] * len(term)) for term in tokens]
            conditions.append(f"({' or '.join(alternatives)})")
            values += [f"%{token}%" for term in tokens for token in term]
    if not conditions:
        return "true", []
    return f"({' and '.join(conditions)} or length(cast(c.title as blob)) > length(c.title))", values
