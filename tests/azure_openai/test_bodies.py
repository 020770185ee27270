"""Bodies: whatever a log made of them, and wherever it cut them, what is there is read, and nothing raises."""

import base64
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.importers.azure_openai.bodies import decode_body

BODY = {"messages": [{"role": "user", "content": "Grüße aus der Mühle"}], "temperature": 0.5}


@given(st.integers(0, 200), st.booleans())
def test_a_cut_body_is_the_beginning_of_the_whole(size, is_within_character):
    text = json.dumps(BODY, ensure_ascii=False)
    found = decode_body(text[:size] + "\ufffd" * is_within_character)
    if found is None or found.value is None:
        assert size <= len('{"messages": ')
        return
    assert found.is_cut == (size < len(text) or is_within_character)
    assert is_start(found.value, BODY)


def is_start(part, whole):
    match part:
        case dict():
            return all(is_start(item, whole[name]) for name, item in part.items())
        case list():
            return all(is_start(item, other) for item, other in zip(part, whole, strict=False))
        case str():
            return whole.startswith(part)
        case _:
            return part == whole


@given(st.integers(30, 400))
def test_a_packed_body_that_is_cut_gives_what_was_packed_before(size):
    long = {"messages": [{"role": "user", "content": " ".join(str(number**3) for number in range(200))}]}
    packed = base64.b64encode(gzip.compress(json.dumps(long).encode(), mtime=0)).decode()
    found = decode_body(packed[:size])
    assert found is not None
    if found.value is not None:
        assert found.is_cut
        assert is_start(found.value, long)


@given(st.text(max_size=200) | st.binary(max_size=200) | st.integers() | st.floats() | st.booleans())
def test_nothing_raises_and_nothing_is_lost(body):
    found = decode_body(body)
    if isinstance(body, str) and body.strip(" \t\r\n\ufeff\0"):
        assert found is not None
        assert found.value is not None or found.text


@pytest.mark.parametrize(
    "text", ["<html>504</html>", "plain words", "AAAABBBBCCCCDDDDEEEE", "12", "null", "data: oven"]
)
def test_what_is_neither_json_nor_a_stream_is_kept_as_it_is(text):
    found = decode_body(text)
    assert found.is_opaque
    assert found.text == text


def test_a_cut_stream_keeps_the_words_of_its_last_event():
    event = {"id": "x", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "flour"}}]}
    text = f"data: {json.dumps(event)}\n\n" * 2
    found = decode_body(text[: text.rindex("our")])
    assert found.value["choices"][0]["message"]["content"] == "flourfl"
    assert found.is_cut


def test_an_error_in_place_of_a_stream_is_an_error():
    found = decode_body('data: {"error": {"message": "no", "code": "429"}}\n\n')
    assert found.value == {"error": {"message": "no", "code": "429"}}


def test_numbers_and_characters_that_json_does_not_have_are_told():
    found = decode_body('{"messages": [{"role": "user", "content": "half \\ud83d"}], "temperature": NaN}')
    assert found.value == {"messages": [{"role": "user", "content": "half \ufffd"}], "temperature": None}
    assert {kind.code for kind, _ in found.remarks} == {"lone-surrogate", "non-finite-number"}


def test_lines_that_are_no_events_are_kept():
    event = {"id": "x", "choices": [{"index": 0, "delta": {"content": "flour"}, "finish_reason": "stop"}]}
    found = decode_body(f'data: {json.dumps(event)}\n\n{{"glued": "behind it"}}\ndata: [DONE]\n\n')
    assert found.value["choices"][0]["message"]["content"] == "flour"
    assert found.unread_tail == '{"glued": "behind it"}'


def test_further_messages_of_a_stream_are_kept_beside_the_first():
    def chunks(name, text):
        deltas = [({"role": "assistant", "content": ""}, None), ({"content": text}, None), ({}, "stop")]
        return [
            {"id": name, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in deltas
        ]

    found = decode_body("".join(f"data: {json.dumps(one)}\n\n" for one in [*chunks("a", "One."), *chunks("b", "Two.")]))
    assert found.value["choices"][0]["message"]["content"] == "One."
    assert json.loads(found.unread_tail)["choices"][0]["message"]["content"] == "Two."
    assert [kind.code for kind, _ in found.remarks] == ["several-messages"]
