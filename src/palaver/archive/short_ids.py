"""Short ids: at most ten characters that name one conversation, as every table prints them.

The short id is the beginning of the platform's own id where that is enough. The id of an agent is long and begins like
that of its session (`<session>:agent-<id>`), so an agent is called by the hexadecimal end of its id. Where neither is
unique within ten characters, the short id is the beginning of a digest of the platform and the id. A short id may stop
being the shortest when conversations are added, but `selection.find_conversation` still understands it while it is
unique.
"""

import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

MAX_LENGTH = 10
_MIN_LENGTH = 8
_MAX_SINGLE_LOOKUPS = 100
_HEX_END = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{5,}(?:-[0-9a-f]+)*\Z")
_IDS_WITH_PREFIX = """
    with recursive known (platform) as (
        select min(platform) from conversation
        union all
        select (select min(platform) from conversation c where c.platform > known.platform) from known
        where platform is not null
    )
    select conversation_id from known join conversation using (platform)
    where conversation_id >= ? and conversation_id < ?"""
"""Searches platform by platform, since platform is the first column of the index."""


class Alias(NamedTuple):
    """A name of a conversation that is not the beginning of its id."""

    name: str
    platform: str
    conversation_id: str


def agent_ends(connection: sqlite3.Connection) -> Iterator[Alias]:
    """Yield the hexadecimal ends of all ids with a colon: `afb92ff` of `<session>:agent-afb92ff`."""
    query = "select platform, conversation_id from conversation where instr(conversation_id, ':')"
    for platform, conversation_id in connection.execute(query):
        if end := _hex_end(conversation_id):
            yield Alias(end, platform, conversation_id)


def digests(connection: sqlite3.Connection) -> Iterator[Alias]:
    """Yield a digest of every conversation's platform and id."""
    for platform, conversation_id in connection.execute("select platform, conversation_id from conversation"):
        yield Alias(_digest(platform, conversation_id), platform, conversation_id)


def _hex_end(conversation_id: str) -> str:
    _, _, after = conversation_id.partition(":")
    found = _HEX_END.search(after)
    return found[0] if found else ""


def _digest(platform: str, conversation_id: str) -> str:
    from hashlib import sha256  # rarely needed, and slow to import

    return sha256(f"{platform}:{conversation_id}".encode()).hexdigest()


class ShortIds:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lookups = 0

    def short_id(self, platform: str, conversation_id: str) -> str:
        end = _hex_end(conversation_id)
        return (
            (self._unique_alias(end, self._agent_ends) if end else "")
            or self._unique_prefix(conversation_id.partition(":")[2])
            or self._unique_prefix(conversation_id)
            or self._unique_alias(_digest(platform, conversation_id), self._digests, longest=None)
        )

    def _unique_prefix(self, name: str) -> str:
        """Return the shortest prefix that only this name and its agents have; empty if it is too long.

        Empty as well for a name that occurs twice, or that a command would take for an option.
        """
        if not name or name.startswith("-"):
            return ""
        names = self._candidates(name[:_MIN_LENGTH])
        index = bisect_left(names, name)
        if names[index + 1 : index + 2] == [name]:
            return ""
        after = index + 1
        while after < len(names) and names[after].startswith(f"{name}:"):
            after += 1
        neighbours = [*names[max(index - 1, 0) : index], *names[after : after + 1]]
        length = max([_MIN_LENGTH, *(_common_prefix_length(name, other) + 1 for other in neighbours)])
        short = name[:length]
        return short if len(short) <= MAX_LENGTH else ""

    def _unique_alias(self, alias: str, aliases: list[str], longest: int | None = MAX_LENGTH) -> str:
        """Return the shortest prefix that no other alias has, and no name begins with; empty if it is too long."""
        index = bisect_left(aliases, alias)
        neighbours = [*aliases[max(index - 1, 0) : index], *aliases[index + 1 : index + 2]]
        names = self._candidates(alias[:_MIN_LENGTH])
        near = bisect_left(names, alias)
        neighbours += names[max(near - 1, 0) : near + 1]
        if alias in neighbours or (near < len(names) and names[near].startswith(alias)):
            return ""
        length = max([_MIN_LENGTH, *(_common_prefix_length(alias, other) + 1 for other in neighbours)])
        short = alias[:length]
        return short if longest is None or len(short) <= longest else ""

    def _candidates(self, prefix: str) -> list[str]:
        """Return, sorted, the full names with this prefix, or simply all full names.

        Looked up one by one for a page of names, and all at once after many lookups.
        """
        self._lookups += 1
        if self._lookups > _MAX_SINGLE_LOOKUPS:
            return self._all_names
        last = f"{prefix}\U0010ffff"
        ids = [name for (name,) in self._connection.execute(_IDS_WITH_PREFIX, (prefix, last))]
        suffixes = self._suffixes
        return sorted([*ids, *suffixes[bisect_left(suffixes, prefix) : bisect_left(suffixes, last)]])

    @cached_property
    def _all_names(self) -> list[str]:
        ids = (row[0] for row in self._connection.execute("select conversation_id from conversation"))
        return sorted([*ids, *self._suffixes])

    @cached_property
    def _suffixes(self) -> list[str]:
        """What follows the colon in ids that have one."""
        query = "select conversation_id from conversation where instr(conversation_id, ':')"
        return sorted(after for (name,) in self._connection.execute(query) if (after := name.partition(":")[2]))

    @cached_property
    def _agent_ends(self) -> list[str]:
        return sorted(alias.name for alias in agent_ends(self._connection))

    @cached_property
    def _digests(self) -> list[str]:
        return sorted(alias.name for alias in digests(self._connection))


def _common_prefix_length(left: str, right: str) -> int:
    """Return the length of the common prefix of two words."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (first, second) in pairs if first != second), min(len(left), len(right)))
