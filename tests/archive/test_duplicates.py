"""Duplicates at each level are worked out from what is stored, and none is ever removed."""

import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive import duplicates
from palaver.archive.duplicates import RepeatedMessage, conversation_links, repeated_messages, window_duplicates
from palaver.archive.filters import Filters
from palaver.archive.ingest import Ingest
from palaver.archive.migrations import migrate
from palaver.archive.rows import conversation_rows
from palaver.archive.source_records import FileRow, SourceDescription, SourceOutcome, ensure_source, record_source
from palaver.model import build
from palaver.model.report import SourceReport

LONG = "The tide table of the second of March, with all its heights, times and remarks, as it was printed. "
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def said(message_id, text, at_ms=0, role="user", author="human", **metadata):
    when = (START + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return build.message(
        message_id=message_id,
        role=role,
        timestamp=when,
        content=[build.text(text)],
        metadata={"author_kind": author, **metadata},
    )


def conversation(conversation_id, messages, platform="claude_code", **more):
    return {
        "schema_version": "1.0.0",
        "conversation_id": conversation_id,
        "platform": {"name": platform},
        "created_at": min(message["timestamp"] for message in messages),
        "messages": messages,
        **more,
    }


@pytest.fixture
def connection():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "memory")
        yield connection


def keep(connection, *documents, source=None):
    Ingest(connection).add([(conversation_rows(document), source) for document in documents])


def named_links(connection, filters=None):
    names = dict(connection.execute("select conversation_key, conversation_id from conversation"))
    return [
        (names[link.first], names[link.other], link.shared, link.share, link.reason)
        for link in conversation_links(connection, filters or Filters())
    ]


# -- level 1 and 2 --------------------------------------------------------------------------------------------------


def read_source(connection, label, platform="claude_code", size_bytes=100):
    facts = SourceDescription(platform, label, files=(FileRow(label, size_bytes, 1),))
    key = ensure_source(connection, facts)
    record_source(connection, key, facts, SourceOutcome(SourceReport(label, platform)))
    return key


def test_what_was_read_is_remembered(connection):
    read_source(connection, "/a/one.jsonl")
    read_source(connection, "/a/two.zip", platform="chatgpt", size_bytes=50)
    assert duplicates.remembered_files(connection, Filters()) == (2, 2, 150)
    assert duplicates.remembered_files(connection, Filters(platforms=("chatgpt",))) == (1, 1, 50)


def test_files_that_are_equal_in_length_beginning_and_end_are_told(connection):
    for label, tail, read_bytes in (("/a/x.jsonl", "h", 100), ("/b/x.jsonl", "h", 100), ("/c/x.jsonl", "h", 90)):
        key = read_source(connection, label)
        connection.execute("insert into cursor values (?, 'x.jsonl', ?, ?, '{}')", (key, read_bytes, tail))
    [equal] = duplicates.equal_files(connection, Filters())
    assert {equal.path, equal.equal_to} == {"/a/x.jsonl", "/b/x.jsonl"}


def test_a_conversation_from_several_sources_is_told_with_them(connection):
    document = conversation("c", [said("m1", LONG)])
    keep(connection, document, conversation("d", [said("m2", "alone")]), source=read_source(connection, "/b"))
    keep(connection, document, source=read_source(connection, "/a"))
    [merged] = duplicates.merged_conversations(connection, Filters())
    assert merged.sources == ["/a", "/b"]
    assert not list(duplicates.merged_conversations(connection, Filters(platforms=("chatgpt",))))


# -- level 3 --------------------------------------------------------------------------------------------------------


def test_conversations_that_share_messages_are_linked_to_the_first(connection):
    copied = [said("m1", f"{LONG} one"), said("m2", "short words", 1)]
    keep(
        connection,
        conversation("fork", [*copied, said("f", f"{LONG} two", 9)], session={"parent_conversation_id": "base"}),
        conversation("base", [*copied, said("b", f"{LONG} three", 8)]),
        conversation("third", [copied[0], said("t", f"{LONG} two", 10), said("t2", "something else", 11)]),
    )
    assert named_links(connection) == [
        ("base", "fork", 2, 2 / 3, "continues it"),
        ("base", "third", 1, 1 / 3, "same content"),
        ("fork", "third", 1, 1 / 3, "same content"),
    ]
    assert named_links(connection, Filters(platforms=("chatgpt",))) == []


def test_short_words_and_what_is_injected_link_nothing(connection):
    keep(
        connection,
        conversation("a", [said("m1", "yes"), said("m2", LONG, 1, author="harness")]),
        conversation("b", [said("n1", "yes"), said("n2", LONG, 1, author="harness")]),
    )
    assert conversation_links(connection, Filters()) == []


def test_the_same_content_on_two_platforms_is_told(connection):
    keep(
        connection,
        conversation("a", [said("m1", LONG)]),
        conversation("a", [said("m1", LONG, 5)], platform="api_trace"),
    )
    [link] = conversation_links(connection, Filters())
    assert link.reason == "recorded by two platforms"


def test_two_that_hold_each_others_messages_first_are_one_link(connection):
    keep(
        connection,
        conversation("a", [said("m1", f"{LONG} one", 0), said("m2", f"{LONG} two", 5)]),
        conversation("b", [said("n1", f"{LONG} one", 3), said("n2", f"{LONG} two", 4)]),
    )
    assert named_links(connection) == [("a", "b", 2, 1.0, "same content")]


def test_a_body_in_very_many_conversations_makes_no_more_links_than_there_are(connection):
    keep(connection, *(conversation(f"c{number:04}", [said("m", LONG, number)]) for number in range(1000)))
    assert len(conversation_links(connection, Filters())) == 999


@given(st.randoms(use_true_random=False))
def test_the_order_of_import_changes_no_link(shuffling):
    texts = [f"{LONG} {number}" for number in range(4)]
    documents = [
        conversation(f"c{number}", [said(f"m{i}", text, number + i) for i, text in enumerate(some)])
        for number, some in enumerate(random.Random(5).choices(texts, k=3) for _ in range(5))
    ]
    found = []
    for order in (documents, shuffling.sample(documents, len(documents))):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            migrate(connection, "memory")
            keep(connection, *order)
            found.append(named_links(connection))
    assert found[0] == found[1]


# -- level 4 --------------------------------------------------------------------------------------------------------


def test_the_window_is_measured_from_the_first(connection):
    keep(
        connection,
        conversation(
            "c",
            [
                said("a", "again", 0),
                said("b", "again", 4000),
                said("c", "again", 8000),
                said("d", "again", 13000),
                said("e", "again", 13001),
                said("other", "something else", 4000),
                said("answer", "again", 1, role="assistant", author="model"),
            ],
        ),
        conversation("d", [said("z", "again", 1)]),
    )
    assert window_duplicates(connection, 1, 5000) == {"b": "a", "d": "c"}
    assert window_duplicates(connection, 1, 0) == {}
    assert window_duplicates(connection, 1, 8000) == {"b": "a", "c": "a", "e": "d"}
    assert list(repeated_messages(connection, Filters(), 5000)) == [
        RepeatedMessage(1, "b", "a", 4000),
        RepeatedMessage(1, "d", "c", 5000),
    ]
    assert connection.execute("select count(*) from message").fetchone() == (8,), "nothing is removed"


def test_inferred_times_mark_nothing(connection):
    keep(
        connection,
        conversation("c", [said("a", "yes", timestamp_inferred=True), said("b", "yes", timestamp_inferred=True)]),
    )
    assert window_duplicates(connection, 1, 5000) == {}
    assert list(repeated_messages(connection, Filters(), 5000)) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20_000)), max_size=12), st.integers(0, 10_000))
def test_a_marked_message_lies_within_the_window_of_an_unmarked_equal(said_at, window_ms):
    messages = [said(f"m{number}", f"text {text}", at) for number, (text, at) in enumerate(said_at)]
    if not messages:
        return
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "memory")
        keep(connection, conversation("c", messages))
        found = window_duplicates(connection, 1, window_ms)
        everywhere = {
            one.message_id: one.first_message_id for one in repeated_messages(connection, Filters(), window_ms)
        }
    assert found == everywhere
    by_id = {f"m{number}": entry for number, entry in enumerate(said_at)}
    for copy, first in found.items():
        assert first not in found
        assert by_id[copy][0] == by_id[first][0]
        assert 0 <= by_id[copy][1] - by_id[first][1] <= window_ms
    firsts = [by_id[name] for name in by_id if name not in found]
    for text, at in firsts:
        others = [other for other_text, other in firsts if other_text == text and other != at]
        assert all(abs(at - other) > window_ms for other in others)
