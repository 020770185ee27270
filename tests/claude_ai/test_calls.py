"""Tool calls and results find each other, whichever of their ids an export leaves out."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from palaver.importers.claude_ai.content import pair_tool_calls

NAMES = ["web_search", "repl", "artifacts"]


@st.composite
def exchanges(draw):
    """Calls and their results over some messages: each result behind its call, those of one tool in order."""
    waiting, blocks = [], []
    for number in range(draw(st.integers(1, 8))):
        name = draw(st.sampled_from(NAMES))
        blocks.append({"type": "tool_use", "id": f"call-{number}", "name": name, "input": {}})
        waiting.append((name, f"call-{number}"))
        while waiting and draw(st.booleans()):
            name = draw(st.sampled_from(sorted({name for name, _ in waiting})))
            answered = next(call for call in waiting if call[0] == name)
            waiting.remove(answered)
            blocks.append({"type": "tool_result", "tool_use_id": answered[1], "name": name, "content": ""})
    cut = draw(st.integers(0, len(blocks)))
    return [{"message_id": "m-1", "content": blocks[:cut]}, {"message_id": "m-2", "content": blocks[cut:]}]


def pairs(messages):
    """Which result belongs to which call, by their positions."""
    blocks = [block for message in messages for block in message["content"]]
    calls = {block["id"]: position for position, block in enumerate(blocks) if block["type"] == "tool_use"}
    return {
        position: calls.get(block["tool_use_id"])
        for position, block in enumerate(blocks)
        if block["type"] == "tool_result"
    }


@given(exchanges(), st.data())
def test_results_name_their_calls_whichever_ids_are_missing(messages, data):
    expected = pairs(messages)
    left = copy.deepcopy(messages)
    for block in (block for message in left for block in message["content"]):
        key = "id" if block["type"] == "tool_use" else "tool_use_id"
        if data.draw(st.booleans(), label=f"without {key}"):
            block[key] = data.draw(st.sampled_from([None, "", 7]))
    pair_tool_calls(left, lambda _kind, _message: None)
    assert pairs(left) == expected
    ids = [block["id"] for message in left for block in message["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == len(ids)


def test_a_result_without_any_call_names_none():
    call = {"type": "tool_use", "id": "call-1", "name": "repl", "input": {}}
    result = {"type": "tool_result", "name": "web_search", "content": ""}
    found = []
    pair_tool_calls([{"message_id": "m-1", "content": [call, result]}], lambda kind, _: found.append(kind.code))
    assert result["tool_use_id"] != "call-1"
    assert found == ["made-call-id"]
