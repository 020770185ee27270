import pytest

from cassettes import needs_samples
from palaver.streams import assemble, assembler
from palaver.streams.event_parsers import events_of
from stream_oracles import data_of, response_state
from streaming import assembled, kinds, sse, streams

HEAD = {"id": "resp_1", "object": "response", "model": "gpt-5", "status": "in_progress", "error": None}
CREATED = {"type": "response.created", "response": HEAD | {"output": []}}


def numbered(*events, start=0):
    return sse(*({**event, "sequence_number": number} for number, event in enumerate(events, start)))


def event(name, index=0, **fields):
    return {"type": f"response.{name}", "output_index": index, **fields}


def added(item, index=0):
    return event("output_item.added", index, item=item)


def output(*events):
    """What a stream that breaks off gives for its items."""
    made = assemble("openai_responses", numbered(CREATED, *events))
    assert not made.is_complete
    assert kinds(made) == ["incomplete_stream_end"]
    return made.payload["output"]


@needs_samples
@pytest.mark.parametrize("call", streams("openai_responses"), ids=lambda call: call.name)
def test_without_the_terminal_object_the_items_that_were_done_stand_in(call):
    *events, last = data_of(call.stream)
    made = assemble("openai_responses", sse(*events))
    assert not made.is_complete
    assert made.payload["id"] == last["response"]["id"]
    assert made.payload["output"] == [one["item"] for one in events if one["type"] == "response.output_item.done"]
    empty = assemble("openai_responses", sse(*events, last | {"response": last["response"] | {"output": []}}))
    assert empty.payload == last["response"] | {"output": made.payload["output"]}
    assert (empty.is_complete, kinds(empty)) == (True, ["missing_output"])


@needs_samples
@pytest.mark.parametrize("call", streams("openai_responses"), ids=lambda call: call.name)
def test_without_items_that_were_done_the_deltas_stand_in(call):
    """Status and what is only told at the end (search queries, sources, results of code) cannot be there."""
    *events, last = data_of(call.stream)
    deltas = [one for one in events if not one["type"].endswith(".done")]
    made = assemble("openai_responses", sse(*deltas))
    assert len(made.payload["output"]) == len(last["response"]["output"])
    for ours, theirs in zip(made.payload["output"], last["response"]["output"], strict=True):
        assert (ours["type"], ours["id"]) == (theirs["type"], theirs["id"])
        assert [part["text"] for part in ours.get("summary") or ()] == [p["text"] for p in theirs.get("summary") or ()]
        for name in ("text", "annotations"):
            assert [part[name] for part in ours.get("content") or ()] == [p[name] for p in theirs.get("content") or ()]
        for name in ("arguments", "code"):
            if ours["type"] != "tool_search_call":
                assert ours.get(name) == theirs.get(name)
    snapshot = response_state(one for one in deltas)._ResponseStreamState__current_snapshot.to_dict(
        mode="json", warnings=False
    )
    for ours, theirs in zip(made.payload["output"], snapshot["output"], strict=True):
        if ours["type"] in {"message", "function_call"}:
            texts = [part["text"] for part in theirs.get("content") or ()]
            assert [part["text"] for part in ours.get("content") or ()] == texts
            assert ours.get("arguments") == theirs.get("arguments")


@pytest.mark.parametrize("verb", ["completed", "incomplete", "failed"])
def test_the_terminal_object_is_the_answer(verb):
    end = {"type": f"response.{verb}", "response": HEAD | {"status": verb, "output": [{"type": "message", "id": "m"}]}}
    item = {"type": "message", "id": "other", "content": []}
    made = assemble("openai_responses", numbered(CREATED, added(item), event("output_item.done", item=item), end))
    assert made == (end["response"], True, [], ())


def test_a_message_is_put_together_part_by_part():
    item = {"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    note = {"type": "url_citation", "url": "u"}
    assert output(
        added(item),
        event("content_part.added", content_index=0, part=part),
        event("output_text.delta", content_index=0, delta="Hel", logprobs=[{"token": "Hel"}]),
        event("output_text.delta", content_index=0, delta="lo", logprobs=[]),
        event("output_text.delta", content_index=0, delta="!", logprobs=[{"token": "!"}]),
        event("output_text.annotation.added", content_index=0, annotation_index=0, annotation=note),
        event("content_part.added", content_index=1, part={"type": "refusal", "refusal": ""}),
        event("refusal.delta", content_index=1, delta="N"),
        event("refusal.delta", content_index=1, delta="o"),
    ) == [
        item
        | {
            "content": [
                part | {"text": "Hello!", "annotations": [note], "logprobs": [{"token": "Hel"}, {"token": "!"}]},
                {"type": "refusal", "refusal": "No"},
            ]
        }
    ]


def test_what_is_done_counts_more_than_its_deltas():
    item = {"type": "message", "id": "m", "content": []}
    whole_part = {"type": "output_text", "text": "whole", "annotations": [1]}
    assert output(
        added(item),
        event("output_text.delta", content_index=0, delta="pie"),
        event("output_text.done", content_index=0, text="piece"),
        event("output_text.delta", content_index=1, delta="x"),
        event("content_part.done", content_index=1, part=whole_part),
    ) == [item | {"content": [{"type": "output_text", "text": "piece"}, whole_part]}]


def test_reasoning_has_summaries_and_content():
    item = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}
    assert output(
        added(item),
        event("reasoning_summary_text.delta", summary_index=1, delta="c"),
        event("reasoning_summary_part.added", summary_index=0, part={"type": "summary_text", "text": ""}),
        event("reasoning_summary_text.delta", summary_index=0, delta="a"),
        event("reasoning_summary_text.delta", summary_index=0, delta="b"),
        event("reasoning_text.delta", content_index=0, delta="t"),
        event("reasoning_text.delta", content_index=0, delta="u"),
    ) == [
        item
        | {
            "summary": [{"type": "summary_text", "text": "ab"}, {"type": "summary_text", "text": "c"}],
            "content": [{"type": "reasoning_text", "text": "tu"}],
        }
    ]


@pytest.mark.parametrize(
    ("name", "kind", "field"),
    [
        ("function_call_arguments", "function_call", "arguments"),
        ("mcp_call_arguments", "mcp_call", "arguments"),
        ("custom_tool_call_input", "custom_tool_call", "input"),
        ("code_interpreter_call_code", "code_interpreter_call", "code"),
    ],
)
def test_calls_are_put_together(name, kind, field):
    item = {"type": kind, "id": "c", field: ""}
    pieces = [event(f"{name}.delta", delta=piece) for piece in ("a", "b", "c")]
    assert output(added(item), *pieces) == [item | {field: "abc"}]
    assert output(added(item), *pieces, event(f"{name}.done", **{field: "whole"})) == [item | {field: "whole"}]


def test_items_stand_in_the_order_of_their_indexes():
    items = [{"type": "function_call", "id": str(index), "arguments": ""} for index in range(3)]
    done = [event("output_item.done", index, item=items[index]) for index in (2, 0)]
    pieces = [event("function_call_arguments.delta", 1, delta=piece) for piece in "ab"]
    made = output(*(added(item, index) for index, item in enumerate(items)), pieces[0], *done, pieces[1])
    assert made == [items[0], items[1] | {"arguments": "ab"}, items[2]]


def test_what_is_said_in_passing_is_kept():
    shell = {"type": "shell_call", "id": "s", "action": {"commands": [], "timeout_ms": 5}}
    assert output(
        added({"type": "web_search_call", "id": "w", "status": "in_progress"}),
        event("web_search_call.searching"),
        event("web_search_call.completed"),
        added({"type": "image_generation_call", "id": "i", "result": None}, 1),
        event("image_generation_call.partial_image", 1, partial_image_b64="AAAA", partial_image_index=0),
        added(shell, 2),
        event("shell_call_command.added", 2, command_index=0, command=""),
        event("shell_call_command.delta", 2, command_index=0, delta="l"),
        event("shell_call_command.delta", 2, command_index=0, delta="s"),
        added({"type": "shell_call_output", "id": "o", "output": []}, 3),
        event("shell_call_output_content.delta", 3, command_index=0, delta={"stdout": "a"}),
        event("shell_call_output_content.delta", 3, command_index=0, delta={"stdout": "b", "stderr": "c"}),
    ) == [
        {"type": "web_search_call", "id": "w", "status": "completed"},
        {"type": "image_generation_call", "id": "i", "result": "AAAA"},
        shell | {"action": {"commands": ["ls"], "timeout_ms": 5}},
        {"type": "shell_call_output", "id": "o", "output": [{"stdout": "ab", "stderr": "c"}]},
    ]


def test_audio_is_kept():
    pieces = [{"type": "response.audio.delta", "delta": piece} for piece in ("AA", "BB")]
    pieces += [{"type": "response.audio.transcript.delta", "delta": piece} for piece in ("a", "b")]
    made = assemble("openai_responses", numbered(CREATED, *pieces))
    assert made.payload["audio"] == {"data": "AABB", "transcript": "ab"}


@pytest.mark.parametrize("shape", ["flat", "nested"])
def test_an_error_ends_it(shape):
    error = {"code": "rate_limit_exceeded", "message": "slow down", "param": None}
    told_error = {"type": "error", **(error if shape == "flat" else {"error": error})}
    made = assemble("openai_responses", numbered(CREATED, told_error))
    assert made.payload == HEAD | {"output": [], "error": error}
    assert (made.is_complete, kinds(made)) == (False, ["error_event", "incomplete_stream_end"])


def test_events_that_came_twice_count_once():
    """As they do when a background response is taken up again."""
    item = {"type": "function_call", "id": "c", "arguments": ""}
    pieces = [event("function_call_arguments.delta", delta=piece) for piece in "abc"]
    body = numbered(CREATED, added(item), *pieces) + numbered(*pieces[1:], start=3)
    made = assemble("openai_responses", body)
    assert made.payload["output"][0]["arguments"] == "abc"
    assert kinds(made) == ["repeated_event", "repeated_event", "incomplete_stream_end"]


def test_events_that_are_missing_are_noticed():
    item = {"type": "function_call", "id": "c", "arguments": ""}
    pieces = [event("function_call_arguments.delta", delta=piece) for piece in "ab"]
    made = assemble("openai_responses", numbered(CREATED, added(item), pieces[0]) + numbered(pieces[1], start=7))
    assert made.payload["output"][0]["arguments"] == "ab"
    assert made.issues[0] == ("out_of_order", 3, "sequence_number 7 instead of 3")


def test_numbers_and_names_may_be_missing():
    item = {"type": "function_call", "id": "c", "arguments": ""}
    pieces = [event("function_call_arguments.delta", delta=piece) for piece in "ab"]
    made = assemble("openai_responses", sse(CREATED, added(item), *pieces).replace(b"event: ", b": "))
    assert made.payload["output"][0]["arguments"] == "ab"
    assert kinds(made) == ["incomplete_stream_end"]


def test_pieces_of_items_that_never_began_are_given():
    made = assemble(
        "openai_responses",
        numbered(
            event("output_text.delta", 0, content_index=0, delta="a"),
            event("output_text.delta", 0, content_index=0, delta="b"),
            event("function_call_arguments.delta", 2, delta="{}"),
            event("output_item.done", 1, item={"type": "reasoning", "id": "r"}),
        ),
    )
    assert made.payload == {
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "ab"}]},
            {"type": "reasoning", "id": "r"},
            {"type": "function_call", "arguments": "{}"},
        ]
    }
    assert kinds(made) == ["incomplete_stream_start", *["unknown_block"] * 3, "incomplete_stream_end"]


ODD = {
    "an event nobody knows": ({"type": "response.new.thing"}, "unknown_event"),
    "one that has a place": (event("new.thing"), "unknown_event"),
    "a type that is no word": ({"type": [5]}, "unknown_event"),
    "no object": ("5", "corrupted_data"),
    "no JSON": ("{", "corrupted_data"),
    "an item that is none": (added(5), "unexpected_value"),
    "an item too early": (added({"type": "message"}, 3), "out_of_order"),
    "text that is none": (event("function_call_arguments.delta", delta=5), "unexpected_value"),
    "text without its place": ({"type": "response.output_text.delta", "delta": "a"}, "missing_index"),
    "text without its part": (event("output_text.delta", delta="a"), "missing_index"),
    "a part that is none": (event("content_part.added", content_index=0), "unexpected_value"),
    "an annotation without its part": (event("output_text.annotation.added"), "missing_index"),
    "a response that is none": ({"type": "response.in_progress"}, "unexpected_value"),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_an_issue(case):
    odd, kind = ODD[case]
    item = {"type": "function_call", "id": "c", "arguments": ""}
    end = {"type": "response.completed", "response": HEAD | {"output": [item]}}
    start = (CREATED, added(item), event("function_call_arguments.delta", delta="a"))
    made = assemble("openai_responses", sse(*start, odd, event("function_call_arguments.delta", delta="b")))
    assert made.payload["output"][0] == item | {"arguments": "ab"}
    assert kinds(made) == [kind, "incomplete_stream_end"]
    assert made.issues[0].sequence == 3
    whole = assemble("openai_responses", sse(*start, odd, end))
    assert (whole.payload, whole.is_complete) == (end["response"], True)


def test_harmless_events_are_no_issue():
    end = {"type": "response.completed", "response": HEAD | {"output": []}}
    made = assemble("openai_responses", sse(CREATED, {"type": "keepalive"}, end, "[DONE]"))
    assert made == (end["response"], True, [], ())


def test_nothing_gives_nothing():
    made = assemble("openai_responses", b"")
    assert (made.payload, made.is_complete) == ({}, False)
    assert kinds(made) == ["incomplete_stream_start", "incomplete_stream_end"]


def test_a_result_does_not_change_when_more_follows():
    item = {"type": "message", "id": "m", "content": []}
    note = {"type": "url_citation", "url": "u"}
    events = list(
        events_of(
            numbered(
                CREATED,
                added(item),
                event("output_text.delta", content_index=0, delta="a", logprobs=[1]),
                event("output_text.delta", content_index=0, delta="b", logprobs=[2]),
                event("output_text.annotation.added", content_index=0, annotation=note),
                event("web_search_call.searching"),
                event("output_item.done", item=item),
            )
        )
    )
    made = assembler("openai_responses")
    seen = []
    for one in events:
        made.feed(one)
        seen.append(made.result())
    assert seen == [assembled("openai_responses", events[: count + 1]) for count in range(len(events))]
