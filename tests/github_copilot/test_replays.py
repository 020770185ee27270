"""Exported logs of requests: what comes through whole, and what is told apart."""

import json
import os
from pathlib import Path

import pytest

from importing import CHECKOUT, FIXTURES, check, import_folder, strings
from palaver.importers.github_copilot.replays import recognize
from palaver.importers.github_copilot.replays.markdown import entry_in
from palaver.sources.source import Source

CASES = FIXTURES / "github_copilot"
SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "copilot" / "chatreplay"
LONG = 40

needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")


@needs_samples
def test_the_recorded_replay_is_one_conversation_of_three_prompts():
    imported = import_folder(SAMPLES)
    check(imported)
    (document,) = imported.documents
    (report,) = imported.reports
    assert (report.ledger.read, report.findings.counts) == (11, {})
    assert len(document["context"]["custom"]["prompts"]) == 3
    assert document["title"] == 'create a file that says "hello"'
    kinds = [block["type"] for message in document["messages"] for block in message["content"]]
    assert (kinds.count("tool_use"), kinds.count("tool_result")) == (2, 2)
    assert document["metrics"]["total_tokens"]["input"] == 18083 + 18212 + 19234 + 19372
    assert document["metrics"]["total_tokens"]["output"] == 97 + 24 + 105 + 12
    answers = [message for message in document["messages"] if message["role"] == "assistant"]
    assert [answer["metadata"]["model_override"] for answer in answers] == [
        *("claude-sonnet-4", "claude-sonnet-4", "claude-sonnet-4.5", "claude-sonnet-4.5")
    ]


@needs_samples
def test_every_long_line_of_the_recorded_replay_survives():
    imported = import_folder(SAMPLES)
    said = "\0".join(strings(imported.documents))
    for path in SAMPLES.iterdir():
        for text in strings(json.loads(path.read_bytes())):
            for line in _lines(text):
                assert line in said, line


def _lines(text: str) -> list[str]:
    """The long lines of a text; arguments are kept as the objects that they are."""
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    texts = list(strings(parsed)) if isinstance(parsed, dict | list) else [text]
    return [line for one in texts for line in one.split("\n") if len(line) >= LONG]


def test_a_message_stands_once_however_many_requests_repeat_it():
    document = import_folder(CASES / "replay_all_prompts" / "source").documents[0]
    said = [json.dumps(message["content"]) for message in document["messages"]]
    assert len(said) == len(set(said))
    times = [message["timestamp"] for message in document["messages"]]
    assert times == sorted(times)
    assert not [message for message in document["messages"] if "timestamp_inferred" in message["metadata"]]


def test_messages_of_the_editor_are_not_a_persons():
    document = import_folder(CASES / "replay_all_prompts" / "source").documents[0]
    users = [message for message in document["messages"] if message["role"] == "user"]
    assert [user["metadata"]["author_kind"] for user in users] == ["harness", "human", "human"]


def test_a_failed_request_is_an_error_and_not_an_answer():
    document = import_folder(CASES / "replay_all_prompts" / "source").documents[1]
    assert "assistant" not in {message["role"] for message in document["messages"]}
    (failed,) = [message for message in document["messages"] if "error" in message["metadata"]]
    assert failed["content"][0]["text"] == "The service did not answer within the time that it had."


def test_an_exported_replay_twice_with_more_turns_is_the_same_conversation(tmp_path):
    (path,) = (CASES / "replay_all_prompts" / "source").iterdir()
    whole = json.loads(path.read_bytes())
    for number, prompts in enumerate((whole["prompts"][:2], whole["prompts"][:3])):
        (tmp_path / f"{number}.chatreplay.json").write_text(json.dumps({**whole, "prompts": prompts}))
    first, second = import_folder(tmp_path).documents
    assert first["conversation_id"] == second["conversation_id"]
    assert {one["message_id"] for one in first["messages"]} <= {one["message_id"] for one in second["messages"]}


def test_a_tool_that_is_logged_twice_under_one_id_is_told_twice(tmp_path):
    (path,) = (CASES / "replay_all_prompts" / "source").iterdir()
    whole = json.loads(path.read_bytes())
    logs = whole["prompts"][1]["logs"]
    logs.insert(
        1, {**logs[0], "id": "toolu_orchard_01__vscode-9", "response": ["Somebody has counted them once more."]}
    )
    (tmp_path / "twice.chatreplay.json").write_text(json.dumps(whole))
    imported = import_folder(tmp_path)
    check(imported)
    results = [
        block
        for document in imported.documents
        for message in document["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert [result["content"] for result in results].count("Somebody has counted them once more.") == 1
    assert "toolu_orchard_01__vscode-9" in [result["metadata"]["source_id"] for result in results]


@pytest.mark.parametrize(
    "value",
    [
        {"prompts": ["a", "b"], "name": "a list of prompts of somebody else"},
        {"prompt": "a text", "logs": []},
        {"id": "1", "kind": "request", "type": "GET"},
        {"requests": [], "responderUsername": "GitHub Copilot"},
        [],
    ],
)
def test_other_files_are_not_claimed(tmp_path, value):
    path = tmp_path / "some.json"
    path.write_text(json.dumps(value))
    assert recognize(Source.at(path)).verdict == "no"


def test_markdown_that_is_no_request_is_a_note():
    assert entry_in("# Model List Request\n\n## Metadata\n~~~\nrequestId : 1\n~~~\n", "latest") is None
    assert entry_in("", "latest") is None


def test_markdown_without_its_frame_is_read_as_far_as_it_goes():
    log = entry_in(
        "words that lost their heading\n## Request Messages\nand these too\n### User\n~~~md\nhello\n", "name"
    )
    assert log is not None
    assert log["unread"] == "words that lost their heading\nand these too"
    assert log["requestMessages"]["messages"] == [{"role": 1, "content": [{"type": 1, "text": "hello"}]}]
    assert (log["id"], log["name"]) == ("name", "name")
