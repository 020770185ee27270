"""Token usage per API call, as it is joined when messages arrive.

Several API calls may return the same words; they make one message, but each call was paid for. The columns of `message`
hold the usage of one call: the call named by the current version or, if it names none, the least id that any version
names. Versions without a call id count towards that call. Once a message answers several calls, `answer_usage` holds
the usage of all of them, so that they stay separate whatever arrives later.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from palaver.archive.conversation_totals import COUNT_COLUMNS
from palaver.archive.join import join_counts, join_encoded_tokens
from palaver.archive.rows import NO_COUNTS, MessageRow


class CallUsage(NamedTuple):
    """Usage of one API call: as encoded JSON, and as the values of its columns."""

    tokens: bytes | None
    counts: tuple[int | None, ...]

    def join(self, other: "CallUsage") -> "CallUsage":
        return CallUsage(join_encoded_tokens(self.tokens, other.tokens), join_counts(self.counts, other.counts))


UsageByCall = dict[str, CallUsage]
"""Usage by call id; versions that name no call are under the empty id."""
_NO_USAGE = CallUsage(None, NO_COUNTS)


def usage_by_call(connection: sqlite3.Connection, message: int) -> UsageByCall:
    """Return the known usage of each call that a message answers."""
    api_id, tokens, *counts = connection.execute(
        f"select api_message_id, cast(tokens as blob), {COUNT_COLUMNS} from message where message_key = ?",  # noqa: S608 - constants, bound values
        (message,),
    ).fetchone()
    return _stored_usage(connection, message) or _message_usage(api_id, tokens, counts)


def _stored_usage(connection: sqlite3.Connection, message: int) -> UsageByCall:
    rows = connection.execute(
        f"select api_message_id, cast(tokens as blob), {COUNT_COLUMNS} from answer_usage where message = ?",  # noqa: S608 - constants, bound values
        (message,),
    )
    return {name: CallUsage(tokens, tuple(counts)) for name, tokens, *counts in rows}


def _message_usage(api_id: str | None, tokens: bytes | None, counts: Sequence[int | None]) -> UsageByCall:
    return {} if tokens is None else {api_id or "": CallUsage(tokens, tuple(counts))}


def join_call_usage(
    connection: sqlite3.Connection, message: int, before: tuple[str | None, CallUsage], row: MessageRow, own: str | None
) -> bool:
    """Join the usage of a version that names another call than the message does, and return whether anything changed.

    `before` holds the call id and usage in the message's columns before this version was joined. `own` is the call id
    named by the version that is current now.
    """
    api_id, usage = before
    stored = _stored_usage(connection, message)
    calls = dict(stored or _message_usage(api_id, *usage))
    if row.tokens is not None:
        name = row.api_message_id or ""
        calls[name] = calls.get(name, _NO_USAGE).join(CallUsage(row.tokens, row.counts))
    chosen = own or min(filter(None, calls), default=own)
    joined = calls.get("", _NO_USAGE)
    if chosen:
        joined = joined.join(calls.get(chosen, _NO_USAGE))
    connection.execute(
        "update message set api_message_id = ?, tokens = cast(? as text), input_tokens = ?, output_tokens = ?, "
        "cache_read_tokens = ?, cache_write_tokens = ?, cache_write_1h_tokens = ?, thinking_tokens = ? "
        "where message_key = ?",
        (chosen, *joined[:1], *joined.counts, message),
    )
    split = {} if calls.keys() <= {chosen or ""} else calls
    if split != stored:
        connection.execute("delete from answer_usage where message = ?", (message,))
        connection.executemany(
            f"insert into answer_usage (message, api_message_id, tokens, {COUNT_COLUMNS}) "  # noqa: S608 - constants, bound values
            "values (?, ?, cast(? as text), ?, ?, ?, ?, ?, ?)",
            [(message, name, call.tokens, *call.counts) for name, call in split.items()],
        )
    return split != stored or joined != usage
