"""Records of proxies that translate formats, keep bodies as text, or report errors in a way of their own."""

import json

import pytest

from cooking import ASKED, CHAT_ANSWER, call_of, cook, cook_file, events, notes_of, received, record, sent, texts

GEMINI_ANSWER = {"candidates": [{"content": {"parts": [{"text": "Hello!"}]}, "finishReason": "STOP"}]}
RESPONSES_ANSWER = {
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello!"}]}]
}


class TestTranslation:
    @pytest.mark.parametrize("stated", [{}, {"system": "Be brief."}], ids=["openai", "claude"])
    @pytest.mark.parametrize(
        "answer",
        [
            GEMINI_ANSWER,
            events(GEMINI_ANSWER),
            RESPONSES_ANSWER,
            events({"type": "response.completed", "response": {"id": "x", **RESPONSES_ANSWER}}),
        ],
        ids=["gemini", "gemini_stream", "responses", "responses_stream"],
    )
    def test_messages_are_kept_whatever_format_answers(self, answer, stated):
        made = cook(record(answer, **stated))
        assert texts(sent(made))[-1] == ("user", "hi")
        assert texts(received(made)) == [("assistant", "Hello!")]

    @pytest.mark.parametrize(
        ("block", "text"),
        [
            (
                {"type": "document", "title": "n", "source": {"type": "text", "data": "The whole text."}},
                "The whole text.",
            ),
            ({"type": "redacted_thinking", "data": "EmwK"}, "[redacted]"),
        ],
        ids=["document", "redacted_thinking"],
    )
    def test_blocks_that_only_claude_has_show_the_format(self, block, text):
        call = call_of(record(None, {"role": "assistant", "content": [block]}))
        assert call.wire == "anthropic"
        assert sent(cook(record(None, {"role": "assistant", "content": [block]})))[0]["content"] == text


class TestRequestsAsText:
    @pytest.mark.parametrize("wrap", [lambda text: text, lambda text: {"raw": text}], ids=["text", "raw"])
    def test_json_in_a_text_is_read(self, wrap):
        asked = {**record(CHAT_ANSWER), "request": wrap(json.dumps({"model": "m", "messages": [ASKED]}))}
        made = cook(asked)
        assert texts(sent(made)) == [("user", "hi")]
        assert made["requests"][0]["model"] == "m"

    @pytest.mark.parametrize("wrap", [lambda text: text, lambda text: {"raw": text}], ids=["text", "raw"])
    def test_a_request_that_is_no_json_is_kept_as_a_message(self, wrap):
        asked = {**record(CHAT_ANSWER), "request": wrap("model=m&prompt=hi")}
        assert texts(sent(cook(asked))) == [("user", "model=m&prompt=hi")]
        assert notes_of(asked) == ["unreadable-request"]


class TestAnswersInOtherShapes:
    def test_a_reply_that_is_neither_an_object_nor_a_text_is_kept(self):
        assert texts(received(cook(record(502)))) == [("assistant", "Error: 502")]

    @pytest.mark.parametrize("choice", [{"delta": {"content": "Hello!"}}, {"text": "Hello!"}], ids=["delta", "text"])
    def test_a_choice_without_a_message_has_its_text(self, choice):
        assert texts(received(cook(record({"choices": [{"index": 0, **choice}]})))) == [("assistant", "Hello!")]

    @pytest.mark.parametrize("role", [{"role": "ai"}, {"role": "user"}, {}], ids=str)
    def test_calls_are_kept_whatever_role_made_them(self, role):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        made = sent(cook(record(None, {**role, "content": "text", "tool_calls": [call]})))
        assert [(piece["role"], piece["content"]) for piece in made] == [("tool_use", "text")]
        assert made[0]["tool_calls"] == [{"name": "f", "arguments": {}, "id": "c"}]

    def test_a_file_whose_bytes_are_missing_keeps_its_name(self):
        files = [
            {"type": "file", "file": {"filename": "a.pdf", "file_data": None}},
            {"type": "input_file", "filename": "b.pdf", "file_data": 5},
        ]
        made = sent(cook(record(None, {"role": "user", "content": files})))
        assert [piece["content"] for piece in made] == ["[file: a.pdf]", "[file: b.pdf]"]

    def test_parts_with_a_text_of_another_type_are_kept(self):
        made = cook(record(None, {"role": "user", "content": [{"type": "text", "text": None}]}, ASKED))
        assert texts(sent(made)) == [("user", '{"type": "text", "text": null}'), ("user", "hi")]


class TestRecordedLines:
    CHUNKS = tuple(
        {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}
        for text in ("Hel", "lo!")
    )

    @pytest.mark.parametrize(
        "lines",
        [
            [f"data: {json.dumps(CHUNKS[0])}", "", f"data: {json.dumps(CHUNKS[1])}", "data: [DONE]"],
            [f"data: {json.dumps(CHUNKS[0])}", f"data: {json.dumps(CHUNKS[1])}", "", "data: [DONE]", ""],
            [*CHUNKS, "data: [DONE]"],
            [json.dumps(CHUNKS[0]), json.dumps(CHUNKS[1]), "[DONE]"],
            f"data: {json.dumps(CHUNKS[0])}\n\ndata: {json.dumps(CHUNKS[1])}\n\ndata: [DONE]\n\n",
        ],
        ids=["one_blank", "another_blank", "objects", "without_field_names", "one_text"],
    )
    def test_lines_in_other_shapes_are_read(self, lines):
        assert texts(received(cook(record({"stream": True, "sse_lines": lines})))) == [("assistant", "Hello!")]

    def test_lines_that_are_no_events_are_kept(self):
        asked = record({"stream": True, "sse_lines": ["<html>", "502"]})
        assert texts(received(cook(asked))) == [("assistant", "Error: <html>\n502")]
        assert notes_of(asked) == ["unreadable-answer"]


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "words"),
        [
            ({"error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded"),
            ({"type": "error", "error": {"message": "Overloaded"}}, "Overloaded"),
            ({"error": "Overloaded"}, "Overloaded"),
            ({"message": "", "code": 7}, '{"message":"","code":7}'),
        ],
    )
    def test_an_error_object_may_be_nested(self, error, words):
        assert texts(received(cook(record(error=error)))) == [("assistant", f"Error: {words}")]

    @pytest.mark.parametrize("stated", [{}, {"system": "Be brief."}], ids=["openai", "claude"])
    def test_a_stream_of_nothing_but_an_error(self, stated):
        asked = record(events({"error": {"message": "Boom", "type": "server_error"}}), **stated)
        assert texts(received(cook(asked))) == [("assistant", "Error: Boom")]
        assert notes_of(asked) == []

    def test_an_error_of_a_choice_follows_its_part(self):
        choice = {"error": {"code": 502, "message": "Upstream is gone"}, "message": {"content": "part"}}
        assert texts(received(cook(record({"choices": [choice]})))) == [
            ("assistant", "part"),
            ("assistant", "Error: Upstream is gone"),
        ]

    def test_the_error_of_the_answer_and_that_of_the_log_are_both_kept(self):
        stream = events(
            {"id": "c", "choices": [{"delta": {"content": "part"}}]}, {"error": {"message": "Boom", "type": "x"}}
        )
        assert texts(received(cook(record(stream, error="connection reset")))) == [
            ("assistant", "part"),
            ("assistant", "Error: Boom; connection reset"),
        ]
        assert texts(received(cook(record(stream, error="500: Boom"))))[-1] == ("assistant", "Error: 500: Boom")


class TestDurations:
    @pytest.mark.parametrize(
        ("stated", "expected"), [("1200ms", 1200), ("1.2s", 1200), (" 1200 ", 1200), ("1m30s", 90_000), ("1.6", 2)]
    )
    def test_a_text_may_have_a_unit(self, stated, expected):
        assert cook({**record(CHAT_ANSWER), "duration_ms": stated})["requests"][0]["duration_ms"] == expected

    @pytest.mark.parametrize("stated", ["soon", -3, [5], True, 1e300])
    def test_what_is_no_duration_is_noted(self, stated):
        asked = {**record(CHAT_ANSWER), "duration_ms": stated}
        assert cook(asked)["requests"][0]["duration_ms"] == 0
        assert notes_of(asked) == ["bad-duration"]

    def test_no_duration_is_nothing_odd(self):
        assert notes_of({**record(CHAT_ANSWER), "duration_ms": None}) == []


class TestFiles:
    @pytest.mark.parametrize(
        "request_fields",
        [{"request": json.dumps({"messages": [ASKED]})}, {"request": None}, {}],
        ids=["text", "null", "nothing"],
    )
    @pytest.mark.parametrize("as_array", [False, True])
    def test_a_file_of_records_without_a_request_object_is_a_trace(self, tmp_path, request_fields, as_array):
        logged = {"id": "r1", "timestamp": "2026-02-20T10:00:00Z", "response": CHAT_ANSWER, **request_fields}
        path = tmp_path / "trace.json"
        path.write_text(json.dumps([logged] if as_array else logged))
        made, report = cook_file(path)
        assert texts(received(made)) == [("assistant", "Hello!")]
        assert not report.ledger.quarantined

    def test_request_and_response_may_both_be_texts(self, tmp_path):
        logged = {"id": "r1", "request": json.dumps({"messages": [ASKED]}), "response": json.dumps(CHAT_ANSWER)}
        path = tmp_path / "trace.jsonl"
        path.write_text(f"a line of a log\n{json.dumps(logged)}\n")
        made, _ = cook_file(path)
        assert texts(sent(made)) == [("user", "hi")]
        assert texts(received(made)) == [("assistant", "Hello!")]
