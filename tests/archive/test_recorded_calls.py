"""Calls that were recorded and written down: joined by their ids when they are read, and by nothing else."""

from contextlib import closing
from itertools import permutations
from typing import Any

import pytest

from archiving import Json, keep_documents
from palaver.archive.connection import open_to_read
from palaver.archive.conversation_list import find_conversations
from palaver.archive.conversation_totals import conversation_cost, conversation_totals
from palaver.archive.filters import Filters
from palaver.archive.messages import stored_message
from palaver.archive.overview import conversation_overview
from palaver.archive.recorded_calls import RecordedCall, recorded_call
from palaver.archive.selection import find_conversation
from palaver.archive.statistics import statistics
from palaver.archive.tally import GroupBy, Statistics
from palaver.archive.usage import Scope
from palaver.model import build
from palaver.prices import Prices

PRICES = Prices()
AT = "2026-03-01T09:00:01.000Z"
TRANSCRIPT, RECORDING = ("github_copilot", "/home/ada/tides"), ("api_trace", None)
GROUPINGS: tuple[GroupBy, ...] = ("day", "week", "month", "project", "model", "platform", "conversation", "block")


def answer(message_id: str, *, output: int = 10, tools: tuple[str, ...] = (), at: str = AT, **metadata: Any) -> Json:
    calls = [build.tool_use(id=name, name=name, input={}) for name in tools]
    return build.message(
        message_id=message_id,
        role="assistant",
        timestamp=at,
        content=[build.text(f"answer {message_id}"), *calls],
        tokens={"input_tokens": 5, "output_tokens": output},
        metadata={"author_kind": "model", **metadata},
    )


def sent(request: str, at: str = AT) -> Json:
    return {"at": at, "request": request}


def failure(message_id: str, request_id: str, request: str, at: str = AT) -> Json:
    return build.message(
        message_id=message_id,
        role="system",
        timestamp=at,
        content=[build.text("Overloaded")],
        metadata={
            "author_kind": "harness",
            "request_id": request_id,
            "error": {"category": "overloaded", "message": "Overloaded"},
            "sent": sent(request, at),
        },
    )


def conversation(name: str, kind: tuple[str, str | None], *messages: Json) -> Json:
    platform, project = kind
    return build.conversation(
        conversation_id=name,
        platform={"name": platform},
        context={"workspace": {"path": project}} if project else None,
        created_at=AT,
        messages=list(messages),
    )


class Kept:
    """An archive of these documents, as the commands read it."""

    def __init__(self, folder: Any, *documents: Json) -> None:
        self.path = keep_documents(folder / "archive.db", *documents)

    def statistics(self, by: GroupBy = "platform", **filters: str) -> Statistics:
        with closing(open_to_read(self.path)) as connection:
            return statistics(connection, Scope(Filters(**filters), is_utc=True), by, PRICES)

    @property
    def output(self) -> int:
        return self.statistics().total.tokens.output

    @property
    def listed(self) -> list[str]:
        with closing(open_to_read(self.path)) as connection:
            names = dict(connection.execute("select conversation_key, conversation_id from conversation"))
            return sorted(names[key] for key in find_conversations(connection, Filters()).keys)

    def call_of(self, conversation_id: str, message_id: str) -> RecordedCall | None:
        with closing(open_to_read(self.path)) as connection:
            query = "select conversation_key from conversation where conversation_id = ?"
            (key,) = connection.execute(query, (conversation_id,)).fetchone()
            return recorded_call(connection, stored_message(connection, key, message_id))


def recorded(api_message_id: str | None = "msg_1", request_id: str = "req_1", **more: Any) -> Json:
    stated = {"api_message_id": api_message_id} if api_message_id is not None else {}
    return conversation("w", RECORDING, answer("w-1", request_id=request_id, sent=sent("r1"), **stated, **more))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_usage_counts_once_in_every_grouping_whatever_came_first(tmp_path, order):
    documents = [
        conversation("by request", TRANSCRIPT, answer("t-1", request_id="req_1", output=7, tools=("Bash",))),
        conversation("by answer", ("claude_code", "/home/ada/fork"), answer("t-2", api_message_id="msg_1", output=8)),
        recorded(tools=("Bash",), output=9),
    ]
    kept = Kept(tmp_path, *(documents[number] for number in order))
    for by in GROUPINGS:
        for filters in ({}, {"since": "2026-03-01", "until": "2026-03-02"}):
            found = kept.statistics(by, **filters)
            assert (found.total.answers, found.total.tokens.output, found.copies) == (1, 9, 2)
            (counted,) = [tally for tally in found.groups.values() if tally.answers]
            assert counted.tokens.output == 9
    assert kept.statistics("tool").total.tool_calls == 1
    assert kept.listed == ["by answer", "by request"]
    with closing(open_to_read(kept.path)) as connection:
        query = "select conversation_key from conversation where conversation_id in ('by request', 'w') order by 1"
        elsewhere = [conversation_overview(connection, key).counted_elsewhere for (key,) in connection.execute(query)]
    assert {(found.conversation_id, found.messages) for [found] in elsewhere} == {("by answer", 1)}


def test_a_narrow_range_of_time_counts_what_all_of_time_does(tmp_path, monkeypatch):
    monkeypatch.setattr("palaver.archive.usage._NARROW", 0)
    others = [answer(f"o-{n}", at="2026-01-01T00:00:00.000Z", output=1) for n in range(20)]
    kept = Kept(
        tmp_path,
        conversation(
            "t", TRANSCRIPT, *others, answer("t-1", request_id="req_1", output=7, at="2026-03-02T00:00:00.000Z")
        ),
        recorded(output=9),
    )
    for since in ("2026-03-01", "2026-03-02"):
        total = kept.statistics(since=since).total
        # The owner is the copy with a project.
        assert (total.answers, total.tokens.output) == (1, 9)
    assert kept.statistics(since="2026-03-01", until="2026-03-02").total.answers == 0


def test_answers_with_empty_ids_are_different_answers(tmp_path):
    kept = Kept(tmp_path, conversation("t", TRANSCRIPT, *(answer(f"t-{n}", api_message_id="") for n in range(3))))
    with closing(open_to_read(kept.path)) as connection:
        (totals,) = conversation_totals(connection, [1]).values()
        assert totals.output == kept.output == 30
        assert conversation_cost(connection, 1, PRICES).unpriced == 3


@pytest.mark.parametrize(
    ("transcript", "recording"),
    [
        ({"request_id": ""}, {"request_id": ""}),
        ({"request_id": None}, {"request_id": None}),
        ({"api_message_id": ""}, {"api_message_id": ""}),
        ({"api_message_id": "", "request_id": "req_1"}, {"api_message_id": "", "request_id": "req_2"}),
        # Logs number their requests; such a number says nothing outside of its log.
        ({"request_id": "1"}, {"request_id": "1"}),
        ({"api_message_id": "msg_2", "request_id": "req_1"}, {"request_id": "req_1"}),
    ],
)
def test_ids_that_name_no_call_or_another_one_join_nothing(tmp_path, transcript, recording):
    document = conversation(
        "w", RECORDING, answer("w-1", **{"api_message_id": "msg_1", "sent": sent("r1"), **recording})
    )
    kept = Kept(tmp_path, conversation("t", TRANSCRIPT, answer("t-1", **transcript)), document)
    assert kept.output == 20
    assert kept.listed == ["t", "w"]
    assert kept.call_of("t", "t-1") is None


def test_a_request_id_that_several_answers_have_joins_none_of_them(tmp_path):
    first = answer("w-1", api_message_id="msg_1", request_id="req_1", sent=sent("r1"))
    second = answer("w-2", api_message_id="msg_2", request_id="req_1", sent=sent("r2"))
    kept = Kept(
        tmp_path,
        conversation("t", TRANSCRIPT, answer("t-1", request_id="req_1"), answer("t-2", request_id="req_1")),
        conversation("w", RECORDING, first, second),
    )
    assert kept.output == 40
    assert kept.listed == ["t", "w"]
    assert kept.call_of("t", "t-1") is None


def test_two_recordings_of_a_call_are_one_call_also_where_a_gateway_lacks_the_answers_id(tmp_path):
    gateway = conversation("g", ("azure_openai", None), answer("g-1", request_id="req_1", sent=sent("g")))
    kept = Kept(tmp_path, gateway, recorded(output=12))
    assert kept.output == 12
    assert kept.listed == ["g", "w"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_calls_of_which_no_record_has_the_answers_id_are_joined_by_their_request(tmp_path, monkeypatch, order):
    monkeypatch.setattr("palaver.archive.usage._NARROW", 0)
    at = "2026-03-02T00:00:00.000Z"
    others = [answer(f"o-{n}", at="2026-01-01T00:00:00.000Z", output=1, request_id=f"req_o{n}") for n in range(20)]
    documents = [
        conversation("t", TRANSCRIPT, *others, answer("t-1", request_id="req_1", output=7, tools=("Bash",), at=at)),
        recorded(None, tools=("Bash",), output=9),
    ]
    kept = Kept(tmp_path, *(documents[number] for number in order))
    for by in GROUPINGS:
        found = kept.statistics(by, since="2026-03-01")
        assert (found.total.answers, found.total.tokens.output, found.copies) == (1, 9, 1)
    assert kept.statistics("tool").total.tool_calls == 1
    assert kept.output == 29
    assert kept.listed == ["t"]
    assert kept.call_of("t", "t-1").message_id == "w-1"
    with closing(open_to_read(kept.path)) as connection:
        query = "select conversation_key from conversation where conversation_id = 'w'"
        [elsewhere] = conversation_overview(connection, *connection.execute(query).fetchone()).counted_elsewhere
        assert (elsewhere.conversation_id, elsewhere.messages) == ("t", 1)


def test_a_request_id_that_several_nameless_answers_have_joins_none_of_them(tmp_path):
    first, second = (answer(f"w-{n}", request_id="req_1", sent=sent(f"r{n}")) for n in range(2))
    kept = Kept(
        tmp_path,
        conversation("t", TRANSCRIPT, answer("t-1", request_id="req_1")),
        conversation("w", RECORDING, first, second),
    )
    assert kept.output == 30
    assert kept.listed == ["t", "w"]
    assert kept.call_of("t", "t-1") is None


def test_a_recording_with_an_answer_without_id_is_unique_and_stays_listed(tmp_path):
    nameless = answer("w-2", request_id="req_2", sent=sent("r2"))
    transcript = conversation("t", TRANSCRIPT, answer("t-1", api_message_id="msg_1"))
    document = recorded()
    document["messages"].append(nameless)
    kept = Kept(tmp_path, transcript, document)
    assert kept.listed == ["t", "w"]


@pytest.mark.parametrize("names", [("msg_1", "msg_2"), ("msg_2", "msg_1")])
def test_a_recording_of_two_calls_with_the_same_words_is_hidden_once_a_transcript_has_both(tmp_path, names):
    first, second = (conversation("t", TRANSCRIPT, answer(f"t-{name}", api_message_id=name)) for name in names)
    kept = Kept(tmp_path, first, recorded("msg_1", "req_1"), recorded("msg_2", "req_2"))
    assert kept.listed == ["t", "w"]
    keep_documents(kept.path, second)
    assert kept.listed == ["t"]
    assert kept.output == 20


def test_the_latest_is_not_a_recording_of_what_an_assistant_wrote_down(tmp_path):
    later = "2026-03-01T09:00:02.000Z"
    written = conversation("t", TRANSCRIPT, answer("t-1", api_message_id="msg_1"))
    for answer_id, latest in (("msg_1", "t"), ("msg_2", "w")):
        kept = Kept(tmp_path / answer_id, written, recorded(answer_id, at=later))
        with closing(open_to_read(kept.path)) as connection:
            assert find_conversation(connection, "latest").conversation_id == latest


def test_a_conversation_that_an_assistant_wrote_down_is_no_recording(tmp_path):
    """Copilot's sessions and the traces of the same sessions have one id, and so become one conversation."""
    own = answer("event-1", api_message_id="msg_1")
    traced = answer("span-1", api_message_id="msg_1", request_id="span", sent=sent("r1"))
    kept = Kept(tmp_path, conversation("s", TRANSCRIPT, own), conversation("s", TRANSCRIPT, traced), recorded())
    assert kept.listed == ["s"]
    assert kept.output == 10


def test_only_failures_since_the_last_answer_are_retries(tmp_path):
    times = [f"2026-03-01T09:00:{second:02}.000Z" for second in range(6)]
    again = answer("w-2", api_message_id="msg_2", request_id="req_4", sent=sent("r1", times[4]), at=times[5])
    broken = answer("w-0", api_message_id="msg_0", request_id="req_3", sent=sent("r1", times[3]), at=times[3])
    document = conversation(
        "w",
        RECORDING,
        failure("f-0", "req_0", "r1", times[0]),
        answer("w-1", api_message_id="msg_1", request_id="req_1", sent=sent("r1", times[1])),
        failure("f-2", "req_2", "r1", times[2]),
        # An answer that broke off has an error beside it.
        broken,
        failure("f-3", "req_3", "r1", times[3]),
        again,
    )
    kept = Kept(tmp_path, document)
    retries = {name: kept.call_of("w", name).retries for name in ("w-1", "w-2")}
    assert [call.request_id for call in retries["w-1"]] == ["req_0"]
    assert [call.request_id for call in retries["w-2"]] == ["req_2", "req_3"]


def test_a_list_of_many_failures_of_one_request_takes_linear_time(tmp_path):
    """A script that sends the same prompt every minute, and is refused every time."""

    def steps(count: int) -> int:
        (tmp_path / f"{count}").mkdir()
        failed = [conversation(f"f-{n}", RECORDING, failure(f"f-{n}", f"req_f{n}", "r1")) for n in range(count)]
        kept = Kept(tmp_path / f"{count}", *failed, recorded())
        taken = 0

        def count_steps() -> None:
            nonlocal taken
            taken += 1

        with closing(open_to_read(kept.path)) as connection:
            connection.set_progress_handler(count_steps, 10)
            assert len(find_conversations(connection, Filters()).keys) == count + 1
        return taken

    assert steps(400) < 6 * steps(100)


def test_a_range_of_time_behind_a_gateway_with_one_request_id_takes_linear_time(tmp_path, monkeypatch):
    monkeypatch.setattr("palaver.archive.usage._NARROW", 1_000_000)

    def steps(count: int) -> int:
        (tmp_path / f"{count}").mkdir()
        written = [answer(f"t-{n}", request_id="req_1") for n in range(count)]
        answers = [
            answer(f"w-{n}", api_message_id=f"msg_{n}", request_id="req_1", sent=sent(f"r{n}")) for n in range(count)
        ]
        documents = [conversation("t", TRANSCRIPT, *written), conversation("w", RECORDING, *answers)]
        kept = Kept(tmp_path / f"{count}", *documents)
        taken = 0

        def count_steps() -> None:
            nonlocal taken
            taken += 1

        with closing(open_to_read(kept.path)) as connection:
            connection.set_progress_handler(count_steps, 10)
            found = statistics(connection, Scope(Filters(since="2026-03-01"), is_utc=True), "platform", PRICES)
            assert found.total.answers == 2 * count
        return taken

    assert steps(400) < 6 * steps(100)


def test_requests_without_a_usable_id_are_told_apart_by_their_times(tmp_path):
    again = "2026-03-01T09:00:05.000Z"
    document = conversation(
        "w",
        RECORDING,
        failure("f-1", "1", "r1"),
        answer("w-1", api_message_id="msg_1", request_id="2", sent=sent("r1", again), at=again),
    )
    call = Kept(tmp_path, document).call_of("w", "w-1")
    assert call is not None
    assert [failed.sent_at for failed in call.retries] == [AT]


def test_failures_are_hidden_once_a_transcript_has_the_answer(tmp_path):
    failed = [conversation(f"f-{n}", RECORDING, failure(f"f-{n}", f"req_f{n}", "r1")) for n in range(3)]
    other = conversation("o", RECORDING, failure("o-1", "req_o", "r9"))
    kept = Kept(tmp_path, *failed, other, recorded())
    assert kept.listed == ["f-0", "f-1", "f-2", "o", "w"]
    keep_documents(kept.path, conversation("t", TRANSCRIPT, answer("t-1", api_message_id="msg_1")))
    assert kept.listed == ["o", "t"]
