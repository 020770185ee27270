"""What a call sent: when, with which system prompt and tools, and a hash that its repetitions share."""

from typing import Any

from calling import TIME, call
from palaver.threads.call import Call
from palaver.threads.conversations import Threads

LOOK = {"name": "look", "input_schema": {}}
WALK = {"name": "walk", "input_schema": {}}


def documents(*calls: Call) -> list[dict[str, Any]]:
    with Threads("api_trace", lambda *_, **__: None, TIME) as threads:
        for one in calls:
            threads.add(one)
        return list(threads.documents())


def sent(made: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what was sent for each answer and each error, by the id of the request."""
    metadata = [message["metadata"] for document in made for message in document["messages"]]
    return {about["request_id"]: about["sent"] for about in metadata if "sent" in about}


def in_session(asked: str, answered: str | None, prompt: str, tools: list[Any], number: int, **more: Any) -> Call:
    made = call(
        "anthropic", more.pop("history", []), asked, answered, prompt=prompt, number=number, session_id="s", **more
    )
    made.request["tools"] = tools
    return made


def test_each_answer_of_a_session_names_its_own_prompt_and_tools():
    first = in_session("one", "ONE", "Be brief.", [LOOK], 1)
    history = [("user", "one"), ("assistant", "ONE")]
    second = in_session("two", "TWO", "Be kind.", [LOOK, WALK], 2, history=history, minute=1)
    history = [*history, ("user", "two"), ("assistant", "TWO")]
    third = in_session("three", "THREE", "Be brief.", [LOOK], 3, history=history, minute=2)
    made = documents(first, second, third)
    assert len({document["conversation_id"] for document in made}) == 1
    prompts = {
        message["message_id"]: message["content"][0]["text"]
        for document in made
        for message in document["messages"]
        if message["role"] == "system"
    }
    tools = made[0]["platform"]["metadata"]["tool_sets"]
    found = sent(made)
    assert [prompts[found[f"call-{n}"]["system_prompt"]] for n in (1, 2, 3)] == ["Be brief.", "Be kind.", "Be brief."]
    assert [tools[found[f"call-{n}"]["tools"]] for n in (1, 2, 3)] == [[LOOK], [LOOK, WALK], [LOOK]]
    assert [found[f"call-{n}"]["at"] for n in (1, 2, 3)] == [each.started_at for each in (first, second, third)]
    assert len({each["request"] for each in found.values()}) == 3


def test_a_prompt_among_the_messages_of_a_session_is_that_of_its_own_conversation():
    def asked(text: str, answered: str, prompt: str, number: int, history: Any = ()) -> Call:
        return call("openai-chat", list(history), text, answered, prompt=prompt, number=number, session_id="s")

    first, other = asked("one", "ONE", "Be brief.", 1), asked("uno", "UNO", "Be kind.", 2)
    second = asked("two", "TWO", "Be brief.", 3, [("user", "one"), ("assistant", "ONE")])
    found = sent(documents(first, other, second))
    assert found["call-3"]["system_prompt"] == found["call-1"]["system_prompt"] != found["call-2"]["system_prompt"]


def test_without_a_session_the_only_prompt_is_not_named():
    (document,) = documents(call("openai-chat", [], "one", "ONE", prompt="Be brief.", number=1))
    assert sent([document])["call-1"].keys() == {"at", "request"}


def test_a_request_that_is_sent_again_has_the_same_hash_also_where_the_first_one_stays_alone():
    failed = in_session("one", None, "Be brief.", [LOOK], 1)
    again = in_session("one", "ONE", "Be brief.", [LOOK], 2, minute=1)
    other = in_session("another", "ONE", "Be brief.", [LOOK], 3, minute=2)
    others_caller = call("anthropic", [], "one", "ONE", number=4, session_id="t", prompt="Be brief.", minute=3)
    for order in ([failed, again, other, others_caller], [others_caller, other, again, failed]):
        found = {name: each["request"] for name, each in sent(documents(*order)).items()}
        assert found["call-1"] == found["call-2"]
        assert len(set(found.values())) == 3


def test_a_hash_does_not_depend_on_what_was_read_before():
    history = [("user", "one"), ("assistant", "ONE")]
    first, later = call("anthropic", [], "one", "ONE", number=1), call("anthropic", history, "two", "TWO", number=2)
    assert sent(documents(first, later))["call-2"] == sent(documents(later))["call-2"]


def test_a_cut_request_has_no_hash():
    cut = call("anthropic", [], "one", "ONE", number=1)
    cut.is_request_cut = True
    assert sent(documents(cut))["call-1"].keys() == {"at"}
