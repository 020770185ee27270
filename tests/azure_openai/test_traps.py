"""The traps of this format, by their numbers in the notes on it: what a naive reader of these logs gets wrong."""

import base64
import gzip
import json

import pytest

from azure_logs import ANSWER, QUESTION, Log, answered, asked, gateway, logged
from importing import FIXTURES, import_folder

RESOURCE = {
    "apiName": "Azure OpenAI API version 2025-01-01-preview",
    "requestTime": 639_057_096_000_000_000,
    "responseTime": 639_057_096_012_340_000,
    "modelDeploymentName": "gpt-4o-mill",
    "modelName": "gpt-4o",
}


def resource(call_id="c-1", properties=RESOURCE, **fields):
    record = {"time": "2026-02-03T10:00:00Z", "category": "RequestResponse", "correlationId": call_id, "durationMs": 12}
    return {**record, "properties": properties, **fields}


def test_trap_1_logs_of_the_resource_hold_no_prompts(tmp_path):
    log = Log(tmp_path / "PT1H.json", [resource()])
    assert not log.calls
    (record,) = log.used
    assert (record["model"], record["platform"]["metadata"]["deployment"]) == ("gpt-4o", "gpt-4o-mill")
    joined = Log(tmp_path / "both.json", [resource(), gateway("c-1", asked(), answered())])
    assert joined.call.answer["resource_log"]["model_name"] == "gpt-4o"
    assert not joined.used


@pytest.mark.parametrize("size", [60, 90, 120, 139])
def test_trap_2_cut_bodies_are_read_as_far_as_they_go(tmp_path, size):
    body = json.dumps(asked(QUESTION, ANSWER, {"role": "user", "content": "And who feeds the cat? " * 4}))
    log = Log(tmp_path / "PT1H.json", [gateway("c-1", body[:size] + "\ufffd", answered())])
    call = log.call
    assert call.is_request_cut
    assert not call.is_answer_cut
    assert "cut-body" in log.codes
    assert call.request["messages"][0]["role"] == "user"
    assert QUESTION["content"].startswith(call.request["messages"][0].get("content", ""))


def test_trap_3_ticks_negative_durations_and_milliseconds(tmp_path):
    log = Log(tmp_path / "PT1H.json", [resource(durationMs=-3)])
    (record,) = log.used
    assert (record["started_at"], record["ended_at"]) == ("2026-02-03T10:00:00.000Z", "2026-02-03T10:00:01.234Z")
    assert "duration_ms" not in record
    assert record["metadata"]["durationMs"] == -3
    assert "negative-duration" in log.codes
    negative = Log(tmp_path / "gateway.json", [gateway("c-1", asked(), answered(), durationMs=-1)])
    assert negative.call.duration_ms is None
    assert "negative-duration" in negative.codes
    row = {"TimeGenerated": "2026-02-03T10:00:00Z", "CorrelationId": "c-2", "TotalTime": "1500", "ApiId": "models"}
    row |= {"RequestBody": json.dumps(asked()), "ResponseBody": json.dumps(answered())}
    table = Log(tmp_path / "table.json", [row]).call
    assert (table.duration_ms, table.ended_at) == (1500, "2026-02-03T10:00:01.500Z")


@pytest.mark.parametrize("name", ["properties", "properties_s", "Properties"])
@pytest.mark.parametrize("as_text", [False, True])
def test_trap_4_properties_are_an_object_or_its_text(tmp_path, name, as_text):
    record = gateway("c-1", asked(), answered())
    properties = record.pop("properties")
    record[name] = json.dumps(properties) if as_text else properties
    call = Log(tmp_path / "PT1H.json", [record]).call
    assert call.request == asked()
    assert call.platform == {"deployment": "gpt-4o-mill"}


def test_trap_5_the_backends_bodies_where_there_are_no_others(tmp_path):
    bodies = {"backendRequestBody": json.dumps(asked()), "backendResponseBody": json.dumps(answered())}
    alone = Log(tmp_path / "alone.json", [gateway("c-1", **bodies)]).call
    assert (alone.request, alone.response) == (asked(), answered())
    rewritten = asked(QUESTION, temperature=0.1)
    both = Log(tmp_path / "both.json", [gateway("c-1", rewritten, answered(), **bodies)]).call
    assert both.request == rewritten
    assert both.answer["backend_request_body"] == asked()
    assert "backend_response_body" not in both.answer


@pytest.mark.parametrize(
    "written",
    [
        lambda body: body,
        lambda body: base64.b64encode(body.encode()).decode(),
        lambda body: base64.b64encode(gzip.compress(body.encode())).decode(),
        lambda body: gzip.compress(body.encode()).decode("latin-1"),
        json.dumps,
    ],
    ids=["json", "base64", "packed in base64", "packed and taken for a text", "a text of json"],
)
def test_trap_6_a_body_is_json_a_stream_or_either_in_base64(tmp_path, written):
    events = [{"id": "x", "choices": [{"index": 0, "delta": ANSWER, "finish_reason": "stop"}]}]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    plain = Log(
        tmp_path / "plain.json", [gateway("c-1", written(json.dumps(asked())), written(json.dumps(answered())))]
    )
    assert (plain.call.request, plain.call.response) == (asked(), answered())
    streamed = Log(tmp_path / "streamed.json", [gateway("c-1", asked(), written(stream))])
    assert streamed.call.response["choices"][0]["message"] == ANSWER
    assert not plain.codes | streamed.codes


def test_trap_7_rows_are_ordered_by_their_numbers_and_tokens_are_the_greatest(tmp_path):
    rows = [
        logged("c-1", 3, ResponseMessages=[ANSWER], PromptTokens=0),
        logged("c-1", 2, RequestMessages=[ANSWER, QUESTION]),
        logged("c-1", 1, RequestMessages=[QUESTION], PromptTokens=5),
        logged("c-1", 0, PromptTokens=41, CompletionTokens="9", DeploymentName="gpt-4o-mill"),
    ]
    call = Log(tmp_path / "log.jsonl", rows).call
    assert call.request["messages"] == [QUESTION, ANSWER, QUESTION]
    assert call.usage == {"input_tokens": 41, "output_tokens": 9}
    assert call.platform == {"deployment": "gpt-4o-mill"}


def test_trap_8_parts_mean_something_only_together(tmp_path):
    whole = json.dumps([QUESTION, ANSWER, QUESTION])
    parts = [whole[:20], whole[20:70], whole[70:]]
    rows = [logged("c-1", number, RequestMessages=part) for number, part in enumerate(parts, 1)]
    log = Log(tmp_path / "log.jsonl", [*reversed(rows), logged("c-1", 4, ResponseMessages=[ANSWER])])
    assert log.call.request["messages"] == [QUESTION, ANSWER, QUESTION]
    assert not log.call.is_request_cut
    assert not log.codes


def test_trap_9_the_correlation_id_is_the_calls_and_apim_request_id_is_not(tmp_path):
    headers = {"apim-request-id": "another-id", "x-ms-region": "Norway East"}
    call = Log(tmp_path / "PT1H.json", [gateway("c-1", asked(), answered(), responseHeaders=headers)]).call
    assert call.call_id == "c-1"
    assert call.answer["apim_request_id"] == "another-id"
    hops = Log(tmp_path / "hops.json", [gateway(name, asked(), answered()) for name in ("hop-1", "hop-2")])
    assert {call.call_id for call in hops.calls} == {"hop-1", "hop-2"}


def test_trap_10_each_request_repeats_the_history_of_its_conversation():
    imported = import_folder(FIXTURES / "azure_openai" / "blob_lines" / "source")
    assert sorted(len(document["messages"]) for document in imported.documents) == [2, 7]


def test_trap_11_content_that_is_null_or_a_list(tmp_path):
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "https://e.net/i"}}]
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    silent = {"role": "assistant", "content": None, "tool_calls": [call]}
    request = asked(
        {"role": "user", "content": parts}, silent, {"role": "tool", "tool_call_id": "call_1", "content": "x"}
    )
    exchange = Log(tmp_path / "PT1H.json", [gateway("c-1", request, answered())]).call.exchange()
    blocks = [[block["type"] for block in message["content"]] for message in exchange["request"]["messages"]]
    assert blocks == [["text", "image"], ["tool_use"], ["tool_result"]]


def test_trap_12_the_first_chunk_of_a_stream_has_no_choices(tmp_path):
    filters = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False, "severity": "low"}}}]
    chunks = [
        {"id": "", "choices": [], "prompt_filter_results": filters},
        {"id": "x", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Flour"}}]},
        {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"id": "x", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}},
    ]
    for end in ("\n", "\r\n"):
        body = "".join(f"data: {json.dumps(chunk)}{end}{end}" for chunk in chunks) + f"data: [DONE]{end}{end}"
        call = Log(tmp_path / "PT1H.json", [gateway("c-1", asked(stream=True), body)]).call
        assert call.response["choices"][0]["message"]["content"] == "Flour"
        assert not call.is_answer_cut
        assert call.answer["filters"] == {"prompt": {"hate": {"filtered": False, "severity": "low"}}}
        assert call.response["usage"]["prompt_tokens"] == 3


def test_trap_13_the_address_names_the_deployment_the_body_the_model():
    imported = import_folder(FIXTURES / "azure_openai" / "blob_lines" / "source")
    platform = imported.documents[0]["platform"]
    assert (platform["model"], platform["metadata"]["deployment"]) == ("gpt-4o-2024-11-20", "gpt-4o-oven")
    assert platform["version"] == "2025-01-01-preview"


def test_trap_14_a_refused_prompt_is_an_error(tmp_path):
    found = {"violence": {"filtered": True, "severity": "high"}, "hate": {"filtered": False, "severity": "safe"}}
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": found}
    refused = {"error": {"message": "No.", "code": "content_filter", "status": 400, "innererror": inner}}
    call = Log(tmp_path / "PT1H.json", [gateway("c-1", asked(), refused, responseCode=400)]).call
    assert call.response is None
    assert (call.error["category"], call.error["status"]) == ("content_filter", 400)
    assert call.answer["filters"] == {"prompt": {"violence": {"filtered": True, "severity": "high"}}}


def test_trap_15_an_id_may_come_again(tmp_path):
    first = gateway("c-1", asked(), answered(), callerIpAddress="192.0.2.***")
    other = gateway(
        "c-1", asked({"role": "user", "content": "Another question."}), answered(), time="2026-02-03T11:00:00Z"
    )
    log = Log(tmp_path / "PT1H.json", [other, first, first])
    assert [call.call_id for call in log.calls] == ["c-1", "c-1#2"]
    assert log.calls[0].answer["caller_ip"] == "192.0.2.***"
    assert log.run.ledger.folded == {"the same row": 1}
    assert "repeated-call-id" in log.codes


@pytest.mark.parametrize("flag", [True, False, None, "yes"])
def test_trap_16_is_stream_completion_decides_nothing(tmp_path, flag):
    rows = [
        logged("c-1", 1, RequestMessages=[QUESTION], IsStreamCompletion=flag),
        logged("c-1", 2, ResponseMessages=[ANSWER], IsStreamCompletion=flag),
    ]
    call = Log(tmp_path / "log.jsonl", rows).call
    assert call.response["choices"][0]["message"] == ANSWER
