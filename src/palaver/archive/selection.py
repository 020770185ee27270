"""Selection of conversations by name or by filters, with the agents they started.

A conversation is named by its id or the beginning of it, a short id, `platform:id`, its title, or `latest`. Ids of
agents begin with the id of the session that started them (`<session>:agent-<id>`). A prefix of a session's id therefore
means the session, and what follows the colon, or a prefix of it, names the agent.
"""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from palaver.archive.conversation_list import is_recording
from palaver.archive.filters import Filters
from palaver.archive.messages import IS_UNDATED
from palaver.archive.short_ids import Alias, agent_ends, digests
from palaver.errors import ArchiveError

_MAX_SHOWN = 5
_MIN_DIGEST_LENGTH = 8
_IS_HEX = re.compile(r"[0-9a-f-]+")
_COLUMNS = "conversation_key, platform, conversation_id, title"


class ConversationRef(NamedTuple):
    key: int
    platform: str
    conversation_id: str
    title: str | None


def find_conversation(connection: sqlite3.Connection, word: str) -> ConversationRef:
    """Return the conversation that a word names; raise ArchiveError if it names none or several."""
    found = named_conversations(connection, word)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ArchiveError(f"no conversation matches {word!r}: `palaver list` and `palaver search` show ids")
    names = ", ".join(f"{row.platform}:{row.conversation_id}" for row in found[:_MAX_SHOWN])
    raise ArchiveError(
        f"{word!r} matches several conversations: {names}{', …' * (len(found) > _MAX_SHOWN)}. Type more of the id"
    )


def named_conversations(connection: sqlite3.Connection, word: str) -> list[ConversationRef]:
    """Return all conversations that a word may name, by the strictest way of naming that fits any."""
    word = word.encode(errors="replace").decode()  # the command line may hold bytes that are not UTF-8
    if word.casefold() == "latest":
        return _latest(connection)
    platform, colon, rest = word.partition(":")
    return (
        _by_id(connection, word)
        or (_by_id(connection, rest, platform) if colon else [])
        or _by_alias(connection, word)
        or _by_title(connection, word)
    )


def exactly_named_conversations(connection: sqlite3.Connection, word: str) -> list[ConversationRef]:
    """Return the conversations that have a word as their id, as its end behind the colon, or as `platform:id`."""
    word = word.encode(errors="replace").decode()
    platform, colon, rest = word.partition(":")
    exact = _MATCH_CONDITIONS[:-1]
    return _by_id(connection, word, conditions=exact) or (
        _by_id(connection, rest, platform, conditions=exact) if colon else []
    )


def _latest(connection: sqlite3.Connection) -> list[ConversationRef]:
    """Return the conversation that a list begins with; what a list hides or has at its end only without another."""
    query = (
        f"select {_COLUMNS} from conversation c order by is_sidechain, coalesce(updated_at, created_at) desc, "  # noqa: S608 - constants
        "platform, conversation_id"
    )
    is_undated = f"select {IS_UNDATED} from conversation where conversation_key = ?"  # noqa: S608 - constants, a bound value
    undated: ConversationRef | None = None
    recording: ConversationRef | None = None
    for row in connection.execute(query):
        found = ConversationRef(*row)
        if is_recording(connection, found.key):
            recording = recording or found
        elif connection.execute(is_undated, (found.key,)).fetchone()[0]:
            undated = undated or found
        else:
            return [found]
    other = undated or recording
    return [other] if other else []


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


def _by_id(
    connection: sqlite3.Connection,
    word: str,
    platform: str | None = None,
    conditions: Sequence[str] = _MATCH_CONDITIONS,
) -> list[ConversationRef]:
    if not word:
        return []
    for condition in conditions:
        query = (
            f"select {_COLUMNS} from conversation where {condition} and (?2 is null or platform = ?2) "  # noqa: S608 - constants, bound values
            "order by length(conversation_id), conversation_id, platform limit 100"
        )
        if found := [ConversationRef(*row) for row in connection.execute(query, (word, platform))]:
            agent_prefixes = tuple(f"{ref.conversation_id}:" for ref in found)
            return [ref for ref in found if not ref.conversation_id.startswith(agent_prefixes)]
    return []


def _by_alias(connection: sqlite3.Connection, word: str) -> list[ConversationRef]:
    """Return the conversations with this short id, in one of the forms that are not the beginning of an id."""
    if not _IS_HEX.fullmatch(word):
        return []
    found: list[Alias] = [alias for alias in agent_ends(connection) if alias.name.startswith(word)]
    found = [alias for alias in found if alias.name == word] or found
    if not found and len(word) >= _MIN_DIGEST_LENGTH:
        found = [alias for alias in digests(connection) if alias.name.startswith(word)]
    query = f"select {_COLUMNS} from conversation where platform = ? and conversation_id = ?"  # noqa: S608 - constants, bound values
    return [
        ConversationRef(*connection.execute(query, (alias.platform, alias.conversation_id)).fetchone())
        for alias in found
    ]


def _by_title(connection: sqlite3.Connection, word: str) -> list[ConversationRef]:
    """Return the conversations with this title, in any case; lists show its spaces as one each."""
    wanted = _folded(word)
    query = f"select {_COLUMNS} from conversation where title is not null order by platform, conversation_id"  # noqa: S608 - constants
    found = [ConversationRef(*row) for row in connection.execute(query)] if wanted else []
    return [ref for ref in found if ref.title and _folded(ref.title) == wanted]


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


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
