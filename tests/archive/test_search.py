"""Searching, compared with reading everything."""

import re
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive import hits as plan
from palaver.archive.filters import Filters
from palaver.archive.hits import SearchRequest
from palaver.archive.ingest import Ingest
from palaver.archive.migrations import migrate
from palaver.archive.query import ScratchIndex, parse
from palaver.archive.rows import conversation_rows
from palaver.archive.search import MAX_COUNTED, search, search_titles
from palaver.errors import OptionError
from palaver.model import build

WORDS = ["apple", "apples", "pear", "fig", "plum"]
TIMES = [f"2026-01-0{day}T10:00:0{second}.{ms}00Z" for day in (1, 2, 3) for second in (0, 1) for ms in (0, 5)]


@contextmanager
def archive_of(documents):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "memory")
        Ingest(connection).add([(conversation_rows(document), None) for document in documents])
        yield connection


def found(connection, typed, **settings):
    wanted = {name: settings.pop(name) for name in list(settings) if name in SearchRequest.__dataclass_fields__}
    with closing(ScratchIndex()) as scratch:
        return search(connection, SearchRequest(parse(typed, scratch), **wanted), **settings)


def names(result):
    return [(hit.conversation.conversation_id, hit.message_id) for hit in result.hits]


def conversation(name, messages, **fields):
    fields = {"platform": {"name": "toy"}, "created_at": min(one["timestamp"] for one in messages), **fields}
    return build.conversation(conversation_id=name, messages=messages, **fields)


def message(name, content, timestamp=TIMES[0], role="user", author="human"):
    content = [build.text(content)] if isinstance(content, str) else content
    metadata = {"author_kind": author}
    return build.message(message_id=name, role=role, timestamp=timestamp, content=content, metadata=metadata)


# -- laws -------------------------------------------------------------------------------------------------------------

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
blocks = st.one_of(
    texts.map(build.text),
    texts.map(build.thinking),
    st.builds(build.tool_result, tool_use_id=st.just("t"), content=texts, is_error=st.booleans()),
)
messages = st.builds(
    message,
    st.uuids().map(str),
    st.lists(blocks, min_size=1, max_size=2),
    st.sampled_from(TIMES),
    st.sampled_from(["user", "assistant"]),
    st.sampled_from(["human", "model", "tool"]),
)
archives = st.lists(
    st.tuples(st.sampled_from(["toy", "other"]), st.lists(messages, min_size=1, max_size=4)), min_size=1, max_size=5
).map(
    lambda drawn: [
        conversation(f"c{number}", some, platform={"name": platform}, title=some[0]["timestamp"])
        for number, (platform, some) in enumerate(drawn)
    ]
)
terms = st.one_of(
    st.sampled_from(WORDS).map(lambda word: (word, re.compile(rf"\b{word}\b"))),
    st.sampled_from(["app", "p", "fig"]).map(lambda word: (f"{word}*", re.compile(rf"\b{word}"))),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)).map(
        lambda pair: (f'"{pair[0]} {pair[1]}"', re.compile(rf"\b{pair[0]}\W+{pair[1]}\b"))
    ),
)
queries = st.tuples(
    st.lists(st.lists(terms, min_size=1, max_size=2), min_size=1, max_size=2), st.lists(terms, max_size=1)
)
settings_of_search = st.fixed_dictionaries(
    {
        "filters": st.builds(
            Filters,
            platforms=st.sampled_from([(), ("toy",), ("none",)]),
            since=st.sampled_from(["", TIMES[3], TIMES[6]]),
            until=st.sampled_from(["", TIMES[5], TIMES[9]]),
        ),
        "roles": st.sampled_from([(), ("user",)]),
        "authors": st.sampled_from([(), ("human", "tool")]),
        "columns": st.sampled_from([(), ("text",), ("thinking", "tool")]),
        "only_errors": st.booleans(),
    }
)


def typed_of(query):
    required, excluded = query
    groups = [" OR ".join(word for word, _ in group) for group in required]
    return " ".join([*groups, *(f"-{word}" for word, _ in excluded)])


def columns_of(one):
    columns = {"text": [], "thinking": [], "tool": []}
    for block in one["content"]:
        match block["type"]:
            case "text":
                columns["text"].append(block["text"])
            case "thinking":
                columns["thinking"].append(block["thinking"])
            case "tool_result":
                columns["tool"].append(block["content"])
    return {name: "\n".join(some) for name, some in columns.items()}


def read_everything(documents, query, settings):
    """What a search must find: for each content the messages that say it, the first of them first."""
    required, excluded = query
    filters = settings["filters"]
    said = {}
    for document in documents:
        for one in document["messages"]:
            texts = [text for name, text in columns_of(one).items() if name in (settings["columns"] or (name,))]

            def stands(term, texts=texts):
                return any(term[1].search(text) for text in texts)

            if not all(any(map(stands, group)) for group in required) or any(map(stands, excluded)):
                continue
            is_error = any(block.get("is_error") for block in one["content"])
            if (
                document["platform"]["name"] in (filters.platforms or (document["platform"]["name"],))
                and one["role"] in (settings["roles"] or (one["role"],))
                and one["metadata"]["author_kind"] in (settings["authors"] or (one["metadata"]["author_kind"],))
                and filters.since <= one["timestamp"] < (filters.until or "9")
                and (is_error or not settings["only_errors"])
            ):
                place = (one["timestamp"], document["conversation_id"], one["message_id"])
                said.setdefault((one["role"], repr(one["content"])), []).append(place)
    return sorted((sorted(places) for places in said.values()), reverse=True)


@given(archives, queries, settings_of_search)
def test_what_is_found_is_what_reading_everything_finds(documents, query, settings):
    with archive_of(documents) as connection:
        assert_all_is_found(connection, documents, query, settings)


@given(archives, queries, settings_of_search, st.sampled_from([0, 1_000]), st.sampled_from([1, 2, 32]))
def test_the_same_is_found_where_messages_are_collected_first(documents, query, settings, probe, ahead):
    settings = {**settings, "filters": replace(settings["filters"], platforms=("toy",))}
    costs = patch.object(plan.Hits, "_collection_cost", lambda _: 1)
    constants = patch.multiple(
        plan, _HITS_BEFORE_ESTIMATE=1, _PROBE_COST=probe, _PROBE_BATCH=ahead, _MAX_SINGLE_LOOKUPS=1
    )
    with archive_of(documents) as connection, constants, costs:
        assert_all_is_found(connection, documents, query, settings)


@given(archives, queries, st.booleans(), st.sampled_from([(), ("text",)]))
def test_a_page_of_the_best_begins_all_of_them(documents, query, seem_few, columns):
    typed = typed_of(query)
    guess = patch.object(plan.Hits, "_seem_few", lambda *_: seem_few)
    with archive_of(documents) as connection, guess, patch("palaver.archive.search.MAX_RANKED", 3):
        newest = {hit.message_id for hit in found(connection, typed, limit=3, columns=columns).hits}
        best = found(connection, typed, limit=2, is_ranked=True, columns=columns)
        total = found(connection, typed, limit=1000, columns=columns).total
    with archive_of(documents) as connection:
        whole = found(connection, typed, limit=1000, is_ranked=True, columns=columns).hits
    expected = [hit for hit in whole if hit.message_id in newest] if total > 3 else whole
    assert [(hit.message_id, hit.score) for hit in best.hits] == [(hit.message_id, hit.score) for hit in expected[:2]]
    assert (best.total, best.is_total_exact) == (min(total, 3), total <= 3)


def assert_all_is_found(connection, documents, query, settings):
    expected = read_everything(documents, query, settings)
    result = found(connection, typed_of(query), limit=1000, **settings)
    ranked = found(connection, typed_of(query), limit=1000, is_ranked=True, **settings)
    assert [(hit.timestamp, *name) for hit, name in zip(result.hits, names(result), strict=True)] == [
        places[0] for places in expected
    ]
    assert [[(one.timestamp, one.conversation_id, one.message_id) for one in hit.others] for hit in result.hits] == [
        places[1:] for places in expected
    ]
    assert [hit.others_total for hit in result.hits] == [len(places) - 1 for places in expected]
    assert (result.total, result.is_total_exact) == (len(expected), True)
    assert sorted(names(ranked)) == sorted(names(result))
    assert [hit.score for hit in ranked.hits] == sorted(hit.score for hit in ranked.hits)


@given(archives, terms, st.integers(1, 3))
def test_pages_make_up_the_whole_in_the_order_of_time(documents, term, limit):
    with archive_of(documents) as connection:
        whole = found(connection, term[0], limit=1000)
        pages = [found(connection, term[0], limit=limit, offset=offset) for offset in range(0, 30, limit)]
    hits = [hit for page in pages for hit in page.hits]
    assert sorted((hit.timestamp, hit.message_id) for hit in hits) == sorted(
        (hit.timestamp, hit.message_id) for hit in whole.hits
    )
    # Which page something is on depends on its second; within a page the order is exact.
    seconds = [hit.timestamp[:19] for hit in hits]
    assert seconds == sorted(seconds, reverse=True)
    assert all(page.total == whole.total for page in pages if page.hits)


@given(archives, st.permutations(range(5)))
def test_the_order_of_import_does_not_matter(documents, order):
    shuffled = [documents[index] for index in order if index < len(documents)]
    with archive_of(documents) as one, archive_of([]) as other:
        for document in shuffled:
            Ingest(other).add([(conversation_rows(document), None)])
        for typed in ("apple", "pear OR fig"):
            assert names(found(one, typed, limit=100)) == names(found(other, typed, limit=100))


@pytest.fixture(scope="module")
def mixed():
    odd = "Résumé 🎉 C++ これはテストです \x1b[31m red\x00 \u202e foo-bar"
    with archive_of([conversation("c1", [message("m1", odd), message("m2", "plain apple")], title=odd)]) as connection:
        yield connection


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_searched_for_or_refused_in_words(mixed, typed):
    for is_ranked in (False, True):
        with suppress(OptionError):
            found(mixed, typed, is_ranked=is_ranked)


@pytest.mark.parametrize("typed", ["resume", "🎉", "C++", "テスト", "foo-bar", "red", '"🎉 c++"'])
def test_odd_texts_are_found(mixed, typed):
    result = found(mixed, typed)
    assert names(result) == [("c1", "m1")]
    assert result.hits[0].snippet.ranges
    assert [title.conversation.conversation_id for title in result.titles] == ["c1"]
    assert result.titles[0].ranges


# -- situations -------------------------------------------------------------------------------------------------------


def test_a_copy_is_shown_once_with_the_first_message_that_passes():
    documents = [
        conversation("later", [message("a", "apple", TIMES[4])]),
        conversation("first", [message("b", "apple", TIMES[0])], platform={"name": "other"}),
    ]
    with archive_of(documents) as connection:
        assert names(found(connection, "apple")) == [("first", "b")]
        [hit] = found(connection, "apple", filters=Filters(platforms=("toy",))).hits
        assert (hit.conversation.conversation_id, hit.others_total) == ("later", 0)
        [hit] = found(connection, "apple", filters=Filters(since=TIMES[2])).hits
        assert hit.message_id == "a", "said again since then"


def test_a_result_is_told_with_the_tool_that_gave_it():
    call = message("m1", [build.tool_use(id="t1", name="Bash", input={"command": "ls"})], role="assistant")
    result = message("m2", [build.tool_result(tool_use_id="t1", content="an apple", is_error=True)], TIMES[1])
    result["parent_message_id"] = "m1"
    with archive_of([conversation("c", [call, result])]) as connection:
        [hit] = found(connection, "apple").hits
        assert (hit.tool, hit.snippet.piece.column, hit.snippet.piece.block) == ("Bash", "tool", "tool_result")
        [hit] = found(connection, "ls").hits
        assert (hit.tool, hit.snippet.piece.block) == ("Bash", "tool_use")


def test_a_text_of_which_only_an_old_version_is_left_is_not_found():
    first, second = message("m", "apple"), message("m", [build.text("pear"), build.text("fig")])
    with archive_of([conversation("c", [first])]) as connection:
        Ingest(connection).add([(conversation_rows(conversation("c", [second])), None)])
        assert names(found(connection, "pear")) == [("c", "m")]
        result = found(connection, "apple")
        assert (result.hits, result.total) == ([], 0)


def test_what_an_old_version_said_is_neither_counted_nor_ranked():
    before = conversation("c", [message(f"m{number}", f"apple {number}") for number in range(30)])
    after = [message("m0", [build.text("pear"), build.text("fig")]), message("m30", "apple 1")]
    with archive_of([before]) as connection:
        Ingest(connection).add([(conversation_rows(conversation("c", after)), None)])
        for is_ranked in (False, True):
            assert found(connection, "apple", is_ranked=is_ranked).total == 29


def test_filters_that_take_long_find_the_same_when_they_are_asked_of_all_at_once():
    documents = [
        conversation(
            f"c{number}",
            [message(f"{number}-{index}", f"apple {number} {index}", TIMES[2 * number]) for index in range(3)],
            platform={"name": "toy", "model": model},
            title="apple",
        )
        for number, model in enumerate(("gpt-5", "claude-x", "gpt-4"))
    ]
    with archive_of(documents) as connection:
        for filters in (Filters(models=("gpt",)), Filters(models=("claude",), since=TIMES[2]), Filters(models=("o3",))):
            expected = found(connection, "apple", filters=filters)
            with patch.multiple(plan, _HITS_BEFORE_ESTIMATE=1, _HITS_BEFORE_SLOW_FILTERS=1, _MAX_SINGLE_LOOKUPS=1):
                result = found(connection, "apple", filters=filters)
            assert names(result) == names(expected)
            assert result.titles == expected.titles
            assert len(names(expected)) == 3 * len(expected.titles)


def test_counting_ends_somewhere():
    some = [message(f"m{number}", f"apple {number}") for number in range(MAX_COUNTED + 5)]
    with archive_of([conversation("c", some)]) as connection:
        result = found(connection, "apple")
        assert (len(result.hits), result.total, result.is_total_exact) == (20, MAX_COUNTED, False)
        result = found(connection, "apple", roles=("user",))
        assert (len(result.hits), result.is_total_exact) == (20, False)
        assert 20 < result.total <= MAX_COUNTED
        result = found(connection, "apple", is_ranked=True)
        assert (len(result.hits), result.is_total_exact) == (20, False)


def test_titles_are_found_newest_first_and_by_the_filters_of_conversations():
    documents = [
        conversation("old", [message("a", "x", TIMES[0])], title="Über Äpfel"),
        conversation("new", [message("b", "x", TIMES[8])], title="uber alles", platform={"name": "other"}),
        conversation("not", [message("c", "x", TIMES[8])], title="suber"),
        conversation("none", [message("d", "x", TIMES[8])]),
    ]
    with archive_of(documents) as connection, closing(ScratchIndex()) as scratch:

        def titles(typed, **settings):
            result = search_titles(connection, SearchRequest(parse(typed, scratch), **settings))
            assert result.titles_total == len(result.titles)
            return [title.conversation.conversation_id for title in result.titles]

        assert titles("über") == ["new", "old"]
        assert titles("uber -alles") == ["old"]
        assert titles("*uber*") == ["new", "old"]
        assert titles('"uber apf"*') == ["old"]
        assert titles("uber", filters=Filters(platforms=("toy",))) == ["old"]
        assert titles("uber", filters=Filters(since=TIMES[4])) == ["new"]
        assert [hit.conversation.conversation_id for hit in found(connection, "uber").titles] == ["new", "old"]
        assert not found(connection, "uber", roles=("user",)).titles
