"""Calls joined into conversations: what grows is one, what differs from the beginning is another."""

from dataclasses import replace
from typing import Any

import pytest

from calling import TIME, answer, call
from palaver.importers._shared.call_errors import quarantine_on_error
from palaver.model.ids import deterministic_uuid
from palaver.sources.run import Quarantined, Run
from palaver.threads.call import Call
from palaver.threads.chain import chain_after
from palaver.threads.conversations import Threads
from palaver.validation.schema import is_valid

Json = dict[str, Any]


def threaded(*calls: Call, platform: str = "azure_openai") -> tuple[list[Json], list[str]]:
    notes: list[str] = []
    with Threads(platform, lambda kind, *_, **__: notes.append(kind.code), TIME) as threads:
        for one in calls:
            threads.add(one)
        documents = list(threads.documents())
    assert all(map(is_valid, documents))
    return documents, notes


def all_told(documents: list[Json]) -> list[str]:
    return sorted(line for lines in told(documents) for line in lines)


def told(documents: list[Json]) -> list[list[str]]:
    return [[f"{m['role']}: {m['content'][0].get('text')}" for m in document["messages"]] for document in documents]


FIRST = call("openai-chat", [], "one", "ONE", prompt="P", minute=1, number=1)
SECOND = call("openai-chat", [("user", "one"), ("assistant", "ONE")], "two", "TWO", prompt="P", minute=2, number=2)


def test_a_history_that_grows_is_one_conversation():
    documents, notes = threaded(FIRST, SECOND)
    assert told(documents) == [["system: P", "user: one", "assistant: ONE", "user: two", "assistant: TWO"]]
    assert not notes
    assert [message["timestamp"][14:19] for message in documents[0]["messages"]] == [
        *("01:00", "01:00", "01:05", "02:00", "02:05")
    ]
    assert [message["metadata"].get("known_from") for message in documents[0]["messages"]] == [
        *("request", "request", None, "request", None)
    ]


def test_the_id_is_made_of_the_caller_and_of_all_up_to_the_first_answer():
    chain = b""
    for role, text in (("system", "P"), ("user", "one"), ("assistant", "ONE")):
        chain = chain_after(chain, role, [{"type": "text", "text": text}])
    for calls in ([FIRST], [SECOND], [FIRST, SECOND]):
        (document,), _ = threaded(*calls)
        assert document["conversation_id"] == deterministic_uuid(f"azure_openai---{chain.hex()}")


def test_what_is_known_from_a_later_request_only_has_a_time_that_is_inferred():
    (document,), _ = threaded(SECOND)
    assert told([document]) == [["system: P", "user: one", "assistant: ONE", "user: two", "assistant: TWO"]]
    inferred = [message["metadata"].get("timestamp_inferred") for message in document["messages"]]
    assert inferred == [True, True, True, None, None]
    assert {message["timestamp"] for message in document["messages"][:4]} == {"2026-01-01T00:02:00.000Z"}


def test_another_try_is_a_branch():
    other = call("openai-chat", [("user", "one"), ("assistant", "ONE")], "two", "ZWEI", prompt="P", minute=3, number=3)
    documents, _ = threaded(FIRST, SECOND, other)
    assert told(documents) == [
        ["system: P", "user: one", "assistant: ONE", "user: two", "assistant: TWO"],
        ["assistant: ZWEI"],
    ]
    parents = {document["messages"][-1]["parent_message_id"] for document in documents}
    assert parents == {documents[0]["messages"][3]["message_id"]}
    assert [document["fragment"]["start"] for document in documents] == [0, 4]


def test_the_same_answer_to_the_same_words_is_another_call():
    again = call("openai-chat", [], "one", "ONE", prompt="P", minute=9, number=9)
    documents, _ = threaded(FIRST, again)
    assert told(documents) == [["system: P", "user: one", "assistant: ONE"], ["assistant: ONE"]]
    answers = [document["messages"][-1] for document in documents]
    assert len({message["message_id"] for message in answers}) == 1
    assert [message["metadata"]["api_message_id"] for message in answers] == ["answer-1", "answer-9"]


def test_a_call_that_a_log_holds_twice_is_one():
    documents, _ = threaded(FIRST, FIRST)
    assert told(documents) == [["system: P", "user: one", "assistant: ONE"]]


@pytest.mark.parametrize("difference", [{"caller": "other"}, {"session_id": "other"}, {"prompt": "Q"}])
def test_callers_sessions_and_prompts_keep_conversations_apart(difference):
    settings = {"prompt": "P", "minute": 2, "number": 2} | difference
    documents, _ = threaded(FIRST, call("openai-chat", [], "one", "ONE", **settings))
    assert len({document["conversation_id"] for document in documents}) == 2


def test_in_a_session_the_system_prompt_may_change():
    first = call("anthropic", [], "one", "ONE", prompt="P", minute=1, number=1, session_id="s")
    history = [("user", "one"), ("assistant", "ONE")]
    second = call("anthropic", history, "two", "TWO", prompt="Q", minute=2, number=2, session_id="s")
    documents, _ = threaded(first, second)
    assert len({document["conversation_id"] for document in documents}) == 1
    assert documents[0]["session"] == {"session_id": "s"}
    assert all_told(documents) == sorted(
        ["system: P", "user: one", "assistant: ONE", "user: two", "assistant: TWO", "system: Q"]
    )


def test_marks_for_the_cache_reminders_and_reasoning_do_not_matter():
    """Traps of clients: what they add and take away again with every request."""
    reply = answer("anthropic", "ONE", 1)
    reply["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
    first = call("anthropic", [], "one", "ONE", minute=1, number=1)
    first.response = reply
    first.request["messages"][0]["content"] = [
        {"type": "text", "text": "<system-reminder>today</system-reminder>"},
        {"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}},
    ]
    second = call("anthropic", [("user", "one"), ("assistant", "ONE")], "two", "TWO", minute=2, number=2)
    (document,), _ = threaded(first, second)
    assert [message["role"] for message in document["messages"]] == ["user", "assistant", "user", "assistant"]
    assert "cache_control" not in str(document)
    assert document["messages"][1]["content"][0]["type"] == "thinking"


def test_how_a_result_is_spelled_does_not_depend_on_what_is_read_with_it():
    asked = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "seen", "is_error": False}
    other = {"type": "tool_result", "tool_use_id": "t1", "content": "seen"}
    said = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "ONE"},
        {"role": "user", "content": [other]},
    ]
    calls = [
        Call(f"call-{at}", "anthropic", {"messages": said[:at]}, answer("anthropic", "X", at), started_at=TIME)
        for at in (3, 5)
    ]
    together, _ = threaded(calls[1])
    apart, _ = threaded(*calls)
    assert [one["messages"][2]["content"] for one in (*together, apart[0])] == [
        [{"type": "tool_result", "tool_use_id": "t1", "content": "seen", "is_error": False}]
    ] * 2


def test_a_call_without_an_answer_stays_alone():
    documents, notes = threaded(call("openai-chat", [], "one", None, minute=1, number=1))
    assert told(documents) == [["user: one", "system: slow down"]]
    assert notes == ["unthreaded"]
    failure = documents[0]["messages"][1]
    assert failure["metadata"]["error"]["category"] == "rate_limit"
    assert [message["message_id"] for message in documents[0]["messages"][:1]] == ["call-1-0"]


def test_a_call_without_an_answer_that_goes_on_is_joined():
    failed = call("openai-chat", [("user", "one"), ("assistant", "ONE")], "two", None, prompt="P", minute=3, number=3)
    documents, notes = threaded(FIRST, failed)
    assert told(documents) == [["system: P", "user: one", "assistant: ONE", "user: two", "system: slow down"]]
    assert not notes


@pytest.mark.parametrize("field", ["is_request_cut", "is_answer_cut"])
def test_a_call_that_is_cut_stays_alone(field):
    cut = call("openai-chat", [], "one", "ONE", minute=1, number=1)
    setattr(cut, field, True)
    documents, notes = threaded(cut)
    assert told(documents) == [["user: one", "assistant: ONE"]]
    assert notes == ["unthreaded"]
    assert documents[0]["messages"][1]["message_id"] == "call-1-response"


def continuing(number: int, asked: str, answered: str, previous: str | None) -> Call:
    made = call("openai-responses", [], asked, answered, minute=number, number=number)
    if previous:
        made.request["previous_response_id"] = previous
    return made


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_response_that_continues_another_is_joined_with_it(order):
    calls = [continuing(1, "one", "ONE", None), continuing(2, "two", "TWO", "answer-1")]
    calls.append(continuing(3, "three", "THREE", "answer-2"))
    documents, notes = threaded(*(calls[number] for number in order))
    said = ["user: one", "assistant: ONE", "user: two", "assistant: TWO", "user: three", "assistant: THREE"]
    assert told(documents) == [said]
    assert not notes


def test_a_response_that_continues_another_may_repeat_what_a_third_one_said():
    history = [("user", "one"), ("assistant", "ONE")]
    calls = [call("openai-responses", history, "two", "TWO", minute=1, number=1), continuing(2, "six", "SIX", None)]
    calls.append(call("openai-responses", history, "two", "VI", minute=3, number=3))
    calls[2].request["previous_response_id"] = "answer-2"
    documents, _ = threaded(*calls)
    assert ["user: six", "assistant: SIX", "user: one", "assistant: ONE", "user: two", "assistant: VI"] in told(
        documents
    )


def test_a_response_that_continues_what_is_not_here_stays_alone():
    documents, notes = threaded(continuing(2, "two", "TWO", "answer-1"))
    assert told(documents) == [["user: two", "assistant: TWO"]]
    assert notes == ["unthreaded"]


def with_choices(one: Call, *choices: tuple[int | None, str]) -> Call:
    """Return a call whose response has these choices, each with its index."""
    made = [{"index": index, "finish_reason": "stop", "message": {"content": text}} for index, text in choices]
    return replace(one, response={**(one.response or {}), "choices": made})


def answers_in(documents: list[Json]) -> list[tuple[str, int | None]]:
    return [
        (message["content"][0]["text"], message["metadata"].get("completion_index"))
        for document in documents
        for message in document["messages"]
        if message["role"] == "assistant"
    ]


@pytest.mark.parametrize("choices", [[(0, "ONE"), (1, "UNO")], [(1, "UNO"), (0, "ONE")]])
def test_all_choices_come_in_one_document_in_the_order_of_their_indexes(choices):
    documents, _ = threaded(with_choices(FIRST, *choices))
    assert told(documents) == [["system: P", "user: one", "assistant: ONE", "assistant: UNO"]]
    assert "fragment" not in documents[0]
    assert answers_in(documents) == [("ONE", 0), ("UNO", 1)]
    one, uno = documents[0]["messages"][-2:]
    assert one["parent_message_id"] == uno["parent_message_id"] == documents[0]["messages"][1]["message_id"]
    assert "tokens" in one
    assert "tokens" not in uno


def test_a_conversation_continues_after_its_choices():
    documents, _ = threaded(with_choices(FIRST, (1, "UNO"), (0, "ONE")), SECOND)
    assert told(documents) == [
        ["system: P", "user: one", "assistant: ONE", "assistant: UNO", "user: two", "assistant: TWO"]
    ]


def test_a_choice_that_the_conversation_continues_is_a_branch():
    history = [("user", "one"), ("assistant", "ONE"), ("user", "two"), ("assistant", "DUE")]
    third = call("openai-chat", history, "three", "THREE", prompt="P", minute=3, number=3)
    documents, _ = threaded(FIRST, with_choices(SECOND, (0, "TWO"), (1, "DUE"), (2, "DOS")), third)
    assert told(documents) == [
        ["system: P", "user: one", "assistant: ONE", "user: two", "assistant: TWO", "assistant: DOS"],
        ["assistant: DUE", "user: three", "assistant: THREE"],
    ]


def test_choices_that_are_all_continued_are_branches_in_the_order_of_their_indexes():
    choices = list(enumerate(["TWO", "DUE", "DOS", "ZWEI", "DEUX"]))
    before = [("user", "one"), ("assistant", "ONE"), ("user", "two")]
    later = [
        call("openai-chat", [*before, ("assistant", text)], "three", f"after {text}", prompt="P", minute=9, number=at)
        for at, (_, text) in enumerate(reversed(choices), 3)
    ]
    documents, _ = threaded(*later, FIRST, with_choices(SECOND, *reversed(choices)))
    assert [document["messages"][-1]["content"][0]["text"] for document in documents] == [
        f"after {text}" for _, text in choices
    ]


def test_choices_with_one_index_for_all_keep_their_order():
    documents, _ = threaded(with_choices(FIRST, (0, "ONE"), (0, "UNO"), (None, "EIN")))
    assert answers_in(documents) == [("ONE", 0), ("UNO", 1), ("EIN", 2)]


def test_a_single_choice_has_no_index():
    documents, _ = threaded(with_choices(FIRST, (3, "ONE")))
    assert answers_in(documents) == [("ONE", None)]


def test_candidates_of_gemini_come_in_the_order_of_their_indexes_too():
    request = {"contents": [{"role": "user", "parts": [{"text": "one"}]}]}
    candidates = [{"index": 1, "content": {"parts": [{"text": "UNO"}]}}, {"content": {"parts": [{"text": "ONE"}]}}]
    documents, _ = threaded(Call("call-1", "gemini", request, {"candidates": candidates}, started_at=TIME))
    assert told(documents) == [["user: one", "assistant: ONE", "assistant: UNO"]]
    assert answers_in(documents) == [("ONE", 0), ("UNO", 1)]


def test_choices_of_a_call_that_stays_alone_are_in_order_too():
    cut = replace(with_choices(FIRST, (1, "UNO"), (0, "ONE")), is_request_cut=True)
    documents, _ = threaded(cut)
    assert answers_in(documents) == [("ONE", 0), ("UNO", 1)]
    assert [message["message_id"] for message in documents[0]["messages"][-2:]] == [
        f"{cut.call_id}-response",
        f"{cut.call_id}-response-1",
    ]


def test_a_helper_call_is_flagged_and_claims_to_be_no_agent():
    helper = call("anthropic", [], "Please write a title", "A title", minute=1, number=1, session_id="s")
    helper.helper = "title"
    (document,), _ = threaded(helper)
    assert document["session"] == {"session_id": "s"}
    assert document["messages"][-1]["metadata"]["helper"] == "title"


@pytest.mark.parametrize("error", [None, {"message": "Overloaded"}])
def test_a_helper_call_without_an_answer_is_flagged_too(error):
    helper = replace(call("anthropic", [], "Please write a title", None, minute=1), helper="title", error=error)
    (document,), _ = threaded(helper)
    assert document["messages"][-1]["metadata"]["helper"] == "title"


def starting_agent(asked: str, prompt: str, minute: int, caller: str = "") -> Call:
    """Return a call whose answer starts an agent with this prompt."""
    started = {"type": "tool_use", "id": f"call-{minute}", "name": "Task", "input": {"prompt": prompt}}
    made = call("anthropic", [], asked, "", minute=minute, number=minute, caller=caller)
    return replace(made, response={**(made.response or {}), "content": [started]})


def parents_by_question(documents: list[Json]) -> dict[str, tuple[bool, str | None]]:
    """Return by its first question whether a conversation is an agent's, and which conversation started it."""
    ids = {document["conversation_id"]: document["messages"][0]["content"][-1]["text"] for document in documents}
    sessions = [document.get("session") or {} for document in documents]
    return {
        ids[document["conversation_id"]]: (
            session.get("is_sidechain", False),
            ids.get(session.get("parent_conversation_id", "")),
        )
        for document, session in zip(documents, sessions, strict=True)
    }


@pytest.mark.parametrize("is_parent_first", [True, False])
def test_the_conversation_of_an_agent_names_the_one_that_started_it(is_parent_first):
    calls = [starting_agent("plan", "Count the pears.", 1), call("anthropic", [], "Count the pears.", "Six.", minute=2)]
    content = [
        {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"},
        {"type": "text", "text": "Count the pears."},
    ]
    calls[1].request["messages"] = [{"role": "user", "content": content}]
    documents, _ = threaded(*calls if is_parent_first else reversed(calls))
    assert parents_by_question(documents) == {"plan": (False, None), "Count the pears.": (True, "plan")}
    authors = {d["messages"][0]["content"][-1]["text"]: d["messages"][0]["metadata"]["author_kind"] for d in documents}
    assert authors == {"plan": "human", "Count the pears.": "model"}


def test_an_agent_is_known_from_a_later_request_that_repeats_its_start():
    started = {"type": "tool_use", "id": "t", "name": "Agent", "input": {"prompt": "Count the pears."}}
    later = call("anthropic", [], "x", "Done.", minute=3, number=3)
    later.request["messages"] = [
        {"role": "user", "content": "plan"},
        {"role": "assistant", "content": [started]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "Six."}]},
    ]
    documents, _ = threaded(call("anthropic", [], "Count the pears.", "Six.", minute=2, number=2), later)
    assert parents_by_question(documents)["Count the pears."] == (True, "plan")


@pytest.mark.parametrize(
    "others",
    [
        [starting_agent("plan", "Count the apples.", 1)],
        [starting_agent("plan", "Count the pears.", 1, caller="somebody else")],
        [starting_agent("plan", "Count the pears.", 1), starting_agent("another plan", "Count the pears.", 3)],
    ],
    ids=["another prompt", "another caller", "two that may have started it"],
)
def test_a_conversation_without_a_certain_start_claims_to_be_no_agent(others):
    documents, _ = threaded(*others, call("anthropic", [], "Count the pears.", "Six.", minute=2, number=2))
    assert parents_by_question(documents)["Count the pears."] == (False, None)


def test_tools_settings_filters_and_counts_are_kept():
    asked = call("openai-chat", [], "one", "ONE", minute=1, number=1)
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    asked.request |= {"tools": tools, "temperature": 0.2}
    assert asked.response is not None
    asked.response |= {
        "system_fingerprint": "fp",
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 7,
            "total_tokens": 16,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }
    asked.response["choices"][0]["content_filter_results"] = {"hate": {"filtered": False}}
    asked.answer = {"region": "north"}
    (document,), _ = threaded(asked)
    assert document["platform"] == {
        "name": "azure_openai",
        "version": "1",
        "model": "m",
        "metadata": {"deployment": "d", "tool_sets": {document["messages"][-1]["metadata"]["sent"]["tools"]: tools}},
    }
    reply = document["messages"][-1]
    assert reply["tokens"] == {
        "input_tokens": 9,
        "output_tokens": 7,
        "cache_read_input_tokens": 4,
        "thinking_tokens": 2,
        "total_tokens": 16,
    }
    about = reply["metadata"]
    assert about["request"] == {"temperature": 0.2}
    assert about["response"] == {"system_fingerprint": "fp"}
    assert about["content_filter_results"] == {"hate": {"filtered": False}}
    assert (about["region"], about["request_id"], about["duration_ms"]) == ("north", "call-1", 5_000)


def test_counts_of_the_log_fill_what_the_payload_does_not_say():
    asked = call("openai-chat", [], "one", "ONE", minute=1, number=1)
    assert asked.response is not None
    del asked.response["usage"]
    asked.usage = {"input_tokens": 5, "output_tokens": 6}
    (document,), _ = threaded(asked)
    assert document["messages"][-1]["tokens"] == {"input_tokens": 5, "output_tokens": 6}


def test_what_is_said_of_a_call_to_which_nothing_came_back_is_kept():
    for history in ([], [("user", "one"), ("assistant", "ONE")]):
        asked = call("openai-chat", history, "two", None, minute=1, number=1)
        asked.error = None
        asked.answer = {"region": "north"}
        (document,), _ = threaded(asked)
        about = document["messages"][-1]["metadata"]
        assert about["unanswered"].pop("sent")["at"] == asked.started_at
        assert about["unanswered"] == {"request_id": "call-1", "region": "north"}


def test_a_bug_in_one_call_does_not_cost_the_others():
    asides: list[Quarantined] = []
    run = Run("a log", quarantine=asides.append)
    with Threads("azure_openai", run.note, TIME) as threads:
        for one in (FIRST, replace(FIRST, call_id="broken", wire="unheard-of"), SECOND):
            with quarantine_on_error(one, run):
                threads.add(one)
        documents = list(threads.documents())
    assert len(documents) == 1
    assert [(aside.code, b"broken" in aside.raw) for aside in asides] == [("unforeseen", True)]
