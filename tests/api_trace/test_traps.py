"""The traps of traces, by their numbers in the notes on the format; those of merging are told in `test_merging`."""

import base64
import json

import pytest

from api_trace.tracing import asked, call, calls, events, imported, lines, message, pair, sse, text_of, trace
from cooking import cook as cooked
from palaver.importers.api_trace.fragmented_calls import WINDOW_S
from palaver.model.ids import message_hash

TEXT = {"type": "text", "text": "Sunny."}
USER = {"role": "user", "content": "What's 2+2?"}


def chat(*messages, response=None, **more):
    return {"request": {"model": "gpt-4", "messages": list(messages)}, "response": response, **more}


def claude(*messages, response=None, system=(), **more):
    request = {"model": "claude-x", "system": list(system) if isinstance(system, tuple) else system}
    return {"request": {**request, "messages": list(messages)}, "response": response, **more}


def answer_of(made):
    by_id = {one["id"]: one for one in made["messages"]}
    return [by_id[name] for name in made["requests"][-1]["response_messages"]]


def function(name, arguments="{}", **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def test_trap_1_a_plain_system_prompt_is_one_message(tmp_path):
    made = cooked(claude(USER, system="Be helpful", response={"content": [TEXT]}))
    assert made["messages"][0]["content"] == "Be helpful"
    (document,) = imported(tmp_path, {"log.jsonl": lines(trace(asked(system="Be helpful"), message()))}).documents
    assert document["messages"][0]["content"] == [{"type": "text", "text": "Be helpful"}]
    assert call(tmp_path, trace(asked(system="Be helpful"))).wire == "anthropic"


def test_trap_2_streamed_calls_stand_in_the_order_of_their_indexes():
    def chunk(index, call_id):
        return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, "id": call_id, **function("f")}]}}]}

    lines = [f"data: {json.dumps(chunk(index, name))}" for index, name in ((1, "a"), (0, "z"))]
    (made,) = answer_of(cooked(chat(USER, response={"stream": True, "sse_lines": lines})))
    assert [one["id"] for one in made["tool_calls"]] == ["z", "a"]


def test_trap_3_each_text_of_an_answer_is_the_message_that_the_next_request_sends():
    blocks = [{"type": "text", "text": " One. "}, {"type": "text", "text": "Two."}]
    made = cooked(
        claude(USER, response={"content": blocks}), claude(USER, {"role": "assistant", "content": blocks}, USER)
    )
    assert made["requests"][1]["request_messages"][1:3] == made["requests"][0]["response_messages"]


def test_trap_4_text_and_calls_are_one_message_of_openai_and_two_of_claude():
    said = {"role": "assistant", "content": "Let me see.", "tool_calls": [function("f", id="c")]}
    assert [one["role"] for one in answer_of(cooked(chat(USER, response={"choices": [{"message": said}]})))] == [
        "tool_use"
    ]
    content = [TEXT, {"type": "tool_use", "id": "c", "name": "f", "input": {}}]
    assert [one["role"] for one in answer_of(cooked(claude(USER, response={"content": content})))] == [
        *("assistant", "tool_use"),
    ]


def test_trap_5_the_signature_of_a_thought_does_not_tell_it_from_another():
    thoughts = [{"type": "thinking", "thinking": "Hm.", "signature": name} for name in ("a", "b")]
    made = cooked(*(claude(USER, response={"content": [thought, TEXT]}) for thought in thoughts))
    assert [one["role"] for one in made["messages"]].count("thinking") == 1


def test_trap_6_a_result_is_no_error_unless_it_says_so():
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "4"}
    made = cooked(claude(USER, {"role": "user", "content": [result]}))["messages"][1]
    assert made["is_error"] is False
    assert message_hash(made) == "68dd8ae892d95892"


def test_trap_7_calls_and_results_without_ids_find_each_other():
    calls = {"role": "assistant", "content": None, "tool_calls": [function("calc")]}
    made = cooked(chat(USER, calls, {"role": "tool", "content": "4"}))["messages"]
    assert made[1]["tool_calls"][0]["id"] == made[2]["tool_use_id"]
    assert made[2]["tool_use_id"]


def test_trap_8_the_body_of_an_error_is_an_error(tmp_path):
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert answer_of(cooked(claude(USER, response=body)))[0]["content"] == "Error: Overloaded"
    made = call(tmp_path, trace(asked(), body))
    assert made.response is None
    assert made.error is not None
    assert made.error["category"] == "overloaded"


@pytest.mark.parametrize("response", [None, {}, {"choices": []}])
def test_trap_9_there_is_always_an_answer(response):
    assert [one["role"] for one in answer_of(cooked(chat(USER, response=response)))] == ["assistant"]


def test_trap_10_a_result_in_parts_keeps_the_id_of_its_call():
    result = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "4"}]}
    made = cooked(chat(USER, {"role": "assistant", "tool_calls": [function("f", id="c")]}, result))["messages"]
    assert (made[2]["role"], made[2]["tool_use_id"]) == ("tool_result", "c")


def test_trap_11_arguments_that_are_no_json_are_kept_raw():
    made = cooked(chat(USER, {"role": "assistant", "tool_calls": [function("f", '{"a": ', id="c")]}))["messages"]
    assert made[1]["tool_calls"][0]["arguments"] == {"raw": '{"a": '}


def test_trap_12_ids_follow_the_file_and_parents_the_clock():
    later = chat(USER, {"role": "assistant", "content": "4"}, USER, id="later", timestamp="2026-01-02T00:00:00Z")
    first = {"choices": [{"message": {"role": "assistant", "content": "4"}}]}
    made = cooked(later, chat(USER, response=first, id="first", timestamp="2026-01-01T00:00:00Z"))
    assert [one["content"] for one in made["messages"]][:2] == ["What's 2+2?", "4"]
    assert {one["id"]: one["parent_id"] for one in made["requests"]} == {"first": None, "later": "first"}


def test_trap_13_a_time_that_cannot_be_read_is_zero(tmp_path):
    assert cooked(chat(USER, timestamp="yesterday"))["requests"][0]["timestamp"] == 0
    assert call(tmp_path, trace(timestamp="yesterday")).started_at is None


@pytest.mark.parametrize(
    ("record", "label"),
    [
        (
            claude({"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "…"}}]}),
            "[image]",
        ),
        (
            claude({"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}]}),
            "[image: sha256:709e80c88487a241]",
        ),
        (
            chat(
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}
            ),
            "[image: sha256:709e80c88487a241]",
        ),
        (
            chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://host/a.png"}}]}),
            "[image: https://host/a.png]",
        ),
    ],
    ids=["left out", "bytes", "data URL", "address"],
)
def test_trap_14_an_image_is_a_label_that_tells_it_from_others(record, label):
    assert cooked(record)["messages"][0]["content"] == label


def test_trap_15_after_a_rewind_the_parent_is_the_closest_not_the_shortest():
    def said(*texts):
        return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]

    def answer(text):
        return {"choices": [{"message": {"role": "assistant", "content": text}}]}

    made = cooked(
        chat(*said("a", "b", "c"), response=answer("d"), id="closest", timestamp="2026-01-01T00:00:01Z"),
        chat(*said("a"), response=answer("b"), id="latest prefix", timestamp="2026-01-01T00:00:02Z"),
        chat(*said("a", "b", "c", "d", "x"), id="rewound", timestamp="2026-01-01T00:00:03Z"),
    )
    assert made["requests"][2]["parent_id"] == "closest"


def test_trap_16_credentials_are_told_nowhere(tmp_path):
    """Over all fixtures and all headers: `test_secrets`."""
    record = pair(response={"body": message(), "headers": {"Set-Cookie": "s3cret"}})
    record["request"]["headers"] = {"Authorization": "Bearer s3cret", "x-amz-security-token": "s3cret"}
    assert "s3cret" not in json.dumps(imported(tmp_path, {"log.jsonl": lines(record)}).documents)


def test_trap_17_an_orphan_is_a_question_without_an_answer(tmp_path):
    note = "ORPHANED_REQUEST - No matching response received"
    (made,), run = calls(tmp_path, pair(note=note))
    assert made.response is None
    assert made.error is not None
    assert made.error["message"] == note
    assert run.findings.counts == {"missing-answer": 1}


def test_trap_18_times_without_an_offset_and_bodies_told_twice(tmp_path):
    record = pair(response={"body": message("It is."), "body_raw": json.dumps(message("It is."))})
    del record["request"]["timestamp"], record["response"]["timestamp"]
    (made,), run = calls(tmp_path, {**record, "logged_at": "2025-05-29T23:38:25.033061"})
    assert run.findings.counts == {"local-time": 1}
    assert made.started_at == "2025-05-29T23:38:25.033Z"
    assert text_of(made) == "It is."
    record["response"] |= {"body": None, "body_raw": sse(events("It is."))}
    assert text_of(call(tmp_path, record)) == "It is."


def test_trap_19_the_id_of_a_request_stands_in_the_answers_headers(tmp_path):
    made = call(tmp_path, pair(response={"body": message(), "headers": {"request-id": "req_1"}}))
    assert (made.call_id, made.answer["request_id"]) == ("req_1", "req_1")
    record = pair(response={"body": message()})
    record["request"]["headers"] = {"request-id": "req_2"}
    assert call(tmp_path, record).call_id == "req_2"


def test_trap_20_reads_of_the_network_are_no_events(tmp_path):
    text = sse(events("It is, ", "and it pours."))
    reads = [text[at : at + 97] for at in range(0, len(text), 97)]
    chunk = {"request_id": "r", "event_type": "message_start", "logged_at": ""}
    told = [{**chunk, "timestamp": number / 10, "chunk_data": read} for number, read in enumerate(reads)]
    (made,), _ = calls(tmp_path, *told, name="log.stream.jsonl")
    assert text_of(made) == "It is, and it pours."


def test_trap_21_a_ping_is_known_however_it_is_spelled(tmp_path):
    text = sse(events("It is.")).replace('{"type": "ping"}', '{"type":"ping"}')
    (made,), run = calls(tmp_path, pair(response={"body_raw": text}))
    assert text_of(made) == "It is."
    assert not run.findings.counts


def test_trap_22_details_of_a_stream_are_read_where_nothing_else_is(tmp_path):
    told = [
        {"sequence": number, "timestamp": 1.0, "event_type": event["type"], "data": event, "chunk_timing_ms": 0}
        for number, event in enumerate(events("From the details."), 1)
    ]
    details = {"chunk_count": len(told), "chunks": told}
    assert text_of(call(tmp_path, pair(response={"streaming_details": details}))) == "From the details."
    both = {"streaming_details": details, "body_raw": sse(events("From the body."))}
    assert text_of(call(tmp_path, pair(response=both))) == "From the body."


@pytest.mark.parametrize(("seconds", "is_found"), [(1.9, True), (-1.9, True), (2.1, False), (-2.1, False)])
def test_trap_24_the_window_is_two_seconds_to_both_sides(tmp_path, seconds, is_found):
    assert WINDOW_S == 2
    entry = pair(response={})
    time = entry["response"]["timestamp"] + seconds
    (tmp_path / "log.stream.jsonl").write_bytes(
        lines({"timestamp": time, "chunk_data": sse(events("It is.")), "event_type": "", "logged_at": ""})
    )
    made, run = calls(tmp_path, entry)
    assert sum(one.response is not None and not one.is_request_cut for one in made) == is_found
    assert run.ledger.read == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_trap_25_the_rules_of_streams(tmp_path, end):
    """Cumulative usage, no names of events, padded data, an empty input, no end."""
    told = events("Hm.")
    told[-3:-3] = [
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}},
    ]
    text = "".join(f"data:   {json.dumps(event)}  {end}{end}" for event in told[:-1])
    (made,), run = calls(tmp_path, pair(response={"body_raw": text}))
    assert made.response is not None
    assert made.response["usage"] == {"input_tokens": 5, "output_tokens": 9, "service_tier": "priority"}
    assert made.response["content"][1]["input"] == {}
    assert made.is_answer_cut
    assert run.findings.counts["cut-answer"] == 1


def test_trap_26_a_request_names_its_session(tmp_path):
    """Every form: `test_calls`."""
    user_id = json.dumps({"device_id": "d", "account_uuid": "", "session_id": "s-1"})
    (document,) = imported(
        tmp_path, {"log.jsonl": lines(pair(asked(metadata={"user_id": user_id}), {"body": message()}))}
    ).documents
    assert document["session"]["session_id"] == "s-1"


def test_trap_27_bedrock_sends_frames_and_counts_itself(tmp_path):
    told = events("In frames.")
    metrics = {"inputTokenCount": 11, "outputTokenCount": 12, "cacheReadInputTokenCount": 13}
    told[-1]["amazon-bedrock-invocationMetrics"] = {**metrics, "cacheWriteInputTokenCount": 14, "invocationLatency": 5}
    frames = "".join(
        f'\0\0\1\ufffd:event-type\7\0\5chunk event{{"bytes":"{base64.b64encode(json.dumps(one).encode()).decode()}"}}'
        for one in told
    )
    url = (
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream"
    )
    body = {key: value for key, value in asked().items() if key != "model"}
    made = call(tmp_path, pair(body, {"body_raw": frames}, url=url))
    assert text_of(made) == "In frames."
    assert made.model == "claude-x"
    assert made.response is not None
    assert made.response["usage"] == {
        "input_tokens": 11,
        "output_tokens": 12,
        "cache_read_input_tokens": 13,
        "cache_creation_input_tokens": 14,
        "service_tier": "priority",
    }


def test_trap_28_the_service_tier_and_citations_are_kept(tmp_path):
    told = events("Cited.")
    citation = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0}
    delta = {"type": "citations_delta", "citation": citation}
    told.insert(4, {"type": "content_block_delta", "index": 0, "delta": delta})
    documents = imported(tmp_path, {"log.jsonl": lines(pair(response={"body_raw": sse(told)}))}).documents
    answer = documents[0]["messages"][-1]
    assert answer["tokens"]["service_tier"] == "priority"
    assert answer["content"][0]["citations"]


def test_trap_29_time_is_no_part_of_a_cooked_message():
    one, other = chat(USER, timestamp="2026-01-01T00:00:00Z"), chat(USER, timestamp="2026-02-02T00:00:00Z")
    assert [message["role"] for message in cooked(one, other)["messages"]] == ["user", "assistant"]
    fields = {"role": "user", "content": "What's 2+2?", "tool_calls": None, "tool_use_id": None, "is_error": None}
    assert message_hash(fields) == "f1388d4d84b7a360"
