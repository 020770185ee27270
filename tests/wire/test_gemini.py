"""Gemini: the examples of its specification, the traps of its format, and the laws that every wire format keeps."""

import copy
import json
import re

import pytest
from google.genai import types
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cassettes import SAMPLES, needs_samples, recorded
from exchanging import agrees, lost_words, requests, responses
from palaver.model import build, compose
from palaver.model.exchange import ExchangeRequest, ExchangeResponse
from palaver.wire import gemini, wire_format

PNG = "iVBORw0KGgo="
MODELS = [
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-3-pro-preview",
    "gemini-2.0-flash",
    "o3",
]
SIGNATURE = "c2lnbmVk"


def request_again(payload, **options):
    """Reads a request and writes it again: nothing may be lost."""
    before = copy.deepcopy(payload)
    request = gemini.request_from_wire(payload, **options)
    ExchangeRequest.model_validate(request)
    written = gemini.request_to_wire(request)
    assert payload == before
    assert written.losses == []
    assert same(written.payload, payload)
    return request


def response_again(payload):
    before = copy.deepcopy(payload)
    response = gemini.response_from_wire(payload)
    ExchangeResponse.model_validate(response)
    written = gemini.response_to_wire(response)
    assert payload == before
    assert written.losses == []
    assert same(written.payload, payload)
    return response


def same(written, payload):
    """Equal, and of the same types: `1` is not `true`."""
    return json.dumps(written, sort_keys=True) == json.dumps(payload, sort_keys=True)


def contents(*parts, role="user"):
    return {"contents": [{"role": role, "parts": list(parts)}]}


def only_block(*parts, role="user"):
    [message] = request_again(contents(*parts, role=role))["messages"]
    [block] = message["content"]
    return block


def part_of(block, role="user"):
    """The part that a block is written as, with the losses."""
    request = compose.request("gemini-2.5-pro")
    compose.add_message_blocks(request, role, [block])
    payload, losses = gemini.request_to_wire(request)
    return payload["contents"][0]["parts"], losses


def answer(*parts, **candidate):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **candidate}]}


SPECIFIED = {
    "model": "gemini-2.5-pro",
    "systemInstruction": {"parts": [{"text": "You are helpful"}]},
    "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
    "generationConfig": {
        "thinkingConfig": {"thinkingBudget": 21760, "includeThoughts": True},
        "maxOutputTokens": 4096,
    },
}


class TestTheSpecification:
    """The worked examples of the exchange's specification."""

    def request(self):
        request = compose.request("gemini-2.5-pro")
        compose.set_system(request, "You are helpful")
        compose.add_message(request, "user", "Hello")
        compose.set_thinking(request, "med", include_summary=True)
        request["max_output_tokens"] = 4096
        return request

    def test_a_request_is_written_as_the_specification_shows(self):
        assert gemini.request_to_wire(self.request()) == (SPECIFIED, [])

    def test_a_request_is_read_from_what_the_specification_shows(self):
        assert gemini.request_from_wire(SPECIFIED) == self.request()

    def test_a_call_and_its_result(self):
        call = build.tool_use(id="toolu_01A09", name="read_file", input={"path": "/etc/hosts"})
        result = build.tool_result(tool_use_id="toolu_01A09", content="127.0.0.1 localhost\n")
        request = compose.request("gemini-2.5-pro")
        compose.add_message_blocks(request, "assistant", [call])
        compose.add_message_blocks(request, "tool", [result])
        payload, losses = gemini.request_to_wire(request)
        assert losses == []
        assert payload["contents"] == [
            {
                "role": "model",
                "parts": [{"functionCall": {"id": "toolu_01A09", "name": "read_file", "args": {"path": "/etc/hosts"}}}],
            },
            {
                "role": "function",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "toolu_01A09",
                            "name": "read_file",
                            "response": {"content": "127.0.0.1 localhost\n"},
                        }
                    }
                ],
            },
        ]
        assert gemini.request_from_wire(payload) == request

    def test_its_own_shorthand_of_a_result_is_read(self):
        """A part where a content should be; the call before it has no id, the result has one."""
        payload = {
            "contents": [
                {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"path": "/etc/hosts"}}}]},
                {
                    "role": "function",
                    "functionResponse": {"id": "550e8400", "name": "read_file", "response": {"content": "localhost"}},
                },
            ]
        }
        call, result = request_again(payload)["messages"]
        assert call["content"][0]["id"] == "550e8400"
        assert result["role"] == "tool"
        assert result["content"] == [build.tool_result(tool_use_id="550e8400", content="localhost")]


class TestModel:
    def test_a_body_without_a_model_is_told_it(self):
        assert request_again(contents({"text": "Hi"}), model="gemini-2.5-flash")["model"] == "gemini-2.5-flash"

    def test_a_model_that_nobody_told_is_unknown(self):
        assert request_again(contents({"text": "Hi"}))["model"] == "unknown"

    def test_the_body_stands_before_what_is_told(self):
        request = request_again({"model": "models/gemini-2.5-pro", **contents({"text": "Hi"})}, model="other")
        assert request["model"] == "models/gemini-2.5-pro"


class TestSpelling:
    def test_a_plain_request_needs_no_memory_but_that_of_the_model(self):
        request = request_again(SPECIFIED)
        assert "provider_data" not in json.dumps(request)

    def test_snake_case_is_read_and_written_again(self):
        payload = {
            "system_instruction": {"parts": [{"text": "Be brief"}]},
            "contents": [
                {
                    "role": "model",
                    "parts": [{"function_call": {"id": "a", "name": "look", "args": {"functionCall": 1}}}],
                },
                {"role": "user", "parts": [{"function_response": {"id": "a", "name": "look", "response": {"x_y": 1}}}]},
                {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": PNG}}]},
                {"role": "user", "parts": [{"file_data": {"mime_type": "text/plain", "file_uri": "files/1"}}]},
                {"role": "model", "parts": [{"text": "", "thought_signature": SIGNATURE}]},
            ],
            "tools": [{"function_declarations": [{"name": "look", "parameters_json_schema": {"type": "object"}}]}],
            "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["look"]}},
            "generation_config": {
                "max_output_tokens": 5,
                "top_p": 0.5,
                "top_k": 40,
                "stop_sequences": ["END"],
                "response_mime_type": "text/plain",
                "thinking_config": {"thinking_budget": 0, "include_thoughts": False},
            },
        }
        request = request_again(payload, model="gemini-2.5-flash")
        assert request["system"] == [build.text("Be brief")]
        assert request["tool_choice"] == {"type": "specific", "name": "look"}
        assert request["sampling"] == {"top_p": 0.5, "top_k": 40, "stop_sequences": ["END"]}
        assert request["thinking"] == {"level": "none", "include_summary": False}
        assert request["max_output_tokens"] == 5
        assert [message["content"][0]["type"] for message in request["messages"]] == [
            *("tool_use", "tool_result", "image", "file", "text")
        ]
        kept = request["provider_data"]["gemini"]
        assert request["output_format"] == {"type": "text"}
        assert kept["generation_config"] == {"thinking_config": {"include_thoughts": False}}

    def test_both_spellings_in_one_payload(self):
        """Seen in recorded traffic: `parameters_json_schema` among fields in camelCase."""
        declaration = {"name": "look", "description": "…", "parameters_json_schema": {"type": "object"}}
        request = request_again(
            contents({"text": "Hi"}) | {"tools": [{"functionDeclarations": [declaration]}], "generationConfig": {}}
        )
        assert request["tools"][0]["parameters"] == {"type": "object"}

    def test_a_response_in_snake_case_with_nulls(self):
        response = response_again(
            {
                "candidates": [
                    {
                        "content": {
                            "role": "model",
                            "parts": [{"text": "Hi", "thought": None, "inline_data": None, "function_call": None}],
                        },
                        "finish_reason": "STOP",
                        "finish_message": None,
                        "index": None,
                    }
                ],
                "model_version": "gemini-2.5-pro",
                "usage_metadata": {"prompt_token_count": 3, "candidates_token_count": None, "traffic_type": None},
                "prompt_feedback": None,
            }
        )
        assert response["finish_reason"] == "stop"
        assert response["model"] == "gemini-2.5-pro"
        assert response["content"][0]["text"] == "Hi"
        usage = response["usage"]
        assert (usage["input_tokens"], usage["output_tokens"]) == (3, None)


class TestTurns:
    @pytest.mark.parametrize(
        ("word", "role"),
        [("user", "user"), ("model", "assistant"), ("function", "tool"), ("tool", "tool"), ("someone", "user")],
    )
    def test_roles(self, word, role):
        [message] = request_again(contents({"text": "Hi"}, role=word))["messages"]
        assert message["role"] == role

    @pytest.mark.parametrize("role", [{}, {"role": None}])
    def test_no_role_is_the_users(self, role):
        [message] = request_again({"contents": [{**role, "parts": [{"text": "Hi"}]}]})["messages"]
        assert message["role"] == "user"

    def test_results_from_the_user_stay_the_users(self):
        [message] = request_again(contents({"functionResponse": {"name": "look", "response": {"a": 1}}}))["messages"]
        assert message["role"] == "user"

    @pytest.mark.parametrize(
        "stated", ["Hi", ["Hi"], {"parts": [{"text": "Hi"}]}, [{"text": "Hi"}], [{"parts": ["Hi"]}]]
    )
    def test_what_sdks_take_for_a_turn(self, stated):
        [message] = request_again({"contents": stated})["messages"]
        assert message["role"] == "user"
        assert message["content"][0]["text"] == "Hi"

    def test_a_system_instruction_as_a_text(self):
        request = request_again({"systemInstruction": "Be brief", **contents({"text": "Hi"})})
        assert request["system"] == [build.text("Be brief")]

    def test_a_system_instruction_with_a_role(self):
        stated = {"role": "user", "parts": [{"text": "Be brief"}, {"text": "and kind"}]}
        request = request_again({"system_instruction": stated, **contents({"text": "Hi"})})
        assert [block["text"] for block in request["system"]] == ["Be brief", "and kind"]


class TestParts:
    def test_a_thought(self):
        assert only_block({"text": "Hm.", "thought": True}, role="model") == build.thinking("Hm.")

    def test_trap_10_a_signature_stays_with_its_part_also_where_the_text_is_empty(self):
        parts = [
            {"text": "A"},
            {"text": "", "thoughtSignature": SIGNATURE},
            {"text": "B", "thoughtSignature": SIGNATURE},
        ]
        response = response_again(answer(*parts, finishReason="STOP"))
        assert [block["text"] for block in response["content"]] == ["A", "", "B"]
        assert response["content"][1]["provider_data"] == {"gemini": {"thoughtSignature": SIGNATURE}}

    def test_a_signature_on_a_call_and_on_a_thought(self):
        call = {"functionCall": {"id": "1", "name": "look", "args": {}}, "thoughtSignature": SIGNATURE}
        thought = {"text": "Hm.", "thought": True, "thoughtSignature": SIGNATURE}
        response = response_again(answer(thought, call))
        assert [block["type"] for block in response["content"]] == ["thinking", "tool_use"]
        assert "signature" not in response["content"][0]

    @pytest.mark.parametrize(
        "part",
        [
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": SIGNATURE},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
            {"toolCall": {"id": "1", "toolType": "URL_CONTEXT", "args": {}}},
            {"toolResponse": {"id": "1", "toolType": "URL_CONTEXT", "response": {}}},
            {"somethingNew": {"a": 1}},
            {"functionCall": {"partialArgs": [], "willContinue": True}},
            {"text": "two", "functionCall": {"name": "at once"}},
            {"thoughtSignature": SIGNATURE},
            {},
            None,
        ],
    )
    def test_what_no_block_can_express_is_kept_in_place(self, part):
        before, kept, after = response_again(answer({"text": "A"}, part, {"text": "B"}))["content"]
        assert (before["text"], after["text"]) == ("A", "B")
        assert kept["type"] == "opaque"
        assert kept["raw"] == part
        assert kept["provider_data"] == {"gemini": {}}

    def test_the_kind_of_a_kept_part_is_its_name(self):
        assert only_block({"thoughtSignature": SIGNATURE, "executable_code": {"code": "1"}})["kind"] == "executableCode"

    def test_a_part_with_fields_that_nobody_knows(self):
        assert only_block({"text": "Hi", "partMetadata": {"a": 1}, "as_written": 5})["text"] == "Hi"

    def test_pictures_and_files(self):
        assert only_block({"inlineData": {"mimeType": "image/png", "data": PNG}}) == build.image(
            build.source("base64", PNG, media_type="image/png")
        )
        assert only_block({"inlineData": {"mimeType": "application/pdf", "data": PNG, "displayName": "a.pdf"}}) == (
            build.file(source=build.source("base64", PNG, media_type="application/pdf"), name="a.pdf")
        )
        assert only_block({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://bucket/a.mp4"}}) == build.file(
            source=build.source("url", "gs://bucket/a.mp4", media_type="video/mp4")
        )
        assert only_block({"fileData": {"fileUri": "https://pictures.example/a.PNG?size=2"}})["type"] == "image"
        assert only_block({"fileData": {"fileUri": "files/abc"}})["source"] == build.source("file", "files/abc")

    def test_video_metadata_stays(self):
        part = {"fileData": {"fileUri": "https://video.example/1"}, "videoMetadata": {"startOffset": "1s"}}
        assert only_block(part)["provider_data"] == {"gemini": {"videoMetadata": {"startOffset": "1s"}}}


class TestPairs:
    """Trap 10: calls of Gemini 2 have no ids."""

    def ids(self, *turns):
        request = request_again({"contents": [{"role": role, "parts": list(parts)} for role, *parts in turns]})
        blocks = [block for message in request["messages"] for block in message["content"]]
        return [block["id"] if block["type"] == "tool_use" else block["tool_use_id"] for block in blocks]

    @staticmethod
    def call(name, **fields):
        return {"functionCall": {"name": name, "args": {}, **fields}}

    @staticmethod
    def result(name, **fields):
        return {"functionResponse": {"name": name, "response": {"ok": True}, **fields}}

    def test_results_are_paired_by_name_and_order(self):
        calls = [self.call("look"), self.call("read"), self.call("look")]
        results = [self.result("look"), self.result("look"), self.result("read")]
        assert self.ids(["model", *calls], ["user", *results]) == [
            *("call_1", "call_2", "call_3"),
            *("call_1", "call_3", "call_2"),
        ]

    def test_a_result_answers_the_latest_turn(self):
        turns = [["model", self.call("look")], ["user", {"text": "?"}], ["model", self.call("look")]]
        request = request_again(
            {"contents": [{"role": role, "parts": parts} for role, *parts in [*turns, ["user", self.result("look")]]]}
        )
        assert request["messages"][-1]["content"][0]["tool_use_id"] == "call_2"

    def test_stated_ids_are_kept_and_none_is_given_twice(self):
        calls = [self.call("look"), self.call("look", id="call_1"), self.call("look")]
        results = [self.result("look", id="call_1"), self.result("look"), self.result("look")]
        assert self.ids(["model", *calls], ["user", *results]) == [
            *("call_1_", "call_1", "call_3"),
            *("call_1", "call_1_", "call_3"),
        ]

    def test_a_result_without_a_call(self):
        assert self.ids(["user", self.result("look"), self.result("look", id="x")]) == ["call_1", "x"]

    def test_empty_and_null_ids_are_none(self):
        assert self.ids(
            ["model", self.call("a", id=""), self.call("b", id=None)], ["user", self.result("b", id="")]
        ) == [*("call_1", "call_2", "call_2")]

    def test_the_name_of_a_result_is_that_of_its_call(self):
        request = compose.request("gemini-2.5-pro")
        compose.add_message_blocks(request, "assistant", [build.tool_use(id="1", name="look", input={})])
        compose.add_message_blocks(request, "user", [build.tool_result(tool_use_id="1", content="")])
        compose.add_message_blocks(request, "user", [build.tool_result(tool_use_id="2", content="")])
        payload, _ = gemini.request_to_wire(request)
        names = [content["parts"][0]["functionResponse"]["name"] for content in payload["contents"][1:]]
        assert names == ["look", "2"]

    def test_another_name_than_that_of_the_call_stays(self):
        request_again(
            contents(self.call("look", id="1"), self.result("read", id="1"), {"functionResponse": {"id": "1"}})
        )


class TestResults:
    @pytest.mark.parametrize(
        ("response", "content", "is_error"),
        [
            ({"content": "fine"}, "fine", False),
            ({"result": "fine"}, "fine", False),
            ({"output": "fine"}, "fine", False),
            ({"error": "broken"}, "broken", True),
            ({"error": {"code": 5}}, '{"error": {"code": 5}}', True),
            ({"error": None}, '{"error": null}', False),
            ({"content": [{"type": "text", "text": "fine"}]}, [build.text("fine")], False),
            ({"content": "fine", "more": 1}, '{"content": "fine", "more": 1}', False),
            ({"content": 5}, '{"content": 5}', False),
            ({"result": {"ü": 1}}, '{"result": {"ü": 1}}', False),
            ({}, "{}", False),
            (["odd"], '["odd"]', False),
            (None, "", False),
        ],
    )
    def test_objects_are_read_as_text(self, response, content, is_error):
        block = only_block({"functionResponse": {"id": "1", "name": "look", "response": response}})
        assert (block["content"], block["is_error"]) == (content, is_error)

    def test_a_response_without_an_object(self):
        assert only_block({"functionResponse": {"id": "1", "name": "1"}})["content"] == ""

    def test_only_a_key_that_is_not_usual_is_remembered(self):
        usual = {"functionResponse": {"id": "1", "name": "1", "response": {"content": "fine"}}}
        other = {"functionResponse": {"id": "1", "name": "1", "response": {"output": "fine"}}}
        assert "provider_data" not in only_block(usual)
        assert only_block(other)["provider_data"] == {"gemini": {"as_written": {"key": "output"}}}

    def test_an_error_is_written_as_one(self):
        result = build.tool_result(tool_use_id="1", content="broken", is_error=True)
        [part], losses = part_of(result)
        assert part["functionResponse"]["response"] == {"error": "broken"}
        assert losses == []

    def test_a_result_that_was_edited_is_not_written_as_it_was(self):
        block = only_block({"functionResponse": {"id": "1", "name": "1", "response": {"a": 1}}})
        [part], _ = part_of(block | {"content": "other"})
        assert part["functionResponse"]["response"] == {"content": "other"}

    def test_pictures_in_a_result(self):
        picture = {"inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "a.png"}}
        answered = {"name": "draw", "response": {"output": "drawn"}, "parts": [picture, {"mediaProcessing": {}}]}
        text, image, other = only_block({"functionResponse": answered})["content"]
        assert text == build.text("drawn")
        assert image["source"]["data"] == PNG
        assert other["type"] == "opaque"

    def test_pictures_before_texts_change_places(self):
        picture = build.image(build.source("base64", PNG, media_type="image/png"))
        result = build.tool_result(tool_use_id="1", content=[picture, build.text("seen"), build.code("x = 1")])
        [part], losses = part_of(result)
        assert part["functionResponse"]["response"]["content"][0] == build.text("seen")
        assert "x = 1" in json.dumps(part)
        assert ("/messages/0/content/0/content", "changed") in [(loss.pointer, loss.change) for loss in losses]


class TestForeignBlocks:
    """What other providers' blocks become."""

    def test_a_foreign_signature_is_a_loss_and_the_thought_stays(self):
        parts, losses = part_of(build.thinking("Hm.", signature="sealed"), "assistant")
        assert parts == [{"text": "Hm.", "thought": True}]
        assert [(loss.pointer, loss.change) for loss in losses] == [("/messages/0/content/0/signature", "dropped")]

    def test_redacted_thinking_is_a_loss(self):
        parts, losses = part_of(build.thinking("", redacted_data="sealed"), "assistant")
        assert parts == []
        assert [loss.pointer for loss in losses] == ["/messages/0/content/0"]

    def test_opaque_blocks_of_others_are_lost_and_the_reason_tells_of_their_text(self):
        foreign = build.opaque(kind="web_search_tool_result", raw={"content": [{"text": "found"}]})
        parts, [loss] = part_of(foreign | {"provider_data": {"anthropic": {}}}, "assistant")
        assert parts == []
        assert "web_search_tool_result" in loss.reason
        assert "text" in loss.reason

    def test_data_of_other_formats_is_a_loss(self):
        block = build.text("Hi") | {"provider_data": {"anthropic": {"cache_control": {"type": "ephemeral"}}}}
        parts, [loss] = part_of(block)
        assert parts == [{"text": "Hi"}]
        assert loss.pointer == "/messages/0/content/0/provider_data/anthropic/cache_control"

    def test_pictures_by_address_and_in_the_address(self):
        parts, losses = part_of(build.image(build.source("url", "https://pictures.example/a.png")))
        assert parts == [{"fileData": {"fileUri": "https://pictures.example/a.png"}}]
        assert losses == []
        parts, [loss] = part_of(build.image(build.source("url", f"data:image/png;base64,{PNG}")))
        assert parts == [{"inlineData": {"mimeType": "image/png", "data": PNG}}]
        assert loss.change == "changed"

    def test_a_picture_that_gemini_would_take_for_a_file(self):
        _, [loss] = part_of(build.image(build.source("url", "https://pictures.example/1")))
        assert (loss.pointer, loss.change) == ("/messages/0/content/0", "changed")

    def test_a_picture_without_a_media_type(self):
        parts, [loss] = part_of(build.image(build.source("base64", "/9j/AA==")))
        assert parts == [{"inlineData": {"mimeType": "image/jpeg", "data": "/9j/AA=="}}]
        assert loss.pointer == "/messages/0/content/0/source"

    def test_code_and_files_without_bytes_stand_as_text(self):
        assert part_of(build.code("x = 1", language="python"))[0] == [{"text": "```python\nx = 1\n```"}]
        parts, [loss] = part_of(build.file(name="a.txt", text="in it"))
        assert parts == [{"text": "in it"}]
        assert loss.change == "changed"
        parts, [loss] = part_of(build.file(name="a.txt"))
        assert parts == []
        assert loss.change == "dropped"

    def test_what_a_message_says_of_its_writer_is_a_loss(self):
        request = compose.request("gemini-2.5-pro")
        compose.add_message(request, "assistant", "Hi")
        request["messages"][0] |= {"provider": "anthropic", "model": "claude-sonnet-4-5", "thinking": "low"}
        _, losses = gemini.request_to_wire(request)
        assert {loss.pointer for loss in losses} == {
            f"/messages/0/{field}" for field in ("provider", "model", "thinking")
        }


class TestTools:
    def test_tools_of_the_server_stay_in_their_order(self):
        tools = [
            {"googleSearch": {}},
            {"functionDeclarations": [{"name": "a"}, {"name": "b", "behavior": "NON_BLOCKING"}], "codeExecution": {}},
            {"urlContext": {}},
            {"functionDeclarations": [{"name": "c", "parametersJsonSchema": {}}]},
        ]
        request = request_again({**contents({"text": "Hi"}), "tools": tools})
        assert [tool["name"] for tool in request["tools"]] == ["a", "b", "c"]
        assert request["tools"][0]["parameters"] == {"type": "object", "properties": {}}

    @pytest.mark.parametrize(
        "tools",
        [[], [{"googleSearch": {}}], [{"functionDeclarations": []}], [{"functionDeclarations": [{}]}], None, ["odd"]],
    )
    def test_without_functions_there_are_no_tools(self, tools):
        assert "tools" not in request_again({**contents({"text": "Hi"}), "tools": tools})

    def test_a_tool_that_was_added_finds_its_place(self):
        request = request_again({**contents({"text": "Hi"}), "tools": [{"googleSearch": {}}]})
        compose.add_tool(request, "look", "Looks", {"type": "object"}, strict=False)
        payload, _ = gemini.request_to_wire(request)
        assert [list(entry) for entry in payload["tools"]] == [["googleSearch"], ["functionDeclarations"]]

    def test_openapi_types_become_those_of_json_schema(self):
        parameters = {
            "type": "OBJECT",
            "properties": {
                "type": {"type": "STRING", "nullable": True, "enum": ["A"]},
                "many": {"type": "ARRAY", "items": {"anyOf": [{"type": "INTEGER"}]}, "minItems": "1"},
            },
            "required": ["type"],
        }
        declared = {"name": "look", "parameters": parameters}
        [tool] = request_again({**contents({"text": "Hi"}), "tools": [{"functionDeclarations": [declared]}]})["tools"]
        assert tool["strict"] is False
        assert tool["parameters"] == {
            "type": "object",
            "properties": {
                "type": {"type": ["string", "null"], "enum": ["A"]},
                "many": {"type": "array", "items": {"anyOf": [{"type": "integer"}]}, "minItems": 1},
            },
            "required": ["type"],
        }

    def test_a_strict_tool_is_a_loss(self):
        request = TestTheSpecification().request()
        compose.add_tool(request, "look", "Looks", {"type": "object"})
        payload, [loss] = gemini.request_to_wire(request)
        assert loss.pointer == "/tools/0/strict"
        assert payload["tools"] == [
            {
                "functionDeclarations": [
                    {"name": "look", "description": "Looks", "parametersJsonSchema": {"type": "object"}}
                ]
            }
        ]

    @pytest.mark.parametrize(
        ("config", "choice"),
        [
            ({"mode": "AUTO"}, {"type": "auto"}),
            ({"mode": "NONE"}, {"type": "none"}),
            ({"mode": "ANY"}, {"type": "required"}),
            ({"mode": "ANY", "allowedFunctionNames": ["a"]}, {"type": "specific", "name": "a"}),
            ({"mode": "ANY", "allowedFunctionNames": ["a", "b"]}, {"type": "required"}),
            ({"mode": "VALIDATED", "allowedFunctionNames": ["a"]}, {"type": "auto"}),
            ({"mode": "MODE_UNSPECIFIED"}, None),
            ({"mode": "any"}, {"type": "required"}),
            ({}, None),
        ],
    )
    def test_choices(self, config, choice):
        payload = {**contents({"text": "Hi"}), "toolConfig": {"functionCallingConfig": config, "retrievalConfig": {}}}
        assert request_again(payload).get("tool_choice") == choice


class TestThinking:
    @staticmethod
    def config(model, level, *, include_summary=False):
        request = compose.request(model)
        compose.add_message(request, "user", "Hi")
        compose.set_thinking(request, level, include_summary=include_summary)
        payload, losses = gemini.request_to_wire(request)
        return payload["generationConfig"]["thinkingConfig"], [loss.pointer for loss in losses]

    @pytest.mark.parametrize(
        ("model", "numbers"),
        [
            ("gemini-2.5-pro", [128, 11008, 21760, 32768]),
            ("gemini-2.5-flash", [0, 8192, 16384, 24576]),
            ("gemini-2.5-flash-lite", [512, 8533, 16554, 24576]),
        ],
    )
    def test_budgets(self, model, numbers):
        written = [self.config(model, level) for level in ("none", "low", "med", "high")]
        assert written == [({"thinkingBudget": number}, []) for number in numbers]

    def test_levels_of_generation_3(self):
        written = [self.config("gemini-3-pro-preview", level) for level in ("none", "low", "med", "high")]
        assert [config["thinkingLevel"] for config, _ in written] == ["LOW", "LOW", "HIGH", "HIGH"]
        assert [losses for _, losses in written] == [["/thinking/level"], [], ["/thinking/level"], []]

    @pytest.mark.parametrize(
        ("word", "level"), [("MINIMAL", "none"), ("LOW", "low"), ("MEDIUM", "med"), ("HIGH", "high"), ("low", "low")]
    )
    @pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-2.5-pro", ""])
    def test_words_are_read_to_the_nearest_level_and_kept(self, word, level, model):
        payload = {**contents({"text": "Hi"}), "generationConfig": {"thinkingConfig": {"thinkingLevel": word}}}
        assert request_again(payload, model=model)["thinking"] == {"level": level, "include_summary": False}

    @pytest.mark.parametrize(
        ("model", "number", "level"),
        [
            ("gemini-2.5-pro", 0, "none"),
            ("gemini-2.5-pro", 128, "none"),
            ("gemini-2.5-pro", 9000, "low"),
            ("gemini-2.5-pro", 21888, "med"),
            ("gemini-2.5-pro", 32768, "high"),
            ("gemini-3-pro-preview", 9000, "low"),
        ],
    )
    def test_numbers_are_read_to_the_nearest_level_and_kept(self, model, number, level):
        payload = {**contents({"text": "Hi"}), "generationConfig": {"thinkingConfig": {"thinkingBudget": number}}}
        assert request_again(payload, model=model)["thinking"]["level"] == level

    @pytest.mark.parametrize(
        "config",
        [
            {"thinkingBudget": -1, "includeThoughts": True},
            {"includeThoughts": False},
            {},
            {"thinkingLevel": "NEW"},
            None,
        ],
    )
    def test_what_leaves_it_to_the_model_states_no_level(self, config):
        payload = {**contents({"text": "Hi"}), "generationConfig": {"thinkingConfig": config}}
        request = request_again(payload, model="gemini-2.5-pro")
        assert "thinking" not in request
        assert request["provider_data"]["gemini"]["generationConfig"]["thinkingConfig"] == config

    def test_another_level_than_was_read_is_written_anew(self):
        payload = {**contents({"text": "Hi"}), "generationConfig": {"thinkingConfig": {"thinkingBudget": 9000}}}
        request = request_again(payload, model="gemini-2.5-pro")
        request["thinking"]["level"] = "high"
        assert gemini.request_to_wire(request).payload["generationConfig"] == {
            "thinkingConfig": {"thinkingBudget": 32768}
        }


def test_settings_without_a_place_are_kept():
    payload = {
        **contents({"text": "Hi"}),
        "generationConfig": {
            "temperature": 0.5,
            "seed": 7,
            "topK": 40.0,
            "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT"},
            "candidateCount": 2,
            "maxOutputTokens": None,
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/1",
        "labels": {"a": "b"},
    }
    request = request_again(payload)
    assert request["sampling"] == {"temperature": 0.5, "seed": 7, "top_k": 40.0}
    kept = request["provider_data"]["gemini"]
    assert kept["cachedContent"] == "cachedContents/1"
    assert request["answer_count"] == 2
    assert request["output_format"] == {"type": "json_schema", "json_schema": {"type": "object"}}


class TestResponses:
    def test_usage(self):
        """Trap: candidates are counted without thoughts, the prompt with what was cached; nothing is subtracted."""
        counts = {
            "promptTokenCount": 120,
            "candidatesTokenCount": 50,
            "thoughtsTokenCount": 20,
            "cachedContentTokenCount": 100,
            "toolUsePromptTokenCount": 9,
            "totalTokenCount": 190,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 120}],
        }
        usage = response_again({**answer({"text": "Hi"}), "usageMetadata": counts})["usage"]
        kept = usage.pop("provider_data")["gemini"]
        assert usage == {
            "input_tokens": 120,
            "output_tokens": 50,
            "thinking_tokens": 20,
            "cached_tokens": 100,
            "total_tokens": 190,
        }
        assert kept.keys() == {"toolUsePromptTokenCount", "promptTokensDetails"}
        usage = response_again({**answer({"text": "Hi"}), "usageMetadata": counts | {"totalTokenCount": 199}})["usage"]
        assert usage["input_tokens"] == 129

    def test_trap_13_null_counts_stay_null(self):
        usage = response_again({**answer(), "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": None}})["usage"]
        assert usage == {"input_tokens": 1, "total_tokens": None}

    def test_trap_11_a_blocked_prompt_has_no_candidates(self):
        feedback = {"blockReason": "PROHIBITED_CONTENT", "safetyRatings": []}
        response = response_again({"promptFeedback": feedback, "modelVersion": "gemini-2.5-pro"})
        assert (response["content"], response["finish_reason"]) == ([], "content_filter")
        assert response["provider_data"]["gemini"]["promptFeedback"] == feedback

    @pytest.mark.parametrize("payload", [{}, {"candidates": []}, {"candidates": None}, {"candidates": [None]}])
    def test_an_answer_without_candidates(self, payload):
        assert response_again(payload)["finish_reason"] == "unknown"

    @pytest.mark.parametrize(
        "candidate",
        [{}, {"content": None}, {"content": {}}, {"content": {"role": "model"}}, {"content": {"parts": None}}],
    )
    def test_candidates_without_parts(self, candidate):
        response = response_again({"candidates": [{**candidate, "finishReason": "MAX_TOKENS"}]})
        assert (response["content"], response["finish_reason"]) == ([], "length")

    def test_every_finish_reason_of_the_sdk_is_known_and_comes_back(self):
        found = {reason: response_again(answer({"text": ""}, finishReason=reason)) for reason in types.FinishReason}
        reasons = {reason.value: response["finish_reason"] for reason, response in found.items()}
        assert {word for word, reason in reasons.items() if reason == "unknown"} == {
            *("FINISH_REASON_UNSPECIFIED", "CONTINUATION")
        }
        assert reasons["STOP"] == "stop"
        assert reasons["MAX_TOKENS"] == "length"
        assert {word for word, reason in reasons.items() if reason == "content_filter"} >= {
            "SAFETY",
            "IMAGE_SAFETY",
            "SPII",
        }
        assert {word for word, reason in reasons.items() if reason == "error"} >= {"MALFORMED_FUNCTION_CALL", "OTHER"}

    def test_a_stop_with_calls_is_their_use(self):
        response = response_again(answer({"functionCall": {"name": "look"}}, finishReason="STOP"))
        assert response["finish_reason"] == "tool_use"
        assert response["content"] == [
            build.tool_use(id="call_1", name="look", input={})
            | {"provider_data": {"gemini": {"as_written": {"without": ["id", "args"]}}}}
        ]

    def test_a_reason_that_was_edited_is_not_written_as_it_was(self):
        response = response_again(answer({"text": ""}, finishReason="RECITATION"))
        written = gemini.response_to_wire(response | {"finish_reason": "length"}).payload
        assert written["candidates"][0]["finishReason"] == "MAX_TOKENS"

    def test_the_other_candidates_are_alternatives(self):
        payload = answer({"text": "first"}, safetyRatings=[], avgLogprobs=-0.1, groundingMetadata={"a": 1})
        payload["candidates"].append({"content": {"parts": [{"text": "second"}]}, "index": 1})
        response = response_again(payload | {"responseId": "r", "createTime": "2026-01-01T00:00:00Z"})
        assert response["content"] == [build.text("first")]
        kept = response["provider_data"]["gemini"]
        assert (response["response_id"], response["created_at"]) == ("r", "2026-01-01T00:00:00.000Z")
        assert kept["candidates"][0].keys() == {"safetyRatings", "avgLogprobs", "groundingMetadata"}
        [other] = response["alternatives"]
        assert (other["index"], other["content"]) == (1, [build.text("second")])


class TestErrors:
    def test_an_error(self):
        error = {
            "code": 429,
            "message": "You exceeded your current quota.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "60s"}],
        }
        read = gemini.error_from_wire({"error": error})
        kept = read.pop("provider_data")["gemini"]
        assert read == {
            "category": "rate_limit",
            "message": "You exceeded your current quota.",
            "status": 429,
            "retry_after_ms": 60_000,
        }
        assert kept.keys() == {"code", "status", "details"}

    @pytest.mark.parametrize(
        ("error", "category"),
        [
            ({"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}, "auth"),
            (
                {
                    "status": "INVALID_ARGUMENT",
                    "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).",
                },
                "context_length",
            ),
            ({"code": 503, "status": "UNAVAILABLE"}, "overloaded"),
            ({"code": 500}, "server"),
            ({"details": 5, "message": None}, "unknown"),
        ],
    )
    def test_categories(self, error, category):
        assert gemini.error_from_wire({"error": error})["category"] == category

    def test_an_answer_is_no_error(self):
        assert gemini.error_from_wire(answer({"text": "Hi"})) is None
        assert gemini.error_from_wire({"promptFeedback": {"blockReason": "SAFETY"}}) is None


class TestLaws:
    @given(requests(MODELS))
    @settings(max_examples=150)
    def test_reading_a_written_request_gives_it_back_minus_the_losses(self, request):
        before = copy.deepcopy(request)
        payload, losses = gemini.request_to_wire(request)
        assert request == before
        assert agrees(request, losses, gemini.request_from_wire(payload))
        assert lost_words(request, losses, payload) == []
        accepted_request(payload)

    @given(responses)
    @settings(max_examples=150)
    def test_reading_a_written_response_gives_it_back_minus_the_losses(self, response):
        payload, losses = gemini.response_to_wire(response)
        assert agrees(response, losses, gemini.response_from_wire(payload))
        assert lost_words(response, losses, payload) == []
        types.GenerateContentResponse.model_validate_json(json.dumps(payload))


RICH_REQUEST = {
    "model": "gemini-2.5-pro",
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"functionCall": {"id": "1", "name": "look", "args": {"a": 1}}, "thoughtSignature": SIGNATURE},
                {"functionCall": {"name": "look"}},
            ],
        },
        {
            "role": "function",
            "parts": [
                {"functionResponse": {"id": "1", "name": "look", "response": {"error": "no"}, "scheduling": "SILENT"}},
                {
                    "functionResponse": {
                        "name": "look",
                        "response": {"output": "yes"},
                        "parts": [{"fileData": {"fileUri": "gs://a/b.png", "displayName": "b"}}],
                    }
                },
            ],
        },
    ],
    "tools": [
        {"functionDeclarations": [{"name": "look", "parameters": {"type": "OBJECT", "nullable": True}}]},
        {"googleSearch": {}},
        {"functionDeclarations": [{"name": "read", "description": "…", "parametersJsonSchema": {}}]},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
    "generationConfig": {
        "maxOutputTokens": 5,
        "temperature": 1,
        "topK": 2,
        "stopSequences": ["a"],
        "thinkingConfig": {"thinkingBudget": 500, "includeThoughts": True},
    },
}
RICH_RESPONSE = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"functionCall": {"id": "1", "name": "look", "args": {"a": 1}}, "thoughtSignature": SIGNATURE},
                    {"executableCode": {"code": "1"}},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
            "citationMetadata": {"citations": []},
        },
        {"index": 1},
    ],
    "promptFeedback": {"blockReason": "SAFETY"},
    "usageMetadata": {"promptTokenCount": 1, "thoughtsTokenCount": 2, "trafficType": "ON_DEMAND"},
    "modelVersion": "gemini-2.5-pro",
    "responseId": "r",
}
ODD = st.sampled_from(
    [
        None,
        "",
        "odd",
        0,
        -1,
        1,
        2.5,
        True,
        False,
        [],
        {},
        ["odd"],
        [None],
        {"odd": 1},
        {"text": "odd"},
        [{"text": "odd"}],
    ]
).map(copy.deepcopy)


@st.composite
def damaged(draw, payload):
    """A payload of which some fields are missing, odd, new, or in the other spelling."""
    payload = copy.deepcopy(payload)
    for _ in range(draw(st.integers(0, 5))):
        holder = draw(st.sampled_from([payload, *_containers(payload)]))
        if isinstance(holder, dict) and holder:
            key = draw(st.sampled_from(sorted(holder)))
            match draw(st.sampled_from(["remove", "replace", "add", "respell", "double"])):
                case "remove":
                    del holder[key]
                case "replace":
                    holder[key] = draw(ODD)
                case "add":
                    holder[draw(st.sampled_from(["novel", "as_written", "functionCall", "text"]))] = draw(ODD)
                case "respell":
                    holder[re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)] = holder.pop(key)
                case _:
                    holder[re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)] = draw(ODD)
        elif isinstance(holder, list):
            holder.insert(draw(st.integers(0, len(holder))), draw(ODD))
    return payload


def _containers(value):
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield inner
            yield from _containers(inner)


class TestOddPayloads:
    """Whatever is there comes back, and what is read is an exchange."""

    @given(damaged(RICH_REQUEST))
    @settings(max_examples=150)
    @example(RICH_REQUEST)
    @example({})
    def test_requests(self, payload):
        request_again(payload)

    @given(damaged(RICH_RESPONSE))
    @settings(max_examples=150)
    @example(RICH_RESPONSE)
    def test_responses(self, payload):
        response_again(payload)


def accepted_request(payload):
    """The SDK has no one type for the body: its parts are checked one by one."""
    kinds = {
        "systemInstruction": types.Content,
        "generationConfig": types.GenerationConfig,
        "toolConfig": types.ToolConfig,
    }
    assert payload.keys() <= {"model", "contents", "tools", "store", "serviceTier", *kinds}
    beside = {field: payload[field] for field in ("store", "serviceTier") if field in payload}
    types.GenerateContentConfig.model_validate_json(json.dumps(beside))
    for field, kind in kinds.items():
        if field in payload:
            kind.model_validate_json(json.dumps(payload[field]))
    for content in payload["contents"]:
        types.Content.model_validate_json(json.dumps(content))
    for tool in payload.get("tools", ()):
        types.Tool.model_validate_json(json.dumps(tool))


@needs_samples
class TestSamples:
    def test_every_recorded_request_comes_back(self):
        calls = recorded("gemini")
        assert len(calls) > 20
        for call in calls:
            model = call.url.rpartition("/")[2].partition(":")[0]
            assert request_again(call.request, model=model)["model"] == model

    def test_every_recorded_answer_comes_back(self):
        answers = [part for call in recorded("gemini") for part in _answers(call)]
        assert len(answers) > 28
        for payload in answers:
            response_again(payload)

    def test_contents_of_session_files_come_back(self):
        lines = (SAMPLES / "gemini_cli/qwen-code/representative/chat-records.jsonl").read_text("utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        turns = [record["message"] for record in records if "parts" in record.get("message", {})]
        request = request_again({"contents": turns})
        assert len(request["messages"]) == 4

    @pytest.mark.parametrize("other", ["anthropic", "openai_chat", "openai_responses"])
    def test_what_others_recorded_is_written_as_the_sdk_accepts_it(self, other):
        source = wire_format(other.replace("_", "-"))
        written = 0
        for call in recorded(other):
            if isinstance(call.request, dict) and call.request.get("model"):
                request = source.request_from_wire(call.request)
                payload, losses = gemini.request_to_wire(request)
                accepted_request(payload)
                assert lost_words(request, losses, payload) == []
                written += 1
            if call.status == 200 and isinstance(call.answer, dict):
                response = source.response_from_wire(call.answer)
                payload, losses = gemini.response_to_wire(response)
                types.GenerateContentResponse.model_validate_json(json.dumps(payload))
                assert lost_words(response, losses, payload) == []
        assert written


def _answers(call):
    if call.stream is None:
        return [call.answer]
    lines = call.stream.decode().splitlines()
    return [json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:")]
