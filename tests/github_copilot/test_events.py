"""Logs of events: whose they are, what lies beside them, fragments of long ones, and that nothing gets lost."""

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from importing import CHECKOUT, FIXTURES, Imported, check, import_folder, import_units, set_time, strings
from palaver.importers import importer, match_importers, winner
from palaver.importers.github_copilot import events
from palaver.importers.github_copilot.events import reader
from palaver.importers.github_copilot.events.event_types import (
    HOUSEKEEPING,
    KNOWN_TYPES,
    PROGRESS,
    SPECIAL,
    TEXT_FIELDS,
)
from palaver.importers.github_copilot.events.reader import HANDLERS
from palaver.sources.source import Source

Json = dict[str, Any]

CASES = [
    folder
    for folder in sorted((FIXTURES / "github_copilot").iterdir())
    if folder.name.startswith(("cli_", "jetbrains_", "transcript_"))
]
SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples")
LONG = 40

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def said(imported: Imported) -> str:
    aside = [entry.raw.decode() for entry in imported.quarantined]
    return json.dumps([imported.documents, imported.used, aside], ensure_ascii=False)


def escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def log(*lines: Json) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


# -- types ----------------------------------------------------------------------------------------------------------


def test_every_type_of_event_has_one_function():
    assert HANDLERS.keys() == KNOWN_TYPES
    assert len(KNOWN_TYPES) == len(SPECIAL) + len(HOUSEKEEPING) + len(PROGRESS) + len(TEXT_FIELDS)


# -- recognition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        {"type": "user", "message": {"role": "user", "content": "Hi"}, "uuid": "u", "sessionId": "s", "timestamp": "t"},
        {"type": "session_meta", "payload": {"id": "x"}, "timestamp": "2026-01-01T00:00:00Z"},
        {"type": "response_chunk", "data": {}, "timestamp": "2026-01-01T00:00:00Z", "request_id": "r"},
        {"type": "tool_call", "ts": 1, "dur": 2, "sid": "s", "name": "n", "spanId": "p", "status": "ok", "attrs": {}},
        {"type": "user.message", "data": "words"},
        {"kind": 0, "v": {"requests": []}},
        {"type": "order.created", "data": {"price": 3}},
    ],
)
def test_lines_of_others_are_left_to_them(line, tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(log(line))
    assert events.recognize(Source.at(path)).verdict == "no"


@pytest.mark.parametrize("kind", ["session.start", "user.message", "abort", "session.of_tomorrow"])
def test_an_event_is_known_by_its_envelope(kind, tmp_path):
    path = tmp_path / "anything.jsonl"
    event = {"type": kind, "data": {}, "id": "e", "timestamp": "2026-01-01T00:00:00Z", "parentId": None}
    path.write_bytes(b"\xef\xbb\xbf\n{torn\n" + log(event))
    judgements = match_importers(Source.at(path))
    assert winner(judgements, "")[0] == "github_copilot"
    assert judgements["github_copilot"].form == "events:log"


def test_a_first_line_longer_than_what_is_looked_at_is_known_by_its_beginning(tmp_path):
    path = tmp_path / "anything.jsonl"
    event = {"type": "system.message", "data": {"content": "x" * 100_000}, "id": "e", "timestamp": "t"}
    path.write_bytes(log(event))
    assert importer("github_copilot").recognizes(Source.at(path)).verdict == "yes"


@pytest.mark.parametrize(
    "name",
    [
        "session-state/one/events.jsonl",
        "session-state/one.jsonl",
        "GitHub.copilot-chat/transcripts/one.jsonl",
        "jb/one/partition-4.jsonl",
        "history-session-state/session_one_17.json",
    ],
)
def test_a_damaged_file_is_known_by_its_place(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\0\0")
    assert importer("github_copilot").recognizes(Source.at(path)).verdict == "maybe"
    check(import_folder(tmp_path, "github_copilot"))


def test_a_file_of_the_same_name_elsewhere_claims_nothing_around_it(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(log({"event": "click"}))
    (tmp_path / "plan.md").write_text("A plan.")
    assert import_folder(tmp_path, "github_copilot").units == []


@pytest.mark.parametrize("kind", ["mcp.oauth_required", "mcp.headers_refresh_required"])
def test_what_a_server_is_opened_with_is_not_kept(kind, tmp_path):
    hidden = "REDACTED-BY-FIXTURE"
    data = {
        "serverUrl": f"https://me:{hidden}@mcp.example/rpc?key={hidden}",
        "staticClientConfig": {"clientId": "palaver", "clientSecret": hidden},
        "httpResponse": {"statusCode": 401, "headers": {"set-cookie": hidden}},
    }
    session_folder(tmp_path, {"type": kind, "data": data, "id": "e", "timestamp": "2026-01-01T00:00:00Z"})
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    assert hidden not in said(found)
    assert found.documents[0]["messages"][0]["content"][0]["raw"] == {
        "serverUrl": "https://mcp.example/rpc",
        "staticClientConfig": {"clientId": "palaver"},
        "httpResponse": {"statusCode": 401},
    }


# -- beside the log -------------------------------------------------------------------------------------------------


def session_folder(tmp_path: Path, *lines: Json) -> Path:
    folder = tmp_path / "session-state" / "one"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(log(*lines))
    return folder


def test_a_workspace_that_repeats_itself_without_end_is_not_read(tmp_path):
    hello = {"type": "user.message", "data": {"content": "Hello."}, "id": "e", "timestamp": "2026-01-01T00:00:00Z"}
    folder = session_folder(tmp_path, hello)
    rounds = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    (folder / "workspace.yaml").write_text(f"a0: &a0 [1]\n{rounds}\n")
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    (document,) = found.documents
    assert document["title"] == "Hello."
    assert found.reports[0].findings.counts["unreadable-settings"] == 1
    assert found.report.exit_code == 0


def test_files_of_a_session_without_any_event_are_counted(tmp_path):
    folder = session_folder(tmp_path)
    (folder / "workspace.yaml").write_text("id: one\n")
    (folder / "checkpoints").mkdir()
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    assert found.documents == []
    assert found.reports[0].ledger.skipped == {"no-conversation": 1}
    assert found.found.unclaimed == []


# -- before there were logs -----------------------------------------------------------------------------------------


def test_messages_of_an_old_session_keep_their_ids_when_it_grows(tmp_path):
    asked, called = {"role": "user", "content": "Look."}, {"id": "c", "function": {"name": "ls", "arguments": "{}"}}
    begun = {"type": "user", "text": "Look.", "timestamp": "2026-01-01T00:00:01Z"}
    started = {"type": "tool_call_requested", "callId": "c", "timestamp": "2026-01-01T00:00:02Z"}
    told = {"type": "info", "text": "Folder trusted.", "timestamp": "2026-01-01T00:00:03Z"}
    short = {"sessionId": "s", "startTime": begun["timestamp"], "chatMessages": [asked]}
    (tmp_path / "short.json").write_text(json.dumps({**short, "timeline": [begun, started, told]}))
    answered = {"role": "assistant", "tool_calls": [called]}
    grown = {**short, "chatMessages": [asked, answered, {"role": "user", "content": "Thanks."}]}
    (tmp_path / "grown.json").write_text(json.dumps({**grown, "timeline": [begun, started, told]}))
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    after, before = (
        {
            block["text"]: message["message_id"]
            for message in document["messages"]
            for block in message["content"]
            if block["type"] == "text"
        }
        for document in found.documents
    )
    assert before.items() <= after.items()
    assert after == {"Look.": "s-0", "Folder trusted.": "s-timeline-2", "Thanks.": "s-2"}


# -- long logs ------------------------------------------------------------------------------------------------------


def test_chunks_are_joined_once_whatever_is_repeated(tmp_path):
    time = "2026-01-01T00:00:00Z"
    chunks = [
        {"type": "assistant.message", "data": data, "id": f"e{number}", "timestamp": time}
        for number, text in ((1, "One, "), (2, "two, "), (2, "two, "), (3, "two, "))
        if (data := {"messageId": "m", "content": text, "chunkIndex": number})
    ]
    session_folder(tmp_path, *chunks)
    found = import_folder(tmp_path, "github_copilot")
    check(found)
    (message,) = found.documents[0]["messages"]
    assert [block["text"] for block in message["content"]] == ["One, two, ", "two, two, "]
    assert message["metadata"]["source_ids"] == ["e1", "e2", "e3"]


@every_case
def test_fragments_say_what_the_whole_says(case, monkeypatch):
    whole = import_folder(case / "source", "github_copilot")
    monkeypatch.setattr(reader, "FRAGMENT_BYTES", -1)
    monkeypatch.setattr(reader, "LATER_FRAGMENT_BYTES", -1)
    pieces = import_folder(case / "source", "github_copilot")
    check(pieces)
    expected = {document["conversation_id"]: document for document in whole.documents}
    for name, document in expected.items():
        fragments = [piece for piece in pieces.documents if piece["conversation_id"] == name]
        if len(fragments) > 1:
            assert [piece["fragment"]["sequence"] for piece in fragments] == list(range(len(fragments)))
            assert [piece["fragment"]["final"] for piece in fragments] == [False] * (len(fragments) - 1) + [True]
        messages = [message for piece in fragments for message in piece["messages"]]
        texts = [block for message in messages for block in message["content"] if block["type"] == "text"]
        assert texts == [
            block for message in document["messages"] for block in message["content"] if block["type"] == "text"
        ]
        if not case.name.endswith("_stream"):  # an answer of which only pieces came is closed where a fragment ends
            assert fragments[-1]["metrics"] == document["metrics"]


# -- nothing gets lost ----------------------------------------------------------------------------------------------

LEFT_OUT = {
    ("assistant.message_delta", "deltaContent"),
    ("assistant.tool_call_delta", "inputDelta"),
    ("assistant.tool_call_delta", "toolName"),
    ("assistant.streaming_delta", "totalResponseSizeBytes"),
    ("mcp.oauth_required", "headers"),
    ("mcp.oauth_required", "httpResponse"),
    ("mcp.oauth_required", "clientSecret"),
    ("mcp.oauth_required", "staticClientConfig"),
    ("tool.execution_partial_result", "partialOutput"),
    ("tool.execution_progress", "progressMessage"),
    ("tool.execution_progress", "toolCallId"),
    ("tool.execution_start", "parentToolCallId"),
}
"""Pieces of what follows whole, progress, secrets, and where a start belongs that is told by its call."""


@every_case
def test_a_text_in_the_place_of_any_value_is_found_again(case, tmp_path):
    laid = tmp_path / "source"
    for path in case.rglob("source/**/*"):
        if path.is_file():
            target = laid / path.relative_to(case / "source")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
            set_time(target)
    units = import_folder(laid, "github_copilot").units
    lost = []
    for path in sorted(laid.rglob("*.jsonl")):
        lines = path.read_bytes().split(b"\n")
        for number, line in enumerate(lines):
            for place, changed in with_markers(line):
                path.write_bytes(b"\n".join([*lines[:number], json.dumps(changed).encode(), *lines[number + 1 :]]))
                imported = import_units(laid, units)
                check(imported)
                if MARKER not in said(imported) and not is_superseded(imported):
                    lost.append((changed["type"], place))
        path.write_bytes(b"\n".join(lines))
    assert not [one for one in lost if not any((one[0], step) in LEFT_OUT for step in one[1])]


MARKER = "a text that stands nowhere else and is long enough"


def is_superseded(imported: Imported) -> bool:
    return any(report.ledger.folded.get("later totals") for report in imported.reports)


def with_markers(line: bytes) -> Iterator[tuple[tuple[Any, ...], Json]]:
    try:
        event = json.loads(line)
    except ValueError:
        return
    stack: list[tuple[Any, ...]] = [("data", name) for name in event["data"]]
    while stack:
        place = stack.pop()
        changed = copy.deepcopy(event)
        holder: Any = changed
        for step in place[:-1]:
            holder = holder[step]
        value = holder[place[-1]]
        if isinstance(value, dict | list):
            stack += [(*place, step) for step in (value if isinstance(value, dict) else range(len(value)))]
        holder[place[-1]] = MARKER
        yield place, changed


# -- samples --------------------------------------------------------------------------------------------------------

with_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")


@with_samples
@pytest.mark.parametrize("name", ["cli-event-lines", "synthetic-cli-session", "synthetic-jetbrains-partition"])
def test_every_long_text_of_a_sample_survives(name):
    imported = import_folder(SAMPLES / "copilot" / name)
    check(imported)
    assert {unit.platform for unit in imported.units} == {"github_copilot"}
    told = said(imported)
    texts = {
        text
        for path in (SAMPLES / "copilot" / name).rglob("*.jsonl")
        for line in path.read_text("utf-8").splitlines()
        for text in strings(json.loads(line).get("data"))
        if len(text) >= LONG
    }
    arguments = {text for text in texts if text.startswith("{")}
    assert not [text for text in texts - arguments if escaped(text) not in told]
    assert imported.report.exit_code == 0


@with_samples
def test_mixed_lines_are_grouped_by_the_sessions_that_they_start():
    imported = import_folder(SAMPLES / "copilot" / "cli-event-lines")
    (path,) = (SAMPLES / "copilot" / "cli-event-lines").glob("*.jsonl")
    logged = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    started = [event["data"]["sessionId"] for event in logged if event["type"] == "session.start"]
    conversations = [document["conversation_id"] for document in imported.documents]
    assert conversations == [name for name in started if name in conversations]
    silent = set(started) - set(conversations)
    assert {record["subject"]["id"] for record in imported.used} <= silent
    spoken = [message for document in imported.documents for message in document["messages"]]
    for role, kind in (
        ("user", "user.message"),
        ("assistant", "assistant.message"),
        ("tool", "tool.execution_complete"),
    ):
        assert sum(message["role"] == role for message in spoken) == sum(event["type"] == kind for event in logged)


@with_samples
def test_a_whole_session_has_what_its_row_in_the_index_says():
    session, agent = import_folder(SAMPLES / "copilot" / "synthetic-cli-session").documents
    assert agent["session"]["is_sidechain"] is True
    assert agent["session"]["parent_conversation_id"] == session["conversation_id"]
    messages = {message["message_id"]: message for message in session["messages"]}
    assert (
        agent["conversation_id"] in messages[agent["session"]["fork_point"]]["metadata"]["sidechain_conversation_ids"]
    )
    results = [block for message in messages.values() for block in message["content"] if block["type"] == "tool_result"]
    assert [block["is_error"] for block in results] == [True, False, False]
    assert len(session["summaries"]) == 1
    assert len(session["context"]["custom"]["shutdowns"]) == 2
    assert {message["metadata"].get("model_override") for message in messages.values()} >= {
        "claude-sonnet-4.5",
        "gpt-5.4",
    }
    (continued,) = [one for one in messages.values() if one["metadata"].get("isAutopilotContinuation")]
    assert continued["metadata"]["author_kind"] == "harness"
    assert session["title"] == "Counting map sheets"
    (chunked,) = [one for one in messages.values() if one["metadata"].get("chunkCount")]
    assert len(chunked["metadata"]["source_ids"]) == 2
