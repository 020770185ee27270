"""What is easily lost: fields of the same name, a second account of the same thing, values of another kind."""

import pytest

from continue_dev.folders import (
    SESSION,
    assistant,
    call,
    document,
    event,
    imported,
    result,
    roles,
    row,
    session,
    state,
    texts,
    thinking,
    user,
)
from importing import import_folder
from palaver.importers.continue_dev.context_items import Mention, Providers, attachment
from palaver.importers.continue_dev.fields import token_counts
from palaver.importers.continue_dev.prompts import RecoveredMessages

USES = "dev_data/0.2.0/toolUsage.jsonl"


def test_thoughts_beside_a_thought_are_kept(tmp_path):
    thought = {**thinking("One thought."), "reasoning": {"text": "Another thought.", "startAt": 1739118830000}}
    (made,) = document(tmp_path, thought, assistant("b"))["messages"]
    assert [block["thinking"] for block in made["content"][:-1]] == ["One thought.", "Another thought."]


def test_fields_of_the_same_name_are_kept_side_by_side(tmp_path):
    first = {**thinking("hm"), "modifiers": {"noContext": True}, "feedback": 1}
    last = assistant("b", {"event": "e"}, modifiers={"noContext": False}, feedback=2, reasoning={"active": False})
    (made,) = document(tmp_path, {**first, "reasoning": {"active": True}}, last)["messages"]
    assert made["metadata"]["modifiers"] == {"noContext": True}
    assert made["metadata"]["source_fields"] == {
        "event": "e",
        "feedback": 1,
        "modifiers": {"noContext": False},
        "reasoning": {"active": False},
    }
    assert made["metadata"]["more_source_fields"] == [{"feedback": 2}]


def test_fields_of_a_session_that_have_the_names_of_others_are_kept(tmp_path):
    asked = call("c1")
    answer = assistant("", {"toolCalls": [asked]}, toolCallStates=[{**state(asked), "tool": {"kind": "ours"}}])
    made = document(tmp_path, answer, rows=[row(colour="blue")], tools=["theirs"], colour="red", source_fields=7)
    metadata = made["platform"]["metadata"]
    assert (metadata["tools"], metadata["colour"]) == ({"ls": {"kind": "ours"}}, "red")
    assert metadata["source_fields"] == {"tools": ["theirs"], "colour": "blue", "source_fields": 7}


def test_a_second_state_of_a_call_is_kept(tmp_path):
    made = call("c1")
    states = [state(made, output="what came back"), state(made, output="something else")]
    found = document(tmp_path, assistant("", {"toolCalls": [made]}, toolCallStates=states, toolCallState=states[0]))
    assert [block["type"] for message in found["messages"] for block in message["content"]] == [
        "tool_use",
        "tool_result",
    ]
    assert found["messages"][1]["content"][0]["content"] == "what came back"
    assert found["messages"][0]["metadata"]["toolCallStates"] == [states[1]]


def test_definitions_of_tools_with_one_name_are_all_kept(tmp_path):
    calls = [call(f"c{number}", "ls-2" if number == 1 else "ls") for number in range(6)]
    kinds = ["a", "b", "c", "d", "c", "a"]
    states = [{**state(made), "tool": {"kind": kind}} for made, kind in zip(calls, kinds, strict=True)]
    found = document(tmp_path, assistant("", {"toolCalls": calls}, toolCallStates=states))
    assert found["platform"]["metadata"]["tools"] == {
        "ls": {"kind": "a"},
        "ls-2": {"kind": "b"},
        "ls-3": {"kind": "c"},
        "ls-4": {"kind": "d"},
    }


def test_events_of_one_call_are_all_kept(tmp_path):
    lines = [event("toolUsage", toolCallId="c1", accepted=accepted) for accepted in (False, True)]
    found = document(tmp_path, assistant("", {"toolCalls": [call("c1")]}), result("c1", "r"), **{USES: lines})
    assert found["messages"][1]["content"][0]["metadata"] == {
        "tool_usage": {"accepted": False},
        "more_tool_usage": [{"accepted": True}],
    }


def test_an_event_of_a_call_that_only_a_state_knows_is_told_once(tmp_path):
    answer = assistant("a", toolCallStates=[{"toolCallId": "c1", "status": "canceled"}])
    line = event("toolUsage", toolCallId="c1", functionName="ls", accepted=False)
    found = document(tmp_path, answer, **{USES: [line]})
    assert found["messages"][0]["metadata"]["call_states"]["c1"]["tool_usage"] == {"accepted": False}


def test_a_result_that_names_no_call_is_not_that_of_an_earlier_answer(tmp_path):
    nameless = {"message": {"role": "tool", "content": "r"}, "contextItems": []}
    found = document(
        tmp_path,
        assistant("", {"toolCalls": [call("canceled")]}),
        user("again"),
        assistant("", {"toolCalls": [call("c1"), call("c2"), call("c3")]}),
        result("c1", "first"),
        nameless,
        nameless,
        nameless,
    )
    told = [message["content"][0]["tool_use_id"] for message in found["messages"] if message["role"] == "tool"]
    assert told == ["c1", "c2", "c3", f"{SESSION}:unknown-call"]


def test_a_lost_history_keeps_what_the_blank_messages_tell(tmp_path):
    written = {"type": "doc", "content": [{"type": "text", "text": "A text that only the editor holds."}]}
    log = {"modelTitle": "T", "prompt": "<user>\nq\n\n", "completion": "r"}
    answer = assistant("", {"usage": {"promptTokens": 3}}, promptLogs=[log], conversationSummary="They spoke of wells.")
    found = document(tmp_path, user("", editorState=written), answer)
    assert texts(found) == ["", "q", "r"]
    assert found["messages"][0]["metadata"]["editorState"] == written
    assert found["messages"][2]["tokens"] == {"input_tokens": 3}
    (summary,) = found["summaries"]
    assert summary["text"] == "They spoke of wells."
    assert summary["covers_messages"] == [message["message_id"] for message in found["messages"]]


def test_a_summary_covers_what_the_one_before_it_does_not(tmp_path):
    turns = [(user(f"q{number}"), assistant(f"r{number}", conversationSummary=f"s{number}")) for number in range(3)]
    found = document(tmp_path, *(item for turn in turns for item in turn))
    ids = [message["message_id"] for message in found["messages"]]
    assert [one["covers_messages"] for one in found["summaries"]] == [ids[:2], ids[2:4], ids[4:]]


@pytest.mark.parametrize(("first", "second"), [("main() does nothing.", "It prints."), ("f()\n(x)", "It prints.")])
def test_an_answer_that_looks_like_a_call_stays_where_another_was_given(first, second):
    tree = RecoveredMessages("s")
    tree.add("<user>\nq\n\n", first)
    tree.add("<user>\nq\n\n", second)
    assert [message["content"][0]["text"] for message in tree.messages] == ["q", first, second]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("feedback", "good"),
        ("timestamp", "some day"),
        ("path", ["a", "b"]),
        ("model", {"id": "m"}),
        ("completion", [1]),
    ],
)
def test_fields_of_an_edit_that_are_of_another_kind_are_kept(tmp_path, field, value):
    line = {**event("editOutcome", prompt="Turn it round.", filepath="a.py"), field: value}
    found = imported(tmp_path, {f"sessions/{SESSION}.json": session(user("a")), "dev_data/0.2.0/x.jsonl": [line]})
    metadata = found.documents[0]["messages"][-1]["metadata"]
    assert metadata.get(field, metadata.get("source_fields", {}).get(field)) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("generatedTokens", "many"),
        ("timestamp", "some day"),
        ("model", 7),
        ("event", "theirs"),
        ("promptTokens", -1),
    ],
)
def test_fields_of_a_usage_record_that_are_of_another_kind_are_kept(tmp_path, field, value):
    line = {**event("tokensGenerated", promptTokens=1, generatedTokens=2), field: value}
    found = imported(tmp_path, {f"sessions/{SESSION}.json": session(user("a")), "dev_data/0.2.0/x.jsonl": [line]})
    metadata = found.used[0]["metadata"]
    assert metadata["event"] == "tokensGenerated"
    assert value in (metadata.get(field), metadata.get("source_fields", {}).get(field))


def test_a_usage_that_is_nested_deeply_is_kept():
    deep: dict = {}
    for _ in range(900):
        deep = {"a": deep}
    assert token_counts({"promptTokens": 1, "b": deep}) == {"input_tokens": 1, "source_fields": {"b": deep}}


@pytest.mark.parametrize(
    ("fence", "path", "lines"),
    [
        ("py src/a b.py (3-9)", "src/a b.py", {"start": 3, "end": 9}),
        ("py  a.py\t(3-9) ", "a.py", {"start": 3, "end": 9}),
        ("py a.py", "a.py", None),
        ("py (3-9)", "(3-9)", None),
        ("py a.py(3-9)", "a.py(3-9)", None),
        ("py a.py (0-9)", "a.py", None),
    ],
)
def test_a_selection_tells_where_it_was_taken_from(fence, path, lines):
    item = {"content": f"```{fence}\nx = 1\n```", "id": {"providerTitle": "code", "itemId": "1"}}
    block = attachment(item)
    assert (block["type"], block["file_path"], block.get("line_range")) == ("code", path, lines)
    assert block["language"] == "py"


@pytest.mark.parametrize("fence", ["", "py", " "])
def test_a_selection_without_a_place_is_a_file(fence):
    item = {"content": f"```{fence}\nx = 1\n```", "id": {"providerTitle": "code", "itemId": "1"}}
    assert attachment(item)["type"] == "file"


def test_each_mention_is_answered_once():
    providers = Providers()
    items = [
        {"name": name, "id": {"providerTitle": provider, "itemId": name}}
        for provider, name in (("file", "b.py"), ("docs", "x"), ("docs", "y"), ("codebase", "z"), ("codebase", "w"))
    ]
    asked = [
        Mention("file", "a.py", ("a.py",)),
        Mention("docs", "first", ("first", "")),
        Mention("file", "b.py", ("b.py", "b.py")),
        Mention("docs", "second", ("second",)),
        Mention("codebase", "loops", ("loops",)),
        Mention("web", "weather", ("weather",)),
    ]
    providers.add(items, asked)
    assert [(one["name"], one["query"]) for one in providers.entries()] == [
        *(("file", "b.py"), ("docs", "first"), ("docs", "second"), ("codebase", "loops")),
        *(("file", "a.py"), ("web", "weather")),
    ]


def test_a_byte_that_is_no_text_is_found_where_it_is(tmp_path):
    raw = b"### [Continue](https://continue.dev) session transcript\n\n#### _User_\n\n> caf\xe9\n"
    (tmp_path / "20260514T093012_session.md").write_bytes(raw)
    found = import_folder(tmp_path, "continue_dev")
    (finding,) = [one for one in found.reports[0].findings.first if one.code == "invalid-utf8"]
    assert finding.message == f"first at byte {raw.index(0xE9)}"
    assert roles(found.documents[0]) == ["user"]
