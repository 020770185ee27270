"""One message that answers several calls, and messages that are known from later requests only."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from itertools import count

import orjson
import pytest

from archiving import exported, facts, keep_documents, keep_folder
from palaver.archive.connection import open_to_read
from palaver.archive.conversation_totals import conversation_cost, conversation_totals
from palaver.archive.overview import CountedElsewhere, counted_elsewhere
from palaver.archive.statistics import statistics
from palaver.archive.usage import Scope, counted_answers, usage_owner
from palaver.config import Config, OwnPrice
from palaver.prices import Prices

PRICES = Prices(Config(prices={"mine": OwnPrice(*map(Decimal, ("1", "1000000", "0", "0", "0")))}))


def at(day: int) -> str:
    return f"2026-03-{day:02}T12:00:00.000Z"


def said(text="Yes.", *, day=5, tokens=None, name="m1", cost=None, **metadata):
    message = {"message_id": name, "role": "assistant", "timestamp": at(day)}
    message["content"] = [{"type": "text", "text": text}]
    if tokens is not None:
        message["tokens"] = {"input_tokens": tokens, "output_tokens": tokens}
    if cost is not None:
        message["cost"] = {"amount": cost}
    return message | ({"metadata": metadata} if metadata else {})


def document(*messages, name="one", platform="azure_openai"):
    return {
        "schema_version": "1.0.0",
        "conversation_id": name,
        "platform": {"name": platform, "model": "mine"},
        "created_at": at(1),
        "messages": list(messages),
    }


@pytest.fixture
def kept(tmp_path):
    """A new archive that some accounts of one conversation went into, one after the other."""
    numbers = count()

    def keep(*messages):
        return keep_documents(tmp_path / f"{next(numbers)}.db", *map(document, messages))

    return keep


def current(archive):
    [conversation] = map(orjson.loads, exported(archive))
    return conversation["messages"]


FIRST, SECOND = said(day=5, tokens=3, api_message_id="msg_1"), said(day=6, tokens=5, api_message_id="msg_2", cost=0.5)


@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST), (SECOND, FIRST, SECOND)])
def test_two_calls_with_the_same_words_both_count(kept, order):
    archive = kept(*order)
    [message] = current(archive)
    assert message["tokens"]["output_tokens"] in {3, 5}, "the figures of one call"
    with closing(open_to_read(archive)) as connection:
        assert sorted(
            (one.owner.api_message_id, one.counts[1], one.owner.day) for one in counted_answers(connection, Scope())
        ) == [
            ("msg_1", 3, "2026-03-05"),
            ("msg_2", 5, "2026-03-06"),
        ]
        found = statistics(connection, Scope(is_utc=True), "day", PRICES)
        assert {day: tally.tokens.output for day, tally in found.groups.items()} == {"2026-03-05": 3, "2026-03-06": 5}
        assert (found.total.answers, found.total.cost, found.total.stated) == (2, Decimal("8.000008"), {"USD": 0.5})
        assert found.total.messages.total() == 1
        [totals] = conversation_totals(connection, [1]).values()
        assert (totals.messages, totals.output) == (1, 8)
        assert conversation_cost(connection, 1, PRICES).amount == Decimal("8.000008")


def test_the_figures_of_each_call_are_the_greatest_of_its_own_accounts(kept):
    later = said("Yes, and no.", day=6, tokens=4, api_message_id="msg_1", update_time=at(9))
    archive = kept(FIRST, SECOND, later)
    with closing(open_to_read(archive)) as connection:
        counted = {one.owner.api_message_id: one.counts[1] for one in counted_answers(connection, Scope())}
    assert counted == {"msg_1": 4, "msg_2": 5}
    assert current(archive)[0]["tokens"]["output_tokens"] == 4


def test_accounts_without_an_id_tell_of_the_call_that_the_message_has(kept):
    unnamed = said(day=7, tokens=9)
    for order in ((FIRST, unnamed, SECOND), (unnamed, SECOND, FIRST)):
        with closing(open_to_read(kept(*order))) as connection:
            assert sorted(one.counts[1] for one in counted_answers(connection, Scope())) in ([3, 9], [5, 9])


def test_one_call_with_and_without_its_id_counts_once(kept):
    fuller = said("Yes.", day=7, tokens=2, note="a long remark that makes this account the greater one")
    for order in ((FIRST, fuller), (fuller, FIRST)):
        with closing(open_to_read(kept(*order))) as connection:
            [only] = counted_answers(connection, Scope())
            assert (only.owner.api_message_id, only.counts[1]) == ("msg_1", 3)


def test_a_copy_of_the_other_call_elsewhere_is_a_copy(tmp_path):
    copy = said(day=9, tokens=3, name="x", api_message_id="msg_1")
    other = said(day=9, tokens=5, name="y", api_message_id="msg_2")
    archive = keep_documents(tmp_path / "a.db", document(FIRST), document(SECOND), document(copy, other, name="two"))
    with closing(open_to_read(archive)) as connection:
        assert usage_owner(connection, "msg_1") == usage_owner(connection, "msg_2") == ("azure_openai", "one", "m1")
        found = statistics(connection, Scope(), "day", PRICES)
        assert (found.total.tokens.output, found.copies) == (8, 2)
        assert counted_elsewhere(connection, 2) == [CountedElsewhere("azure_openai", "one", 2)]
        assert counted_elsewhere(connection, 1) == []


def test_calls_arrive_in_another_archive(tmp_path, kept):
    history = said(day=8, known_from="history")
    archive = kept(FIRST, SECOND, history, said("No.", day=8, tokens=1))
    assert facts(archive)["call"]
    assert facts(archive)["revision"]
    keep_folder(archive, tmp_path / "b.db")
    assert facts(tmp_path / "b.db") == facts(archive)


def test_calls_go_with_their_message(kept):
    archive = kept(FIRST, SECOND)
    with closing(sqlite3.connect(archive)) as connection, connection:
        connection.execute("pragma foreign_keys = on")
        connection.execute("delete from conversation")
        assert connection.execute("select count(*) from answer_usage").fetchone() == (0,)


def test_one_call_is_kept_as_it_always_was(kept):
    archive = kept(said("Yes", tokens=3, api_message_id="msg_1"), said("Yes.", tokens=5, api_message_id="msg_1"))
    assert facts(archive)["call"] == []
    assert current(archive)[0]["tokens"]["output_tokens"] == 5


# -- known from later requests --------------------------------------------------------------------------------------

REQUEST, HISTORY = said(day=6, known_from="request"), said(day=5, known_from="history")


@pytest.mark.parametrize("order", [(FIRST, REQUEST, HISTORY), (HISTORY, REQUEST, FIRST), (REQUEST, FIRST, HISTORY)])
def test_the_first_hand_stands_for_what_later_requests_say_again(kept, order):
    archive = kept(*order)
    assert current(archive) == [FIRST]
    assert facts(archive)["revision"] == []
    assert facts(archive)["call"] == []


@pytest.mark.parametrize("hand", ["request", "history"])
def test_of_two_requests_the_earlier_one_stands(kept, hand):
    early, late = said(day=6, known_from=hand), said(day=7, known_from=hand, note="longer")
    for order in ((early, late), (late, early)):
        archive = kept(*order)
        assert current(archive) == [early]
        assert facts(archive)["revision"] == []


def test_a_request_stands_before_a_history_whatever_their_times(kept):
    assert current(kept(HISTORY, REQUEST)) == [REQUEST]


def test_other_words_are_kept_as_a_version(kept):
    archive = kept(FIRST, said("Ja.", day=8, known_from="history"), said("Ja.", day=9, known_from="history"))
    assert current(archive) == [FIRST]
    [revision] = facts(archive)["revision"]
    assert revision[6] == at(8)


def test_what_a_source_revised_stands_before_how_it_is_known(kept):
    revised = said("Yes!", day=5, known_from="history", update_time=at(9))
    assert current(kept(FIRST, revised)) == [revised | {"tokens": FIRST["tokens"]}]


def test_figures_on_a_message_of_a_request_are_kept_and_count_as_no_usage(tmp_path, kept):
    told = said(day=7, tokens=70, known_from="history")
    archive = kept(FIRST, told)
    with closing(open_to_read(archive)) as connection:
        [only] = counted_answers(connection, Scope())
        assert only.counts[1] == 3
    [revision] = facts(archive)["revision"]
    assert orjson.loads(revision[-1])["tokens"] == told["tokens"]
    keep_folder(archive, tmp_path / "b.db")
    assert facts(tmp_path / "b.db") == facts(archive)
