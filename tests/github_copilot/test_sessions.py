"""Chat sessions of VS Code: which files are theirs, what their parts become, and what the samples come to."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from github_copilot.chatting import (
    BEGUN,
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
from importing import CHECKOUT, Said, check, import_folder, set_aside, strings
from palaver.importers.github_copilot.sessions import KNOWN_KINDS, reader, recognize
from palaver.importers.github_copilot.sessions.vscode_values import base64_of, path_of
from palaver.sources.source import Source

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "copilot"

# -- which files are sessions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", session(asked(1))),
        ("a.json", session()),
        ("a.json", exported(asked(1))),
        ("a.json", {"requests": [{"requestId": "r", "message": {"text": "hello"}}]}),
        ("a.json", {"requests": [{"message": "hello", "response": "hi"}]}),
        ("a.json", [session(asked(1))]),
        ("a.jsonl", logged()),
        ("a.jsonl", {"version": 3, "sessionId": "a", "requests": []}),
        ("a", logged()),
    ],
)
def test_sessions_are_known_by_their_shape(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    match = recognize(Source.at(path))
    assert match.verdict == "yes"
    assert match.form.startswith("sessions:")


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        [7],
        {"requests": []},
        {"requests": {"message": "x", "response": "y"}},
        {"requests": [{"id": "request", "model": "gpt", "messages": []}], "messages": [], "tools": []},
        {"requests": [{"url": "https://example.org", "method": "GET"}]},
        {"kind": 0, "v": {}},
        {"kind": 0, "v": [1]},
        {"kind": False, "v": {"requests": []}},
        {"kind": 1, "k": ["requests"], "v": []},
        {"kind": "session", "v": {"requests": []}},
    ],
)
def test_other_files_are_left_alone(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    assert recognize(Source.at(path)).verdict == "no"


def test_a_log_is_known_although_its_state_is_longer_than_the_head(tmp_path):
    long = session(asked(1), repoData={"diffs": ["x" * 100_000]})
    state = {name: long[name] for name in ("version", "creationDate", "responderUsername", "sessionId")}
    state |= {"repoData": long["repoData"], "requests": long["requests"]}
    document = document_of(tmp_path, logged(begin=state))
    assert len(document["messages"]) == 1


def test_a_file_of_the_same_name_that_is_of_another_session_is_its_own(tmp_path):
    other = session(asked(2, "of another"), sessionId="another")
    found = imported(tmp_path, a_json=other, a_jsonl=logged(begin=session(asked(1, "of the log"))))
    assert [texts(document["messages"][0]) for document in found.documents] == ["of the log", "of another"]


def test_a_file_of_the_same_name_that_is_no_session_is_left_to_others(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"kind": "click", "v": 1}\n{"kind": "key", "v": 2}\n')
    found = imported(tmp_path, a_json=session(asked(1, "of the session")))
    assert [texts(document["messages"][0]) for document in found.documents] == ["of the session"]
    assert found.quarantined == []
    assert recognize(Source.at(tmp_path / "a.json")).members == ()


def test_a_log_that_holds_nothing_leaves_the_word_to_the_older_file(tmp_path):
    found = imported(tmp_path, a_json=session(asked(1, "from the older file")), a_jsonl=b'{"kind":0,"v":{"requ')
    assert [texts(document["messages"][0]) for document in found.documents] == ["from the older file"]


def test_an_older_file_that_cannot_be_read_does_not_cost_the_log(tmp_path):
    log = logged(begin=session(asked(1, "from the log")))
    found = imported(tmp_path, a_json=b'{"requests": [{"message": "x", "response', a_jsonl=log)
    assert [texts(message) for message in found.documents[0]["messages"]][-1] == "from the log"


def test_a_session_in_a_zip_knows_its_workspace(tmp_path):
    with zipfile.ZipFile(tmp_path / "storage.zip", "w") as archive:
        archive.writestr("hash/chatSessions/a.json", json.dumps(session(asked(1))))
        archive.writestr("hash/workspace.json", '{"workspace": "file:///home/me/all.code-workspace"}')
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    assert found.documents[0]["context"]["workspace"] == {"path": "/home/me/all.code-workspace"}


def test_a_file_that_is_cut_off_gives_what_it_still_holds(tmp_path):
    whole = json.dumps(session(asked(1, "first words"), asked(2, "cut"))).encode()
    found = imported(tmp_path, a_json=whole[: whole.index(b'"cut"')])
    assert texts(found.documents[0]["messages"][0]) == "first words"
    assert found.reports[0].findings.counts["cut-record"] == 1


def test_an_empty_session_gives_no_document_and_its_draft_is_noted(tmp_path):
    found = imported(tmp_path, a_json=session(inputState={"inputText": "a draft"}), b_jsonl=logged())
    assert not found.documents
    assert [report.ledger.skipped for report in found.reports] == [{"empty-session": 1}] * 2
    assert [report.findings.counts.get("unsent-draft") for report in found.reports] == [1, None]


def test_requests_that_wait_in_a_session_without_any_are_noted(tmp_path):
    found = imported(tmp_path, a_json=session(pendingRequests=[{"message": "Later, please."}]))
    assert found.documents == []
    assert found.reports[0].findings.counts["unsent-draft"] == 1


def test_exports_without_ids_that_begin_with_the_same_words_are_two_conversations(tmp_path):
    first = {"message": {"text": "Explain this."}, "response": ["It reads a file."]}
    other = {"message": {"text": "Explain this."}, "response": ["It writes a file."]}
    next_one = {"message": {"text": "And this?"}, "response": ["That as well."]}
    found = imported(tmp_path, a_json=exported(first), b_json=exported(other), c_json=exported(first, next_one))
    short, another, longer = (document["conversation_id"] for document in found.documents)
    assert short == longer != another


def test_requests_of_one_id_have_ids_of_their_own(tmp_path):
    names = ["r", "r", "r:2", "r"]
    document = document_of(tmp_path, session(*(asked(number, requestId=name) for number, name in enumerate(names, 1))))
    assert [message["message_id"] for message in document["messages"]] == ["r", "r:2", "r:2:2", "r:3"]


def test_a_long_session_comes_in_pieces_that_say_what_the_whole_says(tmp_path, monkeypatch):
    log = logged(begin=session(*(asked(number, "And?", said("Well.")) for number in range(5))))
    whole = document_of(tmp_path, log)
    monkeypatch.setattr(reader, "FRAGMENT_BYTES", 100)
    monkeypatch.setattr(reader, "LATER_FRAGMENT_BYTES", 500)
    pieces = imported(tmp_path, chat_jsonl=log).documents
    assert len(pieces) > 2
    assert [message for piece in pieces for message in piece["messages"]] == whole["messages"]
    assert [piece["fragment"]["final"] for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[-1]["metrics"] == whole["metrics"]
    around = {"messages", "metrics", "fragment"}
    for piece in pieces:
        assert {name: piece[name] for name in piece.keys() - around} == {
            name: whole[name] for name in whole.keys() - around
        }


def test_a_session_of_another_responder_is_read_and_named(tmp_path):
    document = document_of(tmp_path, session(asked(1, "one", said("a")), responderUsername="Weather"))
    assert document["platform"]["metadata"]["responderUsername"] == "Weather"


# -- what becomes of parts ------------------------------------------------------------------------------------------


def test_the_model_is_the_resolved_one_then_that_of_the_totals_then_the_picked_one(tmp_path):
    totals = [{"model": "from totals", "inputTokens": 5, "cachedTokens": 2, "outputTokens": 3}]
    requests = [
        asked(1, "one", said("a"), modelTotals=totals, result={"metadata": {"resolvedModel": "resolved"}}),
        asked(2, "two", said("b"), modelTotals=totals),
        asked(3, "three", said("c"), modelId="copilot/picked"),
        asked(4, "four", said("d"), modelId="other/picked"),
        asked(5, "five", said("e"), modelId=...),
    ]
    messages = document_of(tmp_path, session(*requests))["messages"]
    models = [one["metadata"].get("model_override") for one in messages if one["role"] == "assistant"]
    assert models == ["resolved", "from totals", "picked", "other/picked", None]


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({"promptTokens": 7, "completionTokens": 2}, {"input_tokens": 7, "output_tokens": 2}),
        ({"usage": {"promptTokens": 7, "completionTokens": 2}}, {"input_tokens": 7, "output_tokens": 2}),
        ({"result": {"metadata": {"promptTokens": 7, "outputTokens": 2}}}, {"input_tokens": 7, "output_tokens": 2}),
        ({"result": {"promptTokens": 7, "outputTokens": 2}}, {"input_tokens": 7, "output_tokens": 2}),
        ({"promptTokens": 7, "completionTokens": None}, {"input_tokens": 7}),
        ({"promptTokens": -7, "completionTokens": True}, None),
        (
            {
                "promptTokens": 1,
                "modelTotals": [
                    {"model": "a", "inputTokens": 5, "cachedTokens": 2, "outputTokens": 3},
                    {"model": "b", "inputTokens": 50, "cachedTokens": 20, "outputTokens": 30},
                ],
            },
            {"input_tokens": 55, "output_tokens": 33, "cache_read_input_tokens": 22},
        ),
        ({"modelTotals": [{"model": "a"}], "promptTokens": 3}, {"input_tokens": 3}),
        ({"copilotCredits": 0.5}, None),
    ],
)
def test_tokens_are_those_that_are_stated(tmp_path, fields, tokens):
    answer = answer_of(tmp_path, said("a"), **fields)
    assert answer.get("tokens") == tokens
    assert answer["metadata"].get("copilotCredits") == fields.get("copilotCredits")


def test_what_only_the_rounds_say_is_kept_however_much_it_is(tmp_path):
    rounds = [round_of(text=f"Only round {number} says this.") for number in range(300)]
    rounds.append({**round_of(text="It says this."), "thinking": {"id": "t", "text": "It thought this."}})
    answer = answer_of(tmp_path, said("It says this."), result={"metadata": {"toolCallRounds": rounds}})
    left = {text for text in strings(answer) if text.startswith("Only round")}
    assert len(left) == 300
    assert "It thought this." in set(strings(answer))


def test_a_round_that_says_what_the_answer_says_is_told_once_in_any_order(tmp_path):
    rounds = [round_of(text=text) for text in ("First this.", "Then `a.py` there.", "First this.")]
    reference = {"kind": "inlineReference", "inlineReference": uri("/w/a.py")}
    parts = (said("First this. "), said("Then "), reference, said(" there."))
    answer = answer_of(tmp_path, *parts, result={"metadata": {"toolCallRounds": rounds}})
    assert [text for text in strings(answer) if text.startswith("First")] == ["First this. Then `a.py` there."]


def test_edits_are_code_with_their_files_and_lines(tmp_path):
    edit = {"text": "new line\n", "range": {"startLineNumber": 3, "startColumn": 1, "endLineNumber": 4, "endColumn": 1}}
    group = {"kind": "textEditGroup", "uri": uri("/home/a.py"), "edits": [[edit], []], "done": True}
    answer = answer_of(tmp_path, said("```\n"), group, said("\n```"))
    code = answer["content"][1]
    assert (code["type"], code["code"], code["file_path"]) == ("code", "new line\n", "/home/a.py")
    assert code["line_range"] == {"start": 3, "end": 4}


def test_a_kind_that_is_not_known_is_kept_whole_and_told(tmp_path):
    found = imported(tmp_path, a_json=session(asked(1, "one", {"kind": "hologram", "light": "a beam"})))
    assert blocks(found.documents[0], "opaque") == [
        {"type": "opaque", "kind": "hologram", "raw": {"kind": "hologram", "light": "a beam"}}
    ]
    assert "hologram" not in KNOWN_KINDS
    assert found.reports[0].findings.counts["unknown-block"] == 1


def test_a_result_that_failed_says_so_only_where_the_source_does(tmp_path):
    document = document_of(
        tmp_path,
        session(
            asked(
                1,
                "one",
                called("a", "1", resultDetails={"input": "{}", "output": "fatal error", "isError": True}),
                called("b", "2", resultDetails={"input": "{}", "output": "Error: in words only", "isError": False}),
                called("c", "3", resultError="refused"),
                called("d", "4", toolSpecificData={"kind": "terminal", "commandLine": {"original": "ls"}}),
            )
        ),
    )
    results = blocks(document, "tool_result")
    assert [(one["tool_use_id"], one["is_error"]) for one in results] == [("1", True), ("2", False), ("3", True)]
    assert blocks(document, "tool_use")[3]["input"] == {"command": "ls"}
    assert document["messages"][-1]["role"] == "tool"
    assert document["messages"][-1]["metadata"]["author_kind"] == "tool"


def test_the_prompt_that_was_made_of_a_message_is_kept_unless_it_is_the_same(tmp_path):
    same = {"metadata": {"renderedUserMessage": [{"type": 1, "text": "one"}, {"type": 3, "cacheType": "ephemeral"}]}}
    more = {"metadata": {"renderedUserMessage": [{"type": 1, "text": "<context>\nmore\n</context>\ntwo"}]}}
    messages = document_of(tmp_path, session(asked(1, "one", result=same), asked(2, "two", result=more)))["messages"]
    rendered = [one["metadata"].get("renderedUserMessage") for one in messages if one["role"] == "user"]
    assert rendered == [None, more["metadata"]["renderedUserMessage"]]


def test_times_that_are_missing_are_the_nearest_known_and_say_so(tmp_path):
    requests = [asked(1, "one", timestamp=...), asked(2, "two", said("b")), asked(3, "three", timestamp="soon")]
    found = imported(tmp_path, a_json=session(*requests, creationDate=BEGUN))
    messages = found.documents[0]["messages"]
    assert [one["timestamp"][11:19] for one in messages] == ["08:00:00", "08:02:00", "08:02:00", "08:02:00"]
    assert [one["metadata"].get("timestamp_inferred") for one in messages] == [True, None, True, True]
    assert found.reports[0].findings.counts == {"inferred-timestamp": 2, "bad-timestamp": 1}


def test_the_address_of_a_repository_loses_the_login_in_it(tmp_path):
    repository = {"remoteUrl": "https://me:REDACTED-BY-FIXTURE@git.example/a@b.git", "localBranch": "main"}
    context = document_of(tmp_path, session(asked(1), repoData=repository))["context"]
    assert context["custom"]["repoData"] == {"remoteUrl": "https://git.example/a@b.git"}
    assert context["workspace"] == {"git_branch": "main"}


# -- small things ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (uri("/home/a b.py"), "/home/a b.py"),
        (uri("/c:/grove/a.py"), "c:/grove/a.py"),
        (uri("/c:/grove/a.py", fsPath="c:\\work\\a.py"), "c:\\work\\a.py"),
        (
            {"scheme": "https", "authority": "a.org", "path": "/b", "query": "c=1", "fragment": "d"},
            "https://a.org/b?c=1#d",
        ),
        ({"scheme": "untitled", "path": "Untitled-1"}, "untitled:Untitled-1"),
        ({"scheme": "vscode-remote", "path": "/a", "external": "vscode-remote://x/a"}, "vscode-remote://x/a"),
        ("file:///home/a%20b.py", "/home/a b.py"),
        ("file:///c%3A/work", "c:/work"),
        ("file://server/share/a", "//server/share/a"),
        ("https://a.org", "https://a.org"),
        ({"path": 5}, ""),
        (None, ""),
        ([], ""),
    ],
)
def test_paths_of_uris(value, path):
    assert path_of(value) == path


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ({"$base64": "R0lG"}, "R0lG"),
        ({"0": 71, "1": 73, "2": 70}, "R0lG"),
        ({"type": "Buffer", "data": [71, 73, 70]}, "R0lG"),
        ([71, 73, 70], "R0lG"),
        ([71, 256], None),
        ({"0": 71, "2": 70}, None),
        ([], None),
        ({}, None),
        ("GIF", None),
    ],
)
def test_bytes_in_every_spelling(value, encoded):
    assert base64_of(value) == encoded


# -- samples --------------------------------------------------------------------------------------------------------

with_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")


def sample(name: str):
    found = import_folder(SAMPLES / name, "github_copilot")
    check(found)
    return found


@with_samples
@pytest.mark.parametrize(
    "name",
    ["vscode-export-dealenx", "vscode-sessions-rajbos", "vscode-log-lines", "synthetic-vscode-mutation-log"],
)
def test_every_long_line_of_a_sample_survives(name):
    found = sample(name)
    told = Said([*found.documents, *({"raw": entry.raw.decode()} for entry in found.quarantined), *set_aside(found)])
    # A reference is shown in backticks; the round that it was made of has none.
    plain = Said([json.loads(json.dumps(found.documents).replace("`", ""))])
    lost = set()
    for path in [*(SAMPLES / name).rglob("*.json"), *(SAMPLES / name).rglob("*.jsonl")]:
        if path.name in {"facts.json", "workspace.json"}:
            continue
        raw = path.read_text()
        values = [json.loads(raw)] if path.suffix == ".json" else [json.loads(line) for line in raw.split("\n")[:-1]]
        lines = {line for text in strings(values) for line in text.split("\n") if len(line) >= 40}
        lost |= {line for line in lines if line not in told and line not in plain}
    assert not lost


@with_samples
def test_the_sample_of_logs_comes_to_its_facts():
    facts = json.loads((SAMPLES / "synthetic-vscode-mutation-log" / "facts.json").read_text())
    found = sample("synthetic-vscode-mutation-log")
    documents = {document["conversation_id"]: document for document in found.documents}
    assert documents.keys() == facts.keys()
    for name, fact in facts.items():
        document = documents[name]
        questions = [one for one in document["messages"] if one["role"] == "user"]
        assert len(questions) == fact["requests"]
        if "title" in fact:
            assert document["title"] == fact["title"]
            assert len(blocks(document, "tool_use")) == fact["tool_calls"]
            hidden = [one["message_id"] for one in questions if one["metadata"].get("hidden")]
            assert hidden == fact["hidden_requests"]
            said_texts = [texts(one).replace("|", " … ").replace("`", "") for one in document["messages"]]
            assert set(fact["final_texts"]) <= set(said_texts)
            assert document["context"]["workspace"] == {"path": "/home/reader/atlas"}
    bad = next(report for report in found.reports if "c814db98" in report.source)
    assert bad.ledger.quarantined == {"bad-log-entry": 2}
    assert bad.findings.counts["unfinished-tail"] == 1


@with_samples
def test_the_sample_of_exports_joins_every_call_by_name():
    found = sample("vscode-export-dealenx")
    by_file = {Path(unit.source.label).stem: lines for unit, lines in zip(found.units, found.lines, strict=True)}
    assert not by_file["pending_chat"]
    (chat,) = map(json.loads, by_file["chat_succes_mcp"])
    calls = blocks(chat, "tool_use")
    assert [call["id"].partition("_vrtx_")[0] for call in calls] == ["toolu"] * 3
    assert calls[2]["input"] == {"entry_id": "686", "fields": {"D": "1250.00", "H": "1180.50"}}
    assert [one["tool_use_id"] for one in blocks(chat, "tool_result")] == [call["id"] for call in calls]
    (cancelled,) = map(json.loads, by_file["canceled_chat"])
    assert [one["metadata"].get("response_state") for one in cancelled["messages"]] == [
        None,
        "complete",
        None,
        "cancelled",
    ]
    (failed,) = map(json.loads, by_file["error_chat"])
    assert failed["status"] == "error"
    assert failed["messages"][1]["metadata"]["model_override"] == "oaicopilot/germes-120b"


@with_samples
def test_the_sample_of_sessions_without_times_has_its_tokens():
    documents = sample("vscode-sessions-rajbos").documents
    assert [len(document["messages"]) for document in documents] == [10, 6, 6]
    assert [document["metrics"]["total_tokens"]["output"] for document in documents] == [1983, 1163, 1288]
    assert all(one["metadata"]["timestamp_inferred"] for document in documents for one in document["messages"])


@with_samples
def test_the_sample_of_mixed_lines_gives_each_session_its_own_document():
    found = sample("vscode-log-lines")
    names = [document["session"]["session_id"] for document in found.documents if "session" in document]
    assert names.count("dup1") == 2
    assert {"test-123", "vscode-132", "jsonl-001", "jsonl-multi", "jsonl-set", "usage-1", "trailing"} <= set(names)
    by_name = {document["conversation_id"]: document for document in found.documents}
    assert texts(by_name["jsonl-set"]["messages"][1]) == "Complete answer"
    assert texts(by_name["vscode-132"]["messages"][1]).startswith("I'll read `test.txt` first. ")
