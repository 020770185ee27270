"""What a status line shows of the archive: the cost of today, one session, and the answers of the current block.

The status line runs at every prompt, so the archive is asked only when it has changed, and modules that take long to
import wait until then.
"""

# ruff: noqa: S608 - conditions are constants, every value is bound

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from palaver.archive.usage_blocks import is_gap

PLATFORM = "claude_code"
"""The platform whose plans have a limit every five hours."""
_BUSY_SECONDS = 0.3
_CHAIN_DAYS = (1, 8)
"""How many days back a pause between blocks is looked for, first and then."""
_NEWEST = 20
"""How many of the newest sessions are looked at to find one with token counts."""
_COUNTS = "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, thinking_tokens"
Counts = tuple[int | None, ...]
Cost = Callable[[Iterable["Answer"]], "Priced"]


class Answer(NamedTuple):
    """The usage of one answer, in the order of `usage.Counts`."""

    api_message_id: str | None
    timestamp: str
    platform: str
    model: str | None
    service_tier: str | None
    counts: Counts


class Priced(NamedTuple):
    amount: Decimal
    unpriced: int


class Session(NamedTuple):
    """A session in the archive."""

    conversation_id: str
    model: str | None
    tokens: int
    cost: Decimal
    answers: int
    unpriced: int


class LiveUsage(NamedTuple):
    today: Decimal
    times: list[str]
    """When Claude Code answered, since the last pause that is long enough to begin a block; in order."""
    session: Session | None


class ArchivedAnswer(NamedTuple):
    """An answer of a transcript, as the archive has it."""

    timestamp: str
    """That of its first copy."""
    is_in_session: bool
    is_timed: bool
    """Whether Claude Code's own record of it is in the archive, and not only a recording."""
    counts: Counts


def open_quickly(path: str) -> sqlite3.Connection:
    """Open the archive to read, without waiting for long, and without migrating it."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    connection.execute("pragma query_only = on")
    return connection


def live_usage(path: str, session_id: str, folder: str, today: str, cost: Cost) -> LiveUsage:
    """Read the archive; without a session's id, the newest session is shown, of this folder if there is one."""
    from palaver.archive.filters import Filters
    from palaver.archive.usage import Scope, counted_answers

    now = datetime.now(UTC)
    with closing(open_quickly(path)) as connection:
        times: list[str] = []
        answers: list[Any] = []
        for days in _CHAIN_DAYS:
            since = min(f"{now - timedelta(days=days):%Y-%m-%dT%H:%M:%S}.000Z", today)
            scope = Scope(Filters(since=since), is_utc=True)
            answers = list(counted_answers(connection, scope))
            times, has_gap = _since_last_gap(
                [answer.owner for answer in answers if answer.owner.platform == PLATFORM], since
            )
            if has_gap:
                break
        of_today = [
            Answer(owner.api_message_id, owner.timestamp, owner.platform, owner.model, owner.service_tier, counts)
            for owner, counts, _ in answers
            if owner.timestamp >= today
        ]
        return LiveUsage(cost(of_today).amount, times, _session(connection, session_id, folder, cost))


def _since_last_gap(owners: list[Any], since: str) -> tuple[list[str], bool]:
    times = sorted(owner.timestamp for owner in owners)
    for index in range(len(times) - 1, -1, -1):
        if is_gap(times[index - 1] if index else since, times[index]):
            return times[index:], True
    return times, False


def _session(connection: sqlite3.Connection, session_id: str, folder: str, cost: Cost) -> Session | None:
    chosen = _chosen_session(connection, session_id, folder)
    if chosen is None:
        return None
    platform, conversation_id, model = chosen
    keys = session_keys(connection, platform, conversation_id)
    joined: dict[str, Answer] = {}
    query = (
        "select coalesce(nullif(m.api_message_id, ''), 'key ' || m.message_key), m.timestamp, "
        "coalesce(m.model, c.model), "
        f"json_extract(m.tokens, '$.service_tier'), {', '.join(f'm.{name}' for name in _COUNTS.split(', '))} "
        "from message m join conversation c on c.conversation_key = m.conversation "
        "where m.conversation in (select value from json_each(?)) and m.tokens is not null order by m.timestamp"
    )
    for name, timestamp, own_model, tier, *counts in connection.execute(query, (json.dumps(keys),)):
        before = joined.get(name)
        joined[name] = (
            Answer(name, timestamp, platform, own_model, tier, tuple(counts))
            if before is None
            else before._replace(counts=greatest(before.counts, tuple(counts)))
        )
    latest = max(joined.values(), key=lambda answer: answer.timestamp, default=None)
    amount, unpriced = cost(joined.values())
    tokens = sum(new_tokens(answer.counts) for answer in joined.values())
    return Session(conversation_id, latest.model if latest else model, tokens, amount, len(joined), unpriced)


def _chosen_session(connection: sqlite3.Connection, session_id: str, folder: str) -> tuple[str, str, str | None] | None:
    if session_id:
        query = "select platform, conversation_id, model from conversation where platform = ? and conversation_id = ?"
        return connection.execute(query, (PLATFORM, session_id)).fetchone()
    newest = f"not is_sidechain order by coalesce(updated_at, created_at) desc, conversation_id limit {_NEWEST}"
    has_tokens = "exists (select 1 from message m where m.conversation = conversation_key and m.tokens is not null)"
    for condition, values in (("project = ? and", (folder,)), ("", ())):
        candidates = f"select * from conversation where {condition} {newest}"
        query = f"select platform, conversation_id, model from ({candidates}) where {has_tokens} limit 1"
        if found := connection.execute(query, values).fetchone():
            return found
    return None


def session_keys(connection: sqlite3.Connection, platform: str, conversation_id: str) -> list[int]:
    """Return the keys of a session and of its agents."""
    query = (
        "select conversation_key from conversation where platform = ? and conversation_id = ? union "
        "select conversation_key from conversation where platform = ? and parent_conversation_id = ? and is_sidechain"
    )
    return [key for (key,) in connection.execute(query, (platform, conversation_id) * 2)]


def archived_answers(
    connection: sqlite3.Connection, session_id: str, api_message_ids: Iterable[str]
) -> dict[str, ArchivedAnswer]:
    """Return those of these answers that the archive has, with the greatest counts of all copies."""
    found: dict[str, ArchivedAnswer] = {}
    keys = set(session_keys(connection, PLATFORM, session_id))
    query = (
        f"select m.api_message_id, m.timestamp, m.conversation, c.platform, {_COUNTS} from json_each(?) k "
        "cross join message m on m.api_message_id = k.value join conversation c on c.conversation_key = m.conversation "
        "where m.tokens is not null"
    )
    rows = connection.execute(query, (json.dumps(list(api_message_ids)),))
    for name, timestamp, conversation, platform, *counts in rows:
        before = found.get(name) or ArchivedAnswer(timestamp, is_in_session=False, is_timed=False, counts=tuple(counts))
        found[name] = ArchivedAnswer(
            min(before.timestamp, timestamp),
            before.is_in_session or conversation in keys,
            before.is_timed or platform == PLATFORM,
            greatest(before.counts, tuple(counts)),
        )
    return found


def read_bytes(connection: sqlite3.Connection, transcript: str) -> dict[str, int]:
    """Return how far the archive has read the files of a transcript, by their names relative to its folder."""
    query = "select c.file, c.read_bytes from cursor c join source s on s.source_key = c.source where s.label = ?"
    return dict(connection.execute(query, (transcript,)).fetchall())


def greatest(first: Counts, second: Counts) -> Counts:
    """Return the field-wise maximum; None where neither count is known."""
    return tuple(
        [max((count for count in pair if count is not None), default=None) for pair in zip(first, second, strict=True)]
    )


def new_tokens(counts: Counts) -> int:
    """Return the tokens without cache reads, which repeat the same input in every request."""
    sent, answered, _, written, _, _ = counts
    return (sent or 0) + (answered or 0) + (written or 0)
