"""Usage records in the archive: each once, whatever tells of it; what a message tells of counts there."""

import sqlite3
import time
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archiving import exported, facts, keep_documents, keep_folder, keep_usage
from importing import FIXTURES
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.deletion import forget
from palaver.archive.filters import Filters
from palaver.archive.migrations import migrate
from palaver.archive.selection import ConversationRef
from palaver.archive.statistics import statistics
from palaver.archive.tally import Tokens
from palaver.archive.usage import Scope
from palaver.archive.usage_record_statistics import USAGE_GROUPINGS, usage_record_statistics
from palaver.archive.usage_records import add_usage_records, usage_row
from palaver.model import build
from palaver.prices import Prices
from palaver.validation.schema import is_valid
from palaver.workflows import doctor

RECORDS = FIXTURES / "ucs" / "usage_records" / "source"
PRICES = Prices()


def at(day: int) -> str:
    return f"2026-03-{day:02}T12:00:00.000Z"


def used(name="u1", *, day=5, tokens=7, platform="azure_openai", kind="request", **fields):
    given = {"tokens": {"input_tokens": 1, "output_tokens": tokens}} if tokens is not None else {}
    record = build.usage(usage_id=name, platform={"name": platform}, kind=kind, started_at=at(day), **given, **fields)
    assert is_valid(record, "usage")
    return record


def answer(api_message_id, tokens, *, text="Yes."):
    return {
        "schema_version": "1.0.0",
        "conversation_id": "one",
        "platform": {"name": "api_trace"},
        "created_at": at(1),
        "messages": [
            build.message(
                message_id="m1",
                role="assistant",
                timestamp=at(2),
                content=[build.text(text)],
                tokens={"output_tokens": tokens},
                metadata={"api_message_id": api_message_id, "author_kind": "model"},
            )
        ],
    }


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive.db"


def counted(archive, by="day", **filters):
    with closing(open_to_read(archive)) as connection:
        return statistics(connection, Scope(Filters(**filters), is_utc=True), by, PRICES)


def counted_alone(archive, by="day", **filters):
    with closing(open_to_read(archive)) as connection:
        return usage_record_statistics(connection, Scope(Filters(**filters), is_utc=True), by, PRICES)


# -- what is kept ---------------------------------------------------------------------------------------------------

records = st.builds(
    used,
    st.sampled_from(["u1", "u2"]),
    day=st.integers(1, 2),
    tokens=st.none() | st.integers(0, 3),
    platform=st.sampled_from(["azure_openai", "github_copilot"]),
    ended_at=st.none() | st.sampled_from([at(3), at(4)]),
    metadata=st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(0, 11), max_size=2),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(records, max_size=6), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(made, random):
    shuffled = [*made, *made[:2]]
    random.shuffle(shuffled)
    assert stored(shuffled) == stored(made)
    assert len(stored(made)) == len({(record["platform"]["name"], record["usage_id"]) for record in made})


def stored(made):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "memory")
        for record in made:
            add_usage_records(connection, [usage_row(record)], None)
        columns = "platform, usage_id, ended_at, model, output_tokens, record"
        return connection.execute(f"select {columns} from usage_record order by 1, 2").fetchall()


def test_the_later_account_stands_then_the_fuller(archive):
    early, late = used(ended_at=at(6), metadata={"note": "much is said of it"}), used(ended_at=at(7))
    keep_usage(archive, late, early, used())
    [row] = facts(archive)["usage record"]
    assert row[4] == at(7)
    keep_usage(archive, late | {"model": "gpt-4o"}, late)
    [row] = facts(archive)["usage record"]
    assert row[7] == "gpt-4o"


def test_a_source_brings_records_and_is_remembered_as_theirs(archive):
    report = keep_folder(RECORDS, archive)
    assert (report.totals()["usage_records"], report.totals()["conversations"]) == (3, 0)
    with closing(open_to_read(archive)) as connection:
        assert connection.execute("select count(*) from usage_origin").fetchone() == (3,)
    before = facts(archive)
    assert keep_folder(RECORDS, archive, is_again=True).totals()["usage_records"] == 3
    assert facts(archive) == before


def test_records_arrive_in_another_archive(tmp_path, archive):
    keep_usage(keep_documents(archive, answer("msg_1", 3)), used(), used("u2", kind="period", ended_at=at(9)))
    report = keep_folder(archive, tmp_path / "b.db")
    assert facts(tmp_path / "b.db") == facts(archive)
    assert report.totals()["records"]["read"] == 3


def test_many_records_without_a_document_are_kept(tmp_path, archive, monkeypatch):
    monkeypatch.setattr("palaver.workflows.archive_import.FRAME_BYTES", 5000)
    with closing(open_to_write(tmp_path / "other.db")) as other:
        add_usage_records(other, [usage_row(used(f"u{number}")) for number in range(1203)], None)
    report = keep_folder(tmp_path / "other.db", archive)
    assert report.totals()["usage_records"] == len(facts(archive)["usage record"]) == 1203


def test_forgetting_a_conversation_and_the_doctor_leave_them(tmp_path, archive, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    keep_usage(keep_documents(archive, answer("msg_1", 3)), used())
    with closing(open_to_write(archive)) as connection:
        connection.execute("begin")
        forget(connection, [ConversationRef(1, "api_trace", "one", None)])
        connection.execute("commit")
    assert len(facts(archive)["usage record"]) == 1
    assert exported(archive) == []
    found = {check.name: check for check in doctor.checks(archive)}
    assert {check.verdict for check in found.values() if check.name != "disk"} == {"ok"}
    assert "1 usage record" in found["tables"].message


# -- what is counted ------------------------------------------------------------------------------------------------


def test_a_call_counts_at_its_message_and_else_at_its_record(archive):
    keep_documents(archive, answer("msg_1", 3))
    keep_usage(archive, used("u1", api_message_id="msg_1"), used("u2", api_message_id="msg_2"), used("u3"))
    found = counted(archive)
    assert found.total.tokens == Tokens(input=2, output=17)
    assert (found.total.answers, found.total.usage_records, found.copies) == (3, 2, 0)
    assert found.groups["2026-03-05"].usage_records == 2
    assert found.groups["2026-03-02"].usage_records == 0


def test_the_second_call_of_a_message_has_it_too(archive):
    keep_documents(archive, answer("msg_1", 3), answer("msg_2", 4))
    keep_usage(archive, used("u1", api_message_id="msg_1"), used("u2", api_message_id="msg_2"))
    found = counted(archive)
    assert (found.total.tokens.output, found.total.usage_records) == (7, 0)


def test_several_records_of_one_call_count_once_with_the_greatest_figures(archive):
    keep_usage(archive, used("u1", api_message_id="msg_1"), used("u2", day=4, tokens=9, api_message_id="msg_1"))
    found = counted(archive)
    assert (found.total.tokens.output, found.total.answers, list(found.groups)) == (9, 1, ["2026-03-04"])


def test_sums_over_a_time_are_in_no_total(archive):
    keep_usage(archive, used("day", kind="period", ended_at=at(6)), used("u1"))
    assert counted(archive).total.tokens.output == 7
    alone = counted_alone(archive)
    assert (alone.total.tokens.output, alone.total.usage_records, alone.periods) == (14, 2, 1)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set")
def test_the_day_of_a_sum_is_the_one_that_it_states(archive, monkeypatch):
    midnight = {**used("day", kind="period"), "started_at": "2026-03-05T00:00:00.000Z"}
    keep_usage(archive, midnight, {**used("u1"), "started_at": "2026-03-05T00:00:00.000Z"})
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    try:
        with closing(open_to_read(archive)) as connection:
            found = usage_record_statistics(connection, Scope(), "day", PRICES)
        assert {day: group.usage_records for day, group in found.groups.items()} == {"2026-03-05": 1, "2026-03-04": 1}
    finally:
        monkeypatch.undo()
        time.tzset()


def test_filters_that_ask_for_conversations_leave_no_record(archive):
    keep_usage(archive, used("u1", model="gpt-4o"), used("u2", platform="github_copilot", day=6))
    for count in (counted, counted_alone):
        assert count(archive, platforms=("azure_openai",)).total.usage_records == 1
        assert count(archive, models=("GPT-4",)).total.usage_records == 1
        assert count(archive, since="2026-03-06T00:00:00.000Z").total.usage_records == 1
        assert count(archive, until="2026-03-06T00:00:00.000Z").total.usage_records == 1
        assert count(archive, projects=("/srv",)).total.usage_records == 0
        assert count(archive, has=("tool",)).total.usage_records == 0


def test_records_are_grouped_and_their_counts_summed(archive):
    team = build.subject("team", "harbour")
    keep_usage(
        archive,
        used("u1", subject=team, counts={"requests": 2, "lines": 0.5}, cost={"amount": 0.25, "currency": "EUR"}),
        used("u2", subject=team, counts={"requests": 3}, tokens=None, model="gpt-4o"),
        used("u3", day=12, platform="github_copilot", tokens=None),
    )
    found = counted_alone(archive, "subject")
    assert found.groups["team:harbour"].counts == {"requests": 5, "lines": 0.5} == found.total.counts
    assert found.total.stated == {"EUR": 0.25}
    groups = {
        by: {key: tally.usage_records for key, tally in counted_alone(archive, by).groups.items()}
        for by in USAGE_GROUPINGS
    }
    assert groups == {
        "day": {"2026-03-05": 2, "2026-03-12": 1},
        "week": {"2026-03-02": 2, "2026-03-09": 1},
        "month": {"2026-03": 3},
        "model": {"gpt-4o": 1, None: 2},
        "platform": {"azure_openai": 2, "github_copilot": 1},
        "subject": {"team:harbour": 2, None: 1},
    }


def test_a_record_has_its_price(archive):
    keep_usage(archive, used(model="gpt-4o-2024-08-06", tokens=1_000_000))
    assert counted(archive).total.cost == counted_alone(archive).total.cost > 5
