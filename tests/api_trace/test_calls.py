"""What a call says: who asked, for what, when, in which format, and what came back."""

import base64
import gzip
import json
import zlib

import pytest
import zstandard

from api_trace.tracing import SONNET, asked, call, calls, events, imported, lines, message, pair, sse, text_of, trace
from palaver.importers.api_trace.callers import Caller, caller_of
from palaver.importers.api_trace.calls import LoggedCall, call_from_log
from palaver.importers.api_trace.endpoints import model_in_url, wire_of_url
from palaver.importers.api_trace.helper_calls import helper_kind
from palaver.workflows.validate import ValidationSettings

HASH = "0123456789abcdef" * 4
CLI = {"user-agent": "claude-cli/2.1.90 (external, cli)"}
HAIKU = "claude-haiku-4-5-20251001"


@pytest.mark.parametrize(
    ("stated", "caller"),
    [
        (f"user_{HASH}_account_a-b-c_session_s-1", Caller(HASH, "a-b-c", "s-1")),
        (f"user_{HASH}_account__session_s-1", Caller(HASH, "", "s-1")),
        (HASH, Caller(HASH)),
        (json.dumps({"device_id": HASH, "account_uuid": "", "session_id": "s-1"}), Caller(HASH, "", "s-1")),
        (json.dumps({"account_uuid": "a-b-c", "session_id": "s-1"}), Caller("", "a-b-c", "s-1")),
        ('{"torn', Caller('{"torn')),
        ("anna", Caller("anna")),
        (7, Caller()),
    ],
)
def test_user_ids_of_every_form(stated, caller):
    assert caller_of({"metadata": {"user_id": stated}}) == caller


def test_a_call_names_its_session_and_who_asked(tmp_path):
    made = call(tmp_path, pair(asked(metadata={"user_id": f"user_{HASH}_account_a_session_s-1"})))
    assert (made.session_id, made.caller) == ("s-1", HASH)
    assert call(tmp_path, trace(asked(user="anna"))).caller == "anna"


@pytest.mark.parametrize(
    ("request_body", "errand"),
    [
        (asked("quota", max_tokens=1), "quota"),
        (asked("Please write a 5-10 word title for the following conversation: …"), "title"),
        (asked("Hello", system=[{"type": "text", "text": "Answer with isNewTopic and title."}]), "topic"),
        (asked("ls", system="Extract any file paths that this command reads or modifies."), "command_paths"),
        (asked("<policy_spec> … </policy_spec> Command: ls"), "command_prefix"),
        (asked("Your task is to create a detailed summary of the conversation so far.", tools=[{}]), "summary"),
        (asked("Warmup", tools=[{}]), "warmup"),
        (asked("Qzx: ls\nWvu: ", model=HAIKU), "side"),
        (asked("Is it raining?"), ""),
        (asked("Write a 5-10 word title? No, I am only asking about one.", tools=[{}]), ""),
        (asked("quota", max_tokens=1, messages=[]), ""),
        ({"messages": 5}, ""),
        ({"contents": []}, ""),
    ],
)
def test_what_a_client_asks_for_itself(request_body, errand):
    assert helper_kind(request_body, CLI) == errand


def test_a_person_may_ask_a_small_model(tmp_path):
    """Without an agent around it, the same shape is a conversation."""
    assert call(tmp_path, pair(asked("Is it raining?", model=HAIKU))).helper == ""
    record = pair(asked("Is it raining?", model=HAIKU))
    record["request"]["headers"] = {"User-Agent": CLI["user-agent"]}
    assert call(tmp_path, record).helper == "side"


@pytest.mark.parametrize(
    ("url", "wire"),
    [
        ("https://api.anthropic.com/v1/messages?beta=true", "anthropic"),
        ("https://gateway.example/anthropic/v1/messages/", "anthropic"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/x/invoke-with-response-stream", "anthropic"),
        ("https://h/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", "anthropic"),
        ("https://api.openai.com/v1/chat/completions", "openai-chat"),
        ("https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", "openai-chat"),
        ("https://api.openai.com/v1/responses", "openai-responses"),
        ("https://h/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "gemini"),
        ("https://api.anthropic.com/api/hello", None),
        ("", None),
    ],
)
def test_formats_by_address(url, wire):
    assert wire_of_url(url) == wire


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke", SONNET),
        ("/model/anthropic.claude-sonnet-4-5-20250929-v1:0/invoke-with-response-stream", SONNET),
        ("/model/meta.llama3-70b-instruct-v1%3A0/invoke", "meta.llama3-70b-instruct-v1:0"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@20250929:rawPredict", "claude-x"),
        ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro"),
        ("/openai/deployments/mine/chat/completions", "mine"),
        ("/v1/messages", None),
    ],
)
def test_models_by_address(path, model):
    assert model_in_url(f"https://host{path}") == model


def test_the_id_is_the_header_then_the_records_then_the_answers(tmp_path):
    answer = {"body": message(message_id="msg_7"), "headers": {"Request-Id": "req_7"}}
    assert call(tmp_path, pair(response=answer, request_id="top")).call_id == "req_7"
    answer = {"body": message(message_id="msg_7")}
    assert call(tmp_path, pair(response=answer, request_id="top")).call_id == "top"
    assert call(tmp_path, pair(response=answer)).call_id == "msg_7"
    made = [call(tmp_path, record) for record in (pair(), pair(), pair(asked("Another.")))]
    assert made[0].call_id == made[1].call_id != made[2].call_id


def test_times_of_pairs_and_of_traces(tmp_path):
    made = call(tmp_path, pair(response={"body": message()}))
    assert (made.started_at, made.ended_at) == ("2026-01-05T10:00:00.250Z", "2026-01-05T10:00:02.500Z")
    assert made.duration_ms == 2250
    made = call(tmp_path, trace(response=message()))
    assert (made.started_at, made.ended_at) == ("2026-01-05T10:00:00.000Z", "2026-01-05T10:00:01.500Z")


def test_a_time_that_cannot_be_read_is_a_finding(tmp_path):
    (made,), run = calls(tmp_path, trace(response=message(), timestamp="yesterday"))
    assert made.started_at is None
    assert run.findings.counts == {"bad-timestamp": 1}


def _as_base64(packed: bytes) -> str:
    return base64.b64encode(packed).decode()


STREAM = sse(events("It is, ", "and it pours."))


@pytest.mark.parametrize(
    "body",
    [
        STREAM,
        STREAM.replace("\n", "\r\n"),
        "".join(line + "\n" for line in STREAM.split("\n") if not line.startswith("event:")),
        _as_base64(gzip.compress(STREAM.encode())),
        _as_base64(zlib.compress(STREAM.encode())),
        _as_base64(zstandard.compress(STREAM.encode())),
        gzip.compress(STREAM.encode()).decode("latin-1"),
        json.dumps(message("It is, and it pours.")),
    ],
)
def test_a_body_as_text_in_every_dress(tmp_path, body):
    made = call(tmp_path, pair(response={"body_raw": body}))
    assert text_of(made) == "It is, and it pours."
    assert not made.is_answer_cut


def test_a_body_that_is_cut_within_its_json(tmp_path):
    whole = json.dumps(message("It is, and it pours."))
    (made,), run = calls(tmp_path, pair(response={"body_raw": whole[: whole.index('"stop_reason"')]}))
    assert text_of(made) == "It is, and it pours."
    assert made.is_answer_cut
    assert "damaged-stream" in run.findings.counts


def test_a_stream_that_ends_with_an_error_keeps_both(tmp_path):
    broken = [*events("It is")[:4], {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]
    made = call(tmp_path, pair(response={"body_raw": sse(broken)}))
    assert text_of(made) == "It is"
    assert made.error is not None
    assert (made.error["category"], made.error["message"]) == ("overloaded", "Overloaded")


@pytest.mark.parametrize(
    ("fields", "category", "words"),
    [
        ({"response": {"type": "error", "error": {"type": "api_error", "message": "Oops"}}}, "server", "Oops"),
        ({"response": {"raw": "upstream reset"}}, "unknown", "upstream reset"),
        ({"response": None, "error": "Read timed out"}, "timeout", "Read timed out"),
        ({"response": None, "error": {"message": "No route"}}, "unknown", "No route"),
    ],
)
def test_why_there_is_no_answer(tmp_path, fields, category, words):
    made = call(tmp_path, trace(asked(system=[]), **fields))
    assert made.response is None
    assert made.error is not None
    assert (made.error["category"], made.error["message"]) == (category, words)


def test_a_request_without_any_answer_is_remarked(tmp_path):
    (made,), run = calls(tmp_path, pair())
    assert made.response is made.error is None
    assert run.findings.counts == {"missing-answer": 1}


def test_a_request_that_is_no_json_is_kept_beside_its_answer(tmp_path):
    (made,), run = calls(tmp_path, pair('{"model": "x", "messages": [', {"body": message()}))
    assert made.is_request_cut
    assert made.answer["request_body"] == '{"model": "x", "messages": ['
    assert run.findings.counts == {"unreadable-request": 1}


def test_a_request_in_a_text_is_read(tmp_path):
    made = call(tmp_path, pair(json.dumps(asked("Is it?")), {"body": message()}))
    assert made.request["messages"][0]["content"] == "Is it?"
    assert not made.is_request_cut


def test_histories_are_not_copied():
    """A log repeats every conversation with each request: what is parsed is what is handed on."""
    body = asked()
    made = call_from_log(LoggedCall("line 1", "trace", request=body), lambda *_: None)
    assert made.request is body


def test_fields_without_a_place_are_kept_beside_the_answer(tmp_path):
    record = pair(response={"body": message(), "attempt": 2}, tag="spring", api_key="secret")
    made = call(tmp_path, record)
    assert made.answer["source_fields"] == {"tag": "spring", "api_key": "[masked]", "response": {"attempt": 2}}


def test_several_answers_to_one_request_are_one_document_that_validates(tmp_path):
    def choice(index, text):
        return {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}

    request = {"model": "gpt-4", "n": 2, "messages": [{"role": "user", "content": "Which knot?"}]}
    response = {"id": "c1", "model": "gpt-4", "choices": [choice(1, "A reef knot."), choice(0, "A bowline.")]}
    record = {"id": "r1", "timestamp": 1_757_000_000, "request": request, "response": response}
    (document,) = imported(tmp_path, {"log.jsonl": lines(record)}).documents
    assert [
        (message["content"][0]["text"], message["metadata"].get("completion_index")) for message in document["messages"]
    ] == [("Which knot?", None), ("A bowline.", 0), ("A reef knot.", 1)]
    verdicts = ValidationSettings().new_judge().judge(document)
    assert [verdict.code for verdict in verdicts if verdict.severity == "error"] == []


def test_a_proxy_that_translates_loses_neither_the_prompt_nor_the_answer(tmp_path):
    """The request is Anthropic's, with a system prompt of its own; the answer is a stream of Chat Completions."""
    answer = {
        "stream": True,
        "sse_lines": ['data: {"id":"c1","choices":[{"delta":{"content":"It is."}}]}', "data: [DONE]"],
    }
    record = trace(asked(system="Be brief."), answer)
    made = call(tmp_path, record)
    assert (made.wire, made.response_wire) == ("anthropic", "openai-chat")
    folder = tmp_path / "source"
    folder.mkdir()
    [document] = imported(folder, {"log.jsonl": lines(record)}).documents
    texts = {message["role"]: message["content"][0]["text"] for message in document["messages"]}
    assert texts == {"system": "Be brief.", "user": "Is it raining?", "assistant": "It is."}


def test_a_string_system_prompt_beside_messages_of_openai_is_kept(tmp_path):
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    record = trace(asked(system="Be brief."), {"choices": [{"message": {"role": "assistant", "content": "It is."}}]})
    record["request"]["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    assert call(tmp_path, record).wire == "openai-chat"
    folder = tmp_path / "source"
    folder.mkdir()
    [document] = imported(folder, {"log.jsonl": lines(record)}).documents
    first, *_, last = document["messages"]
    assert (first["role"], first["content"][0]["text"]) == ("system", "Be brief.")
    assert (last["role"], last["content"][0]["text"]) == ("assistant", "It is.")


@pytest.mark.parametrize(("stated", "expected"), [("1200", 1200), ("1200.5", 1200.5), ("about a second", None)])
def test_a_duration_may_be_a_text(tmp_path, stated, expected):
    assert call(tmp_path, trace(asked(), message(), duration_ms=stated)).duration_ms == expected


@pytest.mark.parametrize("system", [{}, {"system": "Be brief."}], ids=["openai", "anthropic"])
def test_an_error_without_a_message_is_told_as_json(tmp_path, system):
    record = trace(asked(**system), {"type": "error", "error": {"type": "overloaded_error"}})
    assert call(tmp_path, record).error["message"] == '{"type":"overloaded_error"}'
