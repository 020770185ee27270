"""Prompts of the history and rows of the index are left out only where a session holds them."""

import os
import shutil
from pathlib import Path

import orjson
import pytest

from archiving import exported, facts, keep_folder, keep_paths
from importing import CHECKOUT, FIXTURES, import_folder
from palaver.importers.claude_code.held_prompts import normalized, prompt_of_row
from palaver.sources.folders import DiskFolder

DEFECTS = Path(os.environ.get("PALAVER_DEFECTS") or CHECKOUT.parent / "shared" / "defects")
SESSION = "a4c1de20-5b7e-4f0a-8c3d-6e1f2a3b4c5d"
OTHER = "b8d2ef31-6c8f-4a1b-9d4e-7f203b4c5d6e"
GONE = "c9e3f042-7d90-4b2c-8e5f-80314c5d6e7f"
PASTE = {"1": {"id": 1, "type": "text", "content": "rye 41 kg\nbarley 38 kg"}}
HASHED = {"1": {"id": 1, "type": "text", "contentHash": "9ca65cb950cef9c8"}}


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))


def line(content, number=1, session=SESSION, **more):
    times = {"timestamp": f"2026-04-11T09:00:0{number}.000Z"}
    message = {"message": {"role": "user", "content": content}}
    return {"type": "user", "uuid": f"u{number}", "parentUuid": None, "sessionId": session, **message, **times, **more}


def row(display, number=1, session=SESSION, pasted=None):
    return {
        "display": display,
        "pastedContents": pasted or {},
        "timestamp": 1775898000000 + number,
        "sessionId": session,
    }


def home(folder, lines, rows, entries=None):
    write(folder / "projects" / "-home-ada-mill" / f"{SESSION}.jsonl", lines)
    write(folder / "history.jsonl", rows)
    if entries is not None:
        index = {"version": 1, "entries": entries}
        (folder / "projects" / "-home-ada-mill" / "sessions-index.json").write_bytes(orjson.dumps(index))
    return folder


def entry(session, prompt, **more):
    times = {"created": "2026-03-01T07:00:00.000Z", "modified": "2026-03-01T07:30:00.000Z"}
    return {"sessionId": session, "firstPrompt": prompt, "summary": "Fall of the mill race", **times, **more}


def prompts(imported):
    """The texts of every conversation by its id."""
    return {
        document["conversation_id"]: [message["content"][0]["text"] for message in document["messages"]]
        for document in imported.documents
    }


@pytest.mark.parametrize(
    ("stored", "display", "pasted"),
    [
        ("How deep is the race?", "How deep is the race?", {}),
        ("How deep\n  is the race?", "How deep is the race?", {}),
        ([{"type": "text", "text": "How deep is the race?"}], "How deep is the race?", {}),
        ("Sort these:\nrye 41 kg\nbarley 38 kg", "Sort these:\n[Pasted text #1 +2 lines]", PASTE),
        ("Sort these:\noats 29 kg\nplease", "Sort these:\n[Pasted text #1 +1 lines] please", HASHED),
        ("Sort these:\noats 29 kg\nplease.", "Sort these:\n[Pasted text #1 +1 lines] please.", HASHED),
        ("rye 41 kg\nbarley 38 kg and oats", "[...Truncated text #1 +1 lines...] and oats", PASTE),
        ("[Image #1] What is this?", "[Image #1] What is this?", {"1": {"type": "image"}}),
        ("What is this?", "[Image #1]What is this?", {}),
        ("Write down all that the miller says about the frost", "Write down all that the miller says…", {}),
        ("<command-name>/mcp</command-name><command-args></command-args>", "/mcp ", {}),
        (
            "<command-message>l</command-message>\n<command-name>/l</command-name>\n<command-args>a b</command-args>",
            "/l a b",
            {},
        ),
        ("<bash-input>ls -l</bash-input>", "! ls -l", {}),
        ("<user-memory-input>Paid on Friday</user-memory-input>", "#Paid on Friday", {}),
        ("Is the caf\u00e9 open?", "Is the cafe\u0301 open?", {}),
        ("How deep?\n<system-reminder>Be brief.</system-reminder>", "How deep?", {}),
    ],
)
def test_a_prompt_that_the_session_holds_is_skipped(tmp_path, stored, display, pasted):
    imported = import_folder(home(tmp_path, [line(stored)], [row(display, pasted=pasted)]), "claude_code")
    assert list(prompts(imported)) == [SESSION]
    assert [report.ledger.skipped for report in imported.reports if report.ledger.skipped] == [
        {"session-file-exists": 1}
    ]


@pytest.mark.parametrize(
    "record",
    [
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "content": "How deep?",
            "timestamp": "2026-04-11T09:00:02Z",
        },
        {"type": "attachment", "uuid": "q", "attachment": {"type": "queued_command", "prompt": "How deep?"}},
        {"type": "system", "subtype": "local_command", "uuid": "s", "content": "How deep?"},
    ],
)
def test_a_prompt_is_held_wherever_a_session_keeps_prompts(tmp_path, record):
    home(tmp_path, [line("First."), {**record, "sessionId": SESSION}], [row("How deep?")])
    assert list(prompts(import_folder(tmp_path, "claude_code"))) == [SESSION]


@pytest.mark.parametrize(
    ("stored", "display", "pasted"),
    [
        ("hello", "/btw does the quern have a handle?", {}),
        ("Sort these:", "Sort these: [Pasted text #1 +2 lines]", PASTE),
        ("And then sort these: oats, please", "Sort these: [Pasted text #1 +2 lines], please", HASHED),
        ("Write down what the miller says", "Write down all that the miller says…", {}),
        ("Write down what the miller says", "Write down...", {}),
    ],
)
def test_a_prompt_that_the_session_lacks_is_kept_beside_it(tmp_path, stored, display, pasted):
    imported = import_folder(home(tmp_path, [line(stored)], [row(display, pasted=pasted)]), "claude_code")
    assert prompts(imported) == {SESSION: [stored], f"{SESSION}:history": [display]}
    (kept,) = [document for document in imported.documents if document["conversation_id"] != SESSION]
    assert kept["session"]["parent_conversation_id"] == SESSION
    assert "status" not in kept
    assert kept["messages"][0]["metadata"]["author_kind"] == "human"
    assert kept["messages"][0]["timestamp"] == "2026-04-11T09:00:00.001Z"


def test_a_row_without_text_has_nothing_to_lose(tmp_path):
    rows = [row("[Pasted text #1 +9 lines]", pasted=HASHED), row("", 2)]
    assert list(prompts(import_folder(home(tmp_path, [line("hello")], rows), "claude_code"))) == [SESSION]


def test_a_row_without_a_prompt_invents_none(tmp_path):
    rows = [{**row("", 1, GONE), "display": None}, row("How deep?", 2, GONE)]
    imported = import_folder(home(tmp_path, [line("hello")], rows), "claude_code")
    assert prompts(imported)[f"{GONE}:history"] == ["", "How deep?"]


def test_damaged_lines_of_a_session_hold_what_its_reader_repairs(tmp_path):
    home(tmp_path, [line("hello")], [row("hello")])
    (session,) = (tmp_path / "projects").rglob("*.jsonl")
    session.write_bytes(b"\0\0" + session.read_bytes())
    assert list(prompts(import_folder(tmp_path, "claude_code"))) == [SESSION]


def test_when_the_history_grows_only_sessions_with_new_prompts_are_opened(tmp_path, monkeypatch):
    source = home(
        tmp_path / "source", [line("hello")], [row("hello"), row("/btw a question", 2), row("there", 3, OTHER)]
    )
    write(source / "projects" / "-home-ada-mill" / f"{OTHER}.jsonl", [line("there", session=OTHER)])
    archive = tmp_path / "archive.db"
    keep_folder(source, archive)
    with (source / "history.jsonl").open("ab") as stream:
        stream.write(orjson.dumps(row("/btw another one", 4, OTHER)) + b"\n")
    opened = []
    opening = DiskFolder.open
    monkeypatch.setattr(DiskFolder, "open", lambda folder, name: opened.append(name) or opening(folder, name))
    report = keep_folder(source, archive)
    assert {Path(name).stem for name in opened} == {"history", OTHER}
    (history,) = report.sources
    assert history.ledger.mapped == 2
    monkeypatch.undo()
    keep_folder(source, tmp_path / "fresh.db")
    assert exported(archive) == exported(tmp_path / "fresh.db")


def test_a_prompt_typed_just_now_waits_for_its_session(tmp_path, monkeypatch):
    """Claude Code writes a prompt to the history first, and to the session a moment later."""
    now_ms = 1775898000000
    monkeypatch.setattr("palaver.importers.claude_code.prompt_history.time.time", lambda: now_ms / 1000 + 5)
    source = home(tmp_path / "source", [line("hello")], [row("hello"), row("How deep?", 2), row("/btw how wide?", 3)])
    report = keep_folder(source, tmp_path / "archive.db")
    assert {rule: count for made in report.sources for rule, count in made.ledger.skipped.items()} == {
        "session-file-exists": 1,
        "just-typed": 2,
    }
    (session,) = (source / "projects").rglob("*.jsonl")
    write(session, [line("hello"), line("How deep?", 2)])
    monkeypatch.setattr("palaver.importers.claude_code.prompt_history.time.time", lambda: now_ms / 1000 + 120)
    with (source / "history.jsonl").open("ab") as stream:
        stream.write(orjson.dumps(row("And the fall?", 4, GONE)) + b"\n")
    keep_folder(source, tmp_path / "archive.db")
    kept = {
        document["conversation_id"]: [message["content"][0]["text"] for message in document["messages"]]
        for document in map(orjson.loads, exported(tmp_path / "archive.db"))
    }
    assert kept == {
        SESSION: ["hello", "How deep?"],
        f"{SESSION}:history": ["/btw how wide?"],
        f"{GONE}:history": ["And the fall?"],
    }


def test_a_prompt_that_a_deleted_session_lacked_is_there_once(tmp_path):
    source = home(tmp_path / "source", [line("hello")], [row("hello"), row("/btw a question", 2)])
    keep_folder(source, tmp_path / "archive.db")
    (session,) = (source / "projects").rglob("*.jsonl")
    session.unlink()
    keep_folder(source, tmp_path / "archive.db", is_again=True)
    (kept,) = [document for line in exported(tmp_path / "archive.db") if (document := orjson.loads(line)).get("status")]
    assert [message["content"][0]["text"] for message in kept["messages"]] == ["hello", "/btw a question"]
    assert (kept["conversation_id"], kept["status"]) == (f"{SESSION}:history", "archived")


def test_a_session_that_only_the_index_knows_is_archived(tmp_path):
    found = entry(GONE, "Measure the fall", messageCount=4, gitBranch="race", projectPath="/home/ada/mill")
    home(tmp_path, [line("hello")], [], [found, entry(SESSION, "hello")])
    imported = import_folder(tmp_path, "claude_code")
    (document,) = [document for document in imported.documents if document["conversation_id"] != SESSION]
    assert (document["title"], document["status"]) == ("Fall of the mill race", "archived")
    assert document["context"] == {"workspace": {"path": "/home/ada/mill", "git_branch": "race"}}
    assert (document["created_at"], document["updated_at"]) == ("2026-03-01T07:00:00.000Z", "2026-03-01T07:30:00.000Z")
    assert document["platform"]["metadata"]["index_entry"]["messageCount"] == 4
    (index,) = [report for report in imported.reports if report.source.endswith("index.json")]
    assert (index.ledger.read, index.ledger.mapped, index.ledger.skipped) == (2, 1, {"session-file-exists": 1})


@pytest.mark.parametrize("shown", ["Measure the fall of the race", "Measure the fall…", "No prompt"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_session_in_history_and_index_is_one_conversation_with_one_first_prompt(tmp_path, shown, order):
    rows = [row("Measure the fall of the race", 1, GONE), row("And of the brook", 2, GONE)]
    source = home(tmp_path / "source", [line("hello")], rows, [entry(GONE, shown)])
    for path in [source / "history.jsonl", source / "projects"][::order]:
        keep_paths([path], tmp_path / "archive.db")
    (kept,) = [document for line in exported(tmp_path / "archive.db") if (document := orjson.loads(line)).get("status")]
    assert kept["title"] == "Fall of the mill race"
    assert [message["content"][0]["text"] for message in kept["messages"]] == [r["display"] for r in rows]
    keep_folder(source, tmp_path / "at_once.db")
    assert facts(tmp_path / "archive.db") == facts(tmp_path / "at_once.db")


def test_an_entry_that_says_nothing_stands_in_the_ledger(tmp_path):
    entries = [{"sessionId": GONE, "firstPrompt": "No prompt"}, {"messageCount": 2}, 7]
    imported = import_folder(home(tmp_path, [line("hello")], [], entries), "claude_code")
    (index,) = [report for report in imported.reports if report.source.endswith("index.json")]
    assert index.ledger.skipped == {"no-conversation": 1, "odd-index-row": 2}
    assert [(finding.code, finding.severity) for finding in index.findings.first] == [("odd-index-row", "note")] * 2
    assert not imported.quarantined


def test_a_prompt_of_an_entry_that_names_no_session_is_quarantined(tmp_path):
    imported = import_folder(home(tmp_path, [line("hello")], [], [{"firstPrompt": "Lost?"}]), "claude_code")
    assert [entry.raw for entry in imported.quarantined] == [b'{"firstPrompt":"Lost?"}']


def test_an_entry_may_name_its_session_by_the_file_alone(tmp_path):
    entries = [
        {"firstPrompt": "Measure the fall", "fullPath": f"/home/ada/.claude/projects/-home-ada-mill/{GONE}.jsonl"},
        {"firstPrompt": "hello", "fullPath": f"C:\\Users\\ada\\.claude\\projects\\-home-ada-mill\\{SESSION}.jsonl"},
    ]
    imported = import_folder(home(tmp_path, [line("hello")], [], entries), "claude_code")
    assert prompts(imported) == {SESSION: ["hello"], f"{GONE}:history": ["Measure the fall"]}


def test_a_command_in_the_index_reads_as_it_was_typed(tmp_path):
    stored = "<command-name>/measure</command-name><command-args>the fall</command-args>"
    imported = import_folder(home(tmp_path, [line("hello")], [], [entry(GONE, stored)]), "claude_code")
    assert prompts(imported)[f"{GONE}:history"] == ["/measure the fall"]


def test_a_fixture_of_all_kinds_comes_out_the_same_in_any_order(tmp_path):
    shutil.copytree(FIXTURES / "claude_code" / "history_beside_session" / "source", tmp_path / "source")
    files = sorted(path for path in (tmp_path / "source").rglob("*") if path.is_file())
    for name, order in (("one", files), ("other", files[::-1])):
        for path in order:
            keep_paths([path], tmp_path / f"{name}.db")
    assert facts(tmp_path / "one.db") == facts(tmp_path / "other.db")


def test_halves_of_surrogate_pairs_are_compared():
    assert prompt_of_row("\ud83d", {}).hash is not None
    assert normalized(" \n") == ""


@pytest.mark.skipif(not DEFECTS.is_dir(), reason=f"there is nothing at {DEFECTS}")
def test_the_reported_prompt_and_the_reported_entry_are_kept():
    texts = [
        text
        for name in ("history_prompt_lost", "index_entry")
        for texts in prompts(import_folder(DEFECTS / name)).values()
        for text in texts
    ]
    assert sorted(texts) == [
        "/btw does the quokka preset need a second channel on this camera?",
        "hello",
        "hello",
        "please rebuild the wallaby index from the backups of last night",
    ]
