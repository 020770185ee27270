"""A session too large for memory comes in fragments that say together what one document would."""

import orjson
import pytest

from palaver.importers.claude_code import session
from palaver.model.report import SourceReport
from palaver.sources import jsonl
from palaver.sources.discovery import Unit
from palaver.sources.source import Source
from palaver.workflows.import_files import document_lines

SESSION = "6f1d9f0a-1c52-4c39-8f1e-0d4a5f6b7c8d"


def line(number, kind, content, *, parent=None, **more):
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "model": "claude-opus-5", "stop_reason": "end_turn"}
        message["usage"] = {"input_tokens": 2, "output_tokens": 10 + number}
    return {
        "parentUuid": parent,
        "sessionId": SESSION,
        "type": kind,
        "message": message,
        "uuid": f"line-{number}",
        "timestamp": f"2026-05-01T10:{number // 60:02}:{number % 60:02}.000Z",
        **more,
    }


def conversation(length):
    """Prompts and answers in turn, each hanging on the line before."""
    return [
        line(
            number,
            "assistant" if number % 2 else "user",
            f"What the tide table says of day {number}, at some length and in full sentences.",
            parent=f"line-{number - 1}" if number else None,
        )
        for number in range(length)
    ]


def read(tmp_path, lines):
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in lines))
    report = SourceReport("source", "claude_code")
    unit = Unit(Source.at(path), "claude_code")
    made = [orjson.loads(document) for document in document_lines(unit, report, {})]
    assert not report.failure
    assert report.ledger.adds_up
    return made, report


@pytest.fixture
def small_fragments(monkeypatch):
    monkeypatch.setattr(session, "FRAGMENT_BYTES", 4000)
    monkeypatch.setattr(session, "LATER_FRAGMENT_BYTES", 4000)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 1000)


def merged(made):
    """What the archive's join makes of fragments, as far as messages go."""
    messages = {}
    for document in made:
        for message in document["messages"]:
            messages[message["message_id"]] = message
    return messages


def test_a_small_session_is_one_document_without_a_fragment(tmp_path):
    made, _ = read(tmp_path, conversation(10))
    assert len(made) == 1
    assert "fragment" not in made[0]


@pytest.mark.usefixtures("small_fragments")
def test_fragments_are_numbered_and_the_last_is_final(tmp_path):
    made, report = read(tmp_path, conversation(120))
    assert len(made) > 3
    assert [document["fragment"]["sequence"] for document in made] == list(range(len(made)))
    assert [document["fragment"]["final"] for document in made] == [False] * (len(made) - 1) + [True]
    assert {document["conversation_id"] for document in made} == {SESSION}
    assert report.conversations == 1


def test_of_short_lines_fewer_bytes_are_a_fragment(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "LATER_FRAGMENT_BYTES", 1000)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 1000)
    made, _ = read(tmp_path, conversation(120))
    assert len(made) == 1
    monkeypatch.setattr(session, "FRAGMENT_LINES", 50)
    made, _ = read(tmp_path, conversation(120))
    assert len(made) > 3
    assert len(made[0]["messages"]) >= 50


def test_fragments_say_together_what_one_document_says(tmp_path, monkeypatch):
    lines = conversation(120)
    (whole,), _ = read(tmp_path, lines)
    monkeypatch.setattr(session, "FRAGMENT_BYTES", 4000)
    monkeypatch.setattr(session, "LATER_FRAGMENT_BYTES", 4000)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 1000)
    made, _ = read(tmp_path, lines)
    assert merged(made) == merged([whole])
    assert sum(len(document["messages"]) for document in made) == len(whole["messages"])
    assert made[-1]["metrics"] == whole["metrics"]
    assert all("metrics" not in document for document in made[:-1])
    assert made[-1]["title"] == whole["title"]
    assert made[-1]["created_at"] == whole["created_at"]
    assert made[-1]["updated_at"] == whole["updated_at"]


@pytest.mark.usefixtures("small_fragments")
def test_a_replay_of_what_already_left_is_folded(tmp_path):
    lines = conversation(80)
    made, report = read(tmp_path, [*lines, *lines[:20]])
    assert sum(len(document["messages"]) for document in made) == 80
    assert report.ledger.folded["copy"] == 20


@pytest.mark.usefixtures("small_fragments")
def test_a_changed_replay_of_what_already_left_comes_again_under_its_id(tmp_path):
    lines = conversation(80)
    changed = line(2, "user", "This is not at all what was said on the second day of the table.")
    made, _ = read(tmp_path, [*lines, changed])
    versions = [
        message["content"][0]["text"]
        for document in made
        for message in document["messages"]
        if message["message_id"] == "line-2"
    ]
    assert versions == [lines[2]["message"]["content"], changed["message"]["content"]]


@pytest.mark.usefixtures("small_fragments")
def test_a_parent_that_already_left_is_found(tmp_path):
    late = line(90, "user", "Let us go back to the third day of the table, please.", parent="line-3")
    made, _ = read(tmp_path, [*conversation(80), late])
    assert merged(made)["line-90"]["parent_message_id"] == "line-3"
    assert "missing_parent" not in merged(made)["line-90"]["metadata"]


@pytest.mark.usefixtures("small_fragments")
def test_the_usage_of_a_late_line_counts_only_what_it_adds(tmp_path):
    lines = conversation(80)
    answers = [entry["message"] for entry in lines if entry["type"] == "assistant"]
    made, _ = read(tmp_path, [*lines, late_line(91, 31), late_line(92, 40), late_line(93, 44)])
    expected = sum(answer["usage"]["output_tokens"] for answer in answers) + 44 - 11
    assert made[-1]["metrics"]["total_tokens"]["output"] == expected
    late = [message for message in merged(made).values() if message["metadata"].get("continues")]
    assert late[0]["metadata"]["continues"] == "line-1"
    assert sum(message["tokens"]["output_tokens"] for message in late if "tokens" in message) == 44 - 11
    assert late[-1]["metadata"]["answer_tokens"] == {"input_tokens": 2, "output_tokens": 44}


@pytest.mark.usefixtures("small_fragments")
def test_late_lines_that_leave_one_after_the_other_add_up(tmp_path):
    lines = conversation(200)
    answers = [entry["message"] for entry in lines if entry["type"] == "assistant"]
    made, _ = read(tmp_path, [*lines[:80], late_line(291, 31), *lines[80:], late_line(292, 44)])
    expected = sum(answer["usage"]["output_tokens"] for answer in answers) + 44 - 11
    assert made[-1]["metrics"]["total_tokens"]["output"] == expected
    assert [merged(made)[name]["tokens"] for name in ("line-291", "line-292")] == [
        {"output_tokens": 31 - 11},
        {"output_tokens": 44 - 31},
    ]


def late_line(number, output):
    late = line(number, "assistant", f"Sentence {number} of an answer that left long ago.", parent="line-1")
    late["message"]["id"] = "msg_1"
    late["message"]["usage"] = {"input_tokens": 2, "output_tokens": output}
    return late


@pytest.mark.usefixtures("small_fragments")
def test_an_answer_that_spans_two_fragments_stays_one_message(tmp_path):
    lines = conversation(41)
    split = [line(50 + part, "assistant", [{"type": "text", "text": f"Part {part}. " * 60}]) for part in range(6)]
    for part, entry in enumerate(split):
        entry["message"]["id"] = "msg_split"
        entry["message"]["stop_reason"] = "end_turn" if part == 5 else None
    made, _ = read(tmp_path, [*lines, *split, *conversation(60)[55:]])
    holders = [
        message
        for document in made
        for message in document["messages"]
        if message["metadata"].get("api_message_id") == "msg_split"
    ]
    assert len(holders) == 1
    assert len(holders[0]["content"]) == 6


@pytest.mark.usefixtures("small_fragments")
def test_a_result_knows_whether_its_call_was_there_in_any_fragment(tmp_path):
    call = line(1, "assistant", [{"type": "tool_use", "id": "toolu_1", "name": "Tide", "input": {}}], parent="line-0")
    results = [
        line(number, "user", [{"type": "tool_result", "tool_use_id": name, "content": "high"}], parent="line-1")
        for number, name in ((100, "toolu_1"), (101, "toolu_lost"))
    ]
    filler = conversation(80)
    made, _ = read(tmp_path, [filler[0], call, *filler[2:], *results])
    assert len(made) > 1
    marks = {message["message_id"]: message["metadata"] for document in made for message in document["messages"]}
    assert "context_incomplete" not in marks["line-100"]
    assert marks["line-101"]["context_incomplete"] is True
