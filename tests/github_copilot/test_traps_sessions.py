"""The traps of VS Code's chat sessions, by their numbers in the notes on the format."""

import json

from github_copilot.chatting import (
    BEGUN,
    NAME,
    answer_of,
    asked,
    blocks,
    called,
    document_of,
    exported,
    imported,
    logged,
    round_of,
    said,
    session,
    texts,
    uri,
)
from importing import import_folder


def test_trap_1_the_log_is_the_truth_and_both_files_are_one_conversation(tmp_path):
    stale = session(asked(1, "How deep is the lake?", said("I do not")), customTitle="Stale")
    log = logged({"kind": 2, "k": ["requests"], "v": [asked(1, "How deep is the lake?", said("Forty metres."))]})
    found = imported(tmp_path, chatSessions__lake_json=stale, chatSessions__lake_jsonl=log)
    (unit,) = found.units
    (document,) = found.documents
    assert document["conversation_id"] == NAME
    assert [texts(message) for message in document["messages"]] == ["How deep is the lake?", "Forty metres."]
    assert found.reports[0].ledger.folded == {"its log": 1}
    assert {unit.source.name, *unit.match.members} == {"lake.json", "lake.jsonl"}


def test_trap_1_either_file_of_a_session_leads_to_both(tmp_path):
    stale = session(asked(0, "Only the older file has this."))
    imported(tmp_path, lake_json=stale, lake_jsonl=logged({"kind": 2, "k": ["requests"], "v": [asked(1, "one")]}))
    by_flat, by_log = (import_folder(tmp_path / name, "github_copilot") for name in ("lake.json", "lake.jsonl"))
    assert by_flat.documents == by_log.documents
    assert [len(found.units) for found in (by_flat, by_log)] == [1, 1]
    assert [message["metadata"].get("kept_from") for message in by_log.documents[0]["messages"]] == [
        "the older file",
        None,
    ]


def test_trap_1_requests_that_only_the_older_file_holds_are_kept_hidden_where_they_stood(tmp_path):
    stale = session(asked(1, "one"), asked(2, "two", said("second")), asked(3, "three"))
    log = logged({"kind": 2, "k": ["requests"], "v": [asked(1, "one"), asked(3, "three")]})
    found = imported(tmp_path, s_json=stale, s_jsonl=log)
    (document,) = found.documents
    told = {message["message_id"]: message for message in document["messages"]}
    assert list(told) == ["request_1", "request_2", "response_2", "request_3"]
    assert [name for name, one in told.items() if one["metadata"].get("hidden")] == ["request_2", "response_2"]
    assert told["request_3"]["parent_message_id"] == "request_1"
    assert found.reports[0].findings.counts["left-behind-request"] == 1


def test_trap_2_kinds_mean_what_the_source_of_the_editor_says(tmp_path):
    first = asked(1, "one", said("a"), said("b"), said("c"))
    log = logged(
        {"kind": 1, "k": ["customTitle"], "v": "set, not deleted"},
        {"kind": 1, "k": ["requests", 0, "response", 0], "v": said("A")},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [said("d")], "i": 2},
        {"kind": 2, "k": ["requests"], "v": [asked(2, "two")]},
        {"kind": 1, "k": ["hasPendingEdits"], "v": True},
        {"kind": 3, "k": ["hasPendingEdits"]},
        begin=session(first),
    )
    document = document_of(tmp_path, log)
    assert document["title"] == "set, not deleted"
    assert [texts(message) for message in document["messages"]] == ["one", "Abd", "two"]
    assert "hasPendingEdits" not in document["platform"]["metadata"]


def test_trap_3_bad_entries_are_set_aside_and_the_state_goes_on(tmp_path):
    log = logged(
        {"kind": 2, "k": ["requests"], "v": [asked(1, "one")]},
        {"kind": 1, "k": ["requests", 4, "result"], "v": {}},
        {"kind": 9, "k": ["requests"], "v": []},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [said("still here")]},
    )
    found = imported(tmp_path, s_jsonl=log + b'{"kind":1,"k":["customTitle"],"v":"torn')
    (document,) = found.documents
    assert texts(document["messages"][1]) == "still here"
    assert [entry.code for entry in found.quarantined] == ["bad-log-entry"] * 2
    assert b'"requests", 4' in found.quarantined[0].raw
    assert found.reports[0].findings.counts["unfinished-tail"] == 1
    assert found.reports[0].ledger.read == 5


def test_trap_4_what_is_absent_is_deleted_and_null_is_null(tmp_path):
    log = logged(
        {"kind": 1, "k": ["customTitle"]},
        {"kind": 1, "k": ["initialLocation"], "v": None},
        {"kind": 1, "k": ["requests", 0, "vote"], "v": 0},
        begin=session(asked(1, "first words"), customTitle="gone"),
    )
    document = document_of(tmp_path, log)
    assert document["title"] == "first words"
    assert "initialLocation" not in document["platform"]["metadata"]
    assert document["messages"][0]["metadata"]["vote"] == 0


def test_trap_5_marks_of_truncation_are_found_whatever_product_wrote_them(tmp_path):
    marks = ["[Code - OSS: value truncated for persistence; original 1048999 chars]"]
    marks.append("[Other Name: value truncated for persistence; entry exceeded size budget]")
    quoted = "He said [Code: value truncated for persistence] once."
    found = imported(tmp_path, s_json=session(asked(1, "one", *map(said, [*marks, quoted]))))
    assert found.reports[0].findings.counts["truncated-value"] == 2
    assert marks[0] in texts(found.documents[0]["messages"][1])


def test_trap_5_marks_of_truncation_are_found_in_the_entries_of_a_log(tmp_path):
    mark = "[Code - OSS: value truncated for persistence; original 1048999 chars]"
    answer = {"kind": 2, "k": ["requests", 0, "response"], "v": [said(mark), said("whole")]}
    again = {"kind": 1, "k": ["requests", 0, "result"], "v": {"details": mark}}
    log = logged({"kind": 2, "k": ["requests"], "v": [asked(1, "one")]}, answer, again)
    found = imported(tmp_path, s_jsonl=log)
    assert found.reports[0].findings.counts["truncated-value"] == 2
    places = [one.where for one in found.reports[0].findings.first if one.code == "truncated-value"]
    assert [place.partition(",")[0] for place in places] == ["line 3", "line 4"]


def test_trap_6_parts_without_a_kind_are_text(tmp_path):
    answer = answer_of(
        tmp_path, {"value": "plain"}, {"kind": "markdownContent", "content": said(" and wrapped")}, " bare"
    )
    assert texts(answer) == "plain and wrapped bare"


def test_trap_7_a_reference_between_texts_keeps_the_words_apart(tmp_path):
    place = {"uri": uri("/home/a/place.py"), "range": {"startLineNumber": 3, "endLineNumber": 4}}
    symbol = {"name": "sheet", "location": {"uri": uri("/home/a/s.py"), "range": {}}}
    answer = answer_of(
        tmp_path,
        said("in"),
        {"kind": "inlineReference", "inlineReference": uri("/home/a/file.py")},
        said("and"),
        {"kind": "inlineReference", "inlineReference": place},
        said("or"),
        {"kind": "inlineReference", "inlineReference": symbol},
        said("as"),
        {"kind": "inlineReference", "inlineReference": uri("/home/a/x.py"), "name": "given"},
    )
    text = answer["content"][0]
    assert text["text"] == "in`file.py`and`place.py`or`sheet`as`given`"
    first = text["citations"][0]
    assert text["text"][first["start"] : first["end"]] == "`file.py`"
    assert first["inlineReference"]["path"] == "/home/a/file.py"


def test_trap_8_texts_that_were_taken_back_are_hidden_back_to_the_last_call(tmp_path):
    clear = {"kind": "clearToPreviousToolInvocation", "reason": 1}
    answer = answer_of(
        tmp_path,
        said("stays"),
        called("t", "1"),
        said("filtered words"),
        clear,
        said("said instead"),
        clear,
        said("end"),
    )
    assert texts(answer) == "stays|end"
    assert [part["value"] for part in answer["metadata"]["discarded_parts"]] == ["filtered words", "said instead"]


def noted(rounds, results) -> dict:
    return {"metadata": {"toolCallRounds": rounds, "toolCallResults": results}}


def result(text: str) -> dict:
    return {"$mid": 20, "content": [{"$mid": 21, "value": text}]}


def test_trap_9_arguments_are_joined_by_id_then_without_suffix_then_by_name_in_order(tmp_path):
    rounds = [
        round_of(("exact", "b_tool", {"n": 1}), ("bare__vscode-17", "c_tool", {"n": 2})),
        round_of(("x__vscode-1", "read_file", {"n": 3}), ("y__vscode-2", "grep_search", {"n": 4})),
        round_of(("z__vscode-3", "read_file", {"n": 5})),
    ]
    results = {name: result(name) for name in ("exact", "bare__vscode-17", "x__vscode-1", "z__vscode-3")}
    document = document_of(
        tmp_path,
        session(
            asked(
                1,
                "one",
                called("copilot_readFile", "uuid-1"),
                called("copilot_findTextInFiles", "uuid-2"),
                called("other", "exact"),
                called("copilot_readFile", "uuid-3"),
                called("another", "bare"),
                called("copilot_readFile", "uuid-4"),
                result=noted(rounds, results),
            )
        ),
    )
    calls = blocks(document, "tool_use")
    assert [call["input"].get("n") for call in calls] == [3, 4, 1, 5, 2, None]
    assert [call["name"] for call in calls][:4] == ["read_file", "grep_search", "b_tool", "read_file"]
    assert (calls[-1]["id"], calls[-1]["name"]) == ("uuid-4", "copilot_readFile")
    told = {block["tool_use_id"]: block["content"] for block in blocks(document, "tool_result")}
    assert told == {name: name for name in results}


def test_trap_9_the_words_of_a_rendered_prompt_are_its_leaves(tmp_path):
    leaves = [
        {"type": 2, "text": "first", "lineBreakBefore": True},
        {"type": 1, "ctor": 2, "children": [{"type": 2, "text": " goes on", "lineBreakBefore": False}]},
        {"type": 2, "text": "second", "lineBreakBefore": 2},
        {"type": 2, "text": " and on", "lineBreakBefore": 2},
    ]
    tree = {"content": [{"$mid": 23, "value": {"node": {"type": 1, "ctor": 2, "ctorName": "X", "children": leaves}}}]}
    rounds = [round_of(("c", "read_file", {}))]
    document = document_of(tmp_path, session(asked(1, "one", called("r", "c"), result=noted(rounds, {"c": tree}))))
    assert [block["content"] for block in blocks(document, "tool_result")] == ["first goes on\nsecond and on"]


def test_trap_10_a_call_is_told_once_and_one_that_was_not_shown_is_hidden(tmp_path):
    rounds = [
        round_of(("a__vscode-1", "read_file", {}), ("b__vscode-2", "manage_todo_list", {"list": []}), text="Reading. "),
        round_of(text="Done"),
        round_of(text="Never shown to anybody."),
    ]
    rounds[0]["thinking"] = {"id": "t", "text": "A thought that was not shown."}
    document = document_of(
        tmp_path,
        session(
            asked(1, "one", said("Reading. "), called("copilot_readFile", "a"), said("Done"), result=noted(rounds, {}))
        ),
    )
    answer = document["messages"][1]
    assert [(call["id"], call.get("hidden", False)) for call in blocks(document, "tool_use")] == [
        ("a__vscode-1", False),
        ("b__vscode-2", True),
    ]
    assert texts(answer) == "Reading. |Done"
    assert [block["hidden"] for block in blocks(document, "thinking")] == [True]
    left = answer["metadata"]["result"]["metadata"]["toolCallRounds"]
    assert [one.get("response") for one in left] == [None, None, "Never shown to anybody."]


def test_trap_11_a_waiting_time_of_thirteen_digits_is_a_time(tmp_path):
    requests = [
        asked(1, "one", said("a"), timeSpentWaiting=BEGUN + 61_500),
        asked(2, "two", said("b"), timeSpentWaiting=1500),
    ]
    first, second = (one for one in document_of(tmp_path, session(*requests))["messages"] if one["role"] == "assistant")
    assert first["timestamp"] == "2026-01-05T08:01:01.500Z"
    assert not first["metadata"].keys() & {"timestamp_inferred", "timeSpentWaiting"}
    assert second["metadata"]["timestamp_inferred"] is True
    assert second["metadata"]["timeSpentWaiting"] == 1500


def test_trap_12_undone_requests_are_off_the_path_and_those_of_the_editor_are_nobodys_words(tmp_path):
    document = document_of(
        tmp_path,
        session(
            asked(1, "kept", said("a")),
            asked(2, "undone", said("b"), shouldBeRemovedOnSend={"requestId": "request_2"}),
            asked(3, "undone before", said("c"), isHidden=True),
            asked(4, "of the editor", isSystemInitiated=True),
            asked(5, "merging", requestSource="agentMerge"),
            asked(6, "not shown", hiddenFromTranscript=True),
            asked(7, "not shown either", requestHiddenFromTranscript=True),
        ),
    )
    told = {message["message_id"]: message for message in document["messages"]}
    undone = [name for name, one in told.items() if one["metadata"].get("on_active_path") is False]
    assert undone == ["request_2", "response_2", "request_3", "response_3"]
    assert all(told[name]["metadata"]["hidden"] for name in undone)
    assert told["request_3"]["parent_message_id"] == "response_2"
    assert told["request_4"]["parent_message_id"] == "response_1"
    authors = {name: one["metadata"]["author_kind"] for name, one in told.items() if one["role"] == "user"}
    assert [name for name, author in authors.items() if author == "harness"] == [f"request_{n}" for n in (4, 5, 6, 7)]
    assert [told[name]["metadata"].get("hidden") for name in ("request_5", "request_6", "request_7")] == [
        None,
        True,
        True,
    ]


def test_trap_13_a_draft_is_no_message(tmp_path):
    state = {"inputText": "never sent", "mode": {"id": "ask"}}
    document = document_of(tmp_path, session(asked(1, "sent"), inputState=state))
    assert [texts(message) for message in document["messages"]] == ["sent"]
    assert document["context"]["custom"] == {"draft": "never sent", "inputState": {"mode": {"id": "ask"}}}


def test_trap_14_cancelled_may_mean_that_it_was_still_open(tmp_path):
    half = document_of(tmp_path / "a", session(asked(1, "one", said("half of an"), modelState={"value": 2})))
    assert half["messages"][1]["metadata"]["response_state"] == "cancelled"
    assert texts(half["messages"][1]) == "half of an"
    assert "status" not in half
    statuses = {0: "active", 1: "completed", 3: "error", 4: "active"}
    for value, status in statuses.items():
        known = session(asked(1, "one", said("a"), modelState={"value": value}))
        assert document_of(tmp_path / f"b{value}", known)["status"] == status


def test_trap_15_a_cleared_answer_is_told_and_not_made_up(tmp_path):
    details = {"message": "Cleared.", "responseIsRedacted": True}
    found = imported(tmp_path, s_json=session(asked(1, "one", result={"errorDetails": details})))
    answer = found.documents[0]["messages"][1]
    assert texts(answer) == ""
    assert answer["metadata"]["result"]["errorDetails"] == details
    assert found.reports[0].findings.counts["redacted-response"] == 1


def test_trap_16_every_file_of_a_folder_is_read_and_copies_have_the_same_ids(tmp_path):
    """Sessions that the editor's index has forgotten, and copies under another workspace's hash."""
    chat = session(asked(1, "one", said("a")))
    found = imported(
        tmp_path,
        workspaceStorage__aa__chatSessions__one_json=chat,
        workspaceStorage__bb__chatSessions__one_json=chat,
        workspaceStorage__bb__chatSessions__two_json=session(asked(2, "two"), sessionId="forgotten"),
        workspaceStorage__aa__workspace_json={"folder": "file:///home/me/old%20place"},
        workspaceStorage__bb__workspace_json={"folder": "file:///c%3A/new"},
    )
    first, copy, other = found.documents
    assert (first["conversation_id"], copy["conversation_id"], other["conversation_id"]) == (NAME, NAME, "forgotten")
    assert first["messages"] == copy["messages"]
    assert first["context"]["workspace"] == {"path": "/home/me/old place"}
    assert copy["context"]["workspace"] == {"path": "c:/new"}


def test_trap_20_the_id_is_the_one_that_transcripts_and_debug_logs_share(tmp_path):
    document = document_of(tmp_path, logged({"kind": 2, "k": ["requests"], "v": [asked(1, "one")]}))
    assert document["conversation_id"] == NAME
    assert document["session"] == {"session_id": NAME}


def test_trap_26_exports_and_logs_of_one_chat_are_both_read(tmp_path):
    request = asked(1, "What users want", said("is read."))
    export = document_of(tmp_path / "export", exported(request))
    again = document_of(tmp_path / "again", exported(request, asked(2, "more")))
    log = document_of(tmp_path / "log", logged({"kind": 2, "k": ["requests"], "v": [request]}))
    assert export["messages"] == log["messages"]
    assert export["conversation_id"] == again["conversation_id"] != log["conversation_id"]
    assert "session" not in export
    assert export["created_at"] == export["messages"][0]["timestamp"]
    assert json.dumps(export).count("What users want") == 2  # the title is its first line
