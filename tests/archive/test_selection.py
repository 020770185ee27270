"""Words for conversations: what each means, and the shortest that means one alone."""

import sqlite3
from contextlib import closing
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive.selection import find_conversation
from palaver.archive.short_ids import MAX_LENGTH, ShortIds
from palaver.errors import ArchiveError


def archive_of(*names):
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "create table conversation (conversation_key integer primary key, platform, conversation_id, "
        "title, created_at, updated_at, is_sidechain)"
    )
    connection.execute("create table message (conversation, rest, sent_at)")
    connection.executemany("insert into conversation (platform, conversation_id) values (?, ?)", names)
    connection.execute("insert into message (conversation, rest) select conversation_key, '{}' from conversation")
    return closing(connection)


SESSION = "5c0375b4-57a5"
AGENT = f"{SESSION}:agent-6340ddef-f656"


def test_the_beginning_of_a_session_means_the_session_and_not_its_agents():
    with archive_of(("claude_code", AGENT), ("claude_code", SESSION)) as connection:
        assert find_conversation(connection, "5c0375b4").conversation_id == SESSION
        assert find_conversation(connection, f"{SESSION}:").conversation_id == AGENT


def test_an_agent_is_called_by_what_follows_the_colon():
    with archive_of(("claude_code", AGENT), ("claude_code", SESSION)) as connection:
        assert find_conversation(connection, "agent-6340").conversation_id == AGENT
        assert ShortIds(connection).short_id("claude_code", AGENT) == "6340ddef"
        assert find_conversation(connection, "6340ddef").conversation_id == AGENT
        assert ShortIds(connection).short_id("claude_code", SESSION) == "5c0375b4"


def test_the_kind_of_an_agent_is_no_part_of_its_short_id():
    names = [
        f"{SESSION}:agent-aprompt_suggestion-c74fbc",
        f"{SESSION}:agent-aprompt_suggestion-c74fbd12",
        f"{SESSION}:agent-afb92ff",
        f"{SESSION}:agent-1",
    ]
    with archive_of(*[("claude_code", name) for name in names]) as connection:
        short_ids = [ShortIds(connection).short_id("claude_code", name) for name in names]
        assert short_ids == ["c74fbc", "c74fbd12", "afb92ff", "agent-1"]
        assert [find_conversation(connection, short_id).conversation_id for short_id in short_ids] == names


def test_no_short_id_looks_like_an_option():
    names = ("memory:-home-ada-mill", "memory:-home-ada-race", "-dashed")
    with archive_of(*[("claude_code", name) for name in names]) as connection:
        short_ids = [ShortIds(connection).short_id("claude_code", name) for name in names]
        assert not [short_id for short_id in short_ids if short_id.startswith("-") or len(short_id) > MAX_LENGTH]
        assert [find_conversation(connection, short_id).conversation_id for short_id in short_ids] == list(names)


def test_a_conversation_is_named_by_its_title():
    with archive_of(("chatgpt", "one"), ("chatgpt", "two"), ("chatgpt", "three")) as connection:
        titles = [("Flight  rules", "one"), ("two", "three"), ("Twice", "two")]
        connection.executemany("update conversation set title = ? where conversation_id = ?", titles)
        assert find_conversation(connection, "flight rules").conversation_id == "one"
        assert find_conversation(connection, "two").conversation_id == "two"
        connection.execute("update conversation set title = 'Twice'")
        with pytest.raises(ArchiveError, match="'twice' matches several conversations: chatgpt:one"):
            find_conversation(connection, "twice")


def test_a_whole_id_is_rather_meant_than_the_beginning_of_another():
    with archive_of(("chatgpt", "chat-1"), ("chatgpt", "chat-10")) as connection:
        assert find_conversation(connection, "chat-1").conversation_id == "chat-1"
        assert [ShortIds(connection).short_id("chatgpt", name) for name in ("chat-1", "chat-10")] == [
            "chat-1",
            "chat-10",
        ]


def test_one_id_on_two_platforms_needs_the_platform():
    with archive_of(("chatgpt", "same"), ("claude_ai", "same")) as connection:
        with pytest.raises(ArchiveError, match="several"):
            find_conversation(connection, "same")
        short_id = ShortIds(connection).short_id("claude_ai", "same")
        assert len(short_id) == 8
        assert find_conversation(connection, short_id).platform == "claude_ai"
        assert find_conversation(connection, "claude_ai:same").platform == "claude_ai"
        assert find_conversation(connection, "claude_ai:sa").platform == "claude_ai"


def test_the_latest_is_that_which_a_list_begins_with():
    with archive_of(("x", "old"), ("x", "new"), ("x", "new:agent")) as connection:
        times = "update conversation set created_at = ?, is_sidechain = ? where conversation_id = ?"
        connection.executemany(times, [("2025", False, "old"), ("2026", False, "new"), ("2027", True, "new:agent")])
        assert find_conversation(connection, "latest").conversation_id == "new"
        assert find_conversation(connection, "Latest").conversation_id == "new"


def test_a_guessed_time_is_never_the_latest():
    with archive_of(("x", "dated"), ("x", "undated")) as connection:
        connection.execute("update conversation set created_at = conversation_key, is_sidechain = 0")
        is_inferred = 'update message set rest = \'{"metadata":{"timestamp_inferred":true}}\' where conversation = ?'
        connection.execute(is_inferred, (2,))
        assert find_conversation(connection, "latest").conversation_id == "dated"
        connection.execute(is_inferred, (1,))
        assert find_conversation(connection, "latest").conversation_id == "undated"


@pytest.mark.parametrize("word", ["", ":", "nothing", "chatgpt:", "%", "_"])
def test_a_word_that_means_nothing_is_an_error(word):
    with archive_of(("chatgpt", "same")) as connection, pytest.raises(ArchiveError, match="no conversation matches"):
        find_conversation(connection, word)


ids = st.text("ab:-", min_size=1, max_size=24)


@given(st.lists(st.tuples(st.sampled_from(["x", "y"]), ids), min_size=1, max_size=12, unique=True))
def test_every_short_id_is_short_and_names_its_conversation(names):
    with archive_of(*names) as connection:
        shorts, many = ShortIds(connection), ShortIds(connection)
        for platform, name in names:
            word = shorts.short_id(platform, name)
            with patch("palaver.archive.short_ids._MAX_SINGLE_LOOKUPS", 0):
                assert many.short_id(platform, name) == word
            assert len(word) <= MAX_LENGTH
            found = find_conversation(connection, word)
            assert (found.platform, found.conversation_id) == (platform, name), word


def test_short_ids_stay_short_among_many_agents():
    names = [("claude_code", f"{SESSION}:agent-aprompt_suggestion-{number:06x}") for number in range(5_000)]
    with archive_of(*names) as connection:
        short_ids = ShortIds(connection)
        words = [short_ids.short_id(*name) for name in names]
        assert max(map(len, words)) <= MAX_LENGTH
        assert len(set(words)) == len(words)
