"""Payloads of a policy's own making: found by the user's words, or by what they look like."""

import pytest

from azure_logs import ANSWER, QUESTION, Log, answered, asked
from palaver.errors import OptionError
from palaver.importers.azure_openai.custom_rows import field_map

RECORD = {
    "trace": "t-1",
    "req": {"body": asked(), "headers": {"Authorization": "Bearer x"}},
    "resp": {"body": answered()},
}


def test_the_users_words_tell_where_things_are(tmp_path):
    record = {**RECORD, "who": {"name": "miller"}, "took": "12.5", "when": "2026-02-03T10:00:00Z", "extra": [1]}
    words = "request=req.body, response=resp.body,id=trace,caller=who.name,duration=took,time=when"
    call = Log(tmp_path / "events.json", [record], fields=words).call
    assert (call.call_id, call.request, call.response) == ("t-1", asked(), answered())
    assert (call.caller, call.duration_ms, call.started_at) == ("miller", 12.5, "2026-02-03T10:00:00.000Z")
    assert call.answer == {"extra": [1], "subscription_id": "miller"}


def test_paths_lead_into_lists_and_texts(tmp_path):
    record = {"parts": [{"x": 1}, {"y": '{"sent": {"messages": [{"role": "user", "content": "In a text."}]}}'}]}
    call = Log(tmp_path / "events.json", [record], fields="request=parts.1.y.sent").call
    assert call.request["messages"][0]["content"] == "In a text."


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("prompt=a", "'prompt' is not a field: choose request, response"),
        ("request", "has no path"),
        ("request=a..b", "has no path"),
    ],
)
def test_words_that_name_nothing_are_refused_in_a_sentence(tmp_path, words, problem):
    with pytest.raises(ValueError, match=problem):
        field_map(words)
    with pytest.raises(OptionError, match=problem):
        Log(tmp_path / "events.json", [RECORD], fields=words)


@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        {"a": {"b": asked()}, "c": {"d": answered()}},
        {"call": {"in": asked(), "out": answered()}},
        {**asked(), "response": answered()},
        {"payload": '{"messages": [{"role": "user", "content": "Who turns the mill when there is no wind?"}]}'}
        | {"result": answered()},
    ],
    ids=["two objects", "deeper", "side by side", "the record is the request", "a text"],
)
def test_bodies_are_known_by_their_shape(tmp_path, record):
    call = Log(tmp_path / "events.json", [record]).call
    assert call.request["messages"] == [QUESTION]
    assert call.response["choices"][0]["message"] == ANSWER
    assert not call.is_request_cut


def test_what_a_proxy_wrote_down_is_an_answer_without_its_question(tmp_path):
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    record = {
        "type": "stream_completion",
        "content": "Flour.",
        "usage": usage,
        "model": "gpt-4o",
        "region": "norwayeast",
    }
    call = Log(tmp_path / "events.json", [record]).call
    assert call.response["choices"][0]["message"] == {"role": "assistant", "content": "Flour."}
    assert (call.response["usage"], call.response["model"]) == (usage, "gpt-4o")
    assert call.is_request_cut
    assert call.answer["region"] == "norwayeast"


def test_a_call_without_an_id_has_the_same_made_one_everywhere(tmp_path):
    record = {"requestBody": asked(), "responseBody": answered()}
    names = {Log(tmp_path / name, [record]).call.call_id for name in ("one.json", "two.json")}
    assert len(names) == 1


def test_cells_without_names_can_be_named(tmp_path):
    line = "2026-02-03T10:00:00Z,gate,00000000-0000-4000-8000-000000000001,192.0.2.7,chat,gpt-4o,58,31\n"
    words = "model=cell_5,input_tokens=cell_6,output_tokens=cell_7"
    log = Log(tmp_path / "events.csv", line, fields=words)
    (record,) = log.used
    assert record["tokens"] == {"input_tokens": 58, "output_tokens": 31}
    assert (record["model"], record["metadata"]["caller_ip"]) == ("gpt-4o", "192.0.2.7")
    assert Log(tmp_path / "plain.csv", line).run.ledger.skipped == {"no-content": 1}


def test_messages_under_a_name_that_nobody_knows_are_found(tmp_path):
    rows = [{"CorrelationId": "c-1", "said": [QUESTION]}, {"CorrelationId": "c-1", "told": [ANSWER]}]
    call = Log(tmp_path / "events.json", rows).call
    assert call.request == {"messages": [QUESTION]}
    assert call.response == {"choices": [{"index": 0, "message": ANSWER}]}
