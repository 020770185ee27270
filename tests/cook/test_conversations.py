"""Conversation documents as requests: what each answer was sent, along the branch that it stands on."""

import copy
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importing import FIXTURES
from palaver.cook.builder import CookBuilder
from palaver.validation.schema import is_valid

TIME = "2026-01-02T03:04:05.678Z"


def cooked(*documents):
    builder = CookBuilder()
    for document in documents:
        builder.add_document(document)
    made = json.loads(b"".join(builder.json_chunks()))
    assert is_valid(made, "cooked")
    return made


def said(message_id, role, *blocks, parent=None, **metadata):
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    message = {"message_id": message_id, "role": role, "timestamp": TIME, "content": content}
    if parent is not None:
        message["parent_message_id"] = parent
    if metadata:
        message["metadata"] = metadata
    return message


def conversation(*messages, model="m-1"):
    return {
        "schema_version": "1.0.0",
        "conversation_id": "c",
        "platform": {"name": "somewhere", "model": model},
        "created_at": TIME,
        "messages": list(messages),
    }


def texts(made, request, name="request_messages"):
    by_id = {message["id"]: message for message in made["messages"]}
    return [by_id[key]["content"] for key in made["requests"][request][name]]


def test_every_answer_is_a_request_with_its_ancestors():
    made = cooked(
        conversation(
            said("1", "user", "Hello"),
            said("2", "assistant", "Hi!", parent="1", request_id="req_1", duration_ms=12.4),
            said("3", "user", "And?", parent="2"),
            said("4", "assistant", "More.", parent="3", model_override="m-2"),
        )
    )
    assert [request["id"] for request in made["requests"]] == ["req_1", "4"]
    assert [request["model"] for request in made["requests"]] == ["m-1", "m-2"]
    assert [request["duration_ms"] for request in made["requests"]] == [12, 0]
    assert made["requests"][0]["timestamp"] == 1767323045678
    assert texts(made, 1) == ["Hello", "Hi!", "And?"]
    assert texts(made, 1, "response_messages") == ["More."]


def test_a_branch_knows_nothing_of_the_other():
    made = cooked(
        conversation(
            said("1", "user", "Hello"),
            said("2", "assistant", "Hi!", parent="1"),
            said("3", "user", "This", parent="2"),
            said("4", "assistant", "So.", parent="3"),
            said("5", "user", "That", parent="2"),
            said("6", "assistant", "Thus.", parent="5"),
        )
    )
    assert texts(made, 2) == ["Hello", "Hi!", "That"]
    assert [request["parent_id"] for request in made["requests"]] == [None, "2", "2"]


def test_a_summary_begins_anew():
    made = cooked(
        conversation(
            said("1", "user", "Long ago"),
            said("2", "user", "In short: long ago.", parent="1", is_compact_summary=True),
            said("3", "assistant", "Go on.", parent="2"),
        )
    )
    assert texts(made, 0) == ["In short: long ago."]


def test_blocks_become_pieces():
    made = cooked(
        conversation(
            said("1", "user", {"type": "code", "code": "x = 1", "language": "python"}, {"type": "image", "source": {}}),
            said("2", "system", {"type": "opaque", "kind": "turn", "raw": {}}, hidden=True, author_kind="harness"),
            said("3", "assistant", "Not a model's.", author_kind="harness"),
            said(
                "4",
                "assistant",
                {"type": "thinking", "thinking": "Hm."},
                {"type": "tool_use", "id": "a", "name": "run", "input": {"x": 1}},
                "Running.",
            ),
            said("5", "user", {"type": "tool_result", "tool_use_id": "a", "content": "1", "is_error": True}),
            said("6", "assistant", "One."),
        )
    )
    assert texts(made, 0) == ["```python\nx = 1\n```", "[image]", "Not a model's."]
    by_id = {message["id"]: message for message in made["messages"]}
    answer = [by_id[name] for name in made["requests"][0]["response_messages"]]
    assert [(piece["role"], piece["content"]) for piece in answer] == [
        ("thinking", "Hm."),
        ("assistant", "Running."),
        ("tool_use", ""),
    ]
    assert by_id[made["requests"][1]["request_messages"][-1]]["is_error"] is True


DOCUMENTS = [
    document
    for file in sorted(FIXTURES.glob("*/*/expected.jsonl"))
    for line in file.read_text("utf-8").split("\n")
    if line and (document := json.loads(line).get("document")) and "fragment" not in document
]


@pytest.mark.parametrize("document", DOCUMENTS[::7], ids=lambda document: document["conversation_id"][:30])
def test_what_importers_make_can_be_cooked(document):
    made = cooked(document)
    answers = [
        message
        for message in document["messages"]
        if message["role"] == "assistant" and message.get("metadata", {}).get("author_kind", "model") == "model"
    ]
    assert len(made["requests"]) == len(answers)


@given(st.sampled_from(DOCUMENTS), st.lists(st.integers(0, 30), max_size=3))
def test_law_fragments_are_cooked_as_the_whole(document, cuts):
    document = copy.deepcopy(document)
    messages = document["messages"]
    bounds = [0, *sorted(min(cut, len(messages)) for cut in cuts), len(messages)]
    pieces = [messages[start:end] for start, end in pairwise(bounds)]
    fragments = [
        {**document, "messages": piece, "fragment": {"sequence": number, "final": number == len(pieces) - 1}}
        for number, piece in enumerate(pieces)
    ]
    assert cooked(*fragments) == cooked(document)
