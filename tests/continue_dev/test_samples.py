"""Scrubbed folders of real users, kept outside of the repository: what is known of each is what comes out."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from importing import CHECKOUT, check, files_of, import_folder, strings

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "continue_dev"
LONG = 40

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")

every_case = pytest.mark.parametrize(
    "case", ["scrubbed-reasoning-ollama", "scrubbed-agent-tools", "scrubbed-chat-feedback", "scrubbed-cn-cli"]
)


def sessions(case):
    """Every session's file, by its name."""
    folder = SAMPLES / case / ".continue" / "sessions"
    return {path.stem: json.loads(path.read_bytes()) for path in folder.glob("*.json") if path.stem != "sessions"}


def rows(case):
    return json.loads((SAMPLES / case / ".continue" / "sessions" / "sessions.json").read_bytes())


def lines(case, name):
    path = SAMPLES / case / ".continue" / "dev_data" / name
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.is_file() else []


def read(case):
    found = import_folder(SAMPLES / case, "continue_dev")
    check(found)
    return found


def items(case):
    return [item for session in sessions(case).values() for item in session["history"]]


def blocks(documents, kind):
    return [
        block
        for document in documents
        for message in document["messages"]
        for block in message["content"]
        if block["type"] == kind
    ]


@every_case
def test_a_folder_is_one_source_and_every_file_is_read(case):
    found = read(case)
    assert [Path(unit.source.label).name for unit in found.units] == [".continue"]
    assert found.found.unclaimed == []
    every = {str(path) for path in (SAMPLES / case).rglob("*") if path.is_file()}
    assert set(files_of(found.units[0])) == every
    assert not found.reports[0].ledger.quarantined


@every_case
def test_every_session_is_a_conversation_with_all_that_was_said(case):
    documents = {document["conversation_id"]: document for document in read(case).documents}
    for session_id, session in sessions(case).items():
        spoken = [item["message"] for item in session["history"] if item["message"]["role"] != "thinking"]
        held = [message for message in documents[session_id]["messages"] if "known_from" not in message["metadata"]]
        empty = [one for one in spoken if one["role"] == "assistant" and not (one["content"] or one.get("toolCalls"))]
        assert len(held) == len(spoken) - len(empty)
        known = {name for one in held for name in (one["message_id"], *one["metadata"].get("source_ids", ()))}
        assert {message["id"] for message in spoken if "id" in message and message not in empty} <= known


@every_case
def test_rows_of_the_index_are_told_or_named_as_missing(case):
    found = read(case)
    listed = {row["sessionId"] for row in rows(case)}
    logged = {
        line["sessionId"] for name in ("chatInteraction", "chatFeedback") for line in lines(case, f"0.2.0/{name}.jsonl")
    }
    missing = listed - sessions(case).keys() - logged
    assert found.reports[0].ledger.skipped == ({"missing-session-file": len(missing)} if missing else {})
    assert found.reports[0].findings.counts.get("missing-session-file", 0) == len(missing)
    told = {document["conversation_id"] for document in found.documents}
    assert sessions(case).keys() | logged <= told
    created = {row["sessionId"]: int(row["dateCreated"]) for row in rows(case)}
    assert {document["conversation_id"] for document in found.documents} & created.keys() == listed - missing


@every_case
def test_every_line_of_a_prompt_is_somewhere(case):
    """Whether the history holds it, or only a log of the call."""
    documents = read(case).documents
    said = "\n\0".join(strings(documents))
    prompts = [log for item in items(case) for log in item.get("promptLogs", ())]
    prompts += [line["prompt"] for line in lines(case, "0.2.0/chatInteraction.jsonl")]
    looked_at = {line.strip() for text in strings(prompts) for line in text.split("\n") if len(line.strip()) >= LONG}
    lost = {line for line in looked_at if line not in said and line.removesuffix("<|EOT|>") not in said}
    assert lost == set()
    assert looked_at or case == "scrubbed-cn-cli"


def test_chats_of_a_thinking_model():
    case = "scrubbed-reasoning-ollama"
    found = read(case)
    assert len(rows(case)) == 44
    assert len(sessions(case)) == 4
    recovered = [document for document in found.documents if document.get("status") == "archived"]
    logged = {line["sessionId"] for line in lines(case, "0.2.0/chatInteraction.jsonl")}
    assert {document["conversation_id"] for document in recovered} == logged - sessions(case).keys()
    assert len(found.documents) == 4 + len(recovered)
    reasoned = [item for item in items(case) if item.get("reasoning", {}).get("text")]
    inline = [item for item in items(case) if str(item["message"]["content"]).startswith("<think>")]
    of_files = [document for document in found.documents if document not in recovered]
    assert len(blocks(of_files, "thinking")) == len(reasoned) + len(inline) > 4
    assert not [document for document in found.documents if document["title"].startswith("<think>")]
    assert len(blocks(of_files, "file")) == sum(len(item["contextItems"]) for item in items(case)) > 0
    assert len(found.used) == 80
    assert Counter("timestamp_inferred" in record["metadata"] for record in found.used) == {True: 40, False: 40}
    assert {document["platform"]["version"] for document in recovered} == {"1.0.1", "1.0.2"}
    assert {document["context"]["environment"]["editor"] for document in recovered} == {"VSCodium"}


def test_an_agent_with_tools():
    case = "scrubbed-agent-tools"
    found = read(case)
    names = sessions(case).keys()
    own = [document for document in found.documents if document["conversation_id"] in names]
    calls = [call for item in items(case) for call in item["message"].get("toolCalls", ())]
    results = [item["message"] for item in items(case) if item["message"]["role"] == "tool"]
    assert len(blocks(own, "tool_use")) == len(calls) == 20
    assert sorted(block["tool_use_id"] for block in blocks(own, "tool_result")) == sorted(
        message["toolCallId"] for message in results
    )
    assert len(results) == 19
    thoughts = [item["message"] for item in items(case) if item["message"]["role"] == "thinking"]
    assert len(blocks(own, "thinking")) == len(thoughts) == 14
    assert {document["context"]["workspace"]["path"][:2] for document in own} == {"k:", "a:"}
    assert {document["context"]["custom"]["mode"] for document in own} == {"agent"}
    others = Counter(
        document["platform"]["metadata"].get("event") for document in found.documents if document not in own
    )
    assert others == {"toolUsage": 1, None: 1}
    lone = [document for document in found.documents if document["platform"]["metadata"].get("event") == "toolUsage"]
    assert len(blocks(lone, "tool_use")) == len(blocks(lone, "tool_result")) == 12
    assert sum(document["title"].startswith("editOutcome") for document in found.documents) == 1


def test_a_chat_that_was_rated():
    found = read("scrubbed-chat-feedback")
    chat, recovered = found.documents
    assert chat["platform"]["model"] == "deepseek/deepseek-r1:free"
    assert chat["platform"]["version"] == "1.0.10"
    assert chat["context"]["workspace"]["path"] == "/dvtwyiukeg/db-zwlmcp-hnuje"
    answers = [message for message in chat["messages"] if message["role"] == "assistant"]
    assert len(answers) == 4
    assert not [message for message in answers if "timestamp_inferred" in message["metadata"]]
    assert recovered["rating"]["score"] == 5
    assert recovered["status"] == "archived"


def test_a_session_of_the_command_line():
    (made,) = read("scrubbed-cn-cli").documents
    assert [message["role"] for message in made["messages"]] == ["user"] * 5
    assert [message["message_id"] for message in made["messages"]] == [
        f"{made['conversation_id']}:{place}" for place in range(5)
    ]
    assert made["context"]["workspace"]["path"] == "/hjsi"
