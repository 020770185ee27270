"""Plain messages, read without their wire format: the same comes out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.threads.history import without_format_notes
from palaver.threads.plain_text import plain_answer, plain_request
from palaver.wire import wire_format

LAW = settings(max_examples=200, deadline=None, derandomize=True, database=None)
TEXT = st.text(max_size=3)
BLOCK = st.fixed_dictionaries(
    {"type": st.just("text"), "text": TEXT},
    optional={"cache_control": st.just({"type": "ephemeral"}), "citations": st.none() | st.just([])},
)
CONTENT = TEXT | st.lists(BLOCK, max_size=2) | st.none()
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "developer", "tool", "model"]), "content": CONTENT},
    optional={"name": TEXT, "refusal": st.none() | TEXT, "tool_calls": st.just([])},
)


PROMPTS = st.fixed_dictionaries({}, optional={"system": CONTENT, "instructions": TEXT})


@LAW
@given(st.sampled_from(["openai-chat", "anthropic", "gemini"]), st.lists(MESSAGE, max_size=4), PROMPTS)
def test_a_plain_request_is_what_its_format_gives(wire, messages, prompts):
    found = plain_request(wire, messages, prompts)
    if found is None:
        return
    given_by_format = wire_format(wire).request_from_wire({**prompts, "messages": messages})
    prompt, said = found
    assert [without_format_notes(block) for block in given_by_format.get("system") or []] == prompt
    assert [
        (message["role"], [without_format_notes(block) for block in message["content"]], {})
        for message in given_by_format["messages"]
    ] == said


@LAW
@given(MESSAGE)
def test_a_plain_answer_is_what_its_format_gives(message):
    chat = {"id": "x", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    content = message["content"]
    for wire, payload in (("openai-chat", chat), ("anthropic", {"role": "assistant", "content": content})):
        found = plain_answer(wire, payload)
        if found is not None:
            given_by_format = wire_format(wire).response_from_wire(payload)["content"]
            assert found == [without_format_notes(block) for block in given_by_format]


def test_plain_messages_are_seen_as_such():
    said = [{"role": "user", "content": "a"}]
    assert plain_request("openai-chat", [{"role": "system", "content": "s"}, *said], {}) is not None
    assert plain_request("anthropic", said, {"system": [{"type": "text", "text": "s"}]}) is not None
    assert plain_answer("anthropic", {"content": [{"type": "text", "text": "a"}]}) is not None
    message = {"role": "assistant", "content": "a", "refusal": None, "annotations": []}
    assert plain_answer("openai-chat", {"choices": [{"message": message}]}) is not None
