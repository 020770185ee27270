"""Exported logs of requests: what comes through whole, and what is told apart."""

import json
import os
from pathlib import Path

import pytest

from importing import CHECKOUT, FIXTURES, check, import_folder, strings
from palaver.importers.github_copilot.replays import recognize
from palaver.importers.github_copilot.replays.markdown import parse_entry
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


def test_a_request_has_the_id_that_a_recording_of_it_has():
    """The log names its entries itself; only the server's id is also in what records the same calls."""
    document = import_folder(CASES / "replay_one_prompt" / "source").documents[0]
    answer = document["messages"][-1]["metadata"]
    assert answer["request_id"] == "5d1f0000-0000-4000-8000-000000000001"
    assert answer["entry"]["id"] == "bb000001"


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
    assert parse_entry("# Model List Request\n\n## Metadata\n~~~\nrequestId : 1\n~~~\n", "latest") is None
    assert parse_entry("", "latest") is None


def test_markdown_without_its_frame_is_read_as_far_as_it_goes():
    log = parse_entry(
        "words that lost their heading\n## Request Messages\nand these too\n### User\n~~~md\nhello\n", "name"
    )
    assert log is not None
    assert log["unread"] == "words that lost their heading\nand these too"
    assert log["requestMessages"]["messages"] == [{"role": 1, "content": [{"type": 1, "text": "hello"}]}]
    assert (log["id"], log["name"]) == ("name", "name")


def replay(folder, prompts, **about):
    whole = {"exportedAt": "2026-02-03T10:00:00Z", "totalPrompts": len(prompts), "prompts": prompts, **about}
    (folder / "all.chatreplay.json").write_text(json.dumps(whole))
    imported = import_folder(folder)
    check(imported)
    return imported


def request(name, *said):
    times = {"startTime": "2026-02-03T10:00:00Z", "endTime": "2026-02-03T10:00:01Z"}
    messages = [{"role": 1 + number % 2, "content": [{"type": 1, "text": one}]} for number, one in enumerate(said[:-1])]
    return {
        "id": name,
        "kind": "request",
        "type": "ChatMLSuccess",
        "metadata": {"model": "m", **times},
        "requestMessages": {"messages": messages},
        "response": {"type": "success", "message": [said[-1]]},
    }


def test_a_prompt_without_entries_is_told_once_and_only_where_no_other_has_them(tmp_path):
    logs = [request("a", "What is a pear?", "A fruit.")]
    prompts = [
        {"prompt": "What is a pear?", "logs": []},
        {"prompt": "What is a pear?", "logs": logs},
        {"prompt": "Nobody has answered this.", "logs": []},
        {"prompt": "Nobody has answered this."},
        {"prompt": " ", "logs": []},
    ]
    imported = replay(tmp_path, prompts)
    said = [message["content"][0]["text"] for document in imported.documents for message in document["messages"]]
    assert said == ["What is a pear?", "A fruit.", "Nobody has answered this."]
    ledger = imported.reports[0].ledger
    assert (ledger.skipped, ledger.folded) == ({"empty-prompt": 1}, {"the same prompt": 2})


def test_a_note_of_the_editor_has_the_same_id_in_a_longer_log(tmp_path):
    note = {"kind": "error", "error": "The model has gone away.", "timestamp": "2026-02-03T10:00:02Z"}
    first = request("a", "What is a pear?", "A fruit.")
    second = request("b", "What is a pear?", "A fruit.", "And a plum?", "A fruit as well.")
    ids = []
    for logs in ([first, note], [first, note, second]):
        (document,) = replay(tmp_path, [{"prompt": "What is a pear?", "logs": logs}]).documents
        ids.append([one["message_id"] for one in document["messages"] if one["role"] == "system"])
    assert ids[0] == ids[1]
    assert len(ids[0]) == 1


def test_an_entry_of_a_call_that_stands_in_two_prompts_is_told_once(tmp_path):
    call = {"id": "t__vscode-1", "kind": "toolCall", "tool": "look", "args": "{}", "response": ["Three pears."]}
    prompts = [{"prompt": "How many?", "logs": [call]}] * 2
    imported = replay(tmp_path, prompts)
    assert json.dumps(imported.documents).count("Three pears.") == 1
    assert imported.reports[0].ledger.folded == {"the same call": 1}


def test_calls_that_say_different_things_under_one_id_are_all_kept_under_short_names(tmp_path):
    call = {"id": "t", "kind": "toolCall", "tool": "look", "args": "{}"}
    logs = [{**call, "response": [f"{number} pears."]} for number in range(40)]
    (document,) = replay(tmp_path, [{"prompt": "How many?", "logs": logs}]).documents
    calls = [block["id"] for one in document["messages"] for block in one["content"] if block["type"] == "tool_use"]
    assert len(set(calls)) == 40
    assert max(map(len, calls)) < 20


def test_what_servers_are_started_with_is_masked(tmp_path):
    mark = "REDACTED-BY-FIXTURE"
    servers = [{"label": "pears", "env": {"PEAR_TOKEN": mark}, "headers": {"X-Api-Key": mark}}]
    logs = [request("a", "What is a pear?", "A fruit.")]
    imported = replay(tmp_path, [{"prompt": "What is a pear?", "logs": logs}], mcpServers=servers)
    assert "pears" in json.dumps(imported.documents)
    assert mark not in json.dumps(imported.documents)
