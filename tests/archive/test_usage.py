"""Usage counts once per answer, at its first copy, with the greatest figures; nothing else ever changes a total."""

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from archiving import keep_folder
from importing import FIXTURES
from palaver.archive import usage
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.filters import Filters
from palaver.archive.ingest import Ingest
from palaver.archive.migrations import migrate
from palaver.archive.rows import conversation_rows
from palaver.archive.statistics import conversation_titles, price_answer, statistics
from palaver.archive.tally import Tokens
from palaver.archive.usage import Scope, counted_answers, usage_owner
from palaver.archive.usage_record_statistics import usage_record_statistics
from palaver.archive.usage_records import add_usage_records, usage_row
from palaver.config import Config, OwnPrice
from palaver.model import build
from palaver.prices import Prices

OPUS = "claude-opus-4-5-20251101"
PRICES = Prices()


def said(message_id, at, tokens=None, *, api=None, model=OPUS, cost=None, content=None, author="model"):
    metadata = {"author_kind": author, "api_message_id": api, "model_override": model}
    return build.message(
        message_id=message_id,
        role="assistant" if author == "model" else "user",
        timestamp=f"2026-03-{at:02}T12:00:00.000Z",
        content=content or [build.text(f"answer {api or message_id}")],
        tokens=tokens,
        cost=cost,
        metadata={key: value for key, value in metadata.items() if value is not None},
    )


def conversation(conversation_id, messages, *, platform="claude_code", project="/home/ada/tides", **more):
    times = [message["timestamp"] for message in messages]
    return {
        "schema_version": "1.0.0",
        "conversation_id": conversation_id,
        "platform": {"name": platform},
        "context": {"workspace": {"path": project}},
        "created_at": min(times),
        "updated_at": max(times),
        "messages": messages,
        **more,
    }


@pytest.fixture
def kept(tmp_path):
    """An archive of some conversations, as a connection."""
    opened = []

    def keep(*documents):
        connection = open_to_write(tmp_path / f"{len(opened)}.db")
        opened.append(connection)
        Ingest(connection).add([(conversation_rows(document), None) for document in documents])
        return connection

    yield keep
    for connection in opened:
        connection.close()


def counted(connection, by="day", **filters):
    return statistics(connection, Scope(Filters(**filters), is_utc=True), by, PRICES)


USED = {"input_tokens": 3, "output_tokens": 40, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 10}


def test_a_copy_counts_at_its_first_with_the_greatest_figures(kept):
    connection = kept(
        conversation("fork", [said("m9", 7, {**USED, "output_tokens": 41, "input_tokens": 1}, api="msg_1")]),
        conversation("first", [said("m1", 5, USED, api="msg_1"), said("m2", 6, USED, api="msg_2")], project="/srv"),
        conversation("elsewhere", [said("x", 6, {"thinking_tokens": 8}, api="msg_1")], platform="api_trace"),
    )
    found = counted(connection, "conversation")
    assert found.total.tokens == Tokens(input=6, output=81, cache_read=1800, cache_write=20, thinking=8)
    assert found.total.answers == 2
    assert (found.copies, found.copied_answers) == (2, 1)
    assert found.naive == Tokens(input=7, output=121, cache_read=2700, cache_write=30, thinking=8)
    assert [group.answers for group in found.groups.values() if group.answers] == [2]
    assert usage_owner(connection, "msg_1") == ("claude_code", "first", "m1")
    assert usage_owner(connection, "msg_9") is None
    assert counted(connection, "day").groups["2026-03-05"].tokens.output == 41
    assert counted(connection, "project").groups["/srv"].answers == 2


def test_the_first_of_copies_with_one_time_is_told_by_conversation_then_message(kept):
    copies = [said("m2", 5, USED, api="msg_1"), said("m1", 5, USED, api="msg_1")]
    connection = kept(conversation("b", copies[1:]), conversation("a", copies))
    assert usage_owner(connection, "msg_1") == ("claude_code", "a", "m1")


def test_without_an_id_every_message_counts(kept):
    connection = kept(
        conversation("a", [said("m1", 5, USED), said("m2", 5, USED)]),
        conversation("b", [said("m1", 5, USED, api="")]),
    )
    assert counted(connection).total.tokens.output == 120
    assert counted(connection).copies == 0


def test_what_has_no_tokens_or_only_estimates_counts_nothing(kept):
    estimated = said("m1", 5, api="msg_1")
    estimated["metadata"]["estimated_tokens"] = {"input_tokens": 5, "output_tokens": 5}
    connection = kept(
        conversation("a", [estimated, said("m2", 5, {"service_tier": "standard"}, api="msg_2")]),
        conversation("b", [said("m3", 6, USED, api="msg_1")]),
    )
    assert counted(connection).total.answers == 1
    assert usage_owner(connection, "msg_1") == ("claude_code", "b", "m3")
    assert list(counted(connection, "platform").groups) == ["claude_code"]


def test_a_filter_lets_usage_through_where_it_is_owned(kept):
    connection = kept(
        conversation("first", [said("m1", 5, USED, api="msg_1")], project="/home/ada/tides"),
        conversation("copy", [said("m9", 7, USED, api="msg_1"), said("m2", 8, USED, api="msg_2")], project="/srv"),
    )
    elsewhere = counted(connection, projects=("/srv",))
    assert elsewhere.total.tokens.output == 40
    assert (elsewhere.copies, elsewhere.copied_answers, elsewhere.naive.output) == (1, 1, 80)
    assert counted(connection, projects=("/home/ada/tides",)).total.tokens.output == 40
    assert counted(connection, since="2026-03-07T00:00:00.000Z").total.answers == 1
    assert counted(connection, until="2026-03-07T00:00:00.000Z").total.answers == 1
    assert counted(connection, until="2026-03-07T00:00:00.000Z").copies == 0


def test_a_model_is_that_of_the_message(kept):
    connection = kept(
        conversation(
            "a", [said("m1", 5, USED), said("m2", 5, USED, model="glm-4.7-of-nobody"), said("m3", 5, USED, model=None)]
        )
    )
    assert counted(connection, models=("CLAUDE-OPUS",)).total.answers == 1
    found = counted(connection, "model")
    assert {key: group.answers for key, group in found.groups.items()} == {OPUS: 1, "glm-4.7-of-nobody": 1, None: 1}
    assert found.unpriced == {"glm-4.7-of-nobody": 1, None: 1}
    assert found.groups[OPUS].cost == found.total.cost
    assert found.groups["glm-4.7-of-nobody"].cost is None


def test_cost_is_the_sum_of_what_each_answer_costs(kept):
    long = {"input_tokens": 300_000, "output_tokens": 10}
    own = OwnPrice(*map(Decimal, ("1", "2", "0.1", "1.25", "2")))
    prices = Prices(Config(prices={"mine": own}))
    connection = kept(
        conversation(
            "a",
            [
                said("m1", 5, long, model="claude-sonnet-4-5-20250929"),
                said("m2", 6, {**USED, "cache_creation": {"ephemeral_1h_input_tokens": 4}}, model="mine"),
                said("m3", 6, USED, model="claude-sonnet-4-5-20250929"),
            ],
        )
    )
    total = statistics(connection, Scope(), "day", prices).total.cost
    assert total == sum(price_answer(answer, prices).amount for answer in counted_answers(connection, Scope()))
    [mine] = [
        price_answer(answer, prices) for answer in counted_answers(connection, Scope()) if answer.owner.model == "mine"
    ]
    per_million = 3 * own.input + 40 * own.output + 900 * own.cache_read + 6 * own.cache_write + 4 * own.cache_write_1h
    assert mine.amount == per_million / 10**6
    sonnet = Prices().cost("claude-sonnet-4-5-20250929", long, "2026-03-05T12:00:00.000Z", "claude_code")
    assert sonnet.amount == Decimal(300_000) * 6 / 10**6 + Decimal("22.5") * 10 / 10**6, "the long request is dearer"


def test_stated_costs_stand_apart_and_count_once(kept):
    cost = {"amount": 0.25, "currency": "USD"}
    connection = kept(
        conversation("a", [said("m1", 5, USED, api="msg_1", cost=cost)], metrics={"total_cost": cost}),
        conversation("b", [said("m8", 6, USED, api="msg_1", cost=cost)], metrics={"total_cost": cost}),
        conversation("c", [said("m3", 7, USED)], metrics={"total_cost": {"amount": 1.5, "currency": "EUR"}}),
    )
    found = counted(connection, "day")
    assert found.total.stated == {"USD": 0.25, "EUR": 1.5}
    assert {key: group.stated for key, group in found.groups.items() if group.stated} == {
        "2026-03-05": {"USD": 0.25},
        "2026-03-07": {"EUR": 1.5},
    }
    assert found.total.cost == counted(kept(conversation("a", [said("m1", 5, USED)]))).total.cost * 2


def test_tool_calls_count_once_per_answer(kept):
    read, again, other = (
        {"type": "tool_use", "id": f"t{number}", "name": name, "input": {}}
        for number, name in enumerate(("Read", "Read", "Bash"))
    )
    connection = kept(
        conversation("cut", [said("m1", 6, api="msg_1", content=[read])]),
        conversation("whole", [said("m1", 5, api="msg_1", content=[read, again, other])]),
        conversation("unnamed", [said("m7", 7, content=[other]), said("m8", 8, content=[other])]),
    )
    found = counted(connection, "tool")
    assert {tool: (group.tool_calls, group.tool_messages) for tool, group in found.groups.items()} == {
        "Read": (2, 1),
        "Bash": (2, 2),
    }
    assert found.total.tool_calls == 4
    assert {key: group.tool_calls for key, group in counted(connection).groups.items() if group.tool_calls} == {
        "2026-03-05": 3,
        "2026-03-07": 1,
    }


def test_an_answer_is_partial_when_no_copy_saw_its_end(kept):
    partial, ended = said("m1", 5, USED, api="msg_1"), said("m2", 6, USED, api="msg_2")
    partial["metadata"]["tokens_partial"] = True
    copy = said("m9", 7, USED, api="msg_1")
    assert counted(kept(conversation("a", [partial, ended]))).partial == {"claude_code": 1}
    assert counted(kept(conversation("a", [partial, ended]), conversation("b", [copy]))).partial == {}


def test_a_late_line_of_a_huge_session_raises_its_answer(kept):
    first = said("m1", 5, {"input_tokens": 2, "output_tokens": 5}, api="msg_1")
    late = said("m7", 5, {"output_tokens": 95}, api="msg_1")
    late["metadata"] |= {"continues": "m1", "answer_tokens": {"input_tokens": 2, "output_tokens": 100}}
    whole = said("m1", 5, {"input_tokens": 2, "output_tokens": 100}, api="msg_1")
    for documents in ([first, late], [first, late, whole], [whole, late]):
        connection = kept(*(conversation("a", [message]) for message in documents))
        assert counted(connection).total.tokens == Tokens(input=2, output=100)


def test_days_are_of_the_machine_unless_told_otherwise(kept, monkeypatch):
    time = pytest.importorskip("time")
    if not hasattr(time, "tzset"):
        pytest.skip("the time zone cannot be set")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        connection = kept(conversation("a", [said("m1", 31, USED)]))
        assert list(statistics(connection, Scope(), "day", Prices()).groups) == ["2026-04-01"]
        assert list(statistics(connection, Scope(is_utc=True), "day", Prices()).groups) == ["2026-03-31"]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_weeks_begin_on_monday(kept):
    connection = kept(conversation("a", [said("m1", 1, USED), said("m2", 2, USED), said("m3", 8, USED)]))
    assert {key: group.answers for key, group in counted(connection, "week").groups.items()} == {
        "2026-02-23": 1,
        "2026-03-02": 2,
    }
    assert list(counted(connection, "month").groups) == ["2026-03"]


# -- laws -----------------------------------------------------------------------------------------------------------

figures = st.integers(0, 9) | st.none()
usages = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": figures,
        "output_tokens": figures,
        "cache_read_input_tokens": figures,
        "cache_creation_input_tokens": figures,
        "thinking_tokens": figures,
        "cache_creation": st.fixed_dictionaries({"ephemeral_1h_input_tokens": st.integers(0, 3)}),
    },
)
messages = st.builds(
    said,
    st.sampled_from(["m1", "m2", "m3"]),
    st.integers(1, 9),
    st.none() | usages,
    api=st.sampled_from(["msg_1", "msg_2", None]),
    model=st.sampled_from([OPUS, "unknown", None]),
)
conversations = st.builds(
    conversation,
    st.sampled_from(["a", "b", "c"]),
    st.lists(messages, min_size=1, max_size=4, unique_by=lambda message: message["message_id"]),
    platform=st.sampled_from(["claude_code", "api_trace"]),
)


@contextmanager
def in_memory(documents):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "memory")
        for document in documents:
            Ingest(connection).add([(conversation_rows(document), None)])
        yield connection


def totals(documents):
    """Everything that `stats` tells, for several ways of grouping."""
    with in_memory(documents) as connection:
        told = {}
        for by in ("day", "model", "conversation"):
            found = counted(connection, by)
            names = (
                conversation_titles(connection, found.groups)
                if by == "conversation"
                else {key: key for key in found.groups}
            )
            groups = {names[key]: plain(group) for key, group in found.groups.items()}
            told[by] = groups, plain(found.total), found.naive, found.unpriced, found.copies, found.partial
        return told


def plain(tally):
    return asdict(tally) | {"conversations": len(tally.conversations)}


@given(st.lists(conversations, max_size=5), st.randoms())
def test_the_order_of_import_changes_no_total(documents, random):
    shuffled = [*documents, *documents[:2]]
    random.shuffle(shuffled)
    assert totals(shuffled) == totals(documents)


@given(st.lists(conversations, min_size=1, max_size=4), st.data())
def test_a_copy_of_a_session_changes_no_total(documents, data):
    """A fork has the answers of its session, as the archive holds them, under another name."""
    copied = data.draw(st.sampled_from(documents))
    with in_memory(documents) as connection:
        answered = stored_answers(connection, copied)
        before = counted(connection).total
    assume(answered)
    with in_memory([*documents, conversation("zz-fork", [later(message) for message in answered])]) as connection:
        after = counted(connection).total
    assert (after.tokens, after.cost, after.answers) == (before.tokens, before.cost, before.answers)


def stored_answers(connection, document):
    query = (
        "select m.message_id, m.timestamp, m.api_message_id, m.model, m.tokens from message m "
        "join conversation c on c.conversation_key = m.conversation "
        "where c.platform = ? and c.conversation_id = ? and m.api_message_id is not null"
    )
    rows = connection.execute(query, (document["platform"]["name"], document["conversation_id"]))
    return [
        said(message_id, int(timestamp[8:10]), tokens and orjson.loads(tokens), api=api, model=model)
        for message_id, timestamp, api, model, tokens in rows
    ]


def later(message):
    """The same answer in another file: its line may have another id, and is not older."""
    return {**message, "message_id": f"z-{message['message_id']}"}


# -- fixtures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["resumed_pair", "forked_pair", "compaction_agent", "cumulative_copies"])
def test_a_resumed_or_forked_session_counts_its_answers_once(tmp_path, case):
    keep_folder(FIXTURES / "claude_code" / case / "source", tmp_path / "archive.db")
    with closing(open_to_read(tmp_path / "archive.db")) as connection:
        greatest = connection.execute(
            "select count(*), sum(input), sum(output) from (select max(input_tokens) as input, "
            "max(output_tokens) as output from message where tokens is not null "
            "group by coalesce(api_message_id, message_key))"
        ).fetchone()
        total = counted(connection).total
        assert (total.answers, total.tokens.input, total.tokens.output) == greatest
        assert greatest[0]


def test_the_copies_in_a_forked_pair_are_told_with_their_owner(tmp_path):
    keep_folder(FIXTURES / "claude_code" / "forked_pair" / "source", tmp_path / "archive.db")
    with closing(open_to_read(tmp_path / "archive.db")) as connection:
        copied = [answer for answer in counted_answers(connection, Scope(), in_time_order=True) if answer.copies]
        assert copied
        for answer in copied:
            everyone = [answer.owner, *answer.copies]
            assert everyone == sorted(everyone, key=lambda usage: usage[1:4])
            assert len({usage.conversation_id for usage in everyone}) == len(everyone)
        began = [answer.owner.timestamp for answer in counted_answers(connection, Scope(), in_time_order=True)]
        assert began == sorted(began)


# -- ranges of time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 10**9])
@given(st.lists(conversations, max_size=5), st.integers(4, 9), st.integers(0, 3))
def test_reading_a_range_by_an_index_changes_no_total(share, documents, first, days):
    """Whether a range is narrow decides how it is read, never what is counted."""
    times = {"since": f"2026-03-{first:02}T00:00:00.000Z", "until": f"2026-03-{first + days:02}T00:00:00.000Z"}
    told = []
    for narrow in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch, in_memory(documents) as connection:
            patch.setattr(usage, "_NARROW", narrow)
            patch.setattr(usage, "_NARROW_SHARE", share)
            found = [counted(connection, by, **times) for by in ("day", "model", "tool", "block")]
            told.append([(plain(one.total), one.groups, one.naive, one.copies, one.copied_answers) for one in found])
    assert told[0] == told[1]


@given(st.lists(conversations, max_size=5), st.integers(1, 9))
def test_a_range_has_the_blocks_that_all_time_has(documents, first):
    with in_memory(documents) as connection:
        since = f"2026-03-{first:02}T00:00:00.000Z"
        every = counted(connection, "block").blocks
        assert counted(connection, "block", since=since).blocks == [block for block in every if block.last >= since]


def test_blocks_that_run_on_into_a_range_begin_where_they_began(kept):
    """A chain of blocks without a pause of five hours, days before the range."""
    times = [datetime(2026, 3, 1, 10, 40, tzinfo=UTC) + timedelta(hours=4 * step) for step in range(60)]
    answers = [
        said(f"m{step}", 1, USED, api=f"msg_{step}") | {"timestamp": f"{time:%Y-%m-%dT%H:%M:%S}.000Z"}
        for step, time in enumerate(times)
    ]
    connection = kept(conversation("a", answers))
    since = "2026-03-10T12:00:00.000Z"
    every = counted(connection, "block").blocks
    assert len(every) == 30
    assert counted(connection, "block", since=since).blocks == [block for block in every if block.last >= since]


def test_a_record_without_a_date_is_in_no_range_and_on_no_day(kept):
    connection = kept(conversation("a", [said("m1", 5, USED, api="msg_1")]))
    record = build.usage(
        usage_id="u1", platform={"name": "continue_dev"}, kind="request", started_at="2026-03-05T12:00:00.000Z",
        tokens={"output_tokens": 5}, metadata={"timestamp_inferred": True, "estimated_tokens": {"input_tokens": 7}},
    )  # fmt: skip
    add_usage_records(connection, [usage_row(record)], None)
    for count in (counted, counted_alone):
        everything = count(connection)
        assert (everything.groups[None].usage_records, everything.undated) == (1, 0)
        in_march = count(connection, since="2026-03-01T00:00:00.000Z")
        assert (in_march.total.usage_records, in_march.undated) == (0, 1)
    assert counted_alone(connection).total.estimated == 7
    assert counted_alone(connection, "week").groups.keys() == {None}


def counted_alone(connection, by="day", **filters):
    return usage_record_statistics(connection, Scope(Filters(**filters), is_utc=True), by, PRICES)
