"""Recorded calls of the answers in an archive: what went over the wire, beside what an assistant wrote down.

An answer in a transcript and one in recorded API traffic belong to the same call if both state the same id of the
answer, or, where one lacks it, if the other is the only recorded answer to the same request. No message is changed.
"""

import sqlite3
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from palaver.archive.conversation_totals import answers_of_request, recorded_answer_id
from palaver.archive.messages import StoredMessage
from palaver.model.build import JsonObject

_MAX_CALLS = 1_000
"""How many calls with the same request are looked at for those that failed."""


class FailedCall(NamedTuple):
    """A call that failed, and whose request was sent again."""

    sent_at: str
    request_id: str | None
    status_code: int | None
    category: str | None
    message: str
    duration_ms: float | None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """The recorded call that an answer comes from; what the recording does not state is None."""

    conversation: int
    platform: str
    conversation_id: str
    message_id: str
    api_message_id: str | None
    model: str | None
    sent_at: str | None
    """None if the recording states no times."""
    duration_ms: float | None
    time_to_first_token_ms: float | None
    time_to_first_chunk_ms: float | None
    stream_ms: float | None
    status_code: int | None
    request_id: str | None
    url: str | None
    retries: list[FailedCall]
    metadata: JsonObject
    """All that the recorded message states beside its content."""


class SentContext(NamedTuple):
    """What a request gave the model besides the messages."""

    system_prompt: list[JsonObject]
    """Its blocks; empty if there was none."""
    tools: list[Any]
    """The definitions of the tools, in the provider's format."""
    settings: JsonObject


def recorded_call(connection: sqlite3.Connection, message: StoredMessage) -> RecordedCall | None:
    """Return the recorded call that a message is the answer of, or None if there is none."""
    condition, value = "m.message_key = ?1", str(message.key)
    if "sent" not in message.metadata:
        answer_id = message.api_message_id
        if not answer_id and message.request_id:
            answer_id = recorded_answer_id(connection, message.request_id)
        if not answer_id:
            return None
        condition, value = f"(m.api_message_id = ?1 or {answers_of_request('m', '?1')})", answer_id
    row = connection.execute(
        "select c.conversation_key, c.platform, c.conversation_id, m.message_id, m.api_message_id, "  # noqa: S608 - constants, a bound value
        "coalesce(m.model, c.model), m.sent_at, m.request_id, m.sent_request, cast(m.rest as blob) from message m "
        f"join conversation c on c.conversation_key = m.conversation where {condition} and m.sent_at is not null "
        "order by m.sent_at, c.conversation_id, m.message_id, c.platform limit 1",
        (value,),
    ).fetchone()
    if row is None:
        return None
    *place, sent_at, request_id, sent_request, rest = row
    metadata: JsonObject = orjson.loads(rest).get("metadata") or {}
    return RecordedCall(
        *place,
        sent_at=sent_at or None,
        duration_ms=_number(metadata.get("duration_ms")),
        time_to_first_token_ms=_number(metadata.get("time_to_first_token_ms")),
        time_to_first_chunk_ms=_number(metadata.get("time_to_first_chunk_ms")),
        stream_ms=_number(metadata.get("stream_ms")),
        status_code=_status(metadata),
        request_id=request_id,
        url=_text(metadata.get("url")),
        retries=_failed_before(connection, sent_request, sent_at, request_id) if sent_request and sent_at else [],
        metadata=metadata,
    )


def sent_context(connection: sqlite3.Connection, call: RecordedCall) -> SentContext:
    """Return the system prompt, the tools and the settings that a recorded call sent."""
    sent: JsonObject = call.metadata.get("sent") or {}
    query = "select header from conversation where conversation_key = ?"
    header: JsonObject = orjson.loads(connection.execute(query, (call.conversation,)).fetchone()[0])
    match call.metadata, sent, header:
        case {"instructions": str(text)}, _, _:
            prompt: list[JsonObject] = [{"type": "text", "text": text}]
        case _, {"system_prompt": str(message_id)}, _:
            prompt = _system_prompt(connection, call.conversation, message_id)
        case _, _, {"session": {"session_id": str()}}:
            prompt = []
        case _:
            prompt = _system_prompt(connection, call.conversation, None)
    match header:
        case {"platform": {"metadata": {"tool_sets": dict(sets)}}}:
            tools: Any = sets.get(sent.get("tools"))
        case _:
            tools = None
    settings = call.metadata.get("request")
    return SentContext(prompt, tools if isinstance(tools, list) else [], settings if isinstance(settings, dict) else {})


def _system_prompt(connection: sqlite3.Connection, conversation: int, message_id: str | None) -> list[JsonObject]:
    """Return the blocks of a system prompt; without an id, of the only one that a conversation has."""
    is_named = message_id is not None
    row = connection.execute(
        "select cast(b.content as blob) from message m join body b on b.body_key = m.body where m.conversation = ? "  # noqa: S608 - constants, bound values
        f"and m.role = 'system' and {'m.message_id = ?' if is_named else '? is null and m.parent_message_id is null'} "
        "and m.sent_at is null order by m.position, m.message_id limit 1",
        (conversation, message_id),
    ).fetchone()
    return orjson.loads(row[0]) if row else []


def _failed_before(
    connection: sqlite3.Connection, sent_request: str, sent_at: str, own_id: str | None
) -> list[FailedCall]:
    """Return the calls with a request that failed since it was last answered, in the order of their times."""
    rows = connection.execute(
        "select sent_at, request_id, cast(rest as blob) from message where sent_request = ? and sent_at <= ? "
        "and not (sent_at = ? and request_id is ?) order by sent_at desc, request_id limit ?",
        (sent_request, sent_at, sent_at, own_id, _MAX_CALLS),
    )
    failed: list[FailedCall] = []
    last_answer = ""
    for (failed_at, request_id), parts in groupby(rows, itemgetter(0, 1)):
        metadata = [orjson.loads(rest).get("metadata") or {} for _, _, rest in parts]
        # A call that broke off has a part of an answer, and an error.
        about = next((one for one in metadata if isinstance(one.get("error"), dict)), None)
        if about is None:
            last_answer = failed_at
            break
        error = about["error"]
        failed.append(
            FailedCall(
                *(failed_at, request_id, _status(about) or _status(error)),
                *(_text(error.get("category")), _text(error.get("message")) or "", _number(about.get("duration_ms"))),
            )
        )
    return [call for call in reversed(failed) if call.sent_at > last_answer]


def _status(metadata: JsonObject) -> int | None:
    stated = metadata.get("status_code", metadata.get("status"))
    return stated if type(stated) is int else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
