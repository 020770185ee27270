"""A recorded stream that holds several messages: each is an answer to its request, and none is lost or joined."""

import json
from contextlib import closing

import pytest

from api_trace.tracing import asked, calls, events, imported, lines, pair, sse, text_of, trace
from archiving import keep_paths
from palaver.archive.connection import open_to_read
from palaver.archive.usage import Scope, counted_answers
from palaver.importers import importer
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.validation.schema import is_valid

FIRST, SECOND = "The first answer is about the rain of today.", "The second answer is about the wind of tonight."
BOTH = [*events(FIRST, message_id="msg_a"), *events(SECOND, message_id="msg_b")]
CHAT = [
    {
        "id": name,
        "object": "chat.completion.chunk",
        "model": "gpt-5",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 9} if reason else None,
    }
    for name, text in (("c_a", FIRST), ("c_b", SECOND))
    for delta, reason in (({"role": "assistant", "content": ""}, None), ({"content": text}, None), ({}, "stop"))
]
RECORDS = {
    "a body": pair(response={"body_raw": sse(BOTH)}),
    "a body with an id": pair(response={"body_raw": sse(BOTH), "headers": {"request-id": "req_1"}}),
    "details": pair(
        response={"streaming_details": {"chunks": [{"event_type": one["type"], "data": one} for one in BOTH]}}
    ),
    "lines": trace(response={"stream": True, "sse_lines": sse(BOTH).splitlines()}),
    "chat": trace(
        {"model": "gpt-5", "messages": [{"role": "user", "content": "Is it raining?"}]},
        {"stream": True, "sse_lines": [f"data: {json.dumps(chunk)}" for chunk in CHAT]},
    ),
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_both_messages_are_answers_of_one_conversation(tmp_path, record):
    made = imported(tmp_path, {"log.jsonl": lines(record)})
    assert len({document["conversation_id"] for document in made.documents}) == 1
    prompt, *answers = [message for document in made.documents for message in document["messages"]]
    assert {answer["parent_message_id"] for answer in answers} == {prompt["message_id"]}
    names = {answer["content"][0]["text"]: answer["metadata"]["api_message_id"][-2:] for answer in answers}
    assert names == {FIRST: "_a", SECOND: "_b"}
    assert [(answer["tokens"]["input_tokens"], answer["tokens"]["output_tokens"]) for answer in answers] == [(5, 9)] * 2
    assert [set(report.findings.counts) for report in made.reports] == [{"several-messages"}]


def test_the_messages_of_a_stream_come_in_its_order(tmp_path):
    said = [f"The answer number {number} is about the rain." for number in range(6)]
    body = sse([event for number, text in enumerate(said) for event in events(text, message_id=f"msg_{number}")])
    for request in ({}, {"metadata": {"user_id": "somebody"}}):
        made = imported(tmp_path, {"log.jsonl": lines(pair(asked(**request), {"body_raw": body}))})
        _, *answers = [message for document in made.documents for message in document["messages"]]
        assert [answer["content"][0]["text"] for answer in answers] == said


def test_each_message_counts_with_its_own_usage(tmp_path):
    (tmp_path / "log-2026-01-05-10-00-00.jsonl").write_bytes(lines(RECORDS["a body with an id"]))
    report = keep_paths([tmp_path / "log-2026-01-05-10-00-00.jsonl"], tmp_path / "archive.db")
    assert not report.refused
    with closing(open_to_read(tmp_path / "archive.db")) as connection:
        counted = list(counted_answers(connection, Scope()))
    assert sorted(one.owner.api_message_id for one in counted) == ["msg_a", "msg_b"]


def test_a_stream_without_a_request_keeps_all_its_messages(tmp_path):
    chunk = {"timestamp": 1767607202.5, "request_id": "r", "chunk_data": sse(BOTH)}
    made = imported(tmp_path, {"log.jsonl": lines(pair()), "log.stream.jsonl": lines(chunk)})
    told = [
        block["text"] for document in made.documents for message in document["messages"] for block in message["content"]
    ]
    assert {FIRST, SECOND} <= set(told)


def test_the_next_request_continues_either_answer(tmp_path):
    history = [
        *asked()["messages"],
        {"role": "assistant", "content": [{"type": "text", "text": SECOND}]},
        {"role": "user", "content": "And tomorrow, will the wind be as strong as that?"},
    ]
    later = pair(asked(messages=history), {"body_raw": sse(events("No, it calms down.", message_id="msg_c"))})
    made = imported(tmp_path, {"log.jsonl": lines(RECORDS["a body"], later)})
    texts = [
        block["text"] for document in made.documents for message in document["messages"] for block in message["content"]
    ]
    assert {FIRST, SECOND, "No, it calms down."} <= set(texts)


def test_each_message_is_an_exchange_with_an_id_of_its_own(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(RECORDS["a body with an id"]))
    made = [call.exchange() for call in importer("api_trace").calls(Source.at(path), Run("log.jsonl"))]
    assert [exchange["exchange_id"] for exchange in made] == ["req_1", "req_1-2"]
    assert [exchange["response"]["content"][0]["text"] for exchange in made] == [FIRST, SECOND]
    assert all(is_valid(exchange, "exchange") for exchange in made)


def test_a_message_that_was_cut_off_is_marked_and_the_next_is_whole(tmp_path):
    cut = [*events(FIRST, message_id="msg_a")[:4], *events(SECOND, message_id="msg_b")]
    (only,), run = calls(tmp_path, pair(response={"body_raw": sse(cut)}))
    (later,) = only.following
    assert (text_of(only), only.is_answer_cut) == (FIRST, True)
    assert (text_of(later), later.is_answer_cut) == (SECOND, False)
    assert set(run.findings.counts) == {"several-messages", "cut-answer"}


def test_a_response_that_continues_the_second_message_is_found(tmp_path):
    def response(name, text):
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        whole = {"id": name, "object": "response", "model": "gpt-5", "status": "completed", "output": [item]}
        return [
            {"type": "response.created", "response": {**whole, "output": []}},
            {"type": "response.completed", "response": whole},
        ]

    url = "https://api.openai.com/v1/responses"
    both = sse([*response("resp_a", FIRST), *response("resp_b", SECOND)])
    asking = {"model": "gpt-5", "input": "Is it raining?"}
    more = {"model": "gpt-5", "input": "Is it still?", "previous_response_id": "resp_b"}
    later = pair(more, {"body_raw": sse(response("resp_c", "It is not."))}, url=url)
    for records in (
        [pair(asking, {"body_raw": both}, url=url), later],
        [later, pair(asking, {"body_raw": both}, url=url)],
    ):
        made = imported(tmp_path, {"log.jsonl": lines(*records)})
        assert len({document["conversation_id"] for document in made.documents}) == 1
        messages = {
            message["content"][0]["text"]: message for document in made.documents for message in document["messages"]
        }
        assert messages["Is it still?"]["parent_message_id"] == messages[SECOND]["message_id"]
