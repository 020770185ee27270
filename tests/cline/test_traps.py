"""The numbered traps of the format notes that concern indexes, and sessions of the SDK."""

import json

import pytest

from palaver.importers._cline_family.product import ROO_CODE
from palaver.importers._cline_family.task_index import read_index
from palaver.importers._cline_family.task_info import Storage
from palaver.importers.cline.session_files import recognize_session
from palaver.importers.cline.session_reader import read_session
from palaver.sources.run import Run
from palaver.sources.source import Source

SESSION = "1784192400000_abcde"


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


def session(folder, *messages, **manifest):
    source = Source.at(
        write(
            folder / SESSION / f"{SESSION}.messages.json",
            {"version": 1, "agent": "lead", "sessionId": SESSION, "messages": list(messages)},
        )
    )
    if manifest:
        facts = {"session_id": SESSION, "started_at": "2026-07-16T09:00:00.000Z", "provider": "cline", **manifest}
        write(folder / SESSION / f"{SESSION}.json", facts)
    run = Run(source.label)
    (document,) = read_session(source, run)
    return document, run


def result(name, call, text="done"):
    content = [{"type": "tool_result", "tool_use_id": call, "name": "editor", "content": text}]
    return {"id": name, "role": "user", "content": content, "ts": 1784192400000}


def test_trap_1_an_index_adds_to_tasks_and_leaves_none_out(tmp_path):
    """A task that the index has lost is read like any other; one that only the index has is kept."""
    for name in ("listed", "lost"):
        write(tmp_path / "tasks" / name / "api_conversation_history.json", [])
    entries = [{"id": name, "ts": 1770112899000, "task": f"Task {name}.", "number": 1} for name in ("listed", "gone")]
    index = Source.at(write(tmp_path / "tasks/_index.json", {"version": 1, "entries": entries}))
    storage = Storage.around(Source.at(tmp_path / "tasks/listed"))
    assert storage.item("listed")["task"] == "Task listed."
    assert storage.item("lost") == {}
    run = Run(index.label)
    assert [document["conversation_id"] for document in read_index(index, run, ROO_CODE)] == ["gone"]
    assert run.ledger.folded == {"conversation": 1}


@pytest.mark.parametrize(
    ("stated", "uncached"),
    [
        ({"inputTokens": 36673, "outputTokens": 290, "cacheReadTokens": 35910, "cacheWriteTokens": 0}, 763),
        ({"inputTokens": 5200, "outputTokens": 140, "cacheReadTokens": 0, "cacheWriteTokens": 5100}, 100),
        ({"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 40}, 10),
        ({"inputTokens": 10, "outputTokens": 5}, 10),
    ],
)
def test_trap_8_input_tokens_of_the_sdk_include_what_is_cached(stated, uncached, tmp_path):
    answer = {"id": "a", "role": "assistant", "content": "Done.", "ts": 1784192400000, "metrics": {**stated, "cost": 2}}
    document, _ = session(tmp_path, answer)
    (message,) = document["messages"]
    assert message["tokens"]["input_tokens"] == uncached
    assert message["tokens"].get("cache_read_input_tokens") == stated.get("cacheReadTokens")
    assert message["tokens"].get("cache_creation_input_tokens") == stated.get("cacheWriteTokens")
    assert message["cost"] == {"amount": 2, "currency": "USD"}
    assert message["metadata"]["metrics"] == {**stated, "cost": 2}


@pytest.mark.parametrize("path", ["/Users/other/.cline/data/sessions/x/x.messages.json", r"C:\x.messages.json", 5])
def test_trap_13_messages_are_those_beside_the_manifest_wherever_its_path_leads(path, tmp_path):
    said = {"id": "u", "role": "user", "content": "Good morning.", "ts": 1784192400000}
    document, _ = session(tmp_path, said, messages_path=path, metadata={"title": "Here", "messagesPath": path})
    assert document["title"] == "Here"
    assert [message["content"][0]["text"] for message in document["messages"]] == ["Good morning."]


def test_trap_13_a_compacted_view_is_not_the_transcript(tmp_path):
    said = {"id": "u", "role": "user", "content": [{"type": "text", "text": "Good morning."}], "ts": 1784192400000}
    summary = {"id": "s", "role": "user", "content": [{"type": "text", "text": "They greeted each other."}]}
    view = {"version": 1, "updated_at": "2026-07-16T10:00:00.000Z", "source_message_count": 1}
    write(tmp_path / SESSION / f"{SESSION}.compaction.json", {**view, "messages": [summary, said]})
    document, run = session(tmp_path, said)
    assert [message["message_id"] for message in document["messages"]] == ["u"]
    assert [summary["text"] for summary in document["summaries"]] == ["They greeted each other."]
    assert (run.ledger.mapped, run.ledger.folded) == (2, {"transcript": 1})
    view = Source.at(tmp_path / SESSION / f"{SESSION}.compaction.json")
    assert recognize_session(view).verdict == "no"


def test_trap_14_ids_that_grow_when_a_session_is_resumed_stay_what_they_were(tmp_path):
    """Otherwise every tool result of a session would be another message after each fork."""
    told = []
    for times in range(4):
        document, run = session(tmp_path / str(times), result("msg_x" + "_tool_toolu_1" * times, "toolu_1"))
        told += [message["message_id"] for message in document["messages"]]
        assert run.findings.counts.get("made-message-id", 0) == (1 if times else 0)
    assert told == ["msg_x"] * 4


def test_trap_14_ids_that_stand_twice_become_two(tmp_path):
    """Results of calls at once were one message, and share its id when they are told apart."""
    said = {"id": "u", "role": "user", "content": "Good morning.", "ts": 1784192400000}
    grown = [result(f"m_tool_{call}_tool_{call}", call, call) for call in ("one", "two")]
    document, run = session(tmp_path, said, *grown, {**said, "content": "Good evening."})
    messages = document["messages"]
    assert [message["message_id"] for message in messages] == ["u", "m", "m_tool_two", "u:3"]
    assert [message["metadata"].get("source_ids") for message in messages] == [
        None,
        ["m_tool_one_tool_one"],
        ["m_tool_two_tool_two"],
        ["u"],
    ]
    assert run.findings.counts["made-message-id"] == 3
