"""A conversation by what people call it: its id, the beginning of it, `platform:id`, or `latest`.

Ids of agents begin with that of the session which started them (`<session>:agent-<id>`). The beginning of a session's
id therefore means the session, and what follows the colon, or its beginning, is a name of the agent.
"""

import sqlite3
from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple

from palaver.archive.filters import Filters
from palaver.errors import ArchiveError

_SHOWN = 5
_SHORTEST = 8
_SHORTEST_AFTER_COLON = 12
_ASKED_ONE_BY_ONE = 100
_BEGINNING_WITH = """
    with recursive known (platform) as (
        select min(platform) from conversation
        union all
        select (select min(platform) from conversation c where c.platform > known.platform) from known
        where platform is not null
    )
    select conversation_id from known join conversation using (platform)
    where conversation_id >= ? and conversation_id < ?"""
"""Platform by platform, since that is what the index of ids begins with."""
_COLUMNS = "conversation_key, platform, conversation_id, title"


class Named(NamedTuple):
    key: int
    platform: str
    conversation_id: str
    title: str | None


def named(connection: sqlite3.Connection, word: str) -> Named:
    """The one conversation that a word means; several, or none, are an error that says so."""
    word = word.encode(errors="replace").decode()  # bytes of the command line that are no text
    if word == "latest":
        query = (
            f"select {_COLUMNS} from conversation "  # noqa: S608 - our own column names
            "order by is_sidechain, coalesce(updated_at, created_at) desc, platform, conversation_id limit 1"
        )
        found = [Named(*row) for row in connection.execute(query)]
    else:
        found = _by_id(connection, word)
        platform, colon, rest = word.partition(":")
        if not found and colon:
            found = _by_id(connection, rest, platform)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ArchiveError(f"no conversation is called {word!r}: `palaver list` and `palaver search` show their ids")
    names = ", ".join(f"{row[1]}:{row[2]}" for row in found[:_SHOWN])
    raise ArchiveError(
        f"{word!r} may mean several conversations ({names}{', …' * (len(found) > _SHOWN)}): say more of it"
    )


def selected(connection: sqlite3.Connection, filters: Filters) -> list[Named]:
    """Every conversation that the filters let through, by name."""
    condition, values = filters.where()
    query = f"select {_COLUMNS} from conversation c where {condition} order by platform, conversation_id"  # noqa: S608
    return [Named(*row) for row in connection.execute(query, values)]


_PART = "iif(instr(conversation_id, ':'), substr(conversation_id, instr(conversation_id, ':') + 1), '')"
_WAYS = (
    "conversation_id = ?1",
    f"{_PART} = ?1",
    f"(substr(conversation_id, 1, length(?1)) = ?1 or substr({_PART}, 1, length(?1)) = ?1)",
)
"""From the strictest: the whole id, the whole of what follows its colon, the beginning of either."""


def _by_id(connection: sqlite3.Connection, word: str, platform: str | None = None) -> list[Named]:
    if not word:
        return []
    for way in _WAYS:
        query = (
            f"select {_COLUMNS} from conversation where {way} and (?2 is null or platform = ?2) "  # noqa: S608 - ours
            "order by length(conversation_id), conversation_id, platform limit 100"
        )
        if found := [Named(*row) for row in connection.execute(query, (word, platform))]:
            wholes = tuple(f"{one.conversation_id}:" for one in found)
            return [one for one in found if not one.conversation_id.startswith(wholes)]
    return []


class Names:
    """The shortest word for each conversation that `named` understands."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._asked = 0

    def short(self, platform: str, conversation_id: str) -> str:
        _, colon, after = conversation_id.partition(":")
        shortest = colon and self._beginning(after, _SHORTEST_AFTER_COLON)
        return shortest or self._beginning(conversation_id, _SHORTEST) or f"{platform}:{conversation_id}"

    def _beginning(self, word: str, shortest: int) -> str:
        """As much of a word as no other begins with, but for what is a part of it; nothing if there are two of it."""
        words = self._like(word[:shortest])
        place = bisect_left(words, word)
        if words[place + 1 : place + 2] == [word]:
            return ""
        after = place + 1
        while after < len(words) and words[after].startswith(f"{word}:"):
            after += 1
        beginning = word[:shortest]
        neighbours = [*words[max(place - 1, 0) : place], *words[after : after + 1]]
        close = [_alike(word, other) + 1 for other in neighbours if other.startswith(beginning)]
        return word[: max(close)] if close else beginning

    def _like(self, beginning: str) -> list[str]:
        """What begins like this of all that a conversation can be called in full, in order, or simply all of it.

        Asked for by itself for a page of names, and all at once when it gets to be many.
        """
        self._asked += 1
        if self._asked > _ASKED_ONE_BY_ONE:
            return self._words
        last = f"{beginning}\U0010ffff"
        ids = [name for (name,) in self._connection.execute(_BEGINNING_WITH, (beginning, last))]
        parts = self._parts
        return sorted([*ids, *parts[bisect_left(parts, beginning) : bisect_left(parts, last)]])

    @cached_property
    def _words(self) -> list[str]:
        ids = (row[0] for row in self._connection.execute("select conversation_id from conversation"))
        return sorted([*ids, *self._parts])

    @cached_property
    def _parts(self) -> list[str]:
        """What follows the colons."""
        query = "select conversation_id from conversation where instr(conversation_id, ':')"
        return sorted(after for (name,) in self._connection.execute(query) if (after := name.partition(":")[2]))


def _alike(one: str, other: str) -> int:
    """How many letters two words begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (letter, its) in pairs if letter != its), min(len(one), len(other)))
