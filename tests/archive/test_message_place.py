"""Message numbers: what `ID:N` names, and how it is told from ids with colons."""

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.archive.connection import open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.message_place import find_place, message_numbers
from palaver.archive.messages import select_messages
from palaver.archive.rows import conversation_rows
from palaver.errors import ArchiveError
from palaver.model import build

SESSION = "0c182e15-aaaa-4bbb-8ccc-000000000001"
AGENT = f"{SESSION}:agent-afb92ff"


@pytest.fixture
def archive(tmp_path):
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        yield connection


def keep(connection, name, *message_ids, platform="claude_code", title=None):
    messages = [
        build.message(
            message_id=message_id,
            role="user",
            timestamp="2026-01-01T10:00:00.000Z",
            content=[build.text(message_id)],
            metadata={"author_kind": "human"},
        )
        for message_id in message_ids
    ]
    document = build.conversation(
        conversation_id=name,
        title=title,
        platform={"name": platform},
        created_at="2026-01-01T10:00:00.000Z",
        messages=messages,
    )
    Ingest(connection).add([(conversation_rows(document), None)])


def named(connection, word):
    place = find_place(connection, word)
    return place.conversation.conversation_id, place.number, place.message_id


@pytest.mark.parametrize(
    ("word", "name", "number", "message_id"),
    [
        ("0c182e15", SESSION, None, None),
        ("0c182e15:1", SESSION, 1, "m-one"),
        ("0c182e15:002", SESSION, 2, "m-two"),
        (f"{SESSION}:3", SESSION, 3, "part:7"),
        ("0c182e15:m-t", SESSION, 2, "m-two"),
        ("0c182e15:part:7", SESSION, 3, "part:7"),
        ("0c182e15:part", SESSION, 3, "part:7"),
        (AGENT, AGENT, None, None),
        ("agent-afb92ff", AGENT, None, None),
        ("afb92ff:1", AGENT, 1, "a"),
        (f"{AGENT}:2", AGENT, 2, "b"),
        (f"claude_code:{AGENT}:2", AGENT, 2, "b"),
        ("claude_code:0c182e15:2", SESSION, 2, "m-two"),
        ("chatgpt:6812", "6812-chat", None, None),
        ("chatgpt:6812:1", "6812-chat", 1, "x"),
        ("6812:1", "6812-chat", 1, "x"),
        ("Flight: 5", "flight", None, None),
        ("Flight: 5:1", "flight", 1, "y"),
        ("digits:9", "digits:9", None, None),
        ("digits:9:1", "digits:9", 1, "z"),
        ("latest:1", "6812-chat", 1, "x"),
    ],
)
def test_what_a_word_names(archive, word, name, number, message_id):
    keep(archive, SESSION, "m-one", "m-two", "part:7")
    keep(archive, AGENT, "a", "b")
    keep(archive, "6812-chat", "x", platform="chatgpt")
    keep(archive, "flight", "y", platform="other", title="Flight: 5")
    keep(archive, "digits:9", "z", platform="other")
    assert named(archive, word) == (name, number, message_id)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("0c182e15:700", "0c182e15 has 3 messages; there is no message 700"),
        ("0c182e15:0", "0c182e15 has 3 messages; there is no message 0"),
        ("afb92ff:2", "afb92ff has 1 message; there is no message 2"),
        ("0c182e15:m-", "'m-' matches several messages: m-one, m-two. Type more of the id"),
        ("0c182e15:nope", "0c182e15 has no message 'nope': give its number, or the beginning of its id"),
        ("0c182e15:9999999999999999", "0c182e15 has no message '9999999999999999'"),
        ("claude_code:700", "no conversation matches 'claude_code:700'"),
        ("nowhere:1", "no conversation matches 'nowhere:1'"),
        ("nowhere:x", "no conversation matches 'nowhere:x'"),
        ("Twice:1", "'Twice' matches several conversations"),
        (":", "no conversation matches ':'"),
        ("", "no conversation matches ''"),
        ("\udcff:1", "no conversation matches"),
    ],
)
def test_a_word_that_names_nothing_or_too_much(archive, word, reason):
    keep(archive, SESSION, "m-one", "m-two", "part:7")
    keep(archive, AGENT, "a")
    keep(archive, "one", "x", platform="chatgpt", title="Twice")
    keep(archive, "two", "x", platform="chatgpt", title="Twice")
    with pytest.raises(ArchiveError) as caught:
        find_place(archive, word)
    assert reason in str(caught.value)


@settings(max_examples=20)
@given(st.lists(st.text("ab:1", min_size=1, max_size=4), min_size=1, max_size=30, unique=True), st.data())
def test_numbers_count_the_stored_order(tmp_path_factory, message_ids, data):
    with closing(open_to_write(tmp_path_factory.mktemp("numbers") / "archive.db")) as connection:
        keep(connection, "one", *message_ids)
        # Sources that are joined may give several messages the same position.
        positions = data.draw(st.lists(st.integers(0, 3), min_size=len(message_ids), max_size=len(message_ids)))
        for message_id, position in zip(message_ids, positions, strict=True):
            connection.execute("update message set position = ? where message_id = ?", (position, message_id))
        (key,) = connection.execute("select conversation_key from conversation").fetchone()
        numbers = message_numbers(connection, key, message_ids)
        assert sorted(numbers.values()) == list(range(1, len(message_ids) + 1))
        steps = select_messages(connection, key).steps
        for message_id, number in numbers.items():
            assert find_place(connection, f"claude_code:one:{number}").message_id == message_id
            query = "select message_id from message where message_key = ?"
            assert connection.execute(query, (steps[number - 1].key,)).fetchone() == (message_id,)
