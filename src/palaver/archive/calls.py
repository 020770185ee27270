"""Usage of one message by call: the same words may be the answers of several calls, and each was paid for.

A message has the figures of one call, its own: that of the current version, or, where that one names none, the least of
those that any version names; accounts without an id tell of that call. Figures of other calls stand in `answer_usage`,
all of the message together, so that they can be told apart whatever arrives later.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from palaver.archive.merge import greatest, joined_text
from palaver.archive.rows import NO_COUNTS, MessageRow

COUNTS = "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, thinking_tokens"


class Figures(NamedTuple):
    """The usage of one call: as JSON, and what of it has columns."""

    tokens: bytes | None
    counts: tuple[int | None, ...]

    def joined(self, other: "Figures") -> "Figures":
        return Figures(joined_text(self.tokens, other.tokens), greatest(self.counts, other.counts))


Calls = dict[str, Figures]
"""Figures by the id of the call; under the empty id, those of accounts that name none."""
_NOTHING = Figures(None, NO_COUNTS)


def calls_of(connection: sqlite3.Connection, message: int) -> Calls:
    """What each call used, as far as it is known."""
    api_id, tokens, *counts = connection.execute(
        f"select api_message_id, cast(tokens as blob), {COUNTS} from message where message_key = ?",  # noqa: S608
        (message,),
    ).fetchone()
    return _split(connection, message) or _one(api_id, tokens, counts)


def _split(connection: sqlite3.Connection, message: int) -> Calls:
    rows = connection.execute(
        f"select api_message_id, cast(tokens as blob), {COUNTS} from answer_usage where message = ?",  # noqa: S608
        (message,),
    )
    return {name: Figures(tokens, tuple(counts)) for name, tokens, *counts in rows}


def _one(api_id: str | None, tokens: bytes | None, counts: Sequence[int | None]) -> Calls:
    return {} if tokens is None else {api_id or "": Figures(tokens, tuple(counts))}


def join_call(
    connection: sqlite3.Connection, message: int, before: tuple[str | None, Figures], row: MessageRow, own: str | None
) -> bool:
    """Join an account that tells of another call; `own` is the call that the version which is current now names.

    `before` is what the message's columns said before that version was joined.
    """
    api_id, figures = before
    stored = _split(connection, message)
    calls = dict(stored or _one(api_id, *figures))
    if row.tokens is not None:
        name = row.api_message_id or ""
        calls[name] = calls.get(name, _NOTHING).joined(Figures(row.tokens, row.counts))
    chosen = own or min(filter(None, calls), default=own)
    mine = calls.get("", _NOTHING)
    if chosen:
        mine = mine.joined(calls.get(chosen, _NOTHING))
    connection.execute(
        "update message set api_message_id = ?, tokens = cast(? as text), input_tokens = ?, output_tokens = ?, "
        "cache_read_tokens = ?, cache_write_tokens = ?, cache_write_1h_tokens = ?, thinking_tokens = ? "
        "where message_key = ?",
        (chosen, *mine[:1], *mine.counts, message),
    )
    apart = {} if calls.keys() <= {chosen or ""} else calls
    if apart != stored:
        connection.execute("delete from answer_usage where message = ?", (message,))
        connection.executemany(
            f"insert into answer_usage (message, api_message_id, tokens, {COUNTS}) "  # noqa: S608 - our own words
            "values (?, ?, cast(? as text), ?, ?, ?, ?, ?, ?)",
            [(message, name, held.tokens, *held.counts) for name, held in apart.items()],
        )
    return apart != stored or mine != figures


_OF_MESSAGES = (
    "message_key, conversation, message_id, timestamp, author_kind, model, api_message_id, tokens, rest, "
    f"{COUNTS}, 1 as is_message"
)
_OTHERS = f"""
    select null, m.conversation, m.message_id, r.timestamp, null, json_extract(r.rest, '$.metadata.model_override'),
        a.api_message_id, a.tokens, r.rest, {", ".join(f"a.{name}" for name in COUNTS.split(", "))}, 0
    from answer_usage a join message m on m.message_key = a.message
    join revision r on r.conversation = m.conversation and r.message_id = m.message_id and r.version = (
        select v.version from revision v where v.conversation = m.conversation and v.message_id = m.message_id
        and json_extract(v.rest, '$.metadata.api_message_id') = a.api_message_id
        order by v.timestamp, v.version limit 1)
    where a.api_message_id <> '' and a.api_message_id is not m.api_message_id"""  # noqa: S608 - our own words


def has_other_calls(connection: sqlite3.Connection) -> bool:
    return connection.execute("select 1 from answer_usage limit 1").fetchone() is not None


def calls_table(connection: sqlite3.Connection) -> str:
    """The messages of the archive, and once more those that answer another call as well, as a table to select from.

    Where there are no such calls, which is the rule, it is the table of messages and as quick as that.
    """
    if not has_other_calls(connection):
        return "(select *, 1 as is_message from message)"
    return f"(select {_OF_MESSAGES} from message union all {_OTHERS})"  # noqa: S608 - our own words
