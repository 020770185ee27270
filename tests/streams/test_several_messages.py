"""Streams that hold more than one message: each is cut where the next begins, and no message gets a part of another."""

import json
from itertools import permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cassettes import needs_samples
from merging import message
from palaver.streams import assemble, assemble_all, assemble_in_one_pass
from palaver.streams.details import details_of_body, sse_bytes
from palaver.streams.event_parsers import events_of
from palaver.streams.recorder import StreamRecorder
from stream_oracles import IS_CUT, every_stream, sdk_results, without_filter_results
from streaming import kinds, sse, without_unsaid

LAW = settings(max_examples=500, deadline=None, derandomize=True, database=None)


def chat(name, *pieces, role="assistant", **more):
    """The chunks of a completion; the last one has the reason."""
    deltas = [{"role": role, "content": ""} if role else {}, *({"content": piece} for piece in pieces)]
    return [
        *(chat_chunk(name, delta, **more) for delta in deltas),
        chat_chunk(name, {}, "stop", **more),
    ]


def chat_chunk(name, delta, reason=None, **more):
    return {"id": name, "object": "chat.completion.chunk", **more} | {
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]
    }


def response(name, *pieces):
    item = {"type": "message", "id": f"item of {name}", "role": "assistant", "content": []}
    at = {"output_index": 0, "content_index": 0}
    done = {**item, "content": [{"type": "output_text", "text": "".join(pieces)}]}
    events = [
        {"type": "response.created", "response": {"id": name, "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({"type": "response.output_text.delta", **at, "delta": piece} for piece in pieces),
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": {"id": name, "output": [done]}},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def gemini(name, *pieces, reason="STOP"):
    chunks = [
        {"responseId": name, "candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}}]}
        for piece in pieces
    ]
    if reason:
        chunks[-1]["candidates"][0]["finishReason"] = reason
    return chunks


MAKERS = {"anthropic": message, "openai_chat": chat, "openai_responses": response, "gemini": gemini}
TEXTS = {
    "anthropic": lambda payload: payload["content"][0]["text"],
    "openai_chat": lambda payload: payload["choices"][0]["message"]["content"],
    "openai_responses": lambda payload: payload["output"][0]["content"][0]["text"],
    "gemini": lambda payload: payload["candidates"][0]["content"]["parts"][0]["text"],
}


def names(wire_format, *data):
    return [made.payload.get("responseId" if wire_format == "gemini" else "id") for made in parts(wire_format, *data)]


def parts(wire_format, *data):
    return assemble_all(wire_format, sse(*data))


@pytest.mark.parametrize("wire_format", MAKERS)
def test_another_id_begins_another_message(wire_format):
    messages = [MAKERS[wire_format](*said) for said in (("a", "Fir", "st."), ("b", "Sec", "ond."), ("c", "Th", "ird."))]
    made = parts(wire_format, *messages[0], *messages[1], *messages[2])
    assert [TEXTS[wire_format](one.payload) for one in made] == ["First.", "Second.", "Third."]
    alone = [assemble(wire_format, sse(*events)) for events in messages]
    assert [(one.payload, one.is_complete) for one in made] == [(one.payload, one.is_complete) for one in alone]


@pytest.mark.parametrize("wire_format", MAKERS)
def test_what_follows_is_an_issue_of_the_message_before_it(wire_format):
    first, second = MAKERS[wire_format]("a", "One."), MAKERS[wire_format]("b", "Two.")
    made = assemble(wire_format, sse(*first, *second))
    [issue] = [issue for issue in made.issues if issue.type == "another_message"]
    assert issue.sequence == len(first)
    assert issue.detail == "b follows a in the same stream"
    assert len(made.following) == 1
    assert "another_message" not in kinds(made.following[0])


@pytest.mark.parametrize("wire_format", MAKERS)
def test_events_are_numbered_through_the_whole_stream(wire_format):
    first, second = MAKERS[wire_format]("a", "One."), MAKERS[wire_format]("b", "Two.", "Three.")
    *_, last = parts(wire_format, *first, *second[:-1])
    [issue] = [issue for issue in last.issues if issue.type == "incomplete_stream_end"]
    assert issue.sequence == len(first) + len(second) - 1


@pytest.mark.parametrize("wire_format", MAKERS)
def test_a_message_that_was_cut_off_gets_nothing_of_the_next(wire_format):
    first, second = MAKERS[wire_format]("a", "One ", "and ", "a half"), MAKERS[wire_format]("b", "Two.")
    for count in range(2 if wire_format == "gemini" else 1, len(first)):
        made = parts(wire_format, *first[:count], *second)
        assert [one.payload for one in made] == [
            assemble(wire_format, sse(*first[:count])).payload,
            assemble(wire_format, sse(*second)).payload,
        ]


@pytest.mark.parametrize("wire_format", MAKERS)
def test_many_messages_in_one_stream_do_not_nest(wire_format):
    events = [event for number in range(1_500) for event in MAKERS[wire_format](f"m{number}", "x", "y")]
    assert names(wire_format, *events) == [f"m{number}" for number in range(1_500)]


def test_a_repeated_start_with_the_same_id_is_a_duplicate():
    start, *rest = message("msg_a", "Once.")
    made = assemble("anthropic", sse(start, start, *rest))
    assert (kinds(made), made.following) == (["repeated_event"], ())
    assert made.payload == assemble("anthropic", sse(start, *rest)).payload
    created, *rest = response("resp_a", "Once.")
    made = assemble("openai_responses", sse(created, created, *rest))
    assert (kinds(made), made.following) == (["repeated_event"], ())


def test_a_start_without_an_id_begins_a_message_only_after_an_end():
    start, *rest = message("msg_a", "One.")
    nameless = {"type": "message_start", "message": {"role": "assistant", "content": []}}
    assert len(parts("anthropic", start, *rest, nameless, *message("x", "Two.")[1:])) == 2
    assert len(parts("anthropic", start, nameless, *rest)) == 1


def test_a_start_after_the_rest_of_another_message_begins_a_new_one():
    _, *rest = message("msg_a", "Rest.")
    first, second = parts("anthropic", *rest[:-2], *message("msg_b", "Whole."))
    assert first.payload["content"][0]["text"] == "Rest."
    assert (second.payload["id"], second.payload["content"][0]["text"]) == ("msg_b", "Whole.")
    _, *rest = response("resp_a", "Rest.")
    first, second = parts("openai_responses", *rest[:-1], *response("resp_b", "Whole."))
    assert (first.payload.get("id"), second.payload["id"]) == (None, "resp_b")


def test_a_message_that_comes_again_after_its_end_is_another_one():
    for wire_format, events in (
        ("anthropic", message("a", "One.")),
        ("openai_chat", [*chat("a", "One."), "[DONE]"]),
        ("openai_chat", [*chat("", "One."), "[DONE]"]),
        ("openai_responses", response("a", "One.")),
    ):
        alone = assemble(wire_format, sse(*events))
        made = parts(wire_format, *events, *events)
        assert [(one.payload, one.is_complete) for one in made] == [(alone.payload, True)] * 2
        assert [kinds(one) for one in made] == [["another_message"], []]
        _, details = details_of_body(sse(*events, *events), 1.0)
        count = len(events)
        assert [(issue["type"], issue["sequence"]) for issue in details["issues"]] == [("another_message", count + 1)]


def test_usage_after_the_end_belongs_to_the_completion_before():
    usage = {"id": "a", "choices": [], "usage": {"prompt_tokens": 7}}
    made = assemble("openai_chat", sse(*chat("a", "One."), "[DONE]", usage))
    assert (made.following, made.payload["usage"]) == ((), {"prompt_tokens": 7})


# -- ids that prove nothing -----------------------------------------------------------------------------------------


def test_an_empty_id_begins_no_completion():
    filtered = {"id": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    late = {"id": "", "object": "", "choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]}
    first, second = chat("a", "One."), chat("b", "Two.")
    assert names("openai_chat", filtered, *first, late) == ["a"]
    made = parts("openai_chat", filtered, *first, late, "[DONE]", filtered, *second, "[DONE]")
    assert [one.payload["id"] for one in made] == ["a", "b"]
    assert all("prompt_filter_results" in one.payload for one in made)
    assert all(one.is_complete for one in made)


@pytest.mark.parametrize("name", ["prompt_filter_results", "prompt_annotations"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_filter_speaks_of_each_prompt_once(name, count):
    filtered = [{"id": "", "object": "", "choices": [], name: [{"prompt_index": at}]} for at in (0, 1)]
    first, second = chat("a", "One.")[:count], chat("b", "Two.")
    made = parts("openai_chat", filtered[0], *first, filtered[1], *second, "[DONE]")
    assert [(one.payload["id"], one.payload[name][0]["prompt_index"]) for one in made] == [("a", 0), ("b", 1)]


def test_each_choice_may_have_an_id_of_its_own():
    def choice(name, index, text):
        return [{**chunk, "choices": [{**chunk["choices"][0], "index": index}]} for chunk in chat(name, *text)]

    one, other = choice("a", 0, "one"), choice("b", 1, "two")
    in_turns = [chunk for both in zip(one, other, strict=True) for chunk in both]
    for chunks in ([*one, *other], in_turns, [*one[:2], *other, *one[2:]]):
        made = assemble("openai_chat", sse(*chunks, "[DONE]"))
        assert (made.following, made.is_complete) == ((), True)
        assert [choice["message"]["content"] for choice in made.payload["choices"]] == ["one", "two"]


@pytest.mark.parametrize("role", ["assistant", None])
@pytest.mark.parametrize("usage", [{}, {"choices": []}, {"delta": {}}, {"delta": {"role": "assistant", "content": ""}}])
def test_a_server_that_gives_every_chunk_another_id_sends_one_completion(role, usage):
    chunks = chat("x", "One", " and", " the same.", role=role)
    if "choices" in usage:
        chunks.append({"id": "x", "choices": [], "usage": {"prompt_tokens": 1}})
    elif usage:
        chunks.append(chat_chunk("x", usage["delta"]))
    chunks = [{**chunk, "id": f"id-{number}"} for number, chunk in enumerate(chunks)]
    made = assemble("openai_chat", sse(*chunks))
    assert made.following == ()
    assert made.payload["choices"][0]["message"]["content"] == "One and the same."


def test_a_server_that_repeats_the_role_and_varies_the_id_sends_one_completion():
    chunks = [chat_chunk(f"id-{number}", {"role": "assistant", "content": piece}) for number, piece in enumerate("abc")]
    assert names("openai_chat", *chunks, chat_chunk("id-9", {"role": "assistant", "content": ""}, "stop")) == ["id-0"]


def test_a_server_that_repeats_the_role_is_cut_after_a_reason():
    def repeating(name):
        return [chat_chunk(name, {"role": "assistant", "content": piece}) for piece in "abc"]

    end = chat_chunk("a", {"role": "assistant", "content": ""}, "stop")
    assert names("openai_chat", *repeating("a"), end, *repeating("b")) == ["a", "b"]


def test_several_choices_are_one_completion():
    def both(name, delta, reason=None):
        return [{"id": name, "choices": [{"index": at, "delta": delta, "finish_reason": reason}]} for at in (0, 1)]

    first = [*both("a", {"role": "assistant", "content": ""}), *both("a", {"content": "x"}), *both("a", {}, "stop")]
    assert names("openai_chat", *first) == ["a"]
    assert names("openai_chat", *first, *chat("b", "y")) == ["a", "b"]


def test_one_finished_choice_of_two_ends_no_completion():
    chunks = [chat_chunk("a", {"role": "assistant", "content": ""}), chat_chunk("a", {"content": "x"}, "stop")]
    other = {"id": "b", "choices": [{"index": 1, "delta": {"content": "y"}, "finish_reason": None}]}
    begun = {"id": "a", "choices": [{"index": 1, "delta": {"role": "assistant"}, "finish_reason": None}]}
    assert names("openai_chat", begun, *chunks, other) == ["a"]


def test_a_usage_chunk_with_another_id_belongs_to_its_completion():
    usage = {"id": "other", "choices": [], "usage": {"prompt_tokens": 7}}
    made = assemble("openai_chat", sse(*chat("a", "One."), usage, "[DONE]"))
    assert (made.following, made.payload["usage"]) == ((), {"prompt_tokens": 7})


def test_a_response_whose_later_events_name_another_id_is_one_response():
    events = response("resp_a", "One.")
    events[-1]["response"]["id"] = "resp_b"
    assert assemble("openai_responses", sse(*events)).following == ()


def test_gemini_may_give_every_chunk_another_id():
    chunks = [{**chunk, "responseId": f"id-{number}"} for number, chunk in enumerate(gemini("x", "a", "b", "c"))]
    made = assemble("gemini", sse(*chunks))
    assert (made.following, TEXTS["gemini"](made.payload)) == ((), "abc")
    grounding = {"responseId": "other", "candidates": [{"groundingMetadata": {}}]}
    assert assemble("gemini", sse(*gemini("x", "a", "b"), grounding)).following == ()


# -- every way of reading ---------------------------------------------------------------------------------------------


def test_a_body_read_in_one_pass_is_cut_as_well():
    body = sse(*message("a", "One."), *message("b", "Two.", "."))
    wire_format, made = assemble_in_one_pass(body)
    assert made == assemble(wire_format, body)
    assert len(made.following) == 1


@pytest.mark.parametrize("wire_format", MAKERS)
@pytest.mark.parametrize("count", [2, None])
def test_the_details_and_a_recording_say_so_too(wire_format, count):
    first, second = MAKERS[wire_format]("a", "On", "e", "."), MAKERS[wire_format]("b", "Two", ".")
    first = first[:count]
    _, details = details_of_body(sse(*first, *second), 1.0)
    found = [(issue["type"], issue["sequence"]) for issue in details["issues"]]
    assert found.count(("another_message", len(first) + 1)) == 1
    assert (("incomplete_stream_end", len(first) + 1) in found) == (count is not None)
    assert {kind for kind, _ in found} <= {"another_message", "incomplete_stream_end", "unclosed_block"}
    recorder = StreamRecorder()
    recorder.feed(sse(*first, *second), 1.0)
    with recorder.finish() as recording:
        assert recording.payloads() == [made.payload for made in parts(wire_format, *first, *second)]
        assert recording.payload() == recording.payloads()[0]


ODD = {
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Later."}},
    "openai_chat": {"id": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    "openai_responses": {"type": "error", "message": "Later."},
    "gemini": {"error": {"status": "UNAVAILABLE", "message": "Later."}},
}


@st.composite
def spliced(draw):
    """A format, and the events of up to three messages, some without an id, a beginning or an end."""
    wire_format = draw(st.sampled_from(list(MAKERS)))
    events = []
    for _ in range(draw(st.integers(1, 3))):
        pieces = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3))
        made = MAKERS[wire_format](draw(st.sampled_from(["a", "b", ""])), *pieces)
        made = made[draw(st.integers(0, 1)) : draw(st.integers(1, len(made)))]
        made += draw(st.sampled_from([[], ["[DONE]"]])) if wire_format == "openai_chat" else []
        if draw(st.booleans()):
            made.insert(draw(st.integers(0, len(made))), ODD[wire_format])
        events += made
    return wire_format, events


@LAW
@given(spliced())
def test_details_are_cut_where_the_messages_are(stream):
    wire_format, events = stream
    details, made = details_of_body(sse(*events), 1.0)
    assume(details.wire_format == wire_format)
    cuts = [issue.sequence + 1 for one in parts(wire_format, *events) for issue in one.issues if is_cut(issue.type)]
    assert [issue["sequence"] for issue in made.get("issues", ()) if is_cut(issue["type"])] == cuts


def is_cut(kind):
    return kind == "another_message"


RECORDED = {
    wire_format: [stream for stream in every_stream() if stream.wire_format == wire_format] for wire_format in MAKERS
}


def payload_id(payload):
    return payload.get("id") or payload.get("responseId")


def is_what_the_sdk_makes(stream, payload):
    body, payload = without_filter_results(stream.body, payload)
    return all(payload == without_unsaid(theirs, payload) for theirs in sdk_results(stream.wire_format, body))


@needs_samples
@pytest.mark.parametrize("wire_format", MAKERS)
def test_every_two_recorded_streams_in_one_are_what_the_sdk_makes_of_each(wire_format):
    whole = [stream for stream in RECORDED[wire_format] if stream.name not in IS_CUT]
    alone = {stream.name: assemble(wire_format, stream.body).payload for stream in whole}
    assert all(is_what_the_sdk_makes(stream, alone[stream.name]) for stream in whole)
    for one, other in permutations(whole, 2):
        if wire_format == "gemini" and payload_id(alone[one.name]) == payload_id(alone[other.name]):
            continue  # the end of a response does not show: some models give every chunk a reason
        first, second = assemble_all(wire_format, one.body + other.body)
        assert (first.payload, first.is_complete) == (alone[one.name], True), (one.name, other.name)
        assert (second.payload, second.is_complete) == (alone[other.name], True), (one.name, other.name)


@needs_samples
@given(st.data())
def test_a_recorded_stream_cut_anywhere_gets_nothing_of_the_next(data):
    wire_format = data.draw(st.sampled_from(list(MAKERS)))
    one, other = (data.draw(st.sampled_from(RECORDED[wire_format])) for _ in range(2))
    events = [event for event in events_of(one.body) if not event.is_cut]
    assume(payload_id(assemble(wire_format, one.body).payload) != payload_id(assemble(wire_format, other.body).payload))
    assume(other.name not in IS_CUT)
    # One chunk with an id does not show whether a server gives every chunk another one.
    least = (2 if wire_format in {"gemini", "openai_chat"} else 1) + (b'"id":""' in events[0].data)
    assume(len(events) >= least or one.name not in IS_CUT)
    count = data.draw(st.integers(min(least, len(events)), len(events)))
    cut = b"".join(map(sse_bytes, events[:count]))
    first, second = assemble_all(wire_format, cut + other.body)
    assert first.payload == assemble(wire_format, cut).payload
    assert is_what_the_sdk_makes(other, second.payload)
    assert json.dumps(payload_id(second.payload)) not in json.dumps(first.payload)
