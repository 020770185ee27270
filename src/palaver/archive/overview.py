"""What is known about one conversation beside its messages."""

import sqlite3
from dataclasses import dataclass

import orjson

from palaver.archive.children import Child, children_of
from palaver.archive.copies import CountedThere, counted_elsewhere
from palaver.archive.listing import Listed, listed
from palaver.archive.viewing import IS_OFF_PATH
from palaver.model.build import JsonObject


@dataclass(frozen=True, slots=True)
class Overview:
    key: int
    listed: Listed
    header: JsonObject
    models: list[str]
    """Those that messages name, the most frequent first; else that of the whole."""
    tool_calls: int
    failed_calls: int
    off_path: int
    branches: int
    """Messages that are not on the active path, and the branches they form."""
    revised: int
    """Messages of which other versions are kept."""
    summaries: list[JsonObject]
    children: list[Child]
    parent_title: str | None
    """None when the parent is not in the archive."""
    counted_elsewhere: list[CountedThere]


def overview(connection: sqlite3.Connection, key: int) -> Overview:
    [about] = listed(connection, [key])
    [header] = connection.execute("select header from conversation where conversation_key = ?", (key,)).fetchone()
    parent = connection.execute(
        "select coalesce(title, '') from conversation where platform = ? and conversation_id = ?",
        (about.platform, about.parent),
    ).fetchone()
    models = connection.execute(
        "select model from message where conversation = ? and model is not null group by model order by count(*) desc",
        (key,),
    )
    tool_calls, failed_calls = _calls(connection, key)
    off_path, branches = _branches(connection, key)
    query = "select count(distinct message_id) from revision where conversation = ?"
    [revised] = connection.execute(query, (key,)).fetchone()
    return Overview(
        key,
        listed=about,
        header=orjson.loads(header),
        models=[model for (model,) in models] or ([about.model] if about.model else []),
        tool_calls=tool_calls,
        failed_calls=failed_calls,
        off_path=off_path,
        branches=branches,
        revised=revised,
        summaries=_summaries(connection, key),
        children=children_of(connection, about.platform, about.conversation_id),
        parent_title=parent[0] if parent else None,
        counted_elsewhere=counted_elsewhere(connection, key),
    )


def _calls(connection: sqlite3.Connection, key: int) -> tuple[int, int]:
    """How many calls there are, and how many results are failures; only bodies with some of them are looked into."""
    calling = connection.execute(
        "select cast(content as blob) from message m join body b on b.body_key = m.body "
        "where m.conversation = ? and exists (select 1 from tool_call t where t.body = m.body)",
        (key,),
    )
    calls = sum(block["type"] == "tool_use" for (content,) in calling for block in orjson.loads(content))
    failing = connection.execute(
        "select cast(content as blob) from message m join body b on b.body_key = m.body "
        "where m.conversation = ? and b.is_error",
        (key,),
    )
    return calls, sum(bool(block.get("is_error")) for (content,) in failing for block in orjson.loads(content))


def _branches(connection: sqlite3.Connection, key: int) -> tuple[int, int]:
    """How many messages are not on the active path, and how many branches they form."""
    query = f"""
        select count(*), coalesce(sum(not exists (
            select 1 from message p where p.conversation = m.conversation and p.message_id = m.parent_message_id
            and {IS_OFF_PATH.format("p")})), 0)
        from message m where m.conversation = ? and {IS_OFF_PATH.format("m")}"""  # noqa: S608 - our own words
    return connection.execute(query, (key,)).fetchone()


def _summaries(connection: sqlite3.Connection, key: int) -> list[JsonObject]:
    query = "select summary from summary where conversation = ? order by position, timestamp, summary_id"
    return [orjson.loads(summary) for (summary,) in connection.execute(query, (key,))]
