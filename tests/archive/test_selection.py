"""Words for conversations: what each means, and the shortest that means one alone."""

import sqlite3
from contextlib import closing
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive.selection import ShortIds, find_conversation
from palaver.errors import ArchiveError


def archive_of(*names):
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "create table conversation (conversation_key integer primary key, platform, conversation_id, "
        "title, created_at, updated_at, is_sidechain)"
    )
    connection.executemany("insert into conversation (platform, conversation_id) values (?, ?)", names)
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
        assert ShortIds(connection).short_id("claude_code", AGENT) == "agent-6340dd"
        assert ShortIds(connection).short_id("claude_code", SESSION) == "5c0375b4"


def test_no_short_id_looks_like_an_option():
    names = ("memory:-home-ada-mill", "memory:-home-ada-race", "-dashed")
    with archive_of(*[("claude_code", name) for name in names]) as connection:
        short_ids = [ShortIds(connection).short_id("claude_code", name) for name in names]
        assert short_ids == ["memory:-home-ada-m", "memory:-home-ada-r", "claude_code:-dashed"]
        assert [find_conversation(connection, short_id).conversation_id for short_id in short_ids] == list(names)


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
        assert ShortIds(connection).short_id("claude_ai", "same") == "claude_ai:same"
        assert find_conversation(connection, "claude_ai:sa").platform == "claude_ai"


def test_the_latest_is_that_which_a_list_begins_with():
    with archive_of(("x", "old"), ("x", "new"), ("x", "new:agent")) as connection:
        times = "update conversation set created_at = ?, is_sidechain = ? where conversation_id = ?"
        connection.executemany(times, [("2025", False, "old"), ("2026", False, "new"), ("2027", True, "new:agent")])
        assert find_conversation(connection, "latest").conversation_id == "new"


@pytest.mark.parametrize("word", ["", ":", "nothing", "chatgpt:", "%", "_"])
def test_a_word_that_means_nothing_is_an_error(word):
    with archive_of(("chatgpt", "same")) as connection, pytest.raises(ArchiveError, match="no conversation"):
        find_conversation(connection, word)


ids = st.text("ab:-", min_size=1, max_size=24)


@given(st.lists(st.tuples(st.sampled_from(["x", "y"]), ids), min_size=1, max_size=12, unique=True))
def test_every_short_name_means_its_conversation(names):
    with archive_of(*names) as connection:
        shorts, many = ShortIds(connection), ShortIds(connection)
        for platform, name in names:
            word = shorts.short_id(platform, name)
            with patch("palaver.archive.selection._MAX_SINGLE_LOOKUPS", 0):
                assert many.short_id(platform, name) == word
            found = find_conversation(connection, word)
            assert (found.platform, found.conversation_id) == (platform, name), word
