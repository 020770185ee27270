"""Traces: what of them is a conversation, what is only usage, and what must not be kept."""

import json
import os
from pathlib import Path

import pytest

from importing import CHECKOUT, FIXTURES, check, import_folder, strings
from palaver.importers.github_copilot.spans import recognize
from palaver.importers.github_copilot.spans.attributes import mask_attributes, parse_attributes, resource_attributes
from palaver.importers.github_copilot.spans.message_attributes import attribute_values, chat_message
from palaver.importers.github_copilot.spans.records import milliseconds_between, timestamp_of
from palaver.sources.source import Source

CASES = FIXTURES / "github_copilot"
SAMPLES = (
    Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples")
    / "copilot"
    / "visualstudio-traces"
)
LONG = 40

needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")


@needs_samples
def test_recorded_traces_of_one_conversation_have_one_id():
    imported = import_folder(SAMPLES)
    check(imported)
    first, second = imported.documents
    assert first["conversation_id"] == second["conversation_id"] == "4a8f63f6-7626-4416-a874-fc7bd2c3f005"
    names = [
        [block["name"] for message in document["messages"] for block in message["content"] if "name" in block]
        for document in (first, second)
    ]
    assert names == [["get_file", "apply_patch", "run_build"], ["run_command_in_terminal", "get_errors"]]
    ids = [message["message_id"] for document in (first, second) for message in document["messages"]]
    assert len(ids) == len(set(ids)) == 10
    assert not imported.used


@needs_samples
def test_every_long_line_of_the_recorded_traces_survives():
    imported = import_folder(SAMPLES)
    said = "\0".join(strings(imported.documents))
    for path in SAMPLES.iterdir():
        for text in strings([json.loads(line) for line in path.read_bytes().splitlines()]):
            assert all(line in said for line in text.split("\n") if len(line) >= LONG and not line.startswith("{"))


def test_spans_without_words_are_usage_and_no_message():
    imported = import_folder(CASES / "spans_without_words" / "source")
    assert not imported.documents
    counted = [used for used in imported.used if used["kind"] == "request"]
    assert [used["tokens"]["input_tokens"] for used in counted] == [1250, 262]
    assert {used["kind"] for used in imported.used if used not in counted} == {"period"}


def test_an_agents_sum_of_tokens_is_not_counted_again():
    imported = import_folder(CASES / "spans_file_exporter" / "source")
    main = imported.documents[0]
    assert main["metrics"]["total_tokens"]["input"] == 1800 + 1950 + 64000
    (agent,) = [span for span in main["context"]["custom"]["spans"] if span["name"].startswith("invoke_agent")]
    assert agent["tokens"]["input_tokens"] == 67750


def test_an_id_that_names_a_whole_turn_names_no_answer():
    main = import_folder(CASES / "spans_file_exporter" / "source").documents[0]
    ids = [message["metadata"].get("api_message_id") for message in main["messages"] if message["role"] == "assistant"]
    assert ids == [None, None, "turn-2"]


def test_a_sub_agent_is_a_conversation_of_its_own():
    main, side = import_folder(CASES / "spans_file_exporter" / "source").documents
    assert side["session"]["parent_conversation_id"] == main["conversation_id"]
    assert side["session"]["is_sidechain"] is True
    assert {message["metadata"]["author_kind"] for message in side["messages"]} == {"harness", "model"}


def test_a_retry_repeats_nothing(tmp_path):
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Is the gate shut?"}]}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It is."}]}])
    failed = {"gen_ai.input.messages": asked, "error.type": "TimeoutError"}
    done = {"gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    (tmp_path / "out.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "traceId": "t",
                    "spanId": f"s{number}",
                    "name": "chat m",
                    "status": {"code": code},
                    "startTime": [1781300000 + number, 0],
                    "endTime": [1781300001 + number, 0],
                    "attributes": {"gen_ai.operation.name": "chat", "copilot_chat.x": 1, **attributes},
                }
            )
            + "\n"
            for number, (code, attributes) in enumerate([(2, failed), (1, done)])
        )
    )
    (document,) = import_folder(tmp_path).documents
    assert [message["role"] for message in document["messages"]] == ["user", "system", "assistant"]


def traced(folder, spans):
    (folder / "out.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "traceId": "t",
                    "spanId": name,
                    "parentSpanId": parent,
                    "name": operation,
                    "startTime": [1781300000 + second, 0],
                    "endTime": [1781300005, 0],
                    "attributes": {"gen_ai.operation.name": operation, "gen_ai.conversation.id": "c", **attributes},
                }
            )
            + "\n"
            for operation, name, parent, second, attributes in spans
        )
    )
    imported = import_folder(folder)
    check(imported)
    return imported


def said_by(role, text):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def test_what_was_typed_is_told_though_an_answer_has_the_same_word(tmp_path):
    chat = {
        "gen_ai.input.messages": said_by("system", "Be kind."),
        "gen_ai.output.messages": said_by("assistant", "Yes!"),
    }
    agent = {"gen_ai.input.messages": said_by("user", "Yes")}
    spans = [("chat", "s", "a", 1, {**chat, "copilot_chat.x": 1}), ("invoke_agent", "a", "", 0, agent)]
    (document,) = traced(tmp_path, spans).documents
    assert [one["content"][0]["text"] for one in document["messages"] if one["role"] == "user"] == ["Yes"]


def test_a_conversation_that_another_started_says_so_whichever_span_does(tmp_path):
    chat = {"gen_ai.input.messages": said_by("user", "Go on."), "gen_ai.output.messages": said_by("assistant", "I do.")}
    agent = {"copilot_chat.parent_chat_session_id": "outer"}
    (document,) = traced(tmp_path, [("chat", "s", "a", 1, chat), ("invoke_agent", "a", "", 0, agent)]).documents
    assert document["session"]["parent_conversation_id"] == "outer"


def test_a_span_of_a_tool_that_was_exported_twice_is_told_once(tmp_path):
    tool = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "t", "gen_ai.tool.call.result": "Three pears."}
    spans = [("execute_tool", "s", "", 1, {**tool, "copilot_chat.x": 1})] * 2
    imported = traced(tmp_path, spans)
    assert json.dumps(imported.documents).count("Three pears.") == 1


def test_what_was_typed_is_told_though_the_request_was_cut_before_it(tmp_path):
    asked = json.dumps([{"role": "system", "parts": [{"type": "text", "content": "A very long prompt. " * 20}]}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It is shut."}]}])
    typed = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Is the gate of the orchard shut?"}]}])
    chat = {
        "gen_ai.input.messages": f"{asked[:99]}...[truncated, original 70000 chars]",
        "gen_ai.output.messages": said,
    }
    spans = [("chat", "c", "a", 1, chat), ("invoke_agent", "a", "", 0, {"gen_ai.input.messages": typed})]
    (document,) = traced(tmp_path, spans).documents
    assert [message["role"] for message in document["messages"]] == ["user", "system", "assistant"]
    assert document["title"] == "Is the gate of the orchard shut?"
    assert document["messages"][2]["metadata"]["context_incomplete"] is True


@pytest.mark.parametrize(
    "line",
    [
        {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{"name": "GET /", "attributes": []}]}]}]},
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "my-agent"}}]},
                    "scopeSpans": [
                        {
                            "spans": [
                                {"attributes": [{"key": "gen_ai.request.model", "value": {"stringValue": "gpt-5"}}]}
                            ]
                        }
                    ],
                }
            ]
        },
        {"traceId": "a", "spanId": "b", "name": "SELECT", "attributes": {"db.system": "sqlite"}, "startTime": [1, 2]},
        {"hrTime": [1, 2], "attributes": {"event.name": "page.view"}, "_body": "x"},
        {"ts": 1, "sid": "a", "spanId": "b", "type": "unknown", "name": "no attributes here"},
    ],
)
def test_traces_of_other_programs_are_not_claimed(tmp_path, line):
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps(line) + "\n")
    assert recognize(Source.at(path)).verdict == "no"


def test_what_lets_somebody_in_is_masked_and_what_was_said_is_not():
    said = "Bearer is a word, and https://example.com/?key=1 is an address that somebody named."
    kept = mask_attributes(
        {
            "http.request.header.authorization": "Bearer abcdefgh",
            "github.token": "abc",
            "gen_ai.usage.input_tokens": 12,
            "copilot_chat.request.max_prompt_tokens": "128000",
            "url.full": "https://api.example.com/chat?key=abc",
            "note": "sk-abcdefghijkl",
            "nested": {"cookie": "a=b", "fine": [1, "two"]},
            "gen_ai.input.messages": said,
        }
    )
    assert kept == {
        "http.request.header.authorization": "[masked]",
        "github.token": "[masked]",
        "gen_ai.usage.input_tokens": 12,
        "copilot_chat.request.max_prompt_tokens": "128000",
        "url.full": "https://api.example.com/chat?key=[masked]",
        "note": "[masked]",
        "nested": {"cookie": "[masked]", "fine": [1, "two"]},
        "gen_ai.input.messages": said,
    }


def test_values_of_otlp_are_unwrapped_and_odd_ones_kept():
    attributes, unread = parse_attributes(
        [
            {"key": "a", "value": {"stringValue": "x"}},
            {"key": "b", "value": {"intValue": "12"}},
            {"key": "c", "value": {"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": 1.5}]}}},
            {"key": "d", "value": {"kvlistValue": {"values": [{"key": "e", "value": {"intValue": 3}}]}}},
            {"key": "a", "value": {"stringValue": "again"}},
            {"key": "f", "value": {"intValue": "many"}},
            7,
        ]
    )
    assert attributes == {"a": "x", "b": 12, "c": [True, 1.5], "d": {"e": 3}, "f": {"intValue": "many"}}
    assert unread == [{"key": "a", "value": {"stringValue": "again"}}, 7]
    assert resource_attributes({"_rawAttributes": [["service.name", "x"], ["odd"]]}) == {"service.name": "x"}


def test_times_of_both_spellings():
    assert timestamp_of("1781293600123000000") == timestamp_of([1781293600, 123000000]) == "2026-06-12T19:46:40.123Z"
    assert timestamp_of([12, 5]) == ""
    assert milliseconds_between([1781293600, 0], [1781293600, 1500000]) == 1.5
    assert milliseconds_between("1781293601000000000", "1781293600000000000") is None


def test_a_cut_list_is_read_up_to_the_cut():
    whole = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "one two three"}]}])
    assert attribute_values(whole[:-9] + "...[truncated, original 70000 chars]") == (
        [{"role": "user", "parts": [{"type": "text", "content": "one two t"}]}],
        True,
    )
    called = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "arguments": {"a": ["b\n" * 9]}}]}])
    for end in range(len(called)):
        found, is_cut = attribute_values(called[:end] + "[truncated]")
        assert is_cut
        assert str(found).count("b") == called[:end].count("b\\n") or str(found).count("b") == called[:end].count("b")
    assert attribute_values("a prompt of the system, as plain text") == (
        ["a prompt of the system, as plain text"],
        False,
    )
    assert attribute_values(None) == ([], False)


def test_parts_become_calls_and_results():
    parts = [
        {"type": "reasoning", "content": "hm"},
        {"type": "text", "content": "I look."},
        {"type": "tool_call", "id": "c1__vscode-12", "name": "look", "arguments": {"at": "gate"}},
    ]
    assert chat_message({"role": "assistant", "parts": parts}, "assistant") == {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"gate"}'}}],
    }
    answered = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "shut"}]}
    assert chat_message(answered, "user") == {"role": "tool", "tool_call_id": "c1", "content": "shut"}


def test_a_debug_logs_tools_are_joined_with_the_calls_of_its_answers():
    main = next(
        document
        for document in import_folder(CASES / "debug_session" / "source").documents
        if "parent_conversation_id" not in document["session"]
    )
    blocks = [block for message in main["messages"] for block in message["content"]]
    uses = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    results = {block["tool_use_id"]: block["is_error"] for block in blocks if block["type"] == "tool_result"}
    assert uses == {"call_0001": "count_trees", "d2": "read_gate"}
    assert results == {"call_0001": False, "d2": True}
    assert main["metrics"]["total_tokens"]["input"] == 1800 + 1950


def test_an_agents_words_are_told_where_its_calls_are_not(tmp_path):
    said = {
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Is the gate shut?"}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "It is."}]}],
    }
    attributes = {name: json.dumps(value) for name, value in said.items()} | {"gen_ai.operation.name": "invoke_agent"}
    span = {"traceId": "t", "spanId": "a", "startTime": [1781300000, 0], "endTime": [1781300005, 0]}
    (tmp_path / "out.jsonl").write_text(json.dumps({**span, "attributes": {**attributes, "copilot_chat.mode": "ask"}}))
    (document,) = import_folder(tmp_path).documents
    first, second = document["messages"]
    assert (first["role"], second["role"], second["parent_message_id"]) == ("user", "assistant", first["message_id"])
    assert (first["timestamp"], second["timestamp"]) == ("2026-06-12T21:33:20.000Z", "2026-06-12T21:33:25.000Z")


def test_events_in_envelopes_are_read_as_well(tmp_path):
    counts = {"gen_ai.usage.input_tokens": {"intValue": "9"}, "copilot_chat.x": {"boolValue": True}}
    event = {
        "timeUnixNano": "1781293600123000000",
        "attributes": [
            {"key": "event.name", "value": {"stringValue": "gen_ai.client.inference.operation.details"}},
            *({"key": name, "value": value} for name, value in counts.items()),
        ],
    }
    line = {"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": [event, "odd"]}, 7]}]}
    (tmp_path / "out.jsonl").write_text(json.dumps(line) + "\n")
    imported = import_folder(tmp_path)
    check(imported)
    assert [used["kind"] for used in imported.used] == ["period", "period", "request"]
    assert imported.used[2]["tokens"] == {"input_tokens": 9}
    assert [used["metadata"]["span"].get("unread") for used in imported.used] == ["odd", 7, None]
    assert len({used["usage_id"] for used in imported.used}) == 3
