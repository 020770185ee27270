"""Selection of conversations by name or by filters, with the agents they started.

A conversation is named by its id, a prefix of it, `platform:id`, or `latest`. Ids of agents begin with the id of the
session that started them (`<session>:agent-<id>`). A prefix of a session's id therefore means the session, and what
follows the colon, or a prefix of it, names the agent.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from palaver.archive.filters import Filters
from palaver.errors import ArchiveError

_MAX_SHOWN = 5
_MIN_PREFIX = 8
_MIN_PREFIX_AFTER_COLON = 12
_MAX_SINGLE_LOOKUPS = 100
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
_COLUMNS = "conversation_key, platform, conversation_id, title"


class ConversationRef(NamedTuple):
    key: int
    platform: str
    conversation_id: str
    title: str | None


def find_conversation(connection: sqlite3.Connection, word: str) -> ConversationRef:
    """Return the conversation that a word names; raise ArchiveError if it names none or several."""
    word = word.encode(errors="replace").decode()  # the command line may hold bytes that are not UTF-8
    if word == "latest":
        query = (
            f"select {_COLUMNS} from conversation "  # noqa: S608 - constants, bound values
            "order by is_sidechain, coalesce(updated_at, created_at) desc, platform, conversation_id limit 1"
        )
        found = [ConversationRef(*row) for row in connection.execute(query)]
    else:
        found = _by_id(connection, word)
        platform, colon, rest = word.partition(":")
        if not found and colon:
            found = _by_id(connection, rest, platform)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ArchiveError(f"no conversation is called {word!r}: `palaver list` and `palaver search` show their ids")
    names = ", ".join(f"{row[1]}:{row[2]}" for row in found[:_MAX_SHOWN])
    raise ArchiveError(
        f"{word!r} may mean several conversations ({names}{', …' * (len(found) > _MAX_SHOWN)}): say more of it"
    )


def matching_conversations(connection: sqlite3.Connection, filters: Filters) -> list[ConversationRef]:
    """Return every conversation that passes the filters, ordered by platform and id."""
    condition, values = filters.where()
    query = f"select {_COLUMNS} from conversation c where {condition} order by platform, conversation_id"  # noqa: S608 - constants, bound values
    return [ConversationRef(*row) for row in connection.execute(query, values)]


_AFTER_COLON = "iif(instr(conversation_id, ':'), substr(conversation_id, instr(conversation_id, ':') + 1), '')"
_MATCH_CONDITIONS = (
    "conversation_id = ?1",
    f"{_AFTER_COLON} = ?1",
    f"(substr(conversation_id, 1, length(?1)) = ?1 or substr({_AFTER_COLON}, 1, length(?1)) = ?1)",
)
"""From the strictest: the id, what follows its colon, a prefix of either."""


def _by_id(connection: sqlite3.Connection, word: str, platform: str | None = None) -> list[ConversationRef]:
    if not word:
        return []
    for condition in _MATCH_CONDITIONS:
        query = (
            f"select {_COLUMNS} from conversation where {condition} and (?2 is null or platform = ?2) "  # noqa: S608 - constants, bound values
            "order by length(conversation_id), conversation_id, platform limit 100"
        )
        if found := [ConversationRef(*row) for row in connection.execute(query, (word, platform))]:
            agent_prefixes = tuple(f"{ref.conversation_id}:" for ref in found)
            return [ref for ref in found if not ref.conversation_id.startswith(agent_prefixes)]
    return []


class ShortIds:
    """The shortest names of conversations that `find_conversation` understands."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lookups = 0

    def short_id(self, platform: str, conversation_id: str) -> str:
        _, colon, after = conversation_id.partition(":")
        shortest = colon and self._unique_prefix(after, _MIN_PREFIX_AFTER_COLON)
        return shortest or self._unique_prefix(conversation_id, _MIN_PREFIX) or f"{platform}:{conversation_id}"

    def _unique_prefix(self, word: str, shortest: int) -> str:
        """Return the shortest prefix that only this name and its agents have; empty if the name occurs twice.

        Empty as well for a name that a command would take for an option.
        """
        if word.startswith("-"):
            return ""
        words = self._candidates(word[:shortest])
        index = bisect_left(words, word)
        if words[index + 1 : index + 2] == [word]:
            return ""
        after = index + 1
        while after < len(words) and words[after].startswith(f"{word}:"):
            after += 1
        prefix = word[:shortest]
        neighbours = [*words[max(index - 1, 0) : index], *words[after : after + 1]]
        close = [_common_prefix_length(word, other) + 1 for other in neighbours if other.startswith(prefix)]
        return word[: max(close)] if close else prefix

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


def _common_prefix_length(left: str, right: str) -> int:
    """Return the length of the common prefix of two words."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (first, second) in pairs if first != second), min(len(left), len(right)))


_MESSAGE_OVERHEAD_BYTES = 350
"""Approximate size of a message in a document besides its content and metadata."""


def select_keys(
    connection: sqlite3.Connection, filters: Filters, words: Sequence[str] = (), *, with_agents: bool = True
) -> list[int]:
    """Return the keys of the selected conversations, the oldest first.

    Words name conversations, restricted by the filters; without words, all that pass the filters are selected. Agents
    are included if `with_agents` is set; otherwise only those that a word names.
    """
    if words:
        keys = {find_conversation(connection, word).key for word in words}
        keys &= _matching_keys(connection, filters)
    else:
        keys = _matching_keys(connection, filters if with_agents else replace(filters, with_sidechains=False))
    if with_agents:
        keys |= _agent_keys(connection, keys)
    query = "select conversation_key from conversation order by created_at, platform, conversation_id"
    return [key for (key,) in connection.execute(query) if key in keys]


def _matching_keys(connection: sqlite3.Connection, filters: Filters) -> set[int]:
    condition, values = filters.where()
    query = f"select conversation_key from conversation c where {condition}"  # noqa: S608 - constants, bound values
    return {key for (key,) in connection.execute(query, values)}


def _agent_keys(connection: sqlite3.Connection, keys: set[int]) -> set[int]:
    """Return the agents of conversations, their agents, and so on."""
    started: dict[tuple[str, str], list[tuple[int, str]]] = {}
    query = (
        "select platform, parent_conversation_id, conversation_key, conversation_id from conversation "
        "where is_sidechain and parent_conversation_id is not null"
    )
    for platform, parent, key, conversation_id in connection.execute(query):
        started.setdefault((platform, parent), []).append((key, conversation_id))
    if not started:
        return set()
    query = "select conversation_key, platform, conversation_id from conversation"
    waiting = [(platform, name) for key, platform, name in connection.execute(query) if key in keys]
    found: set[int] = set()
    while waiting:
        platform, name = waiting.pop()
        for key, agent in started.pop((platform, name), ()):
            found.add(key)
            waiting.append((platform, agent))
    return found


def estimate_bytes(connection: sqlite3.Connection, keys: Iterable[int]) -> int:
    """Estimate the size of some conversations, without reading their contents."""
    query = (
        "select sum(length(cast(b.content as blob)) + length(cast(m.rest as blob)) + ?) from message m "
        "join body b on b.body_key = m.body where m.conversation = ?"
    )
    return sum(connection.execute(query, (_MESSAGE_OVERHEAD_BYTES, key)).fetchone()[0] or 0 for key in keys)
