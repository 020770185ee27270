"""Anthropic's Messages API: what the specification shows, the traps, the laws, and every recorded call."""

import copy
import json

import jsonschema_rs
import pytest
from anthropic.types import Message, MessageCreateParams
from anthropic.types.beta import BetaMessage
from anthropic.types.beta import MessageCreateParams as BetaMessageCreateParams
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

import exchanging
from cassettes import SAMPLES, needs_samples, recorded
from exchanging import agrees, lost_words
from palaver.model import build, compose
from palaver.model.schemas import published_schema
from palaver.streams import assemble
from palaver.wire import anthropic, formats, wire_format
from palaver.wire._contract import Loss
from palaver.wire._errors import is_retryable

OTHERS = [name for name in formats() if name != "anthropic"]
SONNET = "claude-sonnet-4-5-20250929"
EXCHANGE = jsonschema_rs.validator_for(published_schema("exchange"))
REQUEST = TypeAdapter(MessageCreateParams)
BETA_REQUEST = TypeAdapter(BetaMessageCreateParams)
law = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def same(one, other):
    """Equal as JSON: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def request(*messages, **fields):
    return {"model": SONNET, "max_tokens": 100, "messages": list(messages), **fields}


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def response(*content, **fields):
    head = {"id": "msg_01", "type": "message", "role": "assistant", "model": SONNET, "content": list(content)}
    usage = {"input_tokens": 7, "output_tokens": 5}
    return {**head, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage, **fields}


def asked(*messages, **fields):
    """A request of an exchange, such as another provider's."""
    return {"model": SONNET, "messages": list(messages), "max_output_tokens": 100, **fields}


def comes_back(payload):
    """Reading and writing the same format gives an equal payload, without a loss, and leaves the argument alone."""
    before = copy.deepcopy(payload)
    read = anthropic.request_from_wire(payload)
    written = anthropic.request_to_wire(read)
    assert same(payload, before)
    assert same(written.payload, payload)
    assert written.losses == []
    return read


def answers_back(payload):
    before = copy.deepcopy(payload)
    read = anthropic.response_from_wire(payload)
    written = anthropic.response_to_wire(read)
    assert same(payload, before)
    assert same(written.payload, payload)
    assert written.losses == []
    return read


def places(losses):
    return [(loss.pointer, loss.change) for loss in losses]


class TestSpecification:
    """The examples of the exchange's specification, in both directions."""

    def test_a_request(self):
        made = compose.request(SONNET)
        compose.set_system(made, "You are helpful")
        compose.add_message(made, "user", "Hello")
        compose.set_thinking(made, "med", include_summary=True)
        made["max_output_tokens"] = 4096
        written = anthropic.request_to_wire(made)
        assert written.payload == {
            "model": SONNET,
            "system": "You are helpful",
            "messages": [{"role": "user", "content": "Hello"}],
            "thinking": {"type": "enabled", "budget_tokens": 43000},
            "max_tokens": 43000 + 4096,
        }
        assert places(written.losses) == [("/max_output_tokens", "changed")]

    def test_the_same_request_read(self):
        """Its `max_tokens` is below the budget (trap 16): as it was stated, it comes back."""
        read = comes_back(
            {
                "model": SONNET,
                "system": "You are helpful",
                "messages": [{"role": "user", "content": "Hello"}],
                "thinking": {"type": "enabled", "budget_tokens": 43000},
                "max_tokens": 4096,
            }
        )
        assert read["system"] == [build.text("You are helpful")]
        assert read["messages"] == [{"role": "user", "content": [build.text("Hello")]}]
        assert read["thinking"] == {"level": "med", "include_summary": True}
        assert read["max_output_tokens"] == 4096

    def test_a_call_and_its_result(self):
        call = build.tool_use(id="toolu_01A09", name="read_file", input={"path": "/etc/hosts"})
        result = build.tool_result(tool_use_id="toolu_01A09", content="127.0.0.1 localhost\n...")
        written = anthropic.request_to_wire(asked(user(build.text("Read")), assistant(call), user(result)))
        assert written.losses == []
        assert written.payload["messages"][1:] == [
            assistant(
                {"type": "tool_use", "id": "toolu_01A09", "name": "read_file", "input": {"path": "/etc/hosts"}},
            ),
            user({"type": "tool_result", "tool_use_id": "toolu_01A09", "content": "127.0.0.1 localhost\n..."}),
        ]
        assert comes_back(written.payload)["messages"][1:] == [assistant(call), user(result)]

    @pytest.mark.parametrize(
        ("model", "level", "tokens"),
        [
            ("claude-sonnet-4-5", "med", 43000),
            ("claude-opus-4-5", "med", 43000),
            ("claude-sonnet-4-5", "low", 22016),
            ("claude-sonnet-4-5", "high", 64000),
            ("claude-haiku-4-5", "med", 21674),
            ("claude-3-7-sonnet-latest", "low", 11349),
            ("claude-opus-4-1", "med", 43008),
        ],
    )
    def test_levels_are_budgets(self, model, level, tokens):
        thinking = {"level": level, "include_summary": True}
        written = anthropic.request_to_wire(
            {"model": model, "messages": [user(build.text("Hi"))], "thinking": thinking, "max_output_tokens": 99_999}
        )
        assert written.losses == []
        assert written.payload["thinking"] == {"type": "enabled", "budget_tokens": tokens}
        assert anthropic.request_from_wire(written.payload)["thinking"] == thinking


class TestRequests:
    def test_one_system_block_is_a_string_and_several_are_a_list(self):
        one, two = build.text("Be brief."), build.text("Be kind.")
        hello = user(build.text("Hi"))
        assert anthropic.request_to_wire(asked(hello, system=[one])).payload["system"] == "Be brief."
        assert anthropic.request_to_wire(asked(hello, system=[one, two])).payload["system"] == [one, two]

    def test_both_spellings_of_one_text_come_back(self):
        text = build.text("Hi")
        listed = comes_back(request(user(text), assistant(text), system=[text]))
        stated = comes_back(request({"role": "user", "content": "Hi"}, system="Hi"))
        mixed = comes_back(request({"role": "user", "content": "Hi"}, assistant(text)))
        assert listed["system"] == stated["system"] == [text]
        assert listed["messages"] == [user(text), assistant(text)]
        assert "provider_data" not in stated
        assert [message["content"] for message in mixed["messages"]] == [[text], [text]]

    def test_a_system_message_keeps_its_place(self):
        read = comes_back(
            request(
                user(build.text("Review it.")),
                {"role": "system", "content": [build.text("Type annotations, please.")]},
                assistant(build.text("def add(a: int, b: int) -> int: …")),
            )
        )
        assert [message["role"] for message in read["messages"]] == ["user", "user", "assistant"]
        assert read["messages"][1]["provider_data"] == {"anthropic": {"role": "system"}}

    def test_adjacent_messages_of_one_role_stay_apart(self):
        """Trap 18."""
        read = comes_back(request(*(user(build.text(f"Question {number}")) for number in range(4))))
        assert len(read["messages"]) == 4

    def test_tools_of_anthropic_keep_their_place_among_the_others(self):
        schema = {"type": "object", "properties": {"place": {"type": "string"}}}
        search = {"type": "web_search_20250305", "name": "web_search", "max_uses": None}
        weather = {"name": "weather", "description": "Of a place", "input_schema": schema, "defer_loading": True}
        time = {"name": "time", "input_schema": schema, "strict": True}
        read = comes_back(request(user(build.text("Hi")), tools=[weather, search, time]))
        assert read["tools"] == [
            {
                "name": "weather",
                "description": "Of a place",
                "parameters": schema,
                "strict": False,
                "provider_data": {"anthropic": {"defer_loading": True}},
            },
            {"name": "time", "parameters": schema, "strict": True},
        ]
        assert read["provider_data"]["anthropic"]["tools"] == [[1, search]]
        read["tools"].pop()
        assert anthropic.request_to_wire(read).payload["tools"] == [weather, search]

    def test_tools_without_a_type_of_their_input_get_one(self):
        tool = {"name": "now", "parameters": {}, "strict": False}
        written = anthropic.request_to_wire(asked(user(build.text("Hi")), tools=[tool]))
        assert written.payload["tools"] == [{"name": "now", "input_schema": {"type": "object"}}]
        assert places(written.losses) == [("/tools/0/parameters", "changed")]
        comes_back(request(user(build.text("Hi")), tools=[{"name": "now", "input_schema": {}}]))

    @pytest.mark.parametrize(
        ("wire", "choice"),
        [
            ({"type": "auto"}, {"type": "auto"}),
            ({"type": "any", "disable_parallel_tool_use": True}, {"type": "required"}),
            ({"type": "tool", "name": "weather"}, {"type": "specific", "name": "weather"}),
            ({"type": "none"}, {"type": "none"}),
            ({"type": "some_day"}, None),
            (None, None),
        ],
    )
    def test_choices(self, wire, choice):
        assert comes_back(request(user(build.text("Hi")), tool_choice=wire)).get("tool_choice") == choice

    @pytest.mark.parametrize(
        ("wire", "level", "is_shown"),
        [
            ({"thinking": {"type": "disabled"}}, "none", False),
            ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low", True),
            ({"thinking": {"type": "enabled", "budget_tokens": 30000, "display": "omitted"}}, "low", False),
            ({"thinking": {"type": "enabled", "budget_tokens": 60000, "display": "summarized"}}, "high", True),
            ({"thinking": {"type": "adaptive"}}, "high", True),
            ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}, "med", True),
            ({"thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}}, "high", True),
        ],
    )
    def test_thinking(self, wire, level, is_shown):
        read = comes_back(request(user(build.text("Hi")), **wire))
        assert read["thinking"] == {"level": level, "include_summary": is_shown}

    def test_a_level_that_was_changed_is_not_overruled(self):
        thinking = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
        read = anthropic.request_from_wire(request(user(build.text("Hi")), **thinking))
        read["thinking"]["level"] = "high"
        written = anthropic.request_to_wire(read)
        assert written.payload["thinking"] == {"type": "enabled", "budget_tokens": 64000}
        assert places(written.losses) == [
            ("/max_output_tokens", "changed"),
            ("/provider_data/anthropic/thinking", "changed"),
        ]

    def test_a_budget_is_below_max_tokens(self):
        """Trap 16: the limit of the answer is added to the budget."""
        thinking = {"level": "low", "include_summary": True}
        hello = user(build.text("Hi"))
        enough = anthropic.request_to_wire(asked(hello, thinking=thinking) | {"max_output_tokens": 22017})
        equal = anthropic.request_to_wire(asked(hello, thinking=thinking) | {"max_output_tokens": 22016})
        unsaid = anthropic.request_to_wire({"model": SONNET, "messages": [hello], "thinking": thinking})
        assert (enough.payload["max_tokens"], enough.losses) == (22017, [])
        assert (equal.payload["max_tokens"], places(equal.losses)) == (44032, [("/max_output_tokens", "changed")])
        assert (unsaid.payload["max_tokens"], places(unsaid.losses)) == (30208, [])

    def test_sampling(self):
        stated = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop_sequences": ["END"]}
        read = comes_back(request(user(build.text("Hi")), **stated))
        assert read["sampling"] == stated
        assert "provider_data" not in anthropic.request_from_wire(request({"role": "user", "content": "Hi"}, **stated))
        written = anthropic.request_to_wire(asked(user(build.text("Hi")), sampling={"temperature": 1.5, "seed": 3}))
        assert written.payload["temperature"] == 1
        assert places(written.losses) == [("/sampling/seed", "dropped"), ("/sampling/temperature", "changed")]
        comes_back(request(user(build.text("Hi")), temperature=1.5, stop_sequences=[], top_p=None))

    def test_what_has_no_place_is_kept(self):
        fields = {
            "metadata": {"user_id": "someone"},
            "service_tier": "auto",
            "stream": True,
            "container": None,
            "context_management": {"edits": []},
            "mcp_servers": [{"type": "url", "name": "docs", "url": "https://mcp.example"}],
            "output_config": {"format": {"type": "json_schema", "schema": {}}},
            "cache_control": {"type": "ephemeral"},
        }
        read = comes_back(request({"role": "user", "content": "Hi"}, **fields))
        assert (read["user"], read["service_tier"], read["stream"]) == ("someone", "auto", True)
        assert read["output_format"] == {"type": "json_schema", "json_schema": {}}
        others = ("container", "context_management", "mcp_servers", "cache_control")
        assert read["provider_data"] == {"anthropic": {name: fields[name] for name in others}}


CACHED = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
CITED = {
    "type": "char_location",
    "cited_text": "green",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 5,
}
PICTURE = {"type": "base64", "media_type": "image/png", "data": exchanging.PNG}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}


@pytest.mark.parametrize(
    ("wire", "counterpart"),
    [
        (build.text("Hi") | CACHED, build.text("Hi")),
        (build.text("Hi", citations=[CITED]), build.text("Hi", citations=[CITED])),
        (build.text("Hi") | {"citations": None}, build.text("Hi")),
        (build.text("Hi", citations=[{"type": "some_day"}]), build.text("Hi", citations=[{"type": "some_day"}])),
        (build.text("Hi", citations=[{"type": []}]), build.text("Hi", citations=[{"type": []}])),
        ({"type": "thinking", "thinking": "Hm", "signature": "seal"}, build.thinking("Hm", signature="seal")),
        ({"type": "thinking", "thinking": "", "signature": "seal"}, build.thinking("", signature="seal")),
        ({"type": "thinking", "thinking": "Hm", "signature": ""}, build.thinking("Hm")),
        ({"type": "thinking", "thinking": "Hm"}, build.thinking("Hm")),
        ({"type": "redacted_thinking", "data": "dark"}, build.thinking("", redacted_data="dark")),
        (
            build.tool_use(id="toolu_1", name="weather", input={}) | {"caller": {"type": "direct"}},
            build.tool_use(id="toolu_1", name="weather", input={}),
        ),
        (
            {"type": "tool_result", "tool_use_id": "toolu_1"},
            build.tool_result(tool_use_id="toolu_1", content=""),
        ),
        (
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [build.text("18 °C")], "is_error": True}
            | CACHED,
            build.tool_result(tool_use_id="toolu_1", content=[build.text("18 °C")], is_error=True),
        ),
        (
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": None, "is_error": False},
            build.tool_result(tool_use_id="toolu_1", content=""),
        ),
        ({"type": "image", "source": PICTURE} | CACHED, build.image(PICTURE)),
        (
            {"type": "image", "source": {"type": "url", "url": "https://pictures.example/a.png"}},
            build.image(build.source("url", "https://pictures.example/a.png")),
        ),
        (
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            build.image(build.source("file", "file_1")),
        ),
        (
            {
                "type": "document",
                "source": PDF,
                "title": "a.pdf",
                "context": "A contract",
                "citations": {"enabled": True},
            },
            build.file(source=PDF, name="a.pdf"),
        ),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi"}, "title": None},
            build.file(media_type="text/plain", text="Hi"),
        ),
        (
            {"type": "document", "source": {"type": "content", "content": [build.text("a"), build.text("b")]}},
            build.file(media_type="text/plain", text="a\nb"),
        ),
        (
            {"type": "document", "source": {"type": "content", "content": "a"}},
            build.file(media_type="text/plain", text="a"),
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "https://papers.example/a.pdf"}},
            build.file(source=build.source("url", "https://papers.example/a.pdf")),
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            build.file(source=build.source("file", "file_1")),
        ),
    ],
)
def test_blocks_and_their_counterparts(wire, counterpart):
    block = comes_back(request(user(wire, build.text("!"))))["messages"][0]["content"][0]
    block.pop("provider_data", None)
    assert block == counterpart


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "palaver"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_1", "content": {"type": "web_fetch_result"}},
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"stdout": "4"}},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "docs", "input": {}},
        {
            "type": "mcp_tool_result",
            "tool_use_id": "mcptoolu_1",
            "is_error": False,
            "content": [build.text("It is so")],
        },
        {"type": "search_result", "source": "https://a.example", "title": "A", "content": [build.text("It is so")]},
        {"type": "container_upload", "file_id": "file_1"} | CACHED,
        {"type": "tool_reference", "tool_name": "weather"},
        {"type": "compaction", "content": "So far…", "encrypted_content": None},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "AA=="}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "image", "source": PICTURE}]}},
        {"type": "text"},
        {"type": ""},
        {},
        "text",
        None,
    ],
)
def test_what_has_no_counterpart_is_kept_whole(wire):
    read = comes_back(request(assistant(build.text("a"), wire, build.text("b"))))
    kind = (wire.get("type") if isinstance(wire, dict) else None) or "block"
    block = {"type": "opaque", "kind": kind, "raw": wire, "provider_data": {"anthropic": {}}}
    assert read["messages"][0]["content"] == [build.text("a"), block, build.text("b")]
    assert answers_back(response(wire))["content"] == [block]


class TestCalls:
    def test_arguments_that_are_no_object(self):
        """Trap 15."""
        pieces = [
            {"type": "tool_use", "id": f"toolu_{number}", "name": "run", "input": given}
            for number, given in enumerate(['{"a":  1}', "{broken", "[1]", "", [1]])
        ]
        read = comes_back(request(assistant(*pieces)))
        expected = [{"a": 1}, {"raw": "{broken"}, {"raw": "[1]"}, {}, {"raw": "[1]"}]
        assert [block["input"] for block in read["messages"][0]["content"]] == expected

    def test_arguments_that_were_changed_are_not_overruled(self):
        call = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": "{broken", "caller": {"type": "direct"}}
        read = anthropic.request_from_wire(request(assistant(call)))
        read["messages"][0]["content"][0]["input"] = {"a": 1}
        written = anthropic.request_to_wire(read)
        assert written.payload["messages"] == [assistant(call | {"input": {"a": 1}})]
        assert places(written.losses) == [("/messages/0/content/0/provider_data/anthropic/input", "changed")]

    def test_missing_ids_are_made_up_in_order(self):
        call, result = {"type": "tool_use", "name": "run", "input": {}}, {"type": "tool_result", "content": "done"}
        read = comes_back(request(assistant(call, call), user(result, result), assistant(call), user(result)))
        ids = [block.get("id", block.get("tool_use_id")) for turn in read["messages"] for block in turn["content"]]
        assert ids == ["call_1", "call_2", "call_1", "call_2", "call_3", "call_3"]

    def test_a_result_within_a_result_is_not_walked(self):
        nested = build.text("at last")
        for number in range(200):
            nested = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": [nested]} | CACHED
        read = comes_back(request(user(nested)))
        assert read["messages"][0]["content"][0]["content"][0]["kind"] == "tool_result"

    def test_a_result_is_no_error_unless_it_says_so(self):
        states = {"is_error": False}
        results = [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": ""} for number in range(2)]
        all_say = comes_back(request(user(*(result | states for result in results))))
        one_says = comes_back(request(user(results[0], results[1] | states)))
        assert all_say["provider_data"] == {"anthropic": {"_form": {"is_error": "stated"}}}
        assert all_say["messages"][0]["content"] == [result | states for result in results]
        assert one_says["messages"][0]["content"][1]["provider_data"] == {"anthropic": states}


class TestOtherProviders:
    """What is written of an exchange that came from elsewhere, and what is lost."""

    def test_results_of_tools_are_the_user_s(self):
        result = build.tool_result(tool_use_id="call_1", content="done")
        written = anthropic.request_to_wire(asked({"role": "tool", "content": [result]}))
        assert written.payload["messages"][0]["role"] == "user"
        assert written.losses == []
        written = anthropic.request_to_wire(asked({"role": "tool", "content": [build.text("done")]}))
        assert places(written.losses) == [("/messages/0/role", "changed")]

    def test_thinking_without_a_seal_is_sent_as_text(self):
        written = anthropic.request_to_wire(asked(assistant(build.thinking("Hm"), build.text("Hi"))))
        assert written.payload["messages"][0]["content"][0] == build.text("<thinking>\nHm\n</thinking>")
        assert places(written.losses) == [("/messages/0/content/0", "changed")]

    @pytest.mark.parametrize(
        "foreign",
        [
            lambda block: asked(assistant(block | {"provider_data": {"gemini": {"thought": True}}})),
            lambda block: asked(assistant(block) | {"provider": "google"}),
            lambda block: asked(assistant(block) | {"provider_data": {"openai_responses": {"id": "rs_1"}}}),
            lambda block: asked(assistant(block), provider_data={"openai_responses": {"store": False}}),
        ],
    )
    def test_another_provider_s_seal_is_not_sent(self, foreign):
        sealed = build.thinking("Hm", signature="SEALED", redacted_data="HIDDEN")
        written = anthropic.request_to_wire(foreign(sealed))
        assert "SEALED" not in json.dumps(written.payload)
        assert "HIDDEN" not in json.dumps(written.payload)
        assert Loss(
            "/messages/0/content/0", "thinking without Anthropic's signature is written as text", "changed"
        ) in (written.losses)
        hidden = anthropic.request_to_wire(foreign(build.thinking("", redacted_data="HIDDEN")))
        assert "HIDDEN" not in json.dumps(hidden.payload)
        assert ("/messages/0/content/0", "dropped") in places(hidden.losses)

    def test_another_provider_s_seal_is_not_answered(self):
        sealed = build.thinking("Hm", signature="SEALED") | {"provider_data": {"gemini": {}}}
        written = anthropic.response_to_wire({"content": [sealed], "finish_reason": "stop"})
        assert written.payload["content"] == [{"type": "thinking", "thinking": "Hm", "signature": ""}]
        assert places(written.losses) == [("/content/0/signature", "dropped")]

    def test_what_other_formats_keep_is_lost_where_it_holds_anything(self):
        foreign = {"provider_data": {"openai_chat": {"x": 1}, "gemini": {}}}
        made = asked(
            user(build.text("Hi") | foreign) | foreign,
            tools=[{"name": "now", "parameters": {"type": "object"}, "strict": False} | foreign],
            **foreign,
        )
        assert sorted(places(anthropic.request_to_wire(made).losses)) == [
            ("/messages/0/content/0/provider_data/openai_chat/x", "dropped"),
            ("/messages/0/provider_data/openai_chat/x", "dropped"),
            ("/provider_data/openai_chat/x", "dropped"),
            ("/tools/0/provider_data/openai_chat/x", "dropped"),
        ]

    def test_an_opaque_block_of_another_format_is_dropped_and_its_message_with_it(self):
        opaque = build.opaque(kind="refusal", raw={"text": "No."}) | {"provider_data": {"openai_chat": {}}}
        written = anthropic.request_to_wire(asked(user(build.text("Hi")), assistant(opaque)))
        assert [message["role"] for message in written.payload["messages"]] == ["user"]
        assert places(written.losses) == [("/messages/1/content/0", "dropped"), ("/messages/1", "dropped")]
        assert "holds text" in written.losses[0].reason

    @pytest.mark.parametrize(
        ("block", "wire", "losses"),
        [
            (
                build.code("a = '```'", language="python", file_path="a.py"),
                build.text("````python\na = '```'\n````"),
                [("", "changed")],
            ),
            (build.image(PICTURE, alt_text="A cat"), {"type": "image", "source": PICTURE}, [("/alt_text", "dropped")]),
            (
                build.image(build.source("base64", exchanging.PNG)),
                {"type": "image", "source": PICTURE},
                [("/source", "changed")],
            ),
            (
                build.image(build.source("url", f"data:image/png;base64,{exchanging.PNG}")),
                {"type": "image", "source": PICTURE},
                [("/source", "changed")],
            ),
            (
                build.image(build.source("url", "https://a.example/a.png", media_type="image/png")),
                {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}},
                [("/source/media_type", "dropped")],
            ),
            (build.image(build.source("base64", "AA==", media_type="image/tiff")), None, [("", "dropped")]),
            (
                build.image(build.source("file", "file_1")) | {"provider_data": {"openai_responses": {}}},
                None,
                [("", "dropped")],
            ),
            (
                build.file(source=PICTURE, name="cat.png"),
                {"type": "image", "source": PICTURE},
                [("", "changed")],
            ),
            (
                build.file(source=build.source("base64", "SGk=", media_type="text/csv"), name="a.csv"),
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "Hi"},
                    "title": "a.csv",
                },
                [("", "changed")],
            ),
            (
                build.file(text="Hi", media_type="text/markdown"),
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi"}},
                [("/media_type", "changed")],
            ),
            (
                build.file(source=PDF, media_type="application/pdf", text="Hi"),
                {"type": "document", "source": PDF},
                [("/media_type", "dropped"), ("/text", "dropped")],
            ),
            (build.file(source=build.source("base64", "AA==", media_type="audio/wav")), None, [("", "dropped")]),
            (build.file(name="a.pdf"), None, [("", "dropped")]),
            (
                build.file(text="Hi"),
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi"}},
                [("", "changed")],
            ),
            (
                build.file(source=build.source("base64", "JVBERi0=")),
                {"type": "document", "source": PDF},
                [("/source", "changed")],
            ),
            (
                build.thinking("Hm", signature="seal", redacted_data="dark"),
                {"type": "thinking", "thinking": "Hm", "signature": "seal"},
                [("/redacted_data", "dropped")],
            ),
            (build.thinking(""), None, [("", "dropped")]),
            (
                build.tool_result(tool_use_id="call_1", content="", metadata={"exit_code": 1}),
                {"type": "tool_result", "tool_use_id": "call_1", "content": ""},
                [("/metadata", "dropped")],
            ),
            (
                build.text("Hi", citations=[{"type": "url_citation"}, CITED]),
                build.text("Hi", citations=[CITED]),
                [("/citations/0", "dropped")],
            ),
            (build.text("Hi", citations=[{"type": "url_citation"}]), build.text("Hi"), [("/citations", "dropped")]),
        ],
    )
    def test_blocks(self, block, wire, losses):
        made = asked(user(build.text("!"), block))
        written = anthropic.request_to_wire(made)
        assert written.payload["messages"][0]["content"] == ([build.text("!"), wire] if wire else "!")
        assert agrees(made, written.losses, anthropic.request_from_wire(written.payload))
        assert places(written.losses) == [(f"/messages/0/content/1{pointer}", change) for pointer, change in losses]

    def test_an_assistant_sends_no_picture(self):
        written = anthropic.request_to_wire(asked(assistant(build.text("Here"), build.image(PICTURE))))
        assert places(written.losses) == [("/messages/0/content/1", "dropped")]
        comes_back(request(assistant(build.text("Here"), {"type": "image", "source": PICTURE})))

    def test_fields_without_a_place(self):
        made = asked(user(build.text("Hi")) | {"model": "gpt-5", "thinking": "low", "provider": "openai"}, note="mine")
        assert sorted(places(anthropic.request_to_wire(made).losses)) == [
            ("/messages/0/model", "dropped"),
            ("/messages/0/provider", "dropped"),
            ("/messages/0/thinking", "dropped"),
            ("/note", "dropped"),
        ]


class TestResponses:
    @pytest.mark.parametrize(
        ("stop", "finish"),
        [
            ({"stop_reason": "end_turn"}, "stop"),
            ({"stop_reason": "stop_sequence", "stop_sequence": "END"}, "stop"),
            ({"stop_reason": "max_tokens"}, "length"),
            ({"stop_reason": "model_context_window_exceeded"}, "length"),
            ({"stop_reason": "tool_use"}, "tool_use"),
            (
                {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "bio", "explanation": None}},
                "content_filter",
            ),
            ({"stop_reason": "pause_turn"}, "unknown"),
            ({"stop_reason": "compaction"}, "unknown"),
            ({"stop_reason": None}, "unknown"),
        ],
    )
    def test_reasons_to_stop(self, stop, finish):
        assert answers_back(response(build.text("Hi"), **stop))["finish_reason"] == finish

    def test_a_reason_that_was_changed_is_not_overruled(self):
        read = anthropic.response_from_wire(
            response(build.text("Hi"), stop_reason="stop_sequence", stop_sequence="END")
        )
        read["finish_reason"] = "length"
        written = anthropic.response_to_wire(read)
        assert written.payload["stop_reason"] == "max_tokens"
        assert places(written.losses) == [("/provider_data/anthropic/stop_reason", "changed")]

    @pytest.mark.parametrize(
        ("wire", "counts"),
        [
            ({"input_tokens": 7, "output_tokens": 5}, {"input_tokens": 7, "output_tokens": 5}),
            (
                {
                    "input_tokens": 7,
                    "output_tokens": 50,
                    "cache_creation_input_tokens": 100,
                    "cache_read_input_tokens": 20,
                    "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
                    "output_tokens_details": {"thinking_tokens": 30},
                    "service_tier": "standard",
                },
                {
                    "input_tokens": 127,
                    "output_tokens": 20,
                    "thinking_tokens": 30,
                    "cached_tokens": 20,
                    "cache_write_tokens": 100,
                },
            ),
            (
                {
                    "input_tokens": None,
                    "output_tokens": 5,
                    "cache_creation_input_tokens": None,
                    "cache_read_input_tokens": None,
                    "server_tool_use": None,
                },
                {"input_tokens": None, "output_tokens": 5, "cached_tokens": None, "cache_write_tokens": None},
            ),
            ({"output_tokens": 5}, {"output_tokens": 5}),
            ({"input_tokens": 0, "output_tokens": 0}, None),
        ],
    )
    def test_usage(self, wire, counts):
        """Trap 13: null counts stay null."""
        usage = answers_back(response(build.text("Hi"), usage=wire)).get("usage")
        assert usage is counts is None or {name: usage[name] for name in usage if name != "provider_data"} == counts

    def test_cached_tokens_that_another_provider_counts_as_input_are_counted_apart(self):
        usage = {"input_tokens": 100, "output_tokens": 10, "cached_tokens": 40, "total_tokens": 110}
        written = anthropic.response_to_wire({"content": [build.text("Hi")], "finish_reason": "stop", "usage": usage})
        assert written.payload["usage"] == {"input_tokens": 60, "output_tokens": 10, "cache_read_input_tokens": 40}
        assert written.losses == []

    def test_what_must_be_there_is_made_up_and_known_again(self):
        made = {"content": [build.text("Hi")], "finish_reason": "stop"}
        written = anthropic.response_to_wire(made)
        again = anthropic.response_to_wire(made)
        assert written == again
        assert written.losses == []
        assert written.payload["type"] == "message"
        assert written.payload["role"] == "assistant"
        assert written.payload["stop_sequence"] is None
        assert answers_back(written.payload) == made
        answers_back(written.payload | {"id": "msg_made_up_by_somebody_else"})

    def test_a_response_that_lacks_everything(self):
        answers_back({})
        answers_back({"content": None, "usage": None, "model": None, "id": None})
        error = {"type": "error", "error": {"type": "api_error", "message": "Oops"}}
        assert answers_back(error)["finish_reason"] == "error"


class TestErrors:
    @pytest.mark.parametrize(
        ("word", "message", "status", "category"),
        [
            ("overloaded_error", "Overloaded", 529, "overloaded"),
            ("rate_limit_error", "Slow down", 429, "rate_limit"),
            ("authentication_error", "invalid x-api-key", 401, "auth"),
            ("not_found_error", "model: claude-9", 404, "not_found"),
            ("invalid_request_error", "max_tokens: Field required", 400, "invalid_arg"),
            ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", 400, "context_length"),
            ("invalid_request_error", "Your credit balance is too low to access the API", 400, "billing"),
            ("api_error", "Internal server error", None, "server"),
        ],
    )
    def test_categories(self, word, message, status, category):
        payload = {"type": "error", "error": {"type": word, "message": message}, "request_id": "req_1"}
        error = anthropic.error_from_wire(payload, status)
        assert error["category"] == category
        assert error["message"] == message
        assert error.get("status") == status
        assert error["provider_data"] == {"anthropic": {"error": {"type": word}, "request_id": "req_1"}}
        assert is_retryable(error) == (category in {"overloaded", "rate_limit", "server"})

    def test_an_answer_is_no_error(self):
        assert anthropic.error_from_wire(response(build.text("Hi"))) is None

    def test_an_error_without_a_shape_is_still_one(self):
        assert anthropic.error_from_wire({"type": "error", "error": "Oops"}, 502)["category"] == "server"


def kept_words(part, losses, payload):
    return lost_words(part, losses, payload) == []


def with_limit(part):
    """A limit that is not stated is null for the law: the default that is written in its place changes it."""
    return {"max_output_tokens": None, **part}


models = ["claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-8", "gpt-5", "gemini-2.5-flash-lite"]


@law
@given(exchanging.requests(models))
def test_a_request_is_read_as_it_was_written_minus_the_losses(made):
    before = copy.deepcopy(made)
    payload, losses = anthropic.request_to_wire(made)
    assert made == before
    limit = {} if "max_output_tokens" in made else {"max_output_tokens": None}
    assert agrees({**made, **limit}, losses, anthropic.request_from_wire(payload))
    assert kept_words({**made, **limit}, losses, payload)
    comes_back(payload)
    accepted_request(payload, REQUEST)


@law
@given(exchanging.responses)
def test_a_response_is_read_as_it_was_written_minus_the_losses(made):
    before = copy.deepcopy(made)
    payload, losses = anthropic.response_to_wire(made)
    assert made == before
    assert agrees(made, losses, anthropic.response_from_wire(payload))
    assert kept_words(made, losses, payload)
    answers_back(payload)
    accepted_response(payload, Message)


kinds = st.sampled_from(
    [
        *("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document", "search_result"),
        *("server_tool_use", "web_search_tool_result", "", "custom"),
    ]
)
anything = st.recursive(
    exchanging.numbers | st.sampled_from([0.5, "{}", "url"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(exchanging.words, inner, max_size=2),
    max_leaves=4,
)


def maybe(usual):
    """Mostly what it should be, and sometimes not."""
    return usual | usual | usual | anything


def wild(required, **fields):
    odd = st.dictionaries(exchanging.words, anything, max_size=1)
    made = st.fixed_dictionaries(required, optional={name: maybe(usual) for name, usual in fields.items()})
    return st.tuples(odd, made).map(lambda both: {**both[0], **both[1]})


wild_sources = wild(
    {},
    type=st.sampled_from(["base64", "url", "file", "text", "content"]),
    media_type=st.sampled_from(["image/png", "application/pdf", "text/plain"]),
    data=exchanging.texts,
    url=exchanging.words,
    file_id=exchanging.words,
    content=exchanging.texts | st.lists(exchanging.text_blocks, max_size=2),
)
wild_pieces = maybe(exchanging.text_blocks)
wild_blocks = maybe(
    wild(
        {"type": kinds},
        text=exchanging.texts,
        thinking=exchanging.texts,
        signature=exchanging.texts,
        data=exchanging.texts,
        id=exchanging.words,
        name=exchanging.words,
        input=exchanging.inputs,
        tool_use_id=exchanging.words,
        is_error=st.booleans(),
        content=exchanging.texts | st.lists(wild_pieces, max_size=2),
        source=wild_sources,
        title=exchanging.texts,
        citations=st.lists(st.just(CITED), max_size=2),
        cache_control=st.just({"type": "ephemeral"}),
    )
)
wild_contents = exchanging.texts | st.lists(wild_blocks, max_size=3)
wild_tools = wild(
    {},
    name=exchanging.words,
    description=exchanging.texts,
    input_schema=exchanging.inputs,
    strict=st.booleans(),
    type=st.sampled_from(["custom", "bash_20250124"]),
)
wild_requests = wild(
    {"model": exchanging.words},
    max_tokens=st.integers(0, 99_999),
    messages=st.lists(
        maybe(wild({}, role=st.sampled_from(["user", "assistant", "system"]), content=wild_contents)), max_size=3
    ),
    system=wild_contents,
    tools=st.lists(wild_tools, max_size=3),
    tool_choice=wild({}, type=st.sampled_from(["auto", "any", "tool", "none"]), name=exchanging.words),
    thinking=wild(
        {},
        type=st.sampled_from(["enabled", "adaptive", "disabled"]),
        budget_tokens=st.integers(0, 99_999),
        display=st.sampled_from(["omitted", "summarized"]),
    ),
    output_config=wild({}, effort=st.sampled_from(["low", "medium", "max"])),
    temperature=st.sampled_from([0, 0.5, 1.5]),
    top_k=st.integers(0, 9),
    stop_sequences=st.lists(exchanging.words, max_size=2),
)
counts = st.integers(0, 99) | st.none()
wild_responses = wild(
    {},
    id=exchanging.words,
    type=st.sampled_from(["message", "error"]),
    role=st.just("assistant"),
    model=exchanging.words,
    content=st.lists(wild_blocks, max_size=3),
    stop_reason=st.sampled_from(["end_turn", "stop_sequence", "pause_turn", None]),
    stop_sequence=exchanging.words | st.none(),
    usage=wild(
        {},
        input_tokens=counts,
        output_tokens=counts,
        cache_creation_input_tokens=counts,
        cache_read_input_tokens=counts,
        output_tokens_details=wild({}, thinking_tokens=counts),
    ),
)


@law
@given(wild_requests)
def test_whatever_is_asked_comes_back_and_is_a_valid_exchange(payload):
    EXCHANGE.validate(compose.exchange("1", comes_back(payload)))


@law
@given(wild_responses)
def test_whatever_is_answered_comes_back_and_is_a_valid_exchange(payload):
    EXCHANGE.validate(compose.exchange("1", compose.request("m"), answers_back(payload)))


def consumed(value):
    """What the SDK understood; its iterables judge their content only when somebody looks."""
    match value:
        case dict():
            return {key: consumed(inner) for key, inner in value.items()}
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
        case str() | int() | float() | None:
            return value
        case _:
            return [consumed(inner) for inner in value]


def accepted_request(payload, adapter):
    """The SDK's types take it, and know every field but those that it leaves open or no longer names."""
    unknown = {"temperature", "top_p", "top_k"}
    judged = {key: value for key, value in payload.items() if key not in unknown}
    understood = consumed(adapter.validate_python(judged))
    for part in (judged, understood):
        part["tools"] = [{**tool, "input_schema": None} for tool in part.get("tools", ())]
    assert understood == judged


def accepted_response(payload, model):
    read = model.model_validate_json(json.dumps(payload), strict=True)
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == payload


def traces():
    """Bodies of requests and responses in logs of a proxy."""
    for file in sorted((SAMPLES / "claude_trace").rglob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            bodies = [(entry.get(side) or {}).get("body") for side in ("request", "response")]
            yield [body if isinstance(body, dict) else None for body in bodies]


def portable(value):
    """Without what only another provider understands."""
    match value:
        case dict():
            return {key: portable(inner) for key, inner in value.items() if key != "provider_data"}
        case list():
            return [portable(inner) for inner in value]
        case _:
            return value


@needs_samples
class TestSamples:
    def test_every_recorded_request_comes_back(self):
        requests = [call.request for call in recorded("anthropic")] + [sent for sent, _ in traces() if sent]
        assert len(requests) > 100
        for payload in requests:
            EXCHANGE.validate(compose.exchange("1", comes_back(payload)))

    def test_every_recorded_response_comes_back(self):
        calls = recorded("anthropic")
        answers = [call.answer for call in calls if call.answer is not None]
        answers += [assemble("anthropic", call.stream).payload for call in calls if call.stream is not None]
        answers += [answer for _, answer in traces() if answer]
        assert len(answers) > 90
        for payload in answers:
            EXCHANGE.validate(compose.exchange("1", compose.request("m"), answers_back(payload)))

    def test_every_turn_of_a_session_comes_back(self):
        """Claude Code keeps messages as the API sends and takes them."""
        turns = 0
        for file in sorted((SAMPLES / "claude_code").rglob("*.jsonl")):
            for line in file.read_text("utf-8", errors="replace").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                message = entry.get("message") if isinstance(entry, dict) else None
                if isinstance(message, dict):
                    comes_back({"model": "m", "messages": [message]})
                    answers_back(message)
                    turns += 1
        assert turns > 2000

    def test_the_sdk_accepts_what_comes_back(self):
        for call in recorded("anthropic"):
            written = anthropic.request_to_wire(anthropic.request_from_wire(call.request))
            accepted_request(written.payload, BETA_REQUEST)

    @pytest.mark.parametrize("other", OTHERS)
    def test_what_others_asked_and_were_answered_is_accepted_by_the_sdk(self, other):
        module = wire_format(other)
        requests = responses = 0
        for call in recorded(other.replace("-", "_")):
            if call.request is not None:
                made = module.request_from_wire(call.request)
                written = anthropic.request_to_wire(made)
                accepted_request(written.payload, REQUEST)
                assert kept_words(with_limit(made), written.losses, written.payload)
                requests += 1
            if call.answer is not None and module.error_from_wire(call.answer, call.status) is None:
                made = module.response_from_wire(call.answer)
                written = anthropic.response_to_wire(made)
                accepted_response(written.payload, Message)
                assert kept_words(made, written.losses, written.payload)
                responses += 1
        assert requests
        assert responses

    @pytest.mark.parametrize("other", OTHERS)
    def test_what_others_asked_is_read_as_it_was_written_minus_the_losses(self, other):
        module = wire_format(other)
        for call in recorded(other.replace("-", "_")):
            if call.request is not None:
                made = with_limit(module.request_from_wire(call.request))
                payload, losses = anthropic.request_to_wire(made)
                others = [loss for loss in losses if "/provider_data/" not in loss.pointer]
                assert agrees(portable(made), others, anthropic.request_from_wire(payload)), call.name


@needs_samples
def test_the_sdk_accepts_recorded_responses_that_come_back():
    """But for two that lack a count of the SDK's."""
    refused = 0
    for call in recorded("anthropic"):
        if call.answer is not None:
            written = anthropic.response_to_wire(anthropic.response_from_wire(call.answer))
            counts = written.payload["usage"].get("server_tool_use")
            if counts and "web_fetch_requests" not in counts:
                refused += 1
            else:
                accepted_response(written.payload, BetaMessage)
    assert refused == 2
