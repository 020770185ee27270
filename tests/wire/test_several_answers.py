"""Several answers to one request: choices of Chat, candidates of Gemini, alternatives of an exchange."""

import pytest

from palaver.wire import wire_format
from sdk_judges import accept

CHAT, GEMINI = wire_format("openai-chat"), wire_format("gemini")


def choice(index, text, **fields):
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    return {"index": index, "message": message, "finish_reason": "stop", **fields}


def completion(*choices):
    return {"id": "chatcmpl-9", "object": "chat.completion", "created": 1700000000, "model": "g", "choices": [*choices]}


def candidate(index, text, **fields):
    return {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP", "index": index, **fields}


def texts(response):
    return [
        [block.get("text") for block in answer["content"]] for answer in (response, *response.get("alternatives", ()))
    ]


SEVERAL = {
    "in order": [choice(0, "A"), choice(1, "B"), choice(2, "C")],
    "reordered": [choice(2, "C"), choice(0, "A"), choice(1, "B")],
    "with fields of their own": [choice(0, "A", logprobs=None), choice(1, "B", content_filter_results={"hate": {}})],
    "indexes with gaps": [choice(4, "B"), choice(2, "A")],
    "equal indexes": [choice(0, "A"), choice(0, "B")],
    "damaged": [None, choice(0, "A"), "noise", {"index": "1"}, {}],
}


@pytest.mark.parametrize("choices", SEVERAL.values(), ids=SEVERAL)
def test_choices_come_back_as_they_stood(choices):
    payload = completion(*choices)
    written = CHAT.response_to_wire(CHAT.response_from_wire(payload))
    assert (written.payload, written.losses) == (payload, [])


@pytest.mark.parametrize(
    "candidates",
    [
        [candidate(1, "B", avgLogprobs=-0.5), candidate(0, "A")],
        [candidate(0, "A"), {"content": {"parts": [{"text": "B"}]}, "finish_reason": "STOP"}],
        [7, candidate(0, "A"), {}],
    ],
    ids=["reordered", "without indexes", "damaged"],
)
def test_candidates_come_back_as_they_stood(candidates):
    payload = {"candidates": candidates, "modelVersion": "g"}
    written = GEMINI.response_to_wire(GEMINI.response_from_wire(payload))
    assert (written.payload, written.losses) == (payload, [])


def test_the_answer_with_the_least_index_is_the_response_whatever_the_order():
    for payload in (completion(choice(1, "B"), choice(0, "A")), completion(choice(0, "A"), choice(1, "B"))):
        response = CHAT.response_from_wire(payload)
        assert texts(response) == [["A"], ["B"]]
        assert [answer["index"] for answer in response["alternatives"]] == [1]
    response = GEMINI.response_from_wire({"candidates": [candidate(1, "B"), candidate(0, "A")]})
    assert texts(response) == [["A"], ["B"]]


def test_choices_become_candidates_and_candidates_become_choices():
    written = GEMINI.response_to_wire(CHAT.response_from_wire(completion(choice(1, "B"), choice(0, "A"))))
    assert [(found["index"], found["content"]["parts"][0]["text"]) for found in written.payload["candidates"]] == [
        (0, "A"),
        (1, "B"),
    ]
    back = CHAT.response_to_wire(GEMINI.response_from_wire(written.payload))
    assert [(found["index"], found["message"]["content"]) for found in back.payload["choices"]] == [(0, "A"), (1, "B")]
    accept("openai-chat response", back.payload)


@pytest.mark.parametrize("target", ["anthropic", "openai-responses"])
def test_each_further_answer_is_a_loss_where_there_is_one_answer(target):
    response = CHAT.response_from_wire(completion(choice(0, "A"), choice(1, "B"), choice(2, "C")))
    written = wire_format(target).response_to_wire(response)
    lost = [loss for loss in written.losses if loss.pointer.startswith("/alternatives")]
    assert [(loss.pointer, loss.change) for loss in lost] == [
        ("/alternatives/0", "dropped"),
        ("/alternatives/1", "dropped"),
    ]


def test_losses_inside_a_further_answer_point_into_it():
    response = CHAT.response_from_wire(completion(choice(0, "A"), choice(1, "B", content_filter_results={"hate": {}})))
    pointers = [loss.pointer for loss in GEMINI.response_to_wire(response).losses]
    assert any(pointer.startswith("/alternatives/0/provider_data/openai_chat") for pointer in pointers)
