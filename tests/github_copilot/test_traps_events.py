"""The traps of logs of events, by their numbers: what each of them must come out as."""

import json
from pathlib import Path
from typing import Any

from importing import FIXTURES, Imported, check, import_folder
from palaver.importers.github_copilot.events import reader

Json = dict[str, Any]

CASES = FIXTURES / "github_copilot"


def imported(case: str) -> Imported:
    found = import_folder(CASES / case / "source", "github_copilot")
    check(found)
    return found


def logged(tmp_path: Path, *events: Json) -> list[Json]:
    folder = tmp_path / "session-state" / "one"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    return found.documents


def event(kind: str, data: Any, number: int, parent: str | None = None, **more: Any) -> Json:
    time = f"2026-03-14T09:00:{number:02}.000Z"
    return {"type": kind, "data": data, "id": f"e-{number}", "timestamp": time, "parentId": parent, **more}


def blocks(document: Json, kind: str) -> list[Json]:
    return [block for message in document["messages"] for block in message["content"] if block["type"] == kind]


def by_id(document: Json) -> dict[str, Json]:
    return {message["message_id"]: message for message in document["messages"]}


def kinds(document: Json) -> list[str]:
    return [block["kind"] for block in blocks(document, "opaque")]


def test_trap_17_starts_and_resumptions_of_one_file_are_one_conversation():
    (document,) = imported("cli_resumed").documents
    assert kinds(document).count("session.start") == 1, "the first start is no message, the second is"
    assert kinds(document).count("session.resume") == 1
    assert document["platform"]["version"] == "1.0.31"


def test_trap_17_totals_at_each_end_stand_for_themselves():
    (document,) = imported("cli_resumed").documents
    shutdowns = document["context"]["custom"]["shutdowns"]
    assert [entry["sessionStartTime"] for entry in shutdowns] == [1773478807000, 1773478815000]
    assert "input" not in {name for name, count in document["metrics"]["total_tokens"].items() if count}
    assert document["status"] == "error"


def test_trap_17_of_totals_since_one_start_only_the_last_counts():
    found = imported("cli_flat")
    (record,) = found.used
    assert record["tokens"] == {"input_tokens": 200, "output_tokens": 80}
    assert found.reports[0].ledger.folded["later totals"] == 1


def test_trap_17_a_call_that_crashed_has_no_result_and_a_result_without_its_call_is_kept():
    (document,) = imported("cli_resumed").documents
    called = {block["id"] for block in blocks(document, "tool_use")}
    answered = {block["tool_use_id"] for block in blocks(document, "tool_result")}
    assert called == {"call-1"}
    assert answered == {"call-gone"}
    (message,) = [message for message in document["messages"] if message["role"] == "tool"]
    assert message["metadata"]["context_incomplete"] is True


def test_trap_17_instructions_stand_once_and_again_only_where_they_changed():
    (document,) = imported("cli_resumed").documents
    told = [
        message["content"][0]["text"]
        for message in document["messages"]
        if message["role"] == "system" and message["content"][0]["type"] == "text" and message["metadata"].get("hidden")
    ]
    assert told == [
        "You help in a bakery. These instructions are repeated word by word.",
        "New instructions for the afternoon: mention the oven.",
    ]


def test_trap_17_events_of_unknown_types_pass_whole_and_are_told():
    found = imported("cli_resumed")
    (document,) = found.documents
    assert {"note": "Nobody knows this kind of event as of today."} in [
        block["raw"] for block in blocks(document, "opaque")
    ]
    assert found.reports[0].findings.counts["unknown-event"] == 1


def test_trap_17_what_a_rewind_removed_leaves_its_link():
    (document,) = imported("cli_resumed").documents
    (message,) = [message for message in document["messages"] if "parentId" in message["metadata"]]
    assert message["content"][0]["kind"] == "session.resume"


def test_trap_17_what_was_rewound_in_a_stream_is_a_branch_that_was_left():
    (document,) = imported("cli_stream").documents
    left = [message for message in document["messages"] if message["metadata"].get("on_active_path") is False]
    assert [message["role"] for message in left] == ["user", "assistant"]
    following = document["messages"][document["messages"].index(left[-1]) + 1]
    assert "parent_message_id" not in following


def test_trap_17_a_branch_is_left_once_and_what_was_cut_off_in_it_is_left_with_it(tmp_path):
    (document,) = logged(
        tmp_path,
        event("user.message", {"content": "One."}, 1),
        event("user.message", {"content": "Two."}, 2),
        event("assistant.message_delta", {"messageId": "m", "deltaContent": "Half an"}, 3),
        event("user.message", {"content": "Three."}, 4),
        event("session.snapshot_rewind", {"upToEventId": "e-2"}, 5),
        event("user.message", {"content": "Four."}, 6),
        event("session.snapshot_rewind", {"upToEventId": "e-2"}, 7),
        event("session.snapshot_rewind", {"upToEventId": "nowhere"}, 8),
    )
    left = [name for name, message in by_id(document).items() if message["metadata"].get("on_active_path") is False]
    assert left == ["e-2", "e-3", "e-4"]
    assert by_id(document)["e-5"]["parent_message_id"] == "e-1"
    assert by_id(document)["e-7"]["parent_message_id"] == "e-6"


def test_trap_17_results_without_an_id_belong_to_the_calls_without_one_in_their_order(tmp_path):
    (document,) = logged(
        tmp_path,
        event("assistant.message", {"content": "", "toolRequests": [{"name": "a"}, {"name": "b"}]}, 1),
        event("tool.execution_complete", {"success": True, "result": {"content": "of a"}}, 2),
        event("tool.execution_complete", {"success": True, "result": {"content": "of b"}}, 3),
        event("tool.execution_complete", {"success": True, "result": {"content": "of nobody"}}, 4),
    )
    calls = {block["id"]: block["name"] for block in blocks(document, "tool_use")}
    results = [(calls.get(block["tool_use_id"]), block["content"]) for block in blocks(document, "tool_result")]
    assert results == [("a", "of a"), ("b", "of b"), (None, "of nobody")]


def test_trap_17_the_start_of_a_session_says_where_it_was_also_behind_a_resumption(tmp_path):
    (document,) = logged(
        tmp_path,
        event("session.resume", {"context": {"cwd": "/later"}}, 1),
        event("session.start", {"sessionId": "one", "context": {"cwd": "/first", "gitRoot": "/root"}}, 2),
        event("user.message", {"content": "Hello."}, 3),
    )
    assert document["context"]["workspace"]["path"] == "/first"
    assert document["platform"]["metadata"]["gitRoot"] == "/root"
    assert blocks(document, "opaque")[0]["raw"]["context"] == {"cwd": "/later"}


def test_trap_18_messages_follow_the_order_of_the_log(tmp_path):
    (document,) = logged(
        tmp_path,
        event("session.start", {"sessionId": "one"}, 1),
        event("user.message", {"content": "First."}, 2, "e-1"),
        event("assistant.message", {"content": "Second."}, 3, "e-2"),
        event("user.message", {"content": "Third."}, 4, "e-2"),
    )
    assert [message.get("parent_message_id") for message in document["messages"]] == [None, "e-2", "e-3"]
    assert [message["metadata"].get("parentId") for message in document["messages"]] == [None, None, "e-2"]


def test_trap_19_tokens_are_those_that_messages_state_and_no_totals(tmp_path):
    metrics = {"m": {"requests": {"count": 1}, "usage": {"inputTokens": 9000, "outputTokens": 40}}}
    (document,) = logged(
        tmp_path,
        event("session.start", {"sessionId": "one"}, 1),
        event("assistant.message", {"messageId": "a", "content": "Half", "chunkIndex": 0, "outputTokens": 3}, 2),
        event("assistant.message", {"messageId": "a", "content": " an answer.", "chunkIndex": 1, "outputTokens": 7}, 3),
        event("session.shutdown", {"shutdownType": "routine", "modelMetrics": metrics}, 4),
    )
    (message,) = document["messages"]
    assert message["content"] == [{"type": "text", "text": "Half an answer."}]
    assert message["tokens"] == {"output_tokens": 7}
    assert document["metrics"]["total_tokens"]["input"] == 0


def test_trap_19_usage_of_a_captured_stream_belongs_to_its_answer():
    (document,) = imported("cli_stream").documents
    tokens = {
        message["metadata"]["messageId"]: message["tokens"]
        for message in document["messages"]
        if "tokens" in message and "messageId" in message["metadata"]
    }
    assert tokens["m-1"]["input_tokens"] == 1200
    assert tokens["m-2"] == {"input_tokens": 1300, "output_tokens": 8}
    assert document["metrics"]["total_tokens"]["input"] == 1200 + 1300 + 70


def test_trap_20_a_transcript_is_another_account_of_the_saved_chat_and_counts_no_usage(tmp_path):
    storage = tmp_path / "workspaceStorage" / "hash"
    transcripts = storage / "GitHub.copilot-chat" / "transcripts"
    transcripts.mkdir(parents=True)
    (storage / "chatSessions").mkdir()
    (storage / "chatSessions" / "chat-1.json").write_text("{}", "utf-8")
    begins = event("session.start", {"sessionId": "chat-1", "producer": "copilot-agent", "vscodeVersion": "1.113.0"}, 1)
    answered = event("assistant.message", {"messageId": "m-1", "content": "Hi.", "outputTokens": 7}, 3, "e-2")
    lines = [begins, event("user.message", {"content": "Hello."}, 2, "e-1"), answered]
    (transcripts / "chat-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (document,) = import_folder(transcripts, "github_copilot").documents
    assert (document["conversation_id"], document["session"]["session_id"]) == ("chat-1:transcript", "chat-1")
    assert document["messages"][-1]["metadata"]["usage"] == {"output_tokens": 7}
    assert not any("tokens" in message for message in document["messages"])
    assert document["platform"]["metadata"]["kept_as"] == "transcript"
    assert document["platform"]["metadata"]["chat_session_file"] == "chatSessions/chat-1.json"


def test_trap_20_no_piece_of_a_transcript_and_no_agent_in_it_counts_what_the_saved_chat_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "FRAGMENT_BYTES", -1)
    monkeypatch.setattr(reader, "LATER_FRAGMENT_BYTES", -1)
    transcripts = tmp_path / "workspaceStorage" / "hash" / "GitHub.copilot-chat" / "transcripts"
    transcripts.mkdir(parents=True)
    chats = transcripts.parents[1] / "chatSessions"
    chats.mkdir()
    (chats / "chat-1.json").write_text("{}", "utf-8")
    lines = [
        event("session.start", {"sessionId": "chat-1", "producer": "copilot-agent", "vscodeVersion": "1.113.0"}, 1),
        event("user.message", {"content": "Hello."}, 2),
        event("assistant.message", {"content": "Hi.", "outputTokens": 7}, 3),
        event("user.message", {"content": "And an agent?"}, 4),
        event("assistant.message", {"content": "Here.", "outputTokens": 8, "parentToolCallId": "call-1"}, 5),
    ]
    (transcripts / "chat-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    documents = import_folder(transcripts, "github_copilot").documents
    assert len(documents) > 2
    assert not any("tokens" in message for document in documents for message in document["messages"])
    assert {document["session"].get("parent_conversation_id") for document in documents} == {None, "chat-1:transcript"}


def test_trap_21_a_rendered_prompt_is_attached_to_the_typed_one():
    (document,) = imported("jetbrains_partitions").documents
    typed = [message for message in document["messages"] if message["metadata"]["author_kind"] == "human"]
    assert [message["content"][0]["text"] for message in typed] == [
        "Why is the bread of the second oven always paler?",
        "Make it every evening, and not in the morning.",
    ]
    assert all(message["metadata"]["renderedMessage"].startswith("<context") for message in typed)


def test_trap_21_a_rendered_prompt_alone_is_the_prompt_and_nobody_typed_it():
    (document,) = imported("jetbrains_partitions").documents
    (message,) = [message for message in document["messages"] if message["metadata"].get("rendered_only")]
    assert message["role"] == "user"
    assert message["metadata"]["author_kind"] == "harness"


def test_trap_21_empty_partitions_are_read_and_all_are_one_conversation_in_order():
    found = imported("jetbrains_partitions")
    (unit,) = found.units
    assert unit.match.members == tuple(f"partition-{number}.jsonl" for number in (0, 1, 2, 3, 10))
    (document,) = found.documents
    times = [message["timestamp"] for message in document["messages"]]
    assert times == sorted(times)


def test_trap_21_a_conversation_of_empty_partitions_only_is_nothing(tmp_path):
    folder = tmp_path / "jb" / "nothing"
    folder.mkdir(parents=True)
    (folder / "partition-0.jsonl").write_bytes(b"")
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    assert len(found.units) == 1
    assert found.documents == []
