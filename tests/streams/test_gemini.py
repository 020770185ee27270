import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassettes import needs_samples
from palaver.streams import assemble, assembler, recognize
from palaver.streams.event_parsers import JsonElementParser, events_of
from streaming import assembled, kinds, parsed, sse, streams

USAGE = {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}


def chunk(*parts, index=0, usage=None, **more):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": index, **more}
    return {"candidates": [candidate], "usageMetadata": usage or USAGE, "modelVersion": "gemini-3", "responseId": "r"}


def text(words, **more):
    return {"text": words, **more}


def parts(*chunks):
    made = assemble("gemini", sse(*chunks, chunk(finishReason="STOP")))
    assert (made.is_complete, made.issues) == (True, [])
    return made.payload["candidates"][0]["content"]["parts"]


@needs_samples
@pytest.mark.parametrize("call", streams("gemini"), ids=lambda call: call.name)
def test_recorded_streams_are_the_same_as_an_array(call):
    events = list(events_of(call.stream))
    body = b"[" + b",\r\n".join(event.data for event in events) + b"\n]\n"
    assert assemble("gemini", body) == assemble("gemini", call.stream)
    assert recognize(events_of(body)) == "gemini"
    for at in range(len(body)):
        assert parsed([body[:at], body[at:]], JsonElementParser()) == events
    assert parsed((body[at : at + 1] for at in range(len(body))), JsonElementParser()) == events


def test_text_is_joined_where_thought_is_equal():
    expected = [text("ab", thought=True), text("cd"), text("e", thought=True)]
    told = [text("a", thought=True), text("b", thought=True), text("c"), text("d"), text("e", thought=True)]
    assert parts(*map(chunk, told)) == expected
    assert parts(chunk(*told)) == expected


def test_a_part_with_a_signature_stays_as_it_is():
    told = [text("a"), text("b", thoughtSignature="S"), text("c"), text("d"), text("", thoughtSignature="T"), text("e")]
    assert parts(*map(chunk, told)) == [told[0], told[1], text("cd"), told[4], told[5]]


def test_parts_of_other_kinds_come_whole():
    told = [
        {"functionCall": {"name": "read", "args": {"a": 1}}, "thoughtSignature": "S"},
        {"functionCall": {"name": "read", "args": {"a": 2}}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        text("a", videoMetadata={}),
    ]
    assert parts(*map(chunk, told)) == told


def test_candidates_are_told_apart_by_their_index():
    chunks = [chunk(text(words), index=index) for words, index in (("a", 1), ("b", 0), ("c", 1), ("d", 0))]
    ends = [chunk(index=index, finishReason=reason) for index, reason in ((0, "STOP"), (1, "MAX_TOKENS"))]
    made = assemble("gemini", sse(*chunks, *ends))
    told = [
        (one["index"], one["finishReason"], one["content"]["parts"][0]["text"]) for one in made.payload["candidates"]
    ]
    assert told == [(0, "STOP", "bd"), (1, "MAX_TOKENS", "ac")]
    assert not assemble("gemini", sse(*chunks, ends[0])).is_complete


def test_the_last_usage_counts():
    last = {"promptTokenCount": 5, "totalTokenCount": 20}
    made = assemble("gemini", sse(chunk(text("a")), chunk(text("b"), usage=last, finishReason="STOP")))
    assert made.payload["usageMetadata"] == last


def test_what_stands_beside_the_content_is_gathered():
    source, other = {"startIndex": 0, "uri": "a"}, {"startIndex": 9, "uri": "b"}
    made = assemble(
        "gemini",
        sse(
            chunk(text("a"), citationMetadata={"citationSources": [source]}, safetyRatings=[1]),
            chunk(
                text("b"),
                citationMetadata={"citationSources": [source, other]},
                groundingMetadata={"webSearchQueries": ["q"]},
                logprobsResult={"chosenCandidates": [1]},
            ),
            chunk(
                finishReason="STOP",
                safetyRatings=[2],
                groundingMetadata={"groundingChunks": [1]},
                logprobsResult={"chosenCandidates": [2]},
            ),
        ),
    )
    candidate = made.payload["candidates"][0]
    assert candidate["citationMetadata"] == {"citationSources": [source, other]}
    assert candidate["groundingMetadata"] == {"webSearchQueries": ["q"], "groundingChunks": [1]}
    assert candidate["logprobsResult"] == {"chosenCandidates": [1, 2]}
    assert candidate["safetyRatings"] == [2]


def test_a_blocked_prompt_has_no_candidate():
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE, "modelVersion": "gemini-3"}
    assert assemble("gemini", sse(blocked)) == (blocked, True, [], ())


def test_the_names_of_the_sdk_are_read_too():
    first = {"candidates": [{"content": {"parts": [text("a")], "role": "model"}}], "model_version": "g"}
    last = {"candidates": [{"content": {"parts": [text("b")]}, "finish_reason": "STOP"}], "usage_metadata": {"a": 1}}
    made = assemble("gemini", sse(first, last))
    assert made.payload == {
        "candidates": [{"content": {"parts": [text("ab")], "role": "model"}, "finish_reason": "STOP"}],
        "model_version": "g",
        "usage_metadata": {"a": 1},
    }
    assert made.is_complete


def test_a_wrapped_response_is_unwrapped():
    body = sse({"response": chunk(text("a"))}, {"response": chunk(text("b"), finishReason="STOP"), "traceId": "t"})
    made = assemble("gemini", body)
    assert made.payload["candidates"][0]["content"]["parts"] == [text("ab")]
    assert recognize(events_of(body)) == "gemini"


def test_arguments_that_come_value_by_value():
    def piece(**call):
        return chunk({"functionCall": call})

    def partial(path, **value):
        return {"jsonPath": path, **value}

    chunks = (
        chunk({"functionCall": {"name": "book", "id": "c", "willContinue": True}, "thoughtSignature": "S"}),
        piece(partialArgs=[partial("$.city", stringValue="New ", willContinue=True)], willContinue=True),
        piece(partialArgs=[partial("$.city", stringValue="York")], willContinue=True),
        piece(partialArgs=[partial("$.guests[1].age", numberValue=7)], willContinue=True),
        piece(partialArgs=[partial("$['it''s']", boolValue=True)], willContinue=True),
        piece(partialArgs=[partial('$["a b"]', nullValue="NULL_VALUE")], willContinue=True),
    )
    made = assemble("gemini", sse(*chunks, piece(), chunk(finishReason="STOP")))
    args = {"city": "New York", "guests": [None, {"age": 7}], "a b": None}
    assert made.payload["candidates"][0]["content"]["parts"] == [
        {"functionCall": {"name": "book", "id": "c", "args": args}, "thoughtSignature": "S"}
    ]
    assert kinds(made) == ["unexpected_value"]
    cut = assemble("gemini", sse(*chunks[:2]))
    call = {"name": "book", "id": "c", "args": {"city": "New "}, "willContinue": True}
    assert cut.payload["candidates"][0]["content"]["parts"][0]["functionCall"] == call


def test_an_error_in_the_middle_ends_it():
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    made = assemble("gemini", sse(chunk(text("a")), error))
    assert made.payload["error"] == error["error"]
    assert made.payload["candidates"][0]["content"]["parts"] == [text("a")]
    assert (made.is_complete, kinds(made)) == (False, ["error_event", "incomplete_stream_end"])
    for body in (f"[{json.dumps(error)}\n]", json.dumps(error, indent=2)):
        assert assemble("gemini", body.encode()).payload == error
        assert recognize(events_of(body.encode())) == "gemini"


def test_a_stream_without_its_end_gives_what_there_is():
    body = json.dumps([chunk(text("a")), chunk(text("b")), chunk(text("c"), finishReason="STOP")]).encode()
    made = assemble("gemini", body[:-30])
    assert made.payload["candidates"][0]["content"]["parts"] == [text("ab")]
    assert (made.is_complete, kinds(made)) == (False, ["cut_event", "incomplete_stream_end"])


def test_nothing_gives_nothing():
    made = assemble("gemini", b"")
    assert (made.payload, made.is_complete) == ({}, False)
    assert kinds(made) == ["incomplete_stream_start", "incomplete_stream_end"]


ODD = {
    "an event nobody knows": ({"type": "ping"}, "unknown_event"),
    "no object": ([5], "corrupted_data"),
    "no JSON": ('{"candidates"', "corrupted_data"),
    "candidates are not a list": ({"candidates": {}}, "unexpected_value"),
    "a candidate is not an object": ({"candidates": [5]}, "unexpected_value"),
    "an index that is no number": (chunk(index="0"), "unexpected_value"),
    "a part is not an object": (chunk("a"), "unexpected_value"),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_an_issue(case):
    odd, kind = ODD[case]
    made = assemble("gemini", sse(chunk(text("a")), odd, chunk(text("b"), finishReason="STOP")))
    assert kinds(made) == [kind]
    assert made.issues[0].sequence == 1
    assert made.payload["candidates"][0]["content"]["parts"] == [text("ab")]
    assert made.is_complete == (kind != "corrupted_data")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=5), st.booleans(), st.lists(st.integers(0, 400), max_size=6))
def test_any_array_gives_its_elements_however_it_is_cut(values, is_wide, cuts):
    body = json.dumps(values, indent=2 if is_wide else None, ensure_ascii=False).encode()
    bounds = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    events = parsed((body[a:b] for a, b in pairwise(bounds)), JsonElementParser())
    assert [json.loads(event.data) for event in events] == values
    assert not any(event.is_cut for event in events)


def test_a_result_does_not_change_when_more_follows():
    call = {"functionCall": {"name": "f", "willContinue": True}}
    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.b.a[0]", "stringValue": "x"}], "willContinue": True}}
    chunks = (chunk(text("a")), chunk(text("b")), chunk(call), chunk(more), chunk(more), chunk(finishReason="STOP"))
    events = list(events_of(sse(*chunks)))
    made = assembler("gemini")
    seen = []
    for event in events:
        made.feed(event)
        seen.append(made.result())
    assert seen == [assembled("gemini", events[: count + 1]) for count in range(len(events))]
