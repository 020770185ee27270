import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.streams import assemble, assembler
from palaver.streams.event_parsers import events_of, events_of_lines
from stream_oracles import chat_completion
from streaming import assembled, kinds, sse, without_unsaid

HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 5, "model": "gpt-5", "service_tier": "auto"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}


def choice(delta, index=0, finish_reason=None, **more):
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason, **more}


def chunk(*choices, **more):
    return {**HEAD, "choices": list(choices), "usage": None, **more}


def delta(index=0, **fields):
    return chunk(choice(fields, index))


def call(arguments, at=0, **more):
    return delta(tool_calls=[{"index": at, "function": {"arguments": arguments}, **more}])


def begun(name, at=0, identifier=None):
    piece = {"index": at, "id": identifier or f"call_{at}", "type": "function"}
    return delta(tool_calls=[{**piece, "function": {"name": name, "arguments": ""}}])


def finished(reason="stop", *indexes):
    return chunk(*(choice({}, index, reason) for index in indexes or (0,)))


FIRST = delta(role="assistant", content="", refusal=None)
LAST = (chunk(usage=USAGE), "[DONE]")


def whole(*chunks, reason="stop"):
    made = assemble("openai_chat", sse(FIRST, *chunks, finished(reason), *LAST))
    assert made.is_complete
    return made


def message(made, index=0):
    return made.payload["choices"][index]["message"]


TEXTS = st.lists(st.text(max_size=4), max_size=4)
LOGPROB = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}


@st.composite
def completions(draw):
    count = draw(st.integers(1, 3))
    chunks = [delta(index, role="assistant", content=None, refusal=None) for index in range(count)]
    waiting = []
    for _ in range(count):
        kinds_told = draw(st.lists(st.sampled_from(["content", "refusal", "reasoning_content", "tools", "logprobs"])))
        told = []
        for kind in dict.fromkeys(kinds_told):
            pieces = draw(TEXTS)
            if kind == "tools":
                for at in range(draw(st.integers(1, 3))):
                    told.append(("tool", at, "begin"))
                    told += [("tool", at, piece) for piece in draw(TEXTS)]
            elif kind == "logprobs":
                told += [("logprobs", 0, piece) for piece in pieces]
            else:
                told += [(kind, 0, piece) for piece in pieces]
        waiting.append(told)
    while any(waiting):
        index = draw(st.sampled_from([at for at, told in enumerate(waiting) if told]))
        kind, at, piece = waiting[index].pop(0)
        if kind == "tool":
            made = begun("read", at) if piece == "begin" else call(piece, at)
        elif kind == "logprobs":
            made = delta(content=piece)
            made["choices"][0]["logprobs"] = {"content": [LOGPROB], "refusal": None}
        else:
            made = delta(**{kind: piece})
        made["choices"][0]["index"] = index
        chunks.append(made)
    reason = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    chunks += [finished(reason, index) for index in range(count)]
    return sse(*chunks, *LAST)


@given(completions())
def test_any_completion_is_what_the_sdk_makes_of_it(body):
    made = assemble("openai_chat", body)
    assert (made.is_complete, made.issues) == (True, [])
    assert made.payload == without_unsaid(chat_completion(body), made.payload)


def test_a_completion_is_one_object():
    made = whole(delta(content="Hel"), delta(content="lo"))
    assert made.payload == {
        **HEAD,
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
    }


def test_tool_calls_are_told_apart_by_their_index():
    pieces = (begun("read"), begun("write", 1), call('{"a"', 1), call("{", 0), call(": 1}", 1), call("}", 0))
    assert message(whole(*pieces, reason="tool_calls"))["tool_calls"] == [
        {"id": "call_0", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        {"id": "call_1", "type": "function", "function": {"name": "write", "arguments": '{"a": 1}'}},
    ]


def test_what_names_a_call_is_said_once_though_some_servers_repeat_it():
    pieces = [begun("read"), *(call(piece, id="call_0", type="function") for piece in ("{", "}"))]
    pieces[1]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = "read"
    pieces.append(call("", id="", type=""))
    made = whole(*pieces, delta(role="assistant", content="x"), delta(role="", content="y"))
    assert message(made)["tool_calls"] == [
        {"id": "call_0", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    ]
    assert message(made)["role"] == "assistant"


def test_several_calls_with_one_index_are_told_apart_by_id_and_name():
    made = whole(begun("read"), call("{}"), begun("write", identifier="call_9"), call("[]"))
    assert [one["function"]["arguments"] for one in message(made)["tool_calls"]] == ["{}", "[]"]
    assert kinds(made) == ["reused_index"]


def test_calls_without_an_index_are_told_apart_by_id():
    pieces = [begun("read"), call("{}"), begun("write", 1), call("[", 1), call("]", 1)]
    for piece in pieces:
        del piece["choices"][0]["delta"]["tool_calls"][0]["index"]
    made = whole(*pieces)
    assert [one["function"]["arguments"] for one in message(made)["tool_calls"]] == ["{}", "[]"]
    assert kinds(made) == ["missing_index"] * 5


def test_a_custom_call_has_an_input():
    first = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": ""}}
    rest = [{"index": 0, "custom": {"input": piece}} for piece in ("select", " 1")]
    made = whole(*(delta(tool_calls=[piece]) for piece in (first, *rest)))
    assert message(made)["tool_calls"] == [
        {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    ]


def test_the_function_call_of_old():
    pieces = ({"name": "read", "arguments": ""}, {"arguments": '{"a"'}, {"arguments": ": 1}"})
    made = whole(*(delta(function_call=piece) for piece in pieces), reason="function_call")
    assert message(made)["function_call"] == {"name": "read", "arguments": '{"a": 1}'}


def test_audio():
    pieces = ({"id": "audio_1", "transcript": "Hel"}, {"transcript": "lo"}, {"data": "AAAA"}, {"data": "BBBB"})
    made = whole(*(delta(audio=piece) for piece in pieces), delta(audio={"expires_at": 7}))
    expected = {"id": "audio_1", "transcript": "Hello", "data": "AAAABBBB", "expires_at": 7}
    assert message(made)["audio"] == expected


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text", "refusal"])
def test_further_texts_are_joined(name):
    made = whole(*(delta(**{name: piece}) for piece in ("a", "b", "c")))
    assert message(made)[name] == "abc"


def test_details_of_reasoning_are_joined_by_kind_and_index():
    def detail(kind, index, **fields):
        return delta(reasoning_details=[{"type": f"reasoning.{kind}", "index": index, "format": "f", **fields}])

    made = whole(
        detail("text", 0, text="a", signature=None),
        detail("text", 0, text="b", signature="s"),
        detail("summary", 1, summary="c"),
        detail("summary", 1, summary="d"),
        detail("encrypted", 2, data="e", id="x"),
        detail("encrypted", 2, data="f", id="y"),
    )
    assert message(made)["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "format": "f", "text": "ab", "signature": "s"},
        {"type": "reasoning.summary", "index": 1, "format": "f", "summary": "cd"},
        {"type": "reasoning.encrypted", "index": 2, "format": "f", "data": "e", "id": "x"},
        {"type": "reasoning.encrypted", "index": 2, "format": "f", "data": "f", "id": "y"},
    ]


def test_azure_says_first_what_its_filter_found():
    found = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}]
    first = {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": found}
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    pieces = [chunk(choice({"content": piece}, content_filter_results=safe)) for piece in ("a", "b")]
    made = assemble("openai_chat", sse(first, FIRST, *pieces, finished(), *LAST))
    assert made.payload["prompt_filter_results"] == found
    assert (made.payload["id"], made.payload["model"], made.payload["created"]) == ("chatcmpl-1", "gpt-5", 5)
    assert made.payload["choices"][0]["content_filter_results"] == safe
    assert message(made)["content"] == "ab"
    assert made.issues == []


def test_a_filter_that_finds_something_else_is_heard():
    found = [{"hate": "safe"}, {"hate": "safe"}, {"hate": "low"}, {"violence": "safe"}, {"hate": "low"}, {}]
    pieces = [chunk(choice({"content": str(at)}, content_filter_results=one)) for at, one in enumerate(found)]
    made = whole(*pieces)
    assert made.payload["choices"][0]["content_filter_results"] == {"hate": "low", "violence": "safe"}
    assert message(made)["content"] == "012345"


def test_servers_that_repeat_what_they_have_said():
    def piece(**fields):
        return chunk(choice({"role": "assistant", **fields}, native_finish_reason=None))

    pieces = [
        piece(content=None, reasoning="a"),
        piece(content=None, reasoning="b"),
        piece(content="c", reasoning=None),
    ]
    made = whole(*pieces, piece(content="d", reasoning=None), piece(content="e", reasoning="f"))
    assert message(made) == {"role": "assistant", "content": "cde", "reasoning": "abf", "refusal": None}
    assert made.payload["choices"][0]["native_finish_reason"] is None


def test_usage_in_every_chunk_is_cumulative():
    pieces = [chunk(choice({"content": "a"}), usage={"total_tokens": count}) for count in (1, 2)]
    made = assemble("openai_chat", sse(FIRST, *pieces, chunk(choice({}, 0, "stop"), usage=USAGE), "[DONE]"))
    assert made.payload["usage"] == USAGE


def test_what_changes_before_the_choices_is_noticed():
    pieces = [{"x": number, **delta(content="a")} for number in range(40)]
    made = whole(*pieces)
    assert made.payload["x"] == 39
    assert message(made)["content"] == "a" * 40


def test_what_changes_without_choices_is_noticed():
    first, second = {"x": 1, **delta(content="a")}, {"x": 2, **HEAD, "usage": None}
    assert whole(first, first, second, first).payload["x"] == 1
    assert whole(*({"x": at, **delta(content="a")} for at in range(40)), first, second, first).payload["x"] == 1


def test_choices_may_stand_anywhere_in_a_chunk_and_in_its_text():
    first = {"choices": [choice({"role": "assistant", "content": "a"})], **HEAD}
    odd = {**HEAD, "note": '"choices":[', "choices": [choice({"content": "b"})]}
    nested = {"deep": {"choices": []}, **HEAD, "choices": [choice({"content": "c"})]}
    made = assemble("openai_chat", sse(first, odd, odd, nested, nested, first, finished(), *LAST))
    assert message(made)["content"] == "abbcca"
    assert made.payload["note"] == '"choices":['
    assert made.payload["deep"] == {"choices": []}


def test_an_error_in_the_middle_ends_it():
    error = {"error": {"message": "overloaded", "type": "server_error", "code": None}}
    made = assemble("openai_chat", sse(FIRST, delta(content="a"), error, "[DONE]"))
    assert message(made)["content"] == "a"
    assert made.payload["error"] == error["error"]
    assert not made.is_complete
    assert "error_event" in kinds(made)
    assert assemble("openai_chat", json.dumps(error).encode()).payload == error


def test_a_stream_without_its_end_gives_what_there_is():
    made = assemble("openai_chat", sse(FIRST, delta(content="a"), begun("read"), call('{"a"')))
    assert message(made)["content"] == "a"
    assert message(made)["tool_calls"][0]["function"]["arguments"] == '{"a"'
    assert made.payload["choices"][0]["finish_reason"] is None
    assert not made.is_complete
    assert kinds(made) == ["incomplete_stream_end"]


def test_a_log_may_leave_out_the_last_line():
    body = sse(FIRST, delta(content="a"), finished(), LAST[0])
    assert assemble("openai_chat", body).is_complete
    assert kinds(assemble("openai_chat", body)) == ["incomplete_stream_end"]
    assert not assemble("openai_chat", sse(FIRST, delta(content="a"), finished())).is_complete


def test_a_stream_without_its_start_gives_what_there_is():
    made = assemble("openai_chat", sse(delta(content="lo"), finished(), *LAST))
    assert message(made) == {"role": "assistant", "content": "lo"}
    assert kinds(made) == ["incomplete_stream_start"]


ODD = {
    "an event nobody knows": ({"type": "ping"}, "unknown_event"),
    "no object": ("5", "corrupted_data"),
    "no JSON": ('{"choices"', "corrupted_data"),
    "choices are not a list": ({**HEAD, "choices": {}}, "unexpected_value"),
    "a choice is not an object": (chunk(5), "unexpected_value"),
    "a delta that is no object": (chunk(choice("a")), "unexpected_value"),
    "an index that is no number": (chunk(choice({"content": ""}, "0")), "unexpected_value"),
    "a call that is no object": (delta(tool_calls=["a"]), "unexpected_value"),
    "a call too early": (begun("read", 3), "out_of_order"),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_an_issue(case):
    event, kind = ODD[case]
    made = assemble("openai_chat", sse(FIRST, delta(content="a"), event, delta(content="b"), finished(), *LAST))
    assert kinds(made) == [kind]
    assert made.issues[0].sequence == 2
    assert message(made)["content"] == "ab"
    assert made.is_complete == (kind != "corrupted_data")


def test_what_comes_after_the_end_is_taken_and_told():
    made = whole(delta(content="a"))
    late = assemble("openai_chat", sse(FIRST, finished(), *LAST, delta(content="a"), delta(content="b"), "[DONE]"))
    assert message(late)["content"] == message(made)["content"] + "b"
    assert kinds(late) == ["out_of_order", "out_of_order", "repeated_event"]


def test_a_result_does_not_change_when_more_follows():
    chunks = (FIRST, delta(content="a"), delta(content="b"), begun("read"), call("{"), call("}"), finished(), *LAST)
    events = list(events_of(sse(*chunks)))
    made = assembler("openai_chat")
    seen = []
    for event in events:
        made.feed(event)
        seen.append(made.result())
    assert seen == [assembled("openai_chat", events[: count + 1]) for count in range(len(events))]


def test_the_streaming_example_of_the_cook_specification():
    lines = [
        'data: {"id":"chatcmpl-xxx","model":"gpt-4","choices":[{"delta":{"role":"assistant"}}]}',
        'data: {"choices":[{"delta":{"content":"Hello"}}]}',
        'data: {"choices":[{"delta":{"content":"!"}}]}',
        "data: [DONE]",
    ]
    made = assembled("openai_chat", events_of_lines(lines))
    assert (made.payload["id"], made.payload["model"]) == ("chatcmpl-xxx", "gpt-4")
    assert message(made) == {"role": "assistant", "content": "Hello!"}
    assert made.is_complete
