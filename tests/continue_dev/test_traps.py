"""The traps of Continue's files, by their numbers in the notes on the format."""

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
from palaver.importers.continue_dev.prompts import completion_text
from palaver.model import build

FILE_TIME = "2026-01-01T00:00:00.000Z"
CREATED = "2025-02-09T16:33:43.126Z"
EVENTS = "dev_data/0.2.0/chatInteraction.jsonl"


def stated(made):
    """The times of the messages that have one of their own."""
    return [
        message["timestamp"] if not message["metadata"].get("timestamp_inferred") else None
        for message in made["messages"]
    ]


def test_trap_1_no_message_gets_a_time_that_nobody_stated(tmp_path):
    alone = document(tmp_path / "alone", user("a"), assistant("b"))
    assert (alone["created_at"], stated(alone)) == (FILE_TIME, [None, None])
    listed = document(tmp_path / "listed", user("a"), assistant("b"), rows=[row()])
    assert (listed["created_at"], stated(listed)) == (CREATED, [None, None])
    assert {message["timestamp"] for message in listed["messages"]} == {CREATED}
    made = call("c1")
    joined = document(
        tmp_path / "joined",
        user("a"),
        assistant(
            "", {"toolCalls": [made]}, reasoning={"startAt": 1739118830000, "endAt": 1739118831000, "text": "hm"}
        ),
        result("c1", "r"),
        assistant("the end"),
        rows=[row()],
        **{
            EVENTS: [event("chatInteraction", prompt="<user>\na\n\n", completion="the end", sessionId=SESSION)],
            "dev_data/0.2.0/toolUsage.jsonl": [
                event("toolUsage", "2025-02-09T16:34:00.000Z", toolCallId="c1", output=[{"content": "r"}])
            ],
        },
    )
    assert stated(joined) == [
        None,
        "2025-02-09T16:33:50.000Z",
        "2025-02-09T16:34:00.000Z",
        "2025-02-09T17:00:00.000Z",
    ]
    assert (joined["created_at"], joined["updated_at"]) == (CREATED, "2025-02-09T17:00:00.000Z")


def test_trap_2_the_name_of_the_file_is_the_id(tmp_path):
    found = imported(tmp_path, {f"sessions/{SESSION}.json": session(user("a"), sessionId="another")})
    (made,) = found.documents
    assert made["conversation_id"] == made["session"]["session_id"] == SESSION
    assert made["platform"]["metadata"]["sessionId"] == "another"
    assert found.reports[0].findings.counts["other-session-id"] == 1


@pytest.mark.parametrize("created", ["1739118823126", 1739118823126, CREATED, "2025-02-09T17:33:43.126+01:00"])
def test_trap_3_the_index_has_times_in_any_spelling(tmp_path, created):
    assert document(tmp_path, user("a"), rows=[row(dateCreated=created)])["created_at"] == CREATED


@pytest.mark.parametrize(
    ("directory", "path"),
    [
        ("/home/jo/well", "/home/jo/well"),
        ("file:///home/jo/my%20well", "/home/jo/my well"),
        ("file:///c%3A/laragon/www/X", "c:/laragon/www/X"),
        ("file:///C:/x", "C:/x"),
        ("C:\\Users\\jo", "C:\\Users\\jo"),
        ("file://server/share/x", "//server/share/x"),
        ("vscode-remote://ssh/home/jo", "vscode-remote://ssh/home/jo"),
    ],
)
def test_trap_4_the_workspace_is_a_path_or_an_address(tmp_path, directory, path):
    assert document(tmp_path, user("a"), workspaceDirectory=directory)["context"]["workspace"] == {"path": path}


def test_trap_4_no_workspace_is_none(tmp_path):
    assert "context" not in document(tmp_path, user("a"), workspaceDirectory="")


def test_trap_5_the_count_of_messages_is_one_of_answers_and_changes_nothing(tmp_path):
    made = document(tmp_path, user("a"), assistant("b"), user("c"), assistant("d"), rows=[row(messageCount=2)])
    assert made["metrics"]["total_messages"] == 4
    assert made["platform"]["metadata"]["messageCount"] == 2


@pytest.mark.parametrize("told_by", ["both", "state", "item"])
def test_trap_6_a_result_stands_once_whoever_tells_of_it(tmp_path, told_by):
    made = call("c1", path=".")
    around = {} if told_by == "item" else {"toolCallStates": [state(made, output="one file")]}
    items = [] if told_by == "state" else [result("c1", "one file")]
    found = document(tmp_path, user("a"), assistant("", {"toolCalls": [made]}, **around), *items, assistant("b"))
    assert roles(found) == ["user", "assistant", "tool", "assistant"]
    (block,) = found["messages"][2]["content"]
    assert (block["tool_use_id"], block["content"], block["is_error"]) == ("c1", "one file", False)
    assert found["messages"][2]["metadata"]["author_kind"] == "tool"
    assert str(found).count("one file") == 1


def test_trap_6_results_in_another_order_belong_to_their_calls(tmp_path):
    calls = [call("c1"), call("c2"), call("c3")]
    states = [state(calls[0], output="first"), state(calls[1], output="second"), state(calls[2], "errored", "third")]
    found = document(
        tmp_path,
        assistant("", {"toolCalls": calls}, toolCallStates=states),
        result("c2", "second"),
        result("c1", "first"),
    )
    told = [(one["content"][0]["tool_use_id"], one["content"][0]["content"]) for one in found["messages"][1:]]
    assert told == [("c2", "second"), ("c1", "first"), ("c3", "third")]
    assert found["messages"][3]["content"][0]["is_error"] is True


def test_trap_7_one_state_and_a_list_of_states_are_the_same(tmp_path):
    made = call("c1", path=".")
    one = document(tmp_path / "1", assistant("", {"toolCalls": [made]}, toolCallState=state(made, output="r")))
    many = document(tmp_path / "2", assistant("", {"toolCalls": [made]}, toolCallStates=[state(made, output="r")]))
    assert one == many
    assert roles(one) == ["assistant", "tool"]


def test_trap_7_a_call_that_only_a_state_tells_of_is_a_call(tmp_path):
    (made,) = document(tmp_path, assistant("", toolCallState=state(call("c1", path="."), "canceled")))["messages"]
    assert made["content"] == [{"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}]


def test_trap_8_an_empty_beginning_is_part_of_the_answer_and_a_canceled_call_has_no_result(tmp_path):
    made = call("c1", path=".")
    answer = assistant("", {"toolCalls": [made], "id": "m2"}, toolCallStates=[state(made, "canceled")])
    found = document(tmp_path, user("a"), assistant("", {"id": "m1"}), thinking("hm", id="t1"), answer)
    assert roles(found) == ["user", "assistant"]
    message = found["messages"][1]
    assert message["message_id"] == "m1"
    assert message["metadata"]["source_ids"] == ["m1", "t1", "m2"]
    assert [block["type"] for block in message["content"]] == ["thinking", "tool_use"]
    assert message["metadata"]["call_states"]["c1"]["status"] == "canceled"


def test_trap_8_an_answer_that_was_never_given_stays(tmp_path):
    found = document(tmp_path, user("a"), assistant(""))
    assert texts(found) == ["a", ""]


@pytest.mark.parametrize(
    ("log", "model"),
    [
        ({"modelTitle": "T", "modelProvider": "p", "prompt": "<user>\na\n\n", "completion": "b"}, "T"),
        (
            {"modelTitle": "T", "completionOptions": {"model": "m-1"}, "prompt": "<user>\na\n\n", "completion": "b"},
            "m-1",
        ),
        (["<user>\na\n\n", "b"], None),
        ([{"role": "assistant", "content": " a stray piece of an answer, of forty letters"}], None),
        ("a text", None),
        (None, None),
        (7, None),
        ({"prompt": 1, "completion": []}, None),
    ],
)
def test_trap_9_a_prompt_log_has_any_shape(tmp_path, log, model):
    found = document(tmp_path, user("a"), assistant("b", promptLogs=[log]))
    assert texts(found) == ["a", "b"]
    assert found["platform"].get("model") == model
    if isinstance(log, list) and isinstance(log[0], dict):
        assert found["messages"][1]["metadata"]["promptLogs"] == [log]


def test_trap_10_pieces_of_an_answer_are_the_answer(tmp_path):
    completion = "<assistant>\nThe well\n\n<assistant>\n is\n\n\n<assistant>\ndry.\n\n"
    assert completion_text(completion) == "The well is\ndry."
    log = {"modelTitle": "T", "prompt": "<user>\na\n\n", "completion": completion}
    found = document(tmp_path, user("a"), assistant("The well is\ndry.", promptLogs=[log]))
    assert found["messages"][1]["metadata"]["promptLogs"] == [{"modelTitle": "T"}]


def test_trap_10_calls_in_pieces_are_taken_from_the_calls(tmp_path):
    made = call("c1", path="a folder with a name that is longer than forty letters")
    pieces = [made["function"]["arguments"][at : at + 5] for at in range(0, 80, 5)]
    completion = "<assistant>\n\nls()\n\n" + "".join(f"<assistant>\n\n({piece})\n\n" for piece in pieces)
    log = {"modelTitle": "T", "prompt": "<user>\na\n\n", "completion": completion}
    found = document(tmp_path, user("a"), assistant("", {"toolCalls": [made]}, promptLogs=[log]))
    assert found["messages"][1]["content"] == [
        {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": made["function"]["arguments"][10:-2]}}
    ]
    assert found["messages"][1]["metadata"]["promptLogs"] == [{"modelTitle": "T"}]


def test_trap_11_the_history_counts_where_a_prompt_can_be_read_in_two_ways(tmp_path):
    said = "What does this do?\n\n<assistant>\nNothing, I would say.\n\n<tool>\nand a result that nobody asked for"
    log = {"modelTitle": "T", "prompt": f"<user>\n{said}\n\n<user>\n[object Object]\n\n", "completion": "It quotes."}
    found = document(tmp_path, user(said), user("more"), assistant("It quotes.", promptLogs=[log]))
    assert texts(found) == [said, "more", "It quotes."]
    assert found["messages"][2]["metadata"]["promptLogs"] == [{"modelTitle": "T"}]


def test_trap_12_what_a_compaction_stands_for_stays(tmp_path):
    found = document(
        tmp_path,
        user("a"),
        assistant("b", conversationSummary="They spoke of wells, and of nothing else so far."),
        user("c"),
        assistant("d", promptLogs=[{"prompt": "<user>\nThey spoke of wells, and of nothing else so far.\n\n"}]),
    )
    assert texts(found) == ["a", "b", "c", "d"]
    (summary,) = found["summaries"]
    assert summary["text"] == "They spoke of wells, and of nothing else so far."
    assert summary["type"] == "automatic"
    assert summary["covers_messages"] == [message["message_id"] for message in found["messages"][:2]]
    assert "sent" not in str(found)


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("New Session", "How deep is the well?"),
        ("Untitled Session", "How deep is the well?"),
        ("", "How deep is the well?"),
        ("<think>\nOkay, so I need to", "How deep is the well?"),
        ("<think>\nshort\n</think>\n\nThe depth of wells", "The depth of wells"),
        ("Depths", "Depths"),
    ],
)
def test_trap_13_a_title_that_is_none_is_not_shown(tmp_path, title, shown):
    prompt = "```python x.py\npass\n```\n\nHow deep\nis the well?"
    made = document(tmp_path, user(prompt), rows=[row(title=title)], title=title)
    assert made["title"] == shown
    assert made["platform"].get("metadata", {}).get("title", shown) == (title or shown)


@pytest.mark.parametrize(
    "config",
    [
        {"config.yaml": "models:\n  - name: Mine\n    provider: openai\n    model: gpt-5.2\n    apiKey: hush\n"},
        {"config.json": '{"models": [ // mine\n {"title": "Mine", "model": "gpt-5.2", "apiKey": "hush",},]}'},
        {
            "config.yaml": "models:\n  - {uses: a/b, with: {KEY: hush}, override: {name: Mine, model: gpt-5.2}}\n",
            "config.json": '{"models": [{"title": "Mine", "model": "an older one"}]}',
        },
    ],
)
def test_trap_14_titles_of_models_are_resolved_by_the_config(tmp_path, config):
    log = {"modelTitle": "Mine", "modelProvider": "openai", "prompt": "<user>\na\n\n", "completion": "b"}
    by_log = document(tmp_path / "log", user("a"), assistant("b", promptLogs=[log]), **config)
    by_session = document(tmp_path / "session", user("a"), assistant("b"), chatModelTitle="Mine", **config)
    unknown = document(tmp_path / "unknown", user("a"), assistant("b"), chatModelTitle="Yours", **config)
    assert [made["platform"]["model"] for made in (by_log, by_session, unknown)] == ["gpt-5.2", "gpt-5.2", "Yours"]
    assert "hush" not in str([by_log, by_session, unknown])


def test_trap_15_index_and_files_need_not_agree(tmp_path):
    found = imported(
        tmp_path,
        {
            "sessions/sessions.json": [
                row("gone", title="Once there was a well"),
                {"session_id": "old", "title": "x", "date_created": "2023-01-01"},
                {"session_id": SESSION, "title": "Old spelling", "date_created": "2023-01-02T00:00:00Z"},
            ],
            f"sessions/{SESSION}.json": session(user("a"), title="New Session"),
            "sessions/unlisted.json": session(user("b")),
        },
    )
    assert [made["conversation_id"] for made in found.documents] == [SESSION, "unlisted"]
    assert found.documents[0]["created_at"] == "2023-01-02T00:00:00.000Z"
    assert found.documents[0]["title"] == "Old spelling"
    report = found.reports[0]
    assert report.ledger.skipped == {"missing-session-file": 1, "old-index-row": 1}
    (finding,) = [one for one in report.findings.first if one.code == "missing-session-file"]
    assert "Once there was a well" in finding.message


@pytest.mark.parametrize("index", ["", "[", "{}", "null", '[{"sessionId": "' + SESSION, None])
def test_trap_15_a_broken_index_costs_no_session(tmp_path, index):
    files = {f"sessions/{SESSION}.json": session(user("a"))}
    if index is not None:
        files["sessions/sessions.json"] = index
    assert [texts(made) for made in imported(tmp_path, files).documents] == [["a"]]


def test_trap_16_counts_of_tokens_are_guesses_without_a_session(tmp_path):
    counts = event("tokensGenerated", model="m-1", provider="p", promptTokens=10, generatedTokens=3)
    old = {"model": "m-1", "provider": "p", "promptTokens": 10, "generatedTokens": 3}
    found = imported(
        tmp_path,
        {
            f"sessions/{SESSION}.json": session(user("a"), assistant("b")),
            "dev_data/0.2.0/tokensGenerated.jsonl": [counts],
            "dev_data/0.1.0/tokensGenerated.jsonl": [old, old],
        },
    )
    assert "tokens" not in str(found.documents[0]["messages"])
    assert [record["metadata"]["estimated_tokens"] for record in found.used] == [
        {"input_tokens": 10, "output_tokens": 3}
    ] * 3
    assert all("tokens" not in record and record["model"] == "m-1" for record in found.used)
    assert len({record["usage_id"] for record in found.used}) == 3
    inferred = [record["metadata"].get("timestamp_inferred") for record in found.used]
    assert sorted(map(bool, inferred)) == [False, True, True]
    assert {record["started_at"] for record in found.used} == {FILE_TIME, "2025-02-09T17:00:00.000Z"}


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (None, [build.text("")]),
        (42, [build.opaque(kind="content", raw=42)]),
        ({"a": 1}, [build.opaque(kind="content", raw={"a": 1})]),
        ([], [build.text("")]),
        (
            [None, "x", {"type": "text"}],
            [build.opaque(kind="part", raw=None), build.text("x"), build.opaque(kind="text", raw={"type": "text"})],
        ),
        (True, [build.opaque(kind="content", raw=True)]),
    ],
)
def test_trap_17_content_of_any_type_is_read_and_kept(tmp_path, content, kept):
    found = document(tmp_path, user("a"), assistant(content, {"id": "m"}), user(content))
    assert roles(found) == ["user", "assistant", "user"]
    assert [message["content"] for message in found["messages"][1:]] == [kept, kept]


def test_trap_17_thoughts_are_found_in_all_of_their_homes(tmp_path):
    def thoughts(*items):
        (made,) = document(tmp_path / str(len(list(tmp_path.iterdir()))), *items)["messages"]
        return [block["thinking"] for block in made["content"] if block["type"] == "thinking"], made

    assert thoughts(thinking("one"), thinking("two"), assistant("x"))[0] == ["one", "two"]
    assert thoughts(assistant("x", reasoning={"text": "one", "active": False}))[0] == ["one"]
    assert thoughts(assistant("<think>one</think>x"))[0] == ["one"]
    found, made = thoughts(assistant("<think>never closed", reasoning={"text": "", "active": True}))
    assert found == ["never closed"]
    assert made["metadata"]["reasoning"] == {"active": True}
    _, made = thoughts(thinking("internal reasoning is hidden due to safety reasons", redactedThinking="c2Vj"))
    assert made["content"] == [{"type": "thinking", "thinking": "", "redacted_data": "c2Vj"}]


def test_trap_17_pictures_prompts_in_a_row_and_nothing_at_all(tmp_path):
    part = {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}
    found = document(tmp_path / "row", user([part]), user("b"), user("c"))
    assert roles(found) == ["user"] * 3
    assert found["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    ]
    empty = imported(
        tmp_path / "empty",
        {"sessions/sessions.json": [row()], f"sessions/{SESSION}.json": session(), "sessions/none.json": ""},
    )
    assert empty.documents == []
    assert empty.reports[0].ledger.skipped == {"empty-session": 1}
    alone = imported(tmp_path / "index", {"sessions/sessions.json": [row()]})
    assert alone.documents == []
    assert alone.reports[0].ledger.skipped == {"missing-session-file": 1}


def test_trap_17_a_session_of_a_megabyte_is_one_document(tmp_path):
    found = document(
        tmp_path, *(item for number in range(300) for item in (user("q" * 1500), assistant(f"{number}" * 900)))
    )
    assert len(found["messages"]) == 600
    assert "fragment" not in found


def test_trap_18_sessions_are_the_source_and_prompts_come_second(tmp_path):
    log = {"modelTitle": "T", "prompt": "<|im_start|>user\nasked otherwise<|im_end|>\n<|im_start|>assistant\n"}
    found = document(tmp_path, user("asked"), assistant("said", promptLogs=[{**log, "completion": "said"}]))
    assert texts(found) == ["asked", "said"]
    assert found["messages"][1]["metadata"]["promptLogs"] == [
        {"modelTitle": "T", "sent": [{"role": "user", "text": "asked otherwise"}]}
    ]
