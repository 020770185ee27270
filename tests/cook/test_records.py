"""Records that traces hold beside the examples of the specification: odd requests, odd answers, odd values."""

import json

import pytest

from cooking import ASKED, CHAT_ANSWER, call_of, cook, cook_file, events, received, record, sent, texts
from palaver.cook.builder import CookBuilder
from palaver.validation.rules.cooked import RULES

CLAUDE_ANSWER = {"content": [{"type": "text", "text": "Hello!"}]}
CHAT_STREAM = {
    "stream": True,
    "sse_lines": ['data: {"id":"c","choices":[{"delta":{"content":"Hello!"}}]}', "data: [DONE]"],
}


def claude_stream(*datas):
    return events({"type": "message_start", "message": {"id": "m", "model": "c"}}, *datas)


CLAUDE_STREAM = claude_stream(
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello!"}},
    {"type": "message_stop"},
)


def issues(made):
    return [fault.message for rule in RULES for fault in rule.check(made)]


class TestFormats:
    def test_a_string_system_prompt_is_kept_without_an_answer(self):
        made = cook(record(error="timeout", system="You are a pirate"))
        assert texts(sent(made)) == [("system", "You are a pirate"), ("user", "hi")]
        assert texts(received(made)) == [("assistant", "Error: timeout")]

    def test_a_string_system_prompt_is_kept_beside_messages_of_openai(self):
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        asking = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": "c1", "content": "4"}
        made = cook(record(CHAT_ANSWER, ASKED, asking, result, system="You are a pirate"))
        assert texts(sent(made))[:2] == [("system", "You are a pirate"), ("user", "hi")]
        assert texts(sent(made))[-1] == ("tool_result", "4")
        assert texts(received(made)) == [("assistant", "Hello!")]

    @pytest.mark.parametrize("answer", [CHAT_ANSWER, CHAT_STREAM], ids=["body", "stream"])
    def test_a_claude_request_may_be_answered_in_the_format_of_openai(self, answer):
        made = cook(record(answer, system=[{"type": "text", "text": "Be brief."}]))
        assert texts(sent(made)) == [("system", "Be brief."), ("user", "hi")]
        assert texts(received(made)) == [("assistant", "Hello!")]

    @pytest.mark.parametrize("answer", [CLAUDE_ANSWER, CLAUDE_STREAM], ids=["body", "stream"])
    def test_an_openai_request_may_be_answered_in_the_format_of_claude(self, answer):
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "4"},
        ]
        made = cook(record(answer, *messages))
        assert [piece["role"] for piece in sent(made)] == ["system", "tool_use", "tool_result"]
        assert texts(received(made)) == [("assistant", "Hello!")]

    def test_each_side_of_a_call_has_its_own_format(self):
        call = call_of(record(CHAT_ANSWER, system="Be brief."))
        assert (call.wire, call.response_wire) == ("anthropic", "openai-chat")

    def test_a_stated_format_decides_how_requests_are_read(self, tmp_path):
        path = tmp_path / "trace.jsonl"
        path.write_text(json.dumps(record(CHAT_ANSWER, {"role": "developer", "content": "Be brief."})))
        made, _ = cook_file(path, "openai")
        assert texts(sent(made)) == [("system", "Be brief.")]
        assert texts(received(made)) == [("assistant", "Hello!")]


class TestAnswers:
    @pytest.mark.parametrize("response", [{"raw": "<html>502 Bad gateway</html>"}, "<html>502 Bad gateway</html>"])
    def test_a_reply_that_is_no_json_is_kept_as_the_error(self, response):
        assert texts(received(cook(record(response)))) == [("assistant", "Error: <html>502 Bad gateway</html>")]

    def test_a_reply_that_is_json_in_a_text_is_read(self):
        assert texts(received(cook(record(json.dumps(CHAT_ANSWER))))) == [("assistant", "Hello!")]

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            ({"type": "overloaded_error", "message": "Overloaded"}, "Overloaded"),
            ({"type": "overloaded_error", "status": None}, '{"type":"overloaded_error","status":null}'),
            ("connection reset", "connection reset"),
        ],
    )
    @pytest.mark.parametrize("request_fields", [{}, {"system": "Be brief."}], ids=["openai", "claude"])
    def test_an_error_is_its_message_or_its_json(self, error, words, request_fields):
        assert texts(received(cook(record(error=error, **request_fields)))) == [("assistant", f"Error: {words}")]
        body = {"type": "error", "error": error}
        assert texts(received(cook(record(body, **request_fields)))) == [("assistant", f"Error: {words}")]

    def test_an_error_follows_the_part_of_an_answer_that_it_ended(self):
        stream = {"stream": True, "sse_lines": ['data: {"id":"c","choices":[{"delta":{"content":"A long part"}}]}']}
        made = cook(record(stream, error="connection reset"))
        assert texts(received(made)) == [("assistant", "A long part"), ("assistant", "Error: connection reset")]

    def test_an_error_event_follows_a_cut_call_that_stays_cut(self):
        tool = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
        made = cook(
            record(
                claude_stream(
                    {"type": "content_block_start", "index": 0, "content_block": tool},
                    {
                        "type": "content_block_delta",
                        "index": 0,
                        "delta": {"type": "input_json_delta", "partial_json": '{"command": "rm -rf /tmp/x'},
                    },
                    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
                )
            )
        )
        call, error = received(made)
        assert call["tool_calls"] == [{"name": "Bash", "arguments": {"raw": '{"command": "rm -rf /tmp/x'}, "id": "t"}]
        assert error["content"] == "Error: Overloaded"

    def test_a_cut_call_of_an_openai_stream_stays_cut(self):
        call = {"index": 0, "id": "t", "function": {"name": "Bash", "arguments": '{"command": "rm -rf /tmp/x'}}
        made = cook(record(events({"id": "c", "choices": [{"delta": {"tool_calls": [call]}}]})))
        assert received(made)[0]["tool_calls"][0]["arguments"] == {"raw": '{"command": "rm -rf /tmp/x'}

    def test_a_cut_call_of_a_responses_stream_stays_cut(self):
        call = {"type": "function_call", "id": "f", "call_id": "t", "name": "Bash", "arguments": ""}
        stream = events(
            {"type": "response.created", "response": {"id": "r", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": call},
            {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"command": "rm -rf'},
        )
        made = cook({"id": "r", "request": {"model": "m", "input": "hi"}, "response": stream})
        assert received(made)[0]["tool_calls"][0]["arguments"] == {"raw": '{"command": "rm -rf'}

    def test_a_cut_call_of_a_gemini_stream_stays_cut(self):
        part = {"jsonPath": "$.command", "stringValue": "rm -rf", "willContinue": True}
        call = {"name": "Bash", "partialArgs": [part], "willContinue": True}
        stream = events({"candidates": [{"content": {"parts": [{"functionCall": call}]}}]})
        made = cook({"id": "r", "request": {"contents": [{"parts": [{"text": "hi"}]}]}, "response": stream})
        assert received(made)[0]["tool_calls"][0]["arguments"] == {"raw": '{"command": "rm -rf"}'}

    def test_several_answers_come_in_the_order_of_their_index(self):
        choices = [{"index": n, "message": {"role": "assistant", "content": "ABC"[n]}} for n in (1, 2, 0)]
        assert texts(received(cook(record({"choices": choices})))) == [("assistant", text) for text in "ABC"]

    def test_answers_that_the_format_has_listed_apart_are_cooked(self):
        builder = CookBuilder()
        builder.add_exchange(
            {
                "exchange_id": "e",
                "request": {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
                "response": {
                    "content": [{"type": "text", "text": "A"}],
                    "finish_reason": "stop",
                    "alternatives": [{"index": 1, "content": [{"type": "text", "text": "B"}], "finish_reason": "stop"}],
                },
            }
        )
        assert texts(received(json.loads(b"".join(builder.json_chunks())))) == [("assistant", "A"), ("assistant", "B")]

    @pytest.mark.parametrize("continued", "AB")
    def test_a_request_that_continues_one_of_several_answers_has_that_request_for_its_parent(self, continued):
        choices = [{"index": n, "message": {"role": "assistant", "content": "AB"[n]}} for n in (1, 0)]
        later = record(None, ASKED, {"role": "assistant", "content": continued}, {"role": "user", "content": "go on"})
        made = cook(record({"choices": choices}), {**later, "id": "r2", "timestamp": "2026-02-20T10:00:01Z"})
        assert made["requests"][1]["parent_id"] == "r1"

    def test_an_empty_answer_is_one_empty_message_in_the_history_too(self):
        empty = {"choices": [{"message": {"role": "assistant", "content": None}}]}
        made = cook(record(empty), record(CHAT_ANSWER, ASKED, {"role": "assistant", "content": None}, ASKED))
        assert made["requests"][0]["response_messages"] == [made["requests"][1]["request_messages"][1]]


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
CUSTOM = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin Patch"}}


class TestTools:
    def test_a_server_tools_call_comes_before_its_result_and_the_answer_last(self):
        found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "x", "url": "u"}]}
        made = received(cook(record({"content": [SEARCH, found, {"type": "text", "text": "ok"}]})))
        assert [piece["role"] for piece in made] == ["tool_use", "tool_result", "assistant"]
        assert made[0]["tool_calls"] == [{"name": "web_search", "arguments": {"query": "x"}, "id": "s1"}]
        assert made[1]["tool_use_id"] == "s1"
        assert made[1]["is_error"] is False

    @pytest.mark.parametrize(
        ("kind", "result", "is_error"),
        [
            ("web_search", {"type": "web_search_tool_result_error", "error_code": "unavailable"}, True),
            ("bash_code_execution", {"type": "bash_code_execution_tool_result_error", "error_code": "x"}, True),
            ("bash_code_execution", {"type": "bash_code_execution_result", "stderr": "no", "return_code": 1}, False),
        ],
    )
    def test_a_server_tools_error_is_an_error(self, kind, result, is_error):
        block = {"type": f"{kind}_tool_result", "tool_use_id": "s1", "content": result}
        assert received(cook(record({"content": [SEARCH, block]})))[1]["is_error"] is is_error

    def test_the_calls_of_a_message_come_last_unless_their_order_is_kept(self):
        def call(name):
            return {"type": "tool_use", "id": name, "name": "f", "input": {}}

        first, second = {"type": "text", "text": "First."}, {"type": "text", "text": "Second."}
        asked = record({"content": [first, call("a"), call("b"), second, call("c")]}, system="Be brief.")

        def outline(made):
            return [piece["content"] or [call["id"] for call in piece["tool_calls"]] for piece in received(made)]

        assert outline(cook(asked)) == ["First.", "Second.", ["a", "b", "c"]]
        assert outline(cook(asked, keeps_order=True)) == ["First.", ["a", "b"], "Second.", ["c"]]

    def test_custom_tools_have_their_own_name(self):
        message = {"role": "assistant", "content": None, "tool_calls": [CUSTOM]}
        tools = [{"type": "custom", "custom": {"name": "patch", "description": "Edit a file."}}]
        made = cook(record(None, message, tools=tools))
        assert sent(made)[0]["tool_calls"] == [{"name": "patch", "arguments": {"input": "*** Begin Patch"}, "id": "c1"}]
        assert [tool["name"] for tool in made["tools"]] == ["patch"]

    def test_tools_that_the_provider_runs_are_named_by_their_name_or_type(self):
        made = cook(
            record(tools=[{"name": "x", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}]),
            record(tools=[{"type": "function", "function": {"name": "f"}}, {"type": "web_search_preview"}]),
        )
        assert [tool["name"] for tool in made["tools"]] == ["x", "web_search", "f", "web_search_preview"]

    def test_results_without_an_id_find_their_calls_in_every_request_of_a_growing_history(self):
        def turn(name):
            return [
                {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": "{}"}},
                {"role": "function", "name": name, "content": f"{name} done"},
            ]

        made = cook(record(None, *turn("f")), record(None, *turn("f"), *turn("g")))
        calls = [piece["tool_calls"][0]["id"] for piece in sent(made) if piece["tool_calls"]]
        assert calls == ["call_0", "call_0", "call_1"]
        assert [piece["tool_use_id"] for piece in sent(made) if piece["role"] == "tool_result"] == calls

    def test_a_result_without_any_call_names_none(self):
        assert sent(cook(record(None, {"role": "tool", "content": "4"})))[0]["tool_use_id"] is None
        for kind in ("tool_result", "web_search_tool_result"):
            lone = {"role": "user", "content": [{"type": kind, "content": "4"}]}
            assert sent(cook(record(None, lone, system="s")))[1]["tool_use_id"] is None


def part(kind, **fields):
    return {"role": "user", "content": [{"type": kind, **fields}]}


PNG = "iVBORw0KGgo="
PNG_LABEL = "sha256:4c4b6a3be1314ab8"


class TestLabels:
    @pytest.mark.parametrize(
        ("message", "label"),
        [
            (part("image_url", image_url={"url": "https://x.test/a.png"}), "[image: https://x.test/a.png]"),
            (part("image_url", image_url={"url": f"data:image/png;base64,{PNG}"}), f"[image: {PNG_LABEL}]"),
            (part("image_url", image_url={"url": "data:image/png;base64,..."}), "[image]"),
            (part("image_url", image_url={"url": "data:image/svg+xml,%3Csvg/%3E"}), "[image: sha256:d4dc56669143034f]"),
            (
                part("image_url", image_url={"url": "data:image/svg+xml;utf8,<svg/>"}),
                "[image: sha256:d4dc56669143034f]",
            ),
            (part("image_url", image_url={"url": "data:image/png;base64,-_8="}), "[image: sha256:db8fed54159afe40]"),
            (part("video_url", video_url={"url": "https://x.test/a.mp4"}), "[video: https://x.test/a.mp4]"),
            (part("video_url", video_url={"url": f"data:video/mp4;base64,{PNG}"}), f"[video: {PNG_LABEL}]"),
            (part("audio", audio={"data": PNG}), f"[audio: {PNG_LABEL}]"),
            (part("image", source={"type": "url", "url": "https://x.test/a.png"}), "[image: https://x.test/a.png]"),
            (
                part("image", source={"type": "base64", "media_type": "image/png", "data": PNG}),
                f"[image: {PNG_LABEL}]",
            ),
            (
                part("file", file={"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}),
                "[file: a.pdf]",
            ),
            (part("file", file={"file_id": "file-1"}), "[file: file-1]"),
            (
                part(
                    "document", title="b.pdf", source={"type": "base64", "media_type": "application/pdf", "data": PNG}
                ),
                "[file: b.pdf]",
            ),
            (part("input_audio", input_audio={"data": PNG, "format": "wav"}), f"[audio: {PNG_LABEL}]"),
            (part("input_audio", input_audio={"data": PNG, "format": "opus"}), f"[audio: {PNG_LABEL}]"),
        ],
    )
    def test_what_is_no_text_has_a_label(self, message, label):
        assert sent(cook(record(None, message)))[0]["content"] == label

    def test_two_pictures_are_two_messages(self):
        urls = (
            "https://x.test/a.png",
            "https://x.test/b.png",
            f"data:image/png;base64,{PNG}",
            "data:image/png;base64,AA==",
        )
        made = cook(record(None, *(part("image_url", image_url={"url": url}) for url in urls)))
        assert len(set(made["requests"][0]["request_messages"])) == 4

    def test_spoken_answers_keep_their_transcript(self):
        message = {"role": "assistant", "content": None, "audio": {"id": "a1", "transcript": "Hello there."}}
        assert texts(received(cook(record({"choices": [{"message": message}]})))) == [
            ("assistant", "[audio: a1] Hello there.")
        ]

    def test_redacted_thinking_is_a_thought(self):
        blocks = [{"type": "redacted_thinking", "data": "EmwK"}, {"type": "text", "text": "ok"}]
        assert texts(received(cook(record({"content": blocks})))) == [("thinking", "[redacted]"), ("assistant", "ok")]


class TestValues:
    @pytest.mark.parametrize(("stated", "expected"), [("1200", 1200), ("1200.4", 1200), (7, 7), ("soon", 0), (-3, 0)])
    def test_a_duration_may_be_a_text(self, stated, expected):
        assert cook({**record(CHAT_ANSWER), "duration_ms": stated})["requests"][0]["duration_ms"] == expected

    def test_repeated_ids_are_numbered_and_parents_refer_to_the_right_request(self, tmp_path):
        first = record(CHAT_ANSWER)
        answer = {"role": "assistant", "content": "Hello!"}
        second = {**record(CHAT_ANSWER, ASKED, answer, ASKED), "timestamp": "2026-02-20T10:00:01Z"}
        third = {**record(CHAT_ANSWER, ASKED, answer, ASKED, answer, ASKED), "timestamp": "2026-02-20T10:00:02Z"}
        path = tmp_path / "trace.jsonl"
        path.write_text("".join(f"{json.dumps(one)}\n" for one in (first, second, third)))
        made, report = cook_file(path)
        assert [(one["id"], one["parent_id"]) for one in made["requests"]] == [
            ("r1", None),
            ("r1#2", "r1"),
            ("r1#3", "r1#2"),
        ]
        assert issues(made) == []
        assert report.findings.counts == {"repeated-request-id": 2}
        assert report.findings.first[0].where.startswith("line 2")

    def test_numbered_ids_differ_from_those_that_are_stated(self):
        stated = ["a", "a#2", "a", "a#2", "a", "a#2#2"]
        made = cook(*({**record(CHAT_ANSWER), "id": name} for name in stated))
        assert [one["id"] for one in made["requests"]] == ["a", "a#2", "a#3", "a#2#2", "a#4", "a#2#2#2"]

    def test_nan_is_null_and_large_integers_are_exact(self):
        function = {"name": "f", "arguments": '{"big": 123456789012345678901234567890, "x": NaN, "y": -Infinity}'}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": function}]}
        builder = CookBuilder()
        remarks = builder.add_call(call_of(record(None, message)))
        assert [(kind.code, words) for kind, words in remarks] == [
            ("non-finite-number", "NaN, -Infinity in the arguments of a call became null")
        ]
        written = b"".join(builder.json_chunks())
        made = json.loads(written, parse_constant=pytest.fail)
        assert sent(made)[0]["tool_calls"][0]["arguments"] == {
            "big": 123456789012345678901234567890,
            "x": None,
            "y": None,
        }

    @pytest.mark.parametrize("kind", ["function_call", "mcp_call"])
    def test_nan_is_null_and_large_integers_are_exact_in_items_of_responses(self, kind):
        arguments = '{"big": 123456789012345678901234567890, "x": NaN}'
        item = {"type": kind, "id": "i", "call_id": "c", "name": "f", "arguments": arguments}
        builder = CookBuilder()
        asked = {"id": "r", "request": {"model": "m", "input": [item]}, "response": {"output": [item]}}
        remarks = builder.add_call(call_of(asked))
        assert [kind.code for kind, _ in remarks] == ["non-finite-number"]
        made = json.loads(b"".join(builder.json_chunks()), parse_constant=pytest.fail)
        for piece in (sent(made)[0], received(made)[0]):
            assert piece["tool_calls"][0]["arguments"] == {"big": 123456789012345678901234567890, "x": None}

    def test_a_value_that_is_not_a_number_is_null_beside_a_large_integer(self):
        tool = {
            "type": "tool_use",
            "id": "a",
            "name": "f",
            "input": {"big": 1 << 70, "x": float("nan"), "text": "\ud800"},
        }
        builder = CookBuilder()
        builder.add_call(call_of(record({"content": [tool]}, system="s")))
        made = json.loads(b"".join(builder.json_chunks()), parse_constant=pytest.fail)
        arguments = received(made)[0]["tool_calls"][0]["arguments"]
        assert arguments == {"big": 1 << 70, "x": None, "text": "\ufffd"}

    def test_arguments_that_are_no_object_stay_as_they_are(self):
        function = {"name": "f", "arguments": "[1, 2"}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": function}]}
        assert sent(cook(record(None, message)))[0]["tool_calls"][0]["arguments"] == {"raw": "[1, 2"}
